"""The table of a sweep: one row a run and step, of settings, terms and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.write import whole_file, without_formulas
from geodis.models.sweeps.sweep_plan import TRAINING, PlannedRun

if TYPE_CHECKING:
    import pandas as pd

TABLE = "table"


def table_of(runs: Sequence[PlannedRun], rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Put what runs wrote into one table, in the order of the plan.

    Parameters
    ----------
    runs : sequence of PlannedRun
    rows : mapping of str to mapping
        What every finished run wrote, by its identity.

    Returns
    -------
    DataFrame
        Columns "run", "model", "data", "seed", the settings that the grid names, "training steps",
        "training batch_size" and what else of training is not as it is by default, "step",
        "term ...", "score ..." and, of priors that learn, "exponent 1", ... from the smallest;
        "error" in all rows of runs that diverged, of which the last has neither step nor scores.
        Runs that are not finished are not there.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    trained = _training_columns(runs)
    for run in runs:
        row = rows.get(run.identity)
        if row is None:
            continue
        whose = {
            "run": run.identity,
            "model": run.model,
            "data": run.data,
            "seed": run.seed,
            **{name: _cell(value) for name, value in run.named.items()},
            **{f"training {name}": _cell(run.training[name]) for name in trained},
        }
        scored = [{k: v for k, v in each.items() if k != "scored"} for each in row["scored"]]
        if "error" in row:
            scored = [{**each, "error": row["error"]} for each in (*scored, {})]
        lines += [{**whose, **each} for each in scored]
    settings = [*_in_order(run.named for run in runs), *(f"training {name}" for name in trained)]
    found = _in_order(lines)
    terms = [name for name in found if name.startswith("term ")]
    scores = [name for name in found if name.startswith("score ")]
    scores += [name for name in found if name.startswith("exponent ")]
    error = ["error"] if "error" in found else []
    columns = ["run", "model", "data", "seed", *settings, "step", *terms, *scores, *error]
    return pd.DataFrame(lines, columns=columns)


def _training_columns(runs: Sequence[PlannedRun]) -> list[str]:
    """What of training has a column: how long, in which batches, and what is no default."""
    always = ("steps", "batch_size", "precision")
    return [
        name
        for name, default in TRAINING.items()
        if runs and (name in always or any(run.training[name] != default for run in runs))
    ]


def _cell(value: Any) -> Any:
    """A setting as a cell: lists and tables as they print."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _in_order(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names in the order in which they come."""
    return list(dict.fromkeys(name for entry in entries for name in entry))


def write_sweep_table(table: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a table as CSV and, where pyarrow is installed, as parquet."""
    paths = [folder / f"{TABLE}.csv"]
    with whole_file(paths[0], durable=True) as temporary:
        without_formulas(table).to_csv(temporary, index=False)
    if find_spec("pyarrow") is not None:
        # A column in which one grid has texts and another numbers has no type there.
        typed = table.apply(lambda column: column.map(_text) if _is_mixed(column) else column)
        paths.append(folder / f"{TABLE}.parquet")
        with whole_file(paths[1], durable=True) as temporary:
            typed.to_parquet(temporary, index=False)
    return paths


def _is_mixed(column: pd.Series) -> bool:
    kinds = {type(value) for value in column if value is not None and value == value}
    return column.dtype == object and len(kinds) > 1


def _text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)
