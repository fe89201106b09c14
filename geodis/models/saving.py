"""Save and load models as safetensors and JSON; find models and losses by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch

from geodis.base.check import InputError
from geodis.base.journal import CHECKSUM, changed_settings
from geodis.base.notes import note_counts, note_entry, rebuilding
from geodis.base.plugins import all_subclasses, load_plugins, newest_of_each, only_one
from geodis.base.safetensors_files import read_tensors, write_tensors
from geodis.base.write import write_json
from geodis.kernels import LossKernel, load_kernel
from geodis.kernels.storage import AllocationLimit, load_state, state_of
from geodis.models import autoencoder, gans_and_encoders, unsupervised, weakly_supervised  # noqa: F401
from geodis.models.model import Model
from geodis.models.objectives import ReconstructionName
from geodis.models.training.run_identity import weights_fingerprint


def model_named(name: str) -> type[Model]:
    """Find the class of a model by name: "AdaTVAE", or "ada-tvae" as on the command line.

    A user's class is found once it is defined, and a class of another package if the package
    declares the entry point ``geodis.models``. A class that is defined again, as in a notebook,
    replaces the older one; a name that two classes share is refused.

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
# New name of a damaged checkpoint, when the run resumes from the older one.
DAMAGED_CHECKPOINT = "checkpoint-damaged.safetensors"
# The entries of a configuration that describe the model.
PARTS = ("loss", "prior", "encoder", "decoder")
BUILT_FROM = ("model", "shape", "latents", "options", "settings", *PARTS)


def save_model(model: Model, folder: str | Path, extra: Mapping[str, Any] = {}) -> Path:
    """Write a model as `model.safetensors` and `config.json` into a folder.

    Parameters
    ----------
    model : Model
    folder : path
    extra : mapping
        Further entries of the configuration: data, steps, versions.
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
        Your own `loss`, `prior`, `encoder` or `decoder`, whose code is not saved.
    """
    folder = Path(folder)
    config = read_config(folder)
    tensors, note = read_tensors(folder / WEIGHTS)
    count = sum(tensor.numel() for tensor in tensors.values())
    with AllocationLimit(count, folder / CONFIG):
        model = model_from_config(config, folder / CONFIG, **given)
    if _is_double(model, tensors):
        model.double()
    load_state(model, tensors, folder)
    _check_unaltered(folder, config, note.get("config"))
    # Files of older versions have no checksum.
    if CHECKSUM in note and note[CHECKSUM] != weights_fingerprint(tensors):
        raise InputError(
            f"{folder / WEIGHTS} must have the checksum that it was written with; got another one: "
            "it was damaged or altered."
        )
    return model.eval()


def _is_double(model: Model, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether the saved weights of the networks are float64; those of a prior always may be."""
    first, own = next(model.named_parameters())
    return first in tensors and tensors[first].dtype == torch.float64 != own.dtype


def _check_unaltered(folder: Path, config: Mapping[str, Any], saved: Any) -> None:
    """Refuse a configuration that was changed after the weights were written."""
    if not isinstance(saved, dict):  # a file of an older version or of other software
        return
    then_and_now = ({name: each.get(name) for name in BUILT_FROM} for each in (saved, config))
    for name, then, now in changed_settings(*then_and_now):
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
    """Check a configuration and build an untrained model from it.

    Parameters
    ----------
    config : mapping
        As returned by `Model.config`.
    source : path
        Name of the configuration in messages.
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


# Reconstruction losses by name

KERNEL_FILE, BLURS = ".safetensors", ("box", "gaussian")


def is_loss_made(name: str) -> bool:
    """Whether a name describes a `LossKernel`: a blur with a radius, or a file.

    Examples
    --------
    >>> is_loss_made("box:3"), is_loss_made("mse")
    (True, False)
    """
    return name.endswith(KERNEL_FILE) or (name.partition(":")[0] in BLURS and ":" in name)


def loss_named(name: str, option: str = "loss") -> Any:
    """Make a reconstruction loss from its name.

    Parameters
    ----------
    name : str
        "mse", "bernoulli", "box:31", "gaussian:31", or the file of a learnt kernel.
    option : str
        Name of the option in messages.

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
