"""Axis orientation: how well lines are aligned with axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.distances.correlations import geometric_mean
from geodis.scores.card import QUICK, VALUES, Card
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.spreads import (
    SpreadKind,
    axis_variances,
    linear_variances,
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
    card=Card(
        rewards="Paths whose main direction is an axis, lines or not.",
        blind="Whether the path is a line, whether two factors share the axis.",
        answers="modularity",
        chance="a little above 1 / sqrt(z): 0.32 to 0.38, and 0.42 to 0.50 with 6 latents",
        shapes=VALUES,
        source="Michlo 2022, A.1",
    ),
)
def axis_orientation(
    latents: Any,
    factors: Any,
    *,
    spread: SpreadKind = "variance",
    top: int | None = None,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Axis orientation: how well lines are aligned with axes, ``s_axis / s_linear`` (A.1).

    Parameters
    ----------
    latents, factors, spread, top, n_traversals, random_state
        As for `linearity_ratio`.

    Returns
    -------
    Score
        The ratio of the two scores, 0 where the linearity is 0; ``details`` has both, and
        ``per_traversal``: the geometric mean over factors of the mean of the ratios that every
        traversal has by itself, as other software computes it.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> turned = grid.factors(range(20)) @ [[0.8, 0.6], [-0.6, 0.8]]
    >>> print(axis_orientation(turned, grid))
    axis_orientation 0.280
      per factor  shape 0.280 x 0.280
      axis_ratio 0.280, linearity_ratio 1.000, per_traversal 0.280
    """
    source = open_traversals(latents, factors, "axis_orientation", n_traversals, random_state)
    axis, linear, alone = (np.full(source.n_factors, np.nan) for _ in range(3))
    for j in source.used:
        parts = source.latents(j)
        on_axis, on_line = (
            shares_of(spreads_of(parts, of, spread), top)
            for of in (axis_variances, linear_variances)
        )
        axis[j], linear[j] = on_axis.mean(), on_line.mean()
        alone[j] = ratio_or_zero(on_axis, on_line).mean()
    s_axis, s_linear = (geometric_mean(values[source.used]) for values in (axis, linear))
    return traversal_score(
        "axis_orientation",
        source,
        np.where(np.isnan(axis), np.nan, ratio_or_zero(axis, linear)),
        value=float(ratio_or_zero(np.array(s_axis), np.array(s_linear))),
        details={
            "axis_ratio": s_axis,
            "linearity_ratio": s_linear,
            "per_traversal": geometric_mean(alone[source.used]),
        },
    )
