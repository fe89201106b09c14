import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from geodis import neighbor_graph, product_manifold
from geodis.base.check import InputError
from geodis.manifold.holonomy.connection import connection
from geodis.manifold.holonomy.laplacian import (
    ConnectionLaplacian,
    explicit_laplacian,
    n_coordinates,
    symmetric_basis,
    traceless_basis,
    unvec_symmetric,
    vec_symmetric,
)
from tests.reference import manifold as reference

BASES = {
    "full": lambda k: np.eye(k * k),
    "symmetric": symmetric_basis,
    "traceless": lambda k: symmetric_basis(k) @ traceless_basis(k),
}


def random_problem(k, seed, n=9):
    """A small connected graph with random orthogonal transports, as a list and as (n, n, k, k)."""
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.uniform(size=(n, n)) < 0.3, 1) + np.eye(n, k=1)
    graph = neighbor_graph(graph=edges)
    turns = np.linalg.qr(rng.standard_normal((n, n, k, k)))[0].astype(np.float32)
    rows, columns = graph.adjacency.nonzero()
    lower = rows > columns
    transports = np.where(
        lower[:, None, None], turns[rows, columns], turns[columns, rows].swapaxes(1, 2)
    )
    dense = np.zeros((n, n, k, k))
    dense[rows, columns] = transports
    return graph, transports, dense


def random_fields(n, k, width, rng):
    """Traceless symmetric fields, shape (n, k (k + 1) / 2, width)."""
    coordinates = rng.standard_normal((n, width, n_coordinates(k)))
    projector = traceless_basis(k) @ traceless_basis(k).T
    return np.ascontiguousarray((coordinates @ projector).swapaxes(1, 2), dtype=np.float32)


def applied(matrix, fields):
    """A matrix on stacked coordinates, applied to fields of shape (n, b, R)."""
    return (matrix @ fields.reshape(-1, fields.shape[2])).reshape(fields.shape)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from(["full", "symmetric", "traceless"]),
)
def test_explicit_blocks_equal_their_literal_twin(k, seed, normalized, coordinates):
    if k == 1 and coordinates == "traceless":
        return
    graph, transports, dense = random_problem(k, seed)
    expected = reference.connection_laplacian(
        graph.adjacency.toarray(), dense, BASES[coordinates](k), normalized
    )
    found = explicit_laplacian(graph, transports, coordinates=coordinates, normalized=normalized)
    assert found.blocksize == (BASES[coordinates](k).shape[1],) * 2
    assert_allclose(found.toarray(), expected, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_matrix_free_equals_the_literal_twin(k, seed, width, normalized):
    graph, transports, dense = random_problem(k, seed)
    fields = random_fields(graph.n_points, k, width, np.random.default_rng(seed))
    matrix = reference.connection_laplacian(
        graph.adjacency.toarray(), dense, symmetric_basis(k), normalized
    )
    found = ConnectionLaplacian(graph, transports, normalized).apply(fields)
    assert found.dtype == np.float32
    assert_allclose(found, applied(matrix, fields), atol=2e-5)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("spec", "width"), [("S^2 x S^2", 4), ("S^3 x S^2", 8), ("S^2", 3)])
def test_matrix_free_equals_explicit_blocks_on_sampled_manifolds(spec, width, normalized, rng):
    sample = product_manifold(spec, 500, random_state=0)
    graph = neighbor_graph(sample.points, 2 * sample.dim)
    transports = connection(np.concatenate(sample.tangents, axis=1), graph)
    fields = random_fields(500, sample.dim, width, rng)
    found = ConnectionLaplacian(graph, transports, normalized).apply(fields)

    symmetric = explicit_laplacian(
        graph, transports, coordinates="symmetric", normalized=normalized
    )
    assert_allclose(found, applied(symmetric, fields), atol=2e-4)
    basis = traceless_basis(sample.dim)
    traceless = explicit_laplacian(graph, transports, normalized=normalized)
    expected = basis @ applied(traceless, basis.T @ fields)
    assert_allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize("k", range(2, 5))
@pytest.mark.parametrize("normalized", [True, False])
def test_restricted_to_symmetric_matrices_the_full_form_is_the_symmetric_one(k, normalized):
    graph, transports, _ = random_problem(k, seed=k)
    full, symmetric, traceless = (
        explicit_laplacian(graph, transports, coordinates=name, normalized=normalized).toarray()
        for name in BASES
    )
    pi_sym = np.kron(np.eye(graph.n_points), symmetric_basis(k))
    pi_tr = np.kron(np.eye(graph.n_points), traceless_basis(k))
    assert_allclose(pi_sym.T @ full @ pi_sym, symmetric, atol=1e-6)
    assert_allclose(pi_tr.T @ symmetric @ pi_tr, traceless, atol=1e-6)
    # Symmetric fields stay symmetric and traceless ones traceless: nothing leaves the subspaces.
    assert_allclose(full @ pi_sym, pi_sym @ symmetric, atol=1e-6)
    assert_allclose(symmetric @ pi_tr, pi_tr @ traceless, atol=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_the_normalised_spectrum_lies_between_zero_and_two(k, seed):
    graph, transports, _ = random_problem(k, seed)
    for name in BASES:
        matrix = explicit_laplacian(graph, transports, coordinates=name).toarray()
        assert_allclose(matrix, matrix.T, atol=1e-6)
        values = np.linalg.eigvalsh(matrix)
        assert values[0] > -1e-6 and values[-1] < 2 + 1e-6
        published = explicit_laplacian(graph, transports, coordinates=name, normalized=False)
        assert np.linalg.eigvalsh(published.toarray())[0] > -1e-5


def test_on_a_bipartite_graph_the_spectrum_is_symmetric_about_one(rng):
    path = neighbor_graph(graph=np.eye(8, k=1))
    transports = connection(np.linalg.qr(rng.standard_normal((8, 3, 3)))[0], path)
    values = np.linalg.eigvalsh(explicit_laplacian(path, transports).toarray())
    assert_allclose(values, 2 - values[::-1], atol=1e-5)
    # On a tree there is no holonomy: every constant matrix is parallel.
    assert_allclose(values[:5], 0, atol=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
def test_the_operator_is_symmetric_and_positive(normalized, rng):
    graph, transports, _ = random_problem(3, seed=5, n=40)
    laplacian = ConnectionLaplacian(graph, transports, normalized)
    one, two = random_fields(40, 3, 1, rng), random_fields(40, 3, 1, rng)
    assert_allclose(
        np.vdot(one, laplacian.apply(two)), np.vdot(laplacian.apply(one), two), rtol=1e-3
    )
    fields = random_fields(40, 3, 16, rng)
    assert ((fields * laplacian.apply(fields)).sum(axis=(0, 1)) > 0).all()


def test_the_trace_is_taken_out(rng):
    graph, transports, _ = random_problem(4, seed=1, n=30)
    laplacian = ConnectionLaplacian(graph, transports)
    fields = rng.standard_normal((30, 10, 3)).astype(np.float32)
    image = unvec_symmetric(laplacian.apply(fields).swapaxes(1, 2), 4)
    assert_allclose(np.trace(image, axis1=2, axis2=3), 0, atol=2e-6)
    identity = np.tile(vec_symmetric(np.eye(4))[None, :, None], (30, 1, 1)).astype(np.float32)
    assert_allclose(laplacian.apply(identity), 0, atol=1e-6)


@pytest.mark.parametrize("normalized", [True, False])
def test_combine_is_a_step_of_a_three_term_recurrence(normalized, rng):
    graph, transports, _ = random_problem(3, seed=2, n=30)
    laplacian = ConnectionLaplacian(graph, transports, normalized)
    fields, older = random_fields(30, 3, 4, rng), random_fields(30, 3, 4, rng)
    found = laplacian.combine(0.7, 1.3, fields, -0.4, older)
    expected = -0.7 * (laplacian.apply(fields) - 1.3 * fields) - 0.4 * older
    assert_allclose(found, expected, atol=2e-5)


def test_several_fields_at_once_are_the_same_as_one_by_one(rng):
    graph, transports, _ = random_problem(3, seed=3, n=300)
    laplacian = ConnectionLaplacian(graph, transports)
    fields = random_fields(300, 3, 8, rng)
    alone = [laplacian.apply(np.ascontiguousarray(fields[..., r : r + 1])) for r in range(8)]
    assert_allclose(laplacian.apply(fields), np.concatenate(alone, axis=2), atol=1e-6)


@pytest.mark.parametrize("spec", ["S^1 x S^1", "S^2 x S^2", "S^2 x S^1 x S^3", "SO(3) x S^2"])
@pytest.mark.parametrize("normalized", [True, False])
def test_projectors_on_the_factors_of_exact_frames_are_parallel(spec, normalized, rng):
    # Points so dense that no two neighbours have nearly orthogonal tangent spaces.
    sample = product_manifold(spec, 3000, rotate=True, random_state=0)
    k, dims = sample.dim, sample.factor_dims
    turns = np.linalg.qr(rng.standard_normal((3000, k, k)))[0]
    graph = neighbor_graph(sample.points, 2 * k)
    transports = connection(turns @ np.concatenate(sample.tangents, axis=1), graph)
    rows = np.split(np.eye(k), np.cumsum(dims)[:-1])
    constant = [axes.T @ axes - len(axes) / k * np.eye(k) for axes in rows]
    fields = np.stack(
        [vec_symmetric(turns @ matrix @ turns.swapaxes(1, 2)) for matrix in constant], axis=2
    )
    if normalized:  # D^(-1/2) W D^(-1/2) keeps D^(1/2) S where W keeps S
        fields = fields * np.sqrt(graph.degrees)[:, None, None]
    image = ConnectionLaplacian(graph, transports, normalized).apply(fields.astype(np.float32))
    assert_allclose(image, 0, atol=1e-4)
    assert np.abs(fields).max() > 0.3

    matrix = explicit_laplacian(graph, transports, normalized=normalized)
    assert_allclose(applied(matrix, traceless_basis(k).T @ fields), 0, atol=1e-4)


def test_a_wholly_flat_product_keeps_every_constant_matrix():
    sample = product_manifold("S^1 x S^1 x S^1", 200, random_state=0)
    graph = neighbor_graph(sample.points, 6)
    transports = connection(np.concatenate(sample.tangents, axis=1), graph)
    values = np.linalg.eigvalsh(explicit_laplacian(graph, transports).toarray())
    assert_allclose(values[:5], 0, atol=1e-5)
    assert values[5] > 0.01


@pytest.mark.parametrize("normalized", [True, False])
def test_shape_and_dimension_are_those_of_one_field(normalized):
    graph, transports, _ = random_problem(3, seed=0)
    laplacian = ConnectionLaplacian(graph, transports, normalized)
    assert laplacian.k == 3
    assert laplacian.shape == (9, 6)


def test_coordinates_that_do_not_exist_are_named():
    graph, transports, _ = random_problem(2, seed=0)
    with pytest.raises(InputError, match=r"coordinates must be one of .*; got 'lower'"):
        explicit_laplacian(graph, transports, coordinates="lower")
