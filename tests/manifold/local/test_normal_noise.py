"""Normal noise is told from flat pieces, manifolds and other laws that fill all directions."""

import numpy as np
import pytest

from geodis import GeoManCER, intrinsic_dimension, product_manifold
from geodis.manifold.local.normal_noise import is_normal_noise


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "d"), [(300, 5), (2000, 5), (2000, 8), (5000, 12)])
def test_noise_of_any_shape_is(n, d, seed):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, d))
    assert is_normal_noise(noise)
    assert is_normal_noise(noise @ rng.standard_normal((d, d)) + 5.0)


@pytest.mark.parametrize("seed", range(5))
def test_other_laws_and_manifolds_are_not(seed):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2000, 6))
    latents = rng.laplace(size=(2000, 6))
    assert not is_normal_noise(rng.uniform(size=(2000, 6)))
    assert not is_normal_noise(latents)
    assert not is_normal_noise(noise + 4 * rng.integers(2, size=(2000, 1)))
    assert not is_normal_noise(np.column_stack([noise[:, :5], noise[:, 0] ** 2]))
    assert not is_normal_noise(
        product_manifold("S^2 x S^2", 2000, noise=0.1, random_state=seed).points
    )
    assert not is_normal_noise(noise[:, :4])


@pytest.mark.parametrize("d", [5, 6])
def test_all_noise_is_undecided_and_said(d):
    noise = np.random.default_rng(d).standard_normal((1000, d))
    estimate = intrinsic_dimension(noise)
    assert estimate.verdict == "undecided" and "all noise" in estimate.doubts[0]
    with pytest.warns(UserWarning, match="all noise"):
        est = GeoManCER(verbose=0).fit(noise)
    assert est.uncertain_ and "all noise" in " ".join(est.doubts_)
