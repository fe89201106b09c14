"""Which rows a report is made of: nothing to compute, and to be read before the scores."""

from __future__ import annotations

from typing import Any

from geodis.report.analysis import Analysis
from geodis.report.section import Section


class RowsSection(Section):
    """Rows that were given and used; what was left out, drawn or binned."""

    name = "rows"
    title = "Rows"
    place = None

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
