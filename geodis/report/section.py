"""A section of a page: one object for one question, from its results to its sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from geodis.plots.figure.choices import Choices
from geodis.plots.figure.linked_views import LinkedViews
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
