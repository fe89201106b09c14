import pickle

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.manifold import out_of_sample as new_points
from geodis.manifold.local import exact_search
from geodis.manifold.split_result import Split, join_axes, part_axes
from tests.conftest import warped


def errors(est, sample_points, tangents, fitted):
    """Mean error at the fitted points, and at the others."""
    new = est.at(sample_points[fitted:])
    found = (est.axes_, new)
    true = ([frames[:fitted] for frames in tangents], [frames[fitted:] for frames in tangents])
    bounds = np.cumsum(est.factor_dims_)[:-1]
    return [
        gd.subspace_angles(np.split(axes, bounds, axis=1), frames).mean()
        for axes, frames in zip(found, true, strict=True)
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("S^2 x S^2", {}),
        ("S^2 x S^2", {"noise": 0.03}),
        ("S^2 x S^2", {"rotate": True, "pad": 3}),
        ("S^2 x SO(3)", {}),
        ("S^2", {}),
        ("R^2 x S^2", {}),
    ],
)
def test_new_points_are_as_accurate_as_fitted_ones(spec, options, seed):
    sample = gd.product_manifold(spec, 1700, random_state=seed, **options)
    est = gd.GeoManCER(dim=sample.dim, verbose=0, n_jobs=1).fit(sample.points[:1300])
    assert est.split_.refined == ("none" if spec == "S^2" else "ambient")
    fitted, new = errors(est, sample.points, sample.tangents, 1300)
    assert new < 1.2 * fitted


@pytest.mark.parametrize("refinements", [0, 2])
def test_new_points_where_the_ambient_space_does_not_split(refinements):
    points, tangents = warped("S^2 x S^2", 3000, 0.1)
    est = gd.GeoManCER(dim=4, refinements=refinements, verbose=0, n_jobs=1).fit(points[:2500])
    assert est.split_.refined == ("tangents" if refinements else "none")
    fitted, new = errors(est, points, tangents, 2500)
    assert new < 1.1 * fitted < 0.1


def test_published_tangents_at_new_points():
    sample = gd.product_manifold("S^2 x S^2", 2500, random_state=0)
    est = gd.GeoManCER(dim=4, n_factors=2, tangents="pca", verbose=0, n_jobs=1).fit(
        sample.points[:2000]
    )
    fitted, new = errors(est, sample.points, sample.tangents, 2000)
    assert new < 1.2 * fitted


def test_fitted_points_keep_their_axes_and_all_axes_are_orthonormal():
    sample = gd.product_manifold("S^2 x S^2", 1200, random_state=0)
    est = gd.GeoManCER(dim=4, verbose=0, n_jobs=1).fit(sample.points[:1000])
    np.testing.assert_array_equal(est.at(sample.points[:50]), est.axes_[:50])
    found = est.at(sample.points[1000:])
    gram = found @ np.swapaxes(found, 1, 2)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(4), gram.shape), atol=1e-8)
    with pytest.raises(InputError, match="6 columns as in the fit; got 2"):
        est.at(np.zeros((3, 2)))


def test_far_outside_the_axes_are_those_of_the_nearest_points():
    """A quadratic fit would be extrapolated without bound."""
    sample = gd.product_manifold("S^2 x S^2", 1000, random_state=0)
    est = gd.GeoManCER(dim=4, verbose=0, n_jobs=1).fit(sample.points)
    beyond = 50 * sample.points[:20]
    found, near = est.at(beyond), est.axes_[:20]
    for rows in (slice(0, 2), slice(2, 4)):  # on a sphere, the nearest is the point below
        assert gd.subspace_angles([found[:, rows]], [near[:, rows]]).mean() < 0.5


def test_new_points_take_the_labels_of_their_piece():
    one = gd.product_manifold("S^2 x S^2", 1600, random_state=0)
    two = gd.product_manifold("S^2 x S^2", 900, random_state=1)
    points = np.concatenate([one.points[:1500], two.points[:800] + 50.0])
    with pytest.warns(UserWarning, match="in 2 pieces"):
        est = gd.GeoManCER(dim=4, verbose=0, n_jobs=1).fit(points)
    for sample, start, shift in ((one, 1500, 0.0), (two, 800, 50.0)):
        found = np.split(est.at(sample.points[start:] + shift), 2, axis=1)
        true = [frames[start:] for frames in sample.tangents]
        assert gd.subspace_angles(found, true).mean() < 0.06


def test_axes_of_parts_are_joined_largest_factor_first_and_taken_apart_again(rng):
    dims = ((1,), (2, 1), (3,))
    bases = np.split(np.linalg.qr(rng.standard_normal((8, 8)))[0], [2, 5])
    axes = [
        np.linalg.qr(rng.standard_normal((4, len(basis), len(basis))))[0][:, : sum(own)]
        for own, basis in zip(dims, bases, strict=True)
    ]
    parts = [
        Split(own, dim, (False,) * len(dim), None, np.arange(4))
        for own, dim in zip(axes, dims, strict=True)
    ]
    joined = join_axes(parts, bases, axes)
    np.testing.assert_allclose(joined[:, :3] @ bases[2].T, axes[2], atol=1e-12)
    np.testing.assert_allclose(joined[:, 3:5] @ bases[1].T, axes[1][:, :2], atol=1e-12)
    for own, again in zip(axes, part_axes(parts, bases, joined), strict=True):
        np.testing.assert_allclose(again, own, atol=1e-12)


def test_axes_depend_neither_on_other_new_points_nor_on_what_was_kept(monkeypatch):
    sample = gd.product_manifold("S^2 x S^2", 1200, pad=4, rotate=True, random_state=0)
    est = gd.GeoManCER(dim=4, verbose=0, n_jobs=1).fit(sample.points[:1000])
    new = sample.points[1000:]
    first = est.at(new)
    again = pickle.loads(pickle.dumps(est))  # without the searches, which are made again
    np.testing.assert_array_equal(again.at(new), first)
    monkeypatch.setattr(exact_search, "CACHED_POINTS", 10)
    monkeypatch.setattr(new_points, "TARGETS", 32)
    for found in (est.at(new), again.at(new[::-1])[::-1]):
        np.testing.assert_allclose(found, first, atol=1e-10)
    np.testing.assert_allclose(est.at(new[7:8]), first[7:8], atol=1e-10)


def test_near_copies_and_copies_that_differ_in_noise_alone_have_the_axes_of_their_place(rng):
    sample = gd.product_manifold("S^2 x S^2", 900, pad=14, rotate=True, random_state=0)
    points = np.repeat(sample.points, 2, axis=0)
    points[1::2] += 1e-10 * rng.standard_normal(points[1::2].shape)
    est = gd.GeoManCER(dim=4, verbose=0, n_jobs=1).fit(points)
    assert est.n_copies_ == 900 and est.n_directions_ == 6
    np.testing.assert_array_equal(est.at(points[:60]), est.axes_[:60])
    beside = rng.standard_normal((30, 20))
    beside -= beside @ est.directions_.basis.T @ est.directions_.basis
    np.testing.assert_allclose(est.at(points[:30] + beside), est.axes_[:30], atol=1e-12)
