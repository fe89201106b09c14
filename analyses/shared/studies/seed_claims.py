"""Claims on rows of cases: a difference of two kinds of run that share seeds, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyses.shared.model_runs import Row, table
from analyses.shared.studies.paired_comparisons import (
    PairedComparison,
    compare_pairs,
    equal_power,
    equal_verdict,
    interval_power,
    interval_verdict,
)
from analyses.shared.studies.verdicts import CANNOT_TELL

# The verdict where scores that are cut at 0 are 0 in all runs: their difference is 0, whatever the
# difference was before.
ALL_ZERO = f"{CANNOT_TELL} (all values are 0)"
# What the paper says of a difference that it does not mention.
NOT_PUBLISHED = "not published"


@dataclass(frozen=True)
class SeedClaim:
    """What the paper says as a difference above zero.

    Attributes
    ----------
    words, published : str
        What is compared, and what the paper says of it, with its figure; `NOT_PUBLISHED`, and
        why, where it says nothing.
    first, second : mapping
        What cases of either kind have.
    column : str
        What is compared of them.
    margin : float
        The difference that would matter.
    equal : bool
        The paper says that there is none, rather than one above zero.
    learnt : float
        Where the means of both kinds are below, little is learnt of what the paper compares: a
        difference that is there is told as one of low scores, and one that is not cannot be told.
    """

    words: str
    published: str
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    column: str
    margin: float = 0.05
    equal: bool = False
    learnt: float = 0.0

    def verdict(self, one: Sequence[float], other: Sequence[float], found: PairedComparison) -> str:
        """Whether the difference is as published, or what it is where nothing was."""
        if self.published.startswith(NOT_PUBLISHED):
            return "above" if found.low > 0 else "below" if found.high < 0 else "not told apart"
        if not np.any(one) and not np.any(other):
            return ALL_ZERO
        said = equal_verdict(found) if self.equal else interval_verdict(found)
        if max(np.mean(one), np.mean(other)) >= self.learnt:
            return said
        if found.low > 0 or found.high < 0:
            return f"{said}, of low scores"
        power = equal_power(found) if self.equal else interval_power(found)
        return too_little(self.learnt, power)


def too_little(level: float, power: float) -> str:
    """The verdict where no mean is above a level, and no difference is there.

    Examples
    --------
    >>> too_little(0.1, 0.5)
    'cannot tell (no mean above 0.1; power 0.50)'
    """
    return f"{CANNOT_TELL} (no mean above {level:g}; power {power:.2f})"


def values_by_seed(rows: Sequence[Row], kind: Mapping[str, Any], column: str) -> dict[int, float]:
    """A column of the cases of one kind, by seed.

    Examples
    --------
    >>> rows = [{"case": {"model": m, "seed": 3}, "mig": v} for m, v in [("a", 0.1), ("b", 0.2)]]
    >>> values_by_seed(rows, {"model": "b"}, "mig")
    {3: 0.2}
    """
    return {
        row["case"]["seed"]: float(row[column])
        for row in rows
        if all(row["case"].get(name) == value for name, value in kind.items())
        and row.get(column) is not None
    }


def claims_table(rows: Sequence[Row], claims: Sequence[SeedClaim]) -> list[str]:
    """Lines of the table of claims, with the number of seeds behind each and a verdict."""
    cells = []
    for claim in claims:
        one, other = (
            values_by_seed(rows, kind, claim.column) for kind in (claim.first, claim.second)
        )
        seeds = sorted(set(one) & set(other))
        said = [claim.words, claim.published, str(len(seeds))]
        if len(seeds) < 2:
            cells.append([*said, "", "not finished"])
            continue
        pair = [one[seed] for seed in seeds], [other[seed] for seed in seeds]
        found = compare_pairs(*pair, claim.margin)
        span = f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
        cells.append([*said, span, claim.verdict(*pair, found)])
    note = (
        "Differences of runs that share a seed, with Student's interval of 95 %: reproduced where "
        f"it is above zero, not reproduced where it is below {claims[0].margin:g}, else with the "
        "simulated power to see that much. Where the paper sees no difference, reproduced is an "
        f"interval within {claims[0].margin:g} of zero, not reproduced one without zero that is "
        "not. What is not published has no verdict, but what ours is. Not corrected for the "
        "number of claims."
    )
    if learnt := max(claim.learnt for claim in claims):
        note += (
            f" Where no mean of MIG or DCI is above {learnt:g}, too little is disentangled for "
            "the want of a difference to say something, however short its interval; one that is "
            "there is one of low scores."
        )
    if any(cell[-1] == ALL_ZERO for cell in cells):
        note += " Where all values are cut at 0, their difference says nothing."
    header = ["difference", "published", "seeds", "ours (95 %)", "verdict"]
    return ["## Claims", "", note, "", *table(header, cells), ""]
