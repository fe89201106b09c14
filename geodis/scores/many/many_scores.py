"""The table of scores of many models, with their spread, agreement and failures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.check import InputError, require
from geodis.base.text import counted, number_text
from geodis.base.write import whole_file, with_formulas, without_formulas
from geodis.scores.many.score_agreement import Agreement, agreement
from geodis.scores.score_table import names_by_text

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = [
    *("model", "score", "family", "question", "value", "chance", "low", "high", "better", "note"),
    "reason",
]
NUMBERS = ("value", "chance", "low", "high")
SUFFIXES = (".parquet", ".csv")
# Number of printed reasons; the frame has all.
MOST_REASONS = 5


@dataclass(frozen=True, eq=False, repr=False)
class ManyScores:
    """The result of `score_many`; prints as the distribution of every score.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per model and score, models in the given order: ``model``, ``score``, ``family``,
        ``question``, ``value``, ``chance``, ``low``, ``high``, ``better``, ``note``, and
        ``reason``, why there is no value. A model that could not be scored has one row without a
        score.

    Examples
    --------
    >>> mig = ["mig", "information", "completeness", 0.1, 0.0, None, None, "higher", "", ""]
    >>> better = [*mig[:3], 0.3, *mig[4:]]
    >>> found = {"a": ([mig], ""), "b": ([better], ""), "c": ([], "Empty.")}
    >>> table = ManyScores.of_models(found)
    >>> print(table)
    3 models, 1 score, 1 model not scored
    <BLANKLINE>
    score  models    low  quarter  median  3 quarters   high  chance  best  worst
    mig         2  0.100    0.150   0.200       0.250  0.300   0.000     b      a
    <BLANKLINE>
    c: Empty.
    """

    frame: pd.DataFrame

    @classmethod
    def of_models(cls, found: Mapping[str, tuple[list[list[Any]], str]]) -> ManyScores:
        """Make the table from the rows of every model.

        Parameters
        ----------
        found : mapping of str to (rows, reason)
            Model -> its rows without the name, and why there are none.
        """
        import pandas as pd

        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        empty = ["", "", "", *[float("nan")] * len(NUMBERS), "", ""]
        for model, (rows, reason) in found.items():
            for row in rows or [[*empty, reason]]:
                for name, cell in zip(COLUMNS, (model, *row), strict=True):
                    columns[name].append(cell)
        frame = pd.DataFrame(columns)
        return cls(frame.astype(dict.fromkeys(NUMBERS, float)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ManyScores:
        """Read a table from a file."""
        import pandas as pd

        path = check_table_path(path)
        try:
            if path.suffix == ".csv":
                missing = dict.fromkeys(NUMBERS, "")
                frame = pd.read_csv(path, keep_default_na=False, na_values=missing)
                frame = with_formulas(frame)
            else:
                require("pyarrow", purpose="A table in Parquet")
                frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} must be a table of many models; got {error}.") from error
        if list(frame.columns) != COLUMNS:
            raise InputError(
                f"{path} must have the columns of a table of many models; got "
                f"{', '.join(map(str, frame.columns))}."
            )
        return cls(frame.astype(dict.fromkeys(NUMBERS, float)))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the frame to a file atomically; its bytes depend only on the rows."""
        path = check_table_path(path)
        with whole_file(path) as temporary:
            if path.suffix == ".csv":
                without_formulas(self.frame).to_csv(temporary, index=False, lineterminator="\n")
            else:
                self.frame.to_parquet(temporary, index=False, engine="pyarrow")
        return path

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the given order."""
        return tuple(map(str, self.frame["model"].unique()))

    @cached_property
    def failures(self) -> dict[str, str]:
        """Models that were not scored, and why."""
        rows = self.frame[self.frame["score"] == ""]
        return dict(zip(rows["model"], rows["reason"], strict=True))

    @cached_property
    def values(self) -> pd.DataFrame:
        """Values of models by scores, NaN if missing, without models that failed."""
        scored = self.frame[self.frame["reason"] == ""]
        wide = scored.pivot(index="model", columns="score", values="value")
        return wide.loc[scored["model"].unique(), scored["score"].unique()]

    @cached_property
    def agreement(self) -> Agreement | None:
        """Rank correlations of scores; None for fewer than three models or two scores."""
        few = len(self.values) < 3 or self.values.shape[1] < 2
        return None if few else agreement(self.values)

    @cached_property
    def spread(self) -> pd.DataFrame:
        """Distribution of every score over models, one row per score.

        Columns are the number of ``models`` with the score; the quantiles ``low``, ``quarter``,
        ``median``, ``3 quarters`` and ``high``; the median ``chance``; ``better``; and the
        ``best`` and ``worst`` model.
        """
        import pandas as pd

        scored = self.frame[self.frame["reason"] == ""].set_index("model")
        lines = {}
        for name, rows in scored.groupby("score", sort=False):
            values = rows["value"].dropna()
            lower = rows["better"].iloc[0] == "lower"
            five = dict(zip(FIVE, values.quantile([0, 0.25, 0.5, 0.75, 1]), strict=True))
            ends = (values.idxmax(), values.idxmin()) if len(values) else ("", "")
            best, worst = ends[::-1] if lower else ends
            lines[str(name)] = {
                "models": len(values),
                **five,
                "chance": rows["chance"].median(),
                "better": "lower" if lower else "higher",
                "best": str(best),
                "worst": str(worst),
            }
        columns = ["models", *FIVE, "chance", "better", "best", "worst"]
        return pd.DataFrame.from_dict(lines, orient="index", columns=columns)

    def remarks(self) -> list[str]:
        """Return reasons of failed models and skipped scores, each once."""
        reasons = names_by_text(self.failures)
        lines = [f"{_some(models)}: {reason}" for reason, models in reasons.items()]
        skipped = self.frame[(self.frame["reason"] != "") & (self.frame["score"] != "")]
        for (score, reason), rows in skipped.groupby(["score", "reason"], sort=False):
            lines.append(f"skipped {score} of {counted(len(rows), 'model')}: {reason}")
        return lines

    def __str__(self) -> str:
        spread = self.spread
        body = spread.drop(columns="better").reset_index(names="score").astype(object)
        for name in (*FIVE, "chance"):
            body[name] = [number_text(x) for x in spread[name]]
        cells = [list(body.columns), *body.astype(str).to_numpy().tolist()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        table = [
            "  ".join(
                [
                    a.ljust(w) if not j else a.rjust(w)
                    for j, (a, w) in enumerate(zip(row, widths, strict=True))
                ]
            )
            for row in cells
        ]
        remarks = self.remarks()
        left = len(remarks) - MOST_REASONS
        more = [f"and {counted(left, 'more reason')}"] * (left > 0)
        lines = [self.head, "", *map(str.rstrip, table)]
        return "\n".join(lines + (["", *remarks[:MOST_REASONS], *more] if remarks else []))

    __repr__ = __str__

    @property
    def head(self) -> str:
        """Numbers of models and scores."""
        failed = f", {counted(len(self.failures), 'model')} not scored" if self.failures else ""
        scores = counted(self.values.shape[1], "score")
        return f"{counted(len(self.models), 'model')}, {scores}{failed}"


FIVE = ("low", "quarter", "median", "3 quarters", "high")


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Require a path with a suffix of a table, before anything is scored."""
    path = Path(path).expanduser()
    if path.suffix not in SUFFIXES:
        raise InputError(f"A table must end in {' or '.join(SUFFIXES)}; got {path}.")
    if path.suffix == ".parquet":
        require("pyarrow", purpose="A table in Parquet")
    return path


def _some(names: list[str]) -> str:
    """Return the first names of a list, and the number of others."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"
