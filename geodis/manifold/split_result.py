"""What a split is: axes by factor at every point, what they rest on, and factor within factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodis.base.jobs import blocks
from geodis.manifold.holonomy.departure import Departure
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.local.exact_search import BLOCK_ROWS
from geodis.manifold.local.tangent_error import TangentError


@dataclass(frozen=True)
class Split:
    """Factors of a set of points, and of each factor in turn.

    Attributes
    ----------
    axes : ndarray of shape (n, k, d)
        Orthonormal rows grouped by factor, the same order of factors at every point.
    dims : tuple of int
        Dimension of every factor.
    flat : tuple of bool
        Which factors are flat parts of dimension two or more.
    fields : Eigenfields or None
        Bottom eigenfields, at the points `rows`; None in dimension one.
    rows : ndarray of int
        Points on which the eigenproblem was posed.
    parts : tuple of Split
        The factors of this split, each split on its own; empty where there is one.
    bases : tuple of ndarray of shape (d_j, d)
        Orthonormal rows: the ambient subspace in which each part was split.
    refined : str
        "ambient" where factors were refined in their own ambient subspaces, "tangents" where
        only the tangent fits were, "none" where nothing was.
    tangent_neighbors : int
        Neighbours of each tangent fit.
    leakage : float
        Share of the axes outside their factor's ambient subspace; NaN where not asked.
    tangent_error : TangentError or None
        How far the frames err that the fields rest on; None where there are no fields.
    departure : Departure or None
        How far the metric is from that of a product of these factors.
    told_apart : int or None
        Factors that the fields tell apart by themselves, where their number was given.
    history : list of dict
        One entry a round: what was done, factor dimensions, eigenvalues, norm variations.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: tuple[bool, ...]
    fields: Eigenfields | None
    rows: np.ndarray
    parts: tuple[Split, ...] = ()
    bases: tuple[np.ndarray, ...] = ()
    refined: str = "none"
    tangent_neighbors: int = 0
    leakage: float = np.nan
    tangent_error: TangentError | None = None
    departure: Departure | None = None
    told_apart: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)


def round_of_history(what: str, fields: Eigenfields, dims: tuple[int, ...]) -> dict[str, Any]:
    """One line of the history: what was done, and what it found."""
    return {
        "what": what,
        "n_points": len(fields.fields),
        "factor_dims": dims,
        "eigenvalues": fields.values,
        "variation": fields.variation,
        "n_parallel": fields.n_parallel,
        "converged": fields.converged,
        "n_applications": fields.n_applications,
    }


def join_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Axes of the parts, (p, k_j, d_j) each, in the space of their bases, largest factor first.

    Returns
    -------
    ndarray of shape (p, k, d)
    """
    k = sum(own.shape[1] for own in axes)
    joined = np.empty((len(axes[0]), k, bases[0].shape[1]))
    place = np.argsort(_row_order(parts))
    stop = 0
    for own, basis in zip(axes, bases, strict=True):  # one part after the other, in place
        start, stop = stop, stop + own.shape[1]
        for some in blocks(len(joined), BLOCK_ROWS):
            joined[some, place[start:stop]] = own[some] @ basis
    return joined


def part_axes(
    parts: Sequence[Split], bases: Sequence[np.ndarray], axes: np.ndarray
) -> list[np.ndarray]:
    """Axes of each part in its own space, from the axes of all: inverts `join_axes`."""
    joined = np.empty_like(axes)
    joined[:, _row_order(parts)] = axes
    stops = np.cumsum([sum(part.dims) for part in parts])
    own = np.split(joined, stops[:-1], axis=1)
    return [rows @ basis.T for rows, basis in zip(own, bases, strict=True)]


def _row_order(parts: Sequence[Split]) -> np.ndarray:
    """Rows of the parts' axes, one part after the other, in order of the factors' dimensions."""
    dims = [dim for part in parts for dim in part.dims]
    rows = np.split(np.arange(sum(dims)), np.cumsum(dims)[:-1])
    return np.concatenate([rows[j] for j in largest_first(dims)])


def largest_first(dims: Sequence[int]) -> np.ndarray:
    """The order of factors by their dimension."""
    return np.argsort(-np.asarray(dims), kind="stable")
