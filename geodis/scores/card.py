"""What is known of a score beside its function: what it means, what it costs, how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

HowOften = Literal["often", "seldom", "never"]
Question = Literal["information", "modularity", "completeness", "geometry"]

# What the table asks of a code, in this order; whether the answers are above chance comes last.
QUESTIONS: dict[Question, str] = {
    "information": "Is the information there?",
    "modularity": "Is each latent of one factor?",
    "completeness": "Is each factor in one latent?",
    "geometry": "Is the geometry kept?",
}

# What scores do with factors that are not numbers of one column, and with groups of latents.
CLASSES = (
    "Every value is a class, of numbers, labels and circles alike; continuous factors need bins. "
    "Columns of one factor count one by one, and so do the latents of a group."
)
CLASSES_OF_ALL = CLASSES.replace(
    ", and so do the latents of a group", "; latents are read together"
)
NUMBERS = (
    "Numbers; cyclic ones as they stand, with a seam. Labels of any kind are left out. Columns of "
    "one factor count one by one, and so do the latents of a group."
)
NUMBERS_OF_ALL = NUMBERS.replace(
    ", and so do the latents of a group", "; latents are read together"
)
BLOCKS = (
    "All: a factor of several columns as it is, a cyclic number as its cosine and sine, labels as "
    "a column of zeros and ones each; latents of a group are one."
)
ALL_LATENTS = BLOCKS.replace("latents of a group are one", "all latents are read together")
COLUMNS = (
    "Numbers and ordered labels; labels without an order are left out. Columns of one factor, and "
    "cosine and sine of a cyclic one, are matched one by one, and the factor has their mean; so "
    "are the latents of a group."
)
VALUES = (
    "All, column by column: values are told apart, and neither their order nor a period matters. "
    "Latents of a group count one by one."
)
IN_ORDER = (
    "Values in their order, around the circle where a cyclic factor has even steps; labels "
    "without an order are left out. Columns of one factor count one by one."
)


@dataclass(frozen=True)
class Card:
    """A score in a few sentences.

    Attributes
    ----------
    rewards : str
        What a code must do to score high.
    blind : str
        What the score cannot see, or takes for something else.
    answers : str, or mapping of str to str
        The question of `QUESTIONS` that it answers; by row where rows answer different ones. None
        for a score of latents alone.
    scale : str
        From the worst to the best value.
    chance : str
        Of latents that have nothing to do with the factors.
    shapes : str
        What it does with factors of every kind, of several columns, and with groups of latents.
    source : str
        The paper, and its equation.

    Examples
    --------
    >>> card = Card("Order.", "Units.", {"mcc": "completeness"}, source="Hyvärinen 2016")
    >>> card.question("mcc"), card.question("other")
    ('completeness', '')
    """

    rewards: str
    blind: str
    answers: Question | Mapping[str, Question] | None = None
    scale: str = "0 to 1"
    chance: str = "near 0"
    shapes: str = CLASSES
    source: str = ""

    def question(self, row: str) -> str:
        """The question that a row of the table answers; "" where it answers none."""
        if isinstance(self.answers, Mapping):
            return self.answers.get(row, "")
        return self.answers or ""


# Scores of latents alone.
INDEPENDENCE = Card(
    rewards="Latents that are independent of each other, as far as Gaussians show.",
    blind="The factors: independent latents may each mix all of them.",
    scale="0 (best) up",
    chance="none: factors are not used",
    shapes="",
    source="Locatello et al. 2019, section 5.2",
)


@dataclass(frozen=True)
class Cost:
    """How long a score takes, and what follows from it.

    Attributes
    ----------
    text : str
        Seconds for 5,000 rows, 10 latents and 5 factors, and how they grow with n rows, z latents
        and f factors.
    intervals : {"often", "seldom", "never"}
        How often a report resamples it for an interval: as often as was asked for, for scores that
        take 1 or 2 ms for 1,000 rows; a fifth as often, for 10 to 30 ms; or not at all.
    many_latents : bool
        Takes more than a second for 900 rows, 1,728 latents and 3 factors. Reports leave these
        scores out for wide arrays.
    """

    text: str = "milliseconds"
    intervals: HowOften = "never"
    many_latents: bool = False


QUICK = Cost(intervals="often")


@dataclass(frozen=True)
class MatrixCaption:
    """What the matrix of a score is called where it is drawn.

    Attributes
    ----------
    name : str
        Of the file.
    title : str
    about : str
        One line for a reader who does not see the figure.
    entry, unit : str
        Of one number.
    """

    name: str
    title: str
    about: str
    entry: str
    unit: str


@dataclass(frozen=True)
class Shown:
    """Where a score is shown beyond its row in the table.

    Attributes
    ----------
    title : str
        What a sentence calls it, such as "MIG"; by default the name of its row.
    headline : int
        Rank among the scores that the summary of a report quotes; 0 for none.
    best_factor : str
        Row of the table that `Score.per_factor` belongs to, if a summary may name the factors of
        the best and the worst part.
    figure : bool
        Whether figures of the parts by factor show it at first.
    matrix : MatrixCaption or None
        Caption of the matrix, if reports draw it.
    """

    title: str = ""
    headline: int = 0
    best_factor: str = ""
    figure: bool = False
    matrix: MatrixCaption | None = None


# What every score returns: one number, and the detail it was made from.

MOST_WRITTEN = 100_000  # numbers of a matrix, as text


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """A score of latents against factors.

    Attributes
    ----------
    name : str
        Name of the function that made it, such as "mig".
    value : float
        The score; `float(score)` gives it.
    per_factor : ndarray of shape (f,), optional
        The score of every factor, where the score has such parts.
    per_latent : ndarray of shape (z,), optional
        The score of every latent.
    matrix : ndarray of shape (z, f), optional
        What the score was read from: mutual information, importances, accuracies.
    details : mapping
        Anything else a reader may want, by name.
    note : str
        What a reader must know to trust the number: what was left out, binned or too few.
    factor_names : tuple of str
        Names of the factors, in the order of `per_factor`; empty when they have none.

    Examples
    --------
    >>> score = Score("mig", 0.5, per_factor=np.array([0.75, 0.25]))
    >>> float(score)
    0.5
    >>> print(score)
    mig 0.500
      per factor  0.750 0.250
    """

    name: str
    value: float
    per_factor: np.ndarray | None = None
    per_latent: np.ndarray | None = None
    matrix: np.ndarray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    factor_names: tuple[str, ...] = ()

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        lines = [f"{self.name} {self.value:.3f}"]
        if self.per_factor is not None:
            names = [f"{name} " for name in self.factor_names] or [""] * len(self.per_factor)
            parts = zip(names, self.per_factor, strict=True)
            lines.append("  per factor  " + " ".join(f"{name}{x:.3f}" for name, x in parts))
        if self.per_latent is not None:
            lines.append("  per latent  " + " ".join(f"{x:.3f}" for x in self.per_latent))
        numbers = [
            f"{name} {number:.3f}"
            for name, number in self.details.items()
            if isinstance(number, float | np.floating)
        ]
        if numbers:
            lines.append("  " + ", ".join(numbers))
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; of a huge matrix the shape alone."""
        from geodis.base.write import to_jsonable

        plain = {
            "name": self.name,
            "value": self.value,
            "per_factor": self.per_factor,
            "per_latent": self.per_latent,
            **self._plain_matrix(),
            "details": dict(self.details),
            "note": self.note,
            "factor_names": list(self.factor_names),
        }
        return to_jsonable({key: part for key, part in plain.items() if part is not None})

    def _plain_matrix(self) -> dict[str, Any]:
        """Between all pairs of thousands of latents it would be hundreds of megabytes of text."""
        if self.matrix is None or self.matrix.size <= MOST_WRITTEN:
            return {"matrix": self.matrix}
        return {"matrix_shape": self.matrix.shape}
