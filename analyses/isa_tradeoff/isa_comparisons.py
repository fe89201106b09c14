"""Models of `isa_tradeoff` compared seed by seed: stated tests, and at equal reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from analyses.isa_tradeoff.isa_claims import (
    AT_EQUAL,
    CURVES,
    FIRST_MARGIN,
    ISA,
    ISA_SMALL,
    ISA_TC,
    LARGE_BATCHES,
    LIKELIHOOD,
    MARGINS,
    MIG,
    PUBLISHED_BATCH,
    RESTATED,
    SMALL_BATCHES,
    STATED_AT,
    VAE,
    WIDEST,
    StatedTest,
)
from analyses.shared.model_runs import table
from analyses.shared.studies.equal_reconstruction import curve_gains_by_seed
from analyses.shared.studies.paired_comparisons import (
    ALPHA,
    PairedComparison,
    compare_pairs,
    holm,
    interval_power,
    interval_verdict,
    p_words,
)
from analyses.shared.studies.verdicts import CANNOT_TELL

if TYPE_CHECKING:
    import pandas as pd

# Fewer pairs than this can never be significant by their signs.
FEWEST_FOR_SIGNS = 6


def compared(
    rows: pd.DataFrame, test: StatedTest, column: str, tests: int = 1, margin: float | None = None
) -> PairedComparison | None:
    """A test on the seeds that both models have; None of fewer than two.

    Parameters
    ----------
    rows : DataFrame
        With "name", "seed", "beta" and `column`.
    tests : int
        How many are corrected together.
    margin : float, optional
        That of the column by default.
    """
    own = rows[rows["beta"] == test.beta].set_index("seed")
    first, second = (own[own["name"] == name][column] for name in (test.first, test.second))
    seeds = sorted(set(first.index) & set(second.index))
    if len(seeds) < 2:
        return None
    margin = MARGINS[column] if margin is None else margin
    return compare_pairs(first[seeds].tolist(), second[seeds].tolist(), margin, tests)


def found_of(
    rows: pd.DataFrame, tests: Sequence[StatedTest], column: str, margin: float | None = None
) -> list[tuple[StatedTest, PairedComparison, float]]:
    """Tests of one family that have runs, with p corrected for all of the family (Holm).

    One without runs counts as one that found nothing.
    """
    found = [(test, compared(rows, test, column, len(tests), margin)) for test in tests]
    corrected = holm([1.0 if one is None else one.p for _, one in found])
    return [
        (test, one, p) for (test, one), p in zip(found, corrected, strict=True) if one is not None
    ]


def tables_of_tests(rows: pd.DataFrame, tests: Sequence[StatedTest], small: int) -> list[str]:
    """A table of MIG, with what is published if anything is, and one of likelihood.

    Parameters
    ----------
    rows : DataFrame
    tests : sequence of StatedTest
        One family.
    small : int
        Rows of a small batch.
    """
    published = any(test.claimed for test in tests)
    lines: list[str] = []
    for column, title in ((MIG, "MIG"), (LIKELIHOOD, "E log p(x given z), nats")):
        beside = published and column == MIG
        header = ["difference", "beta", *(["published"] if beside else []), "pairs"]
        header += [f"{title} (95 %)", "p", "p, Holm", "ordered", *(["verdict"] if beside else [])]
        cells = []
        for test, one, p in found_of(rows, tests, column):
            cell = [f"{test.first} - {test.second}", f"{test.beta:g}"]
            cell += [*([test.published] if beside else []), str(one.n), span(one)]
            cell += [p_words(one.p), p_words(p), order(test, one, p)]
            cells.append([*cell, *([verdict_of(test, one, p, small)] if beside else [])])
        lines += [*table(header, cells), ""]
    known = [test for test, _, _ in found_of(rows, tests, MIG)]
    missing = [test.words for test in tests if test not in known]
    if missing:
        lines += [f"Without runs here, but counted in the correction: {'; '.join(missing)}.", ""]
    return lines


def span(one: PairedComparison) -> str:
    """A difference with its interval."""
    return f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def order(test: StatedTest, one: PairedComparison, p: float) -> str:
    """Which of the two is better, or with which power no order was found.

    Examples
    --------
    >>> alike = compare_pairs([0.1, 0.3, 0.2], [0.2, 0.2, 0.1], 0.05)
    >>> order(StatedTest(ISA, VAE, 1.0), alike, alike.p)
    'not ordered (power 0.00)'
    """
    if p >= ALPHA:
        return f"not ordered (power {one.power:.2f})"
    return f"{test.first if one.mean > 0 else test.second} is better"


def verdict_of(test: StatedTest, one: PairedComparison, p: float, small: int) -> str:
    """A verdict on what the paper claims; none where it claims nothing.

    None either on models that estimate their divergence from batches which are far smaller than
    the published ones: what they find is said, but is not about the paper.
    """
    if not test.claimed:
        return "none"
    if test.first in LARGE_BATCHES:
        return one.verdict(p)
    return _batches_differ(small, one.power)


def margin_words(rows: pd.DataFrame) -> str:
    """Which verdicts the margin that was first stated would change."""
    now, first = (
        [
            f"{one.verdict(p)} ({test.words})"
            for test, one, p in found_of(rows, RESTATED, MIG, margin)
            if test.claimed
        ]
        for margin in (MARGINS[MIG], FIRST_MARGIN)
    )
    other = [old for new, old in zip(now, first, strict=True) if new != old]
    said = (
        f"With it these verdicts would be others: {'; '.join(other)}."
        if other
        else "No verdict differs by it."
    )
    return f"The margin was {FIRST_MARGIN:g} in MIG when the tests were first stated. {said}"


def middles(rows: pd.DataFrame) -> str:
    """Mean, median and largest MIG of both models at beta 1, which the paper compares."""
    said = []
    for name in (ISA, VAE):
        own = rows[(rows["name"] == name) & (rows["beta"] == 1)][MIG]
        if own.empty:
            return ""
        said.append(f"{own.mean():.3f}, {own.median():.3f} and {own.max():.3f} of {name}")
    return f"Mean, median and largest MIG at beta 1: {', '.join(said)}."


def ordered_pairs(rows: pd.DataFrame) -> list[str]:
    """How many pairs of models are ordered at all: what the numbers say of every strength."""
    counts = {}
    for column in (MIG, LIKELIHOOD):
        pairs = [
            compared(rows, StatedTest(one, other, beta), column)
            for beta in sorted(rows["beta"].unique())
            for kinds in (LARGE_BATCHES, SMALL_BATCHES)
            for one, other in combinations(kinds, 2)
        ]
        known = [pair for pair in pairs if pair is not None and pair.n >= FEWEST_FOR_SIGNS]
        counts[column] = (sum(pair.p < ALPHA for pair in known), len(known))
    (mig, n), (likelihood, _) = counts[MIG], counts[LIKELIHOOD]
    return [
        f"Of all {n} pairs of models at one strength, in batches alike, that have enough "
        f"seeds for a test, {likelihood} are ordered by likelihood and {mig} by MIG (p < .05, not "
        f"corrected: {ALPHA * n:.1f} would be by chance).",
        "",
    ]


def at_equal(rows: pd.DataFrame, betas: Sequence[float], small: int) -> list[str]:
    """The trade-off: MIG where two models reconstruct alike.

    Parameters
    ----------
    rows : DataFrame
    betas : sequence of float
        All strengths of the study.
    small : int
        Rows of a small batch.
    """
    import pandas as pd

    cells, whole = [], pd.concat([rows, isa_tc_at_1(rows)], ignore_index=True)
    for first, second in CURVES:
        gains, cell = _gains(whole, first, second, betas, WIDEST)
        verdict = _equal_verdict(gains, None if first in LARGE_BATCHES else small)
        cells.append([*cell[:2], AT_EQUAL, *cell[2:], verdict])
    header = ["difference", "strengths", "published", "seeds", "points compared, left out"]
    lines = [
        "## At equal reconstruction",
        "",
        'This is what the paper publishes of strengths above 1, where ISA-VAE is to have "higher '
        'scores [...] for smaller values of" beta (4.2); on cars the advantage of learnt exponents '
        '"decreases for larger beta values" (Fig. 6). Of every seed that has all '
        "strengths of a row, MIG of one model minus that of the other at the same likelihood: "
        "points of each are held against the curve of the other, and both directions are averaged. "
        f"Neighbouring points of a curve are joined where they are at most {WIDEST:g} nats apart; "
        "points beyond the ends of the other curve, or in wider gaps, are left out, and counted, "
        "as are seeds without points in both directions. Of fewer than "
        f"{FEWEST_FOR_SIGNS} seeds the verdict is that of Student's interval, which "
        "supposes normal differences. The two rows are not corrected for each other.",
        "",
    ]
    if len(betas) > len(STATED_AT):  # else the two are all
        _, cell = _gains(rows, ISA, VAE, STATED_AT, float("inf"))
        cells.append([*cell[:2], "not published", *cell[2:], "none"])
        ends = rows[rows["name"] == VAE].groupby("beta")[LIKELIHOOD].mean()
        lines[2] += (
            " The last row is of the other seeds, which have two strengths alone: what a straight "
            f"line over {np.ptp(ends[list(STATED_AT)]):.0f} nats says of strengths in between that "
            "were not run."
        )
    return [*lines, *table([*header, "MIG (95 %)", "verdict"], cells), ""]


def isa_tc_at_1(rows: pd.DataFrame) -> pd.DataFrame:
    """Runs of ISA-VAE in small batches at beta 1 as those of ISA-TCVAE, which it is there.

    The three parts of its divergence add up to the estimate from one sample an image.
    """
    return rows[(rows["name"] == ISA_SMALL) & (rows["beta"] == 1)].assign(name=ISA_TC)


def _gains(
    rows: pd.DataFrame, first: str, second: str, strengths: Sequence[float], widest: float
) -> tuple[list[float], list[str]]:
    """Gains of seeds, and what a row has of them: models, strengths, seeds, points, the mean."""
    alike = curve_gains_by_seed(rows, first, second, LIKELIHOOD, MIG, strengths, widest).values()
    gains = [one.gain for one in alike if np.isfinite(one.gain)]
    points = f"{sum(one.compared for one in alike)}, {sum(one.left_out for one in alike)}"
    told = ", ".join(f"{beta:g}" for beta in strengths)
    mean = span(compare_pairs(gains, [0.0] * len(gains), MARGINS[MIG])) if len(gains) > 1 else ""
    seeds = f"{len(gains)} of {len(alike)}"
    return gains, [f"{first} - {second}", told, seeds, points, mean]


def _equal_verdict(gains: Sequence[float], small: int | None) -> str:
    """A verdict on gains above zero; on models of small batches it is that these cannot tell."""
    if len(gains) < 2:
        return "not finished"
    found = compare_pairs(gains, [0.0] * len(gains), MARGINS[MIG])
    by_signs = found.n >= FEWEST_FOR_SIGNS
    if small is None:
        return found.verdict() if by_signs else interval_verdict(found)
    return _batches_differ(small, found.power if by_signs else interval_power(found))


def _batches_differ(small: int, power: float) -> str:
    return f"{CANNOT_TELL} (batches of {small}, published {PUBLISHED_BATCH:,}; power {power:.2f})"
