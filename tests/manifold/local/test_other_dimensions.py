import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from geodis import intrinsic_dimension, nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.manifold import carre_du_champ_dimension, gride_dimension


def literal_gride(distances, near):
    """The likelihood of the ratios at one rank, written out and maximised."""
    mu = distances[:, 2 * near - 1] / distances[:, near - 1]

    def minus(k):
        density = np.log(k) + (near - 1) * np.log(mu**k - 1) - ((2 * near - 1) * k + 1) * np.log(mu)
        return -density.sum()

    return minimize_scalar(minus, bounds=(0.1, 50), method="bounded", options={"xatol": 1e-8}).x


@pytest.mark.parametrize("near", [1, 2, 4, 8])
def test_gride_is_the_most_likely_dimension(near):
    points = product_manifold("S^3 x S^1", 400, random_state=near).points
    distances = nearest_neighbors(points, 16).distances
    found = gride_dimension(distances)
    at = found.scales.index(2 * near)
    np.testing.assert_allclose(found.dimensions[at], literal_gride(distances, near), rtol=1e-5)


def test_ties_and_few_neighbours():
    assert np.isinf(gride_dimension(np.ones((30, 4))).lowest)
    with pytest.raises(InputError, match="minimum of 2 is required"):
        gride_dimension(np.ones((30, 1)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spec", ["S^1", "S^2", "S^2 x S^1", "SO(3) x S^1"])
def test_every_method_sees_clean_products(spec, seed):
    sample = product_manifold(spec, 1500, random_state=seed)
    for method in ("mle", "two_nn", "gride", "carre_du_champ"):
        found = intrinsic_dimension(sample.points, method=method)
        assert found.dim == sample.dim, method
        assert found.verdict == "doubtful" and method.replace("_", " ") in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_gaps_see_through_noise_that_misleads_distances(seed):
    sample = product_manifold("S^2 x S^1", 2000, noise=0.1, pad=15, rotate=True, random_state=seed)
    assert intrinsic_dimension(sample.points, method="carre_du_champ").dim == 3
    assert intrinsic_dimension(sample.points, method="two_nn").dim > 3


def test_votes_are_shares_of_the_points():
    plane = np.pad(np.random.default_rng(0).uniform(size=(300, 2)), ((0, 0), (0, 3)))
    found = carre_du_champ_dimension(plane, nearest_neighbors(plane, 30))
    assert found.dim == 2 and 0.7 < found.share <= 1


def test_methods_are_named():
    with pytest.raises(InputError, match="method must be"):
        intrinsic_dimension(np.eye(9), method="best")
