"""What the paper says of two frameworks on sets and losses, as differences of runs."""

from __future__ import annotations

from collections.abc import Sequence

from analyses.shared.studies.framework_sets import (
    APART,
    FOREGROUND,
    MASKED,
    OBJECT,
    OVERLAP,
    SHADES,
    SHIFTED,
    SPRITES,
)
from analyses.shared.studies.seed_claims import NOT_PUBLISHED, SeedClaim

MSE, GAUSSIAN = "MSE", "MSE + Gaussian blur"
BOX, LEARNT = "MSE + box blur", "MSE + learnt kernel"
LOSSES = (MSE, GAUSSIAN, BOX, LEARNT)
FRAMEWORKS = ("BetaVAE", "AdaGVAE")
SCORES = {"mig": "MIG", "dci": "DCI"}
# A convention: models with less have learnt too little for a difference to say something.
LEARNT_AT = 0.1
LEARNT_SAID, NOISE_SAID, SETS_SAID = "above (Fig. 6.4)", "above (Fig. 7.6)", "above (Fig. 3.7)"
# A difference of two sets, or of two losses, of which the first disentangles better.
PAIRS = (
    ("places that overlap - apart", "above (Fig. 3.10)", (OVERLAP, MSE), (APART, MSE)),
    ("overlap 75 % - 0 %", "above (Fig. 3.10)", (SHIFTED[75], MSE), (SHIFTED[0], MSE)),
    ("Gaussian blur - plain", NOT_PUBLISHED, (APART, GAUSSIAN), (APART, MSE)),
    ("box blur - plain", "above (Fig. 3.12)", (APART, BOX), (APART, MSE)),
    ("learnt kernel - plain", LEARNT_SAID, (APART, LEARNT), (APART, MSE)),
    ("learnt kernel - box blur", LEARNT_SAID, (APART, LEARNT), (APART, BOX)),
    ("learnt kernel - Gaussian blur", LEARNT_SAID, (APART, LEARNT), (APART, GAUSSIAN)),
    ("Sprites - squares", SETS_SAID, (SPRITES, MSE), (APART, MSE)),
    ("shades a factor - a value", "above (Fig. 7.3)", (SHADES, MSE), (OBJECT, MSE)),
    ("clean - noise 50 %", NOISE_SAID, (SPRITES, MSE), (MASKED[50], MSE)),
    ("noise 50 % - 100 %", NOISE_SAID, (MASKED[50], MSE), (MASKED[100], MSE)),
    ("clean - noise 100 %", NOISE_SAID, (SPRITES, MSE), (MASKED[100], MSE)),
    ("clean - filled 50 %", NOISE_SAID, (SPRITES, MSE), (FOREGROUND[50], MSE)),
    ("filled 50 % - 100 %", NOISE_SAID, (FOREGROUND[50], MSE), (FOREGROUND[100], MSE)),
    ("clean - filled 100 %", NOISE_SAID, (SPRITES, MSE), (FOREGROUND[100], MSE)),
)


def claims_with(files: Sequence[str] = ()) -> list[SeedClaim]:
    """All claims, with those on published sets that were read from files.

    Examples
    --------
    >>> [claim.words for claim in claims_with(["cars3d"])][-1]
    'DCI, AdaGVAE: cars3d - squares'
    """
    read = [(f"{name} - squares", SETS_SAID, (name, MSE), (APART, MSE)) for name in files]
    return [
        SeedClaim(
            f"{SCORES[column]}, {framework}: {words}",
            published,
            {"data": first[0], "loss": first[1], "model": framework},
            {"data": second[0], "loss": second[1], "model": framework},
            column,
            learnt=LEARNT_AT,
        )
        for words, published, first, second in (*PAIRS, *read)
        for framework in FRAMEWORKS
        for column in SCORES
    ]
