"""XYSquares and XYObject: moving squares whose pixel distances depend on spacing and size.

These are the data sets of sections 3.3.1 and 7.2 of the study of perceived distances. Images are
drawn on request.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from geodis.base.check import InputError, check_choice, check_int
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid

WHITE = 255

RED, YELLOW, GREEN = (255, 0, 0), (255, 255, 0), (0, 255, 0)
CYAN, BLUE, MAGENTA = (0, 255, 255), (0, 0, 255), (255, 0, 255)
Palette: TypeAlias = Literal["rainbow", "colors", "rgb", "greys"]
PALETTES: dict[Palette, tuple[tuple[int, int, int], ...]] = {
    # Neighbouring hues share a channel, so hue is cyclic.
    "rainbow": (RED, YELLOW, GREEN, CYAN, BLUE, MAGENTA),
    # Hues without a circular order.
    "colors": (RED, GREEN, BLUE, YELLOW, CYAN, MAGENTA, (255, 255, 255)),
    "rgb": (RED, GREEN, BLUE),
    "greys": ((255, 255, 255),),
}


class XYSquares(FactorGrid):
    """White squares that move over a grid, each in its own channel.

    If the spacing is at least the size of the squares, two images that differ in one factor have
    the same pixel-wise distance whatever the difference, so no pixel-wise loss can order them.

    Parameters
    ----------
    spacing : int
        Pixels between grid positions: squares of size 8 do not overlap at 8, and overlap most at 1.
    square_size : int
        Height and width of a square.
    grid_size : int or None
        Positions along x and along y, centred in the image; None uses as many as fit.
    n_squares : int
        Number of squares; at most 3 in colour.
    rgb : bool
        Draw square j into channel j of three; otherwise draw all squares into one channel.
    image_size : int
        Height and width of the images.

    Notes
    -----
    The factors are x and y of each square in turn. Square j covers the pixels
    ``start + spacing * x_j + (0, ..., square_size - 1)``, likewise for y, with
    ``start = floor((image_size - spacing * (grid_size - 1) - square_size) / 2)``.

    Examples
    --------
    >>> grid = XYSquares()
    >>> print(grid)
    XYSquares with 262144 images of 64 x 64 x 3
    factor  name  size
         0  x_R      8
         1  y_R      8
         2  x_G      8
         3  y_G      8
         4  x_B      8
         5  y_B      8
    >>> images = grid.images(grid.traversal("x_R", at=0)).astype(int)
    >>> [int(np.abs(image - images[0]).sum()) // 255 for image in images[:4]]
    [0, 128, 128, 128]
    """

    def __init__(
        self,
        spacing: int = 8,
        square_size: int = 8,
        grid_size: int | None = 8,
        n_squares: int = 3,
        rgb: bool = True,
        image_size: int = 64,
    ) -> None:
        self.spacing = check_int(spacing, "spacing", low=1)
        self.square_size = check_int(square_size, "square_size", low=1)
        self.rgb = bool(rgb)
        n_squares = check_int(n_squares, "n_squares", low=1, high=3 if rgb else None)
        width = check_int(image_size, "image_size", low=1)
        grid_size = _grid_size(grid_size, self.spacing, self.square_size, width)
        self._start = (width - self.spacing * (grid_size - 1) - self.square_size) // 2
        if rgb:
            names = [f"{axis}_{channel}" for channel in "RGB"[:n_squares] for axis in "xy"]
        elif n_squares == 1:
            names = ["x", "y"]
        else:
            names = [f"{axis}_{square}" for square in range(n_squares) for axis in "xy"]
        shape = (width, width, 3 if rgb else 1)
        super().__init__([grid_size] * (2 * n_squares), names, image_shape=shape)

    def _draw(self, index: np.ndarray) -> np.ndarray:
        positions = self._start + self.spacing * self._factors(index)
        x, y = positions[:, 0::2], positions[:, 1::2]  # (n, n_squares)
        channels = np.arange(x.shape[1]) if self.rgb else 0
        images = _black(self, len(index))
        _windows(images, self.square_size)[np.arange(len(index))[:, None], y, x, channels] = WHITE
        return images


class XYObject(FactorGrid):
    """One square that changes position, size and colour.

    All shades of all colours are values of one factor, `color`: every hue at the darkest shade,
    then every hue at the next shade, and so on. `XYObjectShades` has the same images in the same
    order, with hue and intensity as separate factors.

    Parameters
    ----------
    spacing : int
        Pixels between positions.
    min_size, max_size, size_step : int
        Sizes of the square: ``min_size, min_size + size_step, ...`` up to ``max_size``.
    palette : "rainbow", "colors", "rgb" or "greys"
        The hues.
    levels : int
        Shades of each hue: channel value v becomes ``floor(v * level / levels)``,
        ``level = 1, ..., levels``.
    rgb : bool
        Use three channels; False gives images of one channel and requires "greys".
    image_size : int
        Height and width of the images.

    Notes
    -----
    A box of ``max_size`` is placed at ``(spacing * x, spacing * y)`` inside the image; a square of
    size s begins ``floor((max_size - s) / 2)`` pixels inside the box.

    Examples
    --------
    >>> print(XYObject())
    XYObject with 75000 images of 64 x 64 x 3
    factor  name   size
         0  x        25
         1  y        25
         2  scale     5
         3  color    24
    """

    def __init__(
        self,
        spacing: int = 2,
        min_size: int = 7,
        max_size: int = 15,
        size_step: int = 2,
        palette: Palette = "rainbow",
        levels: int = 4,
        rgb: bool = True,
        image_size: int = 64,
    ) -> None:
        self.spacing = check_int(spacing, "spacing", low=1)
        self.palette = check_choice(palette, "palette", tuple(PALETTES))
        self.levels = check_int(levels, "levels", low=1, high=WHITE)
        if not rgb and palette != "greys":
            raise InputError(f"Images of one channel need palette='greys'; got {palette!r}.")
        low = check_int(min_size, "min_size", low=1)
        self._box = check_int(max_size, "max_size", low=low)
        width = check_int(image_size, "image_size", low=1)
        places = _grid_size(None, self.spacing, self._box, width)
        self._scales = np.arange(low, self._box + 1, check_int(size_step, "size_step", low=1))
        self._hues = np.array(PALETTES[palette])[:, : 3 if rgb else 1]  # (hues, c)
        sizes, names, kinds = self._color_factors()
        super().__init__(
            (places, places, len(self._scales), *sizes),
            ("x", "y", "scale", *names),
            image_shape=(width, width, self._hues.shape[1]),
            kinds=("numbers", "numbers", "numbers", *kinds),
        )

    def _color_factors(self) -> tuple[tuple[int, ...], tuple[str, ...], tuple[FactorKind, ...]]:
        return (len(self._hues) * self.levels,), ("color",), ("labels",)

    def _colors(self, factors: np.ndarray) -> np.ndarray:
        """Return the channel values (n, c) for the colour columns of the factors."""
        level, hue = np.divmod(factors[:, 0], len(self._hues))
        return self._hues[hue] * (level + 1)[:, None] // self.levels

    def _draw(self, index: np.ndarray) -> np.ndarray:
        factors = self._factors(index)
        colors = self._colors(factors[:, 3:])[:, :, None, None]  # (n, c, 1, 1)
        images = _black(self, len(index))
        for number, size in enumerate(self._scales):
            rows = np.flatnonzero(factors[:, 2] == number)
            x, y = (self.spacing * factors[rows, :2] + (self._box - size) // 2).T
            _windows(images, int(size))[rows, y, x] = colors[rows]
        return images


class XYObjectShades(XYObject):
    """`XYObject` with separate factors for hue and intensity: x, y, scale, intensity, color.

    The parameters, the images and their order are those of `XYObject`.

    Examples
    --------
    >>> grid = XYObjectShades()
    >>> print(grid)
    XYObjectShades with 75000 images of 64 x 64 x 3
    factor  name       size
         0  x            25
         1  y            25
         2  scale         5
         3  intensity     4
         4  color         6
    >>> bool((grid.images([0, 777]) == XYObject().images([0, 777])).all())
    True
    """

    def _color_factors(self) -> tuple[tuple[int, ...], tuple[str, ...], tuple[FactorKind, ...]]:
        hue: FactorKind = "cyclic" if self.palette == "rainbow" else "labels"
        return (self.levels, len(self._hues)), ("intensity", "color"), ("numbers", hue)

    def _colors(self, factors: np.ndarray) -> np.ndarray:
        return self._hues[factors[:, 1]] * (factors[:, :1] + 1) // self.levels


def _grid_size(wanted: int | None, spacing: int, square: int, image_size: int) -> int:
    """Return the number of positions, requiring that they fit in the image."""
    fitting = (image_size - square) // spacing + 1
    if wanted is None:
        wanted = max(fitting, 1)
    wanted = check_int(wanted, "grid_size", low=1)
    if wanted > fitting:
        needed = spacing * (wanted - 1) + square
        raise InputError(
            f"{wanted} positions of a square of {square} pixels, {spacing} apart, need "
            f"image_size {needed}; got {image_size}."
        )
    return wanted


def _black(grid: FactorGrid, n: int) -> np.ndarray:
    return np.zeros((n, *(grid.image_shape or ())), dtype=np.uint8)


def _windows(images: np.ndarray, size: int) -> np.ndarray:
    """Return a writable view (n, rows, columns, c, size, size) of every square in the images.

    ``windows[i, y, x, c]`` is the square in channel c whose upper left pixel is (y, x), so one
    assignment paints all squares of a batch.
    """
    return sliding_window_view(images, (size, size), axis=(1, 2), writeable=True)  # type: ignore[call-overload]
