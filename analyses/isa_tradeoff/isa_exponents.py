"""Exponents that ISA-VAE learns, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyses.isa_tradeoff.isa_claims import (
    BEGUN,
    EXPONENT_MARGIN,
    PUBLISHED_RUNS,
    PUBLISHED_SUBSPACES,
)
from analyses.shared.model_runs import table
from analyses.shared.studies.paired_comparisons import compare_pairs, equal_verdict, interval_power
from analyses.shared.studies.verdicts import CANNOT_TELL, NOT_REPRODUCED
from geodis.models.priors import PUBLISHED_EXPONENTS

if TYPE_CHECKING:
    import pandas as pd

# Share of runs below the published largest exponent that a study should be able to see.
RARE = 0.1


def exponent_lines(rows: pd.DataFrame, exponents: Mapping[str, Sequence[float]]) -> list[str]:
    """Every published value beside ours, strength by strength.

    Parameters
    ----------
    rows : DataFrame
        With "run" and "beta".
    exponents : mapping of str to sequence of float
        Of the subspaces, by run.
    """
    learnt = rows[rows["run"].isin(list(exponents))]
    if learnt.empty:
        return ["## Learnt exponents", "", "No run that learns them is finished.", ""]
    sets = {
        float(beta): np.array([sorted(exponents[run]) for run in some["run"]])
        for beta, some in learnt.groupby("beta")
    }
    count = next(iter(sets.values())).shape[1]
    largest = f"largest of {count}"
    places = ((f"smallest of {count}", 0), ("the next", 1), (largest, count - 1))
    cells = []
    for number, ((place, at), value) in enumerate(zip(places, PUBLISHED_EXPONENTS, strict=True), 1):
        for beta, values in sets.items():
            own = values[:, at]
            verdict = exponent_verdict(own, value, largest=place == largest)
            said = f"p{number}, most frequent: {value:g}"
            cells.append([said, place, f"{beta:g}", str(len(own)), _span(own), verdict])
    most = PUBLISHED_EXPONENTS[-1]
    for beta, values in sets.items():
        n, above = len(values), int((values[:, -1] > most).sum())
        verdict = all_above_verdict(above, n)
        said = f"p3, all above {most:g}"
        cells.append([said, largest, f"{beta:g}", str(n), f"above in {above} of {n}", verdict])
    header = ["published", "ours", "beta", "runs", "mean (95 %), range", "verdict"]
    means = "; ".join(
        f"{', '.join(f'{p:.2f}' for p in values.mean(axis=0))} at beta {beta:g}"
        for beta, values in sets.items()
    )
    return [
        "## Learnt exponents",
        "",
        f"Published (appendix A.2): {PUBLISHED_RUNS} runs on 3D faces at six strengths together, "
        f"{PUBLISHED_SUBSPACES} subspaces, p0 = 2.1, all from {BEGUN:g} on; ours: {count} "
        "subspaces on sprites, the same p0 and start. The published values are the most frequent "
        "ones, ours are means of runs. Reproduced: the interval of the mean is within "
        f"{EXPONENT_MARGIN:g}, half of what {PUBLISHED_EXPONENTS[1]:g} is from the start, where "
        f"exponents stay that do not move. The smallest of {count} is smaller by chance than that "
        f"of {PUBLISHED_SUBSPACES}, and the next too, so that means above the published ones are "
        f"no effect of that. The largest of {count} is larger by chance: means below the published "
        "one are not reproduced, others cannot tell, with the power to see one that is lower by "
        f"{EXPONENT_MARGIN:g}. That all are above {most:g} is refuted by one that is not; where "
        f"none is, the power is the chance to meet one if {RARE:.0%} of all were not.",
        "",
        *table(header, cells),
        "",
        f"No exponent of {sum(map(len, sets.values()))} runs is below "
        f"{min(values.min() for values in sets.values()):.3f}. All, sorted, means: {means}.",
        "",
    ]


def exponent_verdict(values: Sequence[float] | np.ndarray, published: float, largest: bool) -> str:
    """Whether exponents of runs are what is published.

    Of the largest, which has more subspaces to be the largest of, only means below count.

    Examples
    --------
    >>> low, high = [1.99, 2.0, 2.0], [2.2, 2.3, 2.4]
    >>> exponent_verdict(low, 1.95, largest=False), exponent_verdict(low, 2.17, largest=True)
    ('not reproduced', 'not reproduced')
    >>> exponent_verdict(high, 2.17, largest=True)
    'cannot tell (power 0.03)'
    """
    n = len(values)
    if n < 2:
        return f"{CANNOT_TELL} (power 0.00)"
    found = compare_pairs(list(values), [published] * n, EXPONENT_MARGIN)
    if not largest:
        return equal_verdict(found)
    if found.high < 0:
        return NOT_REPRODUCED
    return f"{CANNOT_TELL} (power {interval_power(found):.2f})"


def all_above_verdict(above: int, n: int) -> str:
    """Whether the largest exponents of n runs are all above the published one.

    Examples
    --------
    >>> all_above_verdict(9, 10), all_above_verdict(10, 10)
    ('not reproduced', 'cannot tell (power 0.65)')
    """
    return NOT_REPRODUCED if above < n else f"{CANNOT_TELL} (power {1 - (1 - RARE) ** n:.2f})"


def _span(values: np.ndarray) -> str:
    ends = f"{values.min():.3f} to {values.max():.3f}"
    if len(values) < 2:
        return f"{values.mean():.3f}"
    found = compare_pairs(list(values), [0.0] * len(values), EXPONENT_MARGIN)
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f}), {ends}"
