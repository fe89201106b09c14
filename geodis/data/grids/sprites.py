"""Sprites: turned, scaled and moved shapes with the dSprites factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.sprite_outlines import OUTLINES

SIZES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
KINDS: tuple[FactorKind, ...] = ("labels", "numbers", "cyclic", "numbers", "numbers")
SCALES = (0.5, 1.0)
# As shares of the image: the longest radius of every shape at scale 1, and where its centre may
# be. The first is below the second, so that no shape is ever cut off.
RADIUS = 13 / 64
FIRST_CENTRE = 13.5 / 64


class Sprites(FactorGrid):
    """White shapes on black: a square, an ellipse or a heart, with the factors of dSprites.

    ============  ====  =================================================================
    factor        size  value of level t
    ============  ====  =================================================================
    shape         3     square, ellipse, heart
    scale         6     linear from 0.5 to 1
    orientation   40    angle 2 pi t / 40, clockwise as seen
    x             32    linear from 0 to 1, left to right
    y             32    linear from 0 to 1, top to bottom
    ============  ====  =================================================================

    Grey levels are the exact share of a pixel that the shape covers, so that an image changes with
    every factor by less than a pixel at a time; the sum of an image is the area of its shape. The
    shape's centroid is at its place, and it never leaves the image. (The published set repeats
    orientation 0 as 2 pi, this one does not. The square looks the same after a quarter turn, ten
    levels, and the ellipse after half a turn.)

    Parameters
    ----------
    image_size : int
        Height and width, at least 8.
    binary : bool
        Only 0 and 255, as published: white where half of the pixel or more is covered.

    Examples
    --------
    >>> grid = Sprites()
    >>> len(grid)
    737280
    >>> grid.images(grid.index([[0, 5, 0, 16, 16]]))[0, 28:36:2, 24, 0].tolist()
    [255, 255, 255, 255]
    >>> grid.factor_values([[2, 5, 10, 0, 31]]).round(4).tolist()
    [[2.0, 1.0, 1.5708, 0.0, 1.0]]
    """

    def __init__(self, image_size: int = 64, *, binary: bool = False) -> None:
        size = check_int(image_size, "image_size", low=8)
        super().__init__(tuple(SIZES.values()), tuple(SIZES), (size, size, 1), KINDS)
        self.binary = bool(check_choice(binary, "binary", (False, True)))
        outlines = [outline() for outline in OUTLINES.values()]
        self._corners = np.concatenate(outlines)
        self._starts = np.cumsum([0, *map(len, outlines)])

    def factor_values(self, factors: Any) -> np.ndarray:
        """Return what factors (n, 5) mean, as in the table above, float64 (n, 5)."""
        levels = self._check_factors(factors).astype(float)
        low, high = SCALES
        levels[:, 1] = low + (high - low) * levels[:, 1] / (SIZES["scale"] - 1)
        levels[:, 2] *= 2 * np.pi / SIZES["orientation"]
        levels[:, 3] /= SIZES["x"] - 1
        levels[:, 4] /= SIZES["y"] - 1
        return levels

    def _labels(self, j: int) -> tuple[str, ...]:
        return tuple(OUTLINES) if self.names[j] == "shape" else super()._labels(j)

    def outline(self, i: int) -> np.ndarray:
        """Return the corners (p, 2) of the shape in image i, x then y, in pixels."""
        shape, turn, centre = self._places(self._factors(self.check_index(i)))
        corners = self._corners[self._starts[shape[0]] : self._starts[shape[0] + 1]]
        (cos, sin), (x, y) = turn[0], corners.T
        return centre[0] + np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)

    def _places(self, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shape (n,), scaled cosine and sine (n, 2), and centre (n, 2), in pixels."""
        assert self.image_shape is not None
        size = self.image_shape[0]
        values = self.factor_values(factors)
        scale, angle = values[:, 1] * RADIUS * size, values[:, 2]
        turn = scale[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        centre = size * (FIRST_CENTRE + (1 - 2 * FIRST_CENTRE) * values[:, 3:])
        return factors[:, 0], turn, centre

    def _draw(self, index: np.ndarray) -> np.ndarray:
        from geodis.data.grids.coverage import coverage  # numba is not needed for the factors

        assert self.image_shape is not None
        height, width, _ = self.image_shape
        places = self._places(self._factors(index))
        covered = coverage(self._corners, self._starts, *places, height, width)[..., None]
        if self.binary:
            return np.where(covered >= 0.5, np.uint8(255), np.uint8(0))
        return covered
