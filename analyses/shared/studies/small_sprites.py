"""Sprites of which some levels are left out: what a small model learns in minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from geodis import FactorGrid, Sprites

# By name: levels that are kept; all of what is not named. What has one level is no factor.
KEPT: Mapping[str, Mapping[str, Sequence[int]]] = {
    "hearts": {"shape": [2], "orientation": [0], "x": range(0, 32, 2), "y": range(0, 32, 2)},
    "thinned sprites": {
        "scale": range(0, 6, 2),
        "orientation": range(0, 40, 5),
        "x": range(0, 32, 4),
        "y": range(0, 32, 4),
    },
    "sprites": {},
}
WORDS = {
    "hearts": "one shape at one orientation, 6 scales and 16 x 16 places: 1,536 images",
    "thinned sprites": "3 shapes, 3 scales, 8 orientations and 8 x 8 places: 4,608 images",
    "sprites": "3 shapes, 6 scales, 40 orientations and 32 x 32 places: 737,280 images",
}


@cache
def small_sprites(name: str, image_size: int) -> FactorGrid:
    """Binary sprites of which the levels of `KEPT` are kept."""
    sprites = Sprites(image_size, binary=True)
    if not KEPT[name]:
        return sprites
    levels = [list(KEPT[name].get(factor, range(size))) for factor, size in _sizes(sprites)]
    places = np.stack(np.meshgrid(*map(np.arange, map(len, levels)), indexing="ij"), axis=-1)
    places = places.reshape(-1, len(levels))
    factors = np.column_stack([np.array(own)[places[:, j]] for j, own in enumerate(levels)])
    images = sprites.images(sprites.index(factors))
    varying = [j for j, own in enumerate(levels) if len(own) > 1]
    names = [sprites.names[j] for j in varying]
    return FactorGrid.from_arrays(images, places[:, varying], names=names)


def _sizes(grid: FactorGrid) -> list[tuple[str, int]]:
    return list(zip(grid.names, grid.sizes, strict=True))
