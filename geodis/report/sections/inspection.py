"""The inspection of the points, and the sections about the report itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import counted, function_name, listed
from geodis.plots.geometry.spectra import principal_spectrum_figure
from geodis.report.analysis import Analysis, ReportSettings, versions
from geodis.report.material import Material
from geodis.report.page.score_cards import definitions, opening_lines, render_template
from geodis.report.section import Section, SectionFigure

if TYPE_CHECKING:
    from geodis.inspection import Inspection
    from geodis.plots.figure.marks import Figure


# A counter column has at least this many values, with steps equal up to this share; tables with
# more than MOST_COLUMNS columns are not checked.
FEWEST_VALUES, EVEN, MOST_COLUMNS = 10, 1e-6, 32
MAX_PAIRS = 8  # pairs of equal columns to name


class InspectionSection(Section):
    """Size, defects, connectivity and dimension; shown in the section on factors."""

    name = "inspection"
    title = "Inspection"
    on_page = False

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Linear in the number of rows."""
        return 1 + 1e-4 * len(material.latents)

    def compute(self, analysis: Analysis) -> Inspection:
        """Inspect the points."""
        from geodis.inspection import inspect_points

        settings = analysis.settings
        return inspect_points(
            analysis.material.latents, **settings.compared, random_state=settings.random_state
        )

    def at_once(self, analysis: Analysis) -> str:
        """Size and dimension of the points."""
        seen = analysis.inspection
        if seen is None:
            return ""
        return f"{counted(seen.n_used, 'point')} in {counted(seen.d, 'column')}, {seen.dimension}."

    def warnings(self, analysis: Analysis) -> list[str]:
        """Few points, disconnected points, inconsistent estimates, and uninformative columns."""
        seen = analysis.inspection
        if seen is None:
            return []
        counting = counting_columns(analysis.material.latents)
        return [*_of_points(seen), *_of_columns(seen), *_of_counters(counting, seen.d)]

    def body(self, analysis: Analysis) -> str:
        """The result, or why there is none."""
        seen = analysis.inspection
        if seen is None:
            return render_template("not_inspected.html", failure=self.failure(analysis))
        pieces = len(seen.pieces)
        connected = "connected" if pieces == 1 else f"in {pieces} disconnected components"
        return definitions(
            {
                "points": f"{seen.n_used:,} in {counted(seen.d, 'column')}",
                "dimension": str(seen.dimension).removeprefix("dimension "),
                "neighbour graph": f"{seen.n_neighbors} neighbours per point, {connected}",
                "enough points": f"{seen.enough_points}: this dimension needs {seen.needed:,}, "
                f"and {seen.recommended:,} for reliable factors",
            }
        )


def variance_figures(analysis: Analysis) -> list[SectionFigure]:
    """Make the figure of the variance along principal components."""
    seen = analysis.inspection
    if seen is None:
        return []

    def describe() -> Figure:
        return principal_spectrum_figure(seen.explained, seen.dimension.dim, edge=seen.edge_share)

    return [SectionFigure("principal_components", describe)]


def _of_points(seen: Inspection) -> list[str]:
    warnings = []
    if seen.enough_points != "yes" and np.isfinite(seen.dimension.two_nn):
        few = "too few" if seen.enough_points == "no" else "few"
        warnings.append(
            f"{seen.n_used:,} points are {few} for dimension {seen.dimension.dim}: {seen.needed:,} "
            f"are needed to look for factors, and {seen.recommended:,} for reliable factors."
        )
    if len(seen.pieces) > 1:
        warnings.append(
            f"The neighbour graph has {len(seen.pieces)} connected components (the largest has "
            f"{seen.pieces[0]:,} points): factor labels are comparable only within a component."
        )
    if not seen.dimension.agree:
        text = seen.dimension.account
        warnings.append(f"{text[0].upper()}{text[1:]}.")
    return warnings


def counting_columns(points: np.ndarray) -> list[int]:
    """Find columns with evenly spaced values, such as times, row numbers and identifiers.

    The result is empty if all columns are evenly spaced, as the points are then a grid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counting_columns(np.column_stack([np.arange(30) % 12, rng.standard_normal(30)]))
    [0]
    """
    d = points.shape[1]
    if d > MOST_COLUMNS:  # many pixels take few, evenly spaced values
        return []
    found = []
    for column in range(d):
        values = np.unique(points[:, column])
        steps = np.diff(values)
        if len(values) >= FEWEST_VALUES and np.ptp(steps) < EVEN * steps.max():
            found.append(column)
    return [] if len(found) == d else found


def _of_counters(found: Sequence[int], d: int) -> list[str]:
    """Write the warning on counter columns."""
    if not found:
        return []
    many = len(found) > 1
    others = ",".join("abc"[: min(3, d - len(found))])
    return [
        f"Column{'s' * many} {listed(found)} ha{'ve' if many else 's'} evenly spaced values, like "
        f"times or identifiers, and {'are' if many else 'is'} used as coordinate{'s' * many}. If "
        f"{'they are' if many else 'it is'} not meant to be, pass the other columns only: "
        f"file.csv:{others} selects columns by name."
    ]


def _of_columns(seen: Inspection) -> list[str]:
    warnings = []
    if seen.constant_columns:
        warnings.append(f"Columns without variation: {listed(seen.constant_columns)}.")
    if seen.duplicate_columns:
        pairs = [f"{b} = {a}" for a, b in seen.duplicate_columns]
        warnings.append(f"Equal columns: {listed(pairs[:MAX_PAIRS])}.")
    if copies := seen.duplicate_rows:
        repeat = "repeats" if copies == 1 else "repeat"
        warnings.append(
            f"{counted(copies, 'row')} {repeat} others; duplicates are used once in the geometry."
        )
    return warnings


# Sections about the report itself.

# Settings to show, and texts for the value None.
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
    """Rows that were given and used, and notes on sampling and binning."""

    name = "rows"
    title = "Rows"
    on_page = False

    def warnings(self, analysis: Analysis) -> tuple[str, ...]:
        """Notes on the rows."""
        return analysis.material.notes

    def to_dict(self, analysis: Analysis) -> dict[str, Any]:
        """Return the numbers of rows and columns."""
        material = analysis.material
        return {
            "given": material.n_given,
            "used": len(material.rows),
            "columns": material.latents.shape[1],
        }


class MoreSection(Section):
    """What factors and images would add, if no factors were given."""

    name = "more"
    title = "What more data would add"

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Applies only without factors."""
        return "" if material.factors is None else "Factors were given."

    def body(self, analysis: Analysis) -> str:
        """List what each would add."""
        return render_template("more.html", has_images=analysis.settings.has_images)

    def code(self, analysis: Analysis) -> str:
        """The call with all inputs."""
        return (
            "gd.report(latents, factors, images)  # or: geodis report latents.npy "
            "--factors factors.csv --images images.npy"
        )


class MadeSection(Section):
    """Settings, run time, versions, and code that repeats the report; shown last."""

    name = "made"
    title = "How this report was made"
    about = "Run this code first: the code of the other sections uses its variables."

    def body(self, analysis: Analysis) -> str:
        """Settings, run times and versions."""
        rows = {}
        for name, absent in SETTINGS.items():
            value = getattr(analysis.settings, name)
            text = function_name(value) if callable(value) else str(value)
            rows[name.replace("_", " ")] = absent if value is None else text
        parts = analysis.parts.values()
        rows["seconds"] = ", ".join(f"{part.name} {part.seconds:.1f}" for part in parts)
        known = versions().items()
        rows["versions"] = ", ".join(f"{name} {version}" for name, version in known)
        return definitions(rows)

    def code(self, analysis: Analysis) -> str:
        """Code that loads the inputs and makes the report."""
        return opening_lines(analysis)
