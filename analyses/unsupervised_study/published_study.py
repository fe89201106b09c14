"""What seed 000 published: shares of variance, probabilities of transfer, and claims in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.unsupervised_study.study_sets import COLOR, NOISY, PLAIN, SCREAM, SETS

# Per cent, columns as `PUBLISHED_SCORES`: BetaVAE, DCI, FactorVAE, MIG, Modularity, SAP.
SHARES: dict[str, dict[str, tuple[int, ...]]] = {
    "method": {
        PLAIN: (29, 41, 47, 26, 29, 31),
        COLOR: (30, 39, 52, 26, 23, 29),
        NOISY: (17, 21, 17, 11, 41, 6),
        SCREAM: (89, 50, 76, 45, 60, 56),
        "Cars3D": (1, 36, 26, 34, 37, 13),
        "Shapes3D": (31, 21, 14, 20, 26, 10),
        "SmallNORB": (68, 71, 58, 71, 62, 62),
    },
    "method x strength": {
        PLAIN: (59, 77, 54, 72, 39, 56),
        COLOR: (69, 80, 61, 76, 40, 56),
        NOISY: (26, 42, 25, 29, 50, 20),
        SCREAM: (93, 74, 83, 66, 68, 75),
        "Cars3D": (4, 69, 42, 59, 51, 17),
        "Shapes3D": (61, 78, 53, 59, 49, 35),
        "SmallNORB": (87, 89, 81, 88, 72, 82),
    },
}
# Settings that each table is grouped by.
GROUPED_BY = {"method": ("method",), "method x strength": ("method", "place")}
# Settings that each of these groups has in it.
CROSSED_WITH: dict[str, tuple[str, ...]] = {"method": ("place",), "method x strength": ()}


def mean_share(name: str, sets: Sequence[str] = SETS) -> float:
    """Mean of the published shares over sets and scores.

    Examples
    --------
    >>> round(mean_share("method"), 2), round(mean_share("method x strength"), 2)
    (0.37, 0.58)
    """
    return float(np.mean([SHARES[name][data] for data in sets])) / 100


# Chances to beat random settings (result 4); the seed does not give the fourth kind.
TRANSFER = {
    "same score, same set, other seed": 0.807,
    "same score, other set": 0.593,
    "other score, other set": 0.549,
}
PUBLISHED_RUNS = 1800  # of a set: 6 methods x 6 strengths x 50 seeds

DIFFERENCES = (
    "Published: seven sets at 64 x 64 pixels, of dSprites all 737,280 images, convolutions, "
    "batches of 64, 300,000 steps at a rate of 1e-4, 10,000 rows scored, 50 seeds. Here: four "
    "sets of 46,080 images of 16 x 16 (every fourth orientation, every other place), "
    "perceptrons of 128-128 units, batches of 64 at a rate of 1e-3. FactorVAE has a "
    "discriminator of 6 x 200 units (published 6 x 1000), which learns at the rate of the "
    "autoencoder, as published. The reconstruction of a pixel counts sixteenfold, as that of "
    "the sixteen that it stands for, so that the strengths are the published ones. The picture "
    "of the scream set is a photograph that comes with scikit-learn, for the painting cannot be "
    "shipped; every image has one colour, noise or patch, where the published code draws a new "
    "one at every visit. The FactorVAE score is not pruned as in the published study's "
    "software, whose threshold of 0 leaves out no latent: collapsed ones that vary at all vote. "
    "Efficiency is accuracy from 100 rows over that from 1,500 (published 10,000), and its "
    "claims leave out runs whose codes trees hardly read, which have the most of it. UDR, among "
    "the runs of two seeds, is no quantity of the published study."
)
PRECISION = (
    "Models are trained in bfloat16. In sixty pairs of beta-VAE, beta-TCVAE and "
    "DIP-VAE the mean difference of MIG from float32 was within .02 (`precision_pairs`); FactorVAE "
    "and AnnealedVAE are not among them."
)
