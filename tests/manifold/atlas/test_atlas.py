import pickle
import warnings

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.base.safetensors_files import write_arrays
from geodis.manifold import Atlas
from geodis.manifold.atlas.charts import BentSheet, FlatSheet
from tests.conftest import warped


def fitted(points, dim, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return gd.GeoManCER(dim=dim, verbose=0, n_jobs=1, **options).fit(points)


def errors(est, axes, tangents):
    bounds = np.cumsum(est.factor_dims_)[:-1]
    return [gd.subspace_angles(np.split(own, bounds, axis=1), tangents).mean() for own in axes]


def differ(est, atlas, points):
    """How far coordinates are from those of `transform`, by their spread."""
    slow, quick = est.transform(points), atlas.transform(points)
    return np.sqrt(((slow - quick) ** 2).mean()) / slow.std()


@pytest.fixture(scope="module")
def spheres():
    sample = gd.product_manifold("S^2 x S^2", 1500, random_state=0, rotate=True, pad=3)
    est = fitted(sample.points[:1200], 4)
    return est, est.atlas(), sample.points[1200:], [own[1200:] for own in sample.tangents]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("S^2 x S^2", {}),
        ("S^2 x S^2", {"noise": 0.03, "rotate": True, "pad": 4}),
        ("S^2 x SO(3)", {}),
        ("S^2 x S^1", {}),
        ("S^2", {}),
        ("ellipsoid(1, 1.5, 2) x S^1", {}),
    ],
)
def test_an_atlas_is_as_accurate_as_the_fit(spec, options, seed):
    sample = gd.product_manifold(spec, 1700, random_state=seed, **options)
    points, new = sample.points[:1300], sample.points[1300:]
    est = fitted(points, sample.dim)
    atlas = est.atlas()
    slow, quick = errors(
        est, (est.at(new), atlas.axes(new)), [own[1300:] for own in sample.tangents]
    )
    assert quick < 1.5 * slow
    assert differ(est, atlas, new) < 0.04


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_coordinates_are_as_near_the_truth_as_those_of_the_fit(noise):
    true = gd.product_manifold("S^2 x S^2", 1700, random_state=0).points
    points = true + noise * np.random.default_rng(1).standard_normal(true.shape)
    est = fitted(points[:1300], 4)
    off = []
    for told in (est.transform(points[1300:]), est.atlas().transform(points[1300:])):
        ends = told - told.mean(axis=0), true[1300:] - true[1300:].mean(axis=0)
        left = ends[1] - ends[0] @ np.linalg.lstsq(*ends)[0]
        off.append(np.sqrt((left**2).mean()))
    assert off[1] < 1.05 * off[0]


def curves(n, rng):
    """Three numbers, each along a curve of its own, and the directions of each."""
    u = rng.uniform(-1, 1, (n, 3)) * [1.0, 0.8, 1.2]
    points = np.concatenate([[np.sin(u), np.cos(u)]]).transpose(1, 2, 0).reshape(n, 6)
    tangents = []
    for j in range(3):
        own = np.zeros((n, 1, 6))
        own[:, 0, 2 * j], own[:, 0, 2 * j + 1] = np.cos(u[:, j]), -np.sin(u[:, j])
        tangents.append(own)
    return points, tangents


def test_flat_factors_with_subspaces_of_their_own(rng):
    points, tangents = curves(1800, rng)
    est = fitted(points[:1300], 3)
    assert est.flat_.all() and est.factor_dims_.tolist() == [1, 1, 1]
    atlas, new = est.atlas(), points[1300:]
    slow, quick = errors(est, (est.at(new), atlas.axes(new)), [own[1300:] for own in tangents])
    assert quick < 1.5 * slow
    assert all(isinstance(sheet, FlatSheet) for sheet in atlas.pieces[0].sheets)
    assert differ(est, atlas, new) < 0.005


def test_flat_factors_that_are_mixtures_of_the_parts(rng):
    """Where independence turned them, each part still has a chart, and one has the coordinates."""
    sample = gd.product_manifold("S^2 x S^1 x S^1(2)", 2000, random_state=0)
    est = fitted(sample.points[:1500], 4)
    atlas, new = est.atlas(), sample.points[1500:]
    charts = atlas.pieces[0].charts
    assert sum(chart.mixing.any() for chart in charts) >= 2
    together = sum(chart.mixing @ chart.mixing.T for chart in charts)
    np.testing.assert_allclose(together, np.eye(4), atol=1e-6)
    slow, quick = errors(
        est, (est.at(new), atlas.axes(new)), [own[1500:] for own in sample.tangents]
    )
    assert quick < 1.5 * slow
    assert differ(est, atlas, new) < 0.02


@pytest.mark.parametrize("refinements", [0, 2])
def test_factors_that_share_the_ambient_space(refinements):
    points, tangents = warped("S^2 x S^2", 3000, 0.1)
    est = fitted(points[:2500], 4, refinements=refinements)
    atlas, new = est.atlas(), points[2500:]
    assert len(atlas.pieces[0].charts) == 1
    slow, quick = errors(est, (est.at(new), atlas.axes(new)), [own[2500:] for own in tangents])
    assert quick < 1.2 * slow < 0.1
    assert differ(est, atlas, new) < 0.02


def test_every_piece_has_its_charts():
    sample = gd.product_manifold("S^2 x S^2", 2800, random_state=0)
    points = sample.points.copy()
    points[::3] += 20
    est = fitted(points[:2400], 4)
    atlas, new = est.atlas(), points[2400:]
    assert len(atlas.pieces) == 2 and not len(atlas.lost)
    slow, quick = errors(
        est, (est.at(new), atlas.axes(new)), [own[2400:] for own in sample.tangents]
    )
    assert quick < 1.5 * slow
    assert differ(est, atlas, new) < 0.02


def test_a_flat_factor_has_coordinates_in_every_piece():
    sample = gd.product_manifold("S^2 x S^1", 2400, random_state=0)
    points = sample.points.copy()
    points[::3] += 20
    est = fitted(points[:2000], 3)
    atlas, new = est.atlas(), points[2000:]
    assert len(atlas.pieces) == 2
    # None in the other piece.
    np.testing.assert_allclose(atlas.axes(new[:1]), atlas.axes(new)[:1], atol=1e-12)
    slow, quick = errors(
        est, (est.at(new), atlas.axes(new)), [own[2000:] for own in sample.tangents]
    )
    assert quick < 1.5 * slow
    assert differ(est, atlas, new) < 0.02


def test_beside_points_without_axes_nothing_is_said():
    """The second piece is no product: near it all is outside, and counted."""
    sample = gd.product_manifold("S^2 x S^1", 1200, random_state=0)
    other = gd.product_manifold("S^3", 500, random_state=1, pad=1).points + 20
    est = fitted(np.vstack([sample.points[:1000], other[:400]]), 3)
    atlas = est.atlas()
    assert len(atlas.lost) == 400 and len(atlas.pieces) == 1
    found = atlas.at(np.vstack([sample.points[1000:], other[400:]]))
    assert not found.outside[:200].any() and found.outside[200:].all()
    assert np.isnan(found.coordinates[200:]).all() and np.isfinite(found.axes).all()
    assert (found.distances[200:] < 1).all()


def test_fitted_points_keep_their_axes_and_their_places(spheres):
    est, atlas, _, _ = spheres
    found = atlas.at(est.points_[:100])
    np.testing.assert_allclose(found.axes, est.axes_[:100], atol=1e-6)
    np.testing.assert_allclose(found.distances, 0, atol=1e-9)
    own = est.transform(est.points_[:100])
    assert np.sqrt(((found.coordinates - own) ** 2).mean()) < 0.01
    assert all(isinstance(sheet, BentSheet) for sheet in atlas.pieces[0].sheets)


def test_axes_are_orthonormal_in_every_form(spheres):
    _, atlas, new, _ = spheres
    whole = atlas.at(new)
    gram = whole.axes @ np.swapaxes(whole.axes, 1, 2)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(4), gram.shape), atol=1e-6)
    small = atlas.at(new.astype(np.float32), reduced=True, dtype=np.float32)
    assert small.axes.dtype == small.coordinates.dtype == np.float32
    assert small.axes.shape == (300, 4, 6) and whole.axes.shape == (300, 4, 9)
    np.testing.assert_allclose(small.axes @ atlas.basis, whole.axes, atol=1e-5)
    np.testing.assert_array_equal(atlas.at(new, n_jobs=2).axes, whole.axes)


def test_points_outside_are_counted_and_named(spheres):
    est, atlas, new, _ = spheres
    mixed = new[:20].copy()
    mixed[3] *= 4
    mixed[7] += 5.0  # at right angles to all that varies, too
    found = atlas.at(mixed)
    assert np.flatnonzero(found.outside).tolist() == [3, 7]
    np.testing.assert_array_equal(np.isnan(found.coordinates).any(axis=1), found.outside)
    with pytest.warns(UserWarning, match=r"2 of 20 points lie outside .* \(rows 3, 7, up to"):
        told = atlas.transform(mixed)
    with pytest.warns(UserWarning, match="2 of 20 points lie beyond"):
        np.testing.assert_array_equal(np.isnan(told), np.isnan(est.transform(mixed)))
    exact = np.sqrt(((mixed[:, None] - est.points_) ** 2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose(found.distances, exact, rtol=1e-9, atol=1e-9)


def test_off_the_directions_that_vary_is_outside(spheres):
    """The columns that were added do not vary: a point there projects to a good one."""
    _est, atlas, new, _ = spheres
    off = np.linalg.svd(atlas.basis)[2][-1]
    found = atlas.at(new[:5] + 0.5 * off)
    assert found.outside.all()
    assert (found.distances > 0.5).all()
    assert not atlas.at(new[:5]).outside.any()


def test_a_file_holds_all_of_it(spheres, tmp_path):
    _, atlas, new, _ = spheres
    for name in ("one", "two"):
        atlas.save(tmp_path / f"{name}.safetensors")
    again = Atlas.load(tmp_path / "one.safetensors")
    first, second = atlas.at(new), again.at(new)
    for name in ("axes", "coordinates", "distances", "outside"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert str(again) == str(atlas)
    assert again.get_feature_names_out().tolist()[:4] == [
        "factor0_x", "factor0_y", "factor0_z", "factor1_x",
    ]  # fmt: skip
    bytes_of = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("one", "two")]
    assert bytes_of[0] == bytes_of[1]
    arrays = gd.load_array(f"{tmp_path / 'one.safetensors'}:places")
    np.testing.assert_array_equal(arrays, atlas.places)


def test_an_atlas_can_be_sent_after_it_was_used(spheres):
    _, atlas, new, _ = spheres
    wanted = atlas.axes(new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(atlas)).axes(new), wanted)


def test_flat_coordinates_and_pieces_are_in_the_file(tmp_path):
    sample = gd.product_manifold("S^2 x S^1", 700, random_state=0)
    atlas = fitted(sample.points[:600], 3).atlas()
    atlas.save(tmp_path / "atlas.safetensors")
    again = Atlas.load(tmp_path / "atlas.safetensors")
    new = sample.points[600:]
    np.testing.assert_array_equal(again.transform(new), atlas.transform(new))
    assert again.flat == (False, True) and again.factor_dims == (2, 1)


def test_what_cannot_be_loaded_is_said(spheres, tmp_path):
    _, atlas, _, _ = spheres
    with pytest.raises(InputError, match=r"ends in \.safetensors; got .*atlas\.npz"):
        atlas.save(tmp_path / "atlas.npz")
    other = write_arrays(tmp_path / "other.safetensors", {"a": np.zeros(2)})
    with pytest.raises(InputError, match="must hold an atlas; got a file of something else"):
        Atlas.load(other)
    newer = {"kind": "geodis atlas", "version": 99}
    write_arrays(tmp_path / "newer.safetensors", {"a": np.zeros(2)}, newer)
    with pytest.raises(InputError, match="of version 2; got 99"):
        Atlas.load(tmp_path / "newer.safetensors")
    torn = {"kind": "geodis atlas", "version": 2, "pieces": []}
    write_arrays(tmp_path / "torn.safetensors", {"a": np.zeros(2)}, torn)
    with pytest.raises(InputError, match=r"must say an object as 'atlas'; got nothing"):
        Atlas.load(tmp_path / "torn.safetensors")
    atlas.save(tmp_path / "cut.safetensors")
    content = (tmp_path / "cut.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[:-100])
    with pytest.raises(InputError, match="cannot be read as"):
        Atlas.load(tmp_path / "cut.safetensors")


def test_points_that_do_not_fit_are_refused(spheres):
    est, atlas, _, _ = spheres
    with pytest.raises(InputError, match="X must have 9 columns as in the fit; got 2"):
        atlas.at(np.zeros((3, 2)))
    with pytest.raises(InputError, match="dtype must be one of 'float32', 'float64'; got 'int64'"):
        atlas.at(np.zeros((3, 9)), dtype=int)
    plain = est.atlas(coordinates=False)
    assert plain.at(np.zeros((1, 9))).coordinates.shape == (1, 0)
    with pytest.raises(InputError, match="An atlas needs maps for coordinates"):
        plain.transform(np.zeros((3, 9)))


def test_repeated_and_gridded_points_are_one_place_each():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.hstack([np.repeat(grid, 24, axis=0), np.tile(circle, (81, 1))])
    est = fitted(np.vstack([points, points[:50]]), 3)
    atlas = est.atlas(coordinates=False)
    assert len(atlas.places) == len(points)
    between = points[200:260] + 0.01
    slow, quick = est.at(between), atlas.axes(between)
    for a, b in zip(np.swapaxes(slow, 0, 1), np.swapaxes(quick, 0, 1), strict=True):
        assert (abs((a * b).sum(axis=1)) > 0.99).all()
