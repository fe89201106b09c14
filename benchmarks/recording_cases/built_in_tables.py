"""What scikit-learn brings: tables whose truth nobody knows, and two bent sheets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sklearn.datasets import make_s_curve, make_swiss_roll

from benchmarks.recording_cases.recording import Recording, recordings
from benchmarks.zoo_cases.case import Case
from benchmarks.zoo_cases.clouds import Cloud
from benchmarks.zoo_cases.real import square_roots, standardised, table

SHEETS = {"swiss roll": make_swiss_roll, "s curve": make_s_curve}
# In units of the sheet: the roll is ten times as large as the curve.
SHEET_NOISE = {"swiss roll": (0.0, 0.3, 0.6), "s curve": (0.0, 0.03, 0.06)}


def unknown(case: Case) -> Recording:
    """A table without a truth."""
    return Recording(case.title, case.draw, (), real=True)


def sheet(kind: str, sigma: float, seed: int) -> Cloud:
    return Cloud(SHEETS[kind](2000, noise=sigma, random_state=seed)[0])


def sheets(kind: str) -> Iterator[Recording]:
    for sigma in SHEET_NOISE[kind]:
        draw = partial(sheet, kind, sigma)
        yield Recording(f"noise {sigma:g}", draw, ((1, 1), (2,)), dims=(2,))


@recordings("tables: digits, iris and wine", "tuning")
def first_tables() -> Iterator[Recording]:
    yield unknown(table("digits"))
    yield unknown(table("digits", square_roots))
    yield unknown(table("iris"))
    yield unknown(table("wine", standardised))


@recordings("tables: others", "held-out")
def other_tables() -> Iterator[Recording]:
    for label in (0, 3, 8):
        yield unknown(table("digits", label=label))
    yield unknown(table("breast_cancer", standardised))
    yield unknown(table("diabetes"))
    yield unknown(table("linnerud"))


@recordings("tables: swiss roll", "tuning")
def swiss_roll() -> Iterator[Recording]:
    yield from sheets("swiss roll")


@recordings("tables: s curve", "held-out")
def s_curve() -> Iterator[Recording]:
    yield from sheets("s curve")
