"""The figures of a report as PNG and SVG, drawn by `geodis.plots` as papers need them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from geodis.report.results import Report

SUFFIXES = (".png", ".svg")


def draw_pictures(report: Report, folder: Path) -> tuple[dict[str, Path], list[str]]:
    """Write every figure that the findings allow.

    Returns
    -------
    figures : dict of str to Path
        The PNG of each; its SVG stands beside it.
    failures : list of str
        Figures that could not be drawn, and why: one must not take the others with it.
    """
    from geodis.plots import save_figure

    written, failures = {}, []
    for name, draw in available_pictures(report).items():
        try:
            axis = draw()
            for suffix in SUFFIXES:
                save_figure(axis, folder / f"{name}{suffix}")
        except Exception as problem:
            failures.append(f"The figure {name} could not be drawn: {problem}")
            continue
        written[name] = folder / f"{name}.png"
    return written, failures


def available_pictures(report: Report) -> dict[str, Callable[[], Any]]:
    """Name of a figure -> function that draws it, for those that there is something to draw of."""
    from geodis import plots

    found: dict[str, Callable[[], Any]] = {}
    seen, est, table = report.inspection, report.manifold, report.scores
    if seen is not None:
        found["principal_components"] = lambda: plots.plot_principal_spectrum(
            seen.explained, seen.dimension.dim
        )
    if est is not None and report.factorised is not None:
        points = report.factorised.latents
        found["spectrum"] = lambda: plots.plot_eigenvalue_spectrum(est)
        found["separation"] = lambda: plots.plot_field_separation(est.evidence_)
        found["directions"] = lambda: plots.plot_directions_by_factor(points, est)
    factors = report.material.factors
    if factors is not None:
        latents = report.material.latents
        found["points"] = lambda: plots.plot_points_by_factor(latents, factors)
    if table is not None:
        found["scores"] = lambda: plots.plot_scores(table)
        if not table.per_factor.empty:
            found["per_factor"] = lambda: plots.plot_scores_per_factor(table)
        for key, name, title in (
            ("mig", "information", "Mutual information"),
            ("dci", "importances", "Importances (DCI)"),
        ):
            score = table.scores.get(key)
            if score is not None and score.matrix is not None:
                found[name] = _matrix(score, title)
    distances = report.distances
    if distances is not None:
        if any(distances.matrices.values()):
            found["distance_matrices"] = lambda: plots.plot_traversal_matrices(distances.matrices)
        if distances.correlations is not None:
            agreed = distances.correlations
            found["distance_correlations"] = lambda: plots.plot_distance_correlations(agreed)
        found["distance_scatter"] = lambda: plots.plot_distance_scatter(distances.pairs)
        if distances.importance is not None:
            weighed = distances.importance
            found["perceived_distances"] = lambda: plots.plot_distance_distribution(weighed)
    return found


def _matrix(score: Any, title: str) -> Callable[[], Any]:
    from geodis import plots

    return lambda: plots.plot_score_matrix(
        score,
        title=title,
        factor_names=[str(name) for name in score.factor_names or ()],
        latent_names=[str(i) for i in range(len(np.asarray(score.matrix)))],
    )
