"""Small dense linear algebra over many points at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

# Ranges that each thread gets in turn: rows differ in what they cost.
RANGES = 4


def polar_rows(matrices: np.ndarray) -> np.ndarray:
    """Nearest matrices with orthonormal rows: (A A^T)^(-1/2) A, for A of shape (..., k, d), k <= d.

    Directions that A does not determine (singular values near zero) come out shorter than one.
    """
    gram = matrices @ np.swapaxes(matrices, -1, -2)
    values, vectors = np.linalg.eigh(gram)
    floor = 1e-12 * np.maximum(values[..., -1:], np.finfo(values.dtype).tiny)
    inverse_root = (vectors / np.sqrt(np.maximum(values, floor))[..., None, :]) @ np.swapaxes(
        vectors, -1, -2
    )
    return inverse_root @ matrices


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


@cache
def _blas_threads() -> ThreadpoolController:
    """The loaded BLAS libraries, listed once: listing takes time, and swallows a Ctrl-C."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Leave the processors to our own threads: on small matrices BLAS threads wait for each other.

    Sums in another order would differ in their last digits besides.
    """
    return _blas_threads().limit(limits=1, user_api="blas")


@cache
def _openmp_threads() -> ThreadpoolController:
    """The loaded OpenMP libraries; call it when scikit-learn has loaded its own."""
    return ThreadpoolController()


def one_openmp_thread() -> AbstractContextManager[Any]:
    """The same for OpenMP, inside scikit-learn."""
    return _openmp_threads().limit(limits=1)


def on_threads(work: Callable[[int, int], None], n: int, n_jobs: int) -> None:
    """Call work(start, stop) on ranges that cover range(n), on n_jobs threads.

    For compiled code that releases the interpreter and writes its own rows only.
    """
    if n_jobs == 1 or n < 2 * RANGES:
        work(0, n)
        return
    edges = np.linspace(0, n, RANGES * n_jobs + 1).astype(np.int64)
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))


def over_blocks(
    work: Callable[[slice], None],
    n: int,
    size: int,
    n_jobs: int,
    done: Callable[[float], None] | None = None,
) -> None:
    """Call work on every block of rows, on n_jobs threads with one BLAS thread each.

    numpy releases the interpreter in its loops over small matrices, so threads do run at once.
    A block writes its own rows only: the result does not depend on the number of threads.
    """
    slices = list(blocks(n, size))
    with one_blas_thread(), ThreadPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(work, rows) for rows in slices]
        try:
            for count, future in enumerate(futures, start=1):
                future.result()
                if done is not None:
                    done(count / len(futures))
        except BaseException:  # Ctrl-C too: do not wait for blocks that have not started
            pool.shutdown(wait=False, cancel_futures=True)
            raise
