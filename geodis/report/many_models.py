"""The page of the scores of many models: spread, agreement, best and worst."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from geodis import __version__
from geodis.base.text import counted, number_text
from geodis.plots.score_spread import spread_figure
from geodis.plots.scores import rank_agreement_figure
from geodis.report.build import check_out
from geodis.report.page.markup import render_template
from geodis.report.page.render import Page, write_page
from geodis.report.section import Section, SectionFigure
from geodis.report.sentences.collect_sentences import summarise
from geodis.scores.across_models.many_scores import FIVE, ManyScores

if TYPE_CHECKING:
    import pandas as pd

PAGE = "report.html"
# Models at either end of the ranking, and scores beside them.
ENDS, SCORES_SHOWN = 5, 8
MOST_REMARKS = 12
# Scores with at least this correlation order models alike.
RANKS_AGREE = 0.5


def report_many(table: ManyScores, out: str | os.PathLike[str], *, source: str = "") -> Path:
    """Write a page of the scores of many models that needs nothing beside it.

    Parameters
    ----------
    table : ManyScores
    out : str or path
        A new or empty folder, or that of an earlier such page; the figures are written into
        ``figures`` in it, as SVG.
    source : str
        What the models are of, for the head of the page.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> import tempfile
    >>> from geodis.scores import ManyScores
    >>> row = ["mig", "information", "completeness", 0.1, 0.0, 0.0, 0.0, "higher", "", ""]
    >>> table = ManyScores.of_models({"a": ([row], "")})
    >>> report_many(table, tempfile.mkdtemp()).name
    'report.html'
    """
    folder = Path(out).expanduser()
    check_out(folder)
    remarks = table.remarks()
    more = len(remarks) - MOST_REMARKS
    left = [f"And {counted(more, 'more reason')}, in the table."] if more > 0 else []
    page = Page(
        MANY_SECTIONS,
        table,
        title="Scores of many models",
        origin=f"{f'Models of {source}. ' if source else ''}geodis {__version__}.",
        summary=(f"{table.head}.", *summarise(MANY_SECTIONS, table)),
        warnings=[*remarks[:MOST_REMARKS], *left],
    )
    write_page(page, folder, name=PAGE)
    return folder / PAGE


class SpreadSection(Section):
    """How far the models differ by each score."""

    name = "spread"
    title = "Spread"
    about = (
        "How far the models differ by each score: half of them lie between the quarter and the 3 "
        "quarters. Chance is the median over the models of the score of shuffled rows. A score "
        "whose models are all at chance does not distinguish them."
    )

    def missing(self, table: ManyScores) -> str:
        """Nothing: without scores the table is empty."""
        return ""

    def sentence(self, table: ManyScores) -> str:
        """The score by which the models differ most."""
        spread = table.spread
        if not len(spread):
            return ""
        ranges = (spread["3 quarters"] - spread["quarter"])[spread["high"] <= 1]
        if not ranges.notna().any():
            return ""
        name = str(ranges.idxmax())
        low, high = (spread.at[name, end] for end in ("quarter", "3 quarters"))
        return (
            f"Among scores up to 1, the models differ most in {name}: half of them lie between "
            f"{low:.2f} and {high:.2f}."
        )

    def figures(self, table: ManyScores) -> list[SectionFigure]:
        """Quartiles of the scores between 0 and 1."""
        bounded = ((table.spread["low"] >= 0) & (table.spread["high"] <= 1)).any()
        return [SectionFigure("spread", lambda: spread_figure(table))] if bounded else []

    def body(self, table: ManyScores) -> str:
        """The table of the same numbers."""
        rows = [
            {
                "score": str(name),
                "lower": row["better"] == "lower",
                "models": f"{row['models']:,}",
                "numbers": [number_text(row[column]) for column in (*FIVE, "chance")],
                "best": row["best"],
                "worst": row["worst"],
            }
            for name, row in table.spread.iterrows()
        ]
        return render_template("many_models.html", rows=rows)

    def code(self, table: ManyScores) -> str:
        """Scoring them."""
        return "table = gd.score_many(folder, factors)"


class AgreementSection(Section):
    """Which scores order the models alike."""

    name = "agreement"
    title = "Agreement"
    about = (
        "Spearman's correlation of every two scores over the models. Scores for which lower is "
        "better agree with the others where it is negative."
    )
    source = "Locatello et al. (2019), figure 2."
    cites = ("locatello2019",)

    def missing(self, table: ManyScores) -> str:
        """Enough models and scores."""
        return "" if table.agreement is not None else "There are too few models or scores."

    def sentence(self, table: ManyScores) -> str:
        """How many pairs agree, and which pair does least."""
        pairs = None if table.agreement is None else table.agreement.pairs().dropna()
        if pairs is None or not len(pairs):
            return ""
        strength = pairs["correlation"].abs()
        least = pairs.loc[strength.idxmin()]
        return (
            f"{(strength >= RANKS_AGREE).mean():.0%} of the pairs of scores order the models alike "
            f"(absolute rank correlation of at least {RANKS_AGREE}); {least['first']} and "
            f"{least['second']} agree least ({least['correlation']:.2f})."
        )

    def figures(self, table: ManyScores) -> list[SectionFigure]:
        """The matrix of correlations."""
        ranks = table.agreement
        assert ranks is not None
        return [SectionFigure("agreement", lambda: rank_agreement_figure(ranks))]

    def code(self, table: ManyScores) -> str:
        """Where the numbers are."""
        return "table.agreement.frame"


class RankedSection(Section):
    """The best and the worst models."""

    name = "ranked"
    title = "Best and worst models"
    about = (
        "By the mean rank over all scores, from 0 (worst) to 1 (best). The order is for "
        "orientation, and is not a score."
    )

    def missing(self, table: ManyScores) -> str:
        """At least two models."""
        return "" if len(table.values) > 1 else "There is one model."

    def sentence(self, table: ManyScores) -> str:
        """The first and the last."""
        if len(table.values) < 2:
            return ""
        order = mean_ranks(table)
        return (
            f"Over all scores {order.index[0]} ranks best and {order.index[-1]} worst (mean rank "
            f"{order.iloc[0]:.2f} and {order.iloc[-1]:.2f} of 1); nothing was tested against noise."
        )

    def body(self, table: ManyScores) -> str:
        """Both ends of the ranking."""
        order, values = mean_ranks(table), table.values
        names = list(map(str, values.columns[:SCORES_SHOWN]))
        ends = min(ENDS, len(order) // 2)
        chosen = [*order.index[:ends], *order.index[-ends:]]
        rows = [
            {
                "model": str(model),
                "gap": place == ends,
                "cells": [f"{order[model]:.2f}", *map(number_text, values.loc[model, names])],
            }
            for place, model in enumerate(chosen)
        ]
        return render_template("ranked_models.html", rows=rows, names=names)


MANY_SECTIONS: tuple[Section, ...] = (SpreadSection(), AgreementSection(), RankedSection())


def mean_ranks(table: ManyScores) -> pd.Series:
    """Mean over the scores of each model's rank, 0 worst to 1 best, the best model first.

    Examples
    --------
    >>> row = ["mig", "information", "completeness", 0.1, 0.0, 0.0, 0.0, "higher", "", ""]
    >>> rows = {"a": ([row], ""), "b": ([[*row[:3], 0.2, *row[4:]]], "")}
    >>> mean_ranks(ManyScores.of_models(rows)).to_dict()
    {'b': 1.0, 'a': 0.0}
    """
    values = table.values.copy()
    lower = table.spread.index[table.spread["better"] == "lower"]
    values[lower] = -values[lower]
    ranks = (values.rank() - 1) / (values.notna().sum() - 1).clip(lower=1)
    return ranks.mean(axis=1).sort_values(ascending=False, kind="stable")
