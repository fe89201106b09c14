"""A grid with the factors of another, whose images it takes and changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.data.grids.grid import FactorGrid

BLOCK = 64  # images that are composed at once: what passes go over stays in the processor's cache


class RedrawnGrid(FactorGrid):
    """What the grids of this folder share: the factors of a grid, images of three channels.

    A subclass defines ``_compose(images, index)``, which gets images of the grid, float32
    (b, h, w, 1 or 3) in [0, 1], and their indices (b,), and returns (b, h, w, 3).

    Parameters
    ----------
    grid : FactorGrid
        With images of one channel or three.
    random_state : None, int or numpy Generator
        What is drawn for every index, always the same.

    Attributes
    ----------
    grid : FactorGrid
    """

    def __init__(self, grid: FactorGrid, random_state: Any = None) -> None:
        if not isinstance(grid, FactorGrid):
            raise InputError(f"grid must be a FactorGrid; got {type(grid).__name__}.")
        if grid.image_shape is None or grid.image_shape[2] not in (1, 3):
            raise InputError(
                "grid must have images with one channel or three; got "
                f"{grid.image_shape} as (h, w, c)."
            )
        height, width, _ = grid.image_shape
        super().__init__(grid.sizes, grid.names, (height, width, 3), grid.kinds)
        self.complete, self.periods = grid.complete, grid.periods
        self.grid = grid
        self._height, self._width = height, width
        self._seed = int(check_random_state(random_state).integers(2**63))

    @property
    def note(self) -> str:
        """What the grid below says."""
        return self.grid.note

    def __len__(self) -> int:
        return len(self.grid)

    def _factors(self, index: np.ndarray) -> np.ndarray:
        return self.grid._factors(index)

    def _labels(self, j: int) -> tuple[str, ...]:
        return self.grid._labels(j)

    def _index(self, factors: np.ndarray) -> np.ndarray:
        return self.grid._index(factors)

    def _draw(self, index: np.ndarray) -> np.ndarray:
        images = np.empty((len(index), self._height, self._width, 3), dtype=np.float32)
        for start in range(0, len(index), BLOCK):
            rows = index[start : start + BLOCK]
            composed = self._compose(self.grid.images(rows, dtype="float32"), rows)
            # A sum of rounded shares may come out a hair above one.
            np.minimum(composed, 1, out=images[start : start + BLOCK])
        return images

    def _uniform(self, index: np.ndarray, count: int) -> np.ndarray:
        """Random numbers (n, count) in [0, 1), always the same for an index."""
        from geodis.data.grids.variants.numbers_of_index import numbers_of_index  # needs numba

        return numbers_of_index(index, count, self._seed)

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must define _compose.")


def mask_of(images: np.ndarray) -> np.ndarray:
    """How much of every pixel is object, (b, h, w, 1): the largest channel, on dark background."""
    return images.max(axis=3, keepdims=True)
