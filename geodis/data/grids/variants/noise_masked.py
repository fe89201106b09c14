"""Grids with their background or foreground filled by what says nothing of the factors."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import check_choice, check_real
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.variants.redrawn_grid import RedrawnGrid, mask_of

NoisePlace: TypeAlias = Literal["background", "foreground"]


class NoiseMasked(RedrawnGrid):
    """A grid with its background or foreground filled by textures that say nothing of the factors.

    With ``x`` an image of the grid in [0, 1], ``m`` its largest channel (the mask), ``t`` a
    colour texture and ``v`` the visibility in [0, 1], an image is

        x + (1 - m) v t         where="background",
        (1 - v) x + v m t       where="foreground",

    which for white shapes on black fades the texture to black or to white as published. There
    every image has a photograph of a large set attached, drawn once: ``pictures`` takes such a set
    of your own. Photographs cannot be shipped: without them the textures are noise with their
    spectrum, amplitude 1 / f, in colour. Every index has a texture of its own, always the same.

    Parameters
    ----------
    grid : FactorGrid
        With dark background, such as `Sprites`; grey or in colour.
    visibility : float
        From 0 (the grid itself) to 100 percent.
    where : {"background", "foreground"}
    random_state : None, int or numpy Generator
        Which textures.
    pictures : array-like of shape (p, h, w, c), or path, optional
        Photographs of one size, at least that of the images, as uint8 or as floats in [0, 1]; or
        the path of a folder of them, of one image, or of an array. Every index has one of them,
        and a patch of it where they are larger than the images.

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> masked = NoiseMasked(Sprites(binary=True), visibility=50, random_state=0)
    >>> masked.images([0, 1]).shape
    (2, 64, 64, 3)
    """

    def __init__(
        self,
        grid: FactorGrid,
        visibility: float = 100.0,
        where: NoisePlace = "background",
        random_state: Any = None,
        *,
        pictures: Any = None,
    ) -> None:
        super().__init__(grid, random_state)
        self.visibility = check_real(visibility, "visibility", low=0, high=100)
        self.where = check_choice(where, "where", get_args(NoisePlace))
        self._pictures = None
        if pictures is not None:
            from geodis.data.grids.variants.photographs import Photographs

            self._pictures = Photographs(pictures, self._height, self._width)

    def textures(self, index: Any) -> np.ndarray:
        """Return the textures (n, h, w, 3) of indices, float32 in [0, 1]."""
        from geodis.data.grids.variants.textures import textures  # factors need no numba

        index = self.check_index(index)
        if self._pictures is not None:
            return self._pictures.patches(index, self._seed)
        return textures(index, self._height, self._width, self._seed)

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        share = np.float32(self.visibility / 100)
        if share == 0:
            return images  # with one channel or three
        mask = mask_of(images)
        filled = self.textures(index)
        if self.where == "background":
            filled *= share * (1 - mask)
            filled += images
        else:
            filled *= share * mask
            filled += (1 - share) * images
        return filled
