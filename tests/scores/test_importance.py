"""Scores of a matrix of importances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from geodis.base.check import InputError
from geodis.scores import compactness_of, completeness_of, disentanglement_of, gap_of, modularity_of
from tests.reference import scores as slow
from tests.scores._golden import load

SCORES = [disentanglement_of, completeness_of, modularity_of, compactness_of, gap_of]
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
MATRICES = arrays(float, SHAPES, elements=st.floats(0, 10).map(lambda x: round(x, 3)))


@pytest.mark.parametrize(
    ("function", "key", "parts"),
    [
        (disentanglement_of, "disentanglement", "disentanglement_per_code"),
        (completeness_of, "completeness", "completeness_per_factor"),
        (modularity_of, "modularity_of_matrix", None),
        (gap_of, "gap_of_matrix", None),
    ],
)
def test_equal_the_reference(function, key, parts):
    data = load("matrices_s")
    compared = 0
    for i in range(int(data["n_imp"])):
        scored, expected = function(data[f"imp{i:02d}_matrix"]), data[f"imp{i:02d}_{key}"]
        if np.isnan(expected):  # the peer's scores of a single factor: tested below
            assert data[f"imp{i:02d}_matrix"].shape[1] == 1
            continue
        compared += 1
        assert scored.value == pytest.approx(float(expected), abs=1e-9)
        if parts is not None:
            np.testing.assert_allclose(scored.parts, data[f"imp{i:02d}_{parts}"], atol=1e-9)
    assert compared >= 36


def test_one_factor_is_defined():
    """The peer takes logarithms to the base one, divides by f - 1 = 0, and returns NaN."""
    data = load("matrices_s")
    single = [i for i in range(45) if data[f"imp{i:02d}_matrix"].shape[1] == 1]
    assert len(single) == 9
    for i in single:
        matrix = data[f"imp{i:02d}_matrix"]
        matters = matrix[:, 0] > 0
        assert np.isnan(data[f"imp{i:02d}_disentanglement"])
        np.testing.assert_array_equal(disentanglement_of(matrix).parts, matters)
        np.testing.assert_array_equal(modularity_of(matrix).parts, matters)
        assert float(disentanglement_of(matrix)) == pytest.approx(float(matters.any()))


def test_one_latent_is_defined():
    for function in (completeness_of, compactness_of):
        np.testing.assert_array_equal(function([[0.5, 0.0]]).parts, [1, 0])
    np.testing.assert_array_equal(gap_of([[0.5, 0.0]]).parts, [0.5, 0])


@settings(deadline=None, max_examples=50)
@given(MATRICES)
def test_scores_lie_between_zero_and_one(matrix):
    for function in SCORES:
        scored = function(matrix / max(matrix.max(), 1))
        assert 0 <= scored.value <= 1 + 1e-12
        assert ((scored.parts >= 0) & (scored.parts <= 1 + 1e-12)).all()


@settings(deadline=None, max_examples=50)
@given(MATRICES, st.randoms())
def test_order_does_not_matter(matrix, random):
    rows, columns = list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    for function in SCORES:
        assert function(matrix[rows][:, columns]).value == pytest.approx(function(matrix).value)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 6), st.integers(2, 6), st.integers(0, 100))
def test_a_matrix_with_one_entry_a_row_is_perfect(z, f, seed):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((z, f))
    matrix[np.arange(z), rng.integers(0, f, z)] = rng.uniform(0.5, 2, z)
    assert float(disentanglement_of(matrix)) == pytest.approx(1, abs=1e-8)
    assert float(modularity_of(matrix)) == 1
    square = np.diag(rng.uniform(0.5, 2, f))
    for function in (completeness_of, compactness_of):
        assert float(function(square)) == pytest.approx(1, abs=1e-8)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 6), st.integers(2, 6))
def test_a_matrix_of_equal_entries_is_worthless(z, f):
    for function in SCORES:
        assert float(function(np.full((z, f), 0.7))) == pytest.approx(0, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(arrays(float, (4, 3), elements=st.floats(0.01, 1)))
def test_equal_their_literal_twins(matrix):
    assert float(modularity_of(matrix)) == pytest.approx(slow.modularity(matrix), abs=1e-12)
    expected = slow.disentanglement(matrix)
    assert float(disentanglement_of(matrix)) == pytest.approx(expected, abs=1e-12)
    expected = slow.disentanglement(matrix.T)
    assert float(completeness_of(matrix)) == pytest.approx(expected, abs=1e-12)


def test_bad_matrices_are_refused():
    with pytest.raises(InputError, match="must have no negative entry; got -1"):
        disentanglement_of([[1, -1]])
    with pytest.raises(InputError, match=r"shape \(z, f\), neither zero; got shape \(3,\)"):
        gap_of([1, 2, 3])
