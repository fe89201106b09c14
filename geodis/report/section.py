"""Sections of a page: what each computes, says and shows, and calls that contain its errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.plots.figure.linked_views import Choices, LinkedViews
from geodis.plots.figure.marks import Figure

if TYPE_CHECKING:
    from geodis.report.analysis import ReportSettings
    from geodis.report.material import Material


@dataclass(frozen=True)
class SectionFigure:
    """A figure of a section, drawn on demand.

    Attributes
    ----------
    name : str
        Name of the file: lower-case letters, digits and "_", unique in the report.
    describe : callable, optional
        Returns the description of the figure on the page and in the file.
    draw : callable, optional
        Returns a matplotlib axis for the file, and for the page if there is no description.
    where : {"both", "page", "paper"}
        Whether to show it on the page, in a file, or both.
    """

    name: str
    describe: Callable[[], Figure | Choices | LinkedViews] | None = None
    draw: Callable[[], Any] | None = None
    where: Literal["both", "page", "paper"] = "both"


class Section:
    """Base class of the sections of a page; `register_section` adds one.

    A subclass overrides the methods that it needs. Without `compute`, a section shows results of
    others. An exception in a method is reported on the page, and the rest of the page is written.
    `analysis` is the subject of the page: an `Analysis` in a report.

    Attributes
    ----------
    name : str
        Lower-case letters, digits and "_": the key in ``results.json`` and in `Report.parts`, and,
        with the prefix "section-", the anchor on the page.
    title : str
    about : str
        One or two sentences on how to read the section.
    source : str
        Origin of the method.
    cites : tuple of str
        Keys of papers in ``page/templates/papers.bib``.
    reads : tuple of str
        Names of the sections whose results `compute` uses, which run first.
    on_page : bool
        False for a section with only results, sentences or warnings.
    """

    name: str = ""
    title: str = ""
    about: str = ""
    source: str = ""
    cites: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    on_page: bool = True

    @property
    def computes(self) -> bool:
        """Whether the section overrides `compute`."""
        return type(self).compute is not Section.compute

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Return a sentence on missing inputs; empty if the section applies."""
        return ""

    def missing(self, analysis: Any) -> str:
        """Return why the section does not apply to this analysis; empty if it does."""
        return self.needs(analysis.material, analysis.settings)

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Estimate the run time on two cores, for the display of the remaining time."""
        return 1.0

    def compute(self, analysis: Any) -> Any:
        """Compute the result; results of the sections in `reads` are available."""
        return None

    def failure(self, analysis: Any) -> str:
        """Return why there is nothing to show; empty if there is something."""
        part = self._part(analysis)
        return "" if part is None else part.failure

    def sentence(self, analysis: Any) -> str:
        """Return the sentence of the summary, or an empty string."""
        return ""

    def at_once(self, analysis: Any) -> str:
        """Return what the terminal shows after `compute`; by default the sentence."""
        return self.sentence(analysis)

    def warnings(self, analysis: Any) -> Sequence[str]:
        """Return warnings about the reliability of its numbers."""
        return ()

    def notes(self, analysis: Any) -> Sequence[str]:
        """Return warnings raised during `compute`, without those in `warnings`."""
        part = self._part(analysis)
        return () if part is None else part.notes

    def figures(self, analysis: Any) -> Sequence[SectionFigure]:
        """Return its figures, in order."""
        return ()

    def citations(self, analysis: Any) -> Sequence[str]:
        """Return the keys of the papers whose methods it used."""
        return self.cites

    def body(self, analysis: Any) -> str:
        """Return the text on the page; anything but `markupsafe.Markup` is escaped."""
        return ""

    def code(self, analysis: Any) -> str:
        """Return Python code that reproduces its numbers."""
        return ""

    def to_dict(self, analysis: Any) -> Any:
        """Return its entry in ``results.json``: by default its result or the result's `to_dict`."""
        part = self._part(analysis)
        value: Any = None if part is None else part.value
        return value.to_dict() if hasattr(value, "to_dict") else value

    def _part(self, analysis: Any) -> Any:
        """Return the `Part` of this section; None if it does not compute."""
        return getattr(analysis, "parts", {}).get(self.name)


# Calls of the methods of a section, which contain its exceptions.

Hook = Literal[
    "missing", "expected_seconds", "failure", "sentence", "at_once", "warnings", "notes", "figures",
    "citations", "body", "code", "to_dict",
]  # fmt: skip

# Exceptions that a section may raise without ending the report; third-party code may even exit.
FAILURES = (Exception, SystemExit)


class HookResult(NamedTuple):
    """Result of calling a method of a section.

    Attributes
    ----------
    value : object
        The return value; a default if the call failed.
    problem : str
        Why the call failed; empty if it did not.
    """

    value: Any
    problem: str = ""


def call_hook(section: Section, hook: Hook, *arguments: Any) -> HookResult:
    """Call a method of a section, check its return value, and catch its exceptions.

    Examples
    --------
    >>> class Silent(Section):
    ...     def sentence(self, analysis):
    ...         raise ValueError("no words")
    >>> call_hook(Silent(), "sentence", None)
    HookResult(value='', problem='ValueError: no words')
    """
    read, nothing, _ = HOOKS[hook]
    try:
        return HookResult(read(getattr(section, hook)(*arguments)))
    except FAILURES as problem:  # a section must not take the report with it
        return HookResult(nothing, reason_of(problem))


def reason_of(problem: BaseException) -> str:
    """Describe an exception: the message of an `InputError`, otherwise type and message."""
    return (
        str(problem) if isinstance(problem, InputError) else f"{type(problem).__name__}: {problem}"
    )


def note_of(section: Section, hook: Hook, problem: str) -> str:
    """Write the note on a method of a section that failed."""
    return f"{section.title}: could not determine {HOOKS[hook][2]} ({problem.rstrip('.')})."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"It must be text; got {value!r}.")
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        raise InputError(f"They must be a sequence of texts; got the text {value!r}.")
    return [_text(one) for one in value]


def _seconds(value: Any) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"They must be a number of seconds, 0 or more; got {value!r}.")
    return float(value)


def _figures(value: Sequence[Any]) -> list[SectionFigure]:
    for one in value:
        if not isinstance(one, SectionFigure):
            raise InputError(f"figures must be a sequence of SectionFigure; got {one!r}.")
    return list(value)


def _plain(value: Any) -> Any:
    """Convert a value to JSON types; fails here rather than when all results are written."""
    plain = to_jsonable(value)
    json.dumps(plain, allow_nan=False)
    return plain


# Method -> check of its return value, default, and name in notes.
HOOKS: dict[Hook, tuple[Callable[[Any], Any], Any, str]] = {
    "missing": (_text, "", "what it needs"),
    "expected_seconds": (_seconds, 1.0, "its run time"),
    "failure": (_text, "", "why it failed"),
    "sentence": (_text, "", "its sentence of the summary"),
    "at_once": (_text, "", "its first result"),
    "warnings": (_texts, (), "its warnings"),
    "notes": (_texts, (), "its notes"),
    "figures": (_figures, (), "its figures"),
    "citations": (_texts, (), "its citations"),
    "body": (_text, "", "its text"),
    "code": (_text, "", "its Python"),
    "to_dict": (_plain, None, "its entry in results.json"),
}
