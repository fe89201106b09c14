"""Parallel work on blocks, ranges or items, in threads or processes.

`n_jobs` has the same meaning everywhere: None is the default of the function, -1 is all cores,
and a positive number is that many jobs; 0, numbers below -1 and booleans are refused. Results
never depend on it.
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

# Ranges per thread, because rows differ in cost.
RANGES = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def check_jobs(n_jobs: int | None, default: int = 1) -> int:
    """Return the number of jobs to run, at least one.

    Parameters
    ----------
    n_jobs : int or None
        None for the default, -1 for all cores.
    default : int
        The meaning of None; -1 for all cores.

    Examples
    --------
    >>> check_jobs(3), check_jobs(None), check_jobs(None, default=2)
    (3, 1, 2)
    """
    asked = default if n_jobs is None else check_int(n_jobs, "n_jobs", low=-1)
    if asked == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores; got 0.")
    return os.cpu_count() or 1 if asked == -1 else asked


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def in_threads(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    n_jobs: int | None,
    done: Callable[[float], None] | None = None,
) -> list[Result]:
    """Apply a function to every item, in threads if there is more than one job.

    An error or Ctrl-C ends the work without waiting for items that have not started.

    Parameters
    ----------
    work : callable
    items : iterable
    n_jobs : int or None
    done : callable, optional
        Called with the share of the items that are finished.

    Returns
    -------
    list
        One result per item, in order.

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

    For compiled code that releases the interpreter lock and writes only its own rows.
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

    numpy releases the interpreter lock in loops over small matrices, so threads do run in parallel.
    A block writes only its own rows, so results do not depend on the number of threads.
    """
    with one_blas_thread():
        in_threads(work, blocks(n, size), n_jobs, done)


def in_processes(
    work: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """Call work(*arguments) for each, in processes if there is more than one job; in order.

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
    """List the loaded BLAS libraries once: listing takes time and can lose a Ctrl-C."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: on small matrices its threads mostly wait for each other.

    Another order of sums would also change their last digits.
    """
    return _blas_libraries().limit(limits=1, user_api="blas")


@cache
def _learning_libraries() -> Any:
    """List the libraries with their own threads, after importing scikit-learn."""
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread_each() -> AbstractContextManager[Any]:
    """Limit BLAS and scikit-learn's OpenMP to one thread.

    On small matrices their threads wait for each other, and take seven times as long if other
    programs run; in several processes they would multiply.
    """
    return _learning_libraries().limit(limits=1)


# Compilation by numba, with its cache on disk if possible.


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """Apply `numba.njit`, without the cache if no folder for it is writable.

    With ``cache=True``, numba raises an error if it can write neither next to the source nor to the
    home folder, as in many containers. The function is then compiled again in every process.

    Parameters
    ----------
    cache : bool
    **options
        Options of `numba.njit`.

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
            with suppress(RuntimeError):  # keep the present cache, which stores nothing
                made.enable_caching()
        return made

    return compiled


def import_compiled(name: str) -> ModuleType:
    """Import a library whose own functions use numba's cache.

    If numba finds no folder for it, a temporary one is used until this process ends.

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
