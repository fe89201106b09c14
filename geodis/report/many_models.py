"""The page of the scores of many models: spread, agreement, best and worst."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.text import counted, number_text
from geodis.base.whole_set import whole_set
from geodis.plots.figure.marks import Figure
from geodis.plots.score_spread import spread_figure
from geodis.plots.scores import rank_agreement_figure
from geodis.report.build import check_out
from geodis.report.page.markup import render_template
from geodis.report.page.pictures import Picture, draw_picture, write_files
from geodis.report.page.render import SectionView, page_text, shown_figures
from geodis.report.section import SectionFigure
from geodis.scores.across_models.many_scores import FIVE, ManyScores

if TYPE_CHECKING:
    import pandas as pd

PAGE, FIGURES = "report.html", "figures"
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
    drawn = [(view, [_drawn(figure) for figure in figures]) for view, figures in _views(table)]
    sections = [replace(view, figures=tuple(shown_figures(pictures))) for view, pictures in drawn]
    page = page_text(
        title="Scores of many models",
        origin=f"{f'Models of {source}. ' if source else ''}geodis {__version__}.",
        summary=_summary(table),
        warnings=_warnings(table),
        sections=sections,
    )
    files = {one.name: one.file for _, pictures in drawn for one in pictures if one.file}
    with whole_set(folder) as made:
        write_files(files, made / FIGURES)
        (made / PAGE).write_text(page, "utf-8", errors="xmlcharrefreplace")
    return folder / PAGE


def _drawn(figure: Figure) -> Picture:
    return draw_picture(SectionFigure(figure.name, lambda: figure))


def _views(table: ManyScores) -> list[tuple[SectionView, list[Figure]]]:
    """Sections, and the figures of each."""
    spread = table.spread
    bounded = ((spread["low"] >= 0) & (spread["high"] <= 1)).any()
    views = [
        (
            SectionView(
                "spread",
                "Spread",
                "How far the models differ by each score: half of them lie between the quarter and "
                "the 3 quarters. Chance is the median over the models of the score of shuffled "
                "rows; a score whose models all lie at chance says nothing of them.",
                code="table = gd.score_many(folder, factors)",
                body=_spread_table(spread),
            ),
            [spread_figure(table)] if bounded else [],
        )
    ]
    if (ranks := table.agreement) is not None:
        views.append(
            (
                SectionView(
                    "agreement",
                    "Agreement",
                    "Spearman's correlation of every two scores over the models. Scores for which "
                    "lower is better agree with the others where it is negative.",
                    source="Locatello et al. (2019), figure 2.",
                    code="table.agreement.frame",
                ),
                [rank_agreement_figure(ranks)],
            )
        )
    if len(table.values) > 1:
        views.append(
            (
                SectionView(
                    "ranked",
                    "Best and worst models",
                    "By the mean over all scores of the rank that each gives, from 0 (worst) to 1 "
                    "(best): an order to look by, and no score of its own.",
                    body=_ranked_table(table),
                ),
                [],
            )
        )
    return views


def _summary(table: ManyScores) -> list[str]:
    """What the table says, in sentences."""
    lines = [f"{table.head}."]
    spread = table.spread
    if len(spread):
        ranges = (spread["3 quarters"] - spread["quarter"])[spread["high"] <= 1]
        if len(ranges) and ranges.notna().any():
            name = str(ranges.idxmax())
            row = spread.loc[name]
            lines.append(
                f"Of the scores up to 1, {name} tells the models apart most: half of them lie "
                f"between {row['quarter']:.2f} and {row['3 quarters']:.2f}."
            )
    if table.agreement is not None:
        pairs = table.agreement.pairs().dropna()
        if len(pairs):
            strength = pairs["correlation"].abs()
            least = pairs.loc[strength.idxmin()]
            lines.append(
                f"{(strength >= RANKS_AGREE).mean():.0%} of the pairs of scores order the models "
                f"alike (rank correlation {RANKS_AGREE} and more, either way); {least['first']} "
                f"and {least['second']} do least ({least['correlation']:.2f})."
            )
    if len(table.values) > 1:
        order = mean_ranks(table)
        lines.append(
            f"Over all scores {order.index[0]} ranks best and {order.index[-1]} worst (mean rank "
            f"{order.iloc[0]:.2f} and {order.iloc[-1]:.2f} of 1); nothing was tested against noise."
        )
    return lines


def _warnings(table: ManyScores) -> list[str]:
    """The first remarks, and how many more there are in the table."""
    remarks = table.remarks()
    more = len(remarks) - MOST_REMARKS
    left = [f"And {counted(more, 'more reason')}, in the table."] * (more > 0)
    return remarks[:MOST_REMARKS] + left


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


def _spread_table(spread: pd.DataFrame) -> Any:
    rows = [
        {
            "score": str(name),
            "lower": row["better"] == "lower",
            "models": f"{row['models']:,}",
            "numbers": [number_text(row[column]) for column in (*FIVE, "chance")],
            "best": row["best"],
            "worst": row["worst"],
        }
        for name, row in spread.iterrows()
    ]
    return render_template("many_models.html", rows=rows)


def _ranked_table(table: ManyScores) -> Any:
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
