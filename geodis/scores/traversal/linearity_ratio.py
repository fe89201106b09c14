"""Linearity ratio: how close the latents of a traversal are to any one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.scores.card import QUICK, VALUES, Card, Shown
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.spreads import (
    SpreadKind,
    linear_variances,
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
    shown=Shown(figure=True),
    card=Card(
        rewards="Paths along one factor that are lines, in any direction.",
        blind="Which latents: turned latents score the same. Circles are no lines by design. "
        "Where the paths of different factors lead.",
        answers="geometry",
        chance="0.2 to 0.5: little points are near a line",
        shapes=VALUES,
        source="Michlo 2022, eqs. 4.7 to 4.9",
    ),
)
def linearity_ratio(
    latents: Any,
    factors: Any,
    *,
    spread: SpreadKind = "variance",
    top: int | None = None,
    normalise: bool = True,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Linearity ratio: how close the latents of a traversal are to any one line (4.7 to 4.9).

    With l_1 >= ... >= l_z the variances along the principal directions of a traversal,

        s_i = E_traversals [(l_1 / sum_k l_k - 1/z) / (1 - 1/z)],

    and the score is the geometric mean of s_i over the factors. It does not change when the
    latents are rotated, moved or scaled.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    spread : {"variance", "std"}
        Shares of variance as published, or of its root.
    top : int, optional
        2 compares the two largest only, which does not depend on the number of latents.
    normalise : bool
        Give the worst ratio, 1/z, the score 0.
    n_traversals : int, optional
        Most traversals a factor, drawn at random; by default all up to 65,536, or 512 where an
        encoder has to be run.
    random_state : int, Generator or None

    Returns
    -------
    Score
        ``per_factor`` is NaN where a factor has one value and was left out. Where the latents
        stand still along a traversal it counts as 0. ``details["n_traversals"]`` counts them.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> diagonal = grid.factors(range(20)) @ [[1.0, 1.0], [1.0, -1.0]]
    >>> print(linearity_ratio(diagonal, grid))
    linearity_ratio 1.000
      per factor  shape 1.000 x 1.000
    """
    source = open_traversals(latents, factors, "linearity_ratio", n_traversals, random_state)
    per_factor = np.full(source.n_factors, np.nan)
    for j in source.used:
        spreads = spreads_of(source.latents(j), linear_variances, spread)
        per_factor[j] = shares_of(spreads, top, normalise).mean()
    two = [source.grid.names[j] for j in source.used if source.grid.sizes[j] == 2]
    note = f"1 wherever latents move, for two points are on a line: {', '.join(two)}."
    return traversal_score("linearity_ratio", source, per_factor, note=note if two else "")
