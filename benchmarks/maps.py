"""Maps of factors beside other ways to coordinates: R^2 of the true ones, and CPU seconds.

``python -m benchmarks.maps [--quick] [--n N] [--seed S] [--again METHOD] [--fresh]
[--without METHOD] [--diffusion-geometry FOLDER]``

Rivals are told how many true coordinates every factor has, their unassigned columns are split as
the truth would like best, and of the settings that they are tried with the best one counts, by the
truth again. GeoManCER is told nothing; its maps have as many columns as it gives them.

Results are written after every case, and a run that was interrupted goes on where it was; ``--again
METHOD`` measures that one method again, ``--fresh`` all of them, ``--without METHOD`` leaves one
for a later run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import RESULTS, write_table
from benchmarks.map_cases.cases import Kind, MapSample, draw
from benchmarks.map_cases.judge import Explained, best_columns, best_groups, explained
from benchmarks.map_cases.ours import own_maps
from benchmarks.map_cases.rivals import Rival, rivals

OURS = "GeoManCER"
KINDS: tuple[Kind, ...] = ("clean", "noise .02", "wound")
COMPARED = (  # the others are products of the same factors
    "S^2 x S^2",
    "SO(3) x S^2",
    "ellipsoid x S^2",
    "torus x S^2",
    "S^2 x circle",
    "cap x S^2",
    "disc x S^2",
    "S^2 x S^2, uneven",
    "S^2 x S^2, dependent",
    "S^2 x interval x interval",
)
QUICK_PRODUCTS = ("S^2 x S^2", "S^2 x circle")
SUFFICIENT = 0.99
Row = dict[str, Any]


def row_of(found: Explained, seconds: float) -> Row:
    """What is kept of a method on a sample."""
    return {
        "R2": min(found.own),
        "R2 by factor": ", ".join(f"{value:.3f}" for value in found.own),
        "leaked": max(found.other),
        "CPU s": seconds,
    }


def of_rival(rival: Rival, sample: MapSample, seed: int) -> Row:
    """The best of its settings; what went wrong where none of them worked."""
    rows, problem = [], ""
    for setting in rival.settings:
        begun = time.process_time()
        try:
            columns = setting(sample, seed)
        except Exception as error:  # a rival's failure is a result
            problem = f"{type(error).__name__}: {error}"[:120]
            continue
        seconds = time.process_time() - begun
        if isinstance(columns, list):
            split = best_groups(columns, sample)
        else:
            split = best_columns(columns, sample)
        rows.append(row_of(explained(split, sample), seconds))
    if not rows:
        return {"R2": float("nan"), "problem": problem}
    return max(rows, key=lambda row: row["R2"])


def of_ours(sample: MapSample, seed: int) -> Row:
    try:
        own = own_maps(sample, seed)
    except Exception as error:  # so is our own
        return {"R2": float("nan"), "problem": f"{type(error).__name__}: {error}"[:120]}
    row = row_of(explained(own.maps, sample), own.fit_seconds + own.map_seconds)
    row["found"] = " + ".join(map(str, own.est.factor_dims_))
    row["columns"] = ", ".join(str(columns.shape[1]) for columns in own.maps)
    return row


def compared(
    product: str, kind: Kind, n: int, seed: int, others: list[Rival], known: set[str]
) -> list[Row]:
    """A row a method that is not known yet."""
    sample = draw(product, n, kind, seed)
    methods: dict[str, Callable[[], Row]] = {OURS: lambda: of_ours(sample, seed)}
    for rival in others:
        methods[rival.name] = partial(of_rival, rival, sample, seed)
    case = {"product": product, "kind": kind, "n": n, "seed": seed}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge is seen in its R^2
        for name, method in methods.items():
            if name not in known:
                rows.append({**case, "method": name, **method()})
                print(f"{product}, {kind}: {name}: R^2 {rows[-1]['R2']:.4f}", flush=True)
    return rows


def kept(out: Path, n: int, seed: int, again: str | None) -> list[Row]:
    """Rows of earlier runs with this seed, without those of the method asked again at this n."""
    path = out / "maps_cases.json"
    if not path.exists():
        return []
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    for row in rows:
        row["R2"] = float("nan") if row["R2"] is None else row["R2"]
    return [r for r in rows if r["seed"] == seed and (r["n"], r["method"]) != (n, again)]


def summary(rows: list[Row]) -> list[Row]:
    """A row a method: how many products of every kind it has right, and its usual time."""
    summed = []
    for name in sorted({row["method"] for row in rows}, key=lambda name: (name != OURS, name)):
        line: Row = {"method": name}
        for n, known in dict.fromkeys((row["n"], row["kind"]) for row in rows):
            case = (name, known, n)
            own = [row for row in rows if (row["method"], row["kind"], row["n"]) == case]
            if not own:  # it is still to come
                continue
            kind = f"{known}, n = {n:,}"
            values = np.array([row["R2"] for row in own])
            values = np.where(np.isfinite(values), values, 0.0)
            line[f"{kind}: median"] = float(np.median(values))
            line[f"{kind}: least"] = float(values.min())
            line[f"{kind}: >= {SUFFICIENT}"] = f"{(values >= SUFFICIENT).sum()} of {len(values)}"
        for n in dict.fromkeys(row["n"] for row in rows):
            own = [row for row in rows if (row["method"], row["n"]) == (name, n)]
            seconds = [row["CPU s"] for row in own if "CPU s" in row]
            if seconds:
                line[f"median CPU s, n = {n:,}"] = float(np.median(seconds))
        summed.append(line)
    return summed


def by_product(rows: list[Row]) -> list[Row]:
    """A row a product and kind, a column a method: the R^2 of the worst factor."""
    lines: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        line = lines.setdefault(
            (row["product"], row["kind"], row["n"]),
            {"product": row["product"], "kind": row["kind"], "n": row["n"]},
        )
        line[row["method"]] = row["R2"] if np.isfinite(row["R2"]) else row.get("problem")
    return list(lines.values())


def warm_up(others: list[Rival]) -> None:
    """Compile and import before the clock starts."""
    sample = draw("S^2 x circle", 400)
    for rival in others:
        of_rival(Rival(rival.name, rival.settings[:1]), sample, 0)
    of_ours(sample, 0)


def write(rows: list[Row], missing: dict[str, str], out: Path) -> Path:
    known = " ".join(row["method"] for row in rows)  # of another run, perhaps
    absent = [{"method": m, "missing": why} for m, why in missing.items() if m not in known]
    title = "Maps of factors: R^2 of the true coordinates, worst factor"
    write_table("maps_cases", f"{title}, every method and case", rows, out)
    write_table("maps_products", f"{title}, by product", by_product(rows), out)
    return write_table("maps", f"{title}, over products", summary(rows) + absent, out)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two products and 1,500 points")
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", help="a method that is measured again")
    parser.add_argument("--without", help="methods that are left for later, commas between")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    parser.add_argument("--diffusion-geometry", type=Path, help="clone of its code")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the tables")
    given = parser.parse_args([] if arguments is None else arguments)
    if "torch" in sys.modules or rivals()[1].get("beta-VAE") is None:
        import torch

        torch.set_num_threads(1)
    others, missing = rivals(given.diffusion_geometry)
    if given.without is not None:
        others = [rival for rival in others if rival.name not in given.without.split(",")]
    products = QUICK_PRODUCTS if given.quick else COMPARED
    n = min(given.n, 1500) if given.quick else given.n
    warm_up(others)
    rows = [] if given.fresh else kept(given.out, n, given.seed, given.again)
    for kind in KINDS:
        for product in products:
            case = (product, kind, n)
            known = {r["method"] for r in rows if (r["product"], r["kind"], r["n"]) == case}
            rows += compared(product, kind, n, given.seed, others, known)
            write(rows, missing, given.out)
    print(write(rows, missing, given.out))


if __name__ == "__main__":
    main(sys.argv[1:])
