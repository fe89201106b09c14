"""The sections on scores and on score matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import counted, first_sentence, fixed, listed, number_text
from geodis.plots.scores import score_matrix_figure, scores_figure, scores_per_factor_figure
from geodis.report.analysis import INTERVALS, Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.render import keys_in
from geodis.report.page.score_cards import (
    ShownCard,
    cards_markup,
    cards_of,
    render_template,
    score_bar,
    seed_argument,
)
from geodis.report.section import Section, SectionFigure
from geodis.scores.registry import entries
from geodis.scores.score_table import (
    NEAR_CHANCE,
    above_chance,
    answer_lines,
    judged_scores,
    left_out,
    left_out_sentence,
    scores_to_compute,
)

if TYPE_CHECKING:
    import pandas as pd

    from geodis.plots.figure.marks import Figure
    from geodis.scores.card import MatrixCaption, Score
    from geodis.scores.score_table import ScoreTable


# Number of resamplings for the interval of each score.

# Scores that take 10 to 30 ms for 1,000 rows are resampled less often than those that take 1 or
# 2 ms; the quantile of Student's distribution accounts for it.
LESS_OFTEN = 5
# For more entries (rows times latents) intervals take minutes, and are computed only if more than
# the default number is requested.
MOST_NUMBERS, USUAL = 400_000, INTERVALS
FEWEST = 5  # fewer resamplings give no meaningful interval


def affordable(intervals: int, shape: tuple[int, ...]) -> int:
    """Return the number of resamplings for latents of this shape; 0 if they would be slow.

    Examples
    --------
    >>> affordable(30, (1000, 10)), affordable(30, (900, 1728)), affordable(60, (900, 1728))
    (30, 0, 60)
    """
    n, z = shape
    return 0 if n * z > MOST_NUMBERS and intervals <= USUAL else intervals


def counts_of(table: ScoreTable, intervals: int) -> dict[int, list[str]]:
    """Group the scores of the table by their number of resamplings.

    Examples
    --------
    >>> class Table:
    ...     scores = {"mig": 0.1, "dci": 0.2, "beta_vae": 0.3}
    >>> counts_of(Table(), 40), counts_of(Table(), 0)
    ({40: ['mig'], 8: ['dci']}, {})
    """
    cheap, costly = (
        [one.name for one in entries() if one.cost.intervals == often and one.name in table.scores]
        for often in ("often", "seldom")
    )
    kept = {intervals: cheap, intervals // LESS_OFTEN: costly}
    # Slow scores are skipped if only few resamplings are requested.
    return {
        count: names
        for count, names in kept.items()
        if names and count >= (FEWEST if names is costly else 2)
    }


def with_intervals(
    table: ScoreTable, used: Material, intervals: int, options: dict[str, Any]
) -> ScoreTable:
    """Add an interval for every score that is resampled."""
    from geodis.scores.score_latents import score_latents

    frame = table.frame.copy()
    for count, names in counts_of(table, intervals).items():
        spread = score_latents(
            used.latents, used.factors, names, chance=0, intervals=count, **options
        ).frame
        for column in ("low", "high"):
            frame.loc[spread.index, column] = spread[column]
    return replace(table, frame=frame)


def no_interval_sentence(table: ScoreTable, intervals: int) -> str:
    """Explain why no score has an interval although intervals were requested."""
    if affordable(intervals, (table.n, table.n_latents)):
        return f"No intervals: none of these scores is resampled with intervals={intervals}."
    return (
        f"Intervals skipped (slow for {counted(table.n_latents, 'latent')} of "
        f"{counted(table.n, 'row')}); set intervals={USUAL + 1} or more to force them."
    )


def interval_sentence(table: ScoreTable, intervals: int) -> str:
    """State the number of resamplings, and which scores have no intervals and why."""
    counts = counts_of(table, intervals)
    if not counts:
        return ""
    most, *fewer = counts
    text = f"95 % intervals are from {most} resamplings of the rows"
    text += "".join(f" ({count} for {listed(counts[count])})" for count in fewer)
    known = {name for names in counts.values() for name in names}
    without = [name for name in table.scores if name not in known]
    if without:
        have = "have" if len(without) > 1 else "has"
        text += f"; {listed(without)} {have} none, because only scores known to be fast are "
        text += "resampled here (score_latents can resample any score)"
    return f"{text}."


SCORED_ROWS = 10_000
NOT_GIVEN = (
    "No factors of variation were given: with factors, the report scores how disentangled the "
    "columns are, with a chance level for each score."
)


class ScoresSection(Section):
    """Scores of latents and factors, with chance levels and intervals."""

    name = "scores"
    title = "Scores"
    about = (
        "Compare each score with chance, its value when the rows of the factors are shuffled. The "
        "interval shows how much the score varies when the rows are resampled. Grey scores are at "
        "most 0.02 above chance. This is not a test: chance is a single shuffle, and scores of "
        "pure noise may exceed it by more."
    )
    source = (
        "Locatello et al. (2019) compare these scores; the docstring of each function in "
        "geodis.scores names its paper."
    )
    cites = ("locatello2019",)

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Needs factors."""
        given = material.factors is not None
        return "" if given else "Scores compare latents with factors, and none were given."

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Proportional to rows and factors, and linear in latents."""
        n, z = material.latents.shape
        f = 0 if material.factors is None else len(material.factors.names)
        return (2 + 6e-5 * n * f * (1 + z / 10)) * (f > 0)

    def compute(self, analysis: Analysis) -> ScoreTable:
        """Compute every score with its chance level and interval."""
        from geodis.scores.score_latents import score_latents

        intervals, seed = analysis.settings.intervals, analysis.settings.random_state
        used = analysis.material.thinned(SCORED_ROWS, seed)
        options: dict[str, Any] = {"bins": used.bins, "verbose": 0, "random_state": seed}
        options["n_jobs"] = analysis.settings.n_jobs
        options["groups"] = analysis.settings.groups
        names = scores_to_compute(*_requested(analysis, used))
        table = score_latents(used.latents, used.factors, names, **options)
        intervals = affordable(intervals, used.latents.shape)
        return with_intervals(table, used, intervals, options) if intervals else table

    def sentence(self, analysis: Analysis) -> str:
        """The main scores, and the number of scores above chance."""
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
        """Scores that were skipped, and scores at chance."""
        table = analysis.scores
        if table is None:
            return []
        slow = left_out(*_requested(analysis, analysis.material))
        said = [left_out_sentence(slow, table.n_latents)] if slow else []
        near = _near_chance(table.frame)
        if near:
            said.append(f"Not above chance, and therefore not informative: {', '.join(near)}.")
        return said

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """All scores, only as a file; and the scores per factor."""
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
        """The table and remarks."""
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
        """Code for the scores."""
        settings = analysis.settings
        options = f"bins={settings.bins}, {seed_argument(settings)}"
        if settings.groups:
            options = f"groups={settings.groups}, {options}"
        names = scores_to_compute(*_requested(analysis, analysis.material))
        if names is not None:
            options = f"{names}, {options}"
        if len(analysis.material.rows) <= SCORED_ROWS:
            return f"table = gd.score_latents(latents, factors, {options})"
        return (
            f"some = report.material.thinned({SCORED_ROWS}, {settings.random_state})\n"
            f"table = gd.score_latents(some.latents, some.factors, {options})"
        )


def _requested(
    analysis: Analysis, used: Material
) -> tuple[tuple[int, ...], int, tuple[str, ...] | None]:
    """Return the shape of the latents, the number of factors, and the requested scores."""
    count = 0 if used.factors is None else len(used.factors.names)
    return used.latents.shape, count, analysis.settings.scores


def _near_chance(frame: pd.DataFrame) -> list[str]:
    judged = judged_scores(frame)
    return [str(name) for name in judged.index[~above_chance(judged)]]


def _leading(frame: pd.DataFrame) -> list[str]:
    """Quote the first two headline scores that are above chance."""
    # Scores at chance are not informative; with one factor, some are 1 by definition.
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
    """Name the factors that are encoded best and worst, by a score above chance."""
    for entry in entries():
        name, row = entry.name, entry.shown.best_factor
        informative = row in table.frame.index and above_chance(table.frame.loc[row])
        if informative and name in table.per_factor.index and len(table.factor_names) > 1:
            parts = table.per_factor.loc[name].astype(float)
            if parts.notna().sum() > 1:
                return (
                    f"; by {entry.title_of(row)} the latents encode {parts.idxmax()} best "
                    f"({parts.max():.2f}) and {parts.idxmin()} worst ({parts.min():.2f})"
                )
    return ""


def _families(
    frame: pd.DataFrame, cards: Mapping[str, ShownCard]
) -> dict[str, list[dict[str, Any]]]:
    """Make the rows of the table on the page, by family."""
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


# Score matrices: which latent encodes which factor.


class ScoreMatrixSection(Section):
    """Matrices of mutual information and importances."""

    name = "held"
    title = "Which latent encodes which factor"
    about = (
        "In a disentangled code, every row and every column has one strong cell. A row with "
        "several strong cells is a latent that mixes factors; a column with several is a factor "
        "spread over latents."
    )
    source = (
        "Mutual information as in MIG: Chen et al. (2018). Importances as in DCI: "
        "Eastwood and Williams (2018)."
    )
    cites = ("chen2018", "eastwood2018")

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Needs factors."""
        return "" if material.factors is not None else "No factors were given."

    def failure(self, analysis: Analysis) -> str:
        """Reports that no score has a matrix."""
        shown = _matrices(analysis)
        return "" if shown else "None of the scores has such a matrix."

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """The matrix of every score that has one."""
        return [
            SectionFigure(caption.name, partial(_describe, caption, score))
            for caption, score in _matrices(analysis).values()
        ]

    def code(self, analysis: Analysis) -> str:
        """Code for the matrices."""
        return ", ".join(f'table.scores["{name}"].matrix' for name in _matrices(analysis))


def _matrices(analysis: Analysis) -> dict[str, tuple[MatrixCaption, Score]]:
    """Return the scores whose matrix is drawn, with its caption."""
    scores = {} if analysis.scores is None else analysis.scores.scores
    return {
        entry.name: (entry.shown.matrix, scores[entry.name])
        for entry in entries()
        if entry.shown.matrix and entry.name in scores and scores[entry.name].matrix is not None
    }


def _describe(caption: MatrixCaption, score: Score) -> Figure:
    return score_matrix_figure(
        score,
        name=caption.name,
        about=caption.about,
        title=caption.title,
        factor_names=[str(factor) for factor in score.factor_names or ()],
        entry=caption.entry,
    )
