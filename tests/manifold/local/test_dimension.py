import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodis import intrinsic_dimension, nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.manifold.local.dimension import (
    mle_dimension,
    points_needed,
    tangent_terms,
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spec", "dim", "n"),
    [
        ("S^1", 1, 500),
        ("S^2", 2, 1000),
        ("S^2 x S^2", 4, 3000),
        ("SO(3)", 3, 2000),
        ("SO(3) x S^2", 5, 5000),
        ("T^2 x R^1", 3, 3000),
        ("ellipsoid(1,1,3) x S^2", 4, 4000),
        ("S^2 x S^2 x S^2", 6, 10000),
    ],
)
def test_both_estimates_find_known_dimensions(spec, dim, n, seed):
    points = product_manifold(spec, n, rotate=True, random_state=seed).points
    estimate = intrinsic_dimension(points)
    assert estimate.dim == dim
    assert abs(estimate.two_nn - dim) < 0.5
    assert estimate.agree and "both agree" in str(estimate)


def test_noise_fools_the_two_nearest_neighbours_and_is_said():
    sample = product_manifold("S^2", 3000, pad=7, noise=0.03, rotate=True, random_state=0)
    estimate = intrinsic_dimension(sample.points)
    assert not estimate.agree
    assert estimate.two_nn > estimate.mle > 2
    assert "disagree" in str(estimate)


@given(st.floats(1e-3, 1e3), st.integers(0, 100))
def test_dimension_is_invariant_to_similarity(scale, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((80, 3))
    moved = scale * points @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + rng.standard_normal(3)
    one, two = intrinsic_dimension(points), intrinsic_dimension(moved)
    np.testing.assert_allclose((one.mle, one.two_nn), (two.mle, two.two_nn), rtol=1e-5)


def test_copies_of_points_change_nothing(rng):
    points = rng.standard_normal((300, 2))
    repeated = np.concatenate([points, points, points[:1].repeat(200, axis=0)])
    once, again = intrinsic_dimension(points), intrinsic_dimension(repeated)
    assert once.dim == again.dim == 2


def test_few_points_use_fewer_neighbors(rng):
    assert intrinsic_dimension(rng.standard_normal((20, 2))).n_neighbors == 19
    few_places = np.tile(rng.standard_normal((10, 2)), (30, 1))
    assert intrinsic_dimension(few_places).n_neighbors == 9


def test_found_neighbors_save_the_search(rng):
    points = rng.standard_normal((200, 3))
    found = nearest_neighbors(points, 50)
    assert intrinsic_dimension(points, neighbors=found) == intrinsic_dimension(points)
    assert intrinsic_dimension(points, n_neighbors=20).n_neighbors == 20


def test_the_estimate_is_unbiased_with_few_neighbors_too():
    points = product_manifold("S^2 x S^2", 5000, random_state=0).points
    found = nearest_neighbors(points, 50).distances
    for count in (5, 15, 50):
        assert abs(mle_dimension(found[:, :count]) - 4) < 0.05


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spec", "n", "noise", "n_neighbors"),
    [
        ("S^2 x S^4 x SO(3)", 5000, 0.0, 15),
        ("S^2 x S^2 x S^2 x S^2 x S^2", 5000, 0.0, 15),
        ("R^5", 2000, 0.0, 15),
        ("S^2 x S^2", 5000, 0.1, 200),
        ("S^2", 5000, 0.03, 200),
        ("S^2", 1000, 0.03, 100),
    ],
)
def test_few_neighbors_against_curvature_and_many_against_noise(spec, n, noise, n_neighbors, seed):
    sample = product_manifold(spec, n, noise=noise, random_state=seed)
    estimate = intrinsic_dimension(sample.points)
    assert estimate.dim == sample.dim
    assert estimate.n_neighbors == n_neighbors


def test_points_on_a_grid_are_said_to_mislead():
    line = np.linspace(0, 1, 30)
    estimate = intrinsic_dimension(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    assert not estimate.agree and "evenly spaced" in str(estimate)


def test_evenly_spaced_distances_have_no_finite_dimension():
    assert mle_dimension(np.ones((5, 4))) == np.inf
    assert two_nn_dimension(np.ones((5, 2))) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: intrinsic_dimension(np.zeros((10, 2))), "at least 4 distinct points; got 1"),
        (lambda: mle_dimension(np.ones((5, 2))), "at least 3 neighbours a point; got 2"),
        (lambda: mle_dimension(np.array([[1.0, 3.0, 2.0]])), "sorted along each row"),
        (lambda: two_nn_dimension(np.array([[0.0, 1.0]])), "must be positive"),
        (
            lambda: two_nn_dimension(np.ones((5, 2)), kept=2),
            "kept must be between 0.1 and 1.0; got 2",
        ),
        (lambda: points_needed(0), "dim must be at least 1; got 0"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


@given(st.integers(1, 30))
def test_tangent_terms_count_the_monomials_up_to_degree_two(dim):
    monomials = {tuple(sorted((a, b))) for a in range(dim + 1) for b in range(dim + 1)}
    assert tangent_terms(dim) == len(monomials)
    needed, recommended = points_needed(dim)
    assert needed < recommended
