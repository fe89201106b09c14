"""The Color, Noisy and Scream variants of a set, of the large study of unsupervised learning."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.variants.noise_masked import NoiseMasked
from geodis.data.grids.variants.redrawn_grid import RedrawnGrid, mask_of

VariantName: TypeAlias = Literal["color", "noisy", "scream", "background", "foreground"]

DARKEST = 0.5  # of every channel of a drawn colour, so that no object is lost on black


class ColorVariant(RedrawnGrid):
    """A grid whose objects have a random colour each: Color-dSprites, of `Sprites`.

    With ``x`` an image of the grid in [0, 1], an image is ``u x``, where every channel of the
    colour ``u`` is drawn evenly from [.5, 1]. Every index has a colour of its own, always the
    same, which is no factor.

    Parameters
    ----------
    grid : FactorGrid
        Such as `Sprites` or what `published_grid` opens; grey or in colour.
    random_state : None, int or numpy Generator
        Which colours.

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> ColorVariant(Sprites(image_size=16), random_state=0).images(range(2)).shape
    (2, 16, 16, 3)
    """

    def colors(self, index: Any) -> np.ndarray:
        """Return the colours (n, 3) of indices, float32 in [.5, 1]."""
        drawn = self._uniform(self.check_index(index), 3)
        return np.float32(DARKEST) + np.float32(1 - DARKEST) * drawn

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        return images * self.colors(index)[:, None, None]


class NoisyVariant(RedrawnGrid):
    """A grid whose background is noise, drawn evenly from [0, 1]: Noisy-dSprites, of `Sprites`.

    With ``x`` an image of the grid, ``m`` its largest channel (the mask) and noise ``u`` for every
    pixel and channel, an image is ``x + (1 - m) u``. Every index has noise of its own, always the
    same.

    Parameters
    ----------
    grid : FactorGrid
        With dark background, such as `Sprites`; grey or in colour.
    random_state : None, int or numpy Generator
        Which noise.

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> NoisyVariant(Sprites(image_size=16), random_state=0).images(range(2)).shape
    (2, 16, 16, 3)
    """

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        shape = (len(index), self._height, self._width, 3)
        noise = self._uniform(index, self._height * self._width * 3).reshape(shape)
        noise *= 1 - mask_of(images)
        noise += images
        return noise


class ScreamVariant(RedrawnGrid):
    """A grid before patches of a picture, whose objects invert it: Scream-dSprites, of `Sprites`.

    With ``m`` the largest channel of an image of the grid (the mask), ``p`` a patch of the picture
    from a place that is drawn, and ``u`` a colour whose channels are drawn evenly from [0, 1], the
    background is ``b = (p + u) / 2`` and an image

        (1 - m) b + m (1 - b).

    Every index has a patch and a colour of its own, always the same. The colours of the objects
    themselves are lost. The published picture, a painting, cannot be shipped: without one of your
    own it is noise with the spectrum of photographs, four times as high and five times as wide as
    the images, the same for every grid of this size.

    Parameters
    ----------
    grid : FactorGrid
        With dark background, such as `Sprites`; grey or in colour.
    picture : array-like of shape (h, w) or (h, w, c), or path, optional
        Of a photograph or a painting, at least as large as the images: uint8, or floats in [0, 1].
        Several of one size, (p, h, w, c) or a folder, are drawn from evenly.
    random_state : None, int or numpy Generator
        Which patches and colours.

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> picture = np.linspace(0, 1, 24 * 32).reshape(24, 32)
    >>> ScreamVariant(Sprites(image_size=16), picture, random_state=0).images(range(2)).shape
    (2, 16, 16, 3)
    """

    def __init__(self, grid: FactorGrid, picture: Any = None, random_state: Any = None) -> None:
        super().__init__(grid, random_state)
        from geodis.data.grids.variants.photographs import Photographs
        from geodis.data.grids.variants.textures import textures

        if picture is None:
            picture = textures(np.zeros(1, np.int64), 4 * self._height, 5 * self._width, seed=0)
        self._picture = Photographs(picture, self._height, self._width)

    def backgrounds(self, index: Any) -> np.ndarray:
        """Return the backgrounds b (n, h, w, 3) of indices, float32 in [0, 1]."""
        index = self.check_index(index)
        # The first three numbers of an index say where its patch is.
        shade = self._uniform(index, 6)[:, None, None, 3:]
        return (self._picture.patches(index, self._seed) + shade) / 2

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        behind, mask = self.backgrounds(index), mask_of(images)
        return behind + mask * (1 - 2 * behind)


def variant_of(
    grid: FactorGrid,
    variant: VariantName,
    *,
    picture: Any = None,
    visibility: float | None = None,
    random_state: Any = 0,
) -> RedrawnGrid:
    """Make a variant of a grid by its name, as the commands do.

    Parameters
    ----------
    grid : FactorGrid
        With images of one channel or three.
    variant : {"color", "noisy", "scream", "background", "foreground"}
        `ColorVariant`, `NoisyVariant`, `ScreamVariant`, or a side of `NoiseMasked`.
    picture : array-like or path, optional
        Of "scream", "background" and "foreground".
    visibility : float, optional
        Percent, of "background" and "foreground"; 100 unless given.
    random_state : None, int or numpy Generator

    Returns
    -------
    RedrawnGrid

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> variant_of(Sprites(), "noisy")
    NoisyVariant(shape=3, scale=6, orientation=40, x=32, y=32)
    """
    check_choice(variant, "variant", get_args(VariantName))
    if picture is not None and variant in ("color", "noisy"):
        raise InputError(f"A picture belongs to scream, background, foreground; got {variant}.")
    if visibility is not None and variant not in ("background", "foreground"):
        raise InputError(f"visibility belongs to background and foreground; got {variant}.")
    if variant == "color":
        return ColorVariant(grid, random_state)
    if variant == "noisy":
        return NoisyVariant(grid, random_state)
    if variant == "scream":
        return ScreamVariant(grid, picture, random_state)
    share = 100.0 if visibility is None else visibility
    return NoiseMasked(grid, share, variant, random_state, pictures=picture)
