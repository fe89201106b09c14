"""The points themselves, and the directions of the manifold's factors."""

from __future__ import annotations

from geodis.plots.geometry.cloud import point_cloud
from geodis.plots.geometry.directions import plot_directions_by_factor
from geodis.plots.geometry.points import plot_points_by_factor
from geodis.report.analysis import Analysis
from geodis.report.page.python_lines import fitted_rows
from geodis.report.section import Section, SectionFigure


class PointsSection(Section):
    """Points along axes that a reader chooses."""

    name = "points"
    title = "Points"
    about = (
        "Points are projected on the two chosen axes; short lines are the directions of the "
        "manifold's factors, and in the view of one factor the lines of the others should vanish."
    )
    source = "Principal components, and the axes of GeoManCER (Pfau et al. 2020)."
    place = 30

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """The cloud on the page; on paper a picture of directions, and one of factors."""
        est, material = analysis.manifold, analysis.material
        drawn = analysis.factorised or material
        shown = (drawn.latents, drawn.factors, est)
        figures = [SectionFigure("cloud", lambda: point_cloud(*shown), where="page")]
        if est is not None:
            figures.append(
                SectionFigure(
                    "directions",
                    draw=lambda: plot_directions_by_factor(drawn.latents, est),
                    where="paper",
                )
            )
        if material.factors is not None:
            figures.append(
                SectionFigure(
                    "points",
                    draw=lambda: plot_points_by_factor(material.latents, material.factors),
                    where="paper",
                )
            )
        return figures

    def code(self, analysis: Analysis) -> str:
        """The picture on paper, or the axes of the view."""
        if analysis.manifold is not None:
            return f"gd.plots.plot_directions_by_factor({fitted_rows(analysis)}, est)"
        if analysis.settings.has_factors:
            return "gd.plots.plot_points_by_factor(latents, factors)"
        return "gd.principal_components(latents)"
