import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodis.manifold.holonomy.laplacian import (
    n_coordinates,
    symmetric_basis,
    traceless_basis,
    unvec_symmetric,
    vec_symmetric,
)
from tests.reference import manifold as reference

SIZES = st.integers(1, 7)
SEEDS = st.integers(0, 2**32 - 1)


def symmetric(rng, *shape):
    matrices = rng.standard_normal(shape)
    return matrices + np.swapaxes(matrices, -1, -2)


@given(SIZES, SEEDS)
def test_vec_keeps_the_frobenius_product(k, seed):
    first, second = symmetric(np.random.default_rng(seed), 2, k, k)
    product = vec_symmetric(first) @ vec_symmetric(second)
    np.testing.assert_allclose(product, np.trace(first @ second), rtol=1e-12, atol=1e-12)


@given(SIZES, SEEDS)
def test_vec_equals_its_literal_twin_and_unvec_inverts_it(k, seed):
    matrices = symmetric(np.random.default_rng(seed), 2, 3, k, k)
    vectors = vec_symmetric(matrices)
    assert vectors.shape == (2, 3, n_coordinates(k))
    np.testing.assert_allclose(vectors[1, 2], reference.vec_symmetric(matrices[1, 2]), rtol=1e-15)
    np.testing.assert_allclose(unvec_symmetric(vectors, k), matrices, rtol=1e-15)


@given(SIZES, SEEDS)
def test_vec_inverts_unvec(k, seed):
    vectors = np.random.default_rng(seed).standard_normal((4, n_coordinates(k)))
    matrices = unvec_symmetric(vectors, k)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices, 1, 2))
    np.testing.assert_allclose(vec_symmetric(matrices), vectors, rtol=1e-15)


def test_vec_reads_the_lower_triangle_only(rng):
    matrix = rng.standard_normal((4, 4))
    lower = np.tril(matrix)
    np.testing.assert_array_equal(vec_symmetric(matrix), vec_symmetric(lower))


def test_float32_stays_float32(rng):
    vectors = vec_symmetric(symmetric(rng, 5, 3, 3).astype(np.float32))
    assert vectors.dtype == unvec_symmetric(vectors, 3).dtype == np.float32


@pytest.mark.parametrize("k", range(1, 7))
def test_pi_sym_is_the_orthonormal_basis_of_symmetric_matrices(k):
    basis = symmetric_basis(k)
    assert basis.shape == (k**2, n_coordinates(k))
    expected = [matrix.ravel() for matrix in reference.symmetric_matrices(k)]
    np.testing.assert_allclose(basis.T, expected, atol=1e-15)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_coordinates(k)), atol=1e-14)


@pytest.mark.parametrize("k", range(1, 7))
def test_pi_sym_takes_coordinates_to_full_matrices_and_its_transpose_back(k, rng):
    matrix = symmetric(rng, k, k)
    basis = symmetric_basis(k)
    np.testing.assert_allclose((basis @ vec_symmetric(matrix)).reshape(k, k), matrix, rtol=1e-14)
    np.testing.assert_allclose(basis.T @ matrix.ravel(), vec_symmetric(matrix), rtol=1e-14)
    general = rng.standard_normal((k, k))
    symmetrised = (basis @ basis.T @ general.ravel()).reshape(k, k)
    np.testing.assert_allclose(symmetrised, (general + general.T) / 2, atol=1e-14)


@pytest.mark.parametrize("k", range(1, 7))
def test_pi_tr_spans_exactly_the_matrices_of_trace_zero(k, rng):
    basis = traceless_basis(k)
    assert basis.shape == (n_coordinates(k), n_coordinates(k) - 1)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_coordinates(k) - 1), atol=1e-14)
    np.testing.assert_allclose(
        np.trace(unvec_symmetric(basis.T, k), axis1=1, axis2=2), 0, atol=1e-14
    )
    matrix = symmetric(rng, k, k)
    projected = unvec_symmetric(basis @ basis.T @ vec_symmetric(matrix), k)
    np.testing.assert_allclose(projected, matrix - np.trace(matrix) / k * np.eye(k), atol=1e-13)
