"""A first look at the points: sizes, defects, pieces, dimension."""

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


# A column with so many values or more, whose steps differ by less than this share, counts.
FEWEST_VALUES, EVEN, MOST_COLUMNS = 10, 1e-6, 32
MAX_PAIRS = 8  # of equal columns that are named


class InspectionSection(Section):
    """Computed first; the page shows it beside the factors of the manifold."""

    name = "inspection"
    title = "First look"
    on_page = False

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Grow with the rows."""
        return 1 + 1e-4 * len(material.latents)

    def compute(self, analysis: Analysis) -> Inspection:
        """Look at the points."""
        from geodis.inspection import inspect_points

        settings = analysis.settings
        return inspect_points(
            analysis.material.latents, **settings.compared, random_state=settings.random_state
        )

    def at_once(self, analysis: Analysis) -> str:
        """Size and dimension: the first that is known."""
        seen = analysis.inspection
        if seen is None:
            return ""
        return f"{counted(seen.n_used, 'point')} in {counted(seen.d, 'column')}, {seen.dimension}."

    def warnings(self, analysis: Analysis) -> list[str]:
        """Few points, pieces, estimates that disagree, columns and rows without news."""
        seen = analysis.inspection
        if seen is None:
            return []
        counting = counting_columns(analysis.material.latents)
        return [*_of_points(seen), *_of_columns(seen), *_of_counters(counting, seen.d)]

    def body(self, analysis: Analysis) -> str:
        """What was seen, or why nothing was."""
        seen = analysis.inspection
        if seen is None:
            return render_template("not_inspected.html", failure=self.failure(analysis))
        pieces = len(seen.pieces)
        connected = "connected" if pieces == 1 else f"in {pieces} pieces"
        return definitions(
            {
                "points": f"{seen.n_used:,} in {counted(seen.d, 'column')}",
                "dimension": str(seen.dimension).removeprefix("dimension "),
                "neighbour graph": f"{seen.n_neighbors} neighbours a point, {connected}",
                "enough points": f"{seen.enough_points}: {seen.needed:,} are needed in this "
                f"dimension, {seen.recommended:,} to be trusted",
            }
        )


def variance_figures(analysis: Analysis) -> list[SectionFigure]:
    """The variance along principal components."""
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
            f"are needed to look for factors, and {seen.recommended:,} to trust what is found."
        )
    if len(seen.pieces) > 1:
        warnings.append(
            f"The neighbour graph is in {len(seen.pieces)} pieces (the largest of "
            f"{seen.pieces[0]:,} points): factor labels are comparable only within a piece."
        )
    if not seen.dimension.agree:
        text = seen.dimension.account
        warnings.append(f"{text[0].upper()}{text[1:]}.")
    return warnings


def counting_columns(points: np.ndarray) -> list[int]:
    """Columns that count in even steps, as times, numbers of rows and identifiers do.

    None where all do: such points are a grid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counting_columns(np.column_stack([np.arange(30) % 12, rng.standard_normal(30)]))
    [0]
    """
    d = points.shape[1]
    if d > MOST_COLUMNS:  # of pixels many take few values in even steps
        return []
    found = []
    for column in range(d):
        values = np.unique(points[:, column])
        steps = np.diff(values)
        if len(values) >= FEWEST_VALUES and np.ptp(steps) < EVEN * steps.max():
            found.append(column)
    return [] if len(found) == d else found


def _of_counters(found: Sequence[int], d: int) -> list[str]:
    """What to do with such columns."""
    if not found:
        return []
    many = len(found) > 1
    others = ",".join("abc"[: min(3, d - len(found))])
    return [
        f"Column{'s' * many} {listed(found)} count{'s' * (not many)} in even steps, as times and "
        f"identifiers do: distances see {'them' if many else 'it'} as coordinates. If "
        f"{'they are' if many else 'it is'} none, give the other columns alone: file.csv:{others} "
        "reads those of these names."
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
        warnings.append(f"{counted(copies, 'row')} {repeat} others, counted once in the geometry.")
    return warnings


# About the report itself: rows that were used, what could be added, and how it was made.

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
