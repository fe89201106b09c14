"""A fitted estimator, an inspection and maps in a notebook; coordinates as frames."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import geodis as gd


@pytest.fixture(scope="module")
def points():
    return gd.product_manifold("S^2 x S^1", n=500, random_state=0).points


def test_a_fitted_estimator_shows_what_it_found(points):
    est = gd.GeoManCER(verbose=0)
    assert "sk-" in est._repr_mimebundle_()["text/html"]  # the parameters, as scikit-learn has them
    est.fit(points)
    for shown in (est._repr_mimebundle_()["text/html"], est._repr_html_()):
        assert "GeoManCER: 2 factors" in shown and "500 in 5 columns" in shown
        assert "<script" not in shown
    assert "sphere" in est.names_ and "dimension 2, sphere" in est._repr_html_()
    assert "2, of" not in est.maps_[0]._repr_html_() and "3, of 500" in est.maps_[0]._repr_html_()


def test_showing_a_fit_computes_nothing(points):
    est = gd.GeoManCER(verbose=0).fit(points)
    before = dict(est.__dict__)
    assert "maps_" in dir(est) and "product_test_" in dir(est)
    for show in (est._repr_html_, est._repr_mimebundle_, est.__repr__, est.__str__):
        assert show()
    made = ("maps", "topologies", "product test", "denoising", "holonomy")
    assert not est.has_maps and not any(map(est.fitted_.made, made))
    assert est.__dict__ == before


@pytest.mark.parametrize(("spec", "n"), [("S^2", 20), ("S^2 x S^1", 150), ("S^1", 8)])
def test_a_fit_to_few_points_can_be_looked_at(spec, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(verbose=0).fit(gd.product_manifold(spec, n, random_state=0).points)
    for name in dir(est):
        hasattr(est, name)  # raises what is no AttributeError
    inspect.getmembers(est)
    # scikit-learn's picture of a pipeline reads the fitted attributes and the names of columns.
    assert "GeoManCER" in make_pipeline(est)._repr_html_()
    assert "points" in est._repr_html_() and est._repr_mimebundle_() and str(est) and repr(est)


def test_doubts_are_shown():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(verbose=0).fit(rng.standard_normal((300, 3)) * [1, 1, 0.3])
    shown = est._repr_html_()
    assert est.uncertain_ and "uncertain" in shown and shown.count("<li>") == len(est.doubts_)


def test_an_inspection_shows_its_table(points):
    shown = gd.inspect_points(points)._repr_html_()
    assert "500 rows x 5 columns" in shown and shown.count("<tr>") == 9


def test_coordinates_come_as_frames_where_one_asks(points):
    est = gd.GeoManCER(verbose=0).set_output(transform="pandas").fit(points)
    frame = est.transform(points[:4])
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(est.get_feature_names_out())
    plain = est.set_output(transform="default").transform(points[:4])
    assert isinstance(plain, np.ndarray)
    np.testing.assert_array_equal(plain, frame.to_numpy())


def test_points_in_columns_are_asked_about():
    seen = gd.inspect_points(np.random.default_rng(0).standard_normal((4, 1000)))
    assert "4 rows of 1,000 columns: every row is a point. Are the columns" in seen.notes[0]
    assert not any("columns the points" in note for note in gd.inspect_points(np.eye(30)).notes)
