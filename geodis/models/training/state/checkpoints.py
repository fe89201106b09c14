"""The state of a training run on disk: two whole files, the newer and the one before it.

Each says in its header a checksum of all that it holds. Where the newer one is damaged it is moved
aside, the older one is gone on from, and the steps between are taken again: to the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from geodis.base.check import GeodisWarning, InputError
from geodis.base.notes import note_entry
from geodis.base.tensors import read_tensors, write_tensors
from geodis.base.write import left_behind, to_jsonable
from geodis.kernels.torch_state import load_optimiser, load_state, optimiser_tensors, state_of
from geodis.models.model import Model
from geodis.models.saving import (
    CHECKPOINT,
    CHECKSUM,
    CONFIG,
    DAMAGED_CHECKPOINT,
    OLDER_CHECKPOINT,
    WEIGHTS,
)
from geodis.models.training.state.fingerprints import plain_digest, weights_fingerprint
from geodis.models.training.state.run_identity import Identity, check_same_model, check_same_run
from geodis.models.training.step import Players

History = list[dict[str, float]]


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds, as it was read and found undamaged."""

    file: Path
    tensors: Mapping[str, torch.Tensor]
    note: Mapping[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        """Identity of the run that wrote it."""
        return note_entry(self.note, "run", dict, self.file)

    @property
    def horizon_named(self) -> bool:
        """Whether the run was told its horizon, and did not take the steps that were asked for."""
        horizon = self.run.get("horizon")
        longer = isinstance(horizon, int) and horizon < self.steps
        return longer or bool(self.note.get("horizon_named"))

    @property
    def steps(self) -> int:
        """Steps that the model has had."""
        return note_entry(self.note, "steps", int, self.file, low=0)

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """Tensors of the model."""
        return self.below("model/")

    def below(self, prefix: str) -> dict[str, torch.Tensor]:
        """Tensors whose names begin so, by the rest of their names."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.tensors.items()
            if name.startswith(prefix)
        }


def checkpoint_folder(folder: str | Path) -> Path:
    """Make the folder, so that a run does not end in an error."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"checkpoint must be a folder to write to: {error}.") from None
    return Path(folder)


def save_checkpoint(
    folder: Path,
    model: Model,
    players: Players,
    steps: int,
    history: History,
    passing: list[int],
    run: Identity,
    horizon_named: bool = False,
) -> None:
    """Write weights, optimiser states, steps and history as one whole file; keep the one before.

    Parameters
    ----------
    passing : list of int
        Places of rows of the history that are there because training was to end; they go where
        it goes on.
    horizon_named : bool
        Whether the run was told over how many steps its schedules go.
    """
    tensors = {f"model/{name}": value for name, value in state_of(model).items()}
    for player, optimiser in players.items():
        state = optimiser_tensors(optimiser)
        tensors |= {f"{player} state/{name}": value for name, value in state.items()}
    note = {"config": model.config(), "steps": steps, "history": history, "passing": passing}
    write_state(folder, tensors, {**note, "run": dict(run), "horizon_named": horizon_named})


def write_state(folder: Path, tensors: Mapping[str, torch.Tensor], note: Mapping[str, Any]) -> None:
    """Write tensors and a note with their checksum as the newer of the two files."""
    older, note = folder / OLDER_CHECKPOINT, {**note, CHECKSUM: _checksum(tensors, note)}
    try:
        write_tensors(folder / CHECKPOINT, tensors, note, durable=True, older=older)
    except OSError as error:
        raise cannot_write(folder, f"step {note['steps']}", error) from error


def cannot_write(folder: Path, what: str, error: OSError) -> OSError:
    """One sentence on a disk that is full, or away, and on how the run goes on."""
    reason = (error.strerror or str(error)).rstrip(".")
    return OSError(
        f"{what.capitalize()} could not be written to {folder} ({reason}): what stood there "
        "before is kept, so make room and start the same run again."
    )


def read_checkpoint(folder: Path) -> Saved | None:
    """Read the newer file, or where it is damaged the older one; None where there are none.

    The caller holds the folder's lock: what killed runs left of files is removed, and a damaged
    file is moved aside, so that the next state that is written does not take the older one's place.
    """
    for name in (CHECKPOINT, WEIGHTS, CONFIG):
        for file in left_behind(folder / name):
            file.unlink(missing_ok=True)
    files = [folder / name for name in (CHECKPOINT, OLDER_CHECKPOINT)]
    if folders := [file for file in files if file.is_dir()]:
        raise InputError(
            f"{folders[0]} must be a file, as states are written to it; got a folder: move it away."
        )
    damage: list[InputError] = []
    for file in filter(Path.exists, files):
        try:
            saved = _read_whole(file)
        except InputError as error:
            damage.append(error)
            continue
        if damage:
            _move_aside(files[0])
            warnings.warn(
                f"{damage[0]} It is {DAMAGED_CHECKPOINT} now, and the run goes on from the older "
                f"{saved.file.name}, of step {saved.steps}.",
                GeodisWarning,
                stacklevel=4,
            )
        return saved
    if damage:
        raise damage[0]
    return None


def _move_aside(file: Path) -> None:
    try:
        file.replace(file.with_name(DAMAGED_CHECKPOINT))
    except OSError as error:
        raise cannot_write(file.parent, f"the new name of {file.name}", error) from error


def _read_whole(file: Path) -> Saved:
    tensors, note = read_tensors(file)
    if not {"config", "steps", "history", "run"} <= set(note):
        raise InputError(f"{file} is not a checkpoint of a training run.")
    said = note.pop(CHECKSUM, None)
    if said != _checksum(tensors, note):
        raise InputError(
            f"{file} must have the checksum that it was written with; got another one: it was "
            "damaged or altered."
        )
    return Saved(file, tensors, note)


def _checksum(tensors: Mapping[str, torch.Tensor], note: Mapping[str, Any]) -> str:
    return plain_digest({"tensors": weights_fingerprint(tensors), "note": to_jsonable(dict(note))})


def check_same(saved: Saved, model: Model, run: Identity) -> None:
    """Refuse to go on from the checkpoint of another run, by the name of what differs."""
    check_same_model(saved.file, note_entry(saved.note, "config", dict, saved.file), model)
    # A model goes on as it was built, or as the checkpoint left it.
    as_left = weights_fingerprint(saved.weights) == run["weights"]
    begun = saved.run
    check_same_run(saved.file, begun, {**run, "weights": begun.get("weights")} if as_left else run)


def load_checkpoint(saved: Saved, model: Model, players: Players) -> tuple[History, list[int]]:
    """Put a state back into model and optimisers; history, and which of its rows pass."""
    file, note = saved.file, saved.note
    history = note_entry(note, "history", list, file)
    if not all(isinstance(row, dict) for row in history):
        raise InputError(f"{file} must say an object a step as 'history'; got {history!r}.")
    passing = note_entry(note, "passing", list, file)
    if not all(type(place) is int for place in passing):
        raise InputError(f"{file} must say whole numbers as 'passing'; got {passing!r}.")
    known = ("model/", *(f"{player} state/" for player in players))
    if unknown := [name for name in saved.tensors if not name.startswith(known)]:
        raise InputError(f"{file} must hold the state of {type(model).__name__}; got {unknown[0]}.")
    load_state(model, saved.weights, file)
    for player, optimiser in players.items():
        load_optimiser(optimiser, saved.below(f"{player} state/"), file)
    return history, passing
