"""Distances: a million pairs of images, and the whole analysis of a grid of 262,144 images."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table
from geodis import distances, scores
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares

PAIRS = 1_000_000
STORED = 4096
LOOP_BATCH = 256
LOOP_PAIRS = 50_000  # a share of the pairs is enough to time a loop whose batches are alike
REPEATS = 3


def stored_grid() -> FactorGrid:
    """Images that are in memory: 48 MB."""
    images = np.random.default_rng(0).integers(0, 256, (STORED, 64, 64, 3), dtype=np.uint8)
    return FactorGrid.from_arrays(images, np.arange(STORED)[:, None])


GRIDS: dict[str, Callable[[], FactorGrid]] = {"stored": stored_grid, "XYSquares": XYSquares}
LOSSES = ("mse", "mae", "box:31")


def pairs_of(grid: FactorGrid, n: int) -> np.ndarray:
    return distances.sample_pairs(grid, n, random_state=0).T


def loop(grid: FactorGrid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The obvious way: batches of pairs as floats."""
    losses = []
    for start in range(0, len(a), LOOP_BATCH):
        rows = slice(start, start + LOOP_BATCH)
        x, y = (grid.images(side[rows], "float32") for side in (a, b))
        losses.append(((x - y) ** 2).mean(axis=(1, 2, 3)))
    return np.concatenate(losses)


def best(call: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Least seconds of several calls, and what the last one returned."""
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        value = call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds), value


def bandwidth() -> float:
    """Bytes a second that one thread reads from memory beyond its caches."""
    block = np.ones(2**25, np.int64)  # 256 MB
    seconds, _ = best(block.max)
    return block.nbytes / seconds


def kernel_rate() -> float:
    """Bytes of images a second that the sums over pairs read, images already prepared."""
    grid = stored_grid()
    loss = distances.resolve_loss("mse")
    images = loss.prepare(grid.images(np.arange(STORED)))
    a, b = pairs_of(grid, 200_000)
    loss.between(images, images, a[:10], b[:10])
    seconds, _ = best(lambda: loss.between(images, images, a, b))
    return len(a) * 2 * 64 * 64 * 3 / seconds


def time_pairs(name: str, loss: str) -> dict[str, Any]:
    """Seconds of a million pairs, and of the loop for as many."""
    grid = GRIDS[name]()
    a, b = pairs_of(grid, PAIRS)
    distances.perceived_between(grid, a[:500], b[:500], loss)  # compiles, or loads what was
    part = slice(LOOP_PAIRS)
    n = PAIRS if loss == "mse" else LOOP_PAIRS
    ours, fast = best(lambda: distances.perceived_between(grid, a[:n], b[:n], loss))
    row = {"seconds": ours * PAIRS / n, "pairs": PAIRS}
    if loss == "mse":
        theirs, expected = best(lambda: loop(grid, a[part], b[part]))
        np.testing.assert_allclose(fast[part], expected, rtol=1e-4)
        row["loop seconds"] = theirs * PAIRS / LOOP_PAIRS
    return row


def whole_analysis() -> dict[str, float]:
    """Everything that the distances and ratios say of XYSquares and ten latents."""
    grid = XYSquares()
    rng = np.random.default_rng(0)
    factors = grid.factors(np.arange(len(grid)))
    code = factors @ rng.standard_normal((6, 10)) + rng.standard_normal((len(grid), 10))
    seconds = {}

    def timed(name: str, call: Callable[[], Any]) -> None:
        begun = time.perf_counter()
        call()
        seconds[name] = time.perf_counter() - begun

    timed("correlations", lambda: distances.distance_correlations(grid, code, random_state=0))
    timed("importance", lambda: distances.factor_importance(grid, random_state=0))
    timed("overlap", lambda: distances.overlap(grid, random_state=0))
    timed("matrices", lambda: [distances.traversal_matrix(grid, name) for name in grid.names])
    for name in (
        "linearity_ratio",
        "axis_ratio",
        "axis_orientation",
        "flatness",
        "distance_correlation",
    ):
        timed(name, partial(getattr(scores, name), code, grid, random_state=0))
    return seconds


def main() -> None:
    rows = []
    memory, kernel = bandwidth(), kernel_rate()
    for name in GRIDS:
        for loss in LOSSES:
            done = measure(time_pairs, name, loss)
            measured = done.value
            loop_seconds = measured.get("loop seconds")
            rows.append(
                {
                    "images": name,
                    "loss": loss,
                    "pairs": measured["pairs"],
                    "s": measured["seconds"],
                    "loop s": loop_seconds,
                    "times faster": loop_seconds and loop_seconds / measured["seconds"],
                    "MB": done.megabytes,
                }
            )
    rows.append(
        {
            "images": "prepared, in memory",
            "loss": "mse, sums alone",
            "pairs": PAIRS,
            "s": PAIRS * 2 * 64 * 64 * 3 / kernel,
            "GB/s": kernel / 1e9,
            "GB/s one thread reads memory at": memory / 1e9,
        }
    )
    print(write_table("distances", "A million pairs of 64 x 64 x 3 images", rows))
    done = measure(whole_analysis)
    rows = [{"part": name, "s, first call": value} for name, value in done.value.items()]
    total = sum(done.value.values())
    rows.append({"part": "all", "s, first call": total, "MB": done.megabytes})
    title = "Distances and ratios of 262,144 images and 10 latents, compilation included"
    print(write_table("distances_analysis", title, rows))


if __name__ == "__main__":
    main()
