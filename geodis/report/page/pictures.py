"""The figures of a page, drawn for the page and for SVG files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.plots.figure.linked_views import Choices, LinkedViews
from geodis.plots.figure.marks import Figure, clip
from geodis.plots.vector.page_chart import Chart, as_file, axis_svg, figure_svg, to_chart
from geodis.report.section import FAILURES, Section, SectionFigure, call_hook, reason_of

NAME = re.compile(r"[a-z0-9_]+")


class Choice(NamedTuple):
    """A drop-down list above a figure.

    Attributes
    ----------
    options : sequence of (str, str)
        Values and labels.
    chosen : int
        Index of the initial option.
    """

    name: str
    title: str
    options: Sequence[tuple[str, str]]
    chosen: int = 0


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Attributes
    ----------
    name : str
    chart : Chart or None
        The figure on the page; None if it is only a file.
    file : str or None
        The SVG of the file; None if it is only on the page.
    described : object
        The description that was drawn.
    """

    name: str
    chart: Chart | None
    file: str | None
    described: Any = None

    @property
    def choices(self) -> list[Choice]:
        """The lists to choose from."""
        return list(_choices(self.described)) if isinstance(self.described, Choices) else []


@dataclass(frozen=True)
class Pictures:
    """The figures of a page.

    Attributes
    ----------
    of : dict of str to list of Picture
        Section name -> its figures, in order, for sections that apply.
    problems : dict of str to str
        Section name -> why one of its figures failed.
    failures : list of str
        Sentences on figures that could not be drawn.
    """

    of: dict[str, list[Picture]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def files(self) -> dict[str, str]:
        """SVG of the figures that are files, by name."""
        every = (one for pictures in self.of.values() for one in pictures)
        return {one.name: one.file for one in every if one.file is not None}


def draw_pictures(sections: Sequence[Section], analysis: Any) -> Pictures:
    """Draw the figures of all sections that apply, and record failures.

    Of two figures with the same name, only the first is drawn.
    """
    drawn, taken = Pictures(), set[str]()
    for section in sections:
        if any(call_hook(section, "missing", analysis)):
            continue
        figures, problem = call_hook(section, "figures", analysis)
        if problem:
            drawn.problems[section.name] = problem
            drawn.failures.append(f"The figures of {section.name} could not be drawn: {problem}")
        drawn.of[section.name] = []
        for figure in figures:
            if refusal := _refusal(figure.name, taken):
                drawn.failures.append(f"A figure of {section.name} was left out: {refusal}")
                continue
            taken.add(figure.name)
            try:
                drawn.of[section.name].append(draw_picture(figure))
            except FAILURES as failure:
                drawn.problems.setdefault(section.name, reason_of(failure))
                drawn.failures.append(f"The figure {figure.name} could not be drawn: {failure}")
    return drawn


def _refusal(name: str, taken: set[str]) -> str:
    """Return why a figure cannot have this name; empty if it can."""
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        return f"its name must consist of lower-case letters, digits and '_'; got {name!r}."
    return f"its name must be unique; got {name!r} again." if name in taken else ""


def draw_picture(figure: SectionFigure) -> Picture:
    """Draw one figure for the page, the file or both."""
    described = None if figure.describe is None else figure.describe()
    chart, svg = None, ""
    if figure.draw is not None:
        about = figure.name.replace("_", " ")
        svg = axis_svg(figure.draw(), figure.name, about)
        chart = Chart(figure.name, about, "svg", None, svg)
    if isinstance(described, Figure | Choices | LinkedViews):
        described = replace(described, name=figure.name)
        chart = to_chart(described)
        svg = svg or chart.svg
        if not svg and figure.where != "page":
            svg = figure_svg(described, of_page=True)
    if chart is None:
        raise InputError(
            f"figure {figure.name} must have a description with panels, or draw; got {described}."
        )
    file = as_file(svg) if figure.where != "page" else None
    return Picture(figure.name, chart if figure.where != "paper" else None, file, described)


def write_files(files: dict[str, str], folder: Path) -> dict[str, Path]:
    """Write the figures, and return their paths."""
    written = {}
    for name, text in files.items():
        written[name] = folder / f"{name}.svg"
        with whole_file(written[name]) as temporary:
            temporary.write_text(text, "utf-8", errors="xmlcharrefreplace")
    return written


def _choices(figure: Choices) -> Iterator[Choice]:
    """Make the lists above a figure; the template escapes the texts."""
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
