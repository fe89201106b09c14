"""A fit -> lines for people, a table for notebooks, and warnings."""

from __future__ import annotations

from geodis.base.check import transposed_question
from geodis.base.shown_html import findings_html
from geodis.manifold.doubts import Doubt
from geodis.manifold.fitted import Fit
from geodis.manifold.preparation.sampled import whole_problem_doubts
from geodis.manifold.verdict.doubts import SOME, doubts_of_dimension, doubts_of_rows, late_doubts


def describe_fit(fit: Fit) -> str:
    """What was found, on what evidence, and at what cost."""
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
        lines.append(f"  {fit.n_copies:,} rows are near copies of others: one place each")
    lines.append(f"  {fit.graph}")
    lines += [f"  {item}" for item in fit.evidence]
    if fit.flat.evidence is not None:
        lines.append(f"  {fit.flat.evidence}")
    if (tested := fit.made("product test")) is not None:
        lines += [f"  {line}" for line in str(tested).splitlines()]
    lines.append(f"  spectrum: {_spectrum(fit)}")
    refined = fit.split.refined
    if fit.settings.tangents == "pca" and fit.settings.refinements > 0:
        refined += " (PCA tangents are left as they are)"
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
    """The findings of a fit; names of spaces where they were asked for already."""
    n, k, d = fit.axes.shape
    rows = {
        "points": f"{n:,} in {d} columns",
        "dimension": f"{k}; {fit.dimension}",
    }
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
    """The spaces of the factors as far as they were asked for; empty texts otherwise."""
    topologies = fit.made("topologies")
    return [""] * fit.n_factors if topologies is None else [one.name for one in topologies]


def doubts_to_warn_of(fit: Fit) -> tuple[Doubt, ...]:
    """What the user should know before trusting the numbers: of the rows, and of the dimension."""
    if fit.settings.dim == "scan":
        return ()
    return (
        *doubts_of_rows(fit.graph, fit.outliers, fit.axes, many=SOME),
        *doubts_of_dimension(fit.dim, fit.dimension, fit.dim_given),
        *late_doubts(fit.flat.dims, fit.dimension, fit.dim_given, fit.evidence, fit.order),
        *(() if fit.sample_rows is None else whole_problem_doubts(fit.split, len(fit.axes))),
    )


def warnings_of(fit: Fit) -> list[str]:
    """The texts of warnings: whether the points are transposed, then the doubts."""
    asked = transposed_question((len(fit.axes), fit.axes.shape[2]))
    asked = "" if fit.settings.dim == "scan" else asked
    return [asked] * bool(asked) + [doubt.advice for doubt in doubts_to_warn_of(fit)]


def _flat_remark(dim: int, fit: Fit) -> str:
    """What is said of a flat factor beside its dimension."""
    if dim == 1 or fit.flat.coordinates.shape[1]:
        return "flat"
    return "flat: holonomy cannot split it further"


def _spectrum(fit: Fit) -> str:
    """Eigenvalues, with a bar at the gap above the parallel fields."""
    if not fit.evidence:
        return "none, with one dimension or one factor"
    values = [f"{value:.2g}" for value in fit.eigenvalues]
    count = fit.evidence[0].n_parallel
    return " ".join([*values[:count], "|", *values[count:]])
