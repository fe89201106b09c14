"""How disentangled the columns are, by every score beside chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import counted, first_sentence, fixed, listed, number_text
from geodis.plots.scores import scores_figure, scores_per_factor_figure
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.bibliography import keys_in
from geodis.report.page.markup import render_template
from geodis.report.page.python_lines import seed_argument
from geodis.report.page.score_bar import score_bar
from geodis.report.page.score_cards import ShownCard, cards_markup, cards_of
from geodis.report.section import Section, SectionFigure
from geodis.report.sections.resamplings import (
    affordable,
    interval_sentence,
    no_interval_sentence,
    with_intervals,
)
from geodis.scores.registry import entries
from geodis.scores.table.answers import NEAR_CHANCE, above_chance, answer_lines, judged_scores
from geodis.scores.table.costly_scores import (
    left_out,
    left_out_sentence,
    scores_to_compute,
)

if TYPE_CHECKING:
    import pandas as pd

    from geodis.scores.table.score_table import ScoreTable

SCORED_ROWS = 10_000
NOT_GIVEN = (
    "No factors of variation were given: with them, the report would score how disentangled the "
    "columns are, with a chance level for each score."
)


class ScoresSection(Section):
    """Scores of latents and factors."""

    name = "scores"
    title = "Scores"
    about = (
        "Compare each score with chance, its value when the rows of the factors are shuffled. The "
        "interval shows how much it varies when the rows are resampled. Grey scores are no more "
        "than 0.02 above chance. This is not a test: chance is a single shuffle, and scores of "
        "pure noise may exceed it by more."
    )
    source = (
        "Locatello et al. (2019) compare these scores; the docstring of each function in "
        "geodis.scores names its paper."
    )
    cites = ("locatello2019",)

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Factors."""
        given = material.factors is not None
        return "" if given else "Scores compare latents with factors, and none were given."

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Grow with rows, factors and latents."""
        n, z = material.latents.shape
        f = 0 if material.factors is None else len(material.factors.names)
        return (2 + 6e-5 * n * f * (1 + z / 10)) * (f > 0)

    def compute(self, analysis: Analysis) -> ScoreTable:
        """Every score with its chance level and its interval."""
        from geodis.scores.table.score_latents import score_latents

        intervals, seed = analysis.settings.intervals, analysis.settings.random_state
        used = analysis.material.thinned(SCORED_ROWS, seed)
        options: dict[str, Any] = {"bins": used.bins, "verbose": 0, "random_state": seed}
        options["n_jobs"] = analysis.settings.n_jobs
        options["groups"] = analysis.settings.groups
        names = scores_to_compute(*_asked(analysis, used))
        table = score_latents(used.latents, used.factors, names, **options)
        intervals = affordable(intervals, used.latents.shape)
        return with_intervals(table, used, intervals, options) if intervals else table

    def sentence(self, analysis: Analysis) -> str:
        """The leading scores, and how many are above chance."""
        table, part = analysis.scores, analysis.parts[self.name]
        if table is None:
            failed = f"The scores could not be computed: {first_sentence(part.failure)}"
            return failed if part.applies else NOT_GIVEN
        judged = judged_scores(table.frame)
        above = int(above_chance(judged).sum())
        exceed = "exceeds" if above == 1 else "exceed"
        text = (
            f"{above} of {counted(len(judged), 'score')} with a chance level {exceed} it by more "
            f"than {NEAR_CHANCE:g}"
        )
        named = _leading(table.frame)
        text = f"{listed(named)}; {text}" if named else text
        return f"{text[0].upper()}{text[1:]}{_extremes(table)}."

    def warnings(self, analysis: Analysis) -> list[str]:
        """Scores that are at chance."""
        table = analysis.scores
        if table is None:
            return []
        dear = left_out(*_asked(analysis, analysis.material))
        said = [left_out_sentence(dear, table.n_latents)] if dear else []
        near = _near_chance(table.frame)
        if near:
            said.append(f"Not above chance, so not informative here: {', '.join(near)}.")
        return said

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """All scores as a file, for the table has them, and the parts of every factor."""
        table = analysis.scores
        if table is None:
            return []
        figures = [SectionFigure("scores", lambda: scores_figure(table), where="paper")]
        if not table.per_factor.empty:
            describe = scores_per_factor_figure
            figures.append(SectionFigure("per_factor", lambda: describe(table)))
        return figures

    def citations(self, analysis: Analysis) -> list[str]:
        """The papers of the scores that were computed."""
        there = () if analysis.scores is None else analysis.scores.scores
        used = (one.card for one in entries() if one.name in there and one.card is not None)
        return [*self.cites, *(key for card in used for key in keys_in(card.source))]

    def body(self, analysis: Analysis) -> str:
        """The table, and its remarks."""
        table = analysis.scores
        if table is None:
            return ""
        spread = bool(table.frame["low"].notna().any())
        cards = cards_of(table.frame.index, analysis.settings.docs)
        families = _families(table.frame, cards)
        remarks = [interval_sentence(table, analysis.settings.intervals)] * spread
        if analysis.settings.intervals and not spread:
            remarks.append(no_interval_sentence(table, analysis.settings.intervals))
        remarks += table.remarks()
        answers = answer_lines(table.frame)
        return render_template(
            "scores.html",
            answers=answers,
            families=families,
            spread=spread,
            remarks=remarks,
            cards=cards_markup(cards.values()),
        )

    def code(self, analysis: Analysis) -> str:
        """The call of score_latents."""
        settings = analysis.settings
        options = f"bins={settings.bins}, {seed_argument(settings)}"
        if settings.groups:
            options = f"groups={settings.groups}, {options}"
        names = scores_to_compute(*_asked(analysis, analysis.material))
        if names is not None:
            options = f"{names}, {options}"
        if len(analysis.material.rows) <= SCORED_ROWS:
            return f"table = gd.score_latents(latents, factors, {options})"
        return (
            f"some = report.material.thinned({SCORED_ROWS}, {settings.random_state})\n"
            f"table = gd.score_latents(some.latents, some.factors, {options})"
        )


def _asked(
    analysis: Analysis, used: Material
) -> tuple[tuple[int, ...], int, tuple[str, ...] | None]:
    """Shape of the latents, number of factors, and the scores that somebody asked for."""
    count = 0 if used.factors is None else len(used.factors.names)
    return used.latents.shape, count, analysis.settings.scores


def _near_chance(frame: pd.DataFrame) -> list[str]:
    judged = judged_scores(frame)
    return [str(name) for name in judged.index[~above_chance(judged)]]


def _leading(frame: pd.DataFrame) -> list[str]:
    """The first scores that are above chance, with their values."""
    # Scores at chance say nothing; with one factor some are 1 by definition, and by chance.
    ranked = sorted(
        (entry for entry in entries() if entry.shown.headline),
        key=lambda entry: entry.shown.headline,
    )
    quoted = [(entry.row_names[0], entry) for entry in ranked]
    return [
        f"{entry.title_of(row)} is {frame.at[row, 'value']:.2f} "
        f"(chance {frame.at[row, 'chance']:.2f})"
        for row, entry in quoted
        if row in frame.index and above_chance(frame.loc[row])
    ][:2]


def _extremes(table: ScoreTable) -> str:
    """The factors that are told apart best and worst, by a score above chance."""
    for entry in entries():
        name, row = entry.name, entry.shown.best_factor
        told = row in table.frame.index and above_chance(table.frame.loc[row])
        if told and name in table.per_factor.index and len(table.factor_names) > 1:
            parts = table.per_factor.loc[name].astype(float)
            if parts.notna().sum() > 1:
                return (
                    f"; by {entry.title_of(row)} the latents tell {parts.idxmax()} apart best "
                    f"({parts.max():.2f}) and {parts.idxmin()} worst ({parts.min():.2f})"
                )
    return ""


def _families(
    frame: pd.DataFrame, cards: Mapping[str, ShownCard]
) -> dict[str, list[dict[str, Any]]]:
    """Rows of the table on the page, by family in the order of the frame."""
    near = _near_chance(frame)
    families: dict[str, list[dict[str, Any]]] = {}
    for name, row in frame.iterrows():
        ends = [fixed(row[end], 3) for end in ("low", "high")]
        span = " to ".join(ends) if np.isfinite(row["low"]) else ""
        cells = {
            "name": str(name),
            "lower": row["better"] == "lower",
            "near": name in near,
            "value": number_text(row["value"]),
            "chance": f"{row['chance']:.3f}" if np.isfinite(row["chance"]) else "",
            "span": span,
            "bar": score_bar(row["value"], row["chance"], row["low"], row["high"]),
            "card": cards.get(str(name)),
        }
        families.setdefault(str(row["family"]), []).append(cells)
    return families
