import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from geodis import neighbor_graph, product_manifold
from geodis.manifold.holonomy.connection import connection, transports_between
from tests.reference import manifold as reference


def near_frames(n, k, d, rng, spread=0.2):
    """Random frames, not far from each other, as those of neighbours are."""
    return np.linalg.qr(np.eye(d, k) + spread * rng.standard_normal((n, d, k)))[0].swapaxes(1, 2)


def random_rotations(n, k, rng):
    return np.linalg.qr(rng.standard_normal((n, k, k)))[0]


def dense(transports, graph):
    """The transports as an array of shape (n, n, k, k)."""
    rows, columns = graph.adjacency.nonzero()
    array = np.zeros((graph.n_points,) * 2 + transports.shape[1:])
    array[rows, columns] = transports
    return array


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 3))
def test_transports_equal_their_literal_twin(seed, k, codim):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((12, 2))
    frames = near_frames(12, k, k + codim, rng)
    graph = neighbor_graph(points, 3)
    expected = reference.connection(frames, graph.adjacency.toarray())
    # A small singular value s of U_i U_j^T magnifies the rounding of float32 by 1 / s.
    overlap = [frames[i] @ frames[j].T for i, j in zip(*graph.adjacency.nonzero(), strict=True)]
    smallest = np.linalg.svd(np.array(overlap), compute_uv=False).min()
    assume(smallest > 0.05)
    found = dense(connection(frames, graph), graph)
    assert_allclose(found, expected, atol=1e-5 + 1e-6 / smallest)


def test_transports_of_a_sphere_equal_their_literal_twin():
    sample = product_manifold("S^2 x S^2", 150, random_state=0)
    frames = np.concatenate(sample.tangents, axis=1)
    graph = neighbor_graph(sample.points, 8)
    found = connection(frames, graph)
    assert found.dtype == np.float32 and found.shape == (graph.adjacency.nnz, 4, 4)
    expected = reference.connection(frames, graph.adjacency.toarray())
    assert_allclose(dense(found, graph), expected, atol=1e-5)


def test_transport_back_is_the_transpose_and_all_are_orthogonal(rng):
    graph = neighbor_graph(rng.standard_normal((100, 3)), 6)
    found = dense(connection(near_frames(100, 4, 9, rng), graph), graph)
    assert_allclose(found, found.transpose(1, 0, 3, 2), atol=2e-6)
    on_edges = found[graph.adjacency.nonzero()]
    identity = np.broadcast_to(np.eye(4), on_edges.shape)
    assert_allclose(on_edges @ on_edges.swapaxes(1, 2), identity, atol=5e-6)


def test_turning_the_frames_turns_the_transports_with_them(rng):
    graph = neighbor_graph(rng.standard_normal((80, 3)), 5)
    frames, turns = near_frames(80, 3, 5, rng), random_rotations(80, 3, rng)
    i, j = graph.adjacency.nonzero()
    turned = connection(turns @ frames, graph)
    assert_allclose(
        turned, turns[i] @ connection(frames, graph) @ turns[j].swapaxes(1, 2), atol=1e-5
    )


def test_transports_do_not_depend_on_the_ambient_frame(rng):
    graph = neighbor_graph(rng.standard_normal((80, 3)), 5)
    frames, rotation = near_frames(80, 3, 5, rng), random_rotations(1, 5, rng)[0]
    assert_allclose(connection(frames @ rotation, graph), connection(frames, graph), atol=1e-5)


def test_between_frames_that_span_one_space_the_transport_is_their_change_of_basis(rng):
    frame = np.linalg.qr(rng.standard_normal((6, 3)))[0].T
    turns = random_rotations(30, 3, rng)
    graph = neighbor_graph(rng.standard_normal((30, 2)), 4)
    i, j = graph.adjacency.nonzero()
    found = connection(turns @ frame, graph)
    assert_allclose(found, turns[i] @ turns[j].swapaxes(1, 2), atol=1e-5)


@pytest.mark.parametrize("cosine", [0.03, 0.1, 0.7])
def test_twelve_steps_bring_small_singular_values_to_one(cosine):
    sine = np.sqrt(1 - cosine**2)
    one, other = np.eye(2, 4), np.array([[1, 0, 0, 0], [0, cosine, sine, 0]])
    transports = transports_between(one[None], other[None], np.array([0, 1]), np.array([0]))
    assert_allclose(transports[0], np.eye(2), atol=1e-3 if cosine == 0.03 else 1e-5)


def test_transports_between_two_sets_follow_the_rows_of_the_pattern(rng):
    to_frames, from_frames = near_frames(4, 2, 3, rng), near_frames(7, 2, 3, rng)
    indptr, indices = np.array([0, 2, 2, 3, 6]), np.array([6, 0, 5, 1, 2, 2])
    found = transports_between(to_frames, from_frames, indptr, indices)
    expected = [
        reference.polar_factor(to_frames[i] @ from_frames[j].T)
        for i, j in zip([0, 0, 2, 3, 3, 3], indices, strict=True)
    ]
    assert_allclose(found, expected, atol=1e-5)


def test_the_frames_are_left_as_they_were(rng):
    frames = near_frames(20, 2, 3, rng).astype(np.float32)
    before = frames.copy()
    connection(frames, neighbor_graph(rng.standard_normal((20, 2)), 3))
    assert_array_equal(frames, before)
