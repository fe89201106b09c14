"""Normal noise is told from flat pieces, manifolds and other laws that fill all directions."""

import numpy as np
import pytest

from geodis import GeoManCER, intrinsic_dimension, product_manifold
from geodis.manifold.local.curved_fit_ratio import is_normal_noise, shell_spread


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
    assert estimate.verdict == "undecided" and estimate.doubts[0].code == "all-noise"
    with pytest.warns(UserWarning, match="all noise"):
        est = GeoManCER(verbose=0).fit(noise)
    assert est.uncertain_ and "all noise" in " ".join(est.doubts_)


def literal_shell_spread(points, dim, count):
    """`shell_spread` with all points, one after another."""
    left = []
    for i in range(len(points)):
        chords = np.delete(points, i, axis=0) - points[i]
        chords = chords[np.argsort((chords**2).sum(axis=1), kind="stable")[:count]]
        along = chords @ np.linalg.svd(chords - chords.mean(axis=0))[2][:dim].T
        pairs = [along[:, a] * along[:, b] for a in range(dim) for b in range(a, dim)]
        design = np.column_stack([np.ones(count), along, *pairs])
        left.append(np.linalg.lstsq(design, chords, rcond=None)[0][0])
    left = np.array(left)
    spectrum = np.linalg.eigvalsh(np.cov(left.T))
    return (left**2).sum(axis=1).var() / (2 * (spectrum**2).sum())


@pytest.mark.parametrize("spec", ["S^2 x S^1(.02)", "S^1", "S^2"])
def test_the_spread_is_that_of_a_literal_twin(spec):
    points = product_manifold(spec, 300, noise=0.005, random_state=0).points
    dim = 1 if spec == "S^1" else 2
    expected = literal_shell_spread(points, dim, 40)
    assert shell_spread(points, dim, 40) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 2, 4, 12])
def test_normal_noise_spreads_by_one_in_any_number_of_directions(d, seed):
    rng = np.random.default_rng(seed)
    line = rng.uniform(0, 1000, (2000, 1))
    noise = rng.standard_normal((2000, d)) * rng.uniform(0.5, 2, d)
    assert 0.6 < shell_spread(np.hstack([line, noise]), 1, 200) < 1.6
    shell = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    if d > 1:
        assert shell_spread(np.hstack([line, shell]), 1, 200) < 0.15
