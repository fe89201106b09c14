"""A fitted GeoManCER -> lines for people, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis.base.check import transposed_question
from geodis.manifold.doubts import Doubt
from geodis.manifold.verdict.doubts import SOME, doubts_of_dimension, doubts_of_rows

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def describe_fit(est: GeoManCER) -> str:
    """What was found, on what evidence, and at what cost."""
    n, k, d = est.axes_.shape
    left_out = f" ({est.n_directions_} of which vary)" if est.n_directions_ < d else ""
    named = [
        f"{dim} ({_flat_remark(dim, est)})" if flat else str(dim)
        for dim, flat in zip(est.factor_dims_, est.flat_, strict=True)
    ]
    factors = "1 factor" if est.n_factors_ == 1 else f"{est.n_factors_} factors"
    lines = [
        f"GeoManCER: {n:,} points in {d} columns{left_out}, dimension {k}, "
        f"{factors} of dimension {' + '.join(named)}" + (" (uncertain)" if est.uncertain_ else ""),
    ]
    lines.append(f"  {est.dimension_}")
    if est.noise_ > 0:
        lines.append(f"  {est.directions_}")
    if est.n_copies_:
        lines.append(f"  {est.n_copies_:,} rows are near copies of others: one place each")
    lines.append(f"  {est.graph_}")
    lines += [f"  {item}" for item in est.evidence_]
    if est.flat_evidence_ is not None:
        lines.append(f"  {est.flat_evidence_}")
    lines += [f"  {line}" for made in est._product_test for line in str(made).splitlines()]
    lines.append(f"  spectrum: {_spectrum(est)}")
    refined = est.split_.refined
    if est.tangents == "pca" and est.refinements > 0:
        refined += " (PCA tangents are left as they are)"
    lines.append(
        f"  refined: {refined}; tangents from {est.split_.tangent_neighbors} "
        f"neighbours; {'converged' if est.converged_ else 'NOT converged'}"
    )
    if est.has_maps:
        lines.append(f"  maps: {_maps(est)}")
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in est.seconds_.items())
    lines.append(f"  seconds: {seconds}; peak memory {est.peak_memory_:,.0f} MB")
    if est.doubts_:
        lines.append("  do not publish this without reading why it is uncertain:")
        lines += [f"  - {doubt} [{doubt.code}]" for doubt in est.doubts_]
    return "\n".join(lines)


def _maps(est: GeoManCER) -> str:
    """The space of every map, what it is called if that is known, and how far its steps are off."""
    named = [f" ({topology.name})" for topology in est._topologies] or [""] * est.n_factors_
    return "; ".join(
        f"factor {j}{name} in {own.n_coordinates} coordinates, off by {100 * own.residual:.1f} %"
        for j, (name, own) in enumerate(zip(named, est.maps_, strict=True))
    )


def doubts_to_warn_of(est: GeoManCER) -> tuple[Doubt, ...]:
    """What the user should know before trusting the numbers: of the rows, and of the dimension."""
    told = est.dim != "auto"
    return (
        *doubts_of_rows(est.graph_, est.outliers_, est.axes_, many=SOME),
        *doubts_of_dimension(est.dim_, est.dimension_, told),
        *est._late_doubts(told),
    )


def warnings_of(est: GeoManCER) -> list[str]:
    """The texts of warnings: whether the points are transposed, then the doubts."""
    asked = transposed_question((len(est.axes_), est.axes_.shape[2]))
    return [asked] * bool(asked) + [doubt.advice for doubt in doubts_to_warn_of(est)]


def _flat_remark(dim: int, est: GeoManCER) -> str:
    """What is said of a flat factor beside its dimension."""
    if dim == 1 or est.flat_coordinates_.shape[1]:
        return "flat"
    return "flat: holonomy cannot split it further"


def _spectrum(est: GeoManCER) -> str:
    """Eigenvalues, with a bar at the gap above the parallel fields."""
    if not est.evidence_:
        return "none, with one dimension or one factor"
    values = [f"{value:.2g}" for value in est.eigenvalues_]
    count = est.evidence_[0].n_parallel
    return " ".join([*values[:count], "|", *values[count:]])
