"""Axis-alignment ratio: how close the latents of a traversal are to one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.card import QUICK, VALUES, Card, Shown
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.spreads import (
    SpreadKind,
    axis_variances,
    ratio_or_zero,
    shares_of,
    spreads_of,
    traversal_score,
)
from geodis.scores.traversal.traversed import open_traversals


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=QUICK,
    shown=Shown("the axis ratio", headline=3),
    card=Card(
        rewards="Paths along one factor that are parallel to an axis.",
        blind="Whether two factors share the axis; circles are no lines by design.",
        answers="modularity",
        chance="0.05 to 0.2",
        shapes=VALUES,
        source="Michlo 2022, eqs. 4.7 to 4.9",
    ),
)
def axis_ratio(
    latents: Any,
    factors: Any,
    *,
    spread: SpreadKind = "variance",
    top: int | None = None,
    normalise: bool = True,
    pooled: bool = False,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Axis-alignment ratio: how close the latents of a traversal are to one axis (4.4 to 4.6).

        s_i = E_traversals [(max_k Var[z_k] / sum_k Var[z_k] - 1/z) / (1 - 1/z)],

    and the geometric mean over factors. It is never above `linearity_ratio`, for a principal
    direction has more variance than any axis.

    Parameters
    ----------
    latents, factors, spread, top, normalise, n_traversals, random_state
        As for `linearity_ratio`.
    pooled : bool
        Average the spread of each latent over the traversals before the ratio: then one latent
        has to stand for the factor everywhere.

    Returns
    -------
    Score
        As for `linearity_ratio`; ``matrix`` (z, f) has the mean share of each latent.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> float(axis_ratio(grid.factors(range(20)), grid))
    1.0
    >>> diagonal = grid.factors(range(20)) @ [[1.0, 1.0], [1.0, -1.0]]
    >>> float(axis_ratio(diagonal, grid))
    0.0
    """
    source = open_traversals(latents, factors, "axis_ratio", n_traversals, random_state)
    per_factor = np.full(source.n_factors, np.nan)
    matrix = np.zeros((source.n_latents, source.n_factors))
    for j in source.used:
        spreads = spreads_of(source.latents(j), axis_variances, spread)
        matrix[:, j] = ratio_or_zero(spreads, spreads.sum(axis=1, keepdims=True)).mean(axis=0)
        if pooled:
            spreads = spreads.mean(axis=0, keepdims=True)
        per_factor[j] = shares_of(spreads, top, normalise).mean()
    return traversal_score("axis_ratio", source, per_factor, matrix=matrix)
