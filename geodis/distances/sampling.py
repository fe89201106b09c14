"""Sampling of pairs and triplets of a grid, for similarity learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, to_numpy
from geodis.data.grids.grid import FactorGrid
from geodis.distances.factor_distances import FactorKinds, ground_truth, kinds_of_each
from geodis.distances.grid_distances import perceived_between, row_traversals
from geodis.distances.image_losses import LossLike

PairsBy = Literal["random", "factor", "differing"]
TripletsBy = Literal["scaled", "distance", "differing", "category", "perceived"]
PAIRS_BY: tuple[PairsBy, ...] = get_args(PairsBy)
TRIPLETS_BY: tuple[TripletsBy, ...] = get_args(TripletsBy)

# Largest number of rounds of rejection sampling.
MAX_ROUNDS = 1000


def sample_pairs(
    grid: FactorGrid,
    n: int,
    by: PairsBy = "random",
    *,
    factor: int | str | None = None,
    k: int | None = None,
    self_pairs: bool = False,
    random_state: Any = None,
) -> np.ndarray:
    """Draw pairs of points of a grid.

    Parameters
    ----------
    grid : FactorGrid
    n : int
    by : {"random", "factor", "differing"}
        Any two points; two points on a traversal, which differ only in one factor; two points that
        differ in exactly k factors.
    factor : int or str, optional
        For "factor"; by default drawn for each pair from factors with more than one value.
    k : int, optional
        For "differing"; by default drawn for each pair uniformly from 1 to f (A.2.3).
    self_pairs : bool
        For "random" and "factor": draw the two points independently, so that they may be equal.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of int64, shape (n, 2)
        Indices into the grid.

    Examples
    --------
    >>> grid = FactorGrid((4, 5, 6))
    >>> pairs = sample_pairs(grid, 100, by="differing", k=2, random_state=0)
    >>> a, b = grid.factors(pairs[:, 0]), grid.factors(pairs[:, 1])
    >>> sorted(set((a != b).sum(axis=1).tolist()))
    [2]
    """
    n = check_int(n, "n", low=1)
    check_choice(by, "by", PAIRS_BY)
    rng = check_random_state(random_state)
    if len(grid) < 2 and not self_pairs:
        raise InputError(f"Pairs need at least 2 points; got {len(grid)}.")
    if by == "random":
        return _any_two(len(grid), n, self_pairs, rng)
    if by == "factor":
        return _along_factors(grid, n, _factor_of_each(grid, n, factor, rng), self_pairs, rng)
    varied = [size > 1 for size in grid.sizes]
    if k is not None:
        check_int(k, "k", low=1, high=sum(varied))
    return _differing(grid, n, k, rng)


def sample_triplets(
    grid: FactorGrid,
    n: int,
    by: TripletsBy = "scaled",
    *,
    category: Any = None,
    loss: LossLike = "mse",
    among: Any = None,
    kinds: FactorKinds | None = None,
    strict: bool = True,
    random_state: Any = None,
) -> np.ndarray:
    """Draw triplets (anchor, positive, negative) ordered by a distance s (5.3).

    Three different points are drawn, and the last two are swapped unless
    ``s(anchor, positive) <= s(anchor, negative)``.

    Parameters
    ----------
    grid : FactorGrid
    n : int
    by : {"scaled", "distance", "differing", "category", "perceived"}
        s is the scaled ground-truth distance, compared exactly (5.11); the ground-truth distance
        (5.9); the number of factors that differ (5.6); whether the category differs (5.5); the
        perceived distance (5.24).
    category : int, str or array-like of shape (len(grid),)
        For "category": a factor, or the class of every point.
    loss : name or callable
        For "perceived", as for `perceived`.
    among : array-like of int, optional
        Draw from these indices only, such as a mini-batch (5.5.1).
    kinds : str or sequence of str, optional
        Of the factors in ground-truth distances, as for `ground_truth`; by default those of the
        grid. "numbers" treats all factors as numbers, as published.
    strict : bool
        Reject triplets with two equal distances.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of int64, shape (n, 3)

    Examples
    --------
    >>> grid = FactorGrid((8, 8))
    >>> a, p, n = grid.factors(sample_triplets(grid, 50, random_state=0).ravel()).reshape(-1, 3, 2
    ...     ).transpose(1, 0, 2)
    >>> bool((ground_truth(a, p) < ground_truth(a, n)).all())
    True
    """
    n = check_int(n, "n", low=1)
    check_choice(by, "by", TRIPLETS_BY)
    rng = check_random_state(random_state)
    pool = None if among is None else np.unique(grid.check_index(among))
    size = len(grid) if pool is None else len(pool)
    if size < 3:
        raise InputError(f"Triplets need at least 3 points; got {size}.")
    distance = _distance_by(grid, by, category, loss, kinds)

    def draw(count: int) -> np.ndarray:
        rows = _three_different(size, count, rng)
        rows = rows if pool is None else pool[rows]
        near, far = distance(rows[:, 0], rows[:, 1]), distance(rows[:, 0], rows[:, 2])
        rows[near > far] = rows[near > far][:, [0, 2, 1]]
        return rows[near != far] if strict else rows

    return _until(n, draw, f"triplets in which s, by {by!r}, tells positive from negative")


def _distance_by(
    grid: FactorGrid, by: TripletsBy, category: Any, loss: LossLike, kinds: FactorKinds | None
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the distance s(a, b) as a function of indices."""
    if by == "perceived":
        return lambda a, b: perceived_between(grid, a, b, loss)
    if by == "category":
        if category is None:
            raise InputError(
                "by='category' needs category: a factor, or the class of every point; got none."
            )
        classes = _classes(grid, category)
        return lambda a, b: classes(a) != classes(b)
    if by == "differing":
        return lambda a, b: (_values(grid, a) != _values(grid, b)).sum(axis=1)
    sizes = np.array(grid.sizes)
    each = kinds_of_each(grid.kinds if kinds is None else kinds, len(sizes))
    return lambda a, b: ground_truth(
        grid.factors(a),
        grid.factors(b),
        sizes if by == "scaled" else None,
        kinds=each,
        periods=np.array(grid.periods),
    )


def _values(grid: FactorGrid, index: np.ndarray) -> np.ndarray:
    """Return factors (n, f) of points, modulo their periods."""
    return grid.factors(index) % np.array(grid.periods)


def _classes(grid: FactorGrid, category: Any) -> Callable[[np.ndarray], np.ndarray]:
    if isinstance(category, str | int | np.integer):
        j = grid.factor_number(category if isinstance(category, str) else int(category))
        return lambda index: _values(grid, index)[:, j]
    labels = to_numpy(category, "category")
    if labels.shape != (len(grid),):
        raise InputError(
            f"category must be a factor or one class a point, shape ({len(grid)},); "
            f"got shape {labels.shape}."
        )
    return lambda index: labels[index]


def _any_two(size: int, n: int, self_pairs: bool, rng: np.random.Generator) -> np.ndarray:
    a = rng.integers(size, size=n)
    if self_pairs:
        return np.stack([a, rng.integers(size, size=n)], axis=1)
    b = rng.integers(size - 1, size=n)
    return np.stack([a, b + (b >= a)], axis=1)


def _three_different(size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw three different numbers below size, uniformly over ordered triples."""
    pair = _any_two(size, n, False, rng)
    third = rng.integers(size - 2, size=n)
    low, high = pair.min(axis=1), pair.max(axis=1)
    third += third >= low
    third += third >= high
    return np.column_stack([pair, third])


def _factor_of_each(
    grid: FactorGrid, n: int, factor: int | str | None, rng: np.random.Generator
) -> np.ndarray:
    if factor is not None:
        j = grid.factor_number(factor)
        if grid.sizes[j] < 2:
            raise InputError(f"Pairs along {grid.names[j]} need two values of it; got 1.")
        return np.full(n, j)
    varied = np.flatnonzero(np.array(grid.sizes) > 1)
    if not len(varied):
        raise InputError("Pairs along a factor need a factor with two values; got none.")
    return rng.choice(varied, n)


def _along_factors(
    grid: FactorGrid, n: int, factor: np.ndarray, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    if not grid.complete:
        return _along_rows(grid, factor, self_pairs, rng)
    a = rng.integers(len(grid), size=n)
    moved = grid.factors(a)
    rows = np.arange(n)
    sizes, here = np.array(grid.sizes)[factor], moved[rows, factor]
    step = rng.integers(0 if self_pairs else 1, sizes)
    moved[rows, factor] = (here + step) % sizes
    return np.stack([a, grid.index(moved)], axis=1)


def _along_rows(
    grid: FactorGrid, factor: np.ndarray, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """Draw pairs on traversals of an incomplete grid."""
    pairs = np.empty((len(factor), 2), np.int64)
    rows = grid.factors(np.arange(len(grid)))
    for j in np.unique(factor):
        own = np.flatnonzero(factor == j)
        traversals = row_traversals(rows, j)
        if not len(traversals):
            raise InputError(
                f"Pairs along {grid.names[j]} need rows that differ in it alone; got none."
            )
        place = rng.integers(len(traversals.index), size=len(own))
        group = np.searchsorted(traversals.start, place, side="right") - 1
        begin, length = traversals.start[group], traversals.lengths[group]
        step = rng.integers(0 if self_pairs else 1, length)
        other = begin + (place - begin + step) % length
        pairs[own] = np.stack([traversals.index[place], traversals.index[other]], axis=1)
    return pairs


def _differing(grid: FactorGrid, n: int, k: int | None, rng: np.random.Generator) -> np.ndarray:
    varied = np.flatnonzero(np.array(grid.sizes) > 1)
    if not len(varied):
        raise InputError("Pairs that differ need a factor with two values; got none.")
    wanted = np.full(n, k) if k is not None else rng.integers(1, len(varied) + 1, size=n)
    if grid.complete:
        a = rng.integers(len(grid), size=n)
        moved = grid.factors(a)
        # The k factors with the smallest random numbers change.
        order = rng.random((n, len(varied))).argsort(axis=1).argsort(axis=1)
        change = order < wanted[:, None]
        sizes = np.array(grid.sizes)[varied]
        step = rng.integers(1, np.broadcast_to(sizes, change.shape))
        moved[:, varied] = np.where(change, (moved[:, varied] + step) % sizes, moved[:, varied])
        return np.stack([a, grid.index(moved)], axis=1)
    pairs = np.empty((n, 2), np.int64)
    for value in np.unique(wanted):
        own = np.flatnonzero(wanted == value)

        def draw(count: int, value: int = int(value)) -> np.ndarray:
            drawn = _any_two(len(grid), count, False, rng)
            a, b = grid.factors(drawn[:, 0]), grid.factors(drawn[:, 1])
            return drawn[(a != b).sum(axis=1) == value]

        pairs[own] = _until(len(own), draw, f"pairs that differ in {value} factors")
    return pairs


def _until(n: int, draw: Callable[[int], np.ndarray], what: str) -> np.ndarray:
    """Draw by rejection until there are n rows."""
    rows: list[np.ndarray] = []
    missing = n
    for _ in range(MAX_ROUNDS):
        rows.append(draw(max(2 * missing, 64)))
        missing = n - sum(map(len, rows))
        if missing <= 0:
            return np.concatenate(rows)[:n]
    raise InputError(
        f"{n} {what} were asked for; got {n - missing} in {MAX_ROUNDS} rounds of draws."
    )
