"""Doubts about finished fits: orders along curves, given dimensions, small factors, surfaces."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from geodis import GeoManCER, intrinsic_dimension, product_manifold
from geodis.manifold.fit_doubts import late_doubts, remedy_for_counts
from geodis.manifold.local.angles import TangentError
from geodis.manifold.split_result import Evidence
from tests.manifold.flat.test_flat_graph import ring, star


def doubts_of(points, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GeoManCER(verbose=0, **options).fit(points).doubts_


@pytest.mark.parametrize("options", [{}, {"dim": 1}])
@pytest.mark.parametrize(("arms", "noise"), [(3, 0.0), (12, 0.0), (5, 0.01)])
def test_a_star_is_no_curve(arms, noise, options):
    doubts = doubts_of(star(arms, 700, 0, noise), **options)
    assert "branching-curve" in [doubt.code for doubt in doubts]


@pytest.mark.parametrize(
    ("points", "dim"),
    [
        (np.random.default_rng(0).standard_normal((800, 6)), 1),  # all noise
        (np.random.default_rng(0).uniform(-1, 1, (800, 4)), 1),
        (product_manifold("S^2", 800, noise=0.15, pad=3, random_state=0).points, 1),
        (np.random.default_rng(0).standard_normal((800, 6)), 2),
        (np.random.default_rng(0).uniform(-1, 1, (800, 4)), 2),
    ],
)
def test_a_wrong_dimension_is_doubted_although_it_was_given(points, dim):
    assert any(doubt.startswith(f"dim={dim} was given, ") for doubt in doubts_of(points, dim=dim))


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("n", [250, 1000])
def test_a_right_curve_is_not_doubted_where_its_dimension_was_given(n, noise):
    assert doubts_of(ring(n, 0, noise, 5)[0], dim=1) == ()


@pytest.mark.parametrize("spec", ["S^2", "torus(2, .8)", "S^1 x S^1", "S^2 x S^1", "S^2 x S^2"])
def test_a_right_dimension_of_clean_points_is_not_doubted(spec):
    sample = product_manifold(spec, 1000, random_state=0)
    dim = sum(frames.shape[1] for frames in sample.tangents)
    assert doubts_of(sample.points, dim=dim) == doubts_of(sample.points) == ()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "spec", ["S^2 x S^2(50)", "S^2 x S^1(.02)", "S^1 x S^2(.01)", "S^2(.02) x S^1 x S^1"]
)
def test_a_small_factor_below_the_spacing_is_doubted(spec, seed):
    doubts = doubts_of(product_manifold(spec, 2000, random_state=seed).points)
    assert "hidden-factor" in [doubt.code for doubt in doubts]


@pytest.mark.parametrize(("spec", "noise"), [("S^2", 0.03), ("S^1", 0.02), ("S^2 x S^1", 0.06)])
def test_noise_is_no_small_factor(spec, noise):
    points = product_manifold(spec, 1200, noise=noise, pad=2, random_state=0).points
    assert doubts_of(points) == ()


@pytest.mark.parametrize(("angle", "said"), [(0.1, 0), (0.18, 0), (0.2, 1), (0.6, 1), (np.inf, 0)])
def test_surfaces_whose_tangents_err_are_doubted(angle, said):
    # `inf` is what is measured with too few points to measure it.
    item = Evidence(
        2, np.zeros(2), np.zeros(2), 1, (2,), 1, (), tangent_error=TangentError(angle, 0.0)
    )
    estimate = intrinsic_dimension(product_manifold("S^2", 300, random_state=0).points)
    doubts = late_doubts((2,), estimate, False, [item], None)
    assert len(doubts) == said and all(one.code == "noisy-surface" for one in doubts)
    assert late_doubts((3,), estimate, False, [replace(item, dim=3)], None) == ()
    assert late_doubts((1, 1), estimate, False, [item], None) == ()


def test_counts_of_bytes_are_counts_and_pixels_are_not():
    counts = np.random.default_rng(0).poisson(9.0, (300, 5)).astype(float)
    assert remedy_for_counts(counts, of_bytes=True) == remedy_for_counts(counts) != ()
    assert remedy_for_counts(counts + 150, of_bytes=True) == ()
    assert remedy_for_counts(np.append(counts, [[255.0] * 5], axis=0)) == ()
