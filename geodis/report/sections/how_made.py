"""How a report was made: settings, time, versions, and the Python that repeats it."""

from __future__ import annotations

from geodis.base.text import function_name
from geodis.report.analysis import Analysis, versions
from geodis.report.page.markup import definitions
from geodis.report.page.python_lines import opening_lines
from geodis.report.section import Section

# What is shown of a setting: its value, or what None stands for.
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


class MadeSection(Section):
    """Stands last."""

    name = "made"
    title = "How this was made"
    about = "These lines come first: the lines of every section use what they load."
    place = 100

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
