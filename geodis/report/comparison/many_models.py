"""The page on scores of many models, and comparisons of tables of scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.text import counted, number_text
from geodis.plots.scores import rank_agreement_figure, spread_figure
from geodis.report.build import check_out
from geodis.report.comparison.paired_scores import (
    MOST_RUNS,
    ComparedRuns,
    PairedScores,
    ScoresOfRuns,
    answers_of_runs,
    rank_runs,
    side_by_side,
)
from geodis.report.page.render import Page, write_page
from geodis.report.page.score_cards import render_template
from geodis.report.section import Section, SectionFigure
from geodis.report.sentences import summarise
from geodis.scores.many.many_scores import FIVE, ManyScores
from geodis.scores.registry import entries
from geodis.scores.score_table import judged_scores

if TYPE_CHECKING:
    import pandas as pd


PAGE = "report.html"
# Models at each end of the ranking, and scores in its table.
ENDS, SCORES_SHOWN = 5, 8
MOST_REMARKS = 12
# Absolute rank correlation from which two scores agree.
RANKS_AGREE = 0.5


def report_many(table: ManyScores, out: str | os.PathLike[str], *, source: str = "") -> Path:
    """Write a self-contained page on the scores of many models.

    Parameters
    ----------
    table : ManyScores
    out : str or path
        A new or empty folder, or that of an earlier page of this kind; figures are written to its
        folder ``figures``, as SVG.
    source : str
        Origin of the models, for the head of the page.

    Returns
    -------
    Path
        The page.

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
    left = [f"{counted(more, 'more reason')}: see the table."] if more > 0 else []
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
    """Distribution of each score over the models."""

    name = "spread"
    title = "Spread"
    about = (
        "Distribution of each score over the models: half of them lie between the lower and the "
        "upper quartile. Chance is the median over the models of the score after shuffling the "
        "rows. A score whose models are all at chance does not distinguish them."
    )

    def missing(self, table: ManyScores) -> str:
        """Always applies."""
        return ""

    def sentence(self, table: ManyScores) -> str:
        """The score with the largest interquartile range."""
        spread = table.spread
        if not len(spread):
            return ""
        ranges = (spread["3 quarters"] - spread["quarter"])[spread["high"] <= 1]
        if not ranges.notna().any():
            return ""
        name = str(ranges.idxmax())
        low, high = (spread.at[name, end] for end in ("quarter", "3 quarters"))
        return (
            f"Among scores up to 1, the models differ most in {name}: half of them are between "
            f"{low:.2f} and {high:.2f}."
        )

    def figures(self, table: ManyScores) -> list[SectionFigure]:
        """Quartiles of the scores in [0, 1]."""
        bounded = ((table.spread["low"] >= 0) & (table.spread["high"] <= 1)).any()
        return [SectionFigure("spread", lambda: spread_figure(table))] if bounded else []

    def body(self, table: ManyScores) -> str:
        """The table of quartiles."""
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
        """Code for the scores."""
        return "table = gd.score_many(folder, factors)"


class AgreementSection(Section):
    """Rank correlations of scores over the models."""

    name = "agreement"
    title = "Agreement"
    about = (
        "Spearman's correlation of every two scores over the models. A negative correlation means "
        "agreement if lower is better for exactly one of the scores."
    )
    source = "Locatello et al. (2019), figure 2."
    cites = ("locatello2019",)

    def missing(self, table: ManyScores) -> str:
        """Needs enough models and scores."""
        return "" if table.agreement is not None else "There are too few models or scores."

    def sentence(self, table: ManyScores) -> str:
        """The share of pairs that agree, and the pair that agrees least."""
        pairs = None if table.agreement is None else table.agreement.pairs().dropna()
        if pairs is None or not len(pairs):
            return ""
        strength = pairs["correlation"].abs()
        least = pairs.loc[strength.idxmin()]
        return (
            f"{(strength >= RANKS_AGREE).mean():.0%} of the pairs of scores rank the models "
            f"similarly (absolute rank correlation of at least {RANKS_AGREE}); {least['first']} "
            f"and {least['second']} agree least ({least['correlation']:.2f})."
        )

    def figures(self, table: ManyScores) -> list[SectionFigure]:
        """The correlation matrix."""
        ranks = table.agreement
        assert ranks is not None
        return [SectionFigure("agreement", lambda: rank_agreement_figure(ranks))]

    def code(self, table: ManyScores) -> str:
        """Code for the correlations."""
        return "table.agreement.frame"


class RankedSection(Section):
    """The best and the worst models."""

    name = "ranked"
    title = "Best and worst models"
    about = (
        "By mean rank over all scores, from 0 (worst) to 1 (best). This is for orientation only, "
        "and is not a score."
    )

    def missing(self, table: ManyScores) -> str:
        """Needs at least two models."""
        return "" if len(table.values) > 1 else "There is only one model."

    def sentence(self, table: ManyScores) -> str:
        """The best and the worst model."""
        if len(table.values) < 2:
            return ""
        order = mean_ranks(table)
        return (
            f"Over all scores {order.index[0]} ranks best and {order.index[-1]} worst (mean rank "
            f"{order.iloc[0]:.2f} and {order.iloc[-1]:.2f} of 1); differences were not tested."
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
    """Compute the mean rank of each model over the scores, 0 worst to 1 best, best model first.

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


# Comparisons of tables of scores, from `score_many` or from a sweep.

SCORE = "score "  # prefix of the columns of scores
OF_RUN = ("run", "seed", "step", "error")
# Columns that identify a table of `score_many`.
MANY_COLUMNS = {"model", "score", "question", "value", "chance", "low", "high", "better", "reason"}


def frame_of_many(given: Any) -> pd.DataFrame | None:
    """Return the frame of a `ManyScores`, or a frame with its columns; None for anything else.

    Examples
    --------
    >>> frame_of_many({"a": [[0.0]]}) is None
    True
    """
    frame = getattr(given, "frame", given)
    columns = {str(name) for name in getattr(frame, "columns", ())}
    return frame if columns >= MANY_COLUMNS else None


def runs_of_many(
    table: pd.DataFrame, models: Sequence[str] | None = None
) -> tuple[ComparedRuns, PairedScores, tuple[str, ...]]:
    """Compare the models of a table by their scores and chance levels.

    Folders with equally many files, at least two each, are models, and their files are seeds.
    Otherwise every file is a separate model, and differences cannot be tested.

    Parameters
    ----------
    table : DataFrame
    models : sequence of str, optional
        The model of each run of the table.

    Returns
    -------
    ComparedRuns, PairedScores
        For more than 24 runs without seeds, only the best and the worst 12.
    tuple of str
        Notes on what was left out.
    """
    import pandas as pd

    scored = table[(table["score"] != "") & table["value"].notna()]
    names = tuple(map(str, scored["model"].unique()))
    if len(names) < 2:
        raise InputError(f"A table must have at least two models with scores; got {len(names)}.")
    runs = ComparedRuns(names, _models_of(names, models), (), None)
    frames = {name: scored[scored["model"] == name].set_index("score") for name in names}
    rows = scored["score"].unique()

    value = side_by_side(frames, "value", rows)
    value = value[value.notna().all(axis=1)]  # only scores that all models have
    first = pd.concat(frames.values()).groupby(level=0, sort=False).first().loc[value.index]
    chance, low, high = (
        side_by_side(frames, name, value.index) for name in ("chance", "low", "high")
    )
    given = ScoresOfRuns(value, chance, low, high, first["better"], answers_of_runs(frames))
    scores = rank_runs(runs, given, judged_scores(first).index, {}, rank_by_all=True)
    notes = [f"{name} was left out of the ranking: not all models have a value."
             for name in rows if name not in value.index]  # fmt: skip
    if not runs.seeded and len(names) > MOST_RUNS:
        notes.append(f"Shown are the best and the worst {MOST_RUNS // 2} of {len(names)} models.")
        runs, scores = _both_ends(runs, scores)
    return runs, scores, tuple(notes)


def _models_of(names: tuple[str, ...], models: Sequence[str] | None) -> tuple[str, ...]:
    """Return the model of each run."""
    if models is not None:
        if len(models) != len(names):
            raise InputError(
                f"models must have one entry for each of the {len(names)} runs; got {len(models)}."
            )
        return tuple(map(str, models))
    folders = tuple(name.rpartition("/")[0] for name in names)
    in_folders = ComparedRuns(names, folders, (), None)
    return folders if all(folders) and in_folders.seeded else names


def _both_ends(runs: ComparedRuns, scores: PairedScores) -> tuple[ComparedRuns, PairedScores]:
    order = scores.mean_rank.index
    kept = [*order[: MOST_RUNS // 2], *order[-(MOST_RUNS // 2) :]]
    some = ComparedRuns(tuple(kept), tuple(kept), (), None)
    parts = {name: getattr(scores, name)[kept] for name in
             ("value", "chance", "low", "high", "answers", "mean_rank")}  # fmt: skip
    return some, replace(scores, **parts)


def is_table_of_runs(given: Any) -> bool:
    """Return whether the input is a frame with a model per row and columns of scores.

    Examples
    --------
    >>> import pandas as pd
    >>> is_table_of_runs(pd.DataFrame({"model": ["vae"], "score mig": [0.1]}))
    True
    >>> is_table_of_runs({"a": [[0.0]]})
    False
    """
    columns = [str(name) for name in getattr(given, "columns", ())]
    return "model" in columns and any(name.startswith(SCORE) for name in columns)


def runs_of_table(table: pd.DataFrame) -> tuple[ComparedRuns, PairedScores]:
    """Compare models by the scores of the last step of every run.

    A model is identified by its name, data and settings, where these differ; its runs are its
    seeds. Scores that a run lacks and runs that diverged are left out.

    Parameters
    ----------
    table : DataFrame
        Columns "model" and "score ...", and optionally "run", "data", "seed", "step" and settings.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [["vae", 0, 0.1], ["vae", 1, 0.2], ["beta", 0, 0.5], ["beta", 1, 0.7]]
    >>> runs, scores = runs_of_table(pd.DataFrame(rows, columns=["model", "seed", "score mig"]))
    >>> runs.names, scores.mean_rank.idxmin()
    (('vae/0', 'vae/1', 'beta/0', 'beta/1'), 'beta/1')
    """
    import pandas as pd

    scored = [name for name in table.columns if str(name).startswith(SCORE)]
    kept = table.dropna(subset=scored, how="all")
    if "error" in table:  # diverged runs may have rows of earlier steps
        kept = kept[kept["error"].isna()]
    repeated = {f"training {name}" for name in table.columns}
    settings = [name for name in table.columns if name not in (*OF_RUN, *scored, *repeated)]
    settings = [name for name in settings if not str(name).startswith("term ")]
    varied = ["model", *(n for n in settings if n != "model" and kept[n].astype(str).nunique() > 1)]
    seeds = kept["seed"] if "seed" in kept else kept.groupby(varied, dropna=False).cumcount()
    models = [_model_name(row, varied) for _, row in kept.iterrows()]
    kept = kept.assign(_of=models, _seed=np.asarray(seeds))
    if "step" in kept:
        kept = kept.sort_values("step", kind="stable")
    last = kept.groupby(["_of", "_seed"], sort=False).tail(1).sort_index()
    if len(last) < 2:
        raise InputError(f"A table must have at least two runs with scores; got {len(last)}.")
    names = tuple(f"{model}/{seed}" for model, seed in zip(last["_of"], last["_seed"], strict=True))
    value = last[scored].astype(float).T
    value.index, value.columns = [str(name)[len(SCORE) :] for name in scored], list(names)
    value = value.dropna()
    runs = ComparedRuns(names, tuple(last["_of"]), (), None)
    lower = {
        row for one in entries() if one.lower_is_better for row in (one.name, *(one.rows or ()))
    }
    better = pd.Series(
        ["lower" if name in lower else "higher" for name in value.index], value.index
    )
    none = value * np.nan
    answers = pd.DataFrame(index=pd.Index([], dtype=object), columns=list(names))
    given = ScoresOfRuns(value, none, none, none, better, answers)
    return runs, rank_runs(runs, given, value.index, {}, rank_by_all=True)


def _model_name(row: pd.Series, varied: list[str]) -> str:
    # NaN is not equal to itself.
    own = [f"{name}={row[name]}" for name in varied if name != "model" and row[name] == row[name]]
    return " ".join([str(row["model"]), *own])
