"""Paired comparisons: known answers, laws of the tests, and verdicts that follow from them."""

import numpy as np
import pytest

from analyses.shared.studies.paired_comparisons import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    compare_pairs,
    equal_verdict,
    holm,
    interval_verdict,
    p_words,
    power_of_interval,
    power_of_pairs,
    sign_flip_p,
)


def test_the_exact_test_counts_choices_of_signs():
    assert sign_flip_p([1.0] * 6) == 2 / 2**6
    assert sign_flip_p([1.0, -1.0]) == 1.0
    # Of 1, 2, 4 and -8 by any signs: 1 + 2 + 4 - 8 = -1 is as near to zero as can be.
    assert sign_flip_p([1.0, 2.0, 4.0, -8.0]) == 1.0


@pytest.mark.parametrize("n", [6, 10, 20])
def test_where_nothing_is_there_it_is_seen_as_often_as_was_allowed(n):
    assert power_of_pairs(n, 0.0) == pytest.approx(0.05, abs=0.025)


def test_power_grows_with_pairs_and_with_the_difference():
    assert power_of_pairs(6, 1.0) < power_of_pairs(10, 1.0) < power_of_pairs(20, 1.0)
    assert power_of_pairs(10, 0.5) < power_of_pairs(10, 1.0) < power_of_pairs(10, 2.0)
    assert power_of_pairs(5, 9.0) == 0  # 2 / 2^5 is above .05


@pytest.mark.parametrize("n", [1, 2, 7, 13])
@pytest.mark.parametrize("digits", [1, 12])  # rounded differences have many equal sums
def test_halves_count_as_all_choices_of_signs_do(n, digits):
    differences = np.random.default_rng(n).normal(0.3, 1.0, n).round(digits)
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    sums = np.abs((1 - 2 * bits) @ differences)
    exact = (sums >= abs(differences.sum()) - 1e-12).mean()
    assert sign_flip_p(differences) == exact


def test_twenty_pairs_that_all_agree_have_the_smallest_p_there_is():
    assert sign_flip_p(np.linspace(1, 2, 20)) == 2 / 2**20


def test_many_pairs_are_tested_with_random_signs():
    noise = np.random.default_rng(3).normal(0.0, 1.0, 40)
    # Differences of zero change no sum, so the exact p of 40 pairs is that of 60 as well.
    for shift in (0.0, 0.15, 0.3):
        exact = sign_flip_p(noise + shift)
        drawn = sign_flip_p(np.concatenate([noise + shift, np.zeros(20)]))
        assert drawn == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 4096))
    assert sign_flip_p(np.ones(60)) == 1 / 4096
    assert sign_flip_p(np.zeros(60)) == 1.0


def test_power_at_a_corrected_level_is_smaller():
    assert power_of_pairs(20, 0.5, 0.05 / 7) < power_of_pairs(20, 0.5)
    zero = np.zeros(20)
    noisy = np.random.default_rng(0).normal(0.05, 0.1, 20)
    assert compare_pairs(noisy, zero, 0.05, tests=7).power < compare_pairs(noisy, zero, 0.05).power
    assert (p_words(0.00099), p_words(0.05)) == ("<.001", "0.050")


def test_corrected_p_are_no_smaller_keep_their_order_and_end_at_one():
    ps = [0.5, 0.001, 0.02, 0.9]
    corrected = holm(ps)
    assert corrected == pytest.approx([1.0, 0.004, 0.06, 1.0])
    assert all(c >= p for c, p in zip(corrected, ps, strict=True))


def test_verdicts():
    noise = np.random.default_rng(1).normal(0, 0.01, 10)
    zero = np.zeros(10)
    assert compare_pairs(zero + 0.1 + noise, zero, 0.05).verdict() == REPRODUCED
    assert compare_pairs(zero - 0.1 + noise, zero, 0.05).verdict() == NOT_REPRODUCED
    small = compare_pairs(noise - noise.mean(), zero, 0.05)  # the interval ends below the margin
    assert small.verdict() == NOT_REPRODUCED and small.low < 0 < small.high
    wide = compare_pairs(20 * (noise - noise.mean()), zero, 0.05)
    assert wide.verdict().startswith(CANNOT_TELL) and wide.power < 0.5
    assert compare_pairs(zero + 0.1 + noise, zero, 0.05).verdict(p=0.2).startswith(CANNOT_TELL)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(2)
    found = [compare_pairs(random.normal(0.3, 1, 8), np.zeros(8), 1.0) for _ in range(300)]
    assert np.mean([one.low < 0.3 < one.high for one in found]) == pytest.approx(0.95, abs=0.04)


def test_few_pairs_tell_large_differences_by_their_interval():
    assert interval_verdict(compare_pairs([0.9, 0.8, 0.85], [0.1, 0.1, 0.1], 0.05)) == REPRODUCED
    assert (
        interval_verdict(compare_pairs([0.1, 0.1, 0.1], [0.9, 0.8, 0.85], 0.05)) == NOT_REPRODUCED
    )
    unsure = interval_verdict(compare_pairs([0.9, 0.1, 0.5], [0.1, 0.5, 0.4], 0.05))
    assert unsure.startswith(CANNOT_TELL)
    assert power_of_interval(4, 0.0) == pytest.approx(0.025, abs=0.01)
    assert power_of_interval(3, 2.0) < power_of_interval(6, 2.0)


def test_models_are_alike_only_if_a_difference_that_matters_is_excluded():
    near = np.array([0.01, -0.01, 0.0, 0.005])
    assert equal_verdict(compare_pairs(near, near * 0, 0.05)) == REPRODUCED
    assert equal_verdict(compare_pairs(near + 0.2, near * 0, 0.05)) == NOT_REPRODUCED
    assert equal_verdict(compare_pairs(near - 0.2, near * 0, 0.05)) == NOT_REPRODUCED
    assert equal_verdict(compare_pairs(20 * near, near * 0, 0.05)).startswith(CANNOT_TELL)
