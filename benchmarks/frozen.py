"""Hashes of what fits, maps, scores and reports give: what a change of form must leave as it is.

``python -m benchmarks.frozen`` computes everything again and lists what differs from
``results/frozen.json``; ``--write`` replaces that file. A hash is of the bits of an array, which
depend on the processor and on the versions of the libraries: write it before a change, on the same
machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from benchmarks._measure import RESULTS
from benchmarks.zoo_cases.case import all_cases
from geodis.base.check import InputError
from geodis.base.write import write_json

STORED = RESULTS / "frozen.json"
# Every so many fits, maps and names are made too, and a repeated fit.
MAPPED, REPEATED = 3, 12
# Times, dates, versions and wording may change.
NO_NUMBERS = {"seconds", "date", "versions", "peak_memory"}


def digest(value: Any) -> str:
    """Of an array, or of nested lists of numbers."""
    array = np.ascontiguousarray(value)
    text = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(text + array.tobytes()).hexdigest()[:16]


def fit_hashes(points: np.ndarray, number: int, **settings: Any) -> dict[str, str]:
    """Everything that a fit gives, but its sentences."""
    try:
        est = gd.GeoManCER(n_jobs=1, verbose=0, **settings).fit(
            points, confidence="quick" if number % REPEATED == 0 else None
        )
    except InputError:
        return {"refused": "InputError"}
    arrays: dict[str, Any] = {
        name: getattr(est, f"{name}_")
        for name in ("factor_dims", "axes", "flat", "flat_coordinates", "eigenvalues", "outliers")
    }
    arrays |= {f"periods {j}": own for j, own in enumerate(est.periods_)}
    arrays |= {
        "numbers": [est.dim_, est.n_factors_, est.n_copies_, est.n_directions_, est.noise_],
        "uncertain": [est.uncertain_, len(est.doubts_)],
        "graph": est.graph_.adjacency.tocsr().indices,
        "weights": est.graph_.adjacency.tocsr().data,
        "dimension": [est.dimension_.mle, est.dimension_.two_nn, est.dimension_.ratio],
    }
    if est.confidence_ is not None:
        arrays["confidence"] = [sum(est.confidence_.found.values()), *est.confidence_.typical]
    if number % MAPPED == 0 and est.has_maps:
        arrays |= {f"map {j}": est.coordinates(j) for j in range(est.n_factors_)}
        arrays["names"] = list(est.names_)
        arrays["transformed"] = est.transform(points[:20] + 0.01)
    return {name: digest(value) for name, value in arrays.items()}


def fits() -> Iterator[tuple[str, Callable[[], dict[str, str]]]]:
    """The first case of every family of the zoo."""
    first = {case.family: case for case in reversed(all_cases())}
    for number, case in enumerate(reversed(first.values())):

        def one(case: Any = case, number: int = number) -> dict[str, str]:
            return fit_hashes(case.cloud(0).points, number, **case.fit)

        yield f"fit {case.name}", one


def _latents_and_factors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(500, 3))
    mixed = factors @ rng.normal(size=(3, 5)) + 0.3 * rng.normal(size=(500, 5))
    return mixed, factors


def score_hashes() -> dict[str, str]:
    """Value and chance of every score of the table."""
    table = gd.score_latents(*_latents_and_factors(), random_state=0, verbose=0)
    columns = [name for name in ("value", "chance") if name in table.frame]
    return {f"{row.Index}": digest(row[1:]) for row in table.frame[columns].itertuples()}


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers of a nested dict, by their path."""
    if isinstance(value, dict):
        for name, own in value.items():
            if name not in NO_NUMBERS:
                yield from _numbers(own, f"{path}/{name}")
    elif isinstance(value, list):
        for j, own in enumerate(value):
            yield from _numbers(own, f"{path}/{j}")
    elif isinstance(value, int | float) or value is None:
        yield path, value


def report_hashes() -> dict[str, str]:
    """The numbers of results.json, by its sections."""
    sample = gd.product_manifold("S^2 x S^1", 600, random_state=0)
    factors = np.random.default_rng(1).integers(3, size=(600, 2))
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "r"
        gd.report(sample.points, factors, out=out, verbose=0)
        content = json.loads((out / "results.json").read_text(encoding="utf-8"))
    for section, value in content.items():
        if section not in NO_NUMBERS:
            found[section] = digest(json.dumps(list(_numbers(value))).encode().hex())
    return found


def everything() -> Iterator[tuple[str, dict[str, str]]]:
    """Name and hashes of every case."""
    yield "scores", score_hashes()
    yield "report", report_hashes()
    for name, one in fits():
        yield name, one()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the stored hashes")
    given = parser.parse_args(arguments or [])
    before = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    now: dict[str, dict[str, str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, hashes in everything():
            now[name] = hashes
            old = before.get(name, {})
            names = [one for one in {**old, **hashes} if old.get(one) != hashes.get(one)]
            if names and not given.write:
                print(f"{name}: {', '.join(names)}", flush=True)
    if given.write:
        write_json(STORED, now)
        print(f"{len(now)} cases in {STORED}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
