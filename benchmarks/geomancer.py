"""GeoManCER: time, memory and error against the published algorithm, and their growth with n.

The published algorithm is the literal twin of the tests at small n; `--reference PATH` names a
checkout of its published implementation (the folder that holds the package `geomancer`), which is
then measured in the same run, up to n = 20,000.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Measurement, measure, write_table
from geodis import GeoManCER, product_manifold, subspace_angles

TWIN_SIZES = {"quick": (500, 1000, 2000), "full": (500, 1000, 2000, 20_000)}
REFERENCE_SIZES = (1000, 2000, 20_000)
GROWTH_SIZES = (10_000, 20_000, 50_000, 100_000, 200_000)
# (manifold, n): many points or many factors.
LARGE = {
    "quick": [
        ("S^2 x S^2 x S^2", 30_000),
        ("S^2 x S^4 x SO(3)", 20_000),
        ("S^2 x S^2 x S^2 x S^2 x S^2", 40_000),
    ],
    "full": [
        ("S^2 x S^2 x S^2", 30_000),
        ("S^2 x S^4 x SO(3)", 20_000),
        ("S^2 x S^4 x SO(3)", 100_000),
        ("S^2 x S^2 x S^2 x S^2 x S^2", 40_000),
        ("S^2 x S^2 x S^2 x S^2 x S^2 x S^2 x S^2", 30_000),
        ("S^2 x S^2", 1_000_000),
    ],
}


def ours(spec: str, n: int) -> dict[str, Any]:
    """Fit everything automatically; the sample is drawn inside, and its cost is negligible."""
    sample = product_manifold(spec, n, random_state=1)
    est = GeoManCER(verbose=0).fit(sample.points)
    found = [est.subspace(j) for j in range(est.n_factors_)]
    error = float(subspace_angles(found, sample.tangents).mean())
    return {"error": error, "factors": est.factor_dims_.tolist(), "fit": sum_of(est.seconds_)}


def twin(spec: str, n: int) -> dict[str, Any]:
    from tests.reference_geomancer import published_error, published_geomancer

    sample = product_manifold(spec, n, random_state=1)
    subspaces, _ = published_geomancer(sample.points, sample.dim)
    return {"error": published_error(subspaces, sample.tangents)}


def published(spec: str, n: int, path: str) -> dict[str, Any]:
    """The published implementation, called as its own documentation does."""
    sys.path.insert(0, path)
    package = importlib.import_module("geomancer.geomancer")
    sample = product_manifold(spec, n, random_state=1)
    components, _ = package.fit(sample.points, sample.dim, shard_size=min(n, 1000))
    true = [np.swapaxes(frames, 1, 2) for frames in sample.tangents]
    return {"error": float(np.mean(package.eval_aligned(components, true)))}


def sum_of(seconds: dict[str, float]) -> float:
    return float(sum(seconds.values()))


def against(name: str, peer: Any, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Rows for one peer on S^2 x S^2: warm, and with the first call's compilation."""
    rows = []
    for n in sizes:
        theirs = measure(peer, "S^2 x S^2", n)
        with tempfile.TemporaryDirectory() as empty_cache:
            # The first call on a fresh machine: everything is imported and compiled.
            os.environ["NUMBA_CACHE_DIR"] = empty_cache
            cold = measure(ours, "S^2 x S^2", n)
            del os.environ["NUMBA_CACHE_DIR"]
        warm = measure(ours, "S^2 x S^2", n, warm_up=partial(ours, "S^2 x S^2", n))
        rows.append(
            {
                "manifold": "S^2 x S^2",
                "n": n,
                "peer": name,
                "peer s": theirs.seconds,
                "ours s": warm.seconds,
                "times faster": theirs.seconds / warm.seconds,
                "times faster, first call": theirs.seconds / cold.seconds,
                "peer error": theirs.value["error"],
                "our error": warm.value["error"],
                "peer MB": theirs.megabytes,
                "our MB": cold.megabytes,
                "our memory / peer's": cold.megabytes / theirs.megabytes,
            }
        )
        print(rows[-1], flush=True)
    return rows


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """Slope of log value against log n."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def growth() -> list[dict[str, Any]]:
    warm_up = partial(ours, "S^2 x S^2", 2000)
    done: list[Measurement] = []
    for n in GROWTH_SIZES:
        done.append(measure(ours, "S^2 x S^2", n, warm_up=warm_up))
        print(n, done[-1], flush=True)
    time_exponent = exponent(GROWTH_SIZES, [item.seconds for item in done])
    # Memory above what the process held after a small fit: libraries and compiled code.
    memory_exponent = exponent(GROWTH_SIZES, [item.megabytes for item in done])
    return [
        {
            "manifold": "S^2 x S^2",
            "n": n,
            "s": item.seconds,
            "s / (first row's, scaled by n)": item.seconds / done[0].seconds * GROWTH_SIZES[0] / n,
            "MB": item.megabytes,
            "error": item.value["error"],
            "exponent of time": time_exponent,
            "exponent of memory": memory_exponent,
        }
        for n, item in zip(GROWTH_SIZES, done, strict=True)
    ]


def large(preset: str) -> list[dict[str, Any]]:
    rows = []
    for spec, n in LARGE[preset]:
        done = measure(ours, spec, n, warm_up=partial(ours, "S^2 x S^2", 2000))
        rows.append(
            {
                "manifold": spec,
                "n": n,
                "s": done.seconds,
                "MB": done.megabytes,
                "factors found": " + ".join(map(str, done.value["factors"])),
                "error": done.value["error"],
            }
        )
        print(rows[-1], flush=True)
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="folder that holds the peer's package")
    parser.add_argument("--preset", choices=sorted(LARGE), default="quick")
    chosen = parser.parse_args([] if arguments is None else arguments)
    rows = against("literal twin", twin, TWIN_SIZES[chosen.preset])
    if chosen.reference is not None:
        peer = partial(published, path=str(chosen.reference.resolve()))
        rows += against("published implementation", peer, REFERENCE_SIZES)
    print(write_table("geomancer_peer", "GeoManCER against the published algorithm", rows))
    print(write_table("geomancer_growth", "GeoManCER: growth with n", growth()))
    print(write_table("geomancer_large", "GeoManCER: many points or factors", large(chosen.preset)))


if __name__ == "__main__":
    main(sys.argv[1:])
