"""Interventional robustness: how still a latent stands while one factor is fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.card import QUICK, Card, Score
from geodis.scores.inputs import CodedFactors, check_scored, varies
from geodis.scores.interventional.fixed_factor import MIN_ROWS
from geodis.scores.registry import register_score


@register_score(
    family="interventional",
    takes_grid=True,
    cost=QUICK,
    card=Card(
        rewards="Latents that no factor moves but their own, even at worst.",
        blind="Latents that nothing moves; scales, which weigh the latents.",
        answers="modularity",
        scale="below 0 to 1",
        chance="0.30 to 0.39; 0.22 to 0.33 of 1,000 rows",
        source="Suter et al. 2019, section 4",
    ),
)
def irs(
    latents: Any,
    factors: Any,
    *,
    quantile: float = 0.99,
    n_samples: int = 10_000,
    random_state: Any = None,
) -> Score:
    """Interventional robustness score (Suter et al., 2019).

    With one factor fixed at each of its values v in turn, the others move latent j away from its
    mean by a deviation d_jv, a high quantile over rows of |z_j - E(z_j | v)|. In units of the
    largest deviation of all, w_j = max |z_j - E(z_j)|,

        R_jk = 1 - mean_v(d_jv) / w_j,

    and the score is the average of max_k R_jk over latents, weighted by w_j.

    Parameters
    ----------
    latents, factors
        As in `beta_vae`.
    quantile : float
        Which quantile of the deviations; 1 is the largest.
    n_samples : int
        Rows drawn from a grid with more, if an encoder must make their latents.
    random_state : None, int or Generator
        Used for those rows only.

    Returns
    -------
    Score
        ``matrix`` R (z, f), NaN for factors left out, and ``per_latent``; constant latents have
        zeros and no weight.
        ``details["parents"]`` (z,) is the factor that protects each latent best, -1 for none.

    Notes
    -----
    Values with fewer than 10 rows are left out: a value with one row would deviate by 0 and make
    everything robust. Noise may score above 0, because a quantile is less than the maximum, and
    an entangled code below: compare with the chance level.

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
    """R (z, f), NaN for factors that cannot be fixed; which can, bool (f,); and what to say.

    Latents outside the given places are constant.
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
    """A quantile over rows of the distance to their mean, (z,)."""
    return np.quantile(np.abs(rows - rows.mean(axis=0)), quantile, axis=0)


def _rows_of(
    latents: Any, factors: Any, n_samples: int, random: np.random.Generator
) -> tuple[np.ndarray, CodedFactors]:
    """Latents and factors of a plain sample, or of rows of a grid."""
    if not isinstance(factors, FactorGrid):
        return check_scored(latents, factors)
    grid, encode = factors, latents_of(factors, latents)
    index = np.arange(len(grid))
    if callable(latents) and len(grid) > n_samples:
        index = random.choice(len(grid), n_samples, replace=False)
    import pandas as pd

    return check_scored(encode(index), pd.DataFrame(grid.factors(index), columns=list(grid.names)))
