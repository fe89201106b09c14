"""Support vector machines on one latent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.scores.predictive.sap import margin_accuracies
from tests.reference import scores as slow


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(2, 5), st.sampled_from([0.01, 1.0, 30.0]))
def test_equal_their_literal_twin(seed, classes, scale):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, 90)
    x = scale * (codes + rng.standard_normal(90) + rng.normal())
    if len(np.unique(codes[:60])) < classes:
        return
    accuracies = margin_accuracies(x[:60], codes[:60, None], x[60:], codes[60:, None])[0]
    expected = slow.margin_accuracy(x[:60], codes[:60], x[60:], codes[60:])
    assert accuracies == pytest.approx(expected, abs=1.01 / 30)  # a row may lie on the border


@pytest.mark.parametrize("seed", range(3))
def test_agree_with_scikit_learn(seed):
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 4, 900), rng.integers(0, 2, 900)])
    x = 2 * codes[:, 0] - 3 * codes[:, 1] + rng.standard_normal(900)
    accuracies = margin_accuracies(x[:600], codes[:600], x[600:], codes[600:])
    for j in range(2):
        peer = LinearSVC(C=0.01, class_weight="balanced", tol=1e-8, max_iter=100_000, dual=False)
        peer.fit(x[:600, None], codes[:600, j])
        assert accuracies[j] == pytest.approx(
            peer.score(x[600:, None], codes[600:, j]), abs=1.01 / 300
        )


def test_classes_that_only_one_side_has():
    x = np.linspace(-9, 9, 30)
    codes = np.repeat([0, 2], 15)[:, None]
    assert margin_accuracies(x, codes, x[:2], np.array([[0], [1]])).tolist() == [0.5]
    assert margin_accuracies(x, 0 * codes + 3, x[:2], np.array([[3], [1]])).tolist() == [0.5]


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e9, 1e160, 1e300])
def test_any_scale_of_a_latent_gives_an_accuracy(scale):
    codes = np.repeat([0, 1, 2], 10)[:, None]
    x = scale * np.arange(30.0)
    assert 0 <= margin_accuracies(x, codes, x, codes)[0] <= 1
