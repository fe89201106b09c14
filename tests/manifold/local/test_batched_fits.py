"""Compiled fits equal those in batched products and the literal least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodis import nearest_neighbors, product_manifold
from geodis.manifold.local import quadratic_fits as batched_fits
from geodis.manifold.local.angles import principal_angles
from geodis.manifold.local.quadratic_fits import (
    fit_small,
    is_small_fit,
    loaded_neighborhoods,
    quadratic_coefficients,
    quadratic_operators,
    quadratic_pairs,
    quadratic_terms,
)
from geodis.manifold.local.tangents import tangent_frames
from tests.reference import manifold as reference


def in_both_forms(monkeypatch, *arguments, **options):
    found = tangent_frames(*arguments, **options)
    with monkeypatch.context() as patched:
        patched.setattr(batched_fits, "is_small_fit", lambda terms, d: False)
        return found, tangent_frames(*arguments, **options)


def projectors(frames):
    return np.swapaxes(frames, 1, 2) @ frames


@pytest.mark.parametrize(
    ("spec", "count", "options"),
    [
        ("S^1", 8, {}),
        ("S^2", 12, {}),
        ("S^2", 13, {"pad": 9, "rotate": True}),  # odd, and nearly as many columns as neighbours
        ("S^2 x S^1", 40, {"noise": 0.02}),
        ("S^2 x S^2", 30, {}),
        ("SO(3) x S^2", 300, {"noise": 0.05}),
        ("S^3 x S^2 x S^2 x S^2", 112, {}),
    ],
)
def test_both_forms_agree_to_rounding(monkeypatch, spec, count, options):
    sample = product_manifold(spec, 400, random_state=3, **options)
    near = nearest_neighbors(sample.points, count)
    terms = 1 + sample.dim + len(quadratic_pairs(sample.dim)[0])
    assert is_small_fit(terms, sample.points.shape[1])
    found, expected = in_both_forms(monkeypatch, sample.points, near, sample.dim)
    assert_allclose(projectors(found.frames), projectors(expected.frames), atol=7e-12)
    assert_allclose(found.residual, expected.residual, rtol=1e-6)


def test_both_forms_agree_with_terms_left_out_and_frames_to_start_from(monkeypatch):
    sample = product_manifold("S^2 x S^2", 300, random_state=3)
    start = np.concatenate(sample.tangents, axis=1)
    options = {"factor_dims": (2, 2), "start": start}
    near = nearest_neighbors(sample.points, 24)
    found, expected = in_both_forms(monkeypatch, sample.points, near, 4, **options)
    assert_allclose(found.frames, expected.frames, atol=7e-12)  # the start fixes every row
    assert_allclose(found.residual, expected.residual, rtol=1e-9)


def test_weights_and_covariances_equal_their_equations(rng):
    points = rng.standard_normal((50, 3))
    near = nearest_neighbors(points, 11)
    loaded, roots, covariances = loaded_neighborhoods(
        points, points[:7], near.indices[:7], near.distances[:7]
    )
    for i in range(7):
        x = points[near.indices[i]] - points[i]
        weights = np.exp(-2 * (near.distances[i] / near.distances[i, -1]) ** 2)
        assert_allclose(loaded[i, :, :11].T, x, atol=1e-15)
        assert_allclose(roots[i, :11] ** 2, weights, rtol=1e-14)
        assert_allclose(covariances[i], np.cov(x.T, aweights=weights, bias=True), rtol=1e-12)
    assert not loaded[..., 11:].any() and not roots[:, 11:].any()


@pytest.mark.parametrize("stretch", [1.0, 1e-3, 1e3])
def test_frames_far_from_orthonormal_are_made_so(stretch, rng):
    """A start along the wrong directions, of any length, leads to the same surface."""
    t = rng.uniform(-1, 1, (40, 2))
    points = np.column_stack([t, t[:, 0] * t[:, 1]])
    points[0] = 0.0
    near = nearest_neighbors(points, 30)
    loaded, roots, _ = loaded_neighborhoods(
        points, points[:1], near.indices[:1], near.distances[:1]
    )
    frames = stretch * np.array([[[1.0, 0.0, 0.3], [0.9, 0.2, 0.0]]])
    residual = fit_small(loaded, roots, frames, quadratic_pairs(2), 40, 30)
    assert_allclose(frames[0] @ frames[0].T, np.eye(2), atol=1e-12)
    assert principal_angles(frames, np.eye(2, 3)[None]) < 1e-6 and residual < 1e-8


def test_directions_that_neighbours_do_not_tell_come_out_finite_and_no_longer_than_one(rng):
    line = np.zeros((30, 3))
    line[:, 0] = rng.uniform(size=30)
    frames = tangent_frames(line, nearest_neighbors(line, 12), 2).frames
    assert np.isfinite(frames).all()
    assert (np.linalg.norm(frames, axis=2) < 1 + 1e-9).all()


def test_every_unit_of_length_will_do(rng):
    sample = product_manifold("S^2", 200, random_state=1)
    near = nearest_neighbors(sample.points, 12)
    frame = reference.curved_frame(sample.points, 0, near.indices[0], 2)[0]
    for unit in (1e-120, 1e120):
        scaled = nearest_neighbors(sample.points * unit, 12)
        found = tangent_frames(sample.points * unit, scaled, 2).frames[0]
        assert_allclose(found.T @ found, frame.T @ frame, atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("k", "count", "unit"), [(1, 7, 1e-6), (2, 25, 1.0), (4, 60, 1e5)])
def test_operators_equal_literal_least_squares(k, count, unit, compiled, monkeypatch, rng):
    monkeypatch.setattr(batched_fits, "is_small_fit", lambda terms, d: compiled)
    t, weights = unit * rng.standard_normal((3, count, k)), rng.uniform(0.1, 1, (3, count))
    values = rng.standard_normal((3, count, 2))
    found = quadratic_operators(t, weights) @ values
    direct = quadratic_coefficients(t, weights, values)
    line = quadratic_operators(t, weights, linear=True) @ values
    for i in range(3):
        wanted = reference.quadratic_fit(t[i], weights[i], values[i])
        predicted = quadratic_terms(t[i]) @ wanted
        assert_allclose(quadratic_terms(t[i]) @ found[i], predicted, atol=1e-6)
        assert_allclose(quadratic_terms(t[i]) @ direct[i], predicted, atol=1e-6)
        terms, root = np.column_stack([np.ones(count), t[i]]), np.sqrt(weights[i])[:, None]
        wanted = np.linalg.lstsq(root * terms, root * values[i], rcond=None)[0]
        assert_allclose(terms @ line[i], terms @ wanted, atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_neighbours_without_weight_count_for_nothing(compiled, monkeypatch, rng):
    monkeypatch.setattr(batched_fits, "is_small_fit", lambda terms, d: compiled)
    t, weights = rng.standard_normal((1, 30, 2)), np.ones((1, 30))
    weights[0, 20:] = 0.0
    found = quadratic_operators(t, weights)
    assert not found[..., 20:].any()
    assert_allclose(found[..., :20], quadratic_operators(t[:, :20], weights[:, :20]), atol=1e-6)
