"""Outlines of the sprites: closed polygons about their centroid, in units of the longest radius."""

from __future__ import annotations

import numpy as np

CURVED = 96  # corners of a curved outline: within .01 pixels of the curve at radius 13

# With this ratio of its axes, and the radius and range that `Sprites` has, the mean image and the
# mean perceived distances along every factor are within 8 % of those published for dSprites.
ELLIPSE_RATIO = 2.4


def square() -> np.ndarray:
    """Corners (4, 2) of a square whose sides are parallel to the image's, x first."""
    return np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) / np.sqrt(2)


def ellipse() -> np.ndarray:
    """Corners (96, 2) of an ellipse whose long axis is the x axis."""
    t = np.arange(CURVED) * (2 * np.pi / CURVED)
    axes = np.array([1.0, 1.0 / ELLIPSE_RATIO])
    outline = axes * np.stack([np.cos(t), np.sin(t)], axis=1)
    # A polygon with its corners on the curve would be too small by a tenth of a percent.
    return outline * np.sqrt(np.pi * axes.prod() / abs(area(outline)))


def heart() -> np.ndarray:
    """Corners (96, 2) of a heart that stands on its tip; y points down, as rows of images do."""
    # Between two samples of t at 0 and pi, so that cleft and tip are corners.
    t = np.arange(CURVED) * (2 * np.pi / CURVED)
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    outline = np.stack([x, -y], axis=1)
    outline -= centroid(outline)
    return outline / np.linalg.norm(outline, axis=1).max()


OUTLINES = {"square": square, "ellipse": ellipse, "heart": heart}


def area(outline: np.ndarray) -> float:
    """Signed area of a polygon (p, 2)."""
    x, y = outline.T
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


def centroid(outline: np.ndarray) -> np.ndarray:
    """Centre of mass (2,) of the inside of a polygon (p, 2)."""
    following = np.roll(outline, -1, axis=0)
    cross = outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]
    return ((outline + following) * cross[:, None]).sum(axis=0) / (3 * cross.sum())
