"""Checkpoints of a training run: two files, with the latest state and the one before it.

Each has a checksum of its content. If the latest is damaged it is renamed, the run resumes from the
older one, and the steps in between are repeated with the same results.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from geodis.base.check import GeodisWarning, InputError
from geodis.base.safetensors_files import read_note
from geodis.base.write import left_behind
from geodis.kernels.storage import (
    load_optimiser,
    optimiser_tensors,
    read_checked,
    state_of,
    write_checked,
)
from geodis.models.model import Model
from geodis.models.saving import CHECKPOINT, CONFIG, DAMAGED_CHECKPOINT, OLDER_CHECKPOINT, WEIGHTS
from geodis.models.training.run_identity import (
    FORMAT,
    IN_WORDS,
    Identity,
    check_same_run,
    weights_fingerprint,
)
from geodis.models.training.step import Players

History = list[dict[str, float]]


@dataclass(frozen=True)
class Saved:
    """The content of an intact checkpoint."""

    file: Path
    tensors: Mapping[str, torch.Tensor]
    note: Mapping[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        """Return the identity of the run that wrote it."""
        return dict(self.note["run"])

    @property
    def steps(self) -> int:
        """Return the number of steps that were done."""
        return int(self.note["steps"])

    def below(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return the tensors whose names start with the prefix, named without it."""
        return {
            name.removeprefix(prefix): value
            for name, value in self.tensors.items()
            if name.startswith(prefix)
        }


def checkpoint_folder(folder: str | Path) -> Path:
    """Create the folder, so that a run does not fail at its first checkpoint."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"checkpoint must be a folder to write to: {error}.") from None
    return Path(folder)


def save_checkpoint(folder: Path, model: Model, players: Players, steps: int, **note: Any) -> None:
    """Write weights, optimiser states and a note to one file; keep the previous checkpoint."""
    tensors = {f"model/{name}": value for name, value in state_of(model).items()}
    for player, optimiser in players.items():
        state = optimiser_tensors(optimiser)
        tensors |= {f"{player} state/{name}": value for name, value in state.items()}
    write_state(folder, tensors, {"steps": steps, **note})


def write_state(folder: Path, tensors: Mapping[str, torch.Tensor], note: Mapping[str, Any]) -> None:
    """Write tensors and a note with their checksum to the newer of the two files."""
    file, older = folder / CHECKPOINT, folder / OLDER_CHECKPOINT
    try:
        write_checked(file, tensors, note, durable=True, older=older)
    except OSError as error:
        raise cannot_write(folder, f"step {note['steps']}", error) from error


def cannot_write(folder: Path, what: str, error: OSError) -> OSError:
    """Make the error for a full or missing disk, which explains how to resume."""
    reason = (error.strerror or str(error)).rstrip(".")
    return OSError(
        f"{what.capitalize()} could not be written to {folder} ({reason}): what stood there "
        "before is kept, so make room and start the same run again."
    )


def read_checkpoint(folder: Path) -> Saved | None:
    """Read the newer file, or the older one if it is damaged; None if there is no file.

    The caller holds the lock of the folder. Temporary files of killed runs are removed, and a
    damaged file is renamed, so that the next checkpoint does not replace the older, intact one.
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
    begun = read_note(file).get("run")
    if not isinstance(begun, dict):
        raise InputError(f"{file} is not a checkpoint of a training run.")
    if begun.get("format") != FORMAT:
        raise InputError(f"{file} was trained {IN_WORDS['format']}: name another folder.")
    return Saved(file, *read_checked(file))


def check_same(saved: Saved, run: Identity) -> None:
    """Refuse to resume from the checkpoint of another run, and name the difference."""
    # The model may be new, or have the weights of the checkpoint.
    as_left = weights_fingerprint(saved.below("model/")) == run["weights"]
    begun = saved.run
    check_same_run(saved.file, begun, {**run, "weights": begun["weights"]} if as_left else run)


def load_checkpoint(saved: Saved, model: Any, players: Players) -> None:
    """Restore the state of a model, or of a stack of models, and of its optimisers."""
    model.load_state_dict(saved.below("model/"))
    for player, optimiser in players.items():
        load_optimiser(optimiser, saved.below(f"{player} state/"))
