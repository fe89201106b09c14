"""Z-max variance: a majority vote on the one factor that varies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.scores.active import active_latents, of_order_one
from geodis.scores.card import Card, Cost
from geodis.scores.inputs import check_scored
from geodis.scores.intervention.factor_vae import batch_variances, majority_score
from geodis.scores.intervention.fixed_source import FixedSource, open_source
from geodis.scores.registry import register_score
from geodis.scores.score import Score

# As in the comparison of Carbonneau et al. (2022).
N_VOTES, BATCH = 800, 200
EQUAL = 1e-9  # shares of a variance that rounding may change


@register_score(
    family="interventional",
    halves=True,
    default=False,
    cost=Cost("40 ms"),
    card=Card(
        rewards="For each factor a latent that varies most, relative to all rows, where only that "
        "factor does.",
        blind="What else varies a little: the largest variance alone votes. It needs rows that "
        "agree in all factors but one.",
        answers="modularity",
        chance="1 / f, and a little more",
        source="Kim et al. 2019 (Relevance Factor VAE), section 5",
    ),
)
def z_max_variance(
    latents: Any,
    factors: Any,
    *,
    n_votes: int = N_VOTES,
    batch_size: int = BATCH,
    random_state: Any = None,
) -> Score:
    """Z-max variance score (Kim et al. 2019): accuracy of a majority vote on the free factor.

    As `factor_vae`, turned round: rows that agree in all factors but one are drawn, and the latent
    that varies most, ``argmax_i Var(z_i) / Var_all(z_i)``, votes for the factor that is free.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes, several rows of which agree in all factors but one.
    n_votes : int
        Votes to learn the majorities from, and as many to be judged by.
    batch_size : int
        Rows behind each vote, drawn with replacement.
    random_state : int, Generator or None

    Returns
    -------
    Score
        ``per_factor`` and ``matrix`` as of `factor_vae`.

    Examples
    --------
    >>> factors = np.array(list(np.ndindex(4, 4, 4)))
    >>> float(z_max_variance(factors * 1.0, factors, random_state=0))
    1.0
    """
    n_votes = check_int(n_votes, "n_votes", low=1)
    size = check_int(batch_size, "batch_size", low=2)
    rng = check_random_state(random_state)
    z, coded = check_scored(latents, factors)
    places = {j: _agreeing(coded.codes, j) for j in np.flatnonzero(coded.sizes > 1)}
    used = np.array([j for j, (_, starts, _) in places.items() if len(starts)], dtype=np.int64)
    if len(used) < 2:
        raise InputError(
            "z_max_variance needs two factors along which rows agree in all others; got "
            f"{len(used)}."
        )
    labels = used[rng.integers(len(used), size=2 * n_votes)]
    rows = np.empty((len(labels), size), np.int64)
    for j in used:
        own = np.flatnonzero(labels == j)
        order, starts, counts = places[int(j)]
        chosen = rng.integers(len(starts), size=len(own))
        within = rng.random((len(own), size)) * counts[chosen][:, None]
        rows[own] = order[starts[chosen][:, None] + within.astype(np.int64)]
    z, active = of_order_one(z), active_latents(z)
    votes = np.full(len(labels), -1)
    if active.any():
        alive = np.flatnonzero(active)
        ratios = batch_variances(z[:, alive], rows) / z[:, alive].var(axis=0, ddof=1)
        # Of latents that vary alike but for rounding, the first of them always.
        largest = ratios.max(axis=1, keepdims=True)
        votes = alive[(ratios >= largest * (1 - EQUAL)).argmax(axis=1)]
    source: FixedSource = open_source(z, coded.codes, "z_max_variance", min_rows=1)
    found = majority_score(replace(source, used=used), votes, labels, n_votes, active)
    left = [coded.called(j) for j in range(len(coded.sizes)) if j not in used]
    note = f"left out, no rows agree in all others: {', '.join(left)}" if left else ""
    return replace(found, name="z_max_variance", note=note, factor_names=coded.names)


def _agreeing(codes: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in order of all factors but j, and where runs with several values of j begin, how long.

    A run is of rows that agree in all other factors.
    """
    others = np.delete(codes, j, axis=1)
    if others.shape[1]:
        runs = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
    else:
        runs = np.zeros(len(codes), np.int64)
    order = np.lexsort((codes[:, j], runs))
    counts = np.bincount(runs)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    value = codes[order, j]
    several = value[starts] != value[starts + counts - 1]
    return order, starts[several], counts[several]
