"""The total correlation from a batch of other images (seed 003, appendix D): how far it is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyses.factor_vae_study.claims.paired_claims import PairedClaim, claim_table
from analyses.factor_vae_study.total_correlation import LOG_Q, TRUE
from analyses.shared.model_runs import table
from analyses.shared.studies.verdicts import mean_interval

if TYPE_CHECKING:
    import pandas as pd

# Images of a batch, |B|; the published 10,000 are more than a small set has.
SIZES = (64, 256, 1024)
PUBLISHED_BETAS = (1.0, 5.0, 9.0)
MARGIN = 0.5  # nats


def estimate_lines(plain: pd.DataFrame) -> list[str]:
    """Lines of `results.md`.

    Parameters
    ----------
    plain : DataFrame
        One row a beta-VAE: "strength", "seed" and what `total_correlations` found.
    """
    sizes = [size for size in SIZES if f"TC, B of {size}" in plain]
    if not sizes:
        return []
    largest = f"TC, B of {sizes[-1]}"
    columns = [name for size in sizes for name in (f"{LOG_Q}, B of {size}", f"TC, B of {size}")]
    columns += [f"{largest} itself", LOG_Q, TRUE]
    cells = [
        [f"{beta:g}", str(len(own)), *(str(mean_interval(own[name])) for name in columns)]
        for beta, own in plain.groupby("strength")
    ]
    claims = []
    for beta, own in plain.groupby("strength"):
        values = dict(own.set_index("seed")[largest])
        published = "below 0" if beta in PUBLISHED_BETAS else ""
        zero = dict.fromkeys(values, 0.0)
        claims.append(PairedClaim(f"0 - {largest}, beta {beta:g}", published, zero, values))
    return [
        "## The estimate from a batch of other images (appendix D)",
        "",
        "Published (Fig. 18, beta 1, 5 and 9): from batches B of 10,000 images of 737,280 that "
        "latents were not drawn from, log q(z) is so small that the estimate of a total "
        "correlation is negative. Latents of the batch itself make it too large instead. From all "
        f"images it is true. Means with intervals over seeds; B has {sizes[-1]} images at most.",
        "",
        *table(["beta", "seeds", *(_heading(name) for name in columns)], cells),
        "",
        *claim_table(claims, MARGIN, unit="nats"),
        "",
    ]


def _heading(column: str) -> str:
    return f"{LOG_Q}, all images" if column == LOG_Q else column
