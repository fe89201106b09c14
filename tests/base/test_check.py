from types import SimpleNamespace

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from geodis.base import check
from geodis.base.check import InputError, MissingExtraError, check_points


@pytest.mark.parametrize(
    "points",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
        pandas.DataFrame({"a": [1, 3], "b": [2, 4]}),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.bfloat16),
        np.array([[1, 2], [3, 4]], dtype=object),
    ],
)
def test_points_come_in_many_containers(points):
    checked = check.check_points(points)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, [[1, 2], [3, 4]])


@given(st.sampled_from([np.float32, np.float64]))
def test_floating_dtype_is_kept_on_request(dtype):
    assert check.check_points(np.ones((2, 2), dtype), dtype=None).dtype == dtype
    assert check.check_points(np.ones((2, 2), int), dtype=None).dtype == np.float64


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0, np.nan], [np.inf, -np.inf]], "got NaN in 1 and infinity in 2 entries, in 2 of 2"),
        ([[1.0, 2.0], [3.0]], "rectangular"),
        ([["a"], ["b"]], "must hold numbers"),
        (np.array([["a"], [None]], dtype=object), "must hold numbers only"),
        ([[1j]], "Complex data not supported"),
        ([1.0, 2.0], r"shape \(n, d\), one row per point; got shape \(2,\)"),
        (np.zeros((1, 3)), "1 sample.* minimum of 2 is required"),
        (np.zeros((3, 0)), "0 feature.* minimum of 1 is required"),
    ],
)
def test_bad_points_are_told_in_one_sentence(points, message):
    with pytest.raises(InputError, match=message):
        check.check_points(points)


def test_large_finite_values_are_not_mistaken_for_infinity():
    points = np.full((3, 2), np.finfo(float).max)
    assert check.check_points(points) is points


@pytest.mark.parametrize("dtype", [int, np.float32, bool])
def test_masked_entries_are_nan(dtype):
    masked = np.ma.array(np.ones((3, 2), dtype), mask=[[0, 0], [0, 1], [1, 1]])
    array = check.to_numpy(masked)
    np.testing.assert_array_equal(array, [[1, 1], [1, np.nan], [np.nan, np.nan]])
    assert not isinstance(array, np.ma.MaskedArray)
    with pytest.raises(InputError, match="got NaN in 3 and infinity in 0 entries, in 2 of 3 rows"):
        check.check_points(masked)
    whole = check.to_numpy(np.ma.array(np.ones(2, dtype)))
    assert type(whole) is np.ndarray and whole.dtype == dtype


def test_sparse_points_are_refused():
    with pytest.raises(TypeError, match="dense array; got a sparse matrix"):
        check.check_points(sparse.eye(3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "between 1 and 5; got 0"),
        (6, "between 1 and 5; got 6"),
        (True, "must be an integer; got True"),
        (2.0, "must be an integer; got 2.0"),
    ],
)
def test_integers_are_checked(value, message):
    with pytest.raises(InputError, match=message):
        check.check_int(value, "dim", low=1, high=5)
    assert check.check_int(np.int64(3), "dim", low=1, high=5) == 3


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None, True])
def test_reals_are_checked(value):
    with pytest.raises(InputError, match="must be a finite number"):
        check.check_real(value, "noise")
    with pytest.raises(InputError, match="noise must be at most 1; got 2"):
        check.check_real(2, "noise", high=1)
    assert check.check_real(1, "noise") == 1.0


def test_a_choice_is_one_of_them():
    assert check.check_choice("l2", "kind", ("l1", "l2")) == "l2"
    with pytest.raises(InputError, match="kind must be one of 'l1', 'l2'; got 'l3'"):
        check.check_choice("l3", "kind", ("l1", "l2"))


def test_random_states():
    assert check.check_random_state(3).random() == check.check_random_state(3).random()
    generator = np.random.default_rng(0)
    assert check.check_random_state(generator) is generator
    assert check.check_random_state(None).random() != check.check_random_state(None).random()
    one, two = (check.check_random_state(np.random.RandomState(7)) for _ in range(2))
    assert one.random() == two.random()
    with pytest.raises(InputError, match="random_state must be None, a non-negative integer"):
        check.check_random_state(-1)


def test_a_missing_package_is_named():
    with pytest.raises(
        MissingExtraError, match=r"needs no_such_package.*: pip install no_such_package$"
    ):
        check.require("no_such_package", purpose="Reading HDF5")
    assert check.require("json", purpose="Reading JSON").__name__ == "json"


class Annotated:
    """What an AnnData object offers to those who do not know its package."""

    def __init__(self, matrix, obsm=None):
        self.X, self.obsm, self.obs_names = matrix, obsm or {}, None


def test_the_matrix_of_annotated_data_is_meant():
    dense = np.arange(6.0).reshape(3, 2)
    for matrix in (dense, sparse.csr_matrix(dense), sparse.csc_array(dense)):
        np.testing.assert_array_equal(check_points(Annotated(matrix)), dense)
    with pytest.raises(InputError, match="an AnnData object with X; got one without"):
        check_points(Annotated(None))
    backed = SimpleNamespace(shape=(3, 2), to_memory=lambda: dense)
    for door in (Annotated(backed), backed):
        with pytest.raises(
            InputError, match=r"by a file: load it with \.to_memory\(\), or some rows"
        ):
            check_points(door)
    large = Annotated(sparse.csr_matrix((2**15, 2**14)), {"X_pca": dense})
    with pytest.raises(InputError, match=r"reduce it first, or take obsm\['X_pca'\]\.$"):
        check_points(large)
