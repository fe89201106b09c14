"""What the paper says of triplet autoencoders, as differences of runs (seed 001, Chapter 5)."""

from __future__ import annotations

from analyses.shared.studies.framework_sets import APART, SPRITES
from analyses.shared.studies.seed_claims import NOT_PUBLISHED, SeedClaim

PUBLISHED_RANK, RANK, GLOBAL = (
    "truth along factors, published",
    "truth along factors",
    "truth random",
)
LINEAR, AXIS, MIG, DCI = "linearity", "axis", "mig", "dci"
WORDS = {
    PUBLISHED_RANK: "factor rank, with self pairs",
    RANK: "factor rank",
    GLOBAL: "global rank",
    LINEAR: "linearity",
    AXIS: "axis",
    MIG: "MIG",
    DCI: "DCI",
}
BOTH, ALIKE = (MIG, DCI), "alike"
# A convention, as in `vae_frameworks`: with less, too little is disentangled to compare.
LEARNT_AT = 0.1
BETA, ADA, TRIPLET, ADAPTIVE = "BetaVAE", "AdaGVAE", "TVAE", "AdaTVAE"
BETA_BLURRED = "BetaVAE, blurred"
PERCEIVED, BLURRED = "AdaTVAE, perceived", "AdaTVAE, perceived, blurred"
BY_KL, THRESHOLD = "AdaTVAE, threshold by KL", "AdaTVAE, threshold 0 to .5, weight .5"
STRONG, BOTH_WEAK, BOTH_STRONG = (
    "AdaTVAE, weight 1 to 0",
    "AdaTVAE, both",
    "AdaTVAE, both, strong",
)
GREATLY, L1 = "above, greatly (Fig. 5.5)", "l1 above l2, by maxima (Fig. 5.1)"
DECAYS = "above, for strong schedules decay towards the end (5.4.6)"
MAXIMA, BEST = "alike, by maxima (5.4.6)", "above, best on average (Fig. 5.5)"
LOWER = "above, for these triplets are lower (5.5.2)"
SCALED, BY_AXES = "above, usually much better (5.4.6)", "above, almost perfect (Fig. 5.4)"

# First and second model, set, what the paper says of their difference, and of which scores.
SAID: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    # Triplets put distances into latents
    (TRIPLET, BETA, APART, "above (Fig. 5.1)", (PUBLISHED_RANK, RANK, LINEAR)),
    (TRIPLET, BETA, SPRITES, "above (Fig. 5.1)", (PUBLISHED_RANK, RANK, GLOBAL, LINEAR)),
    (TRIPLET, "TVAE, l2", APART, L1, BOTH),
    (TRIPLET, "TVAE, l2", APART, NOT_PUBLISHED, (AXIS,)),
    (TRIPLET, "TVAE, l2", SPRITES, L1, BOTH),
    (TRIPLET, "TVAE, soft", APART, "alike (Fig. 5.1)", (RANK, *BOTH)),
    (TRIPLET, "TVAE, soft", SPRITES, "alike (Fig. 5.1)", (GLOBAL, *BOTH)),
    (TRIPLET, "TVAE, unscaled", SPRITES, NOT_PUBLISHED, (AXIS, *BOTH)),
    # Adaptive ones align the axes
    (TRIPLET, BETA, APART, NOT_PUBLISHED, (AXIS,)),
    (ADA, BETA, APART, "above (Fig. 4.4)", (AXIS,)),
    (ADA, BETA, SPRITES, "above (Fig. 4.4)", (AXIS,)),
    (ADAPTIVE, ADA, APART, NOT_PUBLISHED, (AXIS,)),
    (ADAPTIVE, TRIPLET, APART, BY_AXES, (AXIS,)),
    (ADAPTIVE, TRIPLET, SPRITES, BY_AXES, (AXIS,)),
    (ADAPTIVE, TRIPLET, APART, "above, for plain triplets are low (5.4)", BOTH),
    (ADAPTIVE, TRIPLET, SPRITES, "above, for plain triplets are low (5.4)", BOTH),
    (ADAPTIVE, BETA, APART, GREATLY, BOTH),
    (ADAPTIVE, ADA, APART, GREATLY, BOTH),
    (ADAPTIVE, BETA, SPRITES, GREATLY, BOTH),
    (ADAPTIVE, ADA, SPRITES, GREATLY, BOTH),
    # How they are told and scheduled
    (ADAPTIVE, "AdaTVAE, unscaled", SPRITES, SCALED, (AXIS, *BOTH)),
    (ADAPTIVE, BY_KL, APART, "above, on average (Fig. 5.5)", BOTH),
    (ADAPTIVE, BY_KL, SPRITES, "above, on average (Fig. 5.5)", BOTH),
    (ADAPTIVE, STRONG, APART, DECAYS, BOTH),
    (ADAPTIVE, BOTH_STRONG, APART, DECAYS, BOTH),
    (ADAPTIVE, THRESHOLD, APART, MAXIMA, BOTH),
    (ADAPTIVE, THRESHOLD, APART, BEST, BOTH),
    (ADAPTIVE, BOTH_WEAK, APART, MAXIMA, BOTH),
    (ADAPTIVE, BOTH_WEAK, APART, BEST, BOTH),
    # Without labels
    (BLURRED, PERCEIVED, APART, NOT_PUBLISHED, (RANK,)),
    (BLURRED, PERCEIVED, APART, "above, by choice of the distance (5.5.1)", BOTH),
    (BETA_BLURRED, BLURRED, APART, LOWER, (RANK, *BOTH)),
    (BETA, PERCEIVED, SPRITES, LOWER, (GLOBAL, *BOTH)),
)
CLAIMS = tuple(
    SeedClaim(
        f"{WORDS[column]}: {first} - {second}, {data}",
        published,
        {"data": data, "model": first},
        {"data": data, "model": second},
        column,
        equal=published.startswith(ALIKE),
        learnt=LEARNT_AT if column in BOTH else 0.0,
    )
    for first, second, data, published, columns in SAID
    for column in columns
)
