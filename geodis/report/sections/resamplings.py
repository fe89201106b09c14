"""How often each score is computed again for its interval: the dearer, the less often."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geodis.base.text import counted, listed
from geodis.report.analysis import INTERVALS
from geodis.scores.registry import entries

if TYPE_CHECKING:
    from geodis.report.material import Material
    from geodis.scores.table.score_table import ScoreTable

# Scores that take 10 to 30 ms for 1,000 rows are resampled less often than those of 1 or 2 ms;
# the quantile of Student's distribution makes up for it.
LESS_OFTEN = 5
# Of more numbers than these, rows times latents, they would take minutes: only who asks for more
# than is usual has them.
MOST_NUMBERS, USUAL = 400_000, INTERVALS
FEWEST = 5  # of less the interval would say more about the draws than about the score


def affordable(intervals: int, shape: tuple[int, ...]) -> int:
    """How many resamplings latents of this shape are worth.

    Examples
    --------
    >>> affordable(30, (1000, 10)), affordable(30, (900, 1728)), affordable(60, (900, 1728))
    (30, 0, 60)
    """
    n, z = shape
    return 0 if n * z > MOST_NUMBERS and intervals <= USUAL else intervals


def counts_of(table: ScoreTable, intervals: int) -> dict[int, list[str]]:
    """Number of resamplings -> the scores of the table that are computed again so often.

    Examples
    --------
    >>> class Table:
    ...     scores = {"mig": 0.1, "dci": 0.2, "beta_vae": 0.3}
    >>> counts_of(Table(), 40), counts_of(Table(), 0)
    ({40: ['mig'], 8: ['dci']}, {})
    """
    cheap, costly = (
        [one.name for one in entries() if one.cost.intervals == often and one.name in table.scores]
        for often in ("often", "seldom")
    )
    kept = {intervals: cheap, intervals // LESS_OFTEN: costly}
    # Whoever asks for very few of the cheap ones wants to see the page, not to wait for it.
    return {
        count: names
        for count, names in kept.items()
        if names and count >= (FEWEST if names is costly else 2)
    }


def with_intervals(
    table: ScoreTable, used: Material, intervals: int, options: dict[str, Any]
) -> ScoreTable:
    """The same table with an interval for every score that can be computed again."""
    from geodis.scores.table.score_latents import score_latents

    frame = table.frame.copy()
    for count, names in counts_of(table, intervals).items():
        spread = score_latents(
            used.latents, used.factors, names, chance=0, intervals=count, **options
        ).frame
        for column in ("low", "high"):
            frame.loc[spread.index, column] = spread[column]
    return replace(table, frame=frame)


def no_interval_sentence(table: ScoreTable, intervals: int) -> str:
    """Why no score has an interval although intervals were asked for."""
    if affordable(intervals, (table.n, table.n_latents)):
        return "No intervals: none of these scores is resampled so few times."
    return (
        f"Intervals skipped (slow for {counted(table.n_latents, 'latent')} of "
        f"{counted(table.n, 'row')}); set intervals={USUAL + 1} or more to force them."
    )


def interval_sentence(table: ScoreTable, intervals: int) -> str:
    """From how many resamplings the intervals are, and which scores have none, and why."""
    counts = counts_of(table, intervals)
    if not counts:
        return ""
    most, *fewer = counts
    said = f"Intervals of 95 % are from {most} resamplings of the rows"
    said += "".join(f" ({count} for {listed(counts[count])})" for count in fewer)
    known = {name for names in counts.values() for name in names}
    without = [name for name in table.scores if name not in known]
    if without:
        have = "have" if len(without) > 1 else "has"
        said += f"; {listed(without)} {have} none, as only scores known to be fast enough are "
        said += "resampled here (score_latents takes intervals for any)"
    return f"{said}."
