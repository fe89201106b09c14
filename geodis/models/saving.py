"""Models on disk: safetensors and JSON, nothing pickled; checked before anything is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from geodis.base.check import InputError
from geodis.base.engines.journal import CHECKSUM, differences
from geodis.base.notes import note_counts, note_entry, rebuilding
from geodis.base.tensors import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels.torch_state import AllocationLimit, load_state, state_of
from geodis.models.model import Model
from geodis.models.model_names import model_named
from geodis.models.training.state.run_identity import weights_fingerprint

WEIGHTS, CONFIG, CHECKPOINT = "model.safetensors", "config.json", "checkpoint.safetensors"
OLDER_CHECKPOINT = "checkpoint-older.safetensors"
# Where a newer one that is damaged is moved to, while its run goes on from the older.
DAMAGED_CHECKPOINT = "checkpoint-damaged.safetensors"
# What stands in the configuration of the model that was built, and not beside it.
PARTS = ("loss", "prior", "encoder", "decoder")
BUILT_FROM = ("model", "shape", "latents", "options", "settings", *PARTS)


def save_model(model: Model, folder: str | Path, extra: Mapping[str, Any] = {}) -> Path:
    """Write a model as `model.safetensors` and `config.json` into a folder.

    Parameters
    ----------
    model : Model
    folder : path
    extra : mapping
        More to keep in the configuration: data, steps, versions.
    """
    folder = Path(folder)
    config, tensors = model.config(), state_of(model)
    note = {"config": config, CHECKSUM: weights_fingerprint(tensors)}
    write_tensors(folder / WEIGHTS, tensors, note, durable=True)
    write_json(folder / CONFIG, {**config, "training": dict(extra)}, durable=True)
    return folder


def load_model(folder: str | Path, **given: Any) -> Model:
    """Read a model that `save_model` or `train` wrote.

    Parameters
    ----------
    folder : path
    **given
        What is code of the user's own and was not saved: `loss`, `prior`, `encoder`, `decoder`.
    """
    folder = Path(folder)
    config = read_config(folder)
    tensors, note = read_tensors(folder / WEIGHTS)
    held = sum(tensor.numel() for tensor in tensors.values())
    with AllocationLimit(held, folder / CONFIG):
        model = model_from_config(config, folder / CONFIG, **given)
    if _is_double(model, tensors):
        model.double()
    load_state(model, tensors, folder)
    _check_unaltered(folder, config, note.get("config"))
    # Files of older versions have none.
    if CHECKSUM in note and note[CHECKSUM] != weights_fingerprint(tensors):
        raise InputError(
            f"{folder / WEIGHTS} must have the checksum that it was written with; got another one: "
            "it was damaged or altered."
        )
    return model.eval()


def _is_double(model: Model, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether the saved weights of networks are float64; a prior's may be in any case."""
    first, own = next(model.named_parameters())
    return first in tensors and tensors[first].dtype == torch.float64 != own.dtype


def _check_unaltered(folder: Path, config: Mapping[str, Any], saved: Any) -> None:
    """Refuse a configuration that is not the one beside which the weights were written."""
    if not isinstance(saved, dict):  # of an older version, or written by someone else
        return
    then_and_now = ({name: each.get(name) for name in BUILT_FROM} for each in (saved, config))
    for name, then, now in differences(*then_and_now):
        raise InputError(
            f"{folder / CONFIG} must say {name} = {then!r}, as when {WEIGHTS} was written; "
            f"got {now!r}: it was edited."
        )


def read_config(folder: str | Path) -> dict[str, Any]:
    """Read the configuration of a saved model."""
    path = Path(folder) / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        begun = (Path(folder) / CHECKPOINT).exists()
        why = "its training was stopped: let it go on first" if begun else f"it has no {CONFIG}"
        raise InputError(f"{folder} must be the folder of a trained model; {why}.") from None
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputError(f"{path} is not the configuration of a model.")
    missing = {"model", "shape", "latents", "options", "settings"} - set(config)
    if missing:
        raise InputError(f"{path} is not the configuration of a model: {sorted(missing)} missing.")
    return config


def model_from_config(
    config: Mapping[str, Any], source: str | Path = "The configuration", **given: Any
) -> Model:
    """Build an untrained model from its configuration, which is checked.

    Parameters
    ----------
    config : mapping
        What `Model.config` gave.
    source : path
        What to call it in a message.
    **given
        As for `load_model`.
    """
    kind = model_named(note_entry(config, "model", str, source))
    note_counts(config, "shape", source)
    note_entry(config, "latents", int, source, low=1)
    note_entry(config, "options", dict, source)
    note_entry(config, "settings", dict, source)
    with rebuilding(source):
        return kind.from_config(config, **given)
