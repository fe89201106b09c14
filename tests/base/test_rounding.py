"""How much of a number is rounding."""

import numpy as np
import pytest

from geodis.base.check import rounding_of, trusted_digits


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_a_sum_of_a_few_terms_stays_within_its_rounding(rng, dtype):
    terms = rng.standard_normal((2000, 4)).astype(dtype)
    if dtype is np.float16:
        terms = terms[:, :1]
    exact = terms.astype(np.longdouble).sum(axis=1)
    error = np.abs(terms.sum(axis=1, dtype=dtype) - exact).max()
    assert error <= rounding_of(terms.sum(axis=1, keepdims=True)).max()


def test_integers_count_as_double_precision():
    assert trusted_digits(np.dtype(int)) == trusted_digits(np.dtype(float))
    assert rounding_of(np.zeros((0, 2))).tolist() == [0, 0]
    assert rounding_of(np.ones((1, 1)), np.dtype(np.float32)) == 2.0**-22
