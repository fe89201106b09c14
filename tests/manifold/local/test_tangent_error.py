import numpy as np
import pytest

import geodis as gd
from geodis.manifold.local.angles import principal_angles, tangent_error
from geodis.manifold.local.tangents import neighbors_for_tangents, tangent_frames
from tests.conftest import sphere


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("spec", "n"), [("S^2 x S^2", 2000), ("SO(3)", 1500), ("S^2 x S^3", 2000)])
def test_the_measured_error_is_that_against_the_truth(spec, n, seed):
    sample = gd.product_manifold(spec, n, random_state=seed)
    count = neighbors_for_tangents(sample.dim)
    near = gd.nearest_neighbors(sample.points, count)
    frames = tangent_frames(sample.points, near, sample.dim).frames
    true = principal_angles(frames, np.concatenate(sample.tangents, axis=1))
    measured = tangent_error(sample.points, sample.dim, count).angle
    assert 0.5 < measured / np.sqrt((true**2).mean()) < 2.5


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("k", "noise"), [(2, 0.03), (3, 0.05)])
def test_under_noise_it_is_that_against_the_tangent_below_the_point(k, noise, seed):
    rng = np.random.default_rng(seed)
    points = sphere(2000, k, rng)
    points += noise * rng.standard_normal(points.shape)
    count = 6 * neighbors_for_tangents(k)
    frames = tangent_frames(points, gd.nearest_neighbors(points, count), k).frames
    normal = points / np.linalg.norm(points, axis=1, keepdims=True)
    true = np.arcsin(np.linalg.norm(np.einsum("nkd,nd->nk", frames, normal), axis=1))
    assert 0.5 < tangent_error(points, k, count).angle / np.sqrt((true**2).mean()) < 2.0


def test_bias_shows_where_curvature_changes_fast():
    grid = np.random.default_rng(0).uniform(-2, 2, (3000, 2))
    wavy = np.column_stack([grid, np.sin(3 * grid[:, 0]) * np.sin(3 * grid[:, 1])])
    few, many = (tangent_error(wavy, 2, count) for count in (12, 200))
    assert many.bias > 3 * few.angle
    assert "bias" in str(many)


def test_the_whole_space_has_no_error_and_few_points_an_unknown_one():
    rng = np.random.default_rng(0)
    assert tangent_error(rng.standard_normal((100, 2)), 2, 12).angle == 0
    assert tangent_error(rng.standard_normal((20, 5)), 4, 30).noise == np.inf


def test_it_is_invariant_to_motion_and_scale():
    points = gd.product_manifold("S^2", 800, random_state=0).points
    turned = 1e3 * points @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0] + 5
    one, two = tangent_error(points, 2, 12), tangent_error(turned, 2, 12)
    np.testing.assert_allclose([one.noise, one.bias], [two.noise, two.bias], atol=1e-6)
