"""Estimators of intrinsic dimension by others, with the settings that a careful user would try.

scikit-dimension is used where it can be imported. dadapy may need an older numpy, so that it runs
in a Python of its own, which is asked for one case after the other. Neighbourhoods are those of
some points drawn at random, among all points, and never hold more than an eighth of them.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis import nearest_neighbors

# Settings of a method follow its name after this.
OF = " | "
# Names of the tables that every estimator gets.
ALL, KEPT = "all columns", "kept directions"
# Of all columns these were never right on forty recordings where they were not on the kept
# directions too; they take their time, and get the latter alone.
KEPT_ALONE = ("CorrInt", "MiND_ML", "KNN", "ESS", "FisherS")
MOST_NEIGHBORS, FEWEST_NEIGHBORS, PART = 200, 8, 8
# Points around which a method looks: quick ones, those that look at all pairs of neighbours, ESS.
QUICK, PAIRS, SLOW = 300, 40, 20
# Rows of methods that compare all pairs, and of FisherS.
ROWS, FISHER_ROWS = 1000, 600
SPECTRAL_RULES: dict[str, dict[str, Any]] = {
    "FO": {},
    "Fan": {},
    "maxgap": {},
    "ratio": {"alphaRatio": 0.9},
    "participation_ratio": {},
    "Kaiser": {},
    "broken_stick": {},
}
# Rules for the rank of a signal under noise; they take ten times as long, and one size is tried.
RANK_RULES: dict[str, dict[str, Any]] = {"MP": {}, "Minka": {}}
RANK_SIZE = 100


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows (n, d) and the neighbours of some of them, drawn at random."""

    rows: np.ndarray
    distances: np.ndarray  # (q, c)
    indices: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, seed: int) -> Table:
        """Distinct rows in random order, and neighbours of the first."""
        rows = np.random.default_rng(seed).permutation(np.unique(rows, axis=0))
        count = max(FEWEST_NEIGHBORS, min(MOST_NEIGHBORS, len(rows) // PART))
        near = nearest_neighbors(rows, min(count, len(rows) - 1), n_jobs=1)
        return cls(rows, near.distances[:QUICK], near.indices[:QUICK])

    def around(self, count: int, points: int) -> Iterator[np.ndarray]:
        """Neighbourhoods (c, d) of the first points."""
        for own in self.indices[:points, :count]:
            yield self.rows[own]

    def spectra(self, count: int) -> list[np.ndarray]:
        """Variances of neighbourhoods along their principal directions."""
        found = []
        for own in self.around(count, PAIRS):
            own = own - own.mean(axis=0)
            gram = own.T @ own if own.shape[1] < len(own) else own @ own.T
            values = np.linalg.eigvalsh(gram)[::-1][: len(own) - 1]
            found.append(np.maximum(values, 0) / (len(own) - 1))
        return found


Estimates = dict[str, float]


def of_distances(estimator: Any, counts: tuple[int, ...], combined: str, table: Table) -> Estimates:
    """Local estimates from distances alone, combined over the points."""
    found = {}
    for count in counts:
        near = (table.distances[:, :count], table.indices[:, :count])
        fitted = estimator().fit(table.rows, precomputed_knn_arrays=near, comb=combined)
        found[f"{count} neighbours"] = fitted.dimension_
    return found


def of_neighborhoods(
    estimate: Callable[[np.ndarray, np.ndarray], float],
    counts: tuple[int, ...],
    points: int,
    table: Table,
) -> Estimates:
    """Median over points of what their neighbours (c, d) at distances (c,) say."""
    return {
        f"{count} neighbours": float(
            np.nanmedian(
                [
                    estimate(own, lengths[:count])
                    for own, lengths in zip(
                        table.around(count, points), table.distances, strict=False
                    )
                ]
            )
        )
        for count in counts
    }


def of_spectra(estimator: Any, table: Table) -> Estimates:
    """Local principal components by every rule, median over points."""
    found = {}
    for count in (50, 100, 200):
        spectra = table.spectra(count)
        rules = SPECTRAL_RULES | (RANK_RULES if count == RANK_SIZE else {})
        for rule, setting in rules.items():
            own = estimator(
                ver=rule, fit_explained_variance=True, n_samples=count, verbose=False, **setting
            )
            try:
                values = [own.fit(spectrum).dimension_ for spectrum in spectra]
            except Exception as error:  # a rule that cannot be used here is no reason to stop
                print(f"skdim lPCA, {rule}: {error}", file=sys.stderr)
                continue
            found[f"{rule}, {count} neighbours"] = float(np.median(values))
    return found


def of_fits(settings: dict[str, tuple[Any, int]], table: Table) -> Estimates:
    """Global estimators, each with the rows that it may have."""
    return {
        setting: float(estimator.fit(table.rows[:most]).dimension_)
        for setting, (estimator, most) in settings.items()
    }


def scikit_dimension() -> dict[str, Callable[[Table], Estimates]]:
    """Its estimators by name; none where it is not installed."""
    if importlib.util.find_spec("skdim") is None:
        return {}
    from skdim import id as skdim

    every = 10**9
    sizes = np.array([200, 400, 600, 800])
    tle = skdim.TLE()
    return {
        "MLE": partial(of_distances, skdim.MLE, (10, 20, 50, 100, 200), "median"),
        "MOM": partial(of_distances, skdim.MOM, (20, 50, 100, 200), "median"),
        # Its own loop wants neighbours of every row.
        "TLE": partial(of_neighborhoods, lambda x, r: tle._idtle(x, r[None]), (20, 50, 100), PAIRS),
        "ESS": partial(
            of_neighborhoods, lambda x, _: skdim.ESS().fit_once(x).dimension_, (100,), SLOW
        ),
        "lPCA": partial(of_spectra, skdim.lPCA),
        "TwoNN": lambda table: of_fits(
            {
                "all rows": (skdim.TwoNN(), every),
                "a quarter of the rows": (skdim.TwoNN(), len(table.rows) // 4),
                "a sixteenth of the rows": (skdim.TwoNN(), len(table.rows) // 16),
            },
            table,
        ),
        "CorrInt": partial(
            of_fits, {f"{k // 2} to {k}": (skdim.CorrInt(k // 2, k), every) for k in (20, 200)}
        ),
        "MiND_ML": partial(
            of_fits, {f"{k} neighbours": (skdim.MiND_ML(k=k), every) for k in (10, 50, 100)}
        ),
        "KNN": partial(
            of_fits,
            {f"{k} neighbours": (skdim.KNN(k=k, ps=sizes, random_state=0), ROWS) for k in (5, 20)},
        ),
        "FisherS": partial(of_fits, {"": (skdim.FisherS(), FISHER_ROWS)}),
    }


def estimates(
    tables: dict[str, Table], wanted: Callable[[str], bool]
) -> tuple[dict[str, float | None], dict[str, float]]:
    """What the estimators of scikit-dimension find in every table, and their CPU seconds.

    Seconds are those of one table with one setting.
    """
    found: dict[str, float | None] = {}
    used = {}
    for name, estimator in scikit_dimension().items():
        method = f"skdim {name}"
        if not wanted(method):
            continue
        begun, count = time.process_time(), 0
        for columns, table in tables.items():
            if columns == ALL and name in KEPT_ALONE:
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    own = estimator(table)
                except Exception as error:  # a rival's failure is a result
                    print(f"{method}, {columns}: {error}", file=sys.stderr)
                    own = {"failed": np.nan}
            for setting, value in own.items():
                label = ", ".join(filter(None, (setting, columns)))
                found[f"{method}{OF}{label}"] = rounded(value)
            count += len(own)
        used[method] = round((time.process_time() - begun) / count, 3)
    return found, used


def rounded(value: float) -> float | None:
    """A thousandth is enough."""
    return round(float(value), 3) if np.isfinite(value) else None


class Dadapy:
    """A Python that imports dadapy once and answers for one file of tables after the other."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("dadapy_estimates.py")
        self.process = subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def estimates(
        self, tables: dict[str, Table]
    ) -> tuple[dict[str, float | None], dict[str, float]]:
        """What its estimators find in every table, and their CPU seconds."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tables.npz"
            rows: dict[str, Any] = {name: table.rows for name, table in tables.items()}
            np.savez(path, **rows)
            print(path, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"dadapy's Python ended with code {self.process.wait()}.")
        told = json.loads(answer)
        found = {f"dadapy {name}": rounded(value) for name, value in told["found"].items()}
        return found, {f"dadapy {name}": value for name, value in told["cpu"].items()}

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
