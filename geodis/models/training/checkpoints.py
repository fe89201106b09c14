"""The state of a training run on disk: written whole, and read back only by the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from geodis.base.check import InputError
from geodis.base.notes import note_entry
from geodis.base.tensors import read_tensors, write_tensors
from geodis.base.write import to_jsonable
from geodis.kernels.torch_state import load_optimiser, load_state, optimiser_tensors
from geodis.models.model import Model
from geodis.models.saving import CHECKPOINT
from geodis.models.training.step import Players

History = list[dict[str, float]]


def checkpoint_file(folder: str | Path) -> Path:
    """Where the state is written; the folder is made, so that a run does not end in an error."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"checkpoint must be a folder to write to: {error}.") from None
    return Path(folder) / CHECKPOINT


def save_checkpoint(
    file: Path, model: Model, players: Players, steps: int, history: History, run: Mapping[str, Any]
) -> None:
    """Write weights, optimiser states, steps and history as one whole file."""
    tensors = {f"model/{name}": value for name, value in model.state_dict().items()}
    for player, optimiser in players.items():
        state = optimiser_tensors(optimiser)
        tensors |= {f"{player} state/{name}": value for name, value in state.items()}
    note = {"config": model.config(), "steps": steps, "history": history, "run": run}
    write_tensors(file, tensors, note)


def load_checkpoint(
    file: Path, model: Model, players: Players, run: Mapping[str, Any]
) -> tuple[int, History]:
    """Read a state back into model and optimisers; return steps and history."""
    tensors, note = read_tensors(file)
    _check_same(file, note, model, run)
    steps = note_entry(note, "steps", int, file, low=0)
    history = note_entry(note, "history", list, file)
    if not all(isinstance(row, dict) for row in history):
        raise InputError(f"{file} must say an object a step as 'history'; got {history!r}.")
    known = ("model/", *(f"{player} state/" for player in players))
    if unknown := [name for name in tensors if not name.startswith(known)]:
        raise InputError(f"{file} must hold the state of {type(model).__name__}; got {unknown[0]}.")
    load_state(model, _below(tensors, "model/"), file)
    for player, optimiser in players.items():
        load_optimiser(optimiser, _below(tensors, f"{player} state/"), file)
    return steps, history


def _below(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Tensors whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _check_same(file: Path, note: Mapping[str, Any], model: Model, run: Mapping[str, Any]) -> None:
    if not {"config", "steps", "history", "run"} <= set(note):
        raise InputError(f"{file} is not a checkpoint of a training run.")
    own, config = to_jsonable(model.config()), note_entry(note, "config", dict, file)
    name, settings = config.get("model"), note_entry(config, "settings", dict, file)
    if name != own["model"]:
        raise InputError(
            f"{file} is a checkpoint of {name}, and the model is {own['model']}: name another "
            "folder, or train that model on."
        )
    pairs = {key: (config.get(key), own[key]) for key in own if key != "settings"}
    pairs |= {key: (settings.get(key), own["settings"][key]) for key in own["settings"]}
    begun = note_entry(note, "run", dict, file)
    pairs |= {key: (begun.get(key), value) for key, value in run.items()}
    for key, (before, now) in pairs.items():
        if key == "data" and before != now:
            raise InputError(f"{file} was trained on other data: name another folder.")
        if before != now:
            raise InputError(
                f"{file} was trained with {key} = {before}; got {now}: a run goes on as it began, "
                "so name another folder."
            )
