"""What appendix B of seed 002 says of variational inference, beside what was found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from analyses.shared.model_runs import Row, table
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    Interval,
    power_of,
    proportion_interval,
)

# Two components are orthogonal where they are so many degrees from it at most.
ORTHOGONAL_WITHIN = 5.0
# Of a statement about one picture, most seeds are to be as it says; the power is of studies in
# which so many are.
MOST, TRUE_SHARE = 0.5, 0.9
# Free energies and likelihoods that are the same differ by rounding alone.
ROUNDING = 1e-9


def bias_lines(rows: Sequence[Row], published_freedom: float, step: float) -> list[str]:
    """Lines of `results.md`.

    Parameters
    ----------
    rows : sequence of Row
        Of all three experiments.
    published_freedom : float
        Degrees of freedom of the published sources.
    step : float
        Between two rotations, in radians.
    """
    cells = [*_exact_cells(rows, step), *_seed_cells(rows, published_freedom)]
    if not cells:
        return []
    return [
        "## Beside the published",
        "",
        "Of factor analysis the paper's statements hold or do not, for nothing is drawn. Of "
        "independent components it shows one set of points with each beta, from weights and noise "
        "that are not published: reproduced where more than half of all seeds are as it says, by "
        "the exact interval of 95 %, not reproduced where fewer are, else with the power if "
        f"{TRUE_SHARE:.0%} were. Orthogonal: within {ORTHOGONAL_WITHIN:g} degrees. Its free "
        "energies of -17.82 and -57.16 nats are of weights that are not published either, and are "
        "not repeated.",
        "",
        *table(["where", "statement", "published", "seeds", "here (95 %)", "verdict"], cells),
        "",
    ]


def _exact_cells(rows: Sequence[Row], step: float) -> list[list[str]]:
    by_part = {
        part: {row["case"]["beta"]: row for row in rows if row["case"]["part"] == part}
        for part in ("rotation", "third")
    }
    turned, third = by_part["rotation"], by_part["third"]
    if 1.0 not in turned or 1.0 not in third:
        return []
    one = turned[1.0]
    ranges = [turned[beta]["range"] for beta in sorted(turned)]
    falling = all(a > b for a, b in pairwise(ranges))
    facts = [
        (
            "B.3",
            "the free energy is largest where components are orthogonal, beta 1",
            "at 0 and quarter turns",
            f"at {one['best']:.3f} radians",
            one["best"] < step / 2,
        ),
        (
            "B.3",
            "there it is the log-likelihood",
            "both -17.82 nats, of other weights",
            f"{one['gap']:.1e} nats below",
            abs(one["gap"]) < ROUNDING,
        ),
        (
            "B.4",
            "of equal likelihoods the free energy is largest with the third component unused",
            "at 0",
            f"at {third[1.0]['best']:.3f}",
            third[1.0]["best"] == 0,
        ),
        (
            "B.5",
            "beta changes no direction",
            "none",
            "at most "
            f"{max(row['best'] for row in (*turned.values(), *third.values())):.3f} from 0 "
            f"at beta {', '.join(f'{beta:g}' for beta in sorted(turned))}",
            all(row["best"] < step / 2 for row in (*turned.values(), *third.values())),
        ),
        (
            "B.5",
            "a larger beta flattens the free energy",
            "it does",
            " > ".join(f"{value:.3g}" for value in ranges),
            falling,
        ),
    ]
    return [
        [where, said, published, "", found, REPRODUCED if holds else NOT_REPRODUCED]
        for where, said, published, found, holds in facts
    ]


def _seed_cells(rows: Sequence[Row], published_freedom: float) -> list[list[str]]:
    own = [row for row in rows if row["case"]["part"] == "components"]
    statements = (
        (1.0, "components are more orthogonal than the true ones", _more_orthogonal),
        (1.0, "all three components stay", lambda row: row["pruned"] == 0),
        (5.0, "one component is pruned", lambda row: row["pruned"] == 1),
        (5.0, "the other two are orthogonal", _two_orthogonal),
    )
    cells = []
    for freedom in sorted({row["case"]["freedom"] for row in own}, reverse=True):
        for beta, said, holds in statements:
            some = [
                row
                for row in own
                if row["case"]["freedom"] == freedom and row["case"]["beta"] == beta
            ]
            if not some:
                continue
            share = proportion_interval(sum(map(holds, some)), len(some))
            published = "yes" if freedom == published_freedom else "not of this tail"
            cells.append(
                [
                    "Fig. 1, B.8",
                    f"{said}, beta {beta:g}, {freedom:g} degrees of freedom",
                    published,
                    str(share.n),
                    f"in {share}",
                    _verdict(share) if freedom == published_freedom else "none",
                ]
            )
    return cells


def _more_orthogonal(row: Row) -> bool:
    return bool(row["coupling"] < row["coupling_true"])


def _two_orthogonal(row: Row) -> bool:
    return bool(90.0 - row["angle"] < ORTHOGONAL_WITHIN)


def _verdict(share: Interval) -> str:
    """Whether most seeds are as a picture is.

    Examples
    --------
    >>> [_verdict(proportion_interval(wins, 10)) for wins in (0, 10)]
    ['not reproduced', 'reproduced']
    >>> _verdict(proportion_interval(1, 3))
    'cannot tell (power 0.00)'
    """
    if share.low > MOST:
        return REPRODUCED
    if share.high < MOST:
        return NOT_REPRODUCED
    power = power_of(
        lambda random: (
            proportion_interval(int(random.binomial(share.n, TRUE_SHARE)), share.n).low > MOST
        )
    )
    return f"{CANNOT_TELL} (power {power:.2f})"
