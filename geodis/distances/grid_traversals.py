"""Traversals of a grid or among the rows of a sample, and pairs within them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.data.grids.grid import FactorGrid

# Fewer traversals than this say little about the other factors, however many pairs they have.
MIN_SAMPLED = 1024


@dataclass(frozen=True)
class Traversals:
    """Sets of points that differ in one factor alone (3.6), one set after the other.

    Attributes
    ----------
    index : ndarray of int64, shape (total,)
        Points, in order of the factor within each traversal.
    start : ndarray of int64, shape (t + 1,)
        Traversal i is ``index[start[i]:start[i + 1]]``.
    n_all : int
        How many traversals there are, of which these t were drawn.
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
        """Which traversals have the same length, and their points (t_l, l)."""
        sets = []
        for length in np.unique(self.lengths):
            which = np.flatnonzero(self.lengths == length)
            sets.append((which, self.index[self.start[which, None] + np.arange(length)]))
        return sets

    def draw(self, n: int | None, rng: np.random.Generator) -> Traversals:
        """Draw n of the traversals without replacement, or take all where there are no more."""
        if n is None or n >= len(self):
            return self
        which = np.sort(rng.choice(len(self), n, replace=False))
        lengths = self.lengths[which]
        start = np.concatenate([[0], np.cumsum(lengths)])
        place = np.repeat(self.start[which] - start[:-1], lengths) + np.arange(start[-1])
        return Traversals(self.index[place], start, self.n_all)


def grid_traversals(
    grid: FactorGrid,
    factor: int,
    n: int | None,
    rng: np.random.Generator,
    *,
    min_values: int = 2,
) -> Traversals:
    """Traversals of a grid along a factor: n at random, or all.

    Where combinations are missing, a traversal has at least `min_values` values of the factor.

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
    """Rows that agree in all factors but one, where that one takes several values.

    Parameters
    ----------
    factors : ndarray of shape (n, f)
    factor : int
    min_values : int
        Fewest different values of the factor that make a traversal.

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
        Whether these are all pairs there are, rather than some drawn at random.
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
    """About n_pairs pairs, spread evenly over the traversals; all pairs where those are fewer.

    Parameters
    ----------
    n_pairs : int or None
        None takes all pairs.
    self_pairs : bool
        Draw the two points of a pair independently, so that they may be the same one.
    ordered : bool
        Count (a, b) and (b, a) where all pairs are taken.
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
    grid: FactorGrid,
    factor: int,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    ordered: bool = False,
) -> Traversals:
    """As many traversals as n_pairs pairs need, but never only a few long ones."""
    size = grid.sizes[factor]
    pairs_each = size**2 if ordered else max(size * (size - 1) // 2, 1)
    return grid_traversals(grid, factor, max(MIN_SAMPLED, -(-n_pairs // pairs_each)), rng)
