"""A fitted GeoManCER -> lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def summarise(est: GeoManCER) -> str:
    """What was found, on what evidence, and at what cost."""
    n, k, d = est.axes_.shape
    left_out = f" ({est.n_directions_} of which vary)" if est.n_directions_ < d else ""
    named = [
        f"{dim} (flat: holonomy cannot split it further)" if flat else str(dim)
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
    values = " ".join(f"{value:.2g}" for value in est.eigenvalues_)
    lines.append(f"  spectrum: {values}" if len(values) else "  spectrum: one dimension, none")
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
