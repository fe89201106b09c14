"""A claim of seed 000 with what is found of it, and what its words are taken to mean."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analyses.shared.studies.verdicts import CANNOT_TELL, NOT_REPRODUCED, REPRODUCED
from analyses.unsupervised_study.study_sets import COLOR, NOISY, PLAIN, PUBLISHED

# What words of the text are taken to mean, in rank correlations: what is "strong"; a relation that
# would be clear, where power is computed; and the least that would matter (Cohen's medium effect).
STRONG = 0.5
ASSUMED = 0.5
MATTERS = 0.3
ALL = "all"
# The sets on which figures were published.
ON_PLAIN, ON_COLOR, ON_NOISY, ON_CARS = *(PUBLISHED[s] for s in (PLAIN, COLOR, NOISY)), "Cars3D"


@dataclass(frozen=True)
class Claim:
    """A line of the table of claims.

    Attributes
    ----------
    where, data, claim : str
        Figure or result, set, and what is claimed.
    published : str
        What was published; nothing where that is no claim of the text.
    found : str
    runs : int
    power : float
    verdict : str
    on : str
        The set on which it was published; nothing where the text names none.
    """

    where: str
    data: str
    claim: str
    published: str
    found: str
    runs: int
    power: float
    verdict: str
    on: str = ""

    @property
    def is_published(self) -> bool:
        """Whether it was published of this set."""
        return bool(self.published) and self.on in ("", PUBLISHED.get(self.data, self.data))

    @property
    def published_words(self) -> str:
        """What was published, and on which set.

        Examples
        --------
        >>> one = Claim("Fig. 1", "plain", "", "falls", "", 9, 1.0, REPRODUCED, ON_COLOR)
        >>> one.published_words, one.verdict_words
        ('not published for this set; falls on Color-dSprites', 'as on Color-dSprites')
        """
        if not self.published:
            return "not published"
        if self.is_published:
            return f"{self.published} (on {self.on})" if self.on else self.published
        here = "these sets" if self.data == ALL else "this set"
        return f"not published for {here}; {self.published} on {self.on}"

    @property
    def verdict_words(self) -> str:
        """The verdict; on a set of which nothing was published, whether it is as on the other."""
        if self.is_published or not self.verdict:
            return self.verdict
        said = {REPRODUCED: f"as on {self.on}", NOT_REPRODUCED: f"not as on {self.on}"}
        return said.get(self.verdict, CANNOT_TELL)


def sets_of(frame: pd.DataFrame, on: str = "") -> list[tuple[str, pd.DataFrame]]:
    """Sets with runs enough to say something, that on which it was published first."""
    sets = [(str(name), own) for name, own in frame.groupby("data", sort=False) if len(own) >= 6]
    return sorted(sets, key=lambda each: PUBLISHED[each[0]] != on)
