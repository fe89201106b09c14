"""Places -> colours that say where they are: near places have nearly the same."""

from __future__ import annotations

import numpy as np

# Of the colours, in CIELAB: lightness in the middle and how far it goes, and how far colours go
# from grey. Nothing is so dark or so light that it could not be seen on either ground.
LIGHTNESS, LIGHTER, CHROMA = 62.0, 20.0, 62.0
WHITE = np.array([0.95047, 1.0, 1.08883])
XYZ_TO_RGB = np.array(
    [
        [3.2404542, -1.5371385, -0.4985314],
        [-0.9692660, 1.8760108, 0.0415560],
        [0.0556434, -0.2040259, 1.0572252],
    ]
)


def place_colors(places: np.ndarray) -> np.ndarray:
    """Red, green and blue of places: hues around the first two directions, light along the third.

    Parameters
    ----------
    places : ndarray of shape (s, r)
        From -1 to 1; r of 1 to 3, more are not seen.

    Returns
    -------
    ndarray of shape (s, 3)
        From 0 to 1.

    Examples
    --------
    >>> place_colors(np.array([[0.0, 0.0, 0.0]])).round(2).tolist()
    [[0.59, 0.59, 0.59]]
    """
    x, y, z = np.zeros((3, len(places)))
    columns = [x, y, z]
    for own, given in zip(columns, np.clip(np.nan_to_num(places.T[:3]), -1, 1), strict=False):
        own += given
    lightness = (LIGHTNESS + LIGHTER * z + 16) / 116
    lab = np.stack([lightness + CHROMA * x / 500, lightness, lightness - CHROMA * y / 200], axis=1)
    xyz = WHITE * np.where(lab > 6 / 29, lab**3, 3 * (6 / 29) ** 2 * (lab - 4 / 29))
    linear = np.clip(xyz @ XYZ_TO_RGB.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def hex_colors(rgb: np.ndarray) -> list[str]:
    """As pages and matplotlib read them.

    Examples
    --------
    >>> hex_colors(np.array([[1.0, 0.5, 0.0]]))
    ['#ff8000']
    """
    codes = np.rint(255 * np.clip(np.asarray(rgb, float)[:, :3], 0, 1)).astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in codes.tolist()]
