"""Step 4: a report -> one HTML file that needs nothing beside it, no network and no folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from geodis import __version__
from geodis.base.check import require
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.interactive import Chart, script_of_charts, to_chart
from geodis.plots.figure.labels import clip
from geodis.report.analysis import Analysis
from geodis.report.ask import FAILURES, ask, reason_of
from geodis.report.page.markup import render_template, template_engine
from geodis.report.registry import page_sections
from geodis.report.section import Section, SectionFigure
from geodis.report.usable_figures import UsableFigures, usable_figures

if TYPE_CHECKING:
    from geodis.report.results import Report

# Nothing may be fetched, whatever text a file brings: the browser refuses it.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'"
)


class Choice(NamedTuple):
    """A list to choose from, above a figure.

    Attributes
    ----------
    options : sequence of (str, str)
        Values, and the texts that stand for them.
    chosen : int
        Which at first.
    """

    name: str
    title: str
    options: Sequence[tuple[str, str]]
    chosen: int = 0


class ShownFigure(NamedTuple):
    """A figure on the page, its data for the script, and what a reader can choose of it."""

    chart: Chart
    json: str
    choices: Sequence[Choice]


@dataclass(frozen=True)
class SectionView:
    """What the page shows of a section."""

    name: str
    title: str
    about: str = ""
    source: str = ""
    code: str = ""
    body: str = ""
    figures: tuple[ShownFigure, ...] = ()
    failure: str = ""


def check_page_extras() -> None:
    """Say in one sentence what is missing for a page."""
    plotly_script()
    template_engine()


def plotly_script() -> str:
    """The source of plotly.js, from the package that brings it."""
    require("plotly", extra="report", purpose="The page of a report")
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the whole page as text.

    Every text that came from the user is escaped: in HTML, in the data of the figures, and in
    what plotly.js reads as markup.
    """
    from markupsafe import Markup

    views = section_views(report)
    charts = ",".join(figure.json for view in views for figure in view.figures)
    own = files("geodis.report.page")
    script = script_of_charts() + (own / "page.js").read_text(encoding="utf-8")
    return render_template(
        "page.html",
        policy=POLICY,
        title=report.settings.title,
        style=Markup((own / "page.css").read_text(encoding="utf-8")),
        origin=_origin(report),
        summary=report.summary,
        warnings=report.warnings,
        sections=views,
        charts=Markup(f"[{charts}]"),
        plotly=Markup(plotly_script()),
        script=Markup(script),
    )


def section_views(analysis: Analysis) -> list[SectionView]:
    """The sections of the page, in order; one that cannot be made says so in its place."""
    usable = usable_figures(analysis)
    return [
        _view(section, analysis, usable)
        for section in page_sections()
        if not ask(section, "needs", analysis.material, analysis.settings).value
    ]


def _view(section: Section, analysis: Analysis, usable: UsableFigures) -> SectionView:
    """All that a section can say; of what went wrong, the first."""
    unknown = ask(section, "needs", analysis.material, analysis.settings).problem
    failure, silent = ask(section, "failure", analysis)
    if unknown:
        return SectionView(section.name, section.title, failure=failure or unknown)
    code, no_code = ask(section, "code", analysis)
    body, no_body = ask(section, "body", analysis)
    figures, not_drawn = _shown(usable.of.get(section.name, []))
    problems = (failure, silent, usable.problems.get(section.name, ""), not_drawn, no_body, no_code)
    return SectionView(
        section.name,
        section.title,
        section.about,
        section.source,
        code,
        body,
        tuple(figures),
        next((problem for problem in problems if problem), ""),
    )


def _shown(figures: Sequence[SectionFigure]) -> tuple[list[ShownFigure], str]:
    """The figures of a section for the page, and why the first that cannot be shown cannot."""
    shown, problems = [], []
    for figure in figures:
        if figure.where == "paper" or figure.describe is None:
            continue
        try:
            described = figure.describe()
            chart = replace(to_chart(described), name=figure.name)
            choices = list(_choices(described)) if isinstance(described, Choices) else []
            shown.append(ShownFigure(chart, script_json(asdict(chart)), choices))
        except FAILURES as problem:  # a figure must not take the page with it
            problems.append(reason_of(problem))
    return shown, problems[0] if problems else ""


def script_json(value: Any) -> str:
    r"""JSON that may stand inside a script element: no "<" can end it early.

    Examples
    --------
    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _origin(report: Report) -> str:
    used, given = len(report.material.rows), report.material.n_given
    rows = f"{used:,} rows" if used == given else f"{used:,} of {given:,} rows"
    named = ", ".join(report.settings.sources.values())
    file = f" of {named}" if named else ""
    columns = report.material.latents.shape[1]
    seed = report.settings.random_state
    return f"{rows}, {columns} columns{file}. geodis {__version__}, seed {seed}."


def _choices(figure: Choices) -> Iterator[Choice]:
    """What a reader chooses; the template escapes the texts."""
    if len(figure.panels) > 1:
        yield Choice("panel", figure.asked, _numbered(panel.title for panel in figure.panels))
    if figure.views:
        pairs = list(figure.views.values())
        first = (figure.x, figure.y)
        chosen = pairs.index(first) if first in pairs else 0
        yield Choice("view", "view", _numbered(figure.views), chosen)
    axes = _numbered(axis.title for axis in figure.axes)
    yield Choice("x", "across", axes, figure.x)
    yield Choice("y", "up", axes, figure.y)


def _numbered(texts: Iterable[str]) -> list[tuple[str, str]]:
    return [(str(i), clip(text)) for i, text in enumerate(texts)]
