"""Files that are whole or absent: write to a temporary name, then rename."""

from __future__ import annotations

import glob
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# Texts that a spreadsheet would run as a formula; apostrophes before them make them texts.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    *,
    durable: bool = False,
    older: str | os.PathLike[str] | None = None,
) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block ends well.

    An exception or an interrupt leaves what stood at `path` before, and no temporary file. The
    temporary name keeps the suffix of `path`, because numpy and matplotlib choose by it.

    Parameters
    ----------
    path : path
    durable : bool
        Wait until the bytes and the new name are on the disk, so that a loss of power leaves a
        whole file too.
    older : path, optional
        Where what stood at `path` before is moved to, instead of being replaced.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "numbers.txt") as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> [path.name for path in folder.iterdir()]
    ['numbers.txt']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=path.suffix, prefix=f".{path.stem}-", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files that only the owner may read; a result is an ordinary file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        if durable:
            _to_disk(temporary)
        if older is not None and path.exists():
            path.replace(older)
        temporary.replace(path)
        if durable:
            _to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def left_behind(path: str | os.PathLike[str]) -> list[Path]:
    """Temporary files of writes to `path` whose process was killed.

    Whoever removes them must know that nobody else is writing to `path`.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".numbers-a1b2c3.txt").touch()
    >>> [path.name for path in left_behind(folder / "numbers.txt")]
    ['.numbers-a1b2c3.txt']
    """
    path = Path(path)
    return sorted(path.parent.glob(f".{glob.escape(path.stem)}-*{path.suffix}"))


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table for a CSV file: texts that a spreadsheet would run begin with an apostrophe.

    `with_formulas` takes it away again. Numbers stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> table = without_formulas(pd.DataFrame({"run": ["=1+1", "a=1"], "score": [-1, 2]}))
    >>> table["run"].tolist(), table["score"].tolist()
    (["'=1+1", 'a=1'], [-1, 2])
    >>> with_formulas(table)["run"].tolist()
    ['=1+1', 'a=1']
    """
    return _map_texts(table, lambda text: f"'{text}" if FORMULA.match(text) else text)


def with_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """What `without_formulas` was given."""
    return _map_texts(
        table, lambda text: text[1:] if text[:1] == "'" and FORMULA.match(text) else text
    )


def _map_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """Change the texts among the cells."""
    from pandas.api.types import is_numeric_dtype

    def changed(cell: Any) -> Any:
        return change(cell) if isinstance(cell, str) else cell

    return table.apply(lambda one: one if is_numeric_dtype(one.dtype) else one.map(changed))


def to_jsonable(value: Any) -> Any:
    """Turn numpy scalars and arrays, tuples and NaN into what JSON can hold (NaN becomes null)."""
    if isinstance(value, dict):
        return {str(key): to_jsonable(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and np.isfinite(value).all():
        return value.tolist()
    if isinstance(value, np.ndarray | list | tuple):
        return [to_jsonable(entry) for entry in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def write_json(path: str | os.PathLike[str], value: Any, *, durable: bool = False) -> Path:
    """Write a value as indented JSON, whole or not at all."""
    with whole_file(path, durable=durable) as temporary:
        temporary.write_text(json.dumps(to_jsonable(value), indent=2, allow_nan=False) + "\n")
    return Path(path)
