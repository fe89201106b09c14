"""Models on disk: safetensors and JSON, nothing pickled; checked before anything is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.base.notes import note_counts, note_entry, rebuilding
from geodis.base.tensors import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels.torch_state import AllocationLimit, load_state
from geodis.models.model import Model
from geodis.models.model_names import model_named

WEIGHTS, CONFIG, CHECKPOINT = "model.safetensors", "config.json", "checkpoint.safetensors"


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
    write_tensors(folder / WEIGHTS, model.state_dict())
    write_json(folder / CONFIG, {**model.config(), "training": dict(extra)})
    return folder


def load_model(folder: str | Path, **given: Any) -> Model:
    """Read a model that `save_model` or `train` wrote.

    Parameters
    ----------
    folder : path
    **given
        What is code of the user's own and was not saved: `loss`, `prior`.
    """
    folder = Path(folder)
    config = read_config(folder)
    tensors, _ = read_tensors(folder / WEIGHTS)
    held = sum(tensor.numel() for tensor in tensors.values())
    with AllocationLimit(held, folder / CONFIG):
        model = model_from_config(config, folder / CONFIG, **given)
    load_state(model, tensors, folder)
    return model.eval()


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
