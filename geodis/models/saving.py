"""Models on disk: safetensors and JSON, nothing pickled; checked before anything is built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch

from geodis.base.check import InputError
from geodis.base.journal import CHECKSUM, differences
from geodis.base.notes import note_counts, note_entry, rebuilding
from geodis.base.plugins import all_subclasses, load_plugins, newest_of_each, only_one
from geodis.base.safetensors_files import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels import LossKernel, load_kernel
from geodis.kernels.storage import AllocationLimit, load_state, state_of
from geodis.models.model import Model
from geodis.models.objectives import ReconstructionName
from geodis.models.training.run_identity import weights_fingerprint

# Models by name: those of geodis, of other packages, and those that the user has defined.


def model_named(name: str) -> type[Model]:
    """Find a model's class by its name: "AdaTVAE", or "ada-tvae" as on the command line.

    A class of the user's own is found once it is defined, and one of another package that
    declares the entry point ``geodis.models`` without being imported. One that is defined anew in
    its place, as in a notebook, replaces the older; a name of two classes is refused.

    Examples
    --------
    >>> model_named("beta-vae").__name__
    'BetaVAE'
    """
    load_plugins("geodis.models")
    known = newest_of_each(kind for kind in all_subclasses(Model) if kind.defines_a_model())
    wanted = _plain(name) if isinstance(name, str) else None
    found = [kind for kind in known if _plain(kind.__name__) == wanted]
    if not found:
        names = ", ".join(sorted({kind.__name__ for kind in known}))
        raise InputError(f"The model must be one of {names}; got {name!r}.")
    return only_one([kind for kind in found if kind.__name__ == name] or found)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


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


# Reconstruction losses by name: those of geodis, blurs of a radius, learnt kernels in files.

KERNEL_FILE, BLURS = ".safetensors", ("box", "gaussian")


def is_loss_made(name: str) -> bool:
    """Whether a name stands for a loss that is made of it: a blur of a radius, or a file.

    Examples
    --------
    >>> is_loss_made("box:3"), is_loss_made("mse")
    (True, False)
    """
    return name.endswith(KERNEL_FILE) or (name.partition(":")[0] in BLURS and ":" in name)


def loss_named(name: str, option: str = "loss") -> Any:
    """A reconstruction loss by its name.

    Parameters
    ----------
    name : str
        "mse", "bernoulli", "box:31", "gaussian:31", or the file of a learnt kernel.
    option : str
        What to call it in a message.

    Examples
    --------
    >>> loss_named("box:3").radius
    3
    """
    names = get_args(ReconstructionName)
    if name in names:
        return name
    if name.endswith(KERNEL_FILE):
        return load_kernel(name)
    kind, _, radius = name.partition(":")
    if kind in BLURS and radius.isdigit():
        return getattr(LossKernel, kind)(int(radius))
    raise InputError(
        f"{option} must be {', '.join(names)}, box:RADIUS, gaussian:RADIUS or the file of a learnt "
        f"kernel, kernel.safetensors; got {name}."
    )
