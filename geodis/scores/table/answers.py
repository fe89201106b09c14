"""Five answers before forty numbers: what the scores of a table say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.scores.card import QUESTIONS

if TYPE_CHECKING:
    import pandas as pd

# Chance and value nearer than this cannot be told apart by one permutation.
NEAR_CHANCE = 0.02


@dataclass(frozen=True)
class TableAnswer:
    """What the scores that answer one question say together.

    Attributes
    ----------
    question : str
    names : tuple of str
        The rows that answer it.
    median, low, high : float
        How far they are from chance (0) to the best value (1).
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
    """Scores that can be held against chance; an efficiency compares accuracies with each other."""
    return frame[frame["chance"].notna() & ~frame.index.str.endswith("_efficiency")]


def above_chance(rows: Any) -> Any:
    """Whether scores, one row or all, are so far above chance that one permutation can tell.

    Of those that are better lower: below it.
    """
    ahead = rows["value"] - rows["chance"]
    return np.where(rows["better"] == "lower", -ahead, ahead) > NEAR_CHANCE


def answers_of(frame: pd.DataFrame) -> list[TableAnswer]:
    """Read a table question by question, those that no score answers left out.

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
        usable = np.abs(room) > NEAR_CHANCE  # where chance is perfect, a score says nothing
        way = (rows["value"] - rows["chance"]).to_numpy(float)[usable] / room[usable]
        if len(way):
            way = np.clip(way, 0.0, 1.0)
            names = tuple(map(str, rows.index[usable]))
            middle, low, high = float(np.median(way)), float(way.min()), float(way.max())
            answers.append(TableAnswer(text, names, middle, low, high))
    return answers


def answer_lines(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Questions and answers, the last of which counts the scores above chance.

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
