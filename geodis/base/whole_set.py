"""Files that replace what stood in a folder all together, or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def whole_set(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty folder; when the block ends well, its files replace those of `folder`.

    They take the place of what has the same names there, all of them or none.
    An exception or an interrupt leaves `folder` as it was, and takes a folder that was made for it
    away again. Other files in `folder` stay.

    Examples
    --------
    >>> out = Path(tempfile.mkdtemp())
    >>> _ = (out / "own.txt").write_text("mine")
    >>> with whole_set(out) as made:
    ...     _ = (made / "page.html").write_text("new")
    >>> sorted(path.name for path in out.iterdir())
    ['own.txt', 'page.html']
    """
    folder = Path(folder)
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    try:
        yield made
        with _interrupts_later():
            _replace(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        for one in new:  # those that stayed empty
            try:
                one.rmdir()
            except OSError:
                break


def _replace(made: Path, folder: Path) -> None:
    """Put everything in its place; what fails halfway is undone."""
    names = sorted(path.name for path in made.iterdir())
    old = made / ".old"
    old.mkdir()
    moved: list[str] = []
    try:
        for name in names:
            if (folder / name).exists():
                (folder / name).rename(old / name)
            moved.append(name)
            (made / name).rename(folder / name)
    except BaseException:
        for name in reversed(moved):
            if (folder / name).exists() and not (made / name).exists():
                (folder / name).rename(made / name)
            if (old / name).exists():
                (old / name).rename(folder / name)
        raise


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold an interrupt back until the block ends; elsewhere than in the main thread none comes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
