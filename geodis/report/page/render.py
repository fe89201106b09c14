"""Step 5: a report -> one HTML file that needs nothing beside it, no network and no folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from geodis import __version__
from geodis.base.text import counted
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.labels import clip
from geodis.plots.vector.page_chart import Chart, script_of_charts
from geodis.report.analysis import Analysis
from geodis.report.ask import ask
from geodis.report.page.bibliography import entries_of
from geodis.report.page.markup import render_template
from geodis.report.page.pictures import Picture, Pictures, draw_pictures
from geodis.report.registry import page_sections
from geodis.report.section import Section
from geodis.report.sentences.plain_words import in_plain_words

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
    """A figure on the page, what a reader can choose of it, and whether it is a file, too."""

    chart: Chart
    choices: Sequence[Choice]
    is_file: bool


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


def render_page(report: Report, pictures: Pictures | None = None, *, linked: bool = False) -> str:
    """Return the whole page as text.

    Every text that came from the user is escaped, in HTML and in the data of the figures; the
    scripts set texts as text.

    Parameters
    ----------
    report : Report
    pictures : Pictures, optional
        Its figures, where they are drawn already.
    linked : bool
        The results and the figures are files beside the page.
    """
    views = section_views(report, pictures)
    charts = [one.chart for view in views for one in view.figures if one.chart.kind != "svg"]
    data = [of_script(one) for one in charts]
    return page_text(
        title=report.settings.title,
        about=report.settings.about,
        origin=_origin(report),
        lead=in_plain_words(report),
        summary=report.summary,
        warnings=report.warnings,
        sections=views,
        charts=data,
        citations=entries_of(_cited(report)),
        linked=linked,
    )


def of_script(chart: Chart) -> dict[str, Any]:
    """What the script needs of a figure; the data as they are, for they may be large."""
    return {name: value for name, value in vars(chart).items() if name != "svg"}


def _cited(report: Report) -> list[str]:
    """Papers of the sections that have something to show."""
    return [
        key
        for section in page_sections()
        if not ask(section, "needs", report.material, report.settings).value
        for key in ask(section, "citations", report).value
    ]


def page_text(*, charts: Any = (), style: str = "", **given: Any) -> str:
    """A page by the template that all pages share, with its style and its scripts inside."""
    from markupsafe import Markup

    values = {"about": "", "lead": "", "citations": "", "linked": False, **given}
    own = files("geodis.report.page")
    script = script_of_charts() + (own / "page.js").read_text(encoding="utf-8")
    page = render_template(
        "page.html",
        policy=POLICY,
        style=Markup((own / "page.css").read_text(encoding="utf-8") + style),
        charts=Markup(script_json(charts)),
        script=Markup(script),
        **values,
    )
    return str.__str__(page)  # plain text: markup would be escaped where it is put further


def section_views(analysis: Analysis, pictures: Pictures | None = None) -> list[SectionView]:
    """The sections of the page, in order; one that cannot be made says so in its place."""
    pictures = draw_pictures(analysis) if pictures is None else pictures
    return [
        _view(section, analysis, pictures)
        for section in page_sections()
        if not ask(section, "needs", analysis.material, analysis.settings).value
    ]


def _view(section: Section, analysis: Analysis, pictures: Pictures) -> SectionView:
    """All that a section can say; of what went wrong, the first."""
    unknown = ask(section, "needs", analysis.material, analysis.settings).problem
    failure, silent = ask(section, "failure", analysis)
    if unknown:
        return SectionView(section.name, section.title, failure=failure or unknown)
    code, no_code = ask(section, "code", analysis)
    body, no_body = ask(section, "body", analysis)
    problems = (failure, silent, pictures.problems.get(section.name, ""), no_body, no_code)
    return SectionView(
        section.name,
        section.title,
        section.about,
        section.source,
        code,
        body,
        tuple(shown_figures(pictures.of.get(section.name, []))),
        next((problem for problem in problems if problem), ""),
    )


def shown_figures(pictures: Iterable[Picture]) -> Iterator[ShownFigure]:
    """The figures for the page, with what can be chosen of them."""
    for picture in pictures:
        if picture.chart is not None:
            described = picture.described
            choices = list(_choices(described)) if isinstance(described, Choices) else []
            yield ShownFigure(picture.chart, choices, picture.file is not None)


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
    rows = counted(given, "row")
    rows = rows if used == given else f"{used:,} of {rows}"
    named = ", ".join(dict.fromkeys(report.settings.sources.values()))
    file = f" of {named}" if named else ""
    columns = counted(report.material.latents.shape[1], "column")
    seed = report.settings.random_state
    data = f"data {report.data_hash[:12]}" if report.data_hash else ""
    made = ", ".join(text for text in (report.date, data) if text)
    return f"{rows}, {columns}{file}. geodis {__version__}, seed {seed}, {made}."


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
