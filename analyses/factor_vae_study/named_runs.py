"""Finished runs as rows: the model's name in the paper, its strength, its seed, what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

FACTOR, BETA, GAN = "FactorVAE", "beta-VAE", "InfoWGAN-GP"
# By the class of a swept model: its name, and the setting that is its strength.
SWEPT = {"NarrowBetaVAE": (BETA, "beta"), "InfoWGANGP": (GAN, "information")}
WHOSE = ["name", "strength", "seed"]


def swept_rows(table: pd.DataFrame, measured: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Rows of a sweep's last steps, with what was measured of each run."""
    rows = []
    for row in table.to_dict("records"):
        name, strength = SWEPT[row["model"]]
        whose = {"name": name, "strength": float(row[strength]), "seed": int(row["seed"])}
        rows.append({**whose, **measured[row["run"]]})
    return pd.DataFrame(rows, columns=None if rows else WHOSE)


def factor_rows(watched: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of FactorVAEs, as `watched_runs` returns them.

    Examples
    --------
    >>> run = {"gamma": 40.0, "seed": 3, "found": {"true TC": 2.0}, "course": []}
    >>> factor_rows([run, {**run, "found": {}}]).to_dict("records")
    [{'name': 'FactorVAE', 'strength': 40.0, 'seed': 3, 'true TC': 2.0}]
    """
    rows = [
        {"name": FACTOR, "strength": run["gamma"], "seed": run["seed"], **run["found"]}
        for run in watched
        if run["found"]
    ]
    return pd.DataFrame(rows, columns=None if rows else WHOSE)


def values_of(rows: pd.DataFrame, name: str, strength: float | None, column: str) -> pd.Series:
    """A column of the runs of one model by seed, at one strength or as the mean over all.

    Returns
    -------
    Series
        By seed; empty where there are no runs.
    """
    own = rows[rows["name"] == name]
    if strength is not None:
        own = own[own["strength"] == strength]
    if column not in own:
        return pd.Series(dtype=float)
    return own.groupby("seed")[column].mean().dropna()


def strengths_of(rows: pd.DataFrame, name: str) -> list[float]:
    """Strengths of a model, weak to strong."""
    return sorted(rows[rows["name"] == name]["strength"].unique())
