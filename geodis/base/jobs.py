"""How many jobs, and work on blocks, ranges or items in threads or processes: one place, one rule.

The rule: None is what the function does by default, -1 is every core, a positive number is as
many; 0, numbers below -1 and booleans are refused. A result never depends on it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import numba
import numpy as np

from geodis.base.check import InputError, check_int

# Ranges that each thread gets in turn: rows differ in what they cost.
RANGES = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def check_jobs(n_jobs: int | None, default: int = 1) -> int:
    """Return how many jobs to run, at least one.

    Parameters
    ----------
    n_jobs : int or None
        None for the default, -1 for every core.
    default : int
        What None stands for; -1 for every core.

    Examples
    --------
    >>> check_jobs(3), check_jobs(None), check_jobs(None, default=2)
    (3, 1, 2)
    """
    asked = default if n_jobs is None else check_int(n_jobs, "n_jobs", low=-1)
    if asked == 0:
        raise InputError("n_jobs must be at least 1, or -1 for every core; got 0.")
    return os.cpu_count() or 1 if asked == -1 else asked


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def in_threads(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    n_jobs: int | None,
    done: Callable[[float], None] | None = None,
) -> list[Result]:
    """Do the work on every item, in threads if more than one is asked for.

    An error or Ctrl-C ends it without waiting for items that have not begun.

    Parameters
    ----------
    work : callable
    items : iterable
    n_jobs : int or None
    done : callable, optional
        Told the share of the items that are finished.

    Returns
    -------
    list
        One result an item, in their order.

    Examples
    --------
    >>> in_threads(lambda x: x + 1, [1, 2], n_jobs=2)
    [2, 3]
    """
    items, workers = list(items), check_jobs(n_jobs)
    results: list[Result] = []
    if workers == 1:
        for item in items:
            results.append(work(item))
            if done is not None:
                done(len(results) / len(items))
        return results
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in futures:
                results.append(future.result())
                if done is not None:
                    done(len(results) / len(items))
        except BaseException:  # Ctrl-C too
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def over_ranges(work: Callable[[int, int], None], n: int, n_jobs: int | None) -> None:
    """Call work(start, stop) on ranges that cover range(n), on n_jobs threads.

    For compiled code that releases the interpreter and writes its own rows only.
    """
    workers = check_jobs(n_jobs)
    if workers == 1 or n < 2 * RANGES:
        work(0, n)
        return
    edges = np.linspace(0, n, RANGES * workers + 1).astype(np.int64)
    in_threads(lambda r: work(edges[r], edges[r + 1]), range(RANGES * workers), workers)


def over_blocks(
    work: Callable[[slice], None],
    n: int,
    size: int,
    n_jobs: int | None,
    done: Callable[[float], None] | None = None,
) -> None:
    """Call work on every block of rows, on n_jobs threads with one BLAS thread each.

    numpy releases the interpreter in its loops over small matrices, so threads do run at once.
    A block writes its own rows only: the result does not depend on the number of threads.
    """
    with one_blas_thread():
        in_threads(work, blocks(n, size), n_jobs, done)


def in_processes(
    work: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """Call work(*arguments) for each, in processes if more than one is asked for; in their order.

    Examples
    --------
    >>> list(in_processes(pow, [(2, 3), (3, 2)], n_jobs=1))
    [8, 9]
    """
    workers = check_jobs(n_jobs)
    if workers == 1:
        yield from (work(*each) for each in arguments)
        return
    from joblib import Parallel, delayed

    yield from Parallel(workers, return_as="generator")(delayed(work)(*each) for each in arguments)


@cache
def _blas_libraries() -> Any:
    """The loaded BLAS libraries, listed once: listing takes time, and swallows a Ctrl-C."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Leave the processors to our own threads: on small matrices BLAS threads wait for each other.

    Sums in another order would differ in their last digits besides.
    """
    return _blas_libraries().limit(limits=1, user_api="blas")


@cache
def _learning_libraries() -> Any:
    """The libraries with threads of their own, listed when scikit-learn has loaded its own."""
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread_each() -> AbstractContextManager[Any]:
    """One thread for BLAS and for OpenMP inside scikit-learn.

    On small matrices their threads wait for each other, and take seven times as long where other
    programs run; in processes they would multiply.
    """
    return _learning_libraries().limit(limits=1)


# numba's compiler, which keeps what it compiled on the disk where it can.


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """`numba.njit`, without the cache where there is no folder that it could be written to.

    numba raises for ``cache=True`` when it can write neither beside the source nor to the home
    folder, as in many containers. The function is then compiled again in every process.

    Parameters
    ----------
    cache : bool
    **options
        As of `numba.njit`.

    Examples
    --------
    >>> @njit(cache=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        if cache and hasattr(made, "enable_caching"):  # not under NUMBA_DISABLE_JIT
            with suppress(RuntimeError):  # it keeps the cache it has, which stores nothing
                made.enable_caching()
        return made

    return compiled


def import_compiled(name: str) -> ModuleType:
    """Import a library whose own functions ask numba for a cache.

    Where numba finds no folder for it, a temporary one is used until this process ends.

    Examples
    --------
    >>> import_compiled("math").pi > 3
    True
    """
    try:
        return import_module(name)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
    folder = tempfile.mkdtemp(prefix="geodis-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config: Any = numba.config
    config.CACHE_DIR = folder
    return import_module(name)
