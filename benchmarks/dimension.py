"""Intrinsic dimension of recordings with a known truth: geodis beside estimators of others.

``python -m benchmarks.dimension [--half tuning|held-out|all] [--families 'a;b']
[--preset quick|full] [--dadapy PYTHON] [--no-rivals] [--again METHOD] [--out FOLDER] [--fresh]``

Others are scikit-dimension, where it can be imported (``pip install scikit-dimension``), and
dadapy, in the Python that ``--dadapy`` names, because it may need an older numpy (``pip install
dadapy`` in an environment of its own). Walking animals need ``pip install ratinabox``. Each method
gets the directions that geodis keeps, and all columns where that is quick, in the settings that a
careful user would try; ESS, which takes a second, gets every fourth recording. DANCo and the
persistent homology of scikit-dimension take minutes for a recording and were left out.

What is known already is not measured again, and results are written after every recording, so that
an interrupted run goes on. ``--again geodis`` measures geodis again, and nothing else, and keeps
what is known of the others; so does ``--again`` with a part of any other method's name.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._measure import RESULTS
from benchmarks.recording_cases.dimension_rivals import (
    ALL,
    KEPT,
    OF,
    Dadapy,
    Table,
    estimates,
    rounded,
    scikit_dimension,
)
from benchmarks.recording_cases.dimension_tables import OURS, method_of, packed, report, unpacked
from benchmarks.recording_cases.recording import Recording, all_cases
from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.tables import Row
from geodis import intrinsic_dimension
from geodis.base.write import whole_file, write_json
from geodis.manifold import kept_directions

QUICK = 3  # of every family
SLOW_METHOD, ONE_IN = "skdim ESS", 4
NAMED_METHODS = ("gride", "carre_du_champ")  # of geodis, beside its default


def methods_here(dadapy: bool) -> list[str]:
    """Every method that can be run, ours first."""
    named = [f"{OURS}, {name.replace('_', ' ')}" for name in NAMED_METHODS]
    others = [f"skdim {name}" for name in scikit_dimension()]
    return [OURS, *named, *others, *(["dadapy"] if dadapy else [])]


def own_answer(points: np.ndarray) -> Row:
    """What geodis says by default."""
    begun = time.process_time()
    estimate = intrinsic_dimension(points, n_jobs=1)
    return {
        "verdict": estimate.verdict,
        "ratio": estimate.ratio,
        "directions": estimate.n_directions,
        "doubts": list(estimate.doubts),
        "found": {OURS: float(estimate.dim)},
        "cpu": {OURS: round(time.process_time() - begun, 3)},
    }


def measured(
    case: Recording,
    seed: int,
    wanted: Callable[[str], bool] = lambda method: method == OURS,
    dadapy: Dadapy | None = None,
    known: Row | None = None,
) -> Row:
    """A row of a recording: what is known of it, and the methods that are wanted."""
    row: Row = {
        "name": case.name,
        "family": case.family,
        "half": case.half,
        "within": case.within,
        "dims": list(case.dims),
    }
    found = dict(known["found"]) if known else {}
    used = dict(known["cpu"]) if known else {}
    for key in ("verdict", "ratio", "directions", "doubts"):
        row[key] = known[key] if known else None
    points = np.asarray(case.cloud(seed).points)
    if wanted(OURS):
        own = own_answer(points)
        found |= own.pop("found")
        used |= own.pop("cpu")
        row |= own
    for name in NAMED_METHODS:
        method = f"{OURS}, {name.replace('_', ' ')}"
        if wanted(method):
            begun = time.process_time()
            estimate = intrinsic_dimension(points, method=name, n_jobs=1)  # type: ignore[arg-type]
            used[method] = round(time.process_time() - begun, 3)
            found[method] = rounded(estimate.dim)
    others = [method for method in methods_here(dadapy is not None) if wanted(method)]
    if any(not method.startswith(OURS) for method in others):
        kept = kept_directions(points).project(points)
        tables = {ALL: Table.of(points, seed), KEPT: Table.of(kept, seed)}
        asked = [estimates(tables, wanted)]
        if dadapy is not None and wanted("dadapy"):
            asked.append(dadapy.estimates(tables))
        for values, seconds in asked:
            of = set(seconds)
            found = {a: v for a, v in found.items() if method_of(a) not in of} | values
            used |= seconds
    return row | {"found": found, "cpu": used}


def has(row: Row, method: str) -> bool:
    """Whether a method is known, or dadapy as a whole."""
    return any(answer.split(OF)[0].startswith(method) for answer in row["found"])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dimension", description=__doc__)
    parser.add_argument("--half", choices=(*HALVES, "all"), default="all")
    parser.add_argument("--families", help="parts of names, with semicolons between")
    parser.add_argument("--preset", choices=("quick", "full"), default="full")
    parser.add_argument("--dadapy", help="a Python in which dadapy is installed")
    parser.add_argument("--no-rivals", action="store_true", help="geodis alone")
    parser.add_argument("--again", help="part of a method's name that is measured again, alone")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    given = parser.parse_args([] if arguments is None else arguments)
    known = [case for case in all_cases() if case.dims]
    slow = {case.name for case in known[::ONE_IN]}
    path = given.out / "dimension.json"
    stored: list[Row] = []
    if path.exists() and not given.fresh:
        stored = unpacked(json.loads(path.read_text(encoding="utf-8")))
    rows = {row["name"]: row for row in stored}
    methods = methods_here(given.dadapy is not None)
    if given.no_rivals:
        methods = [method for method in methods if method.startswith(OURS)]
    dadapy = Dadapy(given.dadapy) if given.dadapy and "dadapy" in methods else None
    try:
        for case in chosen(known, given.half, given.families, given.preset):
            row = rows.get(case.name)
            missing = {
                method
                for method in methods
                if (case.name in slow or method != SLOW_METHOD)
                and (
                    _again(method, given.again)
                    if given.again and row
                    else row is None or not has(row, method)
                )
            }
            if not missing:
                continue
            rows[case.name] = measured(case, given.seed, missing.__contains__, dadapy, row)
            said = rows[case.name]
            print(f"{case.name}: {said['found'][OURS]:g} {said['verdict']}", file=sys.stderr)
            _write(given.out, [rows[one.name] for one in known if one.name in rows])
    finally:
        if dadapy is not None:
            dadapy.close()
    _write(given.out, [rows[one.name] for one in known if one.name in rows])
    print(given.out / "dimension.md")


def _again(method: str, part: str) -> bool:
    """Ours is meant alone by its name, and not with the named methods."""
    return method == OURS if part == OURS else part in method


def chosen(cases: list[Recording], half: str, families: str | None, preset: str) -> list[Recording]:
    """Recordings that are asked for and can be drawn here."""
    cases = [case for case in cases if half in (case.half, "all")]
    cases = [case for case in cases if not case.needs or importlib.util.find_spec(case.needs)]
    if families:
        wanted = [part.strip() for part in families.split(";")]
        cases = [case for case in cases if any(part in case.name for part in wanted)]
    if preset == "full":
        return cases
    own = {name: [c for c in cases if c.family == name] for name in {c.family for c in cases}}
    few = [c.name for of in own.values() for c in of[:: max(1, len(of) // QUICK)][:QUICK]]
    return [case for case in cases if case.name in few]


def _write(folder: Path, rows: list[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "dimension.json", packed(rows))
    with whole_file(folder / "dimension.md") as temporary:
        temporary.write_text(report(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
