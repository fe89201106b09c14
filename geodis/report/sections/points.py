"""The points themselves, and the directions of the manifold's factors."""

from __future__ import annotations

from geodis.plots.geometry.cloud import point_cloud
from geodis.report.analysis import Analysis
from geodis.report.page.python_lines import fitted_rows
from geodis.report.section import Section, SectionFigure


class PointsSection(Section):
    """Points along axes that a reader chooses."""

    name = "points"
    title = "Points"
    about = (
        "Points projected on the two chosen axes. Short lines are the directions of the manifold's "
        "factors; in the view of one factor, the lines of the others should vanish."
    )
    source = "Principal components, and the axes of GeoManCER (Pfau et al. 2020)."

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """The cloud, with what can be chosen of it."""
        drawn = analysis.factorised or analysis.material
        shown = (drawn.latents, drawn.factors, analysis.manifold, drawn.rows)
        return [SectionFigure("cloud", lambda: point_cloud(*shown))]

    def code(self, analysis: Analysis) -> str:
        """The picture on paper, or the axes of the view."""
        if analysis.manifold is not None:
            return f"gd.plots.plot_directions_by_factor({fitted_rows(analysis)}, est)"
        if analysis.settings.has_factors:
            return "gd.plots.plot_points_by_factor(latents, factors)"
        return "gd.principal_components(latents)"
