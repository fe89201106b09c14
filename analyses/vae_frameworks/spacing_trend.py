"""Whether scores fall as the places of squares move apart: a trend over all runs (Fig. 3.10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.shared.model_runs import Row, table
from analyses.shared.studies.framework_sets import SHIFTED
from analyses.shared.studies.seed_claims import too_little, values_by_seed
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    REPRODUCED,
    spearman_of,
    spearman_power,
    verdict_above,
)
from analyses.vae_frameworks.framework_claims import FRAMEWORKS, LEARNT_AT, SCORES

# The correlation that would matter, and that the power is given for.
MATTERS = 0.5
HEADER = ["score", "model", "published", "spacings", "runs", "rank correlation (95 %)", "verdict"]


def trend_lines(rows: Sequence[Row]) -> list[str]:
    """Lines of a table: rank correlation of a score with the overlap, for either framework."""
    cells = [
        [SCORES[column], framework, "above 0 (Fig. 3.10)", *trend(rows, framework, column)]
        for framework in FRAMEWORKS
        for column in SCORES
    ]
    return [
        "## The more squares overlap",
        "",
        "Rank correlation of a score with how much a square overlaps with itself one place on (0, "
        "25, 50, 75 %: spacings 4, 3, 2, 1 of squares of 4 pixels, where the paper has 8 to 1 of "
        "8), over runs, with the interval of Fisher's z. Reproduced where that is above 0, not "
        f"reproduced where it is below {MATTERS:g}, which would matter, else with the power to see "
        "that much.",
        "",
        *table(HEADER, cells),
        "",
    ]


def trend(rows: Sequence[Row], framework: str, column: str) -> list[str]:
    """Spacings, runs, correlation with its interval, and verdict, as cells.

    Examples
    --------
    >>> rows = [{"case": {"data": SHIFTED[overlap], "model": "BetaVAE", "seed": seed},
    ...          "mig": overlap / 100 + 0.01 * seed} for overlap in SHIFTED for seed in range(5)]
    >>> trend(rows, "BetaVAE", "mig")
    ['4', '20', '0.97 (0.91 to 0.99)', 'reproduced']
    """
    found = {
        overlap: list(values_by_seed(rows, {"data": data, "model": framework}, column).values())
        for overlap, data in SHIFTED.items()
    }
    found = {overlap: values for overlap, values in found.items() if values}
    pairs = [(overlap, value) for overlap, values in found.items() for value in values]
    sizes = [str(len(found)), str(len(pairs))]
    if len(found) < len(SHIFTED) or len(pairs) < 5:
        return [*sizes, "", "not finished"]
    seen = spearman_of(*np.transpose(pairs))
    said = verdict_above(seen, 0.0, MATTERS)
    low = max(np.mean(values) for values in found.values()) < LEARNT_AT
    if said == REPRODUCED:
        return [*sizes, str(seen), f"{said}, of low scores" if low else said]
    power = spearman_power(MATTERS, seen.n)
    if low:
        said = too_little(LEARNT_AT, power)
    elif said == CANNOT_TELL:
        said += f" (power {power:.2f})"
    return [*sizes, str(seen), said]
