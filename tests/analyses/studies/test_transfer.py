"""Chances that chosen settings beat random ones: known answers, and luck gives one half."""

import numpy as np
import pytest

from analyses.shared.studies.transfer import (
    KINDS,
    transfer_intervals,
    transfer_probability,
    transfers,
)


def literal(source, target, same):
    """Every seed, every pair of runs, one at a time."""
    wins = []
    for seed in range(source.shape[1]):
        best = source[:, seed].argmax()
        seeds = [each for each in range(target.shape[1]) if not same or each != seed]
        pairs = [
            (target[best, a] > target[row, b]) + 0.5 * (target[best, a] == target[row, b])
            for a in seeds
            for row in range(len(target))
            for b in seeds
        ]
        wins.append(np.mean(pairs))
    return np.mean(wins)


@pytest.mark.parametrize("same", [True, False])
def test_it_is_what_counting_pairs_gives(same):
    random = np.random.default_rng(0)
    source = random.standard_normal((5, 4))
    target = source if same else np.round(random.standard_normal((5, 3)), 1)
    assert transfer_probability(source, target, same) == pytest.approx(
        literal(source, target, same)
    )


def test_settings_that_decide_all_transfer_and_their_opposite_does_not():
    scores = np.repeat(np.arange(10.0)[:, None], 3, axis=1)
    assert transfer_probability(scores, scores, same=True) == pytest.approx(0.95)
    assert transfer_probability(scores, -scores) == pytest.approx(0.05)
    assert transfer_probability(scores, np.exp(scores)) == pytest.approx(0.95)


def test_luck_gives_one_half():
    random = np.random.default_rng(0)
    found = [transfer_probability(each, each, same=True) for each in random.random((200, 18, 3))]
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)


def test_runs_that_are_missing_are_left_out():
    scores = np.array([[0.1, np.nan], [0.9, 0.8], [np.nan, 0.2]])
    assert transfer_probability(scores, scores) == pytest.approx(
        np.mean([(a > b) + 0.5 * (a == b) for a in (0.9, 0.8) for b in (0.1, 0.9, 0.8, 0.2)])
    )
    assert np.isnan(transfer_probability(np.full((3, 2), np.nan), scores))


def test_all_pairs_of_sets_and_scores_are_sorted_by_what_they_share():
    good = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    found = transfers({("a", "x"): good, ("a", "y"): good, ("b", "x"): -good})
    assert list(found) == list(KINDS)
    assert found["same score, same set, other seed"] == pytest.approx(0.875)
    assert found["other score, same set"] == pytest.approx(0.875)
    assert found["same score, other set"] == pytest.approx(0.125)
    assert np.isnan(transfers({("a", "x"): good})["other score, other set"])


@pytest.mark.parametrize("seeds", [(2, 2, 2, 2), (4, 2, 2, 2), (3, 3, 3, 3)])
def test_intervals_cover_what_other_seeds_would_give(seeds):
    random = np.random.default_rng(1)
    common = random.standard_normal(18)
    true = [0.5 * common + 0.8 * random.standard_normal(18) for _ in seeds]

    def study():
        return {
            (str(name), "mig"): effect[:, None] + random.standard_normal((18, n))
            for name, (effect, n) in enumerate(zip(true, seeds, strict=True))
        }

    expected = {
        kind: np.mean([transfers(study())[kind] for _ in range(150)])
        for kind in ("same score, same set, other seed", "same score, other set")
    }
    drawn = [transfer_intervals(study()) for _ in range(60)]
    for kind, value in expected.items():
        found = [each[kind].found for each in drawn]
        assert np.mean([one.low <= value <= one.high for one in found]) >= 0.88
    # A choice within a set and its judgement need three seeds.
    same, other = (drawn[0][kind] for kind in expected)
    assert other.over == "seeds" and same.over == ("seeds" if min(seeds) > 2 else "sets")
    assert same.found.n == other.found.n == 18 * sum(seeds)


def test_one_seed_or_one_set_says_nothing_of_luck():
    scores = {("a", "x"): np.arange(6.0)[:, None], ("b", "x"): np.arange(6.0)[:, None]}
    found = transfer_intervals(scores)["same score, other set"].found
    assert found.value > 0.5 and (found.low, found.high) == (-np.inf, np.inf)
    alone = transfer_intervals({("a", "x"): np.arange(8.0).reshape(4, 2)})
    assert alone["same score, same set, other seed"].found.high == np.inf
