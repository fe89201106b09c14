"""The table of scores returned by `score_latents`, and its summary."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import counted, listed, number_text
from geodis.base.write import to_jsonable, write_json
from geodis.scores.card import QUESTIONS, Score

if TYPE_CHECKING:
    import pandas as pd


# Summary of a table by questions.

# Differences from chance below this are not significant with one permutation.
NEAR_CHANCE = 0.02


@dataclass(frozen=True)
class TableAnswer:
    """Summary of the scores that answer one question.

    Attributes
    ----------
    question : str
    names : tuple of str
        The rows that answer it.
    median, low, high : float
        Of their values, rescaled such that chance is 0 and the best value is 1.
    """

    question: str
    names: tuple[str, ...]
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        if len(self.names) == 1:
            return f"{self.median:.2f} ({self.names[0]})"
        span = f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.median:.2f} ({span}, {len(self.names)} scores)"


def judged_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with a chance level; efficiencies, ratios of accuracies, have none."""
    return frame[frame["chance"].notna() & ~frame.index.str.endswith("_efficiency")]


def above_chance(rows: Any) -> Any:
    """Return whether scores are significantly better than chance."""
    ahead = rows["value"] - rows["chance"]
    return np.where(rows["better"] == "lower", -ahead, ahead) > NEAR_CHANCE


def answers_of(frame: pd.DataFrame) -> list[TableAnswer]:
    """Summarise a table by questions, without those that no score answers.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of a `ScoreTable`: ``value``, ``chance``, ``better``, ``question``.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [[0.9, 0.5, "higher", "information"], [0.2, 0.0, "higher", "completeness"]]
    >>> columns = ["value", "chance", "better", "question"]
    >>> for answer in answers_of(pd.DataFrame(rows, ["explicitness", "mig"], columns)):
    ...     print(answer.question, answer)
    Is the information there? 0.80 (explicitness)
    Is each factor in one latent? 0.20 (mig)
    """
    judged = judged_scores(frame)
    answers = []
    for question, text in QUESTIONS.items():
        rows = judged[judged["question"] == question]
        best = np.where(rows["better"] == "lower", 0.0, 1.0)
        room = best - rows["chance"].to_numpy(float)
        usable = np.abs(room) > NEAR_CHANCE  # uninformative if chance is perfect
        way = (rows["value"] - rows["chance"]).to_numpy(float)[usable] / room[usable]
        if len(way):
            way = np.clip(way, 0.0, 1.0)
            names = tuple(map(str, rows.index[usable]))
            middle, low, high = float(np.median(way)), float(way.min()), float(way.max())
            answers.append(TableAnswer(text, names, middle, low, high))
    return answers


def answer_lines(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Return questions and answers; the last one counts the scores above chance.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"value": [0.3], "chance": [0.1], "better": "higher"}, ["mig"])
    >>> answer_lines(frame.assign(question="completeness"))
    [('Is each factor in one latent?', '0.22 (mig)'), ('Is it above chance?', '1 of 1 scores')]
    """
    judged = judged_scores(frame)
    lines = [(answer.question, str(answer)) for answer in answers_of(frame)]
    if len(judged):
        count = int(np.sum(above_chance(judged)))
        lines.append(("Is it above chance?", f"{count} of {len(judged)} scores"))
    return lines


# Longer tables are printed with a summary.
GLANCE = 10


def names_by_text(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Group names by their text.

    Examples
    --------
    >>> names_by_text({"mig": "binned", "sap": "binned"})
    {'binned': ['mig', 'sap']}
    """
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return names


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(Mapping[str, float]):
    """The result of `score_latents`: a mapping of rows to values, with all details.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per score, indexed by its name: ``family``, ``question`` (of its card:
        "information", "modularity", "completeness", "geometry", or ""), ``value``, ``chance`` (for
        permuted factors; NaN for scores without factors), ``low`` and ``high`` (NaN unless
        requested), ``better`` ("higher" or "lower"), ``seconds``, ``note``.
    scores : mapping of str to Score
        The full result of every function: matrices, scores by factor and by latent.
    skipped : mapping of str to str
        Scores that do not apply, and why.
    n, n_latents : int
        Numbers of rows and latents.
    factor_names : tuple of str
    seed : object
        The given `random_state`.
    group_names : tuple of str
        Factors of several columns; `factor_names` are the names of columns.
    """

    frame: pd.DataFrame
    scores: Mapping[str, Score]
    skipped: Mapping[str, str]
    n: int
    n_latents: int
    factor_names: tuple[str, ...]
    seed: Any
    group_names: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """Return the value of one row."""
        if name not in self.frame.index:
            why = self.skipped.get(name, f"rows are {', '.join(self.frame.index)}")
            raise KeyError(f"{name}: {why}")
        return float(self.frame.at[name, "value"])

    def __iter__(self) -> Iterator[str]:
        return map(str, self.frame.index)

    def __len__(self) -> int:
        return len(self.frame)

    # Tables are compared by identity, because they are more than their values.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def values_by_name(self) -> dict[str, float]:
        """Row -> value."""
        return dict(self)

    @property
    def per_factor(self) -> pd.DataFrame:
        """Scores by factor, where defined, for columns and groups."""
        import pandas as pd

        parts = {}
        for name, score in self.scores.items():
            named = self.factor_names if self._by_column(score) else score.factor_names
            if score.per_factor is not None and len(score.per_factor) == len(named):
                parts[name] = dict(zip(named, score.per_factor, strict=True))
        columns = [*self.factor_names, *self.group_names]
        return pd.DataFrame.from_dict(parts, orient="index", columns=columns)

    def _by_column(self, score: Score) -> bool:
        """Return whether a score is by column; scores by group have names of groups."""
        return not set(score.factor_names) & set(self.group_names)

    @property
    def answers(self) -> list[TableAnswer]:
        """Summary of the scores by question."""
        return answers_of(self.frame)

    def _columns(self) -> list[tuple[str, list[str]]]:
        """Return titles and cells of the printed table."""
        frame = self.frame
        columns = [("score", list(map(str, frame.index)))]
        for title in ("value", "chance", "low", "high"):
            if title == "value" or frame[title].notna().any():
                columns.append((title, [number_text(x) for x in frame[title]]))
        lower = ["lower is better" if x == "lower" else "" for x in frame["better"]]
        return [*columns, ("", lower)] if any(lower) else columns

    def remarks(self) -> list[str]:
        """Return notes on scores and reasons for skipping, each sentence once."""
        notes = names_by_text({name: score.note for name, score in self.scores.items()})
        lines = [f"{', '.join(names)}: {note}" for note, names in notes.items() if note]
        reasons = names_by_text(self.skipped)
        return lines + [f"skipped {', '.join(names)}: {why}" for why, names in reasons.items()]

    def __str__(self) -> str:
        columns = self._columns()
        widths = [max(map(len, [title, *cells])) for title, cells in columns]
        latents = counted(self.n_latents, "latent")
        factors = counted(len(self.factor_names), "factor")
        if self.group_names:
            factors = f"{len(self.factor_names)} columns of factors ({', '.join(self.group_names)})"
        lines = [f"{counted(self.n, 'row')}, {latents}, {factors}", "", *self._answered()]
        table = [
            [title for title, _ in columns],
            *zip(*(cells for _, cells in columns), strict=True),
        ]
        families = ["", *self.frame["family"]]
        for i, row in enumerate(table):
            if i and families[i] != families[i - 1]:
                lines.append(families[i])
            cells = [
                cell.ljust(width) if j == 0 or not columns[j][0] else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        remarks = self.remarks()
        return "\n".join(lines + (["", *remarks] if remarks else []))

    __repr__ = __str__

    def _answered(self) -> list[str]:
        """Return the summary of a long table."""
        if len(self.frame) <= GLANCE or not (answered := answer_lines(self.frame)):
            return []
        width = max(len(question) for question, _ in answered)
        lines = [f"  {question:<{width}}  {answer}" for question, answer in answered]
        return ["From chance (0) to the best value (1), the median of what answers:", *lines, ""]

    def _repr_html_(self) -> str:
        return self.frame.drop(columns=["seconds"]).to_html(float_format=number_text, na_rep="")

    def to_markdown(self) -> str:
        """Return the table in Markdown, followed by remarks."""
        columns = self._columns()
        titles = [title for title, _ in columns]
        lines = ["| " + " | ".join(titles) + " |"]
        lines.append("|" + "|".join("---" if j == 0 else "--:" for j in range(len(titles))) + "|")
        lines += [
            "| " + " | ".join(row) + " |"
            for row in zip(*(cells for _, cells in columns), strict=True)
        ]
        remarks = [f"- {line}" for line in self.remarks()]
        return "\n".join(lines + (["", *remarks] if remarks else []))

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain values."""
        rows = self.frame.reset_index(names="score").to_dict("records")
        plain = {
            "n": self.n,
            "n_latents": self.n_latents,
            "factor_names": list(self.factor_names),
            "group_names": list(self.group_names),
            "answers": [asdict(answer) for answer in self.answers],
            "seed": self.seed if isinstance(self.seed, int) else None,
            "rows": rows,
            "skipped": dict(self.skipped),
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
        }
        return to_jsonable(plain)

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write all results to a JSON file atomically; `agreement` reads such files."""
        return write_json(path, self.to_dict())


# Reports skip slow scores for wide arrays, where they would take minutes: for more latents than
# this, if rows times latents times factors exceed the second number.
MANY_LATENTS, MOST_NUMBERS = 100, 1_000_000


def left_out(shape: tuple[int, ...], n_factors: int, asked: Sequence[str] | None) -> list[str]:
    """Return the scores that are skipped for latents of this shape, unless scores are requested.

    Examples
    --------
    >>> left_out((10_000, 100), 5, None), left_out((900, 1728), 3, ["dci"])
    ([], [])
    >>> left_out((900, 1728), 3, None)[:3]
    ['infomec', 'sap', 'dci']
    """
    from geodis.scores.registry import choose_scores

    n, z = shape
    if asked is not None or z <= MANY_LATENTS or n * z * n_factors <= MOST_NUMBERS:
        return []
    return [entry.name for entry in choose_scores(None) if entry.cost.many_latents]


def scores_to_compute(
    shape: tuple[int, ...], n_factors: int, asked: Sequence[str] | None
) -> list[str] | None:
    """Return the requested scores, or all that are not left out, for `score_latents`."""
    from geodis.scores.registry import choose_scores

    slow = left_out(shape, n_factors, asked)
    if not slow:
        return None if asked is None else list(asked)
    return [entry.name for entry in choose_scores(None) if entry.name not in slow]


def left_out_sentence(names: Sequence[str], n_latents: int) -> str:
    """Return a sentence on the scores left out, or "" if there are none."""
    if not names:
        return ""
    return (
        f"Left out, for of {n_latents:,} latents they take minutes: {listed(names)}; ask for them "
        f"by name (--only {names[0]}, or scores=[...] in Python)."
    )
