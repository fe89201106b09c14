"""The data set that a process trains on: opened once, with its images cached if they are small."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.models.training.state.run_identity import data_fingerprint

# Bytes of images that are kept in memory once drawn.
MOST_HELD = 2**28
# Images that are drawn at once.
AT_ONCE = 4096

GridSource = FactorGrid | Callable[[], FactorGrid]

_opened: dict[str, FactorGrid] = {}


def open_grid(source: GridSource, fingerprint: str, name: str) -> FactorGrid:
    """Return the grid of a data set; the most recent one stays open."""
    if fingerprint not in _opened:
        grid = source if isinstance(source, FactorGrid) else source()
        if data_fingerprint(grid) != fingerprint:
            raise InputError(
                f"Data must be the same wherever a sweep runs; got other data of {name} here."
            )
        close_grid()  # one set at a time: the runs of a set come one after the other
        _opened[fingerprint] = held_grid(grid)
    return _opened[fingerprint]


def close_grid() -> None:
    """Close the open grid."""
    _opened.clear()


def held_grid(grid: FactorGrid) -> FactorGrid:
    """The same grid with its images cached in memory if they are small.

    Examples
    --------
    >>> grid = FactorGrid.from_arrays(np.zeros((3, 2, 2), np.uint8), [[0], [1], [2]])
    >>> held_grid(grid).images([2, 0]).shape
    (2, 2, 2, 1)
    """
    if grid.image_shape is None:
        return grid
    first = grid.images([0], "auto")
    if len(grid) * first.nbytes > MOST_HELD:
        return grid
    images = np.empty((len(grid), *first.shape[1:]), first.dtype)
    for start in range(0, len(grid), AT_ONCE):
        part = np.arange(start, min(start + AT_ONCE, len(grid)))
        images[part] = grid.images(part, "auto")
    held = copy.copy(grid)
    held._draw = images.__getitem__  # type: ignore[assignment, method-assign]
    return held
