"""Step 4: every figure of a report, drawn once for the page and for a file of its own."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.base.text import printable
from geodis.base.write import whole_file
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.marks import Figure
from geodis.plots.style import forget_figure
from geodis.plots.vector.page_chart import Chart, to_chart
from geodis.plots.vector.svg_elements import svg_element
from geodis.plots.vector.svg_figure import figure_svg
from geodis.plots.vector.svg_views import views_svg
from geodis.report.analysis import Analysis
from geodis.report.ask import FAILURES, reason_of
from geodis.report.section import SectionFigure
from geodis.report.usable_figures import UsableFigures, usable_figures


@dataclass(frozen=True)
class Picture:
    """One figure that was drawn.

    Attributes
    ----------
    name : str
    chart : Chart or None
        What the page holds; None where it is on paper alone.
    file : str or None
        The SVG of a file; None where it is on the page alone.
    described : object
        What was drawn.
    """

    name: str
    chart: Chart | None
    file: str | None
    described: Any = None


@dataclass(frozen=True)
class Pictures:
    """The figures of a report.

    Attributes
    ----------
    of : dict of str to list of Picture
        Name of a section that applies -> its figures, in order.
    problems : dict of str to str
        Name of a section that could not say which it has, or draw one of them -> why.
    failures : list of str
        Figures that could not be drawn, as sentences.
    """

    of: dict[str, list[Picture]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def files(self) -> dict[str, str]:
        """Names of the figures that are files, and their SVG."""
        every = (one for pictures in self.of.values() for one in pictures)
        return {one.name: one.file for one in every if one.file is not None}


def draw_pictures(analysis: Analysis) -> Pictures:
    """Draw every figure that the parts allow; one that fails leaves the others be."""
    usable = usable_figures(analysis)
    drawn = Pictures({}, dict(usable.problems), _unusable(usable))
    for section, figures in usable.of.items():
        drawn.of[section] = kept = []
        for figure in figures:
            try:
                kept.append(draw_picture(figure))
            except FAILURES as problem:
                drawn.problems.setdefault(section, reason_of(problem))
                drawn.failures.append(f"The figure {figure.name} could not be drawn: {problem}")
    return drawn


def _unusable(usable: UsableFigures) -> list[str]:
    failed = usable.problems.items()
    said = [f"The figures of {name} could not be drawn: {problem}" for name, problem in failed]
    return [*said, *usable.refused]


def draw_picture(figure: SectionFigure) -> Picture:
    """Draw one figure, for wherever it is shown."""
    described = None if figure.describe is None else figure.describe()
    if figure.draw is not None:
        text = _svg_of_axis(figure.draw())
        chart = _as_image(figure.name, text) if described is None else to_chart(described)
        file: str | None = text
    elif isinstance(described, Figure | Choices | LinkedViews):
        chart = to_chart(described)
        file = None if figure.where == "page" else _svg_of(described)
    else:
        raise InputError(
            f"figure {figure.name} must have a description with panels, or draw; got {described}."
        )
    shown = None if figure.where == "paper" else _named(chart, figure.name)
    return Picture(figure.name, shown, None if figure.where == "page" else file, described)


def _svg_of(described: Figure | Choices | LinkedViews) -> str:
    return views_svg(described) if isinstance(described, LinkedViews) else figure_svg(described)


def _named(chart: Chart, name: str) -> Chart:
    return Chart(name, chart.about, chart.kind, chart.data, chart.svg, chart.height)


def _svg_of_axis(axis: Any) -> str:
    """The figure of a matplotlib axis."""
    file = BytesIO()
    axis.figure.savefig(file, format="svg", bbox_inches="tight")
    forget_figure(axis.figure)
    return printable(file.getvalue().decode("utf-8"))  # matplotlib writes texts as they are


def _as_image(name: str, svg: str) -> Chart:
    """An image: what a library wrote stays apart from the page."""
    text = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    image = svg_element("img", alt=name, style="max-width:100%;background:#fff",
                        src=f"data:image/svg+xml;base64,{text}")  # fmt: skip
    return Chart(name, name.replace("_", " "), "svg", None, image)


def write_files(files: dict[str, str], folder: Path) -> dict[str, Path]:
    """Write the figures; return where each is."""
    written = {}
    for name, text in files.items():
        written[name] = folder / f"{name}.svg"
        with whole_file(written[name]) as temporary:
            temporary.write_text(text, "utf-8", errors="xmlcharrefreplace")
    return written
