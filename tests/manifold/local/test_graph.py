import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from geodis import NeighborGraph, neighbor_graph
from geodis.base.check import InputError
from tests.reference import manifold as reference


def test_graph_equals_its_literal_twin(rng):
    points = rng.standard_normal((50, 3))
    edges = reference.adjacency(reference.nearest_neighbors(points, 2)[0], 2)
    graph = neighbor_graph(points, 2)
    np.testing.assert_array_equal(graph.adjacency.toarray(), edges)
    assert graph.n_pieces == reference.pieces(edges)
    assert graph.n_edges == edges.sum() / 2
    np.testing.assert_array_equal(graph.degrees, edges.sum(axis=1))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_graph_is_symmetric_binary_and_without_loops(seed, n_neighbors):
    points = np.random.default_rng(seed).integers(0, 6, size=(40, 2)).astype(float)
    adjacency = neighbor_graph(points, n_neighbors).adjacency
    assert (adjacency != adjacency.T).nnz == 0
    assert set(adjacency.data) == {1.0}
    assert adjacency.diagonal().sum() == 0
    assert adjacency.has_sorted_indices
    assert np.diff(adjacency.indptr).min() >= n_neighbors


def test_pieces_of_two_far_blobs(rng):
    points = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(100, 1, (20, 2))])
    graph = neighbor_graph(points, 5)
    assert graph.n_pieces == 2
    assert sorted(np.bincount(graph.piece)) == [20, 30]
    assert "2 pieces" in str(graph)


@pytest.mark.parametrize("kind", ["dense", "sparse", "networkx", "ours"])
def test_a_given_graph_becomes_symmetric_and_binary(kind):
    cycle = networkx.cycle_graph(6)
    graph = {
        "dense": np.triu(networkx.to_numpy_array(cycle)) * 3.0 + np.eye(6),
        "sparse": sparse.csr_matrix(networkx.to_numpy_array(cycle) * 0.5),
        "networkx": cycle,
        "ours": neighbor_graph(graph=cycle),
    }[kind]
    built = neighbor_graph(np.zeros((6, 2)), graph=graph)
    assert isinstance(built, NeighborGraph)
    np.testing.assert_array_equal(built.adjacency.toarray(), networkx.to_numpy_array(cycle))
    assert built.method == "given"


def test_precomputed_distances_give_the_graph_of_the_points(rng):
    points = rng.standard_normal((40, 3))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    from_points, from_distances = (
        neighbor_graph(points, 4),
        neighbor_graph(distances=distances, n_neighbors=4),
    )
    np.testing.assert_array_equal(
        from_points.adjacency.toarray(), from_distances.adjacency.toarray()
    )
    assert from_distances.method == "precomputed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "points, a graph or distances; got none"),
        ({"points": np.zeros(3)}, r"shape \(n, d\)"),
        ({"points": np.eye(4), "n_neighbors": 4}, "needs at least 5 distinct points; got 4"),
        ({"points": np.eye(4), "n_neighbors": 0}, "n_neighbors must be at least 1; got 0"),
        ({"points": np.eye(4), "n_neighbors": 2.0}, "must be an integer; got 2.0"),
        ({"points": np.eye(4), "n_neighbors": 1, "method": "ball"}, "one of 'auto', 'kdtree'"),
        ({"points": [[np.nan], [1.0]]}, "NaN in 1 and infinity in 0 entries"),
        ({"graph": np.ones((2, 3))}, r"graph must have shape \(n, n\); got shape \(2, 3\)"),
        ({"graph": np.eye(3)}, "3 of 3 have none"),
        ({"graph": np.full((2, 2), np.nan)}, "graph must be finite"),
        ({"points": np.zeros((3, 1)), "graph": np.ones((2, 2))}, "each of the 3 points; got 2"),
        ({"distances": np.ones((3, 2))}, r"distances must have shape \(n, n\)"),
        ({"distances": np.ones((3, 3))}, "zero on the diagonal"),
        ({"distances": [[0, 1], [2, 0]]}, "symmetric"),
        ({"distances": np.zeros((3, 3)), "n_neighbors": 3}, "more than that many points; got 3"),
        ({"points": np.eye(2), "distances": np.zeros((3, 3))}, "each of the 2 points; got 3"),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        neighbor_graph(**arguments)


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_those_of_scipy(seed):
    links = np.triu(np.random.default_rng(seed).uniform(size=(60, 60)) < 0.02, 1)
    links |= links.T
    inside = links.any(axis=1)
    links = links[np.ix_(inside, inside)]
    count, label = connected_components(links, directed=False)
    graph = neighbor_graph(graph=links.astype(float))
    assert graph.n_pieces == count > 1
    np.testing.assert_array_equal(graph.piece, label)
