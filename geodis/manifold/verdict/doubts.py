"""Everything that was noticed in a fit -> the reasons to doubt its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.manifold.doubts import Doubt, doubt, each_once
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.flat.flat_graph import CurveOrder
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.verdict.evidence import MIXING_ERROR, Evidence

# A share of outliers above the first raises a doubt, and above the second a warning.
MANY, SOME = 0.05, 0.005
# The error of the order along a curve from which a given dimension that the points do not confirm
# is doubted: right orders under strong noise had at most 1.2, a sheet 1.5.
UNCONFIRMED = 1.4
# Whole numbers are counts where some are larger than the codes of categories.
LEAST_COUNT, ROWS_LOOKED_AT = 4, 1000
# Whole numbers up to exactly this one are pixels rather than counts.
LARGEST_BYTE = 255


def doubts_of_fit(
    dim: int,
    estimate: DimensionEstimate,
    told: bool,
    graph: NeighborGraph,
    outliers: np.ndarray,
    axes: np.ndarray,
    evidence: Sequence[Evidence],
    flat: FlatEvidence | None,
    sampling: Sequence[Doubt],
) -> tuple[Doubt, ...]:
    """Every doubt about a fit, each once; the checks of `late_doubts` aside.

    Parameters
    ----------
    dim : int
        The dimension that was used.
    estimate : DimensionEstimate
    told : bool
        Whether the dimension was given.
    graph : NeighborGraph
    outliers : ndarray of bool, shape (n,)
    axes : ndarray of shape (n, k, d)
    evidence : sequence of Evidence
    flat : FlatEvidence or None
    sampling : sequence of Doubt
        Why the rows are no random sample.
    """
    return each_once(
        [
            *doubts_of_dimension(dim, estimate, told),
            *sampling,
            *doubts_of_rows(graph, outliers, axes),
            *(one for item in evidence for one in item.doubts),
            *(() if flat is None else flat.doubts),
        ]
    )


def late_doubts(
    dims: Sequence[int],
    estimate: DimensionEstimate,
    told: bool,
    evidence: Sequence[Evidence],
    order: CurveOrder | None,
) -> tuple[Doubt, ...]:
    """What checks of the finished fit found: whether the answer holds.

    They weigh nothing when dimensions are compared, because they do not say which dimension has
    the cleanest fields.

    Parameters
    ----------
    dims : sequence of int
        Of the factors that were found.
    estimate : DimensionEstimate
    told : bool
        Whether the dimension was given.
    evidence : sequence of Evidence
    order : CurveOrder or None
        Of a curve that was unrolled.
    """
    doubts, dim = [], sum(dims)
    if estimate.may_hide:
        numbers = {"dim": estimate.dim, "spread": estimate.spread, "two_nn": estimate.two_nn}
        doubts.append(doubt("hidden-factor", "dimension", **numbers))
    unconfirmed = told and estimate.dim != dim
    if order is not None and (order.is_wrong or (unconfirmed and order.error > UNCONFIRMED)):
        doubts.append(_doubt_of_order(order, dim, estimate, told))
    errors = [(item.dim, item.tangent_error) for item in evidence if item.tangent_error is not None]
    # From dimension three on the evidence has a doubt about tangents with such errors.
    if (
        unconfirmed
        and dim == 2
        and estimate.remarkable
        and errors
        and errors[0][1].angle > MIXING_ERROR
    ):
        doubts.append(
            doubt(
                "unconfirmed-dimension",
                "dimension",
                dim=dim,
                error=str(errors[0][1]),
                found=estimate.dim,
                verdict=estimate.verdict,
            )
        )
        errors = errors[1:]
    doubts += [
        doubt("noisy-surface", "tangents", error=str(error), limit=MIXING_ERROR)
        for own, error in errors
        if own == dim == max(dims) == 2 and np.isfinite(error.noise) and error.angle > MIXING_ERROR
    ]
    return each_once(doubts)


def _doubt_of_order(order: CurveOrder, dim: int, estimate: DimensionEstimate, told: bool) -> Doubt:
    """Why a fitted curve is not what the points lie along, as far as it is known."""
    numbers: dict[str, Any] = {
        "given": f"dim={dim} was given, but " if told else "",
        "error": order.error,
        "found": f"predicted from their neighbours along it, rows err {order.error:.1f} times as "
        "much as predicted from those in space",
    }
    if order.row >= 0 and estimate.dim == 1:
        return doubt("branching-curve", "curve", row=order.row, **numbers)
    code = "no-curve" if told and estimate.dim > 1 else "wrong-order"
    return doubt(code, "curve", **numbers)


def remedy_for_counts(points: np.ndarray, of_bytes: bool = False) -> tuple[Doubt, ...]:
    """What to do with counts, whose noise grows with them; bytes may also be pixels.

    Examples
    --------
    >>> print(*remedy_for_counts(np.array([[0.0, 7.0], [3.0, 12.0]])))
    the values are whole numbers: if they are counts, fit with prepare='sqrt'
    >>> remedy_for_counts(np.array([[0.0, 1.0], [0.5, 1.0]]))
    ()
    """
    some = points[:ROWS_LOOKED_AT]
    if some.min() < 0 or some.max() < LEAST_COUNT or (some != np.rint(some)).any():
        return ()
    if points.max() == LARGEST_BYTE or (of_bytes and points.max() > LARGEST_BYTE // 2):
        return ()
    return (doubt("counts", "rows"),)


def doubts_of_dimension(dim: int, estimate: DimensionEstimate, told: bool) -> tuple[Doubt, ...]:
    """Whether the dimension is sure; one that was given is compared with the estimate."""
    if told:
        # A remarkable estimate is no measure of what was given; `late_doubts` tests that itself.
        if estimate.dim == dim or estimate.remarkable or (estimate.may_hide and dim > estimate.dim):
            return ()
        return (doubt("given-dimension", "dimension", dim=dim, estimate=estimate.account),)
    if dim < estimate.dim:
        return (doubt("limited-dimension", "dimension", dim=dim, estimate=estimate.account),)
    if not estimate.remarkable:
        return ()
    return (doubt("unclear-dimension", "dimension", estimate=estimate.account),)


def doubts_of_rows(
    graph: NeighborGraph, outliers: np.ndarray, axes: np.ndarray, *, many: float = MANY
) -> tuple[Doubt, ...]:
    """Rows that the answer does not speak of: outliers, and pieces that do not split alike."""
    doubts = []
    if outliers.mean() > many:
        doubts.append(doubt("outliers", "rows", count=int(outliers.sum()), n=len(outliers)))
    sizes = np.sort(np.bincount(graph.piece[~outliers]))[::-1]
    sizes = sizes[sizes > 0]
    lost = int((~np.isfinite(axes).all(axis=(1, 2)) & ~outliers).sum())
    if len(sizes) > 1:
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        unlike = f"; {lost:,} points are in pieces that do not split like the largest, or too small"
        numbers: dict[str, Any] = {"count": len(sizes), "sizes": shown, "lost": lost}
        doubts.append(doubt("pieces", "rows", unlike=unlike if lost else "", **numbers))
    elif lost:
        doubts.append(doubt("without-axes", "rows", lost=lost))
    return tuple(doubts)
