"""What factors and images would add, where they were not given."""

from __future__ import annotations

from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.markup import render_template
from geodis.report.section import Section


class MoreSection(Section):
    """Stands where factors are missing."""

    name = "more"
    title = "What more could be known"
    place = 90

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """No factors."""
        return "" if material.factors is None else "Factors were given."

    def body(self, analysis: Analysis) -> str:
        """What each would add."""
        return render_template("more.html", has_images=analysis.settings.has_images)

    def code(self, analysis: Analysis) -> str:
        """The call with everything."""
        return (
            "gd.report(latents, factors, images)  # or: geodis report latents.npy "
            "--factors factors.csv --images images.npy"
        )
