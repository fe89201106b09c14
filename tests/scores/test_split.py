"""Rows to learn from and to be judged by, and latents as models like them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodis.base.check import InputError
from geodis.scores._split import Split, of_order_one, split_rows, standardise
from geodis.scores._threads import in_threads


@given(st.integers(2, 200), st.floats(0.01, 0.99), st.booleans())
def test_every_row_is_learnt_from_or_held_out(n, share, shuffle):
    split = split_rows(n, share, shuffle, np.random.default_rng(0))
    assert len(split.train) >= 1 and len(split.test) >= 1
    np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), range(n))
    assert len(split.train) == min(int(np.ceil(share * n)), n - 1)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_powers_of_two_lose_nothing(values):
    column = np.array(values)[:, None]
    scaled = of_order_one(column)
    largest = np.abs(column).max()
    assert np.abs(scaled).max() <= 1 and (largest == 0 or np.abs(scaled).max() >= 0.5)
    if largest > 0:
        kept = np.abs(column) > largest * 1e-250  # smaller ones may be denormal
        ratio = (scaled[kept] / np.abs(scaled).max()).ravel()
        np.testing.assert_array_equal(ratio, (column[kept] / largest).ravel())


def test_standardised_by_the_training_rows_alone():
    rng = np.random.default_rng(0)
    latents = np.column_stack([rng.normal(5, 3, 100), np.full(100, 0.1), 1e200 * rng.random(100)])
    train, test = standardise(latents, Split(np.arange(60), np.arange(60, 100)))
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), [1, 0, 1])
    assert not test[:, 1].any()
    expected = (latents[60:, 0] - latents[:60, 0].mean()) / latents[:60, 0].std()
    np.testing.assert_allclose(test[:, 0], expected)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_keep_order_and_raise(n_jobs):
    assert in_threads(lambda x: x**2, range(20), n_jobs) == [x**2 for x in range(20)]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 / x, [1, 0], n_jobs)


def test_bad_counts_of_threads_are_refused():
    with pytest.raises(InputError, match="n_jobs must be at least -1"):
        in_threads(abs, [1], -2)
