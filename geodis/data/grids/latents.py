"""The latents of the images of a grid: a table of them, or an encoder -> latents by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_int, check_numeric, to_numpy
from geodis.data.grids.grid import FactorGrid

# Images that go through a code at once: a few megabytes at 64 x 64 x 3.
CODE_BATCH = 256


def latents_of(
    grid: FactorGrid, code: Any, batch_size: int = CODE_BATCH
) -> Callable[[Any], np.ndarray]:
    """Return a function that gives the latents of any indices of a grid.

    Parameters
    ----------
    grid : FactorGrid
    code : array-like of shape (len(grid), z), or callable
        Latents whose row is the index, or an encoder: it gets float32 images (n, h, w, c) in
        [0, 1] and returns (n, z), as numpy array or tensor.
    batch_size : int
        Most images that are held, and given to an encoder, at once.

    Returns
    -------
    callable
        From an index or an array (n,) of them to latents (n, z), floats of the precision that the
        code has: what compares latents must know how far to trust them.

    Examples
    --------
    >>> grid = FactorGrid((2, 3))
    >>> latents = latents_of(grid, grid.factors(range(6)) * 0.5)
    >>> latents([0, 5]).tolist()
    [[0.0, 0.0], [0.5, 1.0]]
    """
    batch_size = check_int(batch_size, "batch_size", low=1)
    if callable(code):
        return lambda index: _encode(grid, code, grid.check_index(index), batch_size)
    table = check_numeric(to_numpy(code, "code"), "code")
    if table.ndim != 2 or len(table) != len(grid) or not table.shape[1]:
        raise InputError(
            f"code must be a callable, or have shape ({len(grid)}, z), one row for each index of "
            f"the grid; got shape {table.shape}."
        )
    check_finite(table, "code")
    return lambda index: _as_floats(table[grid.check_index(index)])


def _encode(
    grid: FactorGrid, code: Callable[[np.ndarray], Any], index: np.ndarray, batch_size: int
) -> np.ndarray:
    latents = []
    # An empty index makes one empty batch, so that the width of the latents is known.
    for start in range(0, max(len(index), 1), batch_size):
        batch = index[start : start + batch_size]
        encoded = to_numpy(code(grid.images(batch, "float32")), "latents")
        encoded = check_numeric(encoded, "latents")
        if encoded.ndim != 2 or len(encoded) != len(batch) or not encoded.shape[1]:
            raise InputError(
                f"code must return latents of shape ({len(batch)}, z) for {len(batch)} images; "
                f"got shape {encoded.shape}."
            )
        latents.append(_as_floats(check_finite(encoded, "latents")))
    return np.concatenate(latents)


def _as_floats(latents: np.ndarray) -> np.ndarray:
    return latents if latents.dtype.kind == "f" else latents.astype(np.float64)
