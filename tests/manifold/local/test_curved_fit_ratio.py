import numpy as np
import pytest

from geodis import product_manifold
from geodis.manifold.local import curved_fit_ratio
from geodis.manifold.local.curved_fit_ratio import curved_fit_ratios, largest_fit
from geodis.manifold.local.quadratic_fits import tangent_terms
from tests.reference import manifold as reference


@pytest.mark.parametrize(("spec", "pad"), [("S^2", 0), ("S^2 x S^1", 3), ("S^2 x S^2", 40)])
def test_ratios_equal_their_literal_twin(spec, pad):
    sample = product_manifold(spec, 400, noise=0.05, pad=pad, rotate=True, random_state=0)
    rows = np.arange(0, 400, 25)
    fits = curved_fit_ratios(sample.points, rows, [20, 50], 4)
    for count, ratios, thickness in zip(fits.counts, fits.ratios, fits.thickness, strict=True):
        assert len(ratios) == min(4, largest_fit(count), sample.points.shape[1] - 1)
        for k, (ratio, thick) in enumerate(zip(ratios, thickness, strict=True), start=1):
            own = [reference.curved_fit_ratio(sample.points, i, count, k) for i in rows]
            middle = np.median(own, axis=0)
            # The largest eigenvalue of many is iterated for, from below.
            np.testing.assert_allclose(ratio, middle[0], rtol=0.05 if pad > 10 else 1e-6)
            np.testing.assert_allclose(thick, middle[1], rtol=0.05 if pad > 10 else 1e-6)


def test_the_result_does_not_depend_on_blocks(monkeypatch):
    points = product_manifold("S^2 x S^1", 500, random_state=0).points
    whole = curved_fit_ratios(points, np.arange(40), [30, 60], 4)
    monkeypatch.setattr(curved_fit_ratio, "BLOCK_ENTRIES", 1)
    one_by_one = curved_fit_ratios(points, np.arange(40), [30, 60], 4)
    for one, other in zip(whole.ratios, one_by_one.ratios, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_too_small_a_dimension_leaves_a_direction_as_long_as_the_last(seed):
    points = product_manifold("S^2 x S^2", 3000, noise=0.05, random_state=seed).points
    rows = np.arange(0, 3000, 40)
    for ratios in curved_fit_ratios(points, rows, [49, 125, 322], 4).ratios:
        assert max(ratios[:3]) < 1.6 and ratios[3] > 3


def test_ratios_do_not_change_with_scale_and_rotation():
    sample = product_manifold("S^2 x S^1", 600, noise=0.02, random_state=0)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    rows = np.arange(0, 600, 20)
    one, two = (
        curved_fit_ratios(points, rows, [30, 60], 4).ratios
        for points in (sample.points, 1e-4 * sample.points @ turn.T + 5.0)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_points_of_two_dimensions_are_counted():
    rng = np.random.default_rng(0)
    ring = np.column_stack([product_manifold("S^1", 600, random_state=0).points, np.zeros(600)])
    sphere = product_manifold("S^2", 600, random_state=0).points + 20
    fits = curved_fit_ratios(np.concatenate([ring, sphere]), rng.choice(1200, 200), [30], 2)
    assert 0.3 < fits.below[0][1] < 0.7


def test_the_largest_fit_has_two_neighbours_for_each_unknown():
    for count in range(6, 300):
        dim = largest_fit(count)
        assert 2 * tangent_terms(dim) <= count < 2 * tangent_terms(dim + 1)
