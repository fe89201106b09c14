"""Mutual information between latents and factors."""

import numpy as np
import pytest

from geodis import scores
from geodis.base.check import InputError
from tests.scores._golden import sample


@pytest.mark.parametrize("seed", range(3))
def test_methods_agree_where_information_is_plain(seed):
    latents, factors = sample(seed, n=3000)
    counted = scores.mutual_information(latents, factors, bins=30).matrix
    neighbours = scores.mutual_information(latents, factors, method="knn", random_state=0).matrix
    np.testing.assert_allclose(counted, neighbours, atol=0.06)
    again = scores.mutual_information(latents, factors, method="knn", random_state=0).matrix
    np.testing.assert_array_equal(neighbours, again)


def test_neighbours_take_continuous_factors():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((2000, 2))
    latents = 0.8 * factors + 0.6 * rng.standard_normal((2000, 2))
    score = scores.mutual_information(latents, factors, method="knn", random_state=0)
    np.testing.assert_allclose(score.matrix, -np.log(0.6) * np.eye(2), atol=0.06)
    assert np.isnan(score.details["factor_entropy"]).all()
    with pytest.raises(InputError, match=r"factor 0 is continuous .* geodis\.scores\.bin_factors"):
        scores.mig(latents, factors)
    assert float(scores.mig(latents, scores.bin_factors(factors, 4))) > 0.1
