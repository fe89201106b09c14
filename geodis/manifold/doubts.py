"""Reasons to doubt an answer.

A check calls `doubt` with the code of a kind and the numbers that it measured. The sentence, the
remedy and the weight of every kind are in `doubts.toml`; so is the text of the documentation's
page on doubts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

Kind = Literal[
    "sampling",
    "noise",
    "metric",
    "not a manifold",
    "not global",
    "too few points",
    "told by the user",
]
About = str | tuple[str, int]
FLAT: About = "flat part"


@dataclass(frozen=True)
class DoubtKind:
    """One kind of doubt: an entry of `doubts.toml`.

    Attributes
    ----------
    code : str
        A short name, in words joined by hyphens.
    kind : {"sampling", "noise", "metric", "not a manifold", "not global", "too few points", \
"told by the user"}
    sentence, remedy : str
        Templates for the numbers of the evidence.
    why : str
        When it arises, for the documentation.
    weight : float
        How much it counts against a fit when dimensions are compared, as with ``dim="scan"``. It
        is 0 for doubts about the dimension itself and for checks of a finished fit, which do not
        indicate the right dimension.
    """

    code: str
    kind: Kind
    sentence: str
    remedy: str
    why: str
    weight: float


@cache
def doubt_kinds() -> dict[str, DoubtKind]:
    """Read all kinds of doubt, by code.

    Examples
    --------
    >>> doubt_kinds()["outliers"].remedy
    'look at the rows in outliers_'
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {code: DoubtKind(code, **own) for code, own in tomllib.loads(text).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Doubt(str):
    """A reason to doubt an answer: its sentence as a string, with its parts as attributes.

    Parameters
    ----------
    code : str
        The code of its kind in `doubt_kinds()`.
    kind : str
    about : str or (str, int)
        What it concerns, as "dimension", "rows" or ("factor", 1).
    evidence : dict
        The numbers in the sentence.
    remedy : str
        What to do about it.
    weight : float

    Examples
    --------
    >>> found = doubt("outliers", "rows", count=30, n=400)
    >>> print(found)
    30 of 400 points lie far from all others and were left out: look at the rows in outliers_
    >>> found.code, found.kind, found.evidence
    ('outliers', 'sampling', {'count': 30, 'n': 400})
    """

    code: str
    kind: Kind
    about: About
    evidence: Mapping[str, Any]
    remedy: str
    weight: float = 1.0

    def __new__(
        cls,
        code: str,
        kind: Kind,
        about: About,
        evidence: Mapping[str, Any],
        remedy: str,
        weight: float = 1.0,
    ) -> Doubt:
        """Make the sentence."""
        statement = doubt_kinds()[code].sentence.format(**evidence)
        return super().__new__(cls, f"{statement}: {remedy}")

    def __getnewargs__(self) -> Any:
        return self.code, self.kind, self.about, self.evidence, self.remedy, self.weight

    @property
    def statement(self) -> str:
        """The sentence without the remedy."""
        return self.removesuffix(f": {self.remedy}")

    @property
    def advice(self) -> str:
        """The statement and the remedy, as two sentences."""
        statement, remedy = self.statement, self.remedy
        return f"{statement[0].upper()}{statement[1:]}. {remedy[0].upper()}{remedy[1:]}."


def doubt(code: str, about: About, *, weight: float | None = None, **evidence: Any) -> Doubt:
    """Raise a doubt of a known kind, with the numbers that it is based on."""
    kind = doubt_kinds()[code]
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in evidence.items()}
    weight = kind.weight if weight is None else weight
    return Doubt(code, kind.kind, about, plain, kind.remedy.format(**plain), weight)


def each_once(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    """Drop repeated doubts and keep the order."""
    return tuple(dict.fromkeys(doubts))


def with_sentences(result: Any) -> dict[str, Any]:
    """Return the fields of a result for JSON, with its doubts as sentences."""
    return asdict(replace(result, doubts=tuple(map(str, result.doubts))))
