import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodis import nearest_neighbors, neighbor_graph
from geodis.base.check import InputError
from geodis.manifold.local import exact_search
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.neighbors import distinct_rows, nearest_targets, neighbors_at
from tests.conftest import sphere
from tests.reference import manifold as reference

EXACT = ("kdtree", "brute")


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("d", [1, 3, 12])
def test_neighbors_equal_their_literal_twin(method, d, rng):
    points = rng.standard_normal((60, d))
    indices, distances = reference.nearest_neighbors(points, 7)
    found = nearest_neighbors(points, 7, method=method)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("rows", [slice(None), slice(None, None, -1), slice(5, 300)])
def test_asking_in_spatial_order_finds_the_same(rows, rng, monkeypatch):
    points, rows = rng.standard_normal((700, 4)), np.arange(700)[rows]
    plain = neighbors_at(points, rows, 6)
    monkeypatch.setattr(exact_search, "CACHED_POINTS", 10)
    monkeypatch.setattr(exact_search, "BLOCK_ROWS", 100)
    assert searcher(points).order is not None
    ordered = neighbors_at(points, rows, 6)
    np.testing.assert_array_equal(ordered.indices, plain.indices)
    np.testing.assert_array_equal(ordered.distances, plain.distances)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_repeated_distances_come_sorted(method, decimals, rng):
    points = np.round(rng.standard_normal((500, 12)), decimals)
    found = nearest_neighbors(points, 40, method=method)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    if method == "brute":  # of equally near points the first comes first
        tied = np.diff(found.distances, axis=1) == 0
        assert tied.any() and (np.diff(found.indices, axis=1)[tied] > 0).all()


def test_every_distance_is_sorted_and_ties_are_in_order():
    grid = np.stack(np.meshgrid(*3 * [np.arange(5.0)]), axis=-1).reshape(-1, 3) @ np.ones((3, 12))
    grid += np.arange(12) * np.arange(125)[:, None] % 7
    rows = np.array([3, 60])
    found = nearest_targets(grid, rows, 30)
    for row, near in zip(rows, found, strict=True):
        distances = np.linalg.norm(grid - grid[row], axis=1)
        distances[row] = np.inf
        np.testing.assert_allclose(distances[near], np.sort(distances)[:30], rtol=1e-12)
        tied = np.diff(distances[near]) == 0
        assert (np.diff(near)[tied] > 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from(EXACT))
def test_neighbors_of_points_with_many_copies(seed, n_neighbors, method):
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((8, 2))
    points = places[rng.integers(0, 8, size=30)]
    n_distinct = len(np.unique(points, axis=0))
    if n_distinct <= n_neighbors:
        with pytest.raises(InputError, match=f"got {n_distinct}"):
            nearest_neighbors(points, n_neighbors, method=method)
        return
    found = nearest_neighbors(points, n_neighbors, method=method)
    indices, distances = reference.nearest_neighbors(points, n_neighbors)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    assert found.n_duplicates == 30 - n_distinct


def test_hundreds_of_identical_rows_stay_connected_to_the_rest(rng):
    points = np.concatenate([sphere(500, 2, rng), np.tile([[0.0, 0.0, 1.0]], (400, 1))])
    graph = neighbor_graph(points, 4)
    assert graph.n_pieces == 1
    assert nearest_neighbors(points, 4).distances.min() > 0


@pytest.mark.long
def test_pynndescent_finds_nearly_all_true_neighbors_and_repeats_itself(rng):
    # one test for all: pynndescent compiles for some 20 s in every process
    points = rng.standard_normal((3000, 12))
    exact = nearest_neighbors(points, 10, method="brute")
    one, two = (
        nearest_neighbors(points, 10, method="pynndescent", random_state=5, n_jobs=jobs)
        for jobs in (1, 2)
    )
    shared = [len(set(a) & set(b)) for a, b in zip(one.indices, exact.indices, strict=True)]
    assert np.mean(shared) / 10 > 0.95
    assert (np.diff(one.distances, axis=1) >= 0).all()
    np.testing.assert_array_equal(one.indices, two.indices)


def test_the_search_is_chosen_by_dimension_and_said(rng):
    assert nearest_neighbors(rng.standard_normal((50, 9)), 3).method == "kdtree"
    assert nearest_neighbors(rng.standard_normal((50, 10)), 3).method == "brute"
    assert nearest_neighbors(rng.standard_normal((50, 10)), 3, method="kdtree").method == "kdtree"


@pytest.mark.parametrize("method", EXACT)
def test_neighbors_do_not_change_far_from_the_origin(method, rng):
    points = rng.standard_normal((200, 10))
    near = nearest_neighbors(points, 5, method=method)
    far = nearest_neighbors(points + 1e6, 5, method=method)
    assert (near.indices == far.indices).mean() > 0.99


def test_distinct_rows_on_a_grid():
    grid = np.stack(np.meshgrid([0.0, 1.0], [0.0, -0.0, 2.0]), axis=-1).reshape(-1, 2)
    rows, first, place = distinct_rows(grid)
    assert len(rows) == 4  # minus zero is zero
    np.testing.assert_array_equal(rows[place], grid + 0.0)
    np.testing.assert_array_equal(grid[first], rows)


@pytest.mark.parametrize("d", [2, 12])  # the tree, and blocked search
def test_a_prepared_search_finds_the_nearest_targets_and_their_distances(d, rng):
    targets, queries = rng.standard_normal((80, d)), rng.standard_normal((9, d))
    indices, distances = searcher(targets)(queries, 3)
    expected = np.linalg.norm(queries[:, None] - targets, axis=2)
    np.testing.assert_array_equal(indices, np.argsort(expected, axis=1)[:, :3])
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :3], rtol=1e-12)
