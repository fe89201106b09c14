"""InfoMEC, JEMMIG, DCIMIG and MED: known answers."""

import numpy as np
import pytest

from geodis import scores
from tests.scores._golden import grid, sample


def test_infomec_of_perfect_turned_and_random_codes():
    factors = grid((4, 4, 4), 12)
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((len(factors), 3))
    perfect = scores.infomec(factors + noise, factors, random_state=0)
    assert float(perfect) > 0.97 and perfect.details["compactness"] > 0.97
    assert perfect.details["explicitness"] > 0.99
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turned = scores.infomec((factors + noise) @ turn, factors, random_state=0)
    assert float(turned) < 0.6 and turned.details["explicitness"] > 0.7
    # It is not the modularity of Ridgeway and Mozer, which squares.
    assert float(scores.modularity((factors + noise) @ turn, factors)) > float(turned) + 0.1
    nothing = scores.infomec(rng.standard_normal((768, 3)), factors, random_state=0)
    assert abs(nothing.details["explicitness"]) < 0.05


def test_infomec_leaves_out_what_has_a_small_range():
    latents, factors = sample(0)
    narrow = np.column_stack([latents, 0.01 * factors[:, 0], np.full(len(factors), 3.0)])
    score = scores.infomec(narrow, factors, random_state=0)
    assert score.details["active"].tolist() == [True] * 4 + [False] * 2
    assert np.isnan(score.per_latent[4:]).all() and "dead latents left out: 2" in score.note
    plain = scores.infomec(latents, factors, random_state=0)
    assert float(score) == pytest.approx(float(plain), abs=0.01)
    moved = scores.infomec(1e200 * latents, factors, random_state=0)
    assert float(moved) == pytest.approx(float(plain), abs=1e-6)


def test_infomec_of_some_rows_is_near_that_of_all():
    latents, factors = sample(1, n=3000)
    whole = scores.infomec(latents, factors, random_state=0)
    some = scores.infomec(latents, factors, max_rows=1500, random_state=0)
    assert some.note == "1500 of 3000 rows (max_rows)" and whole.note == ""
    assert float(some) == pytest.approx(float(whole), abs=0.05)
    rare = factors.copy()
    rare[:, 0] = np.arange(3000) < 2  # values that no drawn row has are no classes
    assert np.isfinite(scores.infomec(latents, rare, max_rows=100, random_state=0).matrix).all()


def test_infomec_of_few_values():
    factors = grid((3, 4), 20)
    code = np.column_stack([factors[:, 1] * 0.3, factors[:, 0] - 7.0, np.zeros(len(factors))])
    score = scores.infomec(code, factors, discrete=True)
    assert float(score) == score.details["compactness"] == 1
    assert score.details["explicitness"] > 0.999
    assert score.details["active"].tolist() == [True, True, False]


def test_jemmig_wants_no_more_values_than_the_factor_has():
    factors = grid((4, 4), 20)
    rng = np.random.default_rng(0)
    tight = scores.jemmig(factors * 1.0, factors)
    loose = scores.jemmig(factors + 0.2 * rng.standard_normal(factors.shape), factors)
    assert float(tight) == pytest.approx(1) and 0.5 < float(loose) < 0.9
    assert tight.details["best_latent"].tolist() == [0, 1]
    # Two copies of a latent: the gap is gone, and H(z, v) is left.
    copied = scores.jemmig(factors[:, [0, 0, 1]] * 1.0, factors)
    assert copied.per_factor[0] == pytest.approx(1 - np.log(4) / (np.log(4) + np.log(20)))


def test_dcimig_forgives_copies_and_not_mixtures():
    factors = grid((4, 4), 5)
    assert float(scores.dcimig(factors[:, [0, 0, 1]], factors)) == pytest.approx(1)
    mixed = factors @ [[1.0], [1.0]]
    assert float(scores.dcimig(np.column_stack([mixed, factors[:, 1]]), factors)) == pytest.approx(
        0.5
    )


def test_med_is_dci_of_information_and_its_top_form_forgets_the_rest():
    factors = grid((4, 4), 5)
    perfect = scores.med(factors[:, ::-1], factors)
    assert float(perfect) == pytest.approx(1) and perfect.details["completeness"] > 0.999
    mixed = np.column_stack([factors, *[factors @ [1.0, 1.0]] * 6])
    score = scores.med(mixed, factors)
    assert float(score) < 0.7 and score.details["top"] == pytest.approx(1)
    assert score.details["chosen"].tolist() == [0, 1]
