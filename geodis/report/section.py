"""A section of a page: one object for one question, from its results to its sentences."""

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
    """A figure of a section, made when it is needed.

    Attributes
    ----------
    name : str
        Of the file: lower-case letters, digits and "_", and no other figure's of the report.
    describe : callable, optional
        Returns the description that the page and the file show.
    draw : callable, optional
        Returns a matplotlib axis for the file, and for a page where there is no description.
    where : {"both", "page", "paper"}
    """

    name: str
    describe: Callable[[], Figure | Choices | LinkedViews] | None = None
    draw: Callable[[], Any] | None = None
    where: Literal["both", "page", "paper"] = "both"


class Section:
    """What a section needs, computes, says, shows and keeps; `register_section` adds one.

    A section overrides the methods that it needs; without `compute` it shows what others have
    computed. An exception in one of them is reported in its place or as a note, and the rest of
    the page is made. `analysis` is what the page is about: an `Analysis` in a report.

    Attributes
    ----------
    name : str
        Of lower-case letters, digits and "_": the key in ``results.json`` and in `Report.parts`,
        and, after "section-", the anchor on the page.
    title : str
    about : str
        How to read it, in a sentence.
    source : str
        Who introduced it.
    cites : tuple of str
        Keys of the papers, in ``page/templates/papers.bib``.
    reads : tuple of str
        Names of the sections whose parts `compute` reads, which are computed before it.
    on_page : bool
        False for a section that has only results, sentences or warnings.
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
        """Whether the section has a part of its own."""
        return type(self).compute is not Section.compute

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """What it needs and was not given, as a sentence; empty where it applies."""
        return ""

    def missing(self, analysis: Any) -> str:
        """Why it does not apply to what the page is about; empty where it does."""
        return self.needs(analysis.material, analysis.settings)

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """About how long it takes on two cores; only the time shown as left rests on it."""
        return 1.0

    def compute(self, analysis: Any) -> Any:
        """Compute the value of the part; the parts of earlier sections are there already."""
        return None

    def failure(self, analysis: Any) -> str:
        """Why there is nothing to show."""
        part = self._part(analysis)
        return "" if part is None else part.failure

    def sentence(self, analysis: Any) -> str:
        """What the summary says of it; nothing where it is empty."""
        return ""

    def at_once(self, analysis: Any) -> str:
        """What is told on a terminal as soon as it is computed: by default its sentence."""
        return self.sentence(analysis)

    def warnings(self, analysis: Any) -> Sequence[str]:
        """Where its numbers should not be trusted, and why."""
        return ()

    def notes(self, analysis: Any) -> Sequence[str]:
        """Warnings that came up while it ran, as far as they are not said already."""
        part = self._part(analysis)
        return () if part is None else part.notes

    def figures(self, analysis: Any) -> Sequence[SectionFigure]:
        """Its figures, in order."""
        return ()

    def citations(self, analysis: Any) -> Sequence[str]:
        """Keys of the papers whose methods it used."""
        return self.cites

    def body(self, analysis: Any) -> str:
        """Text on the page; what is not `markupsafe.Markup` is escaped."""
        return ""

    def code(self, analysis: Any) -> str:
        """The Python that gives the same numbers."""
        return ""

    def to_dict(self, analysis: Any) -> Any:
        """What ``results.json`` keeps of it: by default its value, or what that says of itself."""
        part = self._part(analysis)
        value: Any = None if part is None else part.value
        return value.to_dict() if hasattr(value, "to_dict") else value

    def _part(self, analysis: Any) -> Any:
        """What became of what it computed; None where it computes nothing."""
        return getattr(analysis, "parts", {}).get(self.name)


# Calls of the methods of a section; an exception in one of them stays with that section.

Hook = Literal[
    "missing", "expected_seconds", "failure", "sentence", "at_once", "warnings", "notes", "figures",
    "citations", "body", "code", "to_dict",
]  # fmt: skip

# What a section may raise without ending the report: code of others may even leave the program.
FAILURES = (Exception, SystemExit)


class Answer(NamedTuple):
    """What a section says when it is asked.

    Attributes
    ----------
    value : object
        What stands for "nothing" where it could not say.
    problem : str
        Why it could not; empty where it could.
    """

    value: Any
    problem: str = ""


def ask(section: Section, hook: Hook, *arguments: Any) -> Answer:
    """Call a method of a section; whatever goes wrong in it is a problem of that answer alone.

    Examples
    --------
    >>> class Silent(Section):
    ...     def sentence(self, analysis):
    ...         raise ValueError("no words")
    >>> ask(Silent(), "sentence", None)
    Answer(value='', problem='ValueError: no words')
    """
    read, nothing, _ = ANSWERS[hook]
    try:
        return Answer(read(getattr(section, hook)(*arguments)))
    except FAILURES as problem:  # a section must not take the report with it
        return Answer(nothing, reason_of(problem))


def reason_of(problem: BaseException) -> str:
    """Why something failed: a sentence for those who gave the input stands for itself."""
    return (
        str(problem) if isinstance(problem, InputError) else f"{type(problem).__name__}: {problem}"
    )


def note_of(section: Section, hook: Hook, problem: str) -> str:
    """What to say of a section that could not answer."""
    return f"{section.title}: could not say {ANSWERS[hook][2]} ({problem.rstrip('.')})."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"It must be text; got {value!r}.")
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):  # which would be read letter by letter
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
    """What JSON can hold, tried here so that the file of all results can be written."""
    plain = to_jsonable(value)
    json.dumps(plain, allow_nan=False)
    return plain


# Method -> how its answer is checked, what stands for none, and what it is called in a note.
ANSWERS: dict[Hook, tuple[Callable[[Any], Any], Any, str]] = {
    "missing": (_text, "", "what it needs"),
    "expected_seconds": (_seconds, 1.0, "how long it takes"),
    "failure": (_text, "", "why it failed"),
    "sentence": (_text, "", "its sentence of the summary"),
    "at_once": (_text, "", "what it found"),
    "warnings": (_texts, (), "its warnings"),
    "notes": (_texts, (), "its notes"),
    "figures": (_figures, (), "its figures"),
    "citations": (_texts, (), "what it cites"),
    "body": (_text, "", "its text"),
    "code": (_text, "", "its Python"),
    "to_dict": (_plain, None, "what to keep of it"),
}
