"""A table of `score_many`, a row a model and score -> the comparison of its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.report.comparison.compared_runs import MOST_RUNS, ComparedRuns
from geodis.report.comparison.paired_scores import PairedScores, differences_of
from geodis.scores.table.answers import NEAR_CHANCE, answers_of, judged_scores

if TYPE_CHECKING:
    import pandas as pd

TOLD_BY = {"model", "score", "question", "value", "chance", "low", "high", "better", "reason"}


def frame_of_many(given: Any) -> pd.DataFrame | None:
    """The frame of a `ManyScores`, or one with its columns; None of anything else.

    Examples
    --------
    >>> frame_of_many({"a": [[0.0]]}) is None
    True
    """
    frame = getattr(given, "frame", given)
    columns = {str(name) for name in getattr(frame, "columns", ())}
    return frame if columns >= TOLD_BY else None


def runs_of_many(
    table: pd.DataFrame, models: Sequence[str] | None = None
) -> tuple[ComparedRuns, PairedScores, tuple[str, ...]]:
    """Compare the models of a table by their scores, beside chance.

    Files in folders, as many in each and at least two, are the seeds of what the folder names;
    otherwise every file is a model of its own, and there is no noise to hold a difference against.

    Parameters
    ----------
    table : DataFrame
    models : sequence of str, optional
        Of which model each run of the table is.

    Returns
    -------
    ComparedRuns, PairedScores
        Of more than 24 runs without seeds, the best and the worst 12.
    tuple of str
        What was left out.
    """
    import pandas as pd

    scored = table[(table["score"] != "") & table["value"].notna()]
    names = tuple(map(str, scored["model"].unique()))
    if len(names) < 2:
        raise InputError(f"A table must have at least two models with scores; got {len(names)}.")
    runs = ComparedRuns(names, _models_of(names, models), (), None)
    frames = {name: scored[scored["model"] == name].set_index("score") for name in names}
    rows = scored["score"].unique()

    def side_by_side(column: str) -> pd.DataFrame:
        wide = pd.DataFrame({name: frame[column] for name, frame in frames.items()})
        return wide.reindex(rows).astype(float)

    value = side_by_side("value")
    value = value[value.notna().all(axis=1)]  # what some model lacks ranks nothing
    first = pd.concat(frames.values()).groupby(level=0, sort=False).first().loc[value.index]
    better, judged = first["better"], judged_scores(first).index
    sign = pd.Series(np.where(better == "lower", -1.0, 1.0), better.index)
    chance = side_by_side("chance").loc[value.index]
    signed = value.loc[judged].mul(sign[judged], axis=0)
    far = (value.loc[judged] - chance.loc[judged]).abs().max(axis=1) > NEAR_CHANCE
    telling = signed[far] if far.any() else value.mul(sign, axis=0)
    mean_rank = telling.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    answers = pd.DataFrame(
        {
            name: {one.question: one.median for one in answers_of(frame)}
            for name, frame in frames.items()
        }
    )
    ends = side_by_side("low").loc[value.index], side_by_side("high").loc[value.index]
    found = differences_of(runs, signed, sign, {}) if runs.seeded else []
    scores = PairedScores(value, chance, *ends, better, answers, mean_rank, found)
    notes = [f"{name} was left out of the ranking: some model has no value of it."
             for name in rows if name not in value.index]  # fmt: skip
    if not runs.seeded and len(names) > MOST_RUNS:
        notes.append(f"Shown are the best and the worst {MOST_RUNS // 2} of {len(names)} models.")
        runs, scores = _both_ends(runs, scores)
    return runs, scores, tuple(notes)


def _models_of(names: tuple[str, ...], models: Sequence[str] | None) -> tuple[str, ...]:
    """Of which model each run is."""
    if models is not None:
        if len(models) != len(names):
            raise InputError(
                f"models must name one for each of the {len(names)} runs; got {len(models)}."
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
