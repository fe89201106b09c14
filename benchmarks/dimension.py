"""Intrinsic dimension of recordings with a known truth: geodis beside estimators of others.

``python -m benchmarks.dimension [--half tuning|held-out|all] [--families 'a;b']
[--preset quick|full] [--dadapy PYTHON] [--no-rivals] [--out FOLDER] [--fresh]``

Rivals are scikit-dimension, where it can be imported, and dadapy, in the Python that ``--dadapy``
names, because it needs an older numpy. Each gets the directions that geodis keeps and, where that
does not take minutes, all columns; an estimate counts as the nearest whole number. Results are
written after every case, and a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import RESULTS
from benchmarks.recording_cases.recording import Recording, all_cases
from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.tables import Row, share, table
from geodis import intrinsic_dimension
from geodis.base.write import whole_file, write_json
from geodis.manifold import kept_directions

QUICK = 3  # of every family
# Points that the slower estimators of scikit-dimension get.
MOST_POINTS = 600
# Names of the columns that estimators get, and of estimators that take minutes with all of them.
ALL, KEPT = "all columns", "kept directions"
SLOW = ("skdim lPCA", "skdim ESS", "skdim FisherS")
LIMIT = 120  # seconds for one case of dadapy
# The scales of gride, and what is taken of them: the lowest is right oftenest under noise.
DADAPY = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from dadapy import Data
found = {}
with np.load(sys.argv[1]) as stored:
    for name in stored.files:
        points = np.unique(stored[name], axis=0)
        most = max(8, min(len(points) // 8, 256))
        data = Data(points, maxk=most, verbose=False)
        found[f"dadapy 2NN, {name}"] = float(data.compute_id_2NN()[0])
        scales = data.return_id_scaling_gride(range_max=most // 2)[0]
        found[f"dadapy gride, lowest, {name}"] = float(np.min(scales))
print(json.dumps(found))
"""


def scikit_dimension() -> dict[str, Callable[[np.ndarray], float]]:
    """Its estimators, with neighbourhoods as large as noise asks for."""
    if importlib.util.find_spec("skdim") is None:
        return {}
    from skdim import id as skdim

    def local(estimator: Any, count: int) -> Callable[[np.ndarray], float]:
        """Median over the points, with so many neighbours or an eighth of the points."""

        def fitted(x: np.ndarray) -> float:
            count_here = min(count, len(x) // 8)
            return (
                estimator().fit(x[:MOST_POINTS], n_neighbors=count_here, comb="median").dimension_
            )

        return fitted

    return {
        "skdim MLE, 20 neighbours": local(skdim.MLE, 20),
        "skdim MLE, 100 neighbours": local(skdim.MLE, 100),
        "skdim TwoNN": lambda x: skdim.TwoNN().fit(x).dimension_,
        "skdim lPCA, 100 neighbours": lambda x: float(
            np.median(
                skdim.lPCA(ver="FO", verbose=False)
                .fit_pw(x[:MOST_POINTS], n_neighbors=min(100, len(x) // 8))
                .dimension_pw_
            )
        ),
        "skdim ESS, 100 neighbours": local(skdim.ESS, 100),
        "skdim FisherS": lambda x: skdim.FisherS().fit(x[:MOST_POINTS]).dimension_,
    }


def measured(case: Recording, seed: int, rivals: bool, dadapy: str | None) -> Row:
    """Every estimate of one case, with its processor seconds."""
    points = np.asarray(case.cloud(seed).points)
    before = time.process_time()
    estimate = intrinsic_dimension(points, n_jobs=1)
    used = {"geodis": time.process_time() - before}
    found: dict[str, float | None] = {"geodis": float(estimate.dim)}
    kept = kept_directions(points)
    tables = {ALL: points, KEPT: kept.project(points)}
    for method, estimator in (scikit_dimension() if rivals else {}).items():
        for name, rows in tables.items():
            if name == ALL and method.startswith(SLOW):
                continue
            before = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    value = float(estimator(np.unique(rows, axis=0)))
                except Exception as error:
                    print(f"{method}, {name}: {error}", file=sys.stderr)
                    value = np.nan
            found[f"{method}, {name}"] = value if np.isfinite(value) else None
            used[f"{method}, {name}"] = time.process_time() - before
    if rivals and dadapy:
        found |= of_dadapy(dadapy, tables)
    return {
        "name": case.name,
        "family": case.family,
        "half": case.half,
        "within": case.within,
        "dims": case.dims,
        "verdict": estimate.verdict,
        "ratio": estimate.ratio,
        "directions": estimate.n_directions,
        "doubts": estimate.doubts,
        "found": found,
        "cpu": used,
    }


def of_dadapy(python: str, tables: dict[str, np.ndarray]) -> dict[str, float | None]:
    """Its two estimates of every table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        np.savez(path, allow_pickle=False, **tables)  # type: ignore[arg-type]
        done = subprocess.run(
            [python, "-c", DADAPY, str(path)],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    if done.returncode:
        print(done.stderr.strip().rsplit("\n", 1)[-1], file=sys.stderr)
        return {}
    return {
        name: value if np.isfinite(value) else None
        for name, value in json.loads(done.stdout.strip().rsplit("\n", 1)[-1]).items()
    }


def right(row: Row, method: str) -> bool:
    value = row["found"].get(method)
    return value is not None and round(value) in row["dims"]


def report(rows: list[Row]) -> str:
    """Shares of right dimensions by method, verdicts, families and failures."""
    methods = list(dict.fromkeys(method for row in rows for method in row["found"]))
    parts = {
        f"{half}{', within' if within else ', beyond'}": [
            row for row in rows if (row["half"], row["within"]) == (half, within)
        ]
        for half in HALVES
        for within in (True, False)
    }
    lines = []
    for method in methods:
        tried = [row for row in rows if method in row["found"]]
        cpu = [row["cpu"][method] for row in tried if method in row["cpu"]]
        lines.append(
            [
                method,
                *(
                    share(sum(right(row, method) for row in own if row in tried), len(own))
                    for own in parts.values()
                ),
                f"{np.mean(cpu):.2f}" if cpu else "",
            ]
        )
    verdicts = [
        [
            part,
            *(
                f"{sum(right(row, 'geodis') for row in own if row['verdict'] == verdict)} of "
                f"{sum(row['verdict'] == verdict for row in own)}"
                for verdict in ("clear", "doubtful", "undecided")
            ),
        ]
        for part, own in parts.items()
    ]
    by_family = [
        [name, own[0]["half"], *(sum(right(row, method) for row in own) for method in methods)]
        for name in dict.fromkeys(row["family"] for row in rows)
        if (own := [row for row in rows if row["family"] == name])
    ]
    wrong = [
        [row["name"], f"{row['found']['geodis']:g}, {row['verdict']}", row["dims"], row["doubts"]]
        for row in rows
        if not right(row, "geodis")
    ]
    return "\n\n".join(
        [
            "# Intrinsic dimension of recordings",
            "Within: counts from a peak of 4 on and noise up to .1. An estimate is right where the "
            "nearest whole number is.",
            table(["method", *parts, "CPU s"], lines),
            "## Verdicts of geodis: right of all with that verdict",
            table(["half", "clear", "doubtful", "undecided"], verdicts),
            "## Right, by family",
            table(["family", "half", *methods], by_family),
            "## Where geodis is wrong",
            table(["recording", "found", "right", "doubts"], wrong) if wrong else "Nowhere.",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dimension", description=__doc__)
    parser.add_argument("--half", choices=(*HALVES, "all"), default="all")
    parser.add_argument("--families", help="parts of names, with semicolons between")
    parser.add_argument("--preset", choices=("quick", "full"), default="quick")
    parser.add_argument("--dadapy", help="a Python in which dadapy is installed")
    parser.add_argument("--no-rivals", action="store_true", help="geodis alone")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    given = parser.parse_args(arguments)
    cases = [case for case in all_cases() if given.half in (case.half, "all") and case.dims]
    cases = [c for c in cases if not c.needs or importlib.util.find_spec(c.needs)]
    if given.families:
        wanted = [part.strip() for part in given.families.split(";")]
        cases = [case for case in cases if any(part in case.name for part in wanted)]
    if given.preset == "quick":
        counted: dict[str, int] = {}
        for case in cases:
            counted[case.family] = counted.get(case.family, 0) + 1
        taken = {name: max(1, count // QUICK) for name, count in counted.items()}
        own = {name: [c for c in cases if c.family == name] for name in counted}
        cases = [case for name in own for case in own[name][:: taken[name]][:QUICK]]
    path = given.out / "dimension.json"
    stored = []
    if path.exists() and not given.fresh:
        stored = json.loads(path.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in stored}
    for case in cases:
        if case.name in rows:
            continue
        row = measured(case, given.seed, not given.no_rivals, given.dadapy)
        rows[case.name] = json.loads(json.dumps(row))
        print(f"{case.name}: {row['found']['geodis']:g} {row['verdict']}", file=sys.stderr)
        _write(given.out, [rows[known.name] for known in all_cases() if known.name in rows])
    _write(given.out, [rows[known.name] for known in all_cases() if known.name in rows])
    print(given.out / "dimension.md")


def _write(folder: Path, rows: list[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "dimension.json", rows)
    with whole_file(folder / "dimension.md") as temporary:
        temporary.write_text(report(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
