"""Random numbers that are a function of a seed and an index: images drawn alone or among others."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit

_GOLDEN = 0x9E3779B97F4A7C15  # the step of the splitmix64 counter


def numbers_of_index(index: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return numbers uniform in [0, 1), always the same for an index.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
    count : int
        Numbers an index has.
    seed : int
        Another seed, other numbers.

    Returns
    -------
    ndarray of float32, shape (n, count)

    Examples
    --------
    >>> few = numbers_of_index(np.array([7, 8]), 3, seed=0)
    >>> bool((few[1] == numbers_of_index(np.array([8]), 3, seed=0)).all())
    True
    """
    return _numbers(np.asarray(index, dtype=np.uint64), count, np.uint64(seed))


@njit(cache=True, nogil=True)
def _numbers(index: np.ndarray, count: int, seed: np.uint64) -> np.ndarray:
    numbers = np.empty((len(index), count), dtype=np.float32)
    for i in range(len(index)):
        counter = mix(mix(seed) ^ index[i])
        for j in range(count):
            counter += np.uint64(_GOLDEN)
            # 24 bits are what a float32 has.
            numbers[i, j] = np.float32(mix(counter) >> np.uint64(40)) * np.float32(2**-24)
    return numbers


@njit(cache=True)
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits: the finaliser of the splitmix64 generator (Steele et al., 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
