"""The same work on many items, in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from geodis._check import check_int

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_threads(work: Callable[[Item], Found], items: Iterable[Item], n_jobs: int) -> list[Found]:
    """Do the work on every item, in threads if more than one is asked for.

    Examples
    --------
    >>> in_threads(lambda x: x + 1, [1, 2], n_jobs=2)
    [2, 3]
    """
    n_jobs = check_int(n_jobs, "n_jobs", low=-1)
    if n_jobs in (0, 1):
        return [work(item) for item in items]
    workers = (os.cpu_count() or 1) if n_jobs < 0 else n_jobs
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
