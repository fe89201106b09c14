"""What is in the folder of a run of a sweep, and what killed processes left there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from geodis.base.file_lock import FolderHeldError, FolderLock
from geodis.base.write import left_behind
from geodis.models.saving import CHECKPOINT, CONFIG, DAMAGED_CHECKPOINT, OLDER_CHECKPOINT, WEIGHTS

ROW, LIST = "row.json", "stack.json"
# Held from the look at a row until its checkpoints are removed, while `train` holds the folder by a
# lock of its own only as long as it trains.
SWEEP_LOCK = ".sweep-lock"
STATES = (CHECKPOINT, OLDER_CHECKPOINT, DAMAGED_CHECKPOINT)


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
        with suppress(FolderHeldError), FolderLock(folder, SWEEP_LOCK):
            clear_leftovers(folder)
