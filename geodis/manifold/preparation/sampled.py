"""Rows that need not fit in memory -> the even sample of them that is fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.row_source import check_sample, even_rows, read_rows, row_source
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.tangents import TangentMethod
from geodis.manifold.split_result import Split

# The published tangents pose the eigenproblem on every row: so many take about a gigabyte.
MOST_WHOLE = 50_000


@dataclass(frozen=True)
class SampledPoints:
    """An even sample of rows.

    Attributes
    ----------
    points : ndarray of shape (s, d)
        Finite, in float64.
    rows : ndarray of int, shape (s,)
        Which rows they are, in order.
    n_dropped : int
        Rows of the sample with NaN or infinity, which were left out.
    """

    points: np.ndarray
    rows: np.ndarray
    n_dropped: int

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What was left out; empty where nothing was."""
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
    """Read an even sample in one pass; the same rows however they are stored or read.

    Parameters
    ----------
    X : anything with shape (n, d) and slices of rows
    sample : int
        Rows to take; all where there are fewer.
    rng : Generator
    graph : graph or None
        Which a sample cannot have: its rows are those of all points.
    tangents : {"curved", "pca"}
    more : ndarray of int, optional
        Rows to take besides.
    done : callable, optional
        Told the share of the rows that was passed.

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
        raise InputError(
            "A graph has a row for every point, and a sample does not: give either; got both."
        )
    if tangents == "pca" and count > MOST_WHOLE:
        raise InputError(
            "tangents='pca' pose one eigenproblem on all rows, which a sample of at most "
            f"{MOST_WHOLE:,} bears; got {count:,}: take fewer, or tangents='curved'."
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
    """Say that an eigenproblem was posed on all of a sample; empty where it was not.

    So it is where the factors share the ambient space and the sample is more than it needs.
    """
    if len(split.dims) == 1 or split.refined == "ambient" or len(split.rows) < n:
        return ()
    if n <= MOST_WHOLE // 5:
        return ()
    return (doubt("whole-problem", "split", n=n),)
