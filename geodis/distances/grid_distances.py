"""Distances between points of a grid, and traversals of a grid or a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_points, rounding_of
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.data.grids.observed import ObservedGrid
from geodis.distances.correlations import rounding_of_latent
from geodis.distances.factor_distances import (
    BUDGET,
    LATENT_KINDS,
    FactorKinds,
    LatentKind,
    ground_truth,
    kinds_of_each,
    latent,
)
from geodis.distances.image_losses import Loss, LossLike, resolve_loss

DistanceSource = Literal["ground truth", "perceived", "latent"]
GROUND_TRUTH: Final = "ground truth"
PERCEIVED: Final = "perceived"
LATENT: Final = "latent"
SOURCES: tuple[DistanceSource, ...] = (GROUND_TRUTH, PERCEIVED, LATENT)

LATENT_BATCH = 2**16


class GridDistances:
    """Ground-truth, perceived and latent distances between points of a grid.

    Parameters
    ----------
    grid : FactorGrid
    code : array-like of shape (len(grid), z), or callable, optional
        Latents by index, or an encoder of images; required for latent distances.
    loss : name, callable or None
        For perceived distances, which also need a grid with images; None leaves them out.
    kind : str
        Kind of latent distances, as for `latent`.
    scaled : bool
        Scale every factor to [0, 1] in ground-truth distances (5.11).
    kinds : str or sequence of str, optional
        Of the factors in ground-truth distances, as for `ground_truth`; by default those of the
        grid. "numbers" treats all factors as numbers, as in published tables.

    Attributes
    ----------
    sources : tuple of str
        Available sources among "ground truth", "perceived" and "latent".

    Examples
    --------
    >>> grid = FactorGrid((3, 3))
    >>> distances = GridDistances(grid, code=grid.factors(range(9)) * 2.0)
    >>> distances.sources
    ('ground truth', 'latent')
    >>> distances.between([0, 0], [1, 8], "latent")
    array([2., 8.])
    """

    def __init__(
        self,
        grid: FactorGrid,
        code: Any = None,
        loss: LossLike | None = "mse",
        *,
        kind: LatentKind = "l1",
        scaled: bool = False,
        kinds: FactorKinds | None = None,
    ) -> None:
        if not isinstance(grid, FactorGrid):
            raise InputError(
                f"grid must be a FactorGrid, such as FactorGrid.from_arrays(images, factors); "
                f"got {type(grid).__name__}."
            )
        self.grid, self.scaled = grid, scaled
        self.kinds = kinds_of_each(grid.kinds if kinds is None else kinds, len(grid.sizes))
        self.kind = check_choice(kind, "kind", LATENT_KINDS)
        self.loss = None if loss is None or grid.image_shape is None else resolve_loss(loss)
        self._latents = None if code is None else latents_of(grid, code)
        self._rounding = np.zeros(1)
        there = (True, self.loss is not None, code is not None)
        self.sources = tuple(name for name, has in zip(SOURCES, there, strict=True) if has)

    @property
    def symmetric(self) -> bool:
        """Whether the distances of all sources are symmetric."""
        return (self.loss is None or self.loss.symmetric) and self.kind != "kl"

    def between(self, a: Any, b: Any, source: DistanceSource) -> np.ndarray:
        """Return distances (n,) of a source between indices a and b (n,)."""
        check_choice(source, "source", self.sources)
        a, b = self.grid.check_index(a), self.grid.check_index(b)
        if source == GROUND_TRUTH:
            return ground_truth(
                self.grid.factors(a),
                self.grid.factors(b),
                np.array(self.grid.sizes) if self.scaled else None,
                kinds=self.kinds,
                periods=np.array(self.grid.periods),
            )
        if source == PERCEIVED:
            assert self.loss is not None
            return _perceived_between(self.grid, a, b, self.loss)
        return self._latent(a, b)

    def rounding(self, source: DistanceSource) -> float:
        """Return the largest difference of equal distances, beyond the precision of their dtype.

        For latents it depends on the dtype and size of the latents used by `between` so far.
        """
        check_choice(source, "source", self.sources)
        return rounding_of_latent(self._rounding, self.kind) if source == LATENT else 0.0

    def _latent(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert self._latents is not None
        if not len(a):
            return np.zeros(0)
        batches = []
        for start in range(0, len(a), LATENT_BATCH):
            rows = slice(start, start + LATENT_BATCH)
            index, place = np.unique(np.concatenate([a[rows], b[rows]]), return_inverse=True)
            latents = self._latents(index)
            self._rounding = np.maximum(self._rounding, rounding_of(latents))
            left, right = np.split(place.reshape(-1), 2)
            batches.append(latent(latents[left], latents[right], self.kind))
        return np.concatenate(batches)


def code_of_rows(grid: FactorGrid, latents: Any) -> np.ndarray:
    """Reorder latents from the order of the arrays of a grid to the order of its index.

    The order of a complete grid differs from that of the rows that it was made from.

    Parameters
    ----------
    grid : FactorGrid
        Made by `FactorGrid.from_arrays`; for other grids the latents are returned unchanged.
    latents : array-like of shape (n, z)

    Returns
    -------
    ndarray of shape (n, z)

    Examples
    --------
    >>> grid = FactorGrid.from_arrays(None, [[2], [0], [1]])
    >>> code_of_rows(grid, [[20.0], [0.0], [10.0]]).ravel()
    array([ 0., 10., 20.])
    """
    rows = check_points(latents, name="latents", min_points=1, dtype=None)
    if len(rows) != len(grid):
        raise InputError(
            f"latents must have a row for each of {len(grid)} points; got {len(rows)}."
        )
    return rows[grid.row_order] if isinstance(grid, ObservedGrid) and grid.complete else rows


def perceived_between(grid: FactorGrid, a: Any, b: Any, loss: LossLike = "mse") -> np.ndarray:
    """Perceived distances between images of a grid, by index, in bounded memory.

    Every image is rendered once per batch. It is faster if pairs that share images are adjacent.

    Parameters
    ----------
    grid : FactorGrid
    a, b : array-like of int, shape (n,)
    loss
        As for `perceived`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> images = np.array([0, 51, 255], np.uint8).reshape(3, 1, 1)
    >>> grid = FactorGrid.from_arrays(images, [[0], [1], [2]])
    >>> perceived_between(grid, [0, 0], [1, 2])
    array([0.04, 1.  ])
    """
    a, b = grid.check_index(a), grid.check_index(b)
    if len(a) != len(b):
        raise InputError(f"a and b must be as long as each other; got {len(a)} and {len(b)}.")
    if grid.image_shape is None:
        raise InputError("Perceived distances need images; got a grid of factors alone.")
    return _perceived_between(grid, a, b, resolve_loss(loss))


def _perceived_between(grid: FactorGrid, a: np.ndarray, b: np.ndarray, loss: Loss) -> np.ndarray:
    assert grid.image_shape is not None
    if not len(a):
        return np.zeros(0)
    most = max(64, BUDGET // (loss.footprint * int(np.prod(grid.image_shape))))
    batches = []
    start = 0
    while start < len(a):
        stop = _end_of_batch(a, b, start, most)
        rows = slice(start, stop)
        index, place = np.unique(np.concatenate([a[rows], b[rows]]), return_inverse=True)
        images = loss.prepare(grid.images(index, "auto"))  # floats are not rounded to bytes
        left, right = np.split(place.reshape(-1), 2)
        batches.append(loss.between(images, images, left, right))
        start = stop
    return np.concatenate(batches)


def _end_of_batch(a: np.ndarray, b: np.ndarray, start: int, most: int) -> int:
    """Return the end of a batch of pairs with about `most` different images."""
    stop = start + most // 2  # at most two images per pair
    while stop < len(a) and stop - start < 64 * most:
        longer = min(len(a), start + 2 * (stop - start))
        if len(np.unique(np.concatenate([a[start:longer], b[start:longer]]))) > most:
            break
        stop = longer
    return min(stop, len(a))


# Traversals of a grid or among the rows of a sample, and pairs within them.

# Fewest sampled traversals, to cover the values of the other factors.
MIN_SAMPLED = 1024


@dataclass(frozen=True)
class Traversals:
    """Sets of points that differ only in one factor (3.6), concatenated.

    Attributes
    ----------
    index : ndarray of int64, shape (total,)
        Points, sorted by the factor within each traversal.
    start : ndarray of int64, shape (t + 1,)
        Traversal i is ``index[start[i]:start[i + 1]]``.
    n_all : int
        Number of all traversals, from which these t were drawn.
    """

    index: np.ndarray
    start: np.ndarray
    n_all: int

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Number of points in each traversal."""
        return np.diff(self.start)

    def by_length(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Group traversals by length; return their numbers and points (t_l, l)."""
        sets = []
        for length in np.unique(self.lengths):
            which = np.flatnonzero(self.lengths == length)
            sets.append((which, self.index[self.start[which, None] + np.arange(length)]))
        return sets

    def draw(self, n: int | None, rng: np.random.Generator) -> Traversals:
        """Draw n of the traversals without replacement, or return all if there are fewer."""
        if n is None or n >= len(self):
            return self
        which = np.sort(rng.choice(len(self), n, replace=False))
        lengths = self.lengths[which]
        start = np.concatenate([[0], np.cumsum(lengths)])
        place = np.repeat(self.start[which] - start[:-1], lengths) + np.arange(start[-1])
        return Traversals(self.index[place], start, self.n_all)


def grid_traversals(
    grid: FactorGrid, factor: int, n: int | None, rng: np.random.Generator, *, min_values: int = 2
) -> Traversals:
    """Return traversals of a grid along a factor: n at random, or all.

    In an incomplete grid, traversals must have at least `min_values` values of the factor.

    Examples
    --------
    >>> grid_traversals(FactorGrid((2, 3)), 0, None, np.random.default_rng()).index.tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if not grid.complete:
        rows = row_traversals(grid.factors(np.arange(len(grid))), factor, min_values)
        return rows.draw(n, rng)
    size = grid.sizes[factor]
    n_all = len(grid) // size
    if n is None or n >= n_all:
        chosen = np.arange(n_all)
    else:
        chosen = np.sort(rng.choice(n_all, n, replace=False, shuffle=False))
    sizes = [*grid.sizes]
    sizes[factor] = 1
    first = np.stack(np.unravel_index(chosen, sizes), axis=1)
    index = grid.traversal(factor, grid.index(first))
    start = np.arange(len(chosen) + 1) * size
    return Traversals(index.ravel(), start, n_all)


def row_traversals(factors: np.ndarray, factor: int, min_values: int = 2) -> Traversals:
    """Find rows that agree in all factors but one, with several values of that factor.

    Parameters
    ----------
    factors : ndarray of shape (n, f)
    factor : int
    min_values : int
        Fewest distinct values of the factor in a traversal.

    Examples
    --------
    >>> rows = row_traversals(np.array([[0, 1], [1, 0], [0, 0], [1, 5], [2, 0]]), factor=0)
    >>> rows.index.tolist(), rows.start.tolist()
    ([2, 1, 4], [0, 3])
    """
    others = np.delete(factors, factor, axis=1)
    order = np.lexsort((factors[:, factor], *others.T))
    others, values = others[order], factors[order, factor]
    new = np.ones(len(order), bool)
    new[1:] = (others[1:] != others[:-1]).any(axis=1)
    group = np.cumsum(new) - 1
    step = np.ones(len(order), bool)
    step[1:] = new[1:] | (values[1:] != values[:-1])
    kept = np.bincount(group, weights=step) >= min_values
    lengths = np.bincount(group)[kept]
    index = order[kept[group]]
    return Traversals(index, np.concatenate([[0], np.cumsum(lengths)]), len(lengths))


@dataclass(frozen=True)
class TraversalPairs:
    """Pairs of points on the same traversal.

    Attributes
    ----------
    a, b : ndarray of int64, shape (n,)
    group : ndarray of int64, shape (n,)
        The traversal of each pair.
    exact : bool
        Whether these are all pairs, and not a random sample.
    """

    a: np.ndarray
    b: np.ndarray
    group: np.ndarray
    exact: bool


def traversal_pairs(
    traversals: Traversals,
    n_pairs: int | None,
    rng: np.random.Generator,
    *,
    self_pairs: bool = False,
    ordered: bool = False,
) -> TraversalPairs:
    """Draw about n_pairs pairs, distributed evenly over traversals; all pairs if there are fewer.

    Parameters
    ----------
    n_pairs : int or None
        None returns all pairs.
    self_pairs : bool
        Draw the two points of a pair independently, so that they may be equal.
    ordered : bool
        Include (a, b) and (b, a) if all pairs are returned.
    """
    share = None if n_pairs is None else -(-n_pairs // max(len(traversals), 1))
    sides, groups, exact = [], [], len(traversals) == traversals.n_all
    for which, index in traversals.by_length():
        t, length = index.shape
        if self_pairs or ordered:
            first, second = np.divmod(np.arange(length**2), length)
            if not self_pairs:
                first, second = first[first != second], second[first != second]
        else:
            first, second = np.triu_indices(length, 1)
        if share is None or share >= len(first):
            a, b = index[:, first], index[:, second]
        else:
            exact = False
            draw = rng.integers(length, size=(t, share))
            other = rng.integers(length - (not self_pairs), size=(t, share))
            if not self_pairs:
                other += other >= draw
            a = np.take_along_axis(index, draw, axis=1)
            b = np.take_along_axis(index, other, axis=1)
        sides.append((a.ravel(), b.ravel()))
        groups.append(np.repeat(which, a.shape[1]))
    if not sides:
        none = np.zeros(0, np.int64)
        return TraversalPairs(none, none, none, exact)
    a, b = (np.concatenate([side[k] for side in sides]) for k in (0, 1))
    return TraversalPairs(a, b, np.concatenate(groups), exact)


def traversals_for(
    grid: FactorGrid, factor: int, n_pairs: int, rng: np.random.Generator, *, ordered: bool = False
) -> Traversals:
    """Draw enough traversals for n_pairs pairs, and at least `MIN_SAMPLED`."""
    size = grid.sizes[factor]
    pairs_each = size**2 if ordered else max(size * (size - 1) // 2, 1)
    return grid_traversals(grid, factor, max(MIN_SAMPLED, -(-n_pairs // pairs_each)), rng)
