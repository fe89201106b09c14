"""EDI: known answers."""

import numpy as np
import pytest

from geodis import scores
from geodis.scores.information.edi import exclusive_share, joint_information
from geodis.scores.information.estimates import class_information
from tests.scores._golden import grid


def test_exclusivity_is_the_largest_less_the_root_mean_square_of_the_others():
    values = np.array([[0.9, 0.1], [0.3, 0.1], [0.4, 0.7]])
    expected = [0.9 - np.sqrt((0.09 + 0.16) / 2), 0.7 - 0.1]
    assert exclusive_share(values) == pytest.approx(expected)
    assert exclusive_share(values[:1]).tolist() == [0.9, 0.1]  # nothing else is there


@pytest.mark.parametrize("method", ["knn", "equal_width"])
def test_a_latent_for_each_factor(method):
    factors = grid((4, 4), 20)
    score = scores.edi(factors[:, ::-1], factors, method=method, random_state=0)
    assert float(score) > 0.98 and score.details["compactness"] > 0.98
    assert score.details["explicit"] > 0.98 and score.matrix.argmax(axis=0).tolist() == [1, 0]


def test_a_mixture_is_no_factor_s_own_and_two_halves_are_not_compact():
    factors = grid((4, 4), 20)
    mixed = factors @ [[1.0], [4.0]]  # one latent tells both
    score = scores.edi(mixed, factors, method="equal_width")
    assert float(score) == pytest.approx(0) and score.details["compactness"] > 0.99
    halves = np.column_stack([factors[:, 0] // 2, factors[:, 0] % 2])
    score = scores.edi(halves, factors[:, :1], random_state=0)
    assert float(score) > 0.9  # both are of that factor alone
    assert score.details["compactness"] < 0.1 and score.details["explicit"] > 0.95


def test_what_latents_know_together_is_no_less_than_one_of_them_knows():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(400, 2))
    noise = rng.standard_normal((400, 12))
    noise[:, 0] = factors[:, 0]
    score = scores.edi(noise, factors, random_state=0)
    assert score.matrix.max() <= 1 and score.details["explicitness"][0] > 0.95
    assert score.details["explicitness"][1] < 0.2


def test_joint_information_of_one_latent_is_that_of_the_latent():
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=300)
    x = codes + rng.standard_normal(300)
    assert joint_information(x[:, None], codes) == pytest.approx(class_information(x, codes))


def test_some_rows_and_constants():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(900, 2))
    code = np.column_stack([factors + 0.3 * rng.standard_normal((900, 2)), np.ones(900)])
    whole = scores.edi(code, factors, random_state=0)
    some = scores.edi(code, factors, max_rows=500, random_state=0)
    assert some.note == "500 of 900 rows (max_rows)" and whole.note == ""
    assert float(some) == pytest.approx(float(whole), abs=0.1)
    assert whole.per_latent[2] == 0
    assert float(scores.edi(np.ones((9, 2)), np.arange(9) % 2)) == 0
