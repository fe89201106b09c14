"""Sprites: rotated, scaled and shifted shapes with the factors of dSprites."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.base.jobs import njit
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid

# Outlines of the sprites: closed polygons around their centroid, in units of the longest radius.

CURVED = 96  # corners of a curved outline: within .01 pixels of the curve at radius 13

# With this ratio of the axes, and the radius and positions used by `Sprites`, the mean image and
# the mean perceived distances along every factor are within 8 % of those published for dSprites.
ELLIPSE_RATIO = 2.4


def square() -> np.ndarray:
    """Return the corners (4, 2) of an axis-parallel square, x first."""
    return np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) / np.sqrt(2)


def ellipse() -> np.ndarray:
    """Return the corners (96, 2) of an ellipse with its long axis along x."""
    t = np.arange(CURVED) * (2 * np.pi / CURVED)
    axes = np.array([1.0, 1.0 / ELLIPSE_RATIO])
    outline = axes * np.stack([np.cos(t), np.sin(t)], axis=1)
    # A polygon with its corners on the curve would be too small by a tenth of a percent.
    return outline * np.sqrt(np.pi * axes.prod() / abs(area(outline)))


def heart() -> np.ndarray:
    """Return the corners (96, 2) of a heart with its tip down; y points down, as image rows do."""
    # The samples at t = 0 and pi make the cleft and the tip corners.
    t = np.arange(CURVED) * (2 * np.pi / CURVED)
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    outline = np.stack([x, -y], axis=1)
    outline -= centroid(outline)
    return outline / np.linalg.norm(outline, axis=1).max()


OUTLINES = {"square": square, "ellipse": ellipse, "heart": heart}


def area(outline: np.ndarray) -> float:
    """Return the signed area of a polygon (p, 2)."""
    x, y = outline.T
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


def centroid(outline: np.ndarray) -> np.ndarray:
    """Return the centre of mass (2,) of the inside of a polygon (p, 2)."""
    following = np.roll(outline, -1, axis=0)
    cross = outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]
    return ((outline + following) * cross[:, None]).sum(axis=0) / (3 * cross.sum())


SIZES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
KINDS: tuple[FactorKind, ...] = ("labels", "numbers", "cyclic", "numbers", "numbers")
SCALES = (0.5, 1.0)
# As fractions of the image size: the longest radius at scale 1, and the smallest coordinate of a
# centre. The radius is smaller, so that no shape is cut off.
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

    Grey levels are the exact fraction of each pixel that is covered by the shape, so an image
    changes by less than a pixel per step of any factor, and the sum of an image is the area of its
    shape. The position is that of the centroid, and shapes never leave the image. (In the
    published set the last orientation, 2 pi, repeats the first; here it does not. The square is
    unchanged by a quarter turn, ten levels, and the ellipse by half a turn.)

    Parameters
    ----------
    image_size : int
        Height and width, at least 8.
    binary : bool
        Use only 0 and 255, as published: white if at least half of the pixel is covered.

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
        """Return the values of factors (n, 5) as in the table above, float64 (n, 5)."""
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
        """Return the outline (p, 2) of the shape in image i, x then y, in pixels."""
        shape, turn, centre = self._places(self._factors(self.check_index(i)))
        corners = self._corners[self._starts[shape[0]] : self._starts[shape[0] + 1]]
        (cos, sin), (x, y) = turn[0], corners.T
        return centre[0] + np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)

    def _places(self, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return shape (n,), scaled cosine and sine (n, 2), and centre (n, 2), in pixels."""
        assert self.image_shape is not None
        size = self.image_shape[0]
        values = self.factor_values(factors)
        scale, angle = values[:, 1] * RADIUS * size, values[:, 2]
        turn = scale[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        centre = size * (FIRST_CENTRE + (1 - 2 * FIRST_CENTRE) * values[:, 3:])
        return factors[:, 0], turn, centre

    def _draw(self, index: np.ndarray) -> np.ndarray:
        assert self.image_shape is not None
        height, width, _ = self.image_shape
        places = self._places(self._factors(index))
        covered = coverage(self._corners, self._starts, *places, height, width)[..., None]
        if self.binary:
            return np.where(covered >= 0.5, np.uint8(255), np.uint8(0))
        return covered


# Exact coverage of pixels by closed outlines.


@njit(cache=True, nogil=True)
def coverage(
    outlines: np.ndarray,
    starts: np.ndarray,
    shape: np.ndarray,
    turn: np.ndarray,
    centre: np.ndarray,
    height: int,
    width: int,
) -> np.ndarray:
    """Draw one rotated, scaled and shifted outline per image with exact pixel coverage.

    By Green's theorem, the covered area of a pixel is a sum over the edges of the outline. A piece
    of an edge inside one pixel with height ``dy`` and mean distance ``x`` from the pixel's left
    side covers ``dy (1 - x)`` of that pixel and ``dy`` of every pixel to its right. The pieces are
    recorded at their pixel, and a running sum along each row adds the contributions to the right.

    Parameters
    ----------
    outlines : ndarray of shape (p, 2)
        The corners of all outlines, concatenated, x (right) and y (down).
    starts : ndarray of int, shape (number of outlines + 1,)
        First corner of each outline.
    shape : ndarray of int, shape (n,)
        The outline of each image.
    turn : ndarray of shape (n, 2)
        (s cos a, s sin a): scale s in pixels, and angle a from x towards y.
    centre : ndarray of shape (n, 2)
        Position of the outline's origin, in pixels from the corner of the image. The outline must
        stay inside the image.
    height, width : int

    Returns
    -------
    ndarray of float32, shape (n, height, width)
        In [0, 1]; the sum of an image is the area of its outline.
    """
    n = len(shape)
    images = np.empty((n, height, width), dtype=np.float32)
    notes = np.zeros((height, width + 1))
    for i in range(n):
        first, last = starts[shape[i]], starts[shape[i] + 1]
        top, bottom = height, 0
        x0, y0 = _place(outlines[last - 1], turn[i], centre[i])
        for corner in range(first, last):
            x1, y1 = _place(outlines[corner], turn[i], centre[i])
            _note_edge(notes, x0, y0, x1, y1)
            top, bottom = min(top, int(y1)), max(bottom, int(y1))
            x0, y0 = x1, y1
        images[i] = 0.0
        for row in range(top, min(bottom + 1, height)):
            covered = 0.0
            for column in range(width):
                covered += notes[row, column]
                # Rounding can put the sum slightly outside [0, 1].
                images[i, row, column] = min(abs(covered), 1.0)
            notes[row] = 0.0
    return images


@njit(cache=True, inline="always")
def _place(corner: np.ndarray, turn: np.ndarray, centre: np.ndarray) -> tuple[float, float]:
    x = centre[0] + turn[0] * corner[0] - turn[1] * corner[1]
    y = centre[1] + turn[1] * corner[0] + turn[0] * corner[1]
    return x, y


@njit(cache=True)
def _note_edge(notes: np.ndarray, x0: float, y0: float, x1: float, y1: float) -> None:
    """Cut an edge where it crosses rows and columns, and record the coverage of each piece."""
    if y0 == y1:
        return  # covers nothing
    sign = 1.0
    if y0 > y1:
        x0, y0, x1, y1 = x1, y1, x0, y0
        sign = -1.0
    slope = (x1 - x0) / (y1 - y0)
    for row in range(int(y0), min(int(np.ceil(y1)), notes.shape[0])):
        above, below = max(y0, row), min(y1, row + 1)
        left, right = x0 + slope * (above - y0), x0 + slope * (below - y0)
        if left > right:
            left, right = right, left
        dy = sign * (below - above)
        first, last = int(left), int(right)
        if first == last:
            inside = 0.5 * (left + right) - first
            notes[row, first] += dy * (1.0 - inside)
            notes[row, first + 1] += dy * inside
            continue
        for column in range(first, last + 1):
            low, high = max(left, column), min(right, column + 1)
            piece = dy * (high - low) / (right - left)
            inside = 0.5 * (low + high) - column
            notes[row, column] += piece * (1.0 - inside)
            notes[row, min(column + 1, notes.shape[1] - 1)] += piece * inside
