"""The limits of one machine beside another version: graph, tangents, new points and whole fits.

``python -m benchmarks.one_machine --other PATH [--preset quick|full]`` names a checkout of the
other version. Every measurement runs in a process of its own, by turns with that of the other
version, on one thread and after a call that compiles; the least of the given number of times is
kept. Processor seconds are what is compared: they hardly feel what else the machine does.
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

# What is measured, its manifold, points, and how often in one process.
QUICK: list[tuple[str, str, int, int]] = [
    ("graph", "S^2 x S^2", 200_000, 1),
    ("tangents", "S^2", 20_000, 3),
    ("tangents", "S^2 x S^2", 20_000, 3),
    ("tangents", "SO(3) x S^2", 5_000, 3),
    ("tangents", "S^2 x S^2 x S^2", 5_000, 3),
    ("new points", "S^2 x S^2", 20_000, 2),
    ("fit", "S^2 x S^2", 1_000, 5),
    ("fit", "S^2 x S^2", 2_000, 5),
    ("fit", "S^2 x S^2", 5_000, 3),
    ("fit", "S^2 x S^1", 2_000, 3),
    ("fit", "S^2 x S^2 x S^2", 5_000, 3),
    ("fit", "S^1 x S^1 x S^1", 3_000, 3),
    ("fit", "S^2 x S^2", 20_000, 3),
]
FULL = [
    *QUICK,
    ("graph", "S^2 x S^2", 1_000_000, 1),
    ("new points", "S^2 x S^2", 100_000, 2),
    ("fit", "S^2 x S^2", 1_000_000, 1),
]
# What runs in each version: only what both have. The answer is compared by a sum that neither signs
# nor the order of axes change.
PROGRAM = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import geodis as gd
from geodis.manifold import tangent_frames
what, spec, n, times = json.loads(sys.argv[1])
new = 10_000 if what == "new points" else 0
options = {"pad": 14, "rotate": True} if new else {}
sample = gd.product_manifold(spec, n + new, random_state=1, **options)
points = sample.points.astype(np.float32) if new else sample.points
del sample
small = gd.product_manifold(spec, 600, random_state=0, **options)

def fit(X):
    return gd.GeoManCER(dim=small.dim if new else "auto", verbose=0, n_jobs=1).fit(X)

def error(axes, dims, rows):
    # The truth is made again when the peak is known: of a million points it is 180 MB.
    truth = gd.product_manifold(spec, n + new, random_state=1, **options).tangents
    parts = np.split(axes, np.cumsum(dims)[:-1], axis=1)
    return float(gd.subspace_angles(parts, [true[rows] for true in truth]).mean())

if what == "graph":
    work = lambda X: gd.neighbor_graph(X, 9, n_jobs=1)
    told = lambda graph: float((graph.adjacency.indices.astype(float) % 1009).sum())
elif what == "tangents":
    near = {len(X): gd.nearest_neighbors(X, 2 * (1 + small.dim + small.dim * (small.dim + 1) // 2))
            for X in (small.points, points)}
    work = lambda X: tangent_frames(X, near[len(X)], small.dim)
    told = lambda found: float(found.residual.mean())
elif what == "new points":
    fitted, first = fit(points[:n]), fit(small.points.astype(np.float32))
    work = lambda X: (first if len(X) == 600 else fitted).at(X[-new:])
    told = lambda axes: error(axes, fitted.factor_dims_, slice(n, None))
else:
    work = fit
    told = lambda est: error(est.axes_, est.factor_dims_, slice(None))
work(small.points)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
least = np.inf
for _ in range(times):
    cpu = time.process_time()
    result = work(points)
    least = min(least, time.process_time() - cpu)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([least, peak / 1024, told(result)]))
"""


def run_in(tree: Path, case: tuple[str, str, int, int]) -> list[float]:
    """Processor seconds, peak megabytes of the process, and what came out, in that tree."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(case)],
        env={**os.environ, **threads, "PYTHONPATH": str(tree)},
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    result: list[float] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(case: tuple[str, str, int, int], other: Path) -> dict[str, Any]:
    what, spec, n, _ = case
    before, after = run_in(other, case), run_in(Path(__file__).parents[1], case)
    of = 10_000 if what == "new points" else n
    return {
        "what": what,
        "manifold": spec,
        "n": n,
        "other: CPU s": round(before[0], 3),
        "here: CPU s": round(after[0], 3),
        "times less": round(before[0] / after[0], 2),
        "other: CPU s a million": round(before[0] / of * 1e6, 1),
        "here: CPU s a million": round(after[0] / of * 1e6, 1),
        "other: MB": round(before[1]),
        "here: MB": round(after[1]),
        "other: answer": float(f"{before[2]:.10g}"),
        "here: answer": float(f"{after[2]:.10g}"),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_machine", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="checkout of another version")
    parser.add_argument("--preset", choices=("quick", "full"), default="quick")
    given = parser.parse_args(arguments)
    rows = []
    for case in FULL if given.preset == "full" else QUICK:
        rows.append(row(case, given.other.resolve()))
        print(rows[-1], flush=True)
    write_table("one_machine", "The limits of one machine beside another version", rows)


if __name__ == "__main__":
    main()
