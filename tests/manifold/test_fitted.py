"""A fit is an object that does not change, and what is made of it is made once."""

import dataclasses
import pickle

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.atlas.make_atlas import atlas_of
from geodis.manifold.confidence.product_test import product_test_of
from geodis.manifold.fit import fit_rows
from geodis.manifold.maps.maps_of_fit import coordinates_at, maps_of, topologies_of
from geodis.manifold.maps.walks_of_fit import walk_in_factor
from geodis.manifold.out_of_sample import axes_of_fit
from geodis.manifold.preparation.rows import Rows
from geodis.manifold.split_result import Settings


@pytest.fixture(scope="module")
def est():
    points = gd.product_manifold("S^2 x S^1", n=600, random_state=0).points
    return gd.GeoManCER(verbose=0, n_jobs=1).fit(points)


def test_a_fit_does_not_change(est):
    with pytest.raises(dataclasses.FrozenInstanceError):
        est.fitted_.dim = 4


def test_questions_take_a_fit_and_no_estimator(est):
    fit = fit_rows(Rows(est.points_), Settings())
    new = est.points_[:5] + 0.01
    np.testing.assert_array_equal(fit.axes, est.axes_)
    np.testing.assert_array_equal(axes_of_fit(fit, new), est.at(new))
    np.testing.assert_array_equal(coordinates_at(fit, new), est.transform(new))
    assert [one.name for one in topologies_of(fit)] == list(est.names_)
    walk, again = walk_in_factor(fit, 3, 1, length=1.0), est.walk(3, 1, length=1.0)
    np.testing.assert_array_equal(walk.points, again.points)
    assert product_test_of(fit).is_product and atlas_of(fit).factor_dims == (2, 1)


def test_what_is_made_of_a_fit_is_made_once(est):
    fit = dataclasses.replace(est.fitted_)
    assert fit.made("maps") is None
    assert maps_of(fit) is maps_of(fit) and fit.made("maps").maps is maps_of(fit)
    assert dataclasses.replace(fit).made("maps") is None


def test_pickles_keep_maps_and_leave_searches_out(est):
    new = est.points_[:3] + 0.01
    before, where = est.coordinates(0), est.transform(new)
    again = pickle.loads(pickle.dumps(est))
    assert again.has_maps and "_searches" not in vars(again.fitted_)
    np.testing.assert_array_equal(again.coordinates(0), before)
    np.testing.assert_array_equal(again.transform(new), where)


def test_doubts_of_what_was_made_join_those_of_the_fit(est):
    class Found:
        doubts = ("it was cold",)

    fit = dataclasses.replace(est.fitted_)
    before = fit.all_doubts
    fit.once("weather", Found)
    assert fit.all_doubts == (*before, "it was cold") and fit.uncertain
    assert fit.doubts == before


def test_nothing_is_there_before_a_fit():
    est = gd.GeoManCER()
    for name in ("dim_", "axes_", "maps_", "doubts_", "fitted_"):
        assert not hasattr(est, name)
        with pytest.raises(AttributeError, match="not fitted yet: call fit first"):
            getattr(est, name)
