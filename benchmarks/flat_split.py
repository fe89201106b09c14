"""Splitting the flat part: time and memory against the neighbour search, and their growth."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table
from geodis import GeoManCER, nearest_neighbors, subspace_angles
from geodis.data.manifolds.flat_products import FlatCase, flat_sample
from geodis.manifold import split_flat_part, tangent_frames

CASES: list[tuple[FlatCase, int]] = [
    ("box", 5_000),
    ("box", 20_000),
    ("box", 50_000),
    ("box", 100_000),
    ("swiss roll", 50_000),
]
REPEATS = 3


def stages(case: FlatCase, n: int) -> dict[str, Any]:
    """Best of several: search, tangents, and everything after them, on one thread."""
    sample = flat_sample(case, n, random_state=0)
    dim = sample.coordinates.shape[1]
    count = 3 * (1 + dim + dim * (dim + 1) // 2)
    best = np.full(3, np.inf)
    for _ in range(REPEATS):
        times = [time.perf_counter()]
        near = nearest_neighbors(sample.points, count, n_jobs=1)
        times.append(time.perf_counter())
        frames = tangent_frames(sample.points, near, dim).frames
        times.append(time.perf_counter())
        part = split_flat_part(sample.points, frames)
        times.append(time.perf_counter())
        best = np.minimum(best, np.diff(times))
    subspaces = np.split(part.frames, np.cumsum(part.dims)[:-1], axis=1)
    error = float(np.degrees(subspace_angles(subspaces, sample.tangents).mean()))
    return {"search": best[0], "tangents": best[1], "flat": best[2], "error": error}


def whole(case: FlatCase, n: int) -> dict[str, float]:
    """A whole fit, and what of it the flat part took."""
    sample = flat_sample(case, n, random_state=0)
    est = GeoManCER(sample.coordinates.shape[1], n_jobs=1, verbose=0).fit(sample.points)
    return {"fit": sum(est.seconds_.values()), "part": est.seconds_["flat factors"]}


def warm_up() -> None:
    whole("box", 600)


def main() -> None:
    rows = []
    for case, n in CASES:
        own = measure(stages, case, n, warm_up=warm_up)
        fit = measure(whole, case, n, warm_up=warm_up)
        value = own.value
        rows.append(
            {
                "sample": case,
                "n": n,
                "search, s": value["search"],
                "tangents, s": value["tangents"],
                "flat part, s": value["flat"],
                "flat part / search": value["flat"] / value["search"],
                "tangents and flat part / search": (value["tangents"] + value["flat"])
                / value["search"],
                "whole fit / search": fit.value["fit"] / value["search"],
                "MB": own.megabytes,
                "kB a point": 1024 * own.megabytes / n,
                "degrees": value["error"],
            }
        )
    print(write_table("flat_split", "Splitting the flat part", rows))


if __name__ == "__main__":
    main()
