"""Variants of a grid that change its images and keep its factors."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_random_state, check_real
from geodis.data.grids.grid import FactorGrid

BLOCK = 64  # images composed at a time, so that the passes over them stay in the cache


class RedrawnGrid(FactorGrid):
    """Base class of variants: the factors of a grid, with images of three channels.

    A subclass defines ``_compose(images, index)``, which gets images of the grid, float32
    (b, h, w, 1 or 3) in [0, 1], and their indices (b,), and returns (b, h, w, 3).

    Parameters
    ----------
    grid : FactorGrid
        A grid with images of one or three channels.
    random_state : None, int or numpy Generator
        Determines what is drawn for each index.

    Attributes
    ----------
    grid : FactorGrid
    """

    def __init__(self, grid: FactorGrid, random_state: Any = None) -> None:
        if not isinstance(grid, FactorGrid):
            raise InputError(f"grid must be a FactorGrid; got {type(grid).__name__}.")
        if grid.image_shape is None or grid.image_shape[2] not in (1, 3):
            raise InputError(
                "grid must have images with one or three channels; got "
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
        """The note of the original grid."""
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
            # Rounding may put a sum slightly above one.
            np.minimum(composed, 1, out=images[start : start + BLOCK])
        return images

    def _uniform(self, index: np.ndarray, count: int) -> np.ndarray:
        """Return numbers (n, count) in [0, 1) that depend only on seed and index."""
        from geodis.data.grids.textures import numbers_of_index  # needs numba

        return numbers_of_index(index, count, self._seed)

    def _compose(self, images: np.ndarray, index: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must define _compose.")


def mask_of(images: np.ndarray) -> np.ndarray:
    """Return the object mask (b, h, w, 1): the largest channel of images on a dark background."""
    return images.max(axis=3, keepdims=True)


# Grids whose background or foreground is filled with textures unrelated to the factors.

NoisePlace: TypeAlias = Literal["background", "foreground"]


class NoiseMasked(RedrawnGrid):
    """A grid whose background or foreground is filled with textures unrelated to the factors.

    With ``x`` an image of the grid in [0, 1], ``m`` its largest channel (the mask), ``t`` a
    colour texture and ``v`` the visibility in [0, 1], an image is

        x + (1 - m) v t         where="background",
        (1 - v) x + v m t       where="foreground",

    For white shapes on black this fades the texture to black or to white, as published. In the
    published sets every image has a fixed random photograph; ``pictures`` takes such a set of your
    own. Without it, the textures are colour noise with the spectrum of photographs, amplitude
    1 / f. Every index has its own texture, which never changes.

    Parameters
    ----------
    grid : FactorGrid
        With a dark background, such as `Sprites`; grey or in colour.
    visibility : float
        Percentage from 0 (the grid itself) to 100.
    where : {"background", "foreground"}
    random_state : None, int or numpy Generator
        Determines the textures.
    pictures : array-like of shape (p, h, w, c), or path, optional
        Photographs of one size, at least that of the images, as uint8 or as floats in [0, 1]; or
        the path of one image, of a folder of images, or of an array. Every index gets one of them,
        or a patch of one if they are larger than the images.

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
            from geodis.data.grids.textures import Photographs

            self._pictures = Photographs(pictures, self._height, self._width)

    def textures(self, index: Any) -> np.ndarray:
        """Return the textures (n, h, w, 3) of indices, float32 in [0, 1]."""
        from geodis.data.grids.textures import textures  # factors need no numba

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


# The Color, Noisy and Scream variants of the large study of unsupervised learning.

VariantName: TypeAlias = Literal["color", "noisy", "scream", "background", "foreground"]

DARKEST = 0.5  # smallest value of a channel of a colour, so that objects stay visible on black


class ColorVariant(RedrawnGrid):
    """A grid whose objects have random colours, as Color-dSprites.

    With ``x`` an image of the grid in [0, 1], an image is ``u x``, where every channel of the
    colour ``u`` is uniform on [.5, 1]. Every index has its own colour, which never changes and is
    not a factor.

    Parameters
    ----------
    grid : FactorGrid
        Such as `Sprites` or the result of `published_grid`; grey or in colour.
    random_state : None, int or numpy Generator
        Determines the colours.

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
    """A grid whose background is uniform noise on [0, 1], as Noisy-dSprites.

    With ``x`` an image of the grid, ``m`` its largest channel (the mask) and noise ``u`` for every
    pixel and channel, an image is ``x + (1 - m) u``. Every index has its own noise, which never
    changes.

    Parameters
    ----------
    grid : FactorGrid
        With a dark background, such as `Sprites`; grey or in colour.
    random_state : None, int or numpy Generator
        Determines the noise.

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
    """A grid in front of patches of a picture, which the objects invert, as Scream-dSprites.

    With ``m`` the largest channel of an image of the grid (the mask), ``p`` a random patch of the
    picture, and ``u`` a colour with channels uniform on [0, 1], the background is
    ``b = (p + u) / 2`` and an image is

        (1 - m) b + m (1 - b).

    Every index has its own patch and colour, which never change. The colours of the objects are
    lost. The published picture, a painting, is not included: by default the picture is noise with
    the spectrum of photographs, four times as high and five times as wide as the images, the same
    for every grid of this size.

    Parameters
    ----------
    grid : FactorGrid
        With a dark background, such as `Sprites`; grey or in colour.
    picture : array-like of shape (h, w) or (h, w, c), or path, optional
        A photograph or painting at least as large as the images, as uint8 or as floats in [0, 1].
        Several of one size, (p, h, w, c) or a folder, are chosen with equal probability.
    random_state : None, int or numpy Generator
        Determines patches and colours.

    Examples
    --------
    >>> from geodis.data import Sprites
    >>> picture = np.linspace(0, 1, 24 * 32).reshape(24, 32)
    >>> ScreamVariant(Sprites(image_size=16), picture, random_state=0).images(range(2)).shape
    (2, 16, 16, 3)
    """

    def __init__(self, grid: FactorGrid, picture: Any = None, random_state: Any = None) -> None:
        super().__init__(grid, random_state)
        from geodis.data.grids.textures import Photographs, textures

        if picture is None:
            picture = textures(np.zeros(1, np.int64), 4 * self._height, 5 * self._width, seed=0)
        self._picture = Photographs(picture, self._height, self._width)

    def backgrounds(self, index: Any) -> np.ndarray:
        """Return the backgrounds b (n, h, w, 3) of indices, float32 in [0, 1]."""
        index = self.check_index(index)
        # The first three numbers of an index determine its patch.
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
    """Make a variant of a grid by name, as the commands do.

    Parameters
    ----------
    grid : FactorGrid
        A grid with images of one or three channels.
    variant : {"color", "noisy", "scream", "background", "foreground"}
        `ColorVariant`, `NoisyVariant`, `ScreamVariant`, or a side of `NoiseMasked`.
    picture : array-like or path, optional
        For "scream", "background" and "foreground".
    visibility : float, optional
        Percentage for "background" and "foreground"; 100 by default.
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
        raise InputError(f"A picture needs scream, background or foreground; got {variant}.")
    if visibility is not None and variant not in ("background", "foreground"):
        raise InputError(f"visibility needs background or foreground; got {variant}.")
    if variant == "color":
        return ColorVariant(grid, random_state)
    if variant == "noisy":
        return NoisyVariant(grid, random_state)
    if variant == "scream":
        return ScreamVariant(grid, picture, random_state)
    share = 100.0 if visibility is None else visibility
    return NoiseMasked(grid, share, variant, random_state, pictures=picture)
