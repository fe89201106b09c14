"""GeoManCER: time, memory and error against the published algorithm, and their growth with n.

The published algorithm is the literal twin of the tests; `--reference PATH` names a checkout of
its published implementation (the folder that holds the package `geomancer`), which is then
measured in the same run, up to n = 20,000. Beside wall-clock seconds stand those of the processor,
summed over threads: they hardly feel what else the machine does.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Measurement, measure, write_table
from geodis import GeoManCER, product_manifold, subspace_angles

TWIN_SIZES = {"quick": (500, 1000, 2000), "full": (500, 1000, 2000, 20_000)}
REFERENCE_SIZES = (1000, 2000, 20_000)
PEER_ATTEMPTS = 4
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
    est, cost = timed(lambda: GeoManCER(verbose=0).fit(sample.points))
    subspaces = [est.subspace(j) for j in range(est.n_factors_)]
    error = float(subspace_angles(subspaces, sample.tangents).mean())
    return {"error": error, "factors": est.factor_dims_.tolist(), **cost}


def twin(spec: str, n: int) -> dict[str, Any]:
    from tests.reference.geomancer import published_error, published_geomancer

    sample = product_manifold(spec, n, random_state=1)
    (subspaces, _), cost = timed(lambda: published_geomancer(sample.points, sample.dim))
    return {"error": published_error(subspaces, sample.tangents), **cost}


def published(spec: str, n: int, path: str) -> dict[str, Any]:
    """The published implementation, called as its own documentation does."""
    sys.path.insert(0, path)
    package = importlib.import_module("geomancer.geomancer")
    sample = product_manifold(spec, n, random_state=1)
    # Its eigensolver starts at random, and from some starts its joint diagonalisation divides zero
    # by zero: only the run that succeeds is counted.
    for attempt in range(PEER_ATTEMPTS):
        try:
            (components, _), cost = timed(
                lambda: package.fit(sample.points, sample.dim, shard_size=min(n, 1000))
            )
            break
        except np.linalg.LinAlgError as error:
            print(f"peer at n = {n}, attempt {attempt + 1}: {error}", flush=True)
    else:
        raise RuntimeError(f"the peer failed {PEER_ATTEMPTS} times at n = {n}")
    true = [np.swapaxes(frames, 1, 2) for frames in sample.tangents]
    return {"error": float(np.mean(package.eval_aligned(components, true))), **cost}


def timed(fit: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a fit returns, and its seconds by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    result = fit()
    return result, {
        "s": time.perf_counter() - clock,
        "processor s": time.process_time() - processor,
    }


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
        peer_s, our_s, first_s = (item.value["s"] for item in (theirs, warm, cold))
        peer_cpu, our_cpu, first_cpu = (item.value["processor s"] for item in (theirs, warm, cold))
        rows.append(
            {
                "manifold": "S^2 x S^2",
                "n": n,
                "peer": name,
                "peer s": peer_s,
                "our s": our_s,
                "our first call s": first_s,
                "times faster": peer_s / our_s,
                "times faster, first call": peer_s / first_s,
                "peer processor s": peer_cpu,
                "our processor s": our_cpu,
                "times less processor": peer_cpu / our_cpu,
                "times less processor, first call": peer_cpu / first_cpu,
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
    seconds = [item.value["s"] for item in done]
    time_exponent = exponent(GROWTH_SIZES, seconds)
    processor_exponent = exponent(GROWTH_SIZES, [item.value["processor s"] for item in done])
    # Memory above what the process held after a small fit: libraries and compiled code.
    memory_exponent = exponent(GROWTH_SIZES, [item.megabytes for item in done])
    return [
        {
            "manifold": "S^2 x S^2",
            "n": n,
            "s": item.value["s"],
            "processor s": item.value["processor s"],
            "s / (first row's, scaled by n)": item.value["s"] / seconds[0] * GROWTH_SIZES[0] / n,
            "MB": item.megabytes,
            "error": item.value["error"],
            "exponent of time": time_exponent,
            "exponent of processor time": processor_exponent,
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
                "s": done.value["s"],
                "processor s": done.value["processor s"],
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
    parser.add_argument("--only", choices=("peer", "growth", "large"), help="one table of three")
    chosen = parser.parse_args([] if arguments is None else arguments)
    if chosen.only in (None, "peer"):
        rows = against("literal twin", twin, TWIN_SIZES[chosen.preset])
        if chosen.reference is not None:
            peer = partial(published, path=str(chosen.reference.resolve()))
            rows += against("published implementation", peer, REFERENCE_SIZES)
        print(write_table("geomancer_peer", "GeoManCER against the published algorithm", rows))
    if chosen.only in (None, "growth"):
        print(write_table("geomancer_growth", "GeoManCER: growth with n", growth()))
    if chosen.only in (None, "large"):
        rows = large(chosen.preset)
        print(write_table("geomancer_large", "GeoManCER: many points or factors", rows))


if __name__ == "__main__":
    main(sys.argv[1:])
