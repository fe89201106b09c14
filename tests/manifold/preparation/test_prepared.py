import numpy as np
import pytest
from sklearn.datasets import load_digits

import geodis as gd
from geodis.manifold.fit_doubts import doubts_of_dimension, doubts_of_rows
from geodis.manifold.local.graph import graph_among, neighbor_graph
from geodis.manifold.preparation.prepared import graph_of, prepared
from geodis.manifold.split_result import Task
from tests.conftest import sphere


def spheres(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.hstack([sphere(n, 2, rng), sphere(n, 2, rng)])


def test_good_points_are_left_as_they_are():
    points = spheres(500)
    ready = prepared(points, Task())
    np.testing.assert_array_equal(ready.points, points)
    assert not ready.outliers.any() and ready.n_copies == 0 and ready.inside is ready.points
    own = graph_of(ready, 4, Task(), None)
    assert (own.adjacency != neighbor_graph(points, 8).adjacency).nnz == 0


def test_a_graph_that_was_given_leaves_rows_as_they_are():
    points = np.repeat(spheres(60), 2, axis=0)
    points[::2] += 1e-9
    ready = prepared(points, Task(), graph_given=True)
    assert ready.near is None and ready.n_copies == 0
    np.testing.assert_array_equal(ready.points, points)


def test_directions_are_those_of_the_points_without_outliers():
    rng = np.random.default_rng(0)
    points = np.hstack([spheres(1000), np.zeros((1000, 6))])
    points[:10] += 50 * rng.standard_normal((10, 12))
    ready = prepared(points, Task())
    assert np.flatnonzero(ready.outliers).tolist() == list(range(10))
    assert ready.directions.n_directions == 6
    graph = graph_of(ready, 4, Task(), None)
    assert graph.n_points == 1000 and (graph.degrees[:10] == 0).all()
    assert len(np.unique(graph.piece[10:])) == 1


def test_a_graph_of_some_points_keeps_its_edges():
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(40, 25, replace=False))
    inner = neighbor_graph(rng.standard_normal((25, 2)), 4)
    outer = graph_among(inner, rows, 40)
    assert outer.n_edges == inner.n_edges
    assert (outer.adjacency[rows][:, rows] != inner.adjacency).nnz == 0
    assert outer.n_pieces == inner.n_pieces + 15


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "points",
    [
        np.round(np.hstack([spheres(800), spheres(800)]), 1),
        np.round(np.hstack([spheres(800), spheres(800)]), 2),
        np.random.default_rng(0).poisson(3.0, (400, 12)),
        load_digits().data[:600],
        np.sqrt(load_digits().data[:600]),
        np.repeat(np.round(np.random.default_rng(0).normal(size=(60, 11)), 1), 5, axis=0),
    ],
    ids=["one decimal", "two decimals", "counts", "digits", "roots of digits", "repeated"],
)
def test_rounded_data_are_fitted(points):
    est = gd.GeoManCER(verbose=0, n_jobs=1).fit(points)
    assert est.factor_dims_.sum() == est.dim_
    assert est.n_factors_ == 1 or est.uncertain_ or est.dim_ == 4


def test_every_doubt_says_what_to_do():
    est = gd.GeoManCER(verbose=0, n_jobs=1, n_factors=3).fit(spheres(800))
    assert est.uncertain_ and len(est.doubts_) == len(set(est.doubts_))
    assert all(":" in doubt for doubt in est.doubts_)
    assert all(doubt in est.summary() for doubt in est.doubts_)


@pytest.mark.parametrize(("dim", "doubted"), [(3, True), (4, False), (5, True)])
def test_a_dimension_that_was_given_is_compared_with_the_estimate(dim, doubted):
    points = spheres(1500)
    said = doubts_of_dimension(dim, gd.intrinsic_dimension(points), given=True)
    assert bool(said) == doubted
    assert all(one.code == "given-dimension" and one.evidence["dim"] == dim for one in said)


def test_rows_without_an_answer_are_counted():
    graph = neighbor_graph(graph=np.kron(np.eye(2), np.ones((3, 3))))
    axes = np.zeros((6, 1, 2))
    axes[3:] = np.nan
    (said,) = doubts_of_rows(graph, np.zeros(6, bool), axes)
    assert said.code == "pieces" and "in 2 pieces (of 3, 3 points)" in said
    assert "3 points are in pieces that do not split" in said
    outliers = np.arange(6) == 5
    (first, *_) = doubts_of_rows(graph, outliers, axes)
    assert first.code == "outliers" and first.evidence == {"count": 1, "n": 6}
    whole, none = neighbor_graph(graph=np.ones((6, 6))), np.zeros(6, bool)
    assert [one.code for one in doubts_of_rows(whole, none, axes)] == ["without-axes"]
    assert doubts_of_rows(whole, none, np.zeros((6, 1, 2))) == ()
