"""Factors of recordings with known states: geodis beside coordinates and holes by others.

``python -m benchmarks.recording_factors [--again METHOD] [--families 'a;b'] [--out FOLDER]``

Populations on ten state spaces and walking animals (``pip install ratinabox``), 1,500 rows of each.
A method's coordinates are judged by what the rows beside a held-out one in them say of its true
state: R^2 of every true factor from the coordinates that belong to it, and of the others from the
same, which should be nothing; and, of rings, by the circular correlation of the angle around the
best two of its columns. Isomap and Laplacian eigenmaps with FastICA, FastICA alone, and circular
coordinates (``pip install dreimac``) are told how many true coordinates there are, get the
directions that geodis keeps, their columns are split as the truth would like best, and of their
settings the best counts, case by case, by the truth. GeoManCER is told nothing, or the dimension.
CEBRA-Time (``pip install cebra``) is asked of the walks alone, whose rows are in the order of time;
all of its columns are judged, and the number of the row alone stands beside it.
Names of factors stand beside the Betti numbers that ripser counts (``pip install ripser``).

Results are written after every case and what is known is not measured again, but for the method of
``--again``: ``--again GeoManCER`` after a change, which keeps the others. Noisy products with their
coordinates are compared in `benchmarks.maps`, views and poses in `benchmarks.rendered`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from benchmarks._measure import RESULTS
from benchmarks.map_cases.judge import best_columns, r_squared
from benchmarks.recording_cases.factor_rivals import Columns, holes, in_time, rivals
from benchmarks.recording_cases.factor_tables import OURS, TOLD, report
from benchmarks.recording_cases.known_states import WALKS, KnownStates, known_states, names_of_known
from benchmarks.rendered import of_angles
from benchmarks.zoo_cases.tables import Row
from geodis import GeoManCER
from geodis.base import whole_file, write_json

HOLES = "ripser"
NEAR, PART = 5, 4  # neighbours that tell a state, and one row in so many is held out
NAME = "recording_factors"


def told_by(columns: np.ndarray, truth: np.ndarray) -> float:
    """R^2 of held-out true coordinates (n, c) by the rows beside them in columns (n, q)."""
    there = np.isfinite(columns).all(axis=1)
    columns, truth = columns[there], truth[there]
    if not columns.shape[1] or len(columns) < 10 * NEAR:
        return 0.0
    order = np.random.default_rng(0).permutation(len(columns))
    held, rest = order[: len(order) // PART], order[len(order) // PART :]
    near = cKDTree(columns[rest]).query(columns[held], NEAR)[1]
    left = truth[held] - truth[rest][near].mean(axis=1)
    return float(1 - (left**2).sum() / ((truth[held] - truth[held].mean(axis=0)) ** 2).sum())


def angle_told(columns: np.ndarray, angle: np.ndarray) -> float:
    """Circular correlation of the angle around the best two columns, each of unit spread."""
    there = np.isfinite(columns).all(axis=1)
    columns, angle = columns[there], angle[there]
    if columns.shape[1] < 2:
        return 0.0
    columns = (columns - columns.mean(axis=0)) / np.maximum(columns.std(axis=0), 1e-300)
    pairs = combinations(range(columns.shape[1]), 2)
    return max(of_angles(np.arctan2(columns[:, j], columns[:, i]), angle) for i, j in pairs)


def judged(split: list[np.ndarray], columns: list[np.ndarray], case: KnownStates) -> Row:
    """What groups of columns, one a true factor, tell of it, of the others, and of rings."""
    own = [told_by(group, truth) for group, truth in zip(split, case.coordinates, strict=True)]
    other = [
        max((told_by(group, t) for i, t in enumerate(case.coordinates) if i != j), default=0.0)
        for j, group in enumerate(split)
    ]
    rings = [max(angle_told(group, angle) for group in columns) for angle in case.rings]
    return {
        "R2": round(min(own), 4),
        "leaked": round(max(other), 4),
        "ring": round(min(rings), 4) if rings else None,
    }


def shared_out(groups: list[np.ndarray], case: KnownStates) -> list[np.ndarray]:
    """Every found factor belongs to the true one that it tells most of."""
    split = [np.zeros((len(case.points), 0)) for _ in case.coordinates]
    for group in groups:
        there = np.isfinite(group).all(axis=1)
        gains = [r_squared(group[there], truth[there]) for truth in case.coordinates]
        j = int(np.argmax(gains))
        split[j] = np.hstack([split[j], group])
    return split


@lru_cache(maxsize=1)
def automatic(case: KnownStates) -> Row:
    """What GeoManCER finds with nothing told."""
    return of_ours(case, "auto")


def with_dim(case: KnownStates) -> Row:
    """The same where the dimension is found; otherwise a second fit."""
    found = automatic(case)
    return found if found.get("dim") == case.dim else of_ours(case, case.dim)


def of_ours(case: KnownStates, dim: Any) -> Row:
    est = GeoManCER(dim=dim, n_jobs=1, verbose=0)
    try:
        est.fit(case.points)
        groups = [est.coordinates(j) for j in range(est.n_factors_)]
        row = judged(shared_out(groups, case), groups, case)
        names = list(est.names_)
    except Exception as error:  # a failure is a result
        return {"R2": 0.0, "leaked": 0.0, "problem": f"{type(error).__name__}: {error}"[:120]}
    return row | {
        "dim": int(est.dim_),
        "found": " + ".join(map(str, est.factor_dims_)),
        "flagged": bool(est.uncertain_),
        "names": names,
    }


def of_rival(settings: dict[str, Columns], case: KnownStates, whole: bool = False) -> Row:
    """The best of its settings; what went wrong where none of them worked.

    Of latents that are a whole, all columns belong to the one factor.
    """
    rows = []
    problem = ""
    for setting, method in settings.items():
        try:
            columns = method(case)
        except Exception as error:  # a rival's failure is a result
            problem = f"{type(error).__name__}: {error}"[:120]
            continue
        known: Any = case
        split = [columns] if whole else best_columns(columns, known)
        rows.append(judged(split, [columns], case) | {"setting": setting})
    if not rows:
        return {"R2": 0.0, "leaked": 0.0, "problem": problem}
    best = max(rows, key=lambda row: row["R2"] - row["leaked"])
    rings = [row["ring"] for row in rows if row["ring"] is not None]
    return best | {"ring": max(rings, default=None)}


def measures() -> dict[str, Callable[[KnownStates], Row]]:
    """Every method that can be run here, ours first."""
    found: dict[str, Callable[[KnownStates], Row]] = {OURS: automatic, TOLD: with_dim}
    for name, settings in rivals().items():
        found[name] = lambda case, s=settings: of_rival(s, case)  # type: ignore[misc]
    for name, settings in in_time().items():
        found[name] = lambda case, s=settings: of_rival(s, case, whole=True)  # type: ignore[misc]
    if importlib.util.find_spec("ripser") is not None:
        found[HOLES] = lambda case: {"bars": holes(case)}
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{NAME}", description=__doc__)
    parser.add_argument("--again", help="part of a method's name that is measured again, alone")
    parser.add_argument("--families", help="parts of names, with semicolons between")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args([] if arguments is None else arguments)
    methods = measures()
    if given.again:
        methods = {name: method for name, method in methods.items() if given.again in name}
    path = given.out / f"{NAME}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    rows: dict[str, Row] = {row["name"]: row for row in stored}
    known = names_of_known()
    cases = list(known)
    if given.families:
        wanted = [part.strip() for part in given.families.split(";")]
        cases = [name for name in cases if any(part in name for part in wanted)]
    ordered = in_time()
    missing = {
        name: [
            m
            for m in methods
            if (known[name].family in WALKS or m not in ordered)
            and (given.again or m not in rows.get(name, {}).get("methods", {}))
        ]
        for name in cases
    }
    for case in known_states([name for name in cases if missing[name]], given.seed):
        row = rows.setdefault(case.name, described(case))
        for method in missing[case.name]:
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what does not converge is seen in its R^2
                own = methods[method](case)
            row["methods"][method] = own | {"cpu": round(time.process_time() - begun, 2)}
            print(f"{case.name}: {method}: {own}"[:150], file=sys.stderr, flush=True)
        _write(given.out, list(rows.values()))
    _write(given.out, list(rows.values()))
    print(given.out / f"{NAME}.md")


def described(case: KnownStates) -> Row:
    return {
        "name": case.name,
        "family": case.family,
        "half": case.half,
        "spaces": list(case.spaces),
        "betti": list(case.betti),
        "methods": {},
    }


def _write(folder: Path, rows: list[Row]) -> None:
    order = {name: place for place, name in enumerate(names_of_known())}
    rows = sorted(rows, key=lambda row: order.get(row["name"], len(order)))
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{NAME}.json", rows)
    with whole_file(folder / f"{NAME}.md") as temporary:
        temporary.write_text(report(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
