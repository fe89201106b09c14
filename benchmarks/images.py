"""Images of grids: a batch of 256 of every set of squares, against a loop that paints."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks._measure import write_table
from geodis import FactorGrid, XYObject, XYSquares

BATCH = 256
REPEATS = 50


def paint_squares(grid: XYSquares, index: np.ndarray) -> np.ndarray:
    """Paint one square after the other, which is how one would write it first."""
    factors = grid.factors(index)
    images = np.zeros((len(index), 64, 64, 3), dtype=np.uint8)
    start = (64 - 7 * grid.spacing - grid.square_size) // 2
    for image, row in zip(images, factors, strict=True):
        for channel in range(3):
            x, y = start + grid.spacing * row[2 * channel : 2 * channel + 2]
            image[y : y + grid.square_size, x : x + grid.square_size, channel] = 255
    return images


def best(function: Callable[[], object]) -> float:
    """Return the milliseconds of the quickest of several calls."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds)


def main() -> None:
    grids: dict[str, FactorGrid] = {
        "XYSquares, spacing 8": XYSquares(),
        "XYSquares, spacing 1": XYSquares(1),
        "XYObject": XYObject(),
    }
    rows = []
    for name, grid in grids.items():
        index = np.random.default_rng(0).integers(len(grid), size=BATCH)

        def draw(grid: FactorGrid = grid, index: np.ndarray = index) -> np.ndarray:
            return grid.images(index)

        def as_floats(grid: FactorGrid = grid, index: np.ndarray = index) -> np.ndarray:
            return grid.images(index, "float32")

        drawn = best(draw)
        row = {"grid": name, "ms a batch of 256": drawn, "ms as float32": best(as_floats)}
        if isinstance(grid, XYSquares):

            def loop(grid: XYSquares = grid, index: np.ndarray = index) -> np.ndarray:
                return paint_squares(grid, index)

            assert (loop() == grid.images(index)).all()
            looped = best(loop)
            row |= {"ms of a loop": looped, "times faster": looped / drawn}
        rows.append(row)
    print(write_table("images", "Images of grids", rows))


if __name__ == "__main__":
    main()
