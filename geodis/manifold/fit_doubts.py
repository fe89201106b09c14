"""Doubts about a fit, and its description as text, HTML and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import transposed_question
from geodis.base.text import findings_html
from geodis.manifold.doubts import Doubt, doubt, each_once
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.flat_evidence import FlatEvidence
from geodis.manifold.flat.flat_graph import CurveOrder
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.preparation.rows import whole_problem_doubts
from geodis.manifold.split_result import MIXING_ERROR, Evidence

# Shares of outliers above which there is a doubt, and above which there is a warning.
MANY, SOME = 0.05, 0.005
# Error of the order along a curve above which a given dimension that disagrees with the estimate is
# doubted: correct orders under strong noise had at most 1.2, a surface 1.5.
UNCONFIRMED = 1.4
# Integers are counts if some are at least this large (smaller ones may be codes of categories), in
# the first rows.
LEAST_COUNT, FIRST_ROWS = 4, 1000
# Integers with exactly this maximum are pixels rather than counts.
LARGEST_BYTE = 255


def doubts_of_fit(
    dim: int,
    estimate: DimensionEstimate,
    given: bool,
    graph: NeighborGraph,
    outliers: np.ndarray,
    axes: np.ndarray,
    evidence: Sequence[Evidence],
    flat: FlatEvidence | None,
    sampling: Sequence[Doubt],
) -> tuple[Doubt, ...]:
    """Collect all doubts about a fit without repetition, except those of `late_doubts`.

    Parameters
    ----------
    dim : int
        The dimension that was used.
    estimate : DimensionEstimate
    given : bool
        Whether the dimension was given.
    graph : NeighborGraph
    outliers : ndarray of bool, shape (n,)
    axes : ndarray of shape (n, k, d)
    evidence : sequence of Evidence
    flat : FlatEvidence or None
    sampling : sequence of Doubt
        Doubts about the sampling.
    """
    return each_once(
        [
            *doubts_of_dimension(dim, estimate, given),
            *sampling,
            *doubts_of_rows(graph, outliers, axes),
            *(one for item in evidence for one in item.doubts),
            *(() if flat is None else flat.doubts),
        ]
    )


def late_doubts(
    dims: Sequence[int],
    estimate: DimensionEstimate,
    given: bool,
    evidence: Sequence[Evidence],
    order: CurveOrder | None,
) -> tuple[Doubt, ...]:
    """Return doubts from checks of the finished fit.

    They have no weight when dimensions are compared, because they do not depend on the quality of
    the fields.

    Parameters
    ----------
    dims : sequence of int
        Dimensions of the factors.
    estimate : DimensionEstimate
    given : bool
        Whether the dimension was given.
    evidence : sequence of Evidence
    order : CurveOrder or None
        Of an unrolled curve.
    """
    doubts, dim = [], sum(dims)
    if estimate.may_hide:
        numbers = {"dim": estimate.dim, "spread": estimate.spread, "two_nn": estimate.two_nn}
        doubts.append(doubt("hidden-factor", "dimension", **numbers))
    unconfirmed = given and estimate.dim != dim
    if order is not None and (order.is_wrong or (unconfirmed and order.error > UNCONFIRMED)):
        doubts.append(_doubt_of_order(order, dim, estimate, given))
    errors = [(item.dim, item.tangent_error) for item in evidence if item.tangent_error is not None]
    # From dimension three on, `Evidence` has this doubt.
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


def _doubt_of_order(order: CurveOrder, dim: int, estimate: DimensionEstimate, given: bool) -> Doubt:
    """Return the doubt about a fitted curve whose order is wrong."""
    numbers: dict[str, Any] = {
        "given": f"dim={dim} was given, but " if given else "",
        "error": order.error,
        "found": f"predicted from their neighbours along it, rows err {order.error:.1f} times as "
        "much as predicted from those in space",
    }
    if order.row >= 0 and estimate.dim == 1:
        return doubt("branching-curve", "curve", row=order.row, **numbers)
    code = "no-curve" if given and estimate.dim > 1 else "wrong-order"
    return doubt(code, "curve", **numbers)


def remedy_for_counts(points: np.ndarray, of_bytes: bool = False) -> tuple[Doubt, ...]:
    """Suggest a transformation if values look like counts; bytes may also be pixels.

    Examples
    --------
    >>> print(*remedy_for_counts(np.array([[0.0, 7.0], [3.0, 12.0]])))
    the values are whole numbers: if they are counts, fit with prepare='sqrt'
    >>> remedy_for_counts(np.array([[0.0, 1.0], [0.5, 1.0]]))
    ()
    """
    some = points[:FIRST_ROWS]
    if some.min() < 0 or some.max() < LEAST_COUNT or (some != np.rint(some)).any():
        return ()
    if points.max() == LARGEST_BYTE or (of_bytes and points.max() > LARGEST_BYTE // 2):
        return ()
    return (doubt("counts", "rows"),)


def doubts_of_dimension(dim: int, estimate: DimensionEstimate, given: bool) -> tuple[Doubt, ...]:
    """Return doubts about the dimension; a given one is compared with the estimate."""
    if given:
        # Uncertain estimates are not compared with a given dimension; see `late_doubts`.
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
    """Return doubts about rows without axes: outliers, and other graph components."""
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


def describe_fit(fit: Fit) -> str:
    """Describe a fit in text: result, evidence, doubts and cost."""
    n, k, d = fit.axes.shape
    left_out = f" ({fit.directions.n_directions} of which vary)" if len(fit.basis) < d else ""
    named = [
        f"{dim} ({_flat_remark(dim, fit)})" if flat else str(dim)
        for dim, flat in zip(fit.flat.dims, fit.flat.flat, strict=True)
    ]
    lines = [
        f"GeoManCER: {n:,} points in {d} columns{left_out}, dimension {k}, "
        f"{_count(fit)} of dimension {' + '.join(named)}"
        + (" (uncertain)" if fit.uncertain else ""),
        f"  {fit.dimension}",
    ]
    if fit.directions.noise > 0:
        lines.append(f"  {fit.directions}")
    if fit.n_copies:
        lines.append(f"  {fit.n_copies:,} rows are near copies of others and were merged")
    lines.append(f"  {fit.graph}")
    lines += [f"  {item}" for item in fit.evidence]
    if fit.flat.evidence is not None:
        lines.append(f"  {fit.flat.evidence}")
    if (tested := fit.made("product test")) is not None:
        lines += [f"  {line}" for line in str(tested).splitlines()]
    lines.append(f"  spectrum: {_spectrum(fit)}")
    refined = fit.split.refined
    if fit.settings.tangents == "pca" and fit.settings.refinements > 0:
        refined += " (PCA tangents are not refined)"
    lines.append(
        f"  refined: {refined}; tangents from {fit.split.tangent_neighbors} "
        f"neighbours; {'converged' if fit.converged else 'NOT converged'}"
    )
    if (made := fit.made("maps")) is not None:
        maps = "; ".join(
            f"factor {j}{f' ({name})' if name else ''} in {own.n_coordinates} coordinates, off by "
            f"{100 * own.residual:.1f} %"
            for j, (name, own) in enumerate(zip(_names(fit), made.maps, strict=True))
        )
        lines.append(f"  maps: {maps}")
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in fit.seconds.items())
    lines.append(f"  seconds: {seconds}; peak memory {fit.peak_memory:,.0f} MB")
    if fit.uncertain:
        lines.append("  do not publish this without reading why it is uncertain:")
        lines += [f"  - {doubt} [{doubt.code}]" for doubt in fit.all_doubts]
    return "\n".join(lines)


def fit_html(fit: Fit) -> str:
    """Describe a fit in HTML; names of spaces are shown if already computed."""
    n, k, d = fit.axes.shape
    rows = {"points": f"{n:,} in {d} columns", "dimension": f"{k}; {fit.dimension}"}
    for j, (dim, flat, name) in enumerate(
        zip(fit.flat.dims, fit.flat.flat, _names(fit), strict=True)
    ):
        kind = f", {name}" if name and name != "unknown" else ""
        rows[f"factor {j}"] = f"dimension {dim}{kind}{' (flat)' if flat else ''}"
    if fit.confidence is not None:
        rows["refits"] = fit.confidence.sentence
    title = f"GeoManCER: {_count(fit)}" + (", uncertain" if fit.uncertain else "")
    return findings_html(title, rows, fit.all_doubts)


def _count(fit: Fit) -> str:
    return "1 factor" if fit.n_factors == 1 else f"{fit.n_factors} factors"


def _names(fit: Fit) -> list[str]:
    """Return the spaces of the factors if already computed, or empty strings."""
    topologies = fit.made("topologies")
    return [""] * fit.n_factors if topologies is None else [one.name for one in topologies]


def doubts_to_warn_of(fit: Fit) -> tuple[Doubt, ...]:
    """Return the doubts to warn of: about rows, dimension and sample."""
    if fit.settings.dim == "scan":
        return ()
    return (
        *doubts_of_rows(fit.graph, fit.outliers, fit.axes, many=SOME),
        *doubts_of_dimension(fit.dim, fit.dimension, fit.dim_given),
        *late_doubts(fit.flat.dims, fit.dimension, fit.dim_given, fit.evidence, fit.order),
        *(() if fit.sample_rows is None else whole_problem_doubts(fit.split, len(fit.axes))),
    )


def warnings_of(fit: Fit) -> list[str]:
    """Return warning texts: whether points may be transposed, then the doubts."""
    question = transposed_question((len(fit.axes), fit.axes.shape[2]))
    first = [question] if question and fit.settings.dim != "scan" else []
    return first + [doubt.advice for doubt in doubts_to_warn_of(fit)]


def _flat_remark(dim: int, fit: Fit) -> str:
    """Return the remark on a flat factor."""
    if dim == 1 or fit.flat.coordinates.shape[1]:
        return "flat"
    return "flat: holonomy cannot split it further"


def _spectrum(fit: Fit) -> str:
    """Return the eigenvalues, with a bar above the parallel fields."""
    if not fit.evidence:
        return "none, with one dimension or one factor"
    values = [f"{value:.2g}" for value in fit.eigenvalues]
    count = fit.evidence[0].n_parallel
    return " ".join([*values[:count], "|", *values[count:]])
