"""Data sets of scikit-learn, whose truth nobody knows: an unflagged claim of factors is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.zoo_cases.case import Case, family
from benchmarks.zoo_cases.clouds import Cloud, Map


def table(name: str, prepare: Map | None = None, label: int | None = None) -> Case:
    """One data set, as it is or prepared, or the rows of one label."""

    def draw(seed: int) -> Cloud:
        data = getattr(sklearn.datasets, f"load_{name}")()
        rows = data.data if label is None else data.data[data.target == label]
        return Cloud(np.asarray(prepare(rows) if prepare else rows, dtype=float))

    title = name.replace("_", " ") + (f", label {label}" if label is not None else "")
    title += f", {prepare.__name__.replace('_', ' ')}" if prepare else ""
    return Case(title, draw, (), real=True)


def square_roots(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(rows)


def standardised(rows: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(rows)


@family("scikit-learn's digits, iris and wine", "tuning")
def first_tables() -> Iterator[Case]:
    yield table("digits")
    yield table("digits", square_roots)
    yield table("iris")
    yield table("wine")
    yield table("wine", standardised)


@family("scikit-learn's other tables", "held-out")
def other_tables() -> Iterator[Case]:
    yield table("digits", label=0)
    yield table("breast_cancer")
    yield table("breast_cancer", standardised)
    yield table("diabetes")
    yield table("linnerud")
