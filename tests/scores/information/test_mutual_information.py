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


@pytest.mark.parametrize("method", ["equal_width", "quantile", "knn"])
def test_factors_with_one_value_do_not_count(method):
    latents, factors = sample(0)
    more = np.column_stack([factors, np.full(len(factors), 3)])
    alone, beside = (
        scores.mutual_information(latents, f, method=method, random_state=0)
        for f in (factors, more)
    )
    assert float(beside) == float(alone)
    assert np.isnan(beside.per_factor[3]) and not beside.matrix[:, 3].any()
    assert "with one value: factor 3" in beside.note
    with pytest.raises(InputError, match="at least two values; got 1 with one"):
        scores.mutual_information(latents, more[:, 3:])
