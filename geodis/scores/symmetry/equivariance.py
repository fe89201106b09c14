"""Equivariance: whether a step of a factor is one linear map of the latents, wherever it starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.data.factors import as_factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores.card import IN_ORDER, Card, Cost
from geodis.scores.identifiability.ridge import ridge_predict
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.traversed import Traversed, open_traversals

# Pairs of neighbouring values that are compared: more only sharpen the mean.
MOST_STEPS = 4_000


@register_score(
    family="geometry",
    takes_grid=True,
    halves=True,
    default=False,
    cost=Cost("20 ms"),
    card=Card(
        rewards="Codes in which a step of a factor moves every point by the same linear map: a "
        "shift along a line, a turn of a circle, in any plane and of all latents together.",
        blind="Whether different factors use different latents: a turned code scores the same. "
        "It needs rows that differ by one step of one factor.",
        answers="geometry",
        chance="0.45 to 0.5: the mean is half as far from a random code as another of its points",
        shapes=IN_ORDER,
        source="the linear action of Higgins et al. 2018, definition 4, by least squares",
    ),
)
def equivariance(
    latents: Any,
    factors: Any,
    *,
    train_share: float = TRAIN_SHARE,
    random_state: Any = None,
) -> Score:
    """Equivariance: whether a step of a factor is one linear map of the latents.

    Pairs z, z' of points that differ by one step of factor j give the map of least squares,
    ``z' ~ z M_j + b_j``, and on held-out pairs

    ``1 - sum |z' - z M_j - b_j|^2 / sum |z' - z|^2``,

    at least zero, mean over factors: the share of the movement that the map knows. A factor along
    which the latents stand still scores zero. The last step of a cyclic factor leads to its first
    value again; labels without an order have no steps.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
    factors : array-like of shape (n, f), or FactorGrid
    train_share : float
    random_state : int, Generator or None

    Returns
    -------
    Score
        `per_factor`, NaN for one that was left out; `details["n_steps"]` counts the pairs.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((6, 5))
    >>> turn, shift = grid.factors(range(30)).T
    >>> code = np.column_stack([np.cos(turn), np.sin(turn), 2.0 * shift])
    >>> equivariance(code, grid, random_state=0).per_factor.round(3)
    array([1., 1.])
    """
    rng = check_random_state(random_state)
    source = open_traversals(latents, factors, "equivariance", None, rng)
    known = (
        factors.known_factors(np.arange(1))
        if isinstance(factors, FactorGrid)
        else as_factors(factors)
    )
    per_factor, counts = np.full(source.n_factors, np.nan), {}
    for j in source.used:
        if known.kinds[j] == "labels":
            continue
        before, after = _steps(source, j, rng)
        if len(before) < 4:
            continue
        counts[known.names[j]] = len(before)
        split = split_rows(len(before), train_share, True, rng)
        moved = ((after - before)[split.test] ** 2).sum()
        predicted = ridge_predict(before[split.train], after[split.train], before[split.test])[0]
        left = ((after[split.test] - predicted) ** 2).sum()
        per_factor[j] = max(1 - left / moved, 0.0) if moved > 0 else 0.0
    judged = ~np.isnan(per_factor)
    if not judged.any():
        raise InputError("equivariance needs a factor with steps between its values; got none.")
    return Score(
        "equivariance",
        float(per_factor[judged].mean()),
        per_factor=per_factor,
        details={"n_steps": counts},
        note=source.note,
        factor_names=source.names,
    )


def _steps(source: Traversed, j: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Latents before and after one step of a factor, around zero and on one scale, (m, z) twice."""
    grid = source.grid
    closes = grid.kinds[j] == "cyclic" and grid.periods[j] == grid.sizes[j]
    before, after = [], []
    for latents in source.latents(j, once=True, from_first=False):
        before.append(latents[:, :-1].reshape(-1, latents.shape[2]))
        after.append(latents[:, 1:].reshape(-1, latents.shape[2]))
        if closes and latents.shape[1] == grid.sizes[j]:
            before.append(latents[:, -1])
            after.append(latents[:, 0])
    first, second = np.concatenate(before), np.concatenate(after)
    if len(first) > MOST_STEPS:
        chosen = rng.choice(len(first), MOST_STEPS, replace=False)
        first, second = first[chosen], second[chosen]
    centre = first.mean(axis=0)
    first, second = first - centre, second - centre
    scale = max(np.abs(first).max(), np.abs(second).max(), 1e-300)
    return first / scale, second / scale
