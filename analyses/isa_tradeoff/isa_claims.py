"""What seed 002 says of its priors, in its own words, and the tests that were stated of it."""

from __future__ import annotations

from dataclasses import dataclass

VAE, TC, ISA, ISA_TC, LEARNT = "beta-VAE", "beta-TCVAE", "ISA-VAE", "ISA-TCVAE", "ISA-VAE, learnt"
# The standard normal prior, whose divergence is estimated from one sample an image as that of
# independent subspaces is: what is left between it and ISA-VAE is due to the prior.
SAMPLED = "beta-VAE, sampled"
# In small batches, whose estimate is louder. Both models of total correlation are trained in these
# alone: what they compute grows with the square of a batch.
SMALL = ", small"
VAE_SMALL, ISA_SMALL, SAMPLED_SMALL = VAE + SMALL, ISA + SMALL, SAMPLED + SMALL
LEARNT_SMALL = LEARNT + SMALL
LARGE_BATCHES = (VAE, SAMPLED, ISA, LEARNT)
SMALL_BATCHES = (VAE_SMALL, SAMPLED_SMALL, ISA_SMALL, TC, ISA_TC)
NAMES = LARGE_BATCHES + SMALL_BATCHES
PUBLISHED_BATCH = 2048
STATED_AT = (1.0, 4.0)  # the strengths of all tests that are stated
MIG, LIKELIHOOD = "score mig", "likelihood"
# Differences that would matter: a twentieth of the scale, and a nat an image.
MARGINS = {MIG: 0.05, LIKELIHOOD: 1.0}
FIRST_MARGIN = 0.1  # of MIG, when the tests were first stated


@dataclass(frozen=True)
class StatedTest:
    """The difference of two models at one strength.

    Attributes
    ----------
    first, second : str
    beta : float
    published : str
        What the text of the paper says of it; where it says nothing, there is no verdict.
    claimed : bool
        Whether that is a claim that `first` is above `second`.
    """

    first: str
    second: str
    beta: float
    published: str = "not published at one strength"
    claimed: bool = False

    @property
    def words(self) -> str:
        """Which models, at which strength.

        Examples
        --------
        >>> StatedTest(ISA, VAE, 4.0).words
        'ISA-VAE - beta-VAE at 4'
        """
        return f"{self.first} - {self.second} at {self.beta:g}"


AT_1 = '"higher mean, median and maximum quantile" of 50 runs each on dSprites (4.1, Fig. 5a)'
LEARNT_AT_1 = (
    'above on 3D faces, "by a large margin", and on cars (4.2, Fig. 5c, 6); not published of '
    "sprites, which these are"
)
CITED = "not published at one strength; above without one, cited from [6]"
# The first five, before all runs of these images, in small batches.
FIRST_STATED = (
    StatedTest(ISA_SMALL, VAE_SMALL, 1.0, AT_1, claimed=True),
    StatedTest(LEARNT_SMALL, VAE_SMALL, 1.0, LEARNT_AT_1, claimed=True),
    StatedTest(ISA_SMALL, VAE_SMALL, 4.0),
    StatedTest(ISA_TC, TC, 4.0),
    StatedTest(TC, VAE_SMALL, 4.0, CITED),
)
# What was found of the second of these before its runs, which were five, were lost.
LOST = "-0.068 (-0.198 to +0.062)"
# Those of the five whose models are trained in large batches, after the first results.
RESTATED = (
    StatedTest(ISA, VAE, 1.0, AT_1, claimed=True),
    StatedTest(LEARNT, VAE, 1.0, LEARNT_AT_1, claimed=True),
    StatedTest(ISA, VAE, 4.0),
)
# Added after the first runs, to tell the prior from the estimate of its divergence, and that from
# its noise in small batches. At 1 ISA-TCVAE is ISA-VAE, small.
ADDED = (
    StatedTest(ISA_SMALL, TC, 1.0),
    StatedTest(TC, VAE_SMALL, 1.0),
    StatedTest(ISA, SAMPLED, 4.0),
    StatedTest(SAMPLED, VAE, 4.0),
    StatedTest(SAMPLED_SMALL, VAE_SMALL, 4.0),
    StatedTest(ISA, ISA_SMALL, 4.0),
    StatedTest(VAE, VAE_SMALL, 4.0),
)

AT_EQUAL = (
    '"a better trade-off", "often outperforming"; the baselines have "better MIG scores only for '
    'models with poor reconstruction quality" (4.2, Fig. 5b)'
)
# At equal reconstruction these models are compared, over all strengths.
CURVES = ((ISA, VAE), (ISA_TC, TC))
WIDEST = 3.0  # nats between two neighbouring points of a curve that are joined

# Of the most frequent exponents (appendix A.2): 15 runs at each of six strengths, on 3D faces.
PUBLISHED_RUNS, PUBLISHED_SUBSPACES = 90, 3
BEGUN = 2.0  # where learnt exponents begin, published and here
EXPONENT_MARGIN = 0.01  # half of what the nearest of the published is from there
