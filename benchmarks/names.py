"""Names of factors: how often they are right, on points of the factor and on maps of fits.

``python -m benchmarks.names [--quick] [--half tuning|held-out|all] [--kinds a,b] [--seeds N]
[--first-seed S] [--ways direct,uneven,map] [--again] [--out FOLDER]``

Results are written after every sample; a run that was interrupted goes on, ``--again`` asks again.

Each kind of factor is drawn with noise .02: alone ("direct"), alone with a density that varies
tenfold ("uneven"), and in a product with S^2 that GeoManCER fits and maps ("map"). Most
thresholds were chosen on the tuning half; failures of held-out kinds moved some too.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import RESULTS, write_table
from benchmarks.factor_kinds import KINDS, Kind
from geodis.data.manifolds.products import product_manifold
from geodis.manifold.geomancer import GeoManCER
from geodis.manifold.topology.topology_of import Topology, topology_of

POINTS, NOISE, SEEDS = 4000, 0.02, 5
WAYS = ("direct", "uneven", "map")
# How the density goes with a random direction: exp(UNEVEN z) for z of mean 0 and variance 1.
UNEVEN = 0.6
Row = dict[str, Any]


def direct(kind: Kind, n: int, rng: np.random.Generator) -> Topology:
    """The name by points of the factor alone."""
    points = kind.draw(n, rng)
    return topology_of(points + NOISE * rng.standard_normal(points.shape), kind.dim)


def uneven(kind: Kind, n: int, rng: np.random.Generator) -> Topology:
    """The same with a density that falls tenfold from one side to the other."""
    points = kind.draw(8 * n, rng)
    along = points @ rng.standard_normal(points.shape[1])
    weight = np.exp(UNEVEN * (along - along.mean()) / along.std())
    points = points[rng.choice(len(points), n, replace=False, p=weight / weight.sum())]
    return topology_of(points + NOISE * rng.standard_normal(points.shape), kind.dim)


def by_map(kind: Kind, n: int, rng: np.random.Generator) -> Topology:
    """The name by the map of the factor, in a product with S^2 that is fitted: `GeoManCER`."""
    own, sphere = kind.draw(n, rng), product_manifold("S^2", n, random_state=rng)
    told = kind.name == "S^2 x S^2"  # a product is one factor only where that is told
    points = own if told else np.hstack([own, sphere.points])
    points = points + NOISE * rng.standard_normal(points.shape)
    k, m = (4, 1) if told else (kind.dim + 2, 2)
    fit = GeoManCER(k, n_factors=m, random_state=0, verbose=0).fit(points)
    return name_of_map(fit, _which(fit, kind.dim, own.shape[1]))


def _which(fit: GeoManCER, dim: int, columns: int) -> int | None:
    """The factor of that dimension that moves the first columns most."""
    share = [
        float(np.nanmean((fit.subspace(j)[:, :, :columns] ** 2).sum(axis=(1, 2))) / k)
        for j, k in enumerate(fit.factor_dims_)
    ]
    best = int(np.argmax(share))
    return best if fit.factor_dims_[best] == dim and share[best] > 0.5 else None


def name_of_map(fit: GeoManCER, factor: int | None) -> Topology:
    """What the map of a factor tells; unknown where the fit has no such factor."""
    if factor is None:
        return Topology("unknown", "unknown", 0, ("the fit did not find the factor",))
    return fit.maps_[factor].topology(bool(fit.flat_[factor]))


RUN = {"direct": direct, "uneven": uneven, "map": by_map}


def ask(kind: Kind, way: str, seed: int, n: int) -> Row:
    """What one sample is called, why where that is not right, and the time it took."""
    begun = time.process_time()
    found = RUN[way](kind, n, np.random.default_rng(seed))
    why = (
        ""
        if found.name in kind.right
        else f"{found.name}: {'; '.join(found.doubts or found.evidence)}"
    )
    row: Row = {"kind": kind.name, "way": way, "seed": seed, "name": found.name}
    return row | {"otherwise": why, "CPU s": time.process_time() - begun}


def summary(answers: list[Row]) -> list[Row]:
    """A row a kind and way: how often the name is right, unknown and wrong."""
    rows = []
    for way in WAYS:
        for kind in KINDS:
            own = [a for a in answers if (a["kind"], a["way"]) == (kind.name, way)]
            if not own:  # it is still to come
                continue
            right = sum(a["name"] in kind.right for a in own)
            unknown = sum(a["name"] == "unknown" for a in own)
            row: Row = {"kind": kind.name, "half": kind.half, "way": way, "right": right}
            row |= {"unknown": unknown, "wrong": len(own) - right - unknown}
            row["CPU s each"] = sum(a["CPU s"] for a in own) / len(own)
            row["otherwise"] = " | ".join(sorted({a["otherwise"] for a in own} - {""}))
            rows.append(row)
    return rows


def shares(rows: list[Row]) -> list[str]:
    """A line for every half and way."""
    lines = []
    for way in WAYS:
        for half in ("tuning", "held-out", "all"):
            own = [row for row in rows if row["way"] == way and half in (row["half"], "all")]
            counts = {key: sum(row[key] for row in own) for key in ("right", "unknown", "wrong")}
            total = sum(counts.values())
            if total:
                parts = ", ".join(f"{key} {c / total:.1%}" for key, c in counts.items())
                lines.append(f"{way}, {half}: {parts} of {total}")
    return lines


def kept(out: Path) -> list[Row]:
    """Answers of an earlier run."""
    path = out / "names_cases.json"
    known: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return known


def write(answers: list[Row], out: Path) -> None:
    title = f"Names of factors, n = {POINTS}, noise {NOISE}"
    write_table("names_cases", f"{title}, every sample", answers, folder=out)
    rows = summary(answers)
    write_table("names", f"{title} ({'; '.join(shares(rows))})", rows, folder=out)


def main(arguments: list[str] | None = None) -> None:
    """Ask what is not known yet, a seed after the other, and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="two kinds of each dimension, one seed"
    )
    parser.add_argument("--half", default="all", choices=("tuning", "held-out", "all"))
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--again", action="store_true", help="ask these again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args([] if arguments is None else arguments)
    kinds = [kind for kind in KINDS if asked.half in (kind.half, "all")]
    if asked.kinds:
        kinds = [kind for kind in kinds if kind.name in asked.kinds.split(",")]
    seeds = range(asked.first_seed, asked.first_seed + (1 if asked.quick else asked.seeds))
    if asked.quick:
        kinds = [k for d in (1, 2, 3, 4) for k in [one for one in kinds if one.dim == d][:2]]
    answers = kept(asked.out)
    cases = [(kind, way, seed) for seed in seeds for way in asked.ways.split(",") for kind in kinds]
    for kind, way, seed in cases:
        case = (kind.name, way, seed)
        known = [a for a in answers if (a["kind"], a["way"], a["seed"]) == case]
        if known and not asked.again:
            continue
        answers = [a for a in answers if a not in known]
        answers.append(ask(kind, way, seed, POINTS))
        print(answers[-1], flush=True)
        write(answers, asked.out)
    write(answers, asked.out)
    print("\n".join(shares(summary(answers))))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
