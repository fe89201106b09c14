"""Rows to learn from and to be judged by, and latents as models like them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodis.scores.predictive.cross_validation import HeldOut, split_rows, standardise


@given(st.integers(2, 200), st.floats(0.01, 0.99), st.booleans())
def test_every_row_is_learnt_from_or_held_out(n, share, shuffle):
    split = split_rows(n, share, shuffle, np.random.default_rng(0))
    assert len(split.train) >= 1 and len(split.test) >= 1
    np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), range(n))
    assert len(split.train) == min(int(np.ceil(share * n)), n - 1)


def test_standardised_by_the_training_rows_alone():
    rng = np.random.default_rng(0)
    latents = np.column_stack([rng.normal(5, 3, 100), np.full(100, 0.1), 1e200 * rng.random(100)])
    train, test = standardise(latents, HeldOut(np.arange(60), np.arange(60, 100)))
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), [1, 0, 1])
    assert not test[:, 1].any()
    expected = (latents[60:, 0] - latents[:60, 0].mean()) / latents[:60, 0].std()
    np.testing.assert_allclose(test[:, 0], expected)
