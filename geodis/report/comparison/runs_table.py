"""A table of runs that were scored already, as `geodis sweep` writes it -> their comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.report.comparison.compared_runs import ComparedRuns
from geodis.report.comparison.paired_scores import PairedScores, differences_of
from geodis.scores.registry import entries

if TYPE_CHECKING:
    import pandas as pd

SCORE = "score "  # how the columns of scores begin
OF_RUN = ("run", "seed", "step", "error")


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
    sign = pd.Series([-1.0 if name in lower else 1.0 for name in value.index], value.index)
    signed = value.mul(sign, axis=0)
    mean_rank = signed.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    none = value * np.nan
    better = sign.map({1.0: "higher", -1.0: "lower"})
    found = differences_of(runs, signed, sign, {})
    answers = pd.DataFrame(index=pd.Index([], dtype=object), columns=list(names))
    return runs, PairedScores(value, none, none, none, better, answers, mean_rank, found)


def _model_name(row: pd.Series, varied: list[str]) -> str:
    # What is not equal to itself is an empty cell.
    own = [f"{name}={row[name]}" for name in varied if name != "model" and row[name] == row[name]]
    return " ".join([str(row["model"]), *own])
