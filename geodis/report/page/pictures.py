"""Step 4, too: the figures of a report as PNG and SVG, as papers need them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.plots.figure.choices import Choices
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.marks import Figure
from geodis.plots.figure.static import draw_figure
from geodis.plots.style import save_figure
from geodis.report.analysis import Analysis
from geodis.report.ask import FAILURES
from geodis.report.section import SectionFigure
from geodis.report.usable_figures import UsableFigures, usable_figures

SUFFIXES = (".png", ".svg")


def draw_pictures(analysis: Analysis, folder: Path) -> tuple[dict[str, Path], list[str]]:
    """Write every figure that the parts allow.

    Returns
    -------
    figures : dict of str to Path
        The PNG of each; its SVG stands beside it.
    failures : list of str
        Figures that could not be drawn, and why: one must not take the others with it.
    """
    written: dict[str, Path] = {}
    usable = usable_figures(analysis)
    failures = [
        f"The figures of {name} could not be drawn: {problem}"
        for name, problem in usable.problems.items()
    ]
    failures += usable.refused
    for figure in _paper_figures(usable):
        try:
            _save(figure, folder)
        except FAILURES as problem:
            failures.append(f"The figure {figure.name} could not be drawn: {problem}")
        else:
            written[figure.name] = folder / f"{figure.name}.png"
    return written, failures


def _paper_figures(usable: UsableFigures) -> list[SectionFigure]:
    return [one for figures in usable.of.values() for one in figures if one.where != "page"]


def _save(figure: SectionFigure, folder: Path) -> None:
    axis = _drawn(figure)
    for suffix in SUFFIXES:
        save_figure(axis, folder / f"{figure.name}{suffix}")


def _drawn(figure: SectionFigure) -> Any:
    """The matplotlib axis of a figure."""
    if figure.draw is not None:
        return figure.draw()
    described = None if figure.describe is None else figure.describe()
    if not isinstance(described, Figure | Choices | LinkedViews):
        raise InputError(
            f"figure {figure.name} must have a description with panels, or draw; got {described}."
        )
    return draw_figure(described)
