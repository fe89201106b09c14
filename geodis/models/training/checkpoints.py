"""The state of a training run on disk: written whole, and read back only by the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.models.model import Model
from geodis.models.saving import CHECKPOINT, load_state, read_tensors, write_tensors

Players = Mapping[str, torch.optim.Optimizer]
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
        for number, state in optimiser.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"{player} state/{number}/{name}"] = torch.as_tensor(value)
    note = {"config": model.config(), "steps": steps, "history": history, "run": run}
    write_tensors(file, tensors, note)


def load_checkpoint(
    file: Path, model: Model, players: Players, run: Mapping[str, Any]
) -> tuple[int, History]:
    """Read a state back into model and optimisers; return steps and history."""
    tensors, note = read_tensors(file)
    _check_same(file, note, model, run)
    weights = {
        name.removeprefix("model/"): value
        for name, value in tensors.items()
        if name.startswith("model/")
    }
    load_state(model, weights, str(file))
    for player, optimiser in players.items():
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(f"{player} state/"):
                _, number, name = key.split("/")
                states.setdefault(int(number), {})[name] = value
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": states, "param_groups": groups})
    return note["steps"], note["history"]


def _check_same(file: Path, note: Mapping[str, Any], model: Model, run: Mapping[str, Any]) -> None:
    if not {"config", "steps", "history", "run"} <= set(note):
        raise InputError(f"{file} is not a checkpoint of a training run.")
    own, came = to_jsonable(model.config()), note["config"]
    if came["model"] != own["model"]:
        raise InputError(
            f"{file} is a checkpoint of {came['model']}, and the model is {own['model']}: name "
            "another folder, or train that model on."
        )
    pairs = {key: (came.get(key), own[key]) for key in own if key != "settings"}
    pairs |= {key: (came["settings"].get(key), own["settings"][key]) for key in own["settings"]}
    pairs |= {key: (note["run"].get(key), value) for key, value in run.items()}
    for key, (before, now) in pairs.items():
        if key == "data" and before != now:
            raise InputError(f"{file} was trained on other data: name another folder.")
        if before != now:
            raise InputError(
                f"{file} was trained with {key} = {before}; {now} came: a run goes on as it began, "
                "so name another folder."
            )
