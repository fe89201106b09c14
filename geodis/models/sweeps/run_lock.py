"""One sweep at a time in the folder of a run, and what killed ones left there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from geodis.base.write import left_behind
from geodis.models.saving import CHECKPOINT, CONFIG, DAMAGED_CHECKPOINT, OLDER_CHECKPOINT, WEIGHTS
from geodis.models.training.state.folder_lock import FolderHeldError, FolderLock

SWEEP_LOCK, ROW, LIST = ".sweep-lock", "row.json", "stack.json"
STATES = (CHECKPOINT, OLDER_CHECKPOINT, DAMAGED_CHECKPOINT)


class RunLock(FolderLock):
    """Hold a run of a sweep, from the look at its row until its checkpoints are removed.

    A lock beside that of `train`, which holds the folder only while it trains.

    Parameters
    ----------
    folder : path
        Of the run; it must be there.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with RunLock(folder), FolderLock(folder):
    ...     try:
    ...         RunLock(folder).__enter__()
    ...     except FolderHeldError:
    ...         print("held")
    held
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder, SWEEP_LOCK)


def clear_leftovers(folder: Path) -> None:
    """Remove checkpoints, several times the size of a model, and temporary files.

    The caller holds the run. Where a trainer is at work in the folder, all stays.
    """
    with suppress(FolderHeldError, FileNotFoundError), FolderLock(folder):
        for name in (CHECKPOINT, WEIGHTS, CONFIG, ROW, LIST):
            for path in left_behind(folder / name):
                path.unlink(missing_ok=True)
        for name in STATES:
            (folder / name).unlink(missing_ok=True)


def clear_finished(folder: Path) -> None:
    """Clear the folder of a finished run, where a killed process left something in it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in (ROW, CHECKPOINT, ".config-1f.json", SWEEP_LOCK):
    ...     _ = (folder / name).write_text("")
    >>> clear_finished(folder)
    >>> [path.name for path in folder.iterdir()]
    ['row.json']
    """
    if any(path.name in STATES or path.name.startswith(".") for path in folder.iterdir()):
        with suppress(FolderHeldError), RunLock(folder):
            clear_leftovers(folder)
