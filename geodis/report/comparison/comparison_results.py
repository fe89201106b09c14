"""The result of a comparison."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from geodis import __version__
from geodis.base.text import counted, listed, with_notes
from geodis.base.write import to_jsonable, write_json
from geodis.report.analysis import ReportSettings, versions
from geodis.report.comparison.comparison_sections import COMPARISON_SECTIONS
from geodis.report.comparison.found_factors import AgreementOfFactors, Similarity
from geodis.report.comparison.paired_scores import ComparedRuns, PairedScores
from geodis.report.page.render import Page, render_page
from geodis.report.page.score_cards import render_template
from geodis.report.results import Report, show_page
from geodis.report.sentences import reasons_of_doubt, summarise


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A comparison of several runs; prints as its summary.

    Attributes
    ----------
    runs : ComparedRuns
    settings : ReportSettings
    reports : tuple of Report
        One per run.
    scores : PairedScores or None
        None without factors, or if the scores failed.
    similarities : tuple of Similarity
    agreement : AgreementOfFactors
    date, data_hash : str
    path : Path or None
        The page, once written.
    notes : tuple of str
        Notes on rows of a table that were left out.
    """

    runs: ComparedRuns
    settings: ReportSettings
    reports: tuple[Report, ...]
    scores: PairedScores | None
    similarities: tuple[Similarity, ...]
    agreement: AgreementOfFactors
    date: str = ""
    data_hash: str = ""
    path: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names of the runs, best first; in the given order if there are no scores."""
        return self.runs.names if self.scores is None else tuple(self.scores.mean_rank.index)

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences on the ranking, significant differences, similarity and factors."""
        return summarise(COMPARISON_SECTIONS, self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the reliability of the numbers."""
        notes = [] if self.runs.material is None else list(self.runs.material.notes)
        if self.runs.material is None:
            notes += [*self._of_table(), *self.notes]
        if self.scores is None:
            whys = {report.parts["scores"].failure for report in self.reports}
            notes.append(f"The runs are not ranked: {listed(sorted(filter(None, whys)))}")
        elif self.runs.material is not None and not self.runs.seeded:
            notes.append(
                "Differences are tested by resampling rows, not seeds: a model may differ by more "
                "when it is trained again."
            )
        for name, report in zip(self.runs.names, self.reports, strict=False):
            if (est := report.manifold) is not None:
                if reasons := reasons_of_doubt(report, est):
                    notes.append(f"The factors of {name} are uncertain: {'; '.join(reasons)}.")
            else:
                notes.append(f"No factors of {name}: {report.parts['manifold'].failure}")
        return tuple(dict.fromkeys(notes))

    def _of_table(self) -> list[str]:
        """Return the limitations of a comparison of given scores."""
        chance = self.scores is not None and bool(self.scores.chance.notna().any(axis=None))
        notes = [
            "Only a table of scores was given: there are no latents to analyse"
            f"{'' if chance else ', and no chance levels'}."
        ]
        if not self.runs.seeded:
            notes.append(
                "No difference could be tested: this needs equally many seeds of every model, at "
                "least two."
            )
        return notes

    def __str__(self) -> str:
        return with_notes(self.summary, self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        table = ""
        if self.scores is not None:
            table = Markup(self.scores.value[list(self.ranking)].round(3).to_html())

        return render_template(
            "notebook.html",
            summary=self.summary,
            warnings=self.warnings,
            table=table,
            pictures={},
            path=self.path,
        )

    def page(self) -> Page:
        """Return the contents of its page."""
        title, origin = self.settings.title, self._origin()
        return Page(COMPARISON_SECTIONS, self, title, origin, self.summary, self.warnings)

    def _origin(self) -> str:
        """State runs, rows, version and seed, for the head of the page."""
        runs = counted(len(self.runs.names), "run")
        models = counted(len(set(self.runs.models)), "model")
        if self.runs.material is None:
            return f"{runs} of {models}. geodis {__version__}, {self.date}."
        seed, data = self.settings.random_state, self.data_hash[:12]
        made = f"geodis {__version__}, seed {seed}, {self.date}, data {data}"
        return f"{runs} of {models}, {self.runs.material.rows_told}. {made}."

    def show(self, height: int = 900) -> None:
        """Show the page: in the notebook if there is one, otherwise in a browser."""
        show_page(self.path, lambda: render_page(self), height)

    def to_dict(self) -> dict[str, Any]:
        """Return all results and settings as plain types."""
        kept = {
            name: {part: report.to_dict().get(part) for part in ("manifold", "maps", "distances")}
            for name, report in zip(self.runs.names, self.reports, strict=False)
        }
        return to_jsonable(
            {
                "summary": list(self.summary),
                "warnings": list(self.warnings),
                "ranking": list(self.ranking),
                "date": self.date,
                "data_hash": self.data_hash,
                "runs": list(self.runs.names),
                "models": list(self.runs.models),
                "settings": asdict(self.settings),
                "scores": self.scores and self.scores.to_dict(),
                "similarities": [vars(one) for one in self.similarities],
                "agreement": self.agreement.to_dict(),
                "parts": kept,
                "versions": versions(),
            }
        )

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write `to_dict` to a file atomically."""
        return write_json(path, self.to_dict())
