"""About the report itself: rows that were used, what could be added, and how it was made."""

from __future__ import annotations

from typing import Any

from geodis.base.text import function_name
from geodis.report.analysis import Analysis, ReportSettings, versions
from geodis.report.material import Material
from geodis.report.page.markup import definitions, render_template
from geodis.report.page.python_lines import opening_lines
from geodis.report.section import Section

# What is shown of a setting where its value is None.
SETTINGS = {
    "random_state": "none",
    "max_points": "",
    "bins": "",
    "intervals": "",
    "dim": "estimated",
    "n_factors": "counted",
    "prepare": "nothing",
    "metric": "",
}


class RowsSection(Section):
    """Rows that were given and used; what was left out, sampled or binned."""

    name = "rows"
    title = "Rows"
    on_page = False

    def warnings(self, analysis: Analysis) -> tuple[str, ...]:
        """What was left out."""
        return analysis.material.notes

    def to_dict(self, analysis: Analysis) -> dict[str, Any]:
        """Numbers of rows and columns."""
        material = analysis.material
        return {
            "given": material.n_given,
            "used": len(material.rows),
            "columns": material.latents.shape[1],
        }


class MoreSection(Section):
    """What factors and images would add, where no factors were given."""

    name = "more"
    title = "What more could be known"

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


class MadeSection(Section):
    """Settings, time, versions, and the Python that repeats the report; stands last."""

    name = "made"
    title = "How this was made"
    about = "Run these lines first: the code of the other sections uses what they load."

    def body(self, analysis: Analysis) -> str:
        """Settings, seconds and versions."""
        rows = {}
        for name, absent in SETTINGS.items():
            value = getattr(analysis.settings, name)
            told = function_name(value) if callable(value) else str(value)
            rows[name.replace("_", " ")] = absent if value is None else told
        parts = analysis.parts.values()
        rows["seconds"] = ", ".join(f"{part.name} {part.seconds:.1f}" for part in parts)
        known = versions().items()
        rows["versions"] = ", ".join(f"{name} {version}" for name, version in known)
        return definitions(rows)

    def code(self, analysis: Analysis) -> str:
        """Loading, and the report itself."""
        return opening_lines(analysis)
