"""Tangent fits repeated at a few points, from a part of the other points.

Most of the time of a whole fit goes into deciding which direction in a tangent space belongs to
which factor, and this hardly errs. The tangent fits do err, and they can be repeated at a few
points alone, from any part of the points and with neighbourhoods of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from geodis.manifold.fitted import Fit
from geodis.manifold.local.batched_fits import quadratic_pairs
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.tangents import neighbors_for_tangents
from geodis.manifold.new_points import axes_at
from geodis.manifold.split_result import Split, largest_first

# At most one in so many points is chosen: the others must stand for all of them.
MOST_CHOSEN = 5
# With fewer chosen points their errors say too little about all points.
FEWEST_CHOSEN = 10


@dataclass(frozen=True)
class Leaf:
    """A part of a split that was split no further: where its tangents are fitted.

    Attributes
    ----------
    split : Split
    basis : ndarray of shape (d_l, d)
        Orthonormal rows: its ambient subspace.
    rows : ndarray of int
        Its rows among the axes of the whole split.
    """

    split: Split
    basis: np.ndarray
    rows: np.ndarray

    @property
    def dim(self) -> int:
        """Its intrinsic dimension."""
        return len(self.rows)

    @property
    def fills_its_space(self) -> bool:
        """Whether every direction is tangent."""
        return len(self.basis) == self.dim

    @property
    def fewest(self) -> int:
        """Neighbours below which its tangent fits are no longer sound."""
        split = self.split
        fewest = neighbors_for_tangents(self.dim)
        if split.refined == "tangents":
            fewest = 2 * (1 + self.dim + len(quadratic_pairs(self.dim, split.dims)[0]))
        return min(split.tangent_neighbors, fewest)


def leaves(split: Split, d: int) -> list[Leaf]:
    """The innermost parts of a split of points in d columns.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> from geodis.manifold.refine import split_factors
    >>> split = split_factors(product_manifold("S^2 x S^1", 500, random_state=0).points, 3)
    >>> [(leaf.basis.shape, leaf.rows.tolist()) for leaf in leaves(split, 5)]
    [((3, 5), [0, 1]), ((2, 5), [2])]
    """
    if not split.parts:
        return [Leaf(split, np.eye(d), np.arange(sum(split.dims)))]
    # Where each factor of the parts, one part after the other, has its rows in the whole.
    dims = [dim for part in split.parts for dim in part.dims]
    rows_of, stop = {}, 0
    for factor in largest_first(dims):
        rows_of[int(factor)] = np.arange(stop, stop := stop + dims[factor])
    found, first = [], 0
    for part, basis in zip(split.parts, split.bases, strict=True):
        rows = np.concatenate([rows_of[first + own] for own in range(len(part.dims))])
        first += len(part.dims)
        found += [
            Leaf(leaf.split, leaf.basis @ basis, rows[leaf.rows])
            for leaf in leaves(part, len(basis))
        ]
    return found


class LocalAxes:
    """The fit, ready to be repeated at a few of its points.

    Only the largest piece of the graph counts, and copies of a row count once.

    Parameters
    ----------
    fit : Fit
    n_points : int
        Points at which it will be repeated, at most.
    rng : Generator
    n_jobs : int

    Attributes
    ----------
    points : ndarray of shape (p, d)
        Distinct points of the largest piece, in the varying directions.
    rows : ndarray of int, shape (p,)
        Their rows in the fit.
    chosen : ndarray of int, shape (e,)
        Where, among them, the fit is repeated.
    others : ndarray of int, shape (p - e,)
        From what it is repeated: no point has a say in its own repetition.
    axes : ndarray of shape (e, k, d)
        Those of the fit, at the chosen points.
    dims : tuple of int
        Of the factors.
    leaves : list of Leaf
    leaf_of : list of int
        The leaf that each factor lies in; the first, where a flat one lies in several.
    """

    def __init__(self, fit: Fit, n_points: int, rng: np.random.Generator, n_jobs: int = 1) -> None:
        split, flat = fit.split, fit.flat
        rows = np.flatnonzero(fit.with_axes & (fit.piece == fit.piece[split.rows[0]]))
        self.rows = rows[np.sort(distinct_rows(fit.places[rows])[1])]
        places = fit.places[self.rows]
        self.points = places - places.mean(axis=0)  # sums of them must not cancel
        p, d = self.points.shape
        count = min(n_points, p // MOST_CHOSEN)
        self.chosen = np.sort(rng.choice(p, count, replace=False))
        self.others = np.setdiff1d(np.arange(p), self.chosen)
        self.axes = flat.axes[self.rows[self.chosen]]
        self.dims = flat.dims
        self.leaves = leaves(split, d)
        self.leaf_of = self._owners(fit)
        self._split, self._flat, self._method, self._n_jobs = (
            split,
            flat,
            fit.settings.tangents,
            n_jobs,
        )
        self._split_axes = split.axes[self.rows]

    def _owners(self, fit: Fit) -> list[int]:
        """The leaf of each factor's first row."""
        owner = np.empty(fit.dim, dtype=int)
        for number, leaf in enumerate(self.leaves):
            owner[leaf.rows] = number
        own = fit.flat.own
        if own.any():
            owner = np.concatenate([owner[~own], owner[own]])[fit.flat.order]
        return [int(owner[first]) for first in np.cumsum((0, *self.dims[:-1]))]

    def lacking(self) -> tuple[str, ...]:
        """Why the fit cannot be repeated on halves; empty if it can."""
        half = len(self.others) // 2
        needed = max((2 * leaf.fewest + 1 for leaf in self.leaves), default=0)
        if len(self.chosen) >= FEWEST_CHOSEN and half >= needed:
            return ()
        return (
            f"Errors of the directions were not estimated: halves of {len(self.points):,} points "
            f"are too few for tangent fits of twice {needed // 2} neighbours.",
        )

    def by_factor(self, axes: np.ndarray) -> list[np.ndarray]:
        """Axes (e, k, d) as those of every factor, (e, k_j, d)."""
        return np.split(axes, np.cumsum(self.dims)[:-1], axis=1)

    def count(self, leaf: Leaf, share: float, growth: float = 1.0) -> int:
        """Neighbours of a tangent fit among a share of the points: the same radius if it can be.

        Below the fewest that a sound fit takes, the radius grows instead.
        """
        same = max(round(leaf.split.tangent_neighbors * share), leaf.fewest)
        return int(min(growth * same, share * len(self.points) - 1))

    def from_part(
        self, part: np.ndarray, growth: float = 1.0, targets: np.ndarray | None = None
    ) -> np.ndarray:
        """Axes at the chosen points, or moved to as many targets, from a part of the others.

        Parameters
        ----------
        part : ndarray of int
            Rows of `points`.
        growth : float
            By how much more neighbours than `count` gives.
        targets : ndarray of shape (e, d), optional

        Returns
        -------
        ndarray of shape (e, k, d)
        """
        share = len(part) / len(self.points)
        counts = [self.count(leaf, share, growth) for leaf in self.leaves]
        axes = axes_at(
            _resized(self._split, iter(counts)),
            self.points[part],
            self._split_axes[part],
            self.points[self.chosen] if targets is None else targets,
            method=self._method,
            n_jobs=self._n_jobs,
        )
        return self._flat.axes_at(axes, self.axes)


def _resized(split: Split, counts: Iterator[int]) -> Split:
    """A split whose innermost parts use so many neighbours, in the order of `leaves`."""
    if not split.parts:
        return replace(split, tangent_neighbors=next(counts))
    return replace(split, parts=tuple(_resized(part, counts) for part in split.parts))
