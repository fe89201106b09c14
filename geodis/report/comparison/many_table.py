"""Tables of runs that were scored already, by `score_many` or by a sweep -> their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.report.comparison.compared_runs import MOST_RUNS, ComparedRuns
from geodis.report.comparison.paired_scores import (
    PairedScores,
    answers_of_runs,
    rank_runs,
    side_by_side,
)
from geodis.scores.registry import entries
from geodis.scores.table.answers import judged_scores

if TYPE_CHECKING:
    import pandas as pd

SCORE = "score "  # how the columns of scores begin
OF_RUN = ("run", "seed", "step", "error")
# Columns by which a table of `score_many` is recognised.
MANY_COLUMNS = {"model", "score", "question", "value", "chance", "low", "high", "better", "reason"}


def frame_of_many(given: Any) -> pd.DataFrame | None:
    """The frame of a `ManyScores`, or one with its columns; None of anything else.

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

    value = side_by_side(frames, "value", rows)
    value = value[value.notna().all(axis=1)]  # scores that some model lacks rank nothing
    first = pd.concat(frames.values()).groupby(level=0, sort=False).first().loc[value.index]
    chance, low, high = (
        side_by_side(frames, name, value.index) for name in ("chance", "low", "high")
    )
    known = (value, chance, low, high, first["better"], answers_of_runs(frames))
    scores = rank_runs(runs, *known, judged_scores(first).index, {}, rank_by_all=True)
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


def is_table_of_runs(given: Any) -> bool:
    """Whether it is a frame with a model a row and columns of scores.

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
    """Read the last step of every run, and compare the models by their scores.

    A model is told by its name, data and settings, as far as these differ; its runs are its
    seeds. Scores that a run lacks, and runs that diverged, are left out.

    Parameters
    ----------
    table : DataFrame
        Columns "model", "score ...", and of "run", "data", "seed", "step" and settings as many as
        there are.

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
    if "error" in table:  # also in rows of what they scored before
        kept = kept[kept["error"].isna()]
    said_twice = {f"training {name}" for name in table.columns}
    settings = [name for name in table.columns if name not in (*OF_RUN, *scored, *said_twice)]
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
    known = (value, none, none, none, better, answers)
    return runs, rank_runs(runs, *known, value.index, {}, rank_by_all=True)


def _model_name(row: pd.Series, varied: list[str]) -> str:
    # What is not equal to itself is an empty cell.
    own = [f"{name}={row[name]}" for name in varied if name != "model" and row[name] == row[name]]
    return " ".join([str(row["model"]), *own])
