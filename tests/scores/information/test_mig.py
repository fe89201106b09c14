"""Gaps of single factors."""

import numpy as np
import pytest

from geodis import scores
from tests.scores._golden import grid


def test_robust_mig_keeps_the_gap_of_every_factor():
    factors = grid(sizes=(4, 4, 4))
    score = scores.robust_mig(np.column_stack([factors, factors[:, 1]]), factors)
    np.testing.assert_allclose(score.per_factor, [1, 0, 1], atol=1e-12)
    assert score.details["best_latent"].tolist() == [0, 1, 2]
    assert score.details["second_latent"][1] == 3
    assert (score.details["median"], score.details["smallest"]) == pytest.approx((1, 0))
