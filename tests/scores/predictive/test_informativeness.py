"""Explained variance."""

import numpy as np
import pytest

from geodis import scores


@pytest.mark.parametrize("seed", range(3))
def test_explained_variance_is_that_of_the_model(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, 3000)
    latents = np.column_stack([np.cos(angle), np.sin(angle)])
    factors = np.column_stack([np.cos(angle) + rng.standard_normal(3000), np.cos(2 * angle)])
    linear = scores.informativeness_r2(latents, factors, random_state=seed)
    np.testing.assert_allclose(linear.per_factor, [1 / 3, 0], atol=0.06)
    near = scores.informativeness_r2(latents, factors, method="knn", random_state=seed)
    assert near.per_factor[1] > 0.99
    assert near.details["raw_per_factor"][0] < linear.per_factor[0]
