"""The result of a score, and its description: card, cost, and display settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError

HowOften = Literal["often", "seldom", "never"]
Question = Literal["information", "modularity", "completeness", "geometry"]

# Questions in the order of the table.
QUESTIONS: dict[Question, str] = {
    "information": "Is the information there?",
    "modularity": "Is each latent of one factor?",
    "completeness": "Is each factor in one latent?",
    "geometry": "Is the geometry kept?",
}

# How scores treat factors that are not one column of numbers, and groups of latents.
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
    """A short description of a score.

    Attributes
    ----------
    rewards : str
        What a code must do to score high.
    blind : str
        What the score cannot detect or confuses with something else.
    answers : str, or mapping of str to str
        The question of `QUESTIONS` that it answers, by row if rows answer different questions.
        None for a score of latents alone.
    scale : str
        From the worst to the best value.
    chance : str
        Its value for latents that are independent of the factors.
    shapes : str
        How it treats each kind of factor, factors of several columns, and groups of latents.
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
        """Return the question that a row of the table answers, or ""."""
        if isinstance(self.answers, Mapping):
            return self.answers.get(row, "")
        return self.answers or ""


# Sections of a score's docstring -> part of its card.
CARD_SECTIONS = {
    "Rewards": "rewards",
    "Cannot see": "blind",
    "Range": "scale",
    "By chance": "chance",
    "Factors of any shape": "shapes",
    "Source": "source",
}
REQUIRED_SECTIONS = ("Rewards", "Cannot see", "Source")


def read_card(
    docstring: str,
    name: str,
    *,
    answers: Question | Mapping[str, Question] | None = None,
    shapes: str = CLASSES,
) -> Card:
    r"""Read the card of a score from the sections of its docstring.

    The sections are those of `CARD_SECTIONS`, underlined as in numpydoc; "Rewards", "Cannot see"
    and "Source" are required. The others have the defaults of `Card`. A function that is
    registered under several names may have a section for one of them, such as "Rewards (sap)".

    Parameters
    ----------
    docstring : str
    name : str
        Name under which the score is registered.
    answers, shapes
        As in `Card`. A section "Factors of any shape" replaces `shapes`.

    Raises
    ------
    InputError
        If a required section is missing.

    Examples
    --------
    >>> text = "Rewards\n-------\nOrder.\n\nCannot see\n----------\nUnits\nof length."
    >>> read_card(text + "\n\nSource\n------\nHyvärinen 2016", "mcc").blind
    'Units of length.'
    """
    sections = _docstring_sections(docstring)
    texts = {"shapes": shapes}
    for title, part in CARD_SECTIONS.items():
        text = sections.get(f"{title} ({name})") or sections.get(title)
        if text:
            texts[part] = text
        elif title in REQUIRED_SECTIONS:
            raise InputError(
                f"The docstring of {name} needs a section {title!r} for its card; "
                f"got {', '.join(sections) or 'no sections'}."
            )
    return Card(answers=answers, **texts)


def _docstring_sections(docstring: str) -> dict[str, str]:
    """Split a numpydoc docstring into title -> text on a single line."""
    lines = cleandoc(docstring).splitlines()
    starts = [
        place
        for place, (title, rule) in enumerate(pairwise(lines))
        if title and rule == "-" * len(title)
    ]
    ends = [*starts[1:], len(lines)]
    return {
        lines[start]: " ".join(" ".join(lines[start + 2 : end]).split())
        for start, end in zip(starts, ends, strict=True)
    }


@dataclass(frozen=True)
class Cost:
    """Computing time of a score, and its consequences.

    Attributes
    ----------
    text : str
        Time for 5,000 rows, 10 latents and 5 factors, and how it grows with n rows, z latents and
        f factors.
    intervals : {"often", "seldom", "never"}
        How often a report resamples the score for an interval: as often as requested (scores of 1
        or 2 ms for 1,000 rows), one fifth as often (10 to 30 ms), or not at all.
    many_latents : bool
        Whether it takes more than a second for 900 rows, 1,728 latents and 3 factors. Reports skip
        these scores for wide arrays.
    """

    text: str = "milliseconds"
    intervals: HowOften = "never"
    many_latents: bool = False


QUICK = Cost(intervals="often")


@dataclass(frozen=True)
class MatrixCaption:
    """Caption of a figure of the matrix of a score.

    Attributes
    ----------
    name : str
        Name of the file.
    title : str
    about : str
        One line of alternative text.
    entry, unit : str
        Name and unit of one entry.
    """

    name: str
    title: str
    about: str
    entry: str
    unit: str


@dataclass(frozen=True)
class Shown:
    """Where a score is shown besides its row in the table.

    Attributes
    ----------
    title : str
        Its name in a sentence, such as "MIG"; by default the name of its row.
    headline : int
        Rank among the scores quoted in the summary of a report; 0 if it is not quoted.
    best_factor : str
        Row of the table that `Score.per_factor` belongs to, if a summary may name the best and the
        worst factor.
    figure : bool
        Whether figures of the scores by factor show it by default.
    matrix : MatrixCaption or None
        Caption of its matrix, if reports draw it.
    """

    title: str = ""
    headline: int = 0
    best_factor: str = ""
    figure: bool = False
    matrix: MatrixCaption | None = None


# The result of a score: one number and its details.

MOST_WRITTEN = 100_000  # entries of a matrix written as text


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """A score of latents against factors.

    Attributes
    ----------
    name : str
        Name of the function, such as "mig".
    value : float
        The score; `float(score)` gives it.
    per_factor : ndarray of shape (f,), optional
        The score of every factor, if defined.
    per_latent : ndarray of shape (z,), optional
        The score of every latent, if defined.
    matrix : ndarray of shape (z, f), optional
        The matrix behind the score: mutual information, importances, accuracies.
    details : mapping
        Further results by name.
    note : str
        Caveats: what was left out, binned or subsampled.
    factor_names : tuple of str
        Names of the factors, in the order of `per_factor`; empty if they have none.

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
        """Return plain values for JSON. Of a very large matrix, only the shape is kept."""
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
        """Return the matrix, or its shape if the text would take hundreds of megabytes."""
        if self.matrix is None or self.matrix.size <= MOST_WRITTEN:
            return {"matrix": self.matrix}
        return {"matrix_shape": self.matrix.shape}
