"""The discriminator's estimate of total correlation, and what gamma does to the truth (Fig. 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyses.factor_vae_study.claims.paired_claims import PairedClaim, claim_table
from analyses.factor_vae_study.named_runs import BETA, FACTOR, strengths_of, values_of
from analyses.factor_vae_study.total_correlation import ESTIMATE, NORMAL, TRUE
from analyses.shared.model_runs import table
from analyses.shared.studies.verdicts import mean_interval

if TYPE_CHECKING:
    import pandas as pd

# Nats: about a tenth of the truth of small models, and less of the normal fit, which is smaller.
MARGIN, NORMAL_MARGIN = 0.5, 0.1
# Below this truth, in nats, a run has not begun to encode anything.
ENCODED = 0.1


def correlation_lines(rows: pd.DataFrame, course: pd.DataFrame) -> list[str]:
    """Lines of `results.md`.

    Parameters
    ----------
    rows : DataFrame
        Finished runs.
    course : DataFrame
        "gamma", "seed", "step" and both total correlations, a row a look at a FactorVAE.
    """
    lines = [
        "## Total correlation at the end of training (Fig. 7)",
        "",
        'Published: the discriminator is "consistently underestimating the true TC"; "a higher '
        'gamma leads to lower TC".',
        "",
        *claim_table([*estimate_claims(rows), *gamma_claims(rows, TRUE)], MARGIN, unit="nats"),
        "",
        "Published from 737,280 images. Posteriors of fewer leave gaps between them where they are "
        "narrow, as where the information is near to its bound, log of the number of images, and "
        "gaps count as total correlation. The effect of gamma on the total correlation of a normal "
        "distribution fitted to q(z), which has no gaps and sees linear dependence alone:",
        "",
        *claim_table(gamma_claims(rows, NORMAL), NORMAL_MARGIN, unit="nats"),
        "",
    ]
    if course.empty:
        return lines
    begun = encoded(course)
    half = int(nearest_half(begun["step"])) if len(begun) else 0
    last = int(course["step"].max())
    below = (
        f" The estimate is below the truth at {(begun[ESTIMATE] < begun[TRUE]).mean():.0%} of "
        f"{len(begun)} looks."
        if len(begun)
        else ""
    )
    return [
        *lines,
        "## Total correlation during training (Fig. 7)",
        "",
        'Published: the estimate is below the truth throughout, and "the true TC decreases '
        f'throughout training". Half way is step {half} of {last}. Looks before anything is '
        f"encoded, with a true TC below {ENCODED:g} nats, are left out.{below}",
        "",
        *(claim_table(course_claims(begun, half, last), MARGIN, unit="nats") if len(begun) else ()),
        "",
        "Means with intervals over seeds, all looks:",
        "",
        *_course_table(course),
        "",
        "![Total correlation during training](total_correlation.png)",
        "",
    ]


def estimate_claims(rows: pd.DataFrame) -> list[PairedClaim]:
    """The discriminator's estimate below the truth at the end of training, a claim a gamma."""
    return [
        PairedClaim(
            f"{TRUE} - {ESTIMATE}, gamma {gamma:g}",
            "above",
            dict(values_of(rows, FACTOR, gamma, TRUE)),
            dict(values_of(rows, FACTOR, gamma, ESTIMATE)),
        )
        for gamma in strengths_of(rows, FACTOR)
    ]


def gamma_claims(rows: pd.DataFrame, column: str) -> list[PairedClaim]:
    """A total correlation that is lower the higher gamma is, at the end of training."""
    gammas = strengths_of(rows, FACTOR)
    plain = dict(values_of(rows, BETA, 1.0, column))
    found = {gamma: dict(values_of(rows, FACTOR, gamma, column)) for gamma in gammas}
    claims = [
        PairedClaim(f"{column}, VAE (gamma 0) - gamma {gamma:g}", "above", plain, found[gamma])
        for gamma in gammas
    ]
    if len(gammas) > 1:
        words = f"{column}, gamma {gammas[0]:g} - gamma {gammas[-1]:g}"
        claims.append(PairedClaim(words, "above", found[gammas[0]], found[gammas[-1]]))
    return claims


def course_claims(begun: pd.DataFrame, half: int, last: int) -> list[PairedClaim]:
    """What is said of the course, a gamma each.

    Parameters
    ----------
    begun : DataFrame
        Looks at runs that have begun to encode.
    half, last : int
        Steps that are compared.
    """
    claims = []
    for gamma, own in begun.groupby("gamma"):
        gap = (own[TRUE] - own[ESTIMATE]).groupby(own["seed"]).min()
        words = f"{TRUE} - {ESTIMATE}, smallest of all looks, gamma {gamma:g}"
        claims.append(PairedClaim(words, "above", dict(gap), dict.fromkeys(gap.index, 0.0)))
    for gamma, own in begun.groupby("gamma"):
        early, late = (
            dict(own[own["step"] == step].set_index("seed")[TRUE]) for step in (half, last)
        )
        words = f"{TRUE} half way - at the end, gamma {gamma:g}"
        claims.append(PairedClaim(words, "above", early, late))
    return claims


def encoded(course: pd.DataFrame, least: float = ENCODED) -> pd.DataFrame:
    """Looks from the first on at which the truth of a run is at least so large.

    Examples
    --------
    >>> import pandas as pd
    >>> looks = pd.DataFrame({"step": [1, 2, 3], TRUE: [0.0, 0.5, 0.05]})
    >>> encoded(looks.assign(gamma=1.0, seed=0))["step"].tolist()
    [2, 3]
    """
    ordered = course.sort_values("step", kind="stable")
    reached = (ordered[TRUE] >= least).groupby([ordered["gamma"], ordered["seed"]]).cummax()
    return ordered[reached].sort_index()


def nearest_half(steps: pd.Series) -> float:
    """Of steps that were looked at, the nearest to half of the last; of two, the earlier.

    Examples
    --------
    >>> import pandas as pd
    >>> int(nearest_half(pd.Series([100, 400, 3200, 3300, 6000])))
    3200
    """
    at = np.unique(steps)
    return float(at[np.abs(at - at[-1] / 2).argmin()])


def _course_table(course: pd.DataFrame) -> list[str]:
    cells = [
        [
            f"{gamma:g}",
            f"{step:g}",
            str(len(own)),
            *(str(mean_interval(own[column])) for column in (TRUE, ESTIMATE)),
        ]
        for (gamma, step), own in course.groupby(["gamma", "step"])
    ]
    return table(["gamma", "step", "seeds", TRUE, ESTIMATE], cells)
