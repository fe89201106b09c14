"""Tables of claims as differences of seeds, whose p are corrected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyses.shared.model_runs import table
from analyses.shared.studies.paired_comparisons import (
    ALPHA,
    PairedComparison,
    compare_pairs,
    holm,
    p_words,
)
from analyses.shared.studies.seed_claims import NOT_PUBLISHED

TOO_FEW = ("", "", "", "too few seeds")
AT_CEILING = "cannot tell (at its ceiling)"
HEADER = ["claim", "published", "seeds", "ours (95 %)", "p", "power", "verdict"]
# Above all tables.
NOTE = (
    "Claims are differences of runs that share a seed, and with it initial weights, batches and "
    "noise; above zero where the claim holds, with Student's interval of 95 %, which is not "
    "corrected. p is of exact sign-flip tests, corrected for the rows of its table (Holm). Power "
    "is the chance to see the difference named above the table, at the level that the first "
    "of so many tests has to pass, simulated with as many seeds of the spread at hand. Reproduced: "
    "a corrected p below .05 and above zero; not reproduced: below zero, or the whole interval "
    "below the difference that is named; else it cannot be told. What is not published has no "
    "verdict on the paper, but what ours is, by the corrected p."
)


@dataclass(frozen=True)
class PairedClaim:
    """What is said to be above zero.

    Attributes
    ----------
    words : str
    published : str
        What the paper says of it; nothing where it does not.
    first, second : mapping of int to float
        By seed; the claim is that the first is larger.
    full : bool
        Both are at the ceiling of their score, where no difference can be seen.
    """

    words: str
    published: str
    first: Mapping[int, float]
    second: Mapping[int, float]
    full: bool = False

    @property
    def seeds(self) -> list[int]:
        """Seeds that both have."""
        return sorted(set(self.first) & set(self.second))

    def compared(self, margin: float, tests: int) -> PairedComparison:
        """The two compared seed by seed, as one of so many tests."""
        first, second = ([side[s] for s in self.seeds] for side in (self.first, self.second))
        return compare_pairs(first, second, margin, tests)


def claim_table(
    claims: Sequence[PairedClaim], margin: float, unit: str = "", digits: int = 3
) -> list[str]:
    """Lines of a table, a row a claim, below what is corrected and what would be seen.

    Parameters
    ----------
    claims : sequence of PairedClaim
        All that are corrected together.
    margin : float
        The difference that would matter.
    unit : str
        Of it.
    digits : int
        Of differences.

    Examples
    --------
    >>> one = PairedClaim("a - b", "above", {0: 1.0, 1: 1.2}, {0: 0.1, 1: 0.1})
    >>> claim_table([one], 0.1)[-1]
    '| a - b | above | 2 | +1.000 (-0.271 to +2.271) | 0.500 | 0.00 | cannot tell (power 0.00) |'
    """
    told = [claim for claim in claims if len(claim.seeds) > 1]
    found = [claim.compared(margin, len(told)) for claim in told]
    results = iter(zip(found, holm([each.p for each in found]), strict=True))
    cells = [
        _cells(claim, *next(results), digits)
        if len(claim.seeds) > 1
        else [claim.words, claim.published or NOT_PUBLISHED, str(len(claim.seeds)), *TOO_FEW]
        for claim in claims
    ]
    amount = f"{margin:g} {unit}".rstrip()
    words = f"p corrected for {len(told)} rows; power to see {amount}."
    return [words, "", *table(HEADER, cells)]


def _cells(claim: PairedClaim, found: PairedComparison, p: float, digits: int) -> list[str]:
    span = f"{found.mean:+.{digits}f} ({found.low:+.{digits}f} to {found.high:+.{digits}f})"
    verdict = found.verdict(p) if claim.published else what_is_found(found.mean, p)
    return [
        claim.words,
        claim.published or NOT_PUBLISHED,
        str(found.n),
        span,
        p_words(p),
        f"{found.power:.2f}",
        AT_CEILING if claim.full else verdict,
    ]


def what_is_found(mean: float, p: float) -> str:
    """A difference of which nothing was published, by its corrected p.

    Examples
    --------
    >>> what_is_found(0.1, 0.01), what_is_found(-0.1, 0.2)
    ('above', 'not told apart')
    """
    if p >= ALPHA:
        return "not told apart"
    return "above" if mean > 0 else "below"
