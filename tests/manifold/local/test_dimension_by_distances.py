import numpy as np
import pytest

from geodis import nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.manifold.local.dimension_methods import (
    dimension_by_distances,
    mle_dimension,
    two_nn_dimension,
)
from tests.reference import manifold as reference


def test_estimators_equal_their_literal_twins(rng):
    distances = np.sort(rng.uniform(0.1, 1, (40, 12)), axis=1)
    np.testing.assert_allclose(
        mle_dimension(distances), reference.mle_dimension(distances), rtol=1e-12
    )
    for kept in (0.5, 0.9, 1.0):
        np.testing.assert_allclose(
            two_nn_dimension(distances, kept),
            reference.two_nn_dimension(distances, kept),
            rtol=1e-12,
        )


def test_the_estimate_is_unbiased_with_few_neighbors_too():
    points = product_manifold("S^2 x S^2", 5000, random_state=0).points
    found = nearest_neighbors(points, 50).distances
    for count in (5, 15, 50):
        assert abs(mle_dimension(found[:, :count]) - 4) < 0.05


@pytest.mark.parametrize(
    ("spec", "n", "noise", "n_neighbors"),
    [
        ("S^2 x S^4 x SO(3)", 5000, 0.0, 15),
        ("S^2 x S^2 x S^2 x S^2 x S^2", 5000, 0.0, 15),
        ("S^2 x S^2", 5000, 0.1, 200),
        ("S^2", 5000, 0.03, 200),
        ("S^2", 1000, 0.03, 100),
    ],
)
def test_few_neighbors_against_curvature_and_many_against_noise(spec, n, noise, n_neighbors, rng):
    sample = product_manifold(spec, n, noise=noise, random_state=0)
    seen = dimension_by_distances(sample.points, random_state=rng)
    assert round(seen.mle) == sample.dim
    assert seen.n_neighbors == n_neighbors
    assert (seen.agreed is None) == (noise > 0)


def test_noise_is_told_by_an_estimate_that_falls(rng):
    clean, noisy = (
        dimension_by_distances(
            product_manifold("S^2", 2000, noise=noise, random_state=0).points, random_state=rng
        )
        for noise in (0.0, 0.05)
    )
    assert clean.agreed == 2 and abs(clean.fall) < 0.05
    assert noisy.agreed is None and noisy.fall > 0.1 and noisy.two_nn > noisy.mle


def test_evenly_spaced_distances_have_no_finite_dimension():
    assert mle_dimension(np.ones((5, 4))) == np.inf
    assert two_nn_dimension(np.ones((5, 2))) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mle_dimension(np.ones((5, 2))), "at least 3 neighbours per point; got 2"),
        (lambda: mle_dimension(np.array([[1.0, 3.0, 2.0]])), "sorted along each row"),
        (lambda: two_nn_dimension(np.array([[0.0, 1.0]])), "must be positive"),
        (
            lambda: two_nn_dimension(np.ones((5, 2)), kept=2),
            "kept must be between 0.1 and 1.0; got 2",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
