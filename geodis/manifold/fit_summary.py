"""A fitted GeoManCER -> lines for people, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
        f"{factors} of dimension {' + '.join(named)}"
        + (" (number uncertain)" if est.uncertain_ else ""),
    ]
    if est.dimension_ is not None:
        lines.append(f"  {est.dimension_}")
    lines.append(f"  {est.graph_}")
    lines += [f"  {item}" for item in est.evidence_]
    if est.flat_evidence_ is not None:
        lines.append(f"  {est.flat_evidence_}")
    lines.append(f"  spectrum: {_spectrum(est)}")
    refined = est.split_.refined
    if est.tangents == "pca" and est.refinements > 0:
        refined += " (PCA tangents are left as they are)"
    lines.append(
        f"  refined: {refined}; tangents from {est.split_.tangent_neighbors} "
        f"neighbours; {'converged' if est.converged_ else 'NOT converged'}"
    )
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in est.seconds_.items())
    lines.append(f"  seconds: {seconds}; peak memory {est.peak_memory_:,.0f} MB")
    return "\n".join(lines)


def warnings_of(est: GeoManCER) -> list[str]:
    """What the user should know before trusting the numbers."""
    warnings = []
    if est.graph_.n_pieces > 1:
        sizes = np.sort(np.bincount(est.graph_.piece))[::-1]
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        lost = int((~np.isfinite(est.axes_).all(axis=(1, 2))).sum())
        warnings.append(
            f"The neighbour graph is in {est.graph_.n_pieces} pieces (of {shown} points): "
            "factor labels are only comparable within a piece"
            + (f", and {lost} points do not split like the largest piece." if lost else ".")
        )
    if est.dimension_ is not None and not est.dimension_.agree:
        warnings.append(f"{est.dimension_}.".capitalize())
    return warnings


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
