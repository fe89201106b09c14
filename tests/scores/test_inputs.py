"""Latents and factors at the door of every score."""

import numpy as np
import pandas as pd
import pytest
import torch

from geodis import scores
from geodis.base.check import InputError
from geodis.data.factors import Factors
from geodis.scores.inputs import MAX_CLASSES, check_scored, code_factors


def test_codes_follow_the_order_of_values_without_gaps():
    _, coded = check_scored(np.zeros((4, 2)), [[5, 0.5], [2, 0.25], [9, 0.5], [2, 0.25]])
    assert coded.codes.tolist() == [[1, 1], [0, 0], [2, 1], [0, 0]]
    assert coded.sizes.tolist() == [3, 2]
    np.testing.assert_array_equal(coded.values[:, 1], [0.5, 0.25, 0.5, 0.25])
    assert coded.numeric.all() and not coded.continuous.any()


@pytest.mark.parametrize(
    "factors",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"], object),
        pd.Series(["b", "a", "b"]),
        pd.DataFrame({"shape": pd.Categorical(["b", "a", "b"])}),
        np.array([[True], [False], [True]]),
        torch.tensor([[7], [3], [7]]),
        pd.Series([7, 3, 7], dtype="Int64"),
        [[7.0], [3.0], [7.0]],
    ],
)
def test_any_kind_of_values_becomes_codes(factors):
    coded = code_factors(factors)
    assert coded.codes.tolist() == [[1], [0], [1]]


def test_columns_of_a_frame_keep_their_kinds_and_names():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 6), "shape": list("aabbcc")})
    coded = code_factors(frame)
    assert coded.names == ("x", "shape")
    assert coded.continuous.tolist() == [True, False]
    assert coded.numeric.tolist() == [True, False]


def test_labels_of_loaded_factors_are_not_numbers():
    loaded = Factors(
        np.array([[0.5, 0], [1.5, 1], [0.5, 0]]), ("x", "shape"), {"shape": ("box", "dot")}
    )
    coded = code_factors(loaded)
    assert coded.names == ("x", "shape") and coded.numeric.tolist() == [True, False]


def test_continuous_means_many_values_that_do_not_come_back():
    n = 4 * MAX_CLASSES
    columns = {
        "levels of a grid": (np.arange(n) % 5 / 4, False),
        "whole": (np.arange(n) % MAX_CLASSES, False),
        "too many": (np.arange(n), True),
        "real": (np.linspace(0, 1, n) ** 2, True),
    }
    coded = code_factors(np.column_stack([column for column, _ in columns.values()]))
    assert coded.continuous.tolist() == [expected for _, expected in columns.values()]


def test_continuous_factors_are_refused_by_name():
    frame = pd.DataFrame({"angle": np.linspace(0, 1, 50) ** 2})
    with pytest.raises(InputError, match=r"'angle' is continuous \(50 different values in 50 rows"):
        check_scored(np.zeros((50, 2)), frame)


@pytest.mark.parametrize(
    ("latents", "factors", "message"),
    [
        (np.zeros((3, 2)), np.zeros((4, 1)), "as many rows; got 3 and 4"),
        (np.zeros(3), np.zeros(3), r"latents must have shape \(n, d\)"),
        (np.zeros((3, 2)), np.zeros((1, 3, 1)), r"factors must have shape \(n, f\)"),
        (np.zeros((3, 2)), np.zeros((3, 0)), "at least one row and one factor"),
        (np.full((3, 2), np.nan), np.zeros(3), "NaN in 6"),
        (np.zeros((3, 2)), [0, np.nan, 1], "factor 0 must be finite; got NaN in 1"),
        (np.zeros((3, 2)), np.array(["a", None, "b"], object), "in every row; got 1 missing"),
        (np.zeros((3, 2)), pd.Series(["a", pd.NA, "b"], name="s"), "factor 's' must .* 1 missing"),
        (np.zeros((3, 2)), np.array([1j, 2, 3]), "got complex numbers"),
        (np.array([["a"], ["b"]]), [0, 1], "latents must hold numbers"),
    ],
)
def test_bad_input_gets_one_sentence(latents, factors, message):
    with pytest.raises(InputError, match=message):
        check_scored(latents, factors)


def test_factors_with_one_value_are_named():
    varying = code_factors(pd.DataFrame({"a": [0, 1], "b": [2, 2]})).varying()
    assert varying.kept.tolist() == [0] and varying.note == "left out, with one value: factor 'b'"
    with pytest.raises(InputError, match="at least two values; got 1 with one"):
        code_factors([3, 3]).varying()


def test_labels_without_end_are_refused_not_counted_as_numbers():
    n = MAX_CLASSES + 1
    frame = pd.DataFrame({"x": np.arange(n) % 3, "id": [f"image {i}" for i in range(n)]})
    codes = np.column_stack([frame["x"], np.arange(n)]).astype(float)
    loaded = Factors(codes, ("x", "id"), {"id": tuple(frame["id"])})
    for factors in (frame, loaded):
        assert code_factors(factors).continuous.tolist() == [False, False]
        for allow_continuous in (False, True):
            with pytest.raises(InputError, match=f"'id' has {n} different labels in {n} rows"):
                check_scored(np.zeros((n, 2)), factors, allow_continuous=allow_continuous)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_varies_by_rounding_alone_is_constant(rng, dtype):
    """A bias to which a term of no weight is added, in whatever precision."""
    factors = rng.integers(4, size=(300, 2))
    rounding = np.spacing(dtype(3.7)) * (factors[:, 0] % 2)
    latents = np.column_stack([factors[:, 1], 3.7 + rounding]).astype(dtype)
    assert len(np.unique(latents[:, 1])) == 2
    for score in (scores.mig, scores.robust_mig, scores.modularity):
        assert float(score(latents, factors)) == float(score(latents * [1, 0], factors))
    assert not scores.mutual_information(latents, factors).matrix[1].any()


@pytest.mark.parametrize("scale", [1e301, 1.7e308])
def test_numbers_that_cannot_be_added_are_refused(scale):
    latents, factors = np.array([[0.0], [1], [0], [1]]), np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match=r"latents must lie between -1e\+300 and 1e\+300"):
        scores.mig(latents * -scale, factors)
    with pytest.raises(InputError, match=r"factors must lie between .*: divide them"):
        scores.mig(latents, factors * scale)


def test_two_rows_are_enough_unless_a_score_needs_more():
    assert check_scored([[0.0], [1.0]], ["a", "b"])[1].sizes.tolist() == [2]
    for n, options in ((1, {}), (2, {"min_points": 3})):
        with pytest.raises(InputError, match="too few rows"):
            check_scored(np.arange(n)[:, None] * 1.0, np.arange(n), **options)
