"""D_LSBD and equivariance: linear action of the symmetries of factors on the latents."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.data.factors import Factors, as_factors
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.card import IN_ORDER, Cost, Score
from geodis.scores.geometry.traversals import Traversed, open_traversals
from geodis.scores.inputs import check_latents
from geodis.scores.predictive.cross_validation import TRAIN_SHARE, ridge_predict, split_rows
from geodis.scores.registry import register_score

MOST_TURNS = 10  # as published


@register_score(
    family="geometry",
    takes_continuous=True,
    takes_grid=True,
    default=False,
    lower_is_better=True,
    cost=Cost("10 ms, in proportion to n z^2"),
    answers="geometry",
)
def d_lsbd(latents: Any, factors: Any, *, max_turns: int = MOST_TURNS) -> Score:
    """D_LSBD, lower is better: departure from linear symmetry (Tonnaer et al. 2022).

    For each cyclic factor, the latents minus their mean along it are projected onto their two
    principal axes, each scaled to a variance of one half, and rotated back by w times the angle of
    the factor. For latents that rotate w times a single point remains. The score is the remaining
    variance for the best integer w and direction, averaged over cyclic factors. Each combination of
    the other factors has its own planes; the score is averaged over them.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
    factors : Factors, or FactorGrid
        With ``periods`` of the cyclic factors (`as_factors`). All combinations of values must occur
        equally often.
    max_turns : int

    Returns
    -------
    Score
        `per_factor` is NaN for factors that are not cyclic; `details["turns"]` has the best w of
        each factor, 0 if there is none.

    Rewards
    -------
    Each cyclic factor a rotation of a plane of its own, at constant speed.

    Cannot see
    ----------
    Factors that are not cyclic, over which it averages. It needs every combination of values, each
    as often.

    Range
    -----
    1 (worst) to 0

    By chance
    ---------
    0.97 to 1

    Factors of any shape
    --------------------
    Cyclic numbers; all others are left out. Latents are read together.

    Source
    ------
    Tonnaer et al. 2022, section 4

    Examples
    --------
    >>> from geodis.data.factors import as_factors
    >>> angle = 2 * np.pi * np.arange(8) / 8
    >>> circle = np.column_stack([np.cos(2 * angle), np.sin(2 * angle)])
    >>> score = d_lsbd(circle, as_factors({"a": angle}, periods={"a": 2 * np.pi}))
    >>> round(float(score), 6), score.details["turns"].tolist()
    (0.0, [2])
    """
    check_int(max_turns, "max_turns", low=1)
    if isinstance(factors, FactorGrid):
        index = np.arange(len(factors))
        known, latents = factors.known_factors(index), latents_of(factors, latents)(index)
    else:
        known = as_factors(factors).refuse_missing()
    z = check_latents(latents)
    cyclic = [j for j, kind in enumerate(known.kinds) if kind == "cyclic"]
    if not cyclic:
        raise InputError("d_lsbd needs a cyclic factor: give periods to as_factors; got none.")
    code, angles = _on_grid(z, known, cyclic)
    parts, turns = _left_over(code, angles, max_turns)
    per_factor, best = np.full(len(known.names), np.nan), np.zeros(len(known.names), int)
    per_factor[cyclic], best[cyclic] = parts, turns
    return Score(
        "d_lsbd",
        float(parts.mean()),
        per_factor=per_factor,
        details={"turns": best},
        factor_names=known.names,
    )


def _on_grid(
    z: np.ndarray, known: Factors, cyclic: list[int]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return latents (objects, values of each cyclic factor..., z), and the angles of values."""
    if len(z) != len(known):
        raise InputError(
            f"latents and factors must have as many rows; got {len(z)} and {len(known)}."
        )
    others = [j for j in range(len(known.names)) if j not in cyclic]
    objects = np.unique(known.values[:, others], axis=0, return_inverse=True)[1].reshape(-1)
    codes, angles = [objects], []
    for j in cyclic:
        period = known.periods[known.names[j]]
        turned = np.round(np.remainder(known.values[:, j] / period, 1.0), 12) % 1.0
        present, code = np.unique(turned, return_inverse=True)
        codes.append(code.reshape(-1))
        angles.append(2 * np.pi * present)
    sizes = (int(objects.max()) + 1, *(len(angle) for angle in angles))
    cells = np.ravel_multi_index(tuple(codes), sizes)
    counts = np.bincount(cells, minlength=int(np.prod(sizes)))
    # Two values a period apart, such as 0 and 360 degrees, are one angle with twice the rows.
    given = np.unique(known.values, axis=0, return_counts=True)[1]
    if counts.min() == 0 or (np.ptp(counts) > 0 and np.ptp(given) > 0):
        raise InputError(
            "d_lsbd needs every combination of values as often as any other; got from "
            f"{counts.min()} to {counts.max()} rows of each."
        )
    order = np.argsort(cells, kind="stable")
    starts = np.cumsum(counts) - counts
    sums = np.add.reduceat((z / max(np.abs(z).max(), 1e-300))[order], starts, axis=0)
    return (sums / counts[:, None]).reshape(*sizes, -1), angles


def _left_over(
    code: np.ndarray, angles: list[np.ndarray], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the variance after rotating back, and the best number of turns, by factor."""
    turns = np.arange(most + 1)  # ascending: on a regular grid, larger numbers may be aliases
    parts, best = [], []
    for axis, angle in enumerate(angles, start=1):
        moved = code - code.mean(axis=axis, keepdims=True)
        flat = moved.reshape(len(code), -1, code.shape[-1])
        plane = _principal_plane(
            flat, float(np.abs(code).max())
        )  # complex (objects, points), mean square one
        shape = [1] * (code.ndim - 1)
        shape[axis] = len(angle)
        at = np.broadcast_to(angle.reshape(shape), code.shape[:-1]).reshape(len(code), -1)
        # The variance after rotation is the part not explained by the mean. The orientation of a
        # plane is arbitrary: each object takes the better one.
        explained = [
            np.maximum(*(np.abs((plane * np.exp(s * w * at)).mean(axis=1)) ** 2 for s in (1j, -1j)))
            for w in turns
        ]
        size = (np.abs(plane) ** 2).mean(axis=1)
        left = np.where(size > 0, size - np.array(explained), 1.0).mean(axis=1)
        parts.append(max(left.min(), 0.0))
        best.append(int(np.flatnonzero(left <= left.min() + 1e-9)[0]))
    return np.array(parts), np.array(best)


def _principal_plane(flat: np.ndarray, size: float) -> np.ndarray:
    """Return two principal components of every object as complex numbers, mean square one.

    Components below rounding errors of latents of that size are zero.
    """
    centred = flat - flat.mean(axis=1, keepdims=True)
    covariance = np.einsum("onz,ony->ozy", centred, centred) / max(centred.shape[1] - 1, 1)
    values, vectors = np.linalg.eigh(covariance)
    if values.shape[1] < 2:
        raise InputError("d_lsbd needs two latents at least; got 1.")
    on_axes = np.einsum("onz,ozk->onk", centred, vectors[:, :, :-3:-1])
    spread = np.sqrt(np.maximum(values[:, None, :-3:-1], 0.0))
    alive = spread > 1e-7 * size
    scaled = np.where(alive, on_axes / np.where(alive, spread, 1.0), 0.0) / np.sqrt(2)
    return scaled[..., 0] + 1j * scaled[..., 1]


# Largest number of pairs of neighbouring values for equivariance.
MOST_STEPS = 4_000


@register_score(
    family="geometry",
    takes_grid=True,
    halves=True,
    default=False,
    cost=Cost("20 ms"),
    answers="geometry",
    shapes=IN_ORDER,
)
def equivariance(
    latents: Any, factors: Any, *, train_share: float = TRAIN_SHARE, random_state: Any = None
) -> Score:
    """Equivariance: whether a step of a factor is one linear map of the latents.

    Pairs z, z' of points that differ by one step of factor j give the least-squares map
    ``z' ~ z M_j + b_j``. On test pairs, the explained share of the movement is

    ``1 - sum |z' - z M_j - b_j|^2 / sum |z' - z|^2``,

    at least zero, averaged over factors. A factor along which the latents are constant scores zero.
    The last step of a cyclic factor leads to its first value; labels without an order have no
    steps.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
    factors : array-like of shape (n, f), or FactorGrid
    train_share : float
    random_state : int, Generator or None

    Returns
    -------
    Score
        `per_factor` is NaN for factors left out; `details["n_steps"]` has the numbers of pairs.

    Rewards
    -------
    Codes in which a step of a factor moves every point by the same linear map: a shift along a
    line, a turn of a circle, in any plane and of all latents together.

    Cannot see
    ----------
    Whether different factors use different latents: a turned code scores the same. It needs rows
    that differ by one step of one factor.

    By chance
    ---------
    0.45 to 0.5: the mean is half as far from a random code as another of its points

    Source
    ------
    the linear action of Higgins et al. 2018, definition 4, by least squares

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
    """Return latents before and after a step of a factor, centred and scaled, both (m, z)."""
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
