"""Rows for a fit: reading, even sampling, near copies and outlier detection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from geodis.base.check import InputError, check_random_state, to_numpy
from geodis.base.jobs import blocks
from geodis.base.row_source import check_sample, even_rows, read_rows, row_source
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.exact_search import BLOCK_ROWS
from geodis.manifold.local.neighbors import Neighbors
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.preparation.row_measure import RowMeasure
from geodis.manifold.preparation.sampling_checks import checked_times, numbered_groups, of_rows
from geodis.manifold.split_result import Settings, Split

# Most rows with PCA tangents, whose eigenproblem has every row; this many take about a gigabyte.
MOST_WHOLE = 50_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are ready to be fitted.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The prepared rows, or coordinates scaled from distances.
    measure : RowMeasure
    groups, times : ndarray of shape (n,), or None
        Groups are numbered.
    sample_rows : ndarray of int, shape (n,), or None
        The sampled rows.
    graph : graph or None
        Known neighbours.
    doubts : tuple of Doubt
        Doubts about the points.
    notes : tuple of Doubt
        Rows that were left out.
    given : array-like of shape (n, d_0)
        The rows before preparation.
    """

    points: np.ndarray
    measure: RowMeasure = field(default_factory=RowMeasure)
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    sample_rows: np.ndarray | None = None
    graph: Any = None
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[Doubt, ...] = ()
    given: Any = None

    @property
    def n_columns(self) -> int:
        """Number of columns before preparation."""
        return int((self.points if self.given is None else to_numpy(self.given)).shape[1])

    @property
    def of_bytes(self) -> bool:
        """Whether the rows are bytes, such as pixels."""
        return getattr(self.given, "dtype", None) == np.uint8


def rows_to_fit(
    X: Any,
    measure: RowMeasure,
    *,
    graph: Any = None,
    groups: Any = None,
    times: Any = None,
    sample: int | None = None,
    settings: Settings,
) -> Rows:
    """Read and check the input of `GeoManCER.fit`, which documents the parameters."""
    sample_rows: np.ndarray | None = None
    notes: tuple[Doubt, ...] = ()
    if sample is not None:
        if measure.by_distances:
            raise InputError("Distances cannot be sampled: leave sample out.")
        rng = check_random_state(settings.random_state)
        taken = sampled_points(X, sample, rng, graph=graph, tangents=settings.tangents)
        X, sample_rows = taken.points, taken.rows
        groups, times = (of_rows(values, sample_rows) for values in (groups, times))
        notes = taken.doubts
    points, doubts = measure.points_of(X)
    groups, times = numbered_groups(groups, len(points)), checked_times(times, len(points))
    return Rows(points, measure, groups, times, sample_rows, graph, doubts, notes, X)


@dataclass(frozen=True)
class SampledPoints:
    """An even sample of rows.

    Attributes
    ----------
    points : ndarray of shape (s, d)
        Finite, in float64.
    rows : ndarray of int, shape (s,)
        Indices of the sampled rows, ascending.
    n_dropped : int
        Sampled rows with NaN or infinity, which were left out.
    """

    points: np.ndarray
    rows: np.ndarray
    n_dropped: int

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The rows that were left out, if any."""
        if not self.n_dropped:
            return ()
        total = len(self.rows) + self.n_dropped
        return (doubt("incomplete-sample", "rows", dropped=self.n_dropped, total=total),)


def sampled_points(
    X: Any,
    sample: int,
    rng: np.random.Generator,
    *,
    graph: Any = None,
    tangents: TangentMethod = "curved",
    more: np.ndarray | None = None,
    done: Callable[[float], None] | None = None,
) -> SampledPoints:
    """Read an even sample in one pass; it does not depend on how rows are stored.

    Parameters
    ----------
    X : anything with shape (n, d) and slices of rows
    sample : int
        Number of rows, or all if there are fewer.
    rng : Generator
    graph : graph or None
        Must be None, since its rows are those of all points.
    tangents : {"curved", "pca"}
    more : ndarray of int, optional
        Additional rows to read.
    done : callable, optional
        Called with the share of rows read so far.

    Returns
    -------
    SampledPoints

    Examples
    --------
    >>> points = np.arange(20.0).reshape(10, 2)
    >>> sampled_points(points, 5, np.random.default_rng(0)).rows // 2
    array([0, 1, 2, 3, 4])
    """
    source = row_source(X)
    count = check_sample(sample, source)
    if graph is not None:
        raise InputError("A graph has a row for every point, and a sample does not; got both.")
    if tangents == "pca" and count > MOST_WHOLE:
        raise InputError(
            "tangents='pca' solves one eigenproblem on all rows, so a sample must have at most "
            f"{MOST_WHOLE:,}; got {count:,}: use fewer rows, or tangents='curved'."
        )
    rows = even_rows(source.shape[0], count, rng)
    if more is not None:
        rows = np.union1d(rows, more)
    points = np.asarray(read_rows(source, rows, done), dtype=float)
    finite = np.isfinite(points).all(axis=1)
    if finite.sum() < 2:
        raise InputError(
            f"X must have finite rows; got NaN or infinity in {(~finite).sum():,} of "
            f"{len(rows):,} sampled rows."
        )
    if finite.all():
        return SampledPoints(points, rows, 0)
    return SampledPoints(points[finite], rows[finite], int((~finite).sum()))


def whole_problem_doubts(split: Split, n: int) -> tuple[Doubt, ...]:
    """Return a doubt if the eigenproblem was solved on all of a large sample.

    This happens if the factors share the ambient space.
    """
    if len(split.dims) == 1 or split.refined == "ambient" or len(split.rows) < n:
        return ()
    if n <= MOST_WHOLE // 5:
        return ()
    return (doubt("whole-problem", "split", n=n),)


# Near copies and outliers distort the geometry: copies with a little jitter look like points or
# lines, and a few far points bend every fit near them.

# Neighbours inspected: enough to see beyond a few copies.
LOOKED_AT = 20
# From the last copy to the next distinct point the distance jumps by more than this factor. By
# chance this happens between the first two neighbours at one point in thirty of a curve and one in
# a thousand of a surface; copies are accepted if ten times as many points have a jump.
COPY_JUMP = 30.0
COPIED_SHARE = 1 / 3
LEAST_COPIED = 30
# The tenth neighbour of an outlier is farther than FAR_FROM_ALL times the 90 % quantile over all
# points, or FAR_FROM_NEAR times the median over its own neighbours. This ratio is at most 2.7 in
# exponential and Gaussian samples of two dimensions and up, and 1.3 within a manifold.
FAR_FROM_ALL, FAR_FROM_NEAR, FEW = 4.0, 2.75, 10
LEAST_POINTS = 100


def near_copies(near: Neighbors) -> np.ndarray | None:
    """Find points that are repeated with jitter; None if there are few.

    A point has copies if the distances to its first twenty neighbours jump by a factor above 30. If
    at least a third of all points have such a jump, points closer than the median geometric middle
    of the jumps are merged.

    Parameters
    ----------
    near : Neighbors
        The nearest other points, a dozen or more of each.

    Returns
    -------
    ndarray of int, shape (n,), or None
        For each point the first of its copies.

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> rows = np.random.default_rng(0).uniform(size=(100, 2))
    >>> near_copies(nearest_neighbors(rows, 12)) is None
    True
    >>> twice = np.repeat(rows, 2, axis=0)
    >>> twice[1::2] += 1e-9
    >>> near_copies(nearest_neighbors(twice, 12))[:6].tolist()
    [0, 0, 2, 2, 4, 4]
    """
    distances = near.distances[:, :LOOKED_AT]
    n, count = distances.shape
    if n < LEAST_COPIED or count < 3:
        return None
    jumps = [_jumps(distances[block]).max(axis=1) > COPY_JUMP for block in blocks(n, BLOCK_ROWS)]
    copied = np.flatnonzero(np.concatenate(jumps))
    if len(copied) / n < COPIED_SHARE:
        return None
    last = _jumps(distances[copied]).argmax(axis=1)
    middle = np.sqrt(distances[copied, last] * distances[copied, last + 1])
    copy = distances < np.median(middle)
    row = np.repeat(np.arange(n), copy.sum(axis=1))
    links = sparse.csr_array(
        (np.ones(len(row)), (row, near.indices[:, :LOOKED_AT][copy])), shape=(n, n)
    )
    label = connected_components(links, directed=False)[1]
    first = np.full(label.max() + 1, n)
    np.minimum.at(first, label, np.arange(n))
    return first[label]


def _jumps(distances: np.ndarray) -> np.ndarray:
    """Return the ratio of each distance in a row to the one before."""
    jump: np.ndarray = distances[:, 1:] / np.maximum(distances[:, :-1], np.finfo(float).tiny)
    return jump


def outlying(near: Neighbors) -> np.ndarray:
    """Detect outliers, points far from all but a few others, shape (n,).

    Parameters
    ----------
    near : Neighbors
        The nearest other points, ten or more of each.

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> rows = np.random.default_rng(0).uniform(size=(300, 2))
    >>> rows[7] = 5.0
    >>> np.flatnonzero(outlying(nearest_neighbors(rows, 10))).tolist()
    [7]
    """
    n, count = near.distances.shape
    if n < LEAST_POINTS or count < FEW:
        return np.zeros(n, bool)
    reach = near.distances[:, FEW - 1]
    around = np.median(reach[near.indices[:, :FEW]], axis=1)
    return (reach > FAR_FROM_ALL * np.quantile(reach, 0.9)) | (reach > FAR_FROM_NEAR * around)
