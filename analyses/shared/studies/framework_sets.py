"""The image sets that frameworks of autoencoders are compared on, whole or of 16 x 16 pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import geodis as gd
from analyses.shared.vae_cases import Sizes

APART, OVERLAP = "XYSquares", "XYSquares, spacing 1"
OBJECT, SHADES = "XYObject", "XYObject, shades"
SPRITES = "Sprites"
MASKED = {share: f"Sprites, background {share} %" for share in (25, 50, 75, 100)}
FOREGROUND = {share: f"Sprites, foreground {share} %" for share in (50, 100)}
# How much a square overlaps with itself one place on.
SHIFTED = {overlap: f"XYSquares, overlap {overlap} %" for overlap in (0, 25, 50, 75)}
PUBLISHED_SIZE = 64
# Published sets of Fig. 3.7 that nothing here is like: they are read from files.
FROM_FILES = ("shapes3d", "cars3d", "smallnorb")


@dataclass(frozen=True)
class PixelSizes(Sizes):
    """Sizes of a preset, and of its images: 64 as published, or 16."""

    image_size: int = PUBLISHED_SIZE


@cache
def framework_set(name: str, image_size: int) -> gd.FactorGrid:
    """A set by its name.

    Of 16 pixels: two squares of 2 pixels on 8 x 8 places (4,096 images), apart or overlapping by
    half, or of 4 pixels on 4 x 4 places (256 images), where overlaps between these two fit; a
    square of 3 or 5 pixels on 12 x 12 places in 12 colours (3,456 images); sprites of 3 scales,
    8 orientations and 8 x 8 places (4,608 images).
    """
    if image_size == PUBLISHED_SIZE:
        return _published(name)
    if name in (APART, OVERLAP):
        return gd.XYSquares(
            spacing=2 if name == APART else 1,
            square_size=2,
            grid_size=8,
            n_squares=2,
            image_size=image_size,
        )
    if name in SHIFTED.values():
        return gd.XYSquares(
            spacing=_spacing(name, 4),
            square_size=4,
            grid_size=4,
            n_squares=2,
            image_size=image_size,
        )
    if name in (OBJECT, SHADES):
        kind = gd.XYObject if name == OBJECT else gd.XYObjectShades
        return kind(
            spacing=1, min_size=3, max_size=5, palette="rgb", levels=4, image_size=image_size
        )
    return _before_noise(name, _thinned(image_size))


@cache
def set_of_file(name: Any, path: str, image_size: int) -> gd.FactorGrid:
    """A published set of `FROM_FILES`, its images as large as those of the others."""
    return gd.published_grid(name, path, image_size=image_size)


def _published(name: str) -> gd.FactorGrid:
    if name in (APART, OVERLAP):
        return gd.XYSquares(spacing=8 if name == APART else 1)
    if name in SHIFTED.values():
        return gd.XYSquares(spacing=_spacing(name, 8))
    if name in (OBJECT, SHADES):
        return gd.XYObject() if name == OBJECT else gd.XYObjectShades()
    return _before_noise(name, gd.Sprites())


def _before_noise(name: str, plain: gd.FactorGrid) -> gd.FactorGrid:
    """Sprites, or sprites before or filled with as much noise as the name says."""
    if name == SPRITES:
        return plain
    if name in FOREGROUND.values():
        share = float(_value_of(FOREGROUND, name))
        return gd.NoiseMasked(plain, share, where="foreground", random_state=0)
    return gd.NoiseMasked(plain, float(_value_of(MASKED, name)), random_state=0)


def _spacing(name: str, square_size: int) -> int:
    return square_size * (100 - _value_of(SHIFTED, name)) // 100


def _value_of(names: Mapping[int, str], name: str) -> int:
    return next(value for value, own in names.items() if own == name)


def _thinned(image_size: int) -> gd.FactorGrid:
    """Sprites of every second scale, fifth orientation and fourth place."""
    sprites = gd.Sprites(image_size)
    kept = [range(3), range(0, 6, 2), range(0, 40, 5), range(0, 32, 4), range(0, 32, 4)]
    levels = np.stack(np.meshgrid(*kept, indexing="ij"), axis=-1).reshape(-1, len(kept))
    columns = dict(zip(sprites.names, levels.T, strict=True))
    columns["shape"] = np.array(["square", "ellipse", "heart"])[levels[:, 0]]
    factors = gd.as_factors(columns, periods={"orientation": sprites.sizes[2]})
    return gd.FactorGrid.from_arrays(sprites.images(sprites.index(levels)), factors)
