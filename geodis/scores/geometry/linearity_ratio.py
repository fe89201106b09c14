"""Linearity ratio, axis-alignment ratio and axis orientation of traversals."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.distances.correlations import geometric_mean
from geodis.scores.card import QUICK, VALUES, Score, Shown
from geodis.scores.geometry.traversals import (
    SpreadKind,
    axis_variances,
    linear_variances,
    open_traversals,
    ratio_or_zero,
    shares_of,
    spreads_of,
    traversal_score,
)
from geodis.scores.registry import register_score


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=QUICK,
    shown=Shown(figure=True),
    answers="geometry",
    shapes=VALUES,
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
    """Linearity ratio: how close the latents of a traversal are to a line (4.7 to 4.9).

    With l_1 >= ... >= l_z the variances along the principal directions of a traversal,

        s_i = E_traversals [(l_1 / sum_k l_k - 1/z) / (1 - 1/z)],

    and the score is the geometric mean of s_i over the factors. It is invariant to rotation,
    translation and scale of the latents.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    spread : {"variance", "std"}
        Shares of variance as published, or of standard deviation.
    top : int, optional
        Use only the largest spreads; 2 makes the score independent of the number of latents.
    normalise : bool
        Map the worst ratio, 1/z, to 0.
    n_traversals : int, optional
        Largest number of traversals per factor, drawn at random; by default 65,536, or 512 for an
        encoder.
    random_state : int, Generator or None

    Returns
    -------
    Score
        ``per_factor`` is NaN for constant factors, which are left out. Traversals with constant
        latents count as 0. ``details["n_traversals"]`` is the number of traversals.

    Rewards
    -------
    Paths along one factor that are lines, in any direction.

    Cannot see
    ----------
    Which latents: turned latents score the same. Circles are no lines by design. Where the paths of
    different factors lead.

    By chance
    ---------
    0.2 to 0.5: little points are near a line

    Source
    ------
    Michlo 2022, eqs. 4.7 to 4.9

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


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=QUICK,
    shown=Shown("the axis ratio", headline=3),
    answers="modularity",
    shapes=VALUES,
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

    and the geometric mean over factors. It is never above `linearity_ratio`, because the variance
    along the principal direction is at least that along any axis.

    Parameters
    ----------
    latents, factors, spread, top, normalise, n_traversals, random_state
        As for `linearity_ratio`.
    pooled : bool
        Average the spread of each latent over traversals before the ratio: the same latent must
        then encode the factor everywhere.

    Returns
    -------
    Score
        As for `linearity_ratio`; ``matrix`` (z, f) has the mean share of each latent.

    Rewards
    -------
    Paths along one factor that are parallel to an axis.

    Cannot see
    ----------
    Whether two factors share the axis; circles are no lines by design.

    By chance
    ---------
    0.05 to 0.2

    Source
    ------
    Michlo 2022, eqs. 4.7 to 4.9

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


@register_score(
    family="ratios", takes_grid=True, halves=True, cost=QUICK, answers="modularity", shapes=VALUES
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
        The ratio of the two scores, 0 if the linearity is 0; ``details`` has both, and
        ``per_traversal``: the geometric mean over factors of the mean ratio over traversals, as in
        other software.

    Rewards
    -------
    Paths whose main direction is an axis, lines or not.

    Cannot see
    ----------
    Whether the path is a line, whether two factors share the axis.

    By chance
    ---------
    a little above 1 / sqrt(z): 0.32 to 0.38, and 0.42 to 0.50 with 6 latents

    Source
    ------
    Michlo 2022, A.1

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
