"""Interventional robustness: how little a latent varies while one factor is fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.card import QUICK, Score
from geodis.scores.inputs import CodedFactors, check_scored, varies
from geodis.scores.interventional.fixed_factor import MIN_ROWS
from geodis.scores.registry import register_score


@register_score(family="interventional", takes_grid=True, cost=QUICK, answers="modularity")
def irs(
    latents: Any,
    factors: Any,
    *,
    quantile: float = 0.99,
    n_samples: int = 10_000,
    random_state: Any = None,
) -> Score:
    """Interventional robustness score (Suter et al., 2019).

    With factor k fixed at a value v, let d_jv be a high quantile over rows of |z_j - E(z_j | v)|,
    the deviation of latent j that the other factors cause. Relative to the largest deviation,
    w_j = max |z_j - E(z_j)|,

        R_jk = 1 - mean_v(d_jv) / w_j,

    and the score is the average of max_k R_jk over latents, weighted by w_j.

    Parameters
    ----------
    latents, factors
        As in `beta_vae`.
    quantile : float
        Quantile of the deviations; 1 is the maximum.
    n_samples : int
        Larger grids are subsampled to this many rows if an encoder computes the latents.
    random_state : None, int or Generator
        Draws these rows.

    Returns
    -------
    Score
        ``matrix`` is R (z, f), NaN for factors left out; in ``per_latent`` constant latents are
        zero and have no weight. ``details["parents"]`` (z,) is the factor with the largest R of
        each latent, -1 for none.

    Notes
    -----
    Values with fewer than 10 rows are left out: with a single row the deviation would be 0. Noise
    may score above 0, because a quantile is less than the maximum, and entangled latents may score
    below: compare with the chance level.

    Rewards
    -------
    Latents that no factor moves but their own, even at worst.

    Cannot see
    ----------
    Latents that nothing moves; scales, which weigh the latents.

    Range
    -----
    below 0 to 1

    By chance
    ---------
    0.30 to 0.39; 0.22 to 0.33 of 1,000 rows

    Source
    ------
    Suter et al. 2019, section 4

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> float(irs(factors * 0.5, factors))
    1.0
    """
    quantile = check_real(quantile, "quantile", low=0, high=1)
    n_samples = check_int(n_samples, "n_samples", low=MIN_ROWS)
    table, coded = _rows_of(latents, factors, n_samples, check_random_state(random_state))
    widest = np.abs(table - table.mean(axis=0)).max(axis=0)
    places = np.flatnonzero(varies(table))
    matrix, used, notes = _robustness(table, coded, quantile, widest, places)
    if not used.any():
        raise InputError(
            f"irs needs a factor that varies, with {MIN_ROWS} rows of the same value or more; "
            f"got {len(table)} rows."
        )
    per_latent = matrix[:, used].max(axis=1)
    parents = np.flatnonzero(used)[matrix[:, used].argmax(axis=1)]
    weights = np.where(np.isin(np.arange(len(widest)), places), widest, 0.0)
    if not len(places):
        notes.append("every latent is constant: nothing is robust")
    value = float(np.average(per_latent, weights=weights)) if len(places) else 0.0
    return Score(
        "irs",
        value,
        per_latent=per_latent,
        matrix=matrix,
        details={"parents": np.where(weights > 0, parents, -1), "max_deviations": weights},
        note="; ".join(notes),
        factor_names=coded.names,
    )


def _robustness(
    table: np.ndarray, coded: CodedFactors, quantile: float, widest: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return R (z, f), NaN for factors that cannot be fixed; which can be, bool (f,); and notes.

    Only the latents at the given places vary.
    """
    n_factors = len(coded.sizes)
    matrix = np.zeros((table.shape[1], n_factors))
    notes, used = [], np.zeros(n_factors, dtype=bool)
    for k in range(n_factors):
        counts = np.bincount(coded.codes[:, k])
        frequent = np.flatnonzero(counts >= MIN_ROWS)
        used[k] = len(frequent) > 0 and len(counts) > 1
        called = repr(coded.names[k]) if coded.names else str(k)
        if not used[k]:
            reason = "has one value" if len(counts) == 1 else "has too few rows a value"
            notes.append(f"factor {called} {reason} and is left out")
            continue
        if len(frequent) < len(counts):
            notes.append(f"factor {called}: {len(counts) - len(frequent)} rare values left out")
        deviations = [
            _deviation(table[coded.codes[:, k] == value][:, places], quantile) for value in frequent
        ]
        matrix[places, k] = 1 - np.mean(deviations, axis=0) / widest[places]
    matrix[:, ~used] = np.nan
    return matrix, used, notes


def _deviation(rows: np.ndarray, quantile: float) -> np.ndarray:
    """Return a quantile over rows of the distance to their mean, (z,)."""
    return np.quantile(np.abs(rows - rows.mean(axis=0)), quantile, axis=0)


def _rows_of(
    latents: Any, factors: Any, n_samples: int, random: np.random.Generator
) -> tuple[np.ndarray, CodedFactors]:
    """Return latents and factors of a sample, or of rows of a grid."""
    if not isinstance(factors, FactorGrid):
        return check_scored(latents, factors)
    grid, encode = factors, latents_of(factors, latents)
    index = np.arange(len(grid))
    if callable(latents) and len(grid) > n_samples:
        index = random.choice(len(grid), n_samples, replace=False)
    import pandas as pd

    return check_scored(encode(index), pd.DataFrame(grid.factors(index), columns=list(grid.names)))
