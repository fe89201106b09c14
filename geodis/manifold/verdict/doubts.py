"""Everything that was noticed in a fit -> the reasons not to publish it without reading them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.flat.flat_graph import CurveOrder
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.verdict.evidence import MIXING_ERROR, Evidence

# Outliers are named in any case; more of them than this share of all points are worth a doubt.
MANY = 0.05
# And they are told of when they are more than the tail of a good sample.
SOME = 0.005
# The error of an order along a curve from which a dimension that was given, and that the points do
# not confirm, is doubted: right orders under strong noise had at most 1.2, a sheet 1.5.
UNCONFIRMED = 1.4
# Whole numbers are counts where some are larger than those of categories.
LEAST_COUNT, ROWS_LOOKED_AT = 4, 1000
# Whole numbers up to this one exactly are rather pixels than counts.
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
    sampling: Sequence[str],
) -> tuple[str, ...]:
    """Every reason, each once, with what to do about it.

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
    sampling : sequence of str
        Why the rows are no random sample.
    """
    doubts = [
        *doubts_of_dimension(dim, estimate, told),
        *sampling,
        *doubts_of_rows(graph, outliers, axes),
        *(doubt for item in evidence for doubt in item.doubts),
        *(() if flat is None else (f"the flat part: {doubt}" for doubt in flat.doubts)),
    ]
    return tuple(dict.fromkeys(doubts))


def late_doubts(
    dims: Sequence[int],
    estimate: DimensionEstimate,
    told: bool,
    evidence: Sequence[Evidence],
    order: CurveOrder | None,
) -> tuple[str, ...]:
    """What checks of the finished fit found.

    Apart from the others, because a scan of dimensions does not count them: they say whether an
    answer holds, not which dimension has the cleanest fields.

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
        doubts.append(
            f"a small factor may be hidden: fits of dimension {estimate.dim} leave the points on a "
            f"shell ({estimate.spread:.2f} of the spread of noise), and the two nearest neighbours "
            f"see dimension {estimate.two_nn:.1f}: give more points, or enlarge the columns that "
            "vary least"
        )
    unconfirmed = told and estimate.dim != dim
    if order is not None and (order.is_wrong or (unconfirmed and order.error > UNCONFIRMED)):
        doubts.append(_doubt_of_order(order, dim, estimate, told))
    errors = [(item.dim, item.tangent_error) for item in evidence if item.tangent_error is not None]
    # From dimension three on the evidence doubts tangents that err so much.
    if (
        unconfirmed
        and dim == 2
        and estimate.remarkable
        and errors
        and errors[0][1].angle > MIXING_ERROR
    ):
        doubts.append(
            f"dim={dim} was given, and nothing confirms it: {errors[0][1]}, as where noise is too "
            "strong or the dimension is another one, and the points alone look like dimension "
            f"{estimate.dim}, {estimate.verdict}: compare dim='scan', or give less noisy points"
        )
        errors = errors[1:]
    doubts += [
        f"{error}, more than {MIXING_ERROR}, where dimension 2 was fitted: the points are too few, "
        "too noisy, or no surface, as where two surfaces meet: give more points, or look where the "
        "axes of neighbours differ most"
        for own, error in errors
        if own == dim == max(dims) == 2 and np.isfinite(error.noise) and error.angle > MIXING_ERROR
    ]
    return tuple(dict.fromkeys(doubts))


def _doubt_of_order(order: CurveOrder, dim: int, estimate: DimensionEstimate, told: bool) -> str:
    """Why a fitted curve is not what the points lie along, as far as it is known."""
    given = f"dim={dim} was given, but " if told else ""
    found = (
        f"predicted from their neighbours along it, rows err {order.error:.1f} times as much as "
        "predicted from those in space"
    )
    if order.row >= 0 and estimate.dim == 1:
        return (
            f"{given}the points are no single curve ({found}): they branch or cross near row "
            f"{order.row:,}, or turns come as near as their points: leave out the rows where arms "
            "meet and fit the arms one by one, or give more points"
        )
    if told and estimate.dim > 1:
        return f"{given}no curve was found that the points follow ({found}): leave dim out"
    return (
        f"{given}the order along the curve is wrong ({found}): the points are too few, too noisy, "
        "or no single curve: give more points, or average neighbouring rows first"
    )


def remedy_for_counts(points: np.ndarray, of_bytes: bool = False) -> tuple[str, ...]:
    """What to do with counts, whose noise grows with them; bytes may also be pixels.

    Examples
    --------
    >>> remedy_for_counts(np.array([[0.0, 7.0], [3.0, 12.0]]))
    ("the values are whole numbers: if they are counts, fit with prepare='sqrt'",)
    >>> remedy_for_counts(np.array([[0.0, 1.0], [0.5, 1.0]]))
    ()
    """
    some = points[:ROWS_LOOKED_AT]
    if some.min() < 0 or some.max() < LEAST_COUNT or (some != np.rint(some)).any():
        return ()
    if points.max() == LARGEST_BYTE or (of_bytes and points.max() > LARGEST_BYTE // 2):
        return ()
    return ("the values are whole numbers: if they are counts, fit with prepare='sqrt'",)


def doubts_of_dimension(dim: int, estimate: DimensionEstimate, told: bool) -> tuple[str, ...]:
    """Whether the dimension is sure; one that was given is compared with the estimate."""
    if told:
        # What is remarkable is no measure of what was given; `late_doubts` tests that itself.
        if estimate.dim == dim or estimate.remarkable or (estimate.may_hide and dim > estimate.dim):
            return ()
        return (f"dim={dim} was given, but the points look like {estimate}: leave dim out",)
    if dim < estimate.dim:
        return (
            f"dimension {dim} was used, because there are too few points for more ({estimate}): "
            "give more points",
        )
    if not estimate.remarkable:
        return ()
    if estimate.verdict == "undecided":  # which says what to do
        return (str(estimate),)
    return (f"{estimate}: give dim where it is known, or more points",)


def doubts_of_rows(
    graph: NeighborGraph, outliers: np.ndarray, axes: np.ndarray, *, many: float = MANY
) -> tuple[str, ...]:
    """Rows that the answer does not speak of: outliers, and pieces that do not split alike."""
    doubts = []
    if outliers.mean() > many:
        doubts.append(
            f"{outliers.sum():,} of {len(outliers):,} points lie far from all others and were left "
            "out (outliers_): look at them"
        )
    sizes = np.sort(np.bincount(graph.piece[~outliers]))[::-1]
    sizes = sizes[sizes > 0]
    lost = int((~np.isfinite(axes).all(axis=(1, 2)) & ~outliers).sum())
    if len(sizes) > 1:
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        without = (
            f" {lost:,} points are in pieces that do not split like the largest, or are too small;"
            if lost
            else ""
        )
        doubts.append(
            f"the neighbour graph is in {len(sizes)} pieces (of {shown} points), and factors are "
            f"only comparable within a piece:{without} fit them one by one, or give more neighbours"
        )
    elif lost:
        doubts.append(
            f"{lost:,} points could not be unrolled with the others and have no axes: fit them on "
            "their own, or give a larger n_neighbors"
        )
    return tuple(doubts)
