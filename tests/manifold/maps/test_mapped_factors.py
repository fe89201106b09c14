"""Coordinates and distances of the factors of a fit: against what the points were made from."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import geodis as gd
from geodis.base.check import InputError
from tests.manifold.maps.cases import fitted, matched, r2, relative_error, sphere


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("factor", [0, 1])
def test_maps_of_two_spheres_are_the_spheres(seed, factor):
    est, parts = fitted("sphere", seed=seed)
    j, explained = matched(est, parts[factor])
    assert explained > 0.9999
    assert est.coordinates(j).shape == (2000, 3)
    assert est.maps_[j].residual < 0.004
    assert relative_error(est, j, parts[factor]) < 0.004


@pytest.mark.parametrize(
    ("first", "options", "explained", "error"),
    [
        ("cap", {}, 0.9995, 0.01),
        ("uneven", {}, 0.999, 0.012),
        ("S^3", {}, 0.999, 0.012),
        ("circle", {}, 0.9999, 0.002),
        ("circle", {"n_factors": 2}, 0.9999, 0.002),
        ("sphere", {"noise": 0.02}, 0.998, 0.02),
        ("sphere", {"bent": 0.5}, 0.9999, 0.006),
        ("sphere", {"bent": 0.5, "noise": 0.02}, 0.998, 0.022),
        ("uneven", {"bent": 0.5}, 0.999, 0.012),
    ],
)
def test_maps_of_other_factors(first, options, explained, error):
    est, parts = fitted(first, **options)
    for true in parts:
        j, share = matched(est, true)
        assert share > explained
        assert relative_error(est, j, true) < error


def test_unrolled_and_fitted_circle_agree():
    unrolled, parts = fitted("circle")
    told, _ = fitted("circle", n_factors=2)
    assert unrolled.flat_[1] and unrolled.flat_coordinates_.shape[1] == 1
    assert not told.flat_coordinates_.shape[1]
    rows = np.arange(200)
    one = unrolled.factor_distances(1, rows, rows[::-1])
    np.testing.assert_allclose(told.factor_distances(1, rows, rows[::-1]), one, atol=0.01)
    assert r2(told.coordinates(1), unrolled.coordinates(1)) > 0.9999
    assert parts[0].shape[1] == unrolled.coordinates(1).shape[1] == told.coordinates(1).shape[1]


def test_distances_are_a_metric_and_add_up():
    est, _ = fitted("sphere")
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(2000, size=(3, 40))
    for j in range(2):
        ab, ba = est.factor_distances(j, a, b), est.factor_distances(j, b, a)
        np.testing.assert_allclose(ab, ba, rtol=0.01, atol=0.01)
        assert (ab <= est.factor_distances(j, a, c) + est.factor_distances(j, c, b) + 0.01).all()
        assert (est.factor_distances(j, a, a) == 0).all()
    near = np.argsort(((est.points_ - est.points_[0]) ** 2).sum(axis=1))[1:6]
    both = np.hypot(est.factor_distances(0, 0, near), est.factor_distances(1, 0, near))
    chord = np.linalg.norm(est.points_[near] - est.points_[0], axis=1)
    np.testing.assert_allclose(both, chord, rtol=0.03)


def test_shapes_follow_the_rows():
    est, _ = fitted("sphere")
    rows = np.arange(6)
    assert est.factor_distances(0, rows[:, None], rows).shape == (6, 6)
    assert est.factor_distances(0, 1, 2).shape == ()
    np.testing.assert_array_equal(est.factor_distances(0, -1, 2), est.factor_distances(0, 1999, 2))


def test_transform_gives_fitted_points_their_own_and_new_ones_theirs():
    est, _ = fitted("sphere", "circle")
    both = np.hstack([est.coordinates(0), est.coordinates(1)])
    np.testing.assert_allclose(est.transform(est.points_[:50]), both[:50], atol=1e-9)
    rng = np.random.default_rng(9)
    new = sphere(200, rng)
    angle = rng.uniform(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    told = est.transform(np.hstack([new, ring]))
    assert r2(told[:, :3], new) > 0.9999 and r2(told[:, 3:], ring) > 0.9999
    assert len(est.get_feature_names_out()) == told.shape[1]


def test_maps_are_turned_alike_every_time():
    # Other points of the same manifold, and another seed: the same coordinates mean the same.
    one, two = (fitted("sphere", seed=seed)[0] for seed in (0, 1))
    for own, factor in zip((one, two), (one.subspace(0), two.subspace(0)), strict=True):
        assert own.factor_dims_.tolist() == [2, 2] and factor.shape == (2000, 2, 6)
    first = one.transform(two.points_)
    second = two.transform(two.points_)
    same = np.abs(first[:, :3] - second[:, :3]).max()
    swapped = np.abs(first[:, :3] - second[:, 3:]).max()
    assert min(same, swapped) < 0.15  # factors of equal dimension may change places


def test_many_points_are_extended_from_few(monkeypatch):
    monkeypatch.setattr("geodis.manifold.maps.samples.MOST_POINTS", 1500)
    est, parts = fitted("sphere", seed=5)
    est = copy(est)
    est.fitted_ = replace(est.fitted_)  # without its maps
    j, explained = matched(est, parts[0])
    assert len(est.maps_[j].pieces[0].rows) == 1500
    assert explained > 0.9995
    assert relative_error(est, j, parts[0]) < 0.01


def test_pieces_have_maps_of_their_own():
    rng = np.random.default_rng(0)
    points = np.hstack([sphere(2400, rng), sphere(2400, rng)])
    points[1500:, 0] += 10
    with pytest.warns(UserWarning, match="2 pieces"):
        est = gd.GeoManCER(verbose=0).fit(points)
    rows = np.array([0, 1, 1600])
    for j in range(2):
        assert np.isfinite(est.coordinates(j)).all()
        assert np.isfinite(est.factor_distances(j, 0, 1))
        assert est.factor_distances(j, 0, 1600) == np.inf
        np.testing.assert_allclose(
            est.transform(points[rows])[:, 3 * j : 3 * j + 3], est.coordinates(j)[rows], atol=1e-9
        )


@pytest.mark.parametrize("seed", [0, 1])
def test_pieces_beside_a_flat_factor_have_maps_of_their_own(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 2300)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.hstack([sphere(2300, rng), 1.5 * circle])
    points[1400:, 0] += 10
    with pytest.warns(UserWarning, match="2 pieces"):
        est = gd.GeoManCER(verbose=0).fit(points)
    assert est.factor_dims_.tolist() == [2, 1] and est.flat_.tolist() == [False, True]
    assert not any("do not split" in doubt for doubt in est.doubts_)
    for rows in (np.arange(1400), np.arange(1400, 2300)):
        assert r2(est.coordinates(0)[rows], points[rows, :3]) > 0.999
        assert r2(est.coordinates(1)[rows], circle[rows]) > 0.999
        assert np.isfinite(est.factor_distances(1, rows[:20], rows[20:40])).all()
    for j in range(2):
        assert est.maps_[j].n_pieces == 2 and est.factor_distances(j, 0, 1500) == np.inf
    one_piece = est.transform(points[:3] + 1e-3)  # all beside the same piece
    np.testing.assert_allclose(one_piece[:, :3], est.coordinates(0)[:3], atol=0.01)
    assert est.product_test_.is_product
    walk = est.walk(1700, 1, length=2.0, steps=5)
    assert np.abs(walk.points[:, :3] - points[1700, :3]).max() < 0.05


def test_outliers_have_no_coordinates():
    rng = np.random.default_rng(0)
    points = np.hstack([sphere(1500, rng), sphere(1500, rng)])
    points[7] += 40
    est = gd.GeoManCER(verbose=0).fit(points)
    assert np.isnan(est.coordinates(0)[7]).all()
    assert np.isfinite(np.delete(est.coordinates(0), 7, axis=0)).all()
    assert np.isnan(est.factor_distances(0, 7, 8)) and np.isnan(est.factor_distances(0, 7, 7))


def test_bad_input_gets_a_sentence():
    with pytest.raises(NotFittedError):
        gd.GeoManCER().coordinates(0)
    est, _ = fitted("sphere")
    with pytest.raises(InputError, match="factor must be"):
        est.coordinates(2)
    with pytest.raises(InputError, match="a must be rows of the 2,000 fitted points; got"):
        est.factor_distances(0, 2000, 0)
    with pytest.raises(InputError, match="b must be rows of the fitted points, integers"):
        est.factor_distances(0, 0, 0.5)
    few = sphere(250, np.random.default_rng(0))
    small = gd.GeoManCER(dim=2, verbose=0, flat="keep").fit(few)
    with pytest.raises(InputError, match=r"at least 300 points in one piece.*got 250"):
        small.coordinates(0)


def test_with_too_few_points_for_maps_spaces_are_unknown():
    sample = gd.product_manifold("S^2 x S^1", 250, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    assert est.factor_dims_.tolist() == [2, 1]
    assert est.names_ == ("unknown", "unknown")
    assert all("at least 300 points" in own.doubts[0] for own in est.topology_)
    assert not hasattr(est, "maps_") and not hasattr(est, "product_test_")
    for ask in (
        lambda: est.maps_,
        lambda: est.product_test_,
        lambda: est.factor_distances(0, 1, 2),
    ):
        with pytest.raises(InputError, match="at least 300 points in one piece"):
            ask()
    with pytest.warns(UserWarning, match=r"at least 300 points.*All coordinates are NaN"):
        told = est.transform(sample.points[:7])
    assert told.shape == (7, 3) == (7, len(est.get_feature_names_out())) and np.isnan(told).all()
    assert est.score(sample.points) == 0.0
    assert not est.uncertain_  # the fit itself is as sure as it was


def test_a_clone_and_another_fit_forget_the_maps():
    est, _ = fitted("sphere", seed=2)
    before = est.coordinates(0)
    again = clone(est).fit(est.points_[:1200])
    assert again.coordinates(0).shape == (1200, 3) and before.shape == (2000, 3)


def test_points_beyond_the_fitted_ones_have_no_coordinates():
    rng = np.random.default_rng(0)
    points = np.hstack([sphere(1500, rng), sphere(1500, rng)])
    points[7] += 40
    est = gd.GeoManCER(verbose=0).fit(points)
    asked = np.vstack([points[:9], points[:1] + 100])
    with pytest.warns(UserWarning, match="2 of 10 points lie beyond the fitted ones"):
        told = est.transform(asked)
    lost = np.isnan(told).all(axis=1)
    assert np.flatnonzero(lost).tolist() == [7, 9] and np.isfinite(told[~lost]).all()


@pytest.mark.parametrize("n", [15, 20, 25, 30, 40, 45, 72])
@pytest.mark.parametrize("seed", [0, 1])
def test_few_points_of_a_circle(n, seed):
    angle = np.sort(np.random.default_rng(seed).uniform(0, 2 * np.pi, n))
    if seed == 0:
        angle = 2 * np.pi * np.arange(n) / n
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    est = gd.GeoManCER(dim=1, verbose=0).fit(circle)
    a, b = np.divmod(np.arange(n * n), n)
    apart = np.abs(angle[a] - angle[b])
    error = np.abs(est.factor_distances(0, a, b) - np.minimum(apart, 2 * np.pi - apart))
    assert np.nanmax(error) < 0.35 or est.uncertain_ or est.topology_[0].doubts


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_units_do_not_matter(scale):
    est, _ = fitted("sphere", n=800)
    other = gd.GeoManCER(verbose=0).fit(scale * est.points_)
    for j in range(2):
        np.testing.assert_allclose(other.coordinates(j) / scale, est.coordinates(j), atol=1e-6)


def test_coordinates_are_a_copy():
    est, _ = fitted("sphere", n=800)
    est.coordinates(0)[:] = 0
    assert est.coordinates(0).any()


def test_shapes_that_do_not_fit_get_a_sentence():
    est, _ = fitted("sphere", n=800)
    with pytest.raises(InputError, match=r"shapes that can be broadcast; got \(2,\)"):
        est.factor_distances(0, [1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="rows of the 800 fitted points; got 5000"):
        est.factor_distances(0, 0, 5000)
    assert est.factor_distances(0, [], []).shape == (0,)
