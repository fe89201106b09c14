"""Models and training states on disk: safetensors and JSON, nothing pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError, require
from geodis.base.write import to_jsonable, whole_file, write_json
from geodis.models.model import Model

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
    model = build_model(config, **given)
    load_state(model, read_tensors(folder / WEIGHTS)[0], str(folder))
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
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputError(f"{path} is not the configuration of a model.")
    missing = {"model", "shape", "latents", "options", "settings"} - set(config)
    if missing:
        raise InputError(f"{path} is not the configuration of a model: {sorted(missing)} missing.")
    return config


def build_model(config: Mapping[str, Any], **given: Any) -> Model:
    """Build an untrained model from its configuration."""
    return model_named(config["model"]).from_config(config, **given)


def model_named(name: str) -> type[Model]:
    """Find a model's class by its name: "AdaTVAE", or "ada-tvae" as on the command line.

    A class of the user's own is found once it is defined.

    Examples
    --------
    >>> model_named("beta-vae").__name__
    'BetaVAE'
    """
    from geodis.models import autoencoders, gan, metric, subspaces  # noqa: F401 - defines them

    known = {_plain(item.__name__): item for item in _below(Model) if item.defines_a_model()}
    if _plain(name) not in known:
        names = ", ".join(sorted(value.__name__ for value in known.values()))
        raise InputError(f"The model must be one of {names}; {name!r} came.")
    return known[_plain(name)]


def _below(kind: type[Model]) -> list[type[Model]]:
    """All subclasses; the ones defined last come last, and win where names are equal."""
    found = []
    for item in kind.__subclasses__():
        found += [item, *_below(item)]
    return found


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def load_state(model: torch.nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Load weights, or say in one sentence that they are of another model."""
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    came = {name: tuple(value.shape) for name, value in state.items()}
    if own != came:
        different = sorted(
            name for name in own.keys() | came.keys() if own.get(name) != came.get(name)
        )
        name = different[0]
        raise InputError(
            f"{source} holds another model: {name} must have shape {own.get(name, 'none')}, and "
            f"{came.get(name, 'none')} came ({len(different)} tensors differ)."
        )
    model.load_state_dict(dict(state))


def write_tensors(
    path: str | Path, tensors: Mapping[str, Tensor], note: Mapping[str, Any] | None = None
) -> None:
    """Write tensors and a note of plain values as one whole safetensors file."""
    save_file = require("safetensors.torch", extra="torch", purpose="saving a model").save_file
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    metadata = {"note": json.dumps(to_jsonable(note))} if note is not None else None
    with whole_file(path) as temporary:
        save_file(plain, str(temporary), metadata=metadata)


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and note of a safetensors file."""
    safetensors = require("safetensors", extra="torch", purpose="loading a model")
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
    except FileNotFoundError:
        raise InputError(f"{path} must be a safetensors file; there is none.") from None
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path} cannot be read as safetensors: {error}") from None
    return tensors, json.loads(metadata.get("note", "{}"))
