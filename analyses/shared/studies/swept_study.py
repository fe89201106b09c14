"""The runs of a study: parts of one sweep folder, trained, or read as far as they are finished."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.shared.studies.kept_runs import cost_of, costed, keep_runs, put_back
from analyses.shared.studies.small_sprites import WORDS
from geodis import __version__, models
from geodis.base import to_jsonable, write_json
from geodis.models.sweeps.run_folder import RUNS, row_of
from geodis.models.sweeps.sweep_plan import PlannedRun, ScoringPlan, plan_runs, table_of
from geodis.models.training.run_identity import data_fingerprint

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyPart:
    """A grid of runs that are trained alike.

    Attributes
    ----------
    models : sequence of mapping
        As for `models.sweep`.
    seeds : int
    training : mapping
    """

    models: Sequence[Mapping[str, Any]]
    seeds: int
    training: Mapping[str, Any]


def study_table(
    folder: Path,
    parts: Sequence[StudyPart],
    data: Mapping[str, Any],
    *,
    scores: Sequence[str],
    score_at: Sequence[int] = (),
    n: int = 2000,
    stack: int = 1,
    train: int | None = None,
    kept: Path | None = None,
) -> tuple[pd.DataFrame, int]:
    """Train what is not finished, or leave it, and put all that is finished into one table.

    Parameters
    ----------
    folder : Path
        Of the sweep; killed at any moment, it goes on.
    parts : sequence of StudyPart
        One after the other: the first are finished first.
    data : mapping of str to FactorGrid
    scores, score_at, n, stack
        As for `models.sweep`.
    train : int, optional
        Train so many parts, the first, and read what is there of the others: 0 to train nothing.
    kept : Path, optional
        Of what runs found, which the folder is given first, and which is written again in the end.

    Returns
    -------
    table : DataFrame
        As of `models.sweep`, one row a run and scored step.
    planned : int
        Runs in all.
    """
    import pandas as pd

    scoring = ScoringPlan(tuple(scores), tuple(score_at), n)
    if kept is not None:
        put_back(folder, kept)
    tables, planned = [], 0
    prints = {name: str(data_fingerprint(grid)) for name, grid in data.items()}
    for number, part in enumerate(parts):
        if train is None or number < train:
            with costed(folder):
                done = models.sweep(
                    folder,
                    part.models,
                    data,
                    seeds=part.seeds,
                    training=part.training,
                    scores=scores,
                    score_at=score_at,
                    n=n,
                    stack=stack,
                )
            tables.append(done.table)
            planned += done.planned
        else:
            runs = plan_runs(
                part.models, prints, range(part.seeds), part.training, scoring, stack=stack
            )
            tables.append(_finished(folder, runs))
            planned += len(runs)
    if kept is not None:
        keep_runs(folder, kept)
    table = pd.concat([each for each in tables if len(each)] or tables, ignore_index=True)
    return table.drop_duplicates(["run", "step"], ignore_index=True), planned


def _finished(folder: Path, runs: Sequence[PlannedRun]) -> pd.DataFrame:
    rows = {run.identity: row_of(folder, run) for run in runs}
    return table_of(runs, {name: row for name, row in rows.items() if row is not None})


def measure_runs(
    table: pd.DataFrame,
    folder: Path,
    known: Mapping[str, Mapping[str, Any]],
    measure: Callable[[models.Model], Mapping[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Measure every finished model of a table, but for what is known of it.

    Returns
    -------
    dict of str to dict
        By the identity of the run.
    """
    done = table if "error" not in table else table[table["error"].isna()]
    return {
        run: dict(known[run] if run in known else measure(models.load_model(folder / RUNS / run)))
        for run in dict.fromkeys(done["run"])
    }


def known_of(out: Path, settings: Any, name: str, none: Any) -> Any:
    """What `results.json` has of a name, of runs of the same settings, or what stands for none."""
    try:
        content = json.loads((out / "results.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return none
    return content.get(name, none) if content.get("settings") == str(settings) else none


def study_words(said: str | None, data: str, folder: Path) -> str:
    """What stands above the tables: what is done, on which images, and what it has cost.

    Parameters
    ----------
    said : str
        Docstring of the analysis, whose second paragraph is taken.
    data : str
        Of `small_sprites`.
    folder : Path
        Of the runs.
    """
    words = (said or "").split("\n\n")[1] + f"\nImages: {WORDS[data]}."
    return f"{words} {cost_of(folder)}".rstrip()


def write_study(out: Path, preset: str, settings: Any, table: pd.DataFrame, **more: Any) -> None:
    """Write `results.json`: the rows of the table, and what else was found."""
    plain = json.loads(table.to_json(orient="records", double_precision=6))
    rows = [{name: value for name, value in row.items() if value is not None} for row in plain]
    content = {"preset": preset, "geodis": __version__, "settings": str(settings)}
    write_json(out / "results.json", {**content, **to_jsonable(more), "rows": rows})


def last_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Of every run that did not diverge, the row of its last step."""
    done = table if "error" not in table else table[table["error"].isna()]
    return done.sort_values("step", kind="stable").drop_duplicates("run", keep="last").sort_index()


def study_options(parser: argparse.ArgumentParser) -> None:
    """Options of analyses whose models are trained by a sweep."""
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        help="folder of the sweeps, which go on where they stopped (default: runs)",
    )
    parser.add_argument(
        "--parts",
        type=int,
        help="train so many parts of the study, the first, and report what is finished: 0 for none",
    )
