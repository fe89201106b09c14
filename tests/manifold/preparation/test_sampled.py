import warnings

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.manifold.preparation import rows as sampled
from geodis.manifold.preparation.rows import sampled_points
from tests.conftest import warped


@pytest.fixture(scope="module")
def points():
    return gd.product_manifold("S^2 x S^1", 3000, random_state=0).points


def fitted(X, **options):
    return gd.GeoManCER(3, verbose=0, n_jobs=1).fit(X, **options)


def test_a_fit_of_a_sample_is_the_fit_of_its_rows(points, tmp_path):
    np.save(tmp_path / "points.npy", points)
    est = fitted(np.load(tmp_path / "points.npy", mmap_mode="r"), sample=800)
    assert len(est.sample_rows_) == len(est.axes_) == 800
    np.testing.assert_array_equal(est.axes_, fitted(points[est.sample_rows_]).axes_)
    assert fitted(points[:500]).sample_rows_ is None
    assert est.n_features_in_ == 5


def test_a_sample_of_all_rows_is_all_rows(points):
    assert fitted(points[:600], sample=10_000).sample_rows_.tolist() == list(range(600))


def test_rows_without_numbers_are_left_out_with_a_word(points):
    holes = points[:1000].copy()
    holes[::100] = np.nan
    with pytest.warns(UserWarning, match="10 of 1,000 sampled rows contain NaN or infinity"):
        est = fitted(holes, sample=1000)
    assert len(est.axes_) == 990 and 100 not in est.sample_rows_
    with pytest.raises(InputError, match=r"X must have finite rows; got NaN or infinity in 5 of 5"):
        sampled_points(np.full((5, 2), np.nan), 5, np.random.default_rng(0))


def test_a_graph_is_of_all_rows(points):
    with pytest.raises(InputError, match=r"A graph has a row for every point, and a sample does"):
        fitted(points, sample=500, graph=np.eye(3000))


def test_published_tangents_bear_a_small_sample(points, monkeypatch):
    monkeypatch.setattr(sampled, "MOST_WHOLE", 700)
    est = gd.GeoManCER(3, n_factors=2, tangents="pca", verbose=0, n_jobs=1)
    with pytest.raises(InputError, match=r"a sample must have at most 700; got 800: use"):
        est.fit(points, sample=800)
    with pytest.warns(UserWarning, match="solved for all 700 rows of the sample"):
        assert len(est.fit(points, sample=700).axes_) == 700


def test_an_eigenproblem_on_all_of_a_sample_is_said(monkeypatch):
    points, _ = warped("S^2 x S^2", 1800, 0.1)
    monkeypatch.setattr(sampled, "MOST_WHOLE", 5000)
    with pytest.warns(UserWarning, match=r"solved for all 1,500 rows of the sample"):
        gd.GeoManCER(4, n_factors=2, verbose=0, n_jobs=1).fit(points, sample=1500)


def test_a_wrong_sample_is_refused(points):
    with pytest.raises(InputError, match=r"sample must be an integer; got 0.1"):
        fitted(points, sample=0.1)


def test_more_rows_can_be_asked_for(points):
    taken = sampled_points(points, 10, np.random.default_rng(0), more=np.array([5, 6, 7]))
    assert {5, 6, 7} <= set(taken.rows.tolist()) and len(taken.rows) <= 13
    np.testing.assert_array_equal(taken.points, points[taken.rows])


def test_groups_and_times_of_a_sample_are_those_of_its_rows():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((900, 3)), axis=0)
    times = np.arange(900.0)
    options = {"dim": 1, "verbose": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(**options).fit(X, times=times, sample=600)
        rows = est.sample_rows_
        alone = gd.GeoManCER(**options).fit(X[rows], times=times[rows])
    np.testing.assert_array_equal(est.axes_, alone.axes_)
    with pytest.raises(InputError, match="one value for every row"):
        gd.GeoManCER(**options).fit(X, times=times[:5], sample=600)
