"""GeoManCER beside another version of geodis: time and error of the same fits in one run.

``python -m benchmarks.versions --other PATH`` names a checkout of the other version. Each fit runs
in a process of its own, after one that compiles, by turns with that of the other version; least of
three. Processor seconds are summed over threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks._measure import write_table

CASES: list[tuple[str, int, dict[str, float]]] = [
    ("S^2 x S^2", 1_000, {}),
    ("S^2 x S^2", 2_000, {}),
    ("S^2 x S^2", 20_000, {}),
    ("S^2 x S^2", 5_000, {"noise": 0.03}),
    ("S^2 x SO(3)", 5_000, {}),
    ("S^2 x S^2 x S^2", 5_000, {}),
    ("S^2 x S^2 x S^2", 30_000, {}),
    ("S^2 x S^4 x SO(3)", 20_000, {}),
    ("ellipsoid(1,1.5,2) x ellipsoid(1,0.7,1.3)", 8_000, {}),
    ("S^2 x S^1", 5_000, {}),
    ("S^2", 5_000, {}),
    ("S^2 x S^2", 200_000, {}),
]
TIMES = 3
# What runs in each version: only what both have.
PROGRAM = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from geodis import GeoManCER, product_manifold, subspace_angles
spec, n, options, times = json.loads(sys.argv[1])
sample = product_manifold(spec, n, random_state=1, **options)
GeoManCER(verbose=0).fit(product_manifold(spec, 600, random_state=0).points)
least = []
for _ in range(times):
    wall, cpu = time.perf_counter(), time.process_time()
    est = GeoManCER(verbose=0).fit(sample.points)
    least.append((time.perf_counter() - wall, time.process_time() - cpu))
subspaces = [est.subspace(j) for j in range(est.n_factors_)]
error = float(subspace_angles(subspaces, sample.tangents).mean())
print(json.dumps([*map(min, zip(*least)), error]))
"""


def fit_in(tree: Path, case: tuple[str, int, dict[str, float]]) -> list[float]:
    """Seconds, processor seconds and error of a fit by the version in that tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    times = 1 if case[1] > 50_000 else TIMES
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([*case, times])],
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    result: list[float] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(case: tuple[str, int, dict[str, float]], other: Path) -> dict[str, Any]:
    spec, n, options = case
    here = Path(__file__).parents[1]
    before, after = fit_in(other, case), fit_in(here, case)
    named = spec + "".join(f", {name} {value}" for name, value in options.items())
    return {
        "manifold": named,
        "n": n,
        "other: s": round(before[0], 2),
        "here: s": round(after[0], 2),
        "ratio": round(after[0] / before[0], 2),
        "CPU ratio": round(after[1] / before[1], 2),
        "other: error": float(f"{before[2]:.3g}"),
        "here: error": float(f"{after[2]:.3g}"),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="checkout of another version")
    given = parser.parse_args(arguments)
    rows = []
    for case in CASES:
        rows.append(row(case, given.other.resolve()))
        print(rows[-1], flush=True)
    write_table("versions", "GeoManCER beside another version", rows)


if __name__ == "__main__":
    main()
