"""Total and Wasserstein correlation: reference values, twins, laws, degenerate input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.scores.unsupervised.gaussian import total_correlation_of, wasserstein_of
from tests import GOLDEN
from tests.reference import intervention_and_unsupervised as slow

EXPECTED = GOLDEN / "disentanglement_lib"
FILES = sorted(EXPECTED.glob("latents_s*.npz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-3:])
def test_equal_the_reference(path):
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    latents = data["latents"]
    total = scores.gaussian_total_correlation(latents)
    np.testing.assert_allclose(total.matrix, data["cov"], rtol=1e-9, atol=1e-9)
    expected = float(data["gaussian_total_correlation"])
    if not np.isnan(expected):
        assert float(total) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    plain = float(data["gaussian_wasserstein_correlation"])
    assert float(scores.wasserstein_correlation(latents)) == pytest.approx(plain, abs=1e-9)
    normed = scores.wasserstein_correlation(latents, normalised=True)
    expected = float(data["gaussian_wasserstein_correlation_norm"])
    assert float(normed) == pytest.approx(expected, abs=1e-9)
    information = scores.mutual_info_score(latents)
    np.testing.assert_allclose(information.matrix, data["latent_mutual_info"], rtol=1e-9, atol=1e-9)
    assert float(information) == pytest.approx(float(data["mutual_info_score"]), abs=1e-9)


def test_given_covariances_equal_the_reference():
    with np.load(EXPECTED / "matrices_s.npz", allow_pickle=False) as file:
        for i in range(int(file["n_cov"])):
            covariance = file[f"cov{i:02d}_matrix"]
            total = float(file[f"cov{i:02d}_gaussian_tc"])
            assert total_correlation_of(covariance) == pytest.approx(total, abs=1e-9)
            distance = float(file[f"cov{i:02d}_gaussian_wasserstein"])
            assert wasserstein_of(covariance) == pytest.approx(distance, abs=1e-9)


def test_a_constant_latent_has_a_total_correlation():
    """The peer takes the log of its variance, 0, and returns NaN for all latents together."""
    with np.load(EXPECTED / "latents_s10.npz", allow_pickle=False) as file:
        latents, peer = file["latents"], float(file["gaussian_total_correlation"])
    assert np.isnan(peer)
    score = scores.gaussian_total_correlation(latents)
    varying = score.details["varying"]
    without = scores.gaussian_total_correlation(latents[:, varying])
    assert float(score) == float(without) and "constant latents left out: 3" in score.note


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), z=st.integers(1, 6))
def test_gaussian_scores_equal_the_twins_and_keep_the_laws(seed, z):
    rng = np.random.default_rng(seed)
    latents = rng.standard_normal((50, z)) @ rng.standard_normal((z, z))
    covariance = np.atleast_2d(np.cov(latents, rowvar=False))
    total = float(scores.gaussian_total_correlation(latents))
    assert total == pytest.approx(slow.gaussian_total_correlation(covariance), rel=1e-6, abs=1e-9)
    distance = float(scores.wasserstein_correlation(latents))
    # A matrix root loses half of the digits.
    assert distance == pytest.approx(slow.wasserstein_correlation(covariance), rel=1e-5, abs=1e-6)
    order, scale = rng.permutation(z), rng.uniform(0.1, 10, z)
    moved = float(scores.gaussian_total_correlation(latents[:, order] * scale - 3))
    assert moved == pytest.approx(total, rel=1e-7, abs=1e-7)
    share = float(scores.wasserstein_correlation(latents, normalised=True))
    again = float(scores.wasserstein_correlation(7 * latents[:, order], normalised=True))
    assert again == pytest.approx(share, rel=1e-7, abs=1e-9) and 0 <= share <= 2
    assert total >= 0 and distance >= 0


def test_sampling_hides_dependence_that_the_mean_has():
    """Locatello et al. (2019), figure 1: the sampled representation has the lower correlation."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means = 0.3 * rng.standard_normal((4000, 2)) @ [[1.0, 0.9], [0.0, 0.3]]
        spread = np.zeros(means.shape)
        drawn = means + rng.standard_normal(means.shape)
        for function in (scores.gaussian_total_correlation, scores.wasserstein_correlation):
            sampled = float(function(means, log_variances=spread))
            assert sampled == pytest.approx(float(function(drawn)), abs=0.01)
            assert sampled < float(function(means))
        sampled = scores.mutual_info_score(means, log_variances=spread, random_state=99 + seed)
        assert float(sampled) == pytest.approx(float(scores.mutual_info_score(drawn)), abs=0.02)
        assert float(sampled) < float(scores.mutual_info_score(means))


def test_degenerate_latents(rng):
    z = rng.standard_normal((100, 1))
    for latents in (np.ones((100, 3)), z, np.column_stack([z, np.ones(100)])):
        for name in ("gaussian_total_correlation", "wasserstein_correlation"):
            assert float(getattr(scores, name)(latents)) == pytest.approx(0, abs=1e-12)
    assert float(scores.wasserstein_correlation(np.ones((5, 2)), normalised=True)) == 0
    twice = scores.gaussian_total_correlation(np.column_stack([z, 2 * z]))
    assert np.isinf(float(twice)) and "linear combinations" in twice.note
    assert twice.to_dict()["value"] is None
    assert float(scores.mutual_info_score(z)) == 0
    assert float(scores.mutual_info_score(np.ones((10, 2)))) == 0
    wide = scores.gaussian_total_correlation(rng.standard_normal((10, 512)))
    assert np.isinf(float(wide))
    assert float(scores.mutual_info_score([[0, 1], [1, 0]])) == pytest.approx(np.log(2))
