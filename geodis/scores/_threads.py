"""The same work on many items, in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from geodis.base.check import InputError, check_int

Item = TypeVar("Item")
Found = TypeVar("Found")


def check_jobs(n_jobs: int) -> int:
    """Return a number of threads or processes: at least one, or -1 for all cores."""
    if check_int(n_jobs, "n_jobs", low=-1) == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores; 0 came.")
    return int(n_jobs)


def in_threads(work: Callable[[Item], Found], items: Iterable[Item], n_jobs: int) -> list[Found]:
    """Do the work on every item, in threads if more than one is asked for.

    Examples
    --------
    >>> in_threads(lambda x: x + 1, [1, 2], n_jobs=2)
    [2, 3]
    """
    n_jobs = check_jobs(n_jobs)
    if n_jobs == 1:
        return [work(item) for item in items]
    workers = (os.cpu_count() or 1) if n_jobs < 0 else n_jobs
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
