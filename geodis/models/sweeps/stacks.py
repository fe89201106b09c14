"""Which runs are trained together as a stack, and the files that record this for a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from geodis.base.engines.journal import plain_digest
from geodis.base.write import write_json
from geodis.models.model_names import model_named
from geodis.models.sweeps.run_lock import LIST, clear_leftovers
from geodis.models.sweeps.sweep_plan import PlannedRun

STACKS = "stacks"


def in_stacks(
    runs: Sequence[PlannedRun], stack: int, alone: Callable[[PlannedRun], bool]
) -> list[list[PlannedRun]]:
    """Put runs that differ in seeds and in numbers among their settings into stacks.

    Parameters
    ----------
    runs : sequence of PlannedRun
        Those that are in no stack yet.
    stack : int
        Most runs of one stack.
    alone : callable (PlannedRun) -> bool
        Whether runs of its kind have to be trained alone.

    Returns
    -------
    list of list of PlannedRun
        In the order of their first runs.
    """
    if stack == 1:
        return [[run] for run in runs]
    kinds: dict[str, list[PlannedRun]] = {}
    for run in runs:
        kinds.setdefault(kind_of(run), []).append(run)
    stacks: list[list[PlannedRun]] = []
    for same in kinds.values():
        size = 1 if alone(same[0]) else stack
        stacks += [same[start : start + size] for start in range(0, len(same), size)]
    return stacks


def kind_of(run: PlannedRun) -> str:
    """Digest of what runs of one stack have in common."""
    numbers = {
        name
        for name, value in model_named(run.model).defaults.items()
        # The size of a discriminator is a setting, and makes another network.
        if isinstance(value, int | float) and not name.startswith("discriminator_")
    }
    shared = {name: value for name, value in run.options.items() if name not in numbers}
    return plain_digest(
        {"model": run.model, "options": shared, "training": dict(run.training), "data": run.data}
    )


def begin_stack(folder: Path, runs: Sequence[PlannedRun]) -> Path:
    """Record the runs of a stack, and return its folder.

    A stack that has begun resumes from its checkpoint with the same runs, even if the grid changed.
    """
    identities = {str(number): run.identity for number, run in enumerate(runs)}
    together = folder / STACKS / plain_digest(identities)
    if not (together / LIST).exists():
        write_json(together / LIST, [run.identity for run in runs], durable=True)
    return together


def begun_stacks(
    folder: Path, runs: Iterable[PlannedRun], finished: Callable[[str], bool]
) -> list[list[PlannedRun]]:
    """Stacks that have begun, have unfinished runs, and consist of planned runs only.

    Parameters
    ----------
    folder : Path
        Of the sweep.
    runs : iterable of PlannedRun
    finished : callable
        Whether there is a row of an identity.
    """
    planned, found = {run.identity: run for run in runs}, []
    for _, identities in _lists(folder):
        if all(map(planned.__contains__, identities)) and not all(map(finished, identities)):
            # A run belongs to the first stack that lists it.
            found.append([planned.pop(each) for each in identities])
    return found


def clear_stacks(folder: Path, finished: Callable[[str], bool]) -> None:
    """Remove the checkpoints of stacks whose runs are all finished."""
    for together, identities in _lists(folder):
        if all(map(finished, identities)):
            end_stack(together)


def end_stack(together: Path) -> None:
    """Remove the folder of a stack, unless somebody is at work there."""
    clear_leftovers(together)
    with suppress(OSError):
        if not any(path.name != LIST for path in together.iterdir()):
            (together / LIST).unlink(missing_ok=True)
            together.rmdir()


def _lists(folder: Path) -> list[tuple[Path, list[str]]]:
    """Folders of stacks with the identities of their runs; unreadable files are skipped."""
    found = []
    for path in sorted((folder / STACKS).glob(f"*/{LIST}")):
        with suppress(OSError, ValueError):
            said = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(said, list) and said and all(isinstance(each, str) for each in said):
                found.append((path.parent, said))
    return found
