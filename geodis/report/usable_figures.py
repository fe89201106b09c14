"""The figures of all sections, each under a name of its own that can be that of a file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from geodis.report.analysis import Analysis
from geodis.report.ask import ask
from geodis.report.registry import all_sections
from geodis.report.section import SectionFigure

NAME = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True)
class UsableFigures:
    """Figures that can be written and shown.

    Attributes
    ----------
    of : dict of str to list of SectionFigure
        Name of a section that applies -> its figures, in order.
    problems : dict of str to str
        Name of a section that could not say which it has -> why.
    refused : list of str
        Figures whose name cannot be used, and why, as sentences.
    """

    of: dict[str, list[SectionFigure]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def usable_figures(analysis: Analysis) -> UsableFigures:
    """Ask every section that applies; of two figures of one name the first is taken."""
    usable = UsableFigures()
    taken: set[str] = set()
    for section in all_sections():
        if any(ask(section, "needs", analysis.material, analysis.settings)):
            continue
        figures, problem = ask(section, "figures", analysis)
        if problem:
            usable.problems[section.name] = problem
        usable.of[section.name] = kept = []
        for figure in figures:
            if refusal := _refusal(figure.name, taken):
                usable.refused.append(f"A figure of {section.name} was left out: {refusal}")
            else:
                taken.add(figure.name)
                kept.append(figure)
    return usable


def _refusal(name: str, taken: set[str]) -> str:
    """Why a figure cannot have this name; empty where it can."""
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        return f"its name must be of lower-case letters, digits and '_'; got {name!r}."
    return f"it needs a name of its own; got {name!r}, which there is." if name in taken else ""
