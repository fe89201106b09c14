"""What finished runs found, kept beside the results without their models, which are too large.

A study that starts from these goes on as if it had trained the runs itself, anywhere.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from geodis.base import InputError, whole_file, write_json

KEPT = "runs.jsonl.gz"
COST = "cost"
# Of a runs' folder; all else in it is models, and what is made of these.
PLACES = ("runs/*/row.json", "measured/*.json", f"{COST}/*.json")
NAMES = re.compile(rf"(runs/\w+/row|measured/\w+|{COST}/[\w-]+)\.json")


def keep_runs(folder: Path, path: Path) -> None:
    """Write the rows, measures and costs of a folder of runs into one file.

    Parameters
    ----------
    folder : Path
        Of the runs, as `models.sweep` makes it.
    path : Path
        One line a file: its name and its content. The same runs make the same bytes.
    """
    found = sorted(file for place in PLACES for file in folder.glob(place))
    lines = [
        json.dumps([file.relative_to(folder).as_posix(), json.loads(file.read_text("utf-8"))])
        for file in found
    ]
    with whole_file(path) as temporary:
        temporary.write_bytes(
            gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
        )


def put_back(folder: Path, path: Path) -> int:
    """Give a folder of runs what was kept of them; what it has itself stays.

    Returns
    -------
    int
        Files that were written.

    Examples
    --------
    >>> import tempfile
    >>> here, there = (Path(tempfile.mkdtemp()) for _ in range(2))
    >>> _ = write_json(here / "runs" / "3f" / "row.json", {"run": "3f"})
    >>> keep_runs(here, here / KEPT)
    >>> put_back(there, here / KEPT), put_back(there, here / KEPT)
    (1, 0)
    """
    if not path.exists():
        return 0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        kept = [json.loads(line) for line in lines]
    written = 0
    for name, content in _checked(kept, path):
        if not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_json(folder / name, content)
            written += 1
    return written


def _checked(kept: Iterable[tuple[str, object]], path: Path) -> Iterable[tuple[str, object]]:
    for name, content in kept:
        if not NAMES.fullmatch(name):
            raise InputError(f"{path} must hold rows, measures and costs of runs; got {name}.")
        yield name, content


@contextmanager
def costed(folder: Path) -> Iterator[None]:
    """Keep what a block costs, also one that is stopped, in a file of its own: several may run."""
    begun = time.process_time()
    try:
        yield
    finally:
        name = f"{time.time_ns():x}-{os.getpid()}.json"
        write_json(folder / COST / name, {"seconds": time.process_time() - begun})


def seconds_in(folder: Path) -> float:
    """Processor seconds that `costed` blocks of a folder took, all in all.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with costed(folder):
    ...     pass
    >>> 0 <= seconds_in(folder) < 1
    True
    """
    costs = [json.loads(each.read_text("utf-8")) for each in (folder / COST).glob("*.json")]
    return float(sum(each["seconds"] for each in costs))


def cost_of(folder: Path) -> str:
    """What all calls have cost, in a sentence; nothing where that is not known.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> cost_of(folder)
    ''
    >>> for number in range(2):
    ...     _ = write_json(folder / COST / f"{number}.json", {"seconds": 2700.0})
    >>> cost_of(folder)
    'The runs took 1.5 processor hours.'
    """
    seconds = seconds_in(folder)
    short = seconds < 1000
    spent = f"{seconds:.0f} processor seconds" if short else f"{seconds / 3600:.1f} processor hours"
    return f"The runs took {spent}." if seconds else ""
