"""Pairs and triplets are what their strategy says, evenly drawn, and repeat with their seed."""

import itertools

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares
from geodis.distances import ground_truth, perceived_between, sample_pairs, sample_triplets
from tests.reference import distances as slow

GRID = FactorGrid((3, 1, 5, 4), names=("a", "b", "c", "d"))
SEEDS = (0, 1, 2)


def sample_of(grid, n, seed=0):
    """An incomplete grid of n different combinations."""
    rows = np.random.default_rng(seed).permutation(len(grid))[:n]
    return FactorGrid.from_arrays(None, grid.factors(rows), grid.names, sizes=grid.sizes)


def differing(grid, pairs):
    a, b = (grid.factors(side).tolist() for side in np.asarray(pairs).T)
    return np.array([slow.differing(x, y) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grid", [GRID, sample_of(GRID, 40)])
def test_random_pairs_are_even_over_all_ordered_pairs(grid, seed):
    n = len(grid)
    pairs = sample_pairs(grid, 40 * n * (n - 1), random_state=seed)
    counts = np.zeros((n, n), int)
    np.add.at(counts, tuple(pairs.T), 1)
    assert (counts.diagonal() == 0).all()
    others = counts[~np.eye(n, dtype=bool)]
    assert others.min() > 0
    assert ((others - 40) ** 2 / 40).mean() == pytest.approx(1, abs=0.1)  # Poisson


@pytest.mark.parametrize("grid", [GRID, sample_of(GRID, 50)])
@pytest.mark.parametrize("factor", ["a", 2, None])
def test_pairs_along_a_factor_differ_in_it_alone(grid, factor):
    pairs = sample_pairs(grid, 500, by="factor", factor=factor, random_state=0)
    a, b = grid.factors(pairs[:, 0]), grid.factors(pairs[:, 1])
    assert ((a != b).sum(axis=1) == 1).all()
    changed = set(np.flatnonzero((a != b).any(axis=0)))
    assert changed == ({0, 2, 3} if factor is None else {grid.factor_number(factor)})


@pytest.mark.parametrize("grid", [GRID, sample_of(GRID, 50)])
def test_self_pairs_along_a_factor_have_the_share_of_independent_draws(grid):
    pairs = sample_pairs(grid, 40_000, by="factor", factor="c", self_pairs=True, random_state=0)
    same = (pairs[:, 0] == pairs[:, 1]).mean()
    assert 1 / 5 - 0.01 < same < 1 / 2
    if grid.complete:
        assert same == pytest.approx(1 / 5, abs=0.01)


@pytest.mark.parametrize("grid", [GRID, sample_of(GRID, 50)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_pairs_differ_in_k_factors(grid, k):
    pairs = sample_pairs(grid, 300, by="differing", k=k, random_state=0)
    assert (differing(grid, pairs) == k).all()


@pytest.mark.parametrize("grid", [GRID, sample_of(GRID, 55)])
def test_the_number_of_differing_factors_is_even_by_default(grid):
    pairs = sample_pairs(grid, 9000, by="differing", random_state=0)
    share = np.bincount(differing(grid, pairs), minlength=4) / 9000
    np.testing.assert_allclose(share, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.02)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("by", ["scaled", "distance", "differing", "category"])
def test_positives_are_nearer_by_the_distance_that_was_asked_for(by, seed):
    triplets = sample_triplets(GRID, 400, by=by, category="d", random_state=seed)
    assert triplets.shape == (400, 3)
    assert (np.diff(np.sort(triplets, axis=1), axis=1) > 0).all()  # three different points
    rows = GRID.factors(triplets.ravel()).reshape(400, 3, 4).tolist()
    distance = {
        "scaled": lambda a, b: slow.scaled_ground_truth(a, b, GRID.sizes),
        "distance": slow.ground_truth,
        "differing": slow.differing,
        "category": lambda a, b: int(a[3] != b[3]),
    }[by]
    for anchor, positive, negative in rows:
        assert distance(anchor, positive) < distance(anchor, negative)


def test_classes_may_be_given_for_every_point(rng):
    labels = rng.integers(3, size=len(GRID))
    triplets = sample_triplets(GRID, 100, by="category", category=labels, random_state=0)
    a, p, n = labels[triplets].T
    assert (a == p).all() and (a != n).all()


@pytest.mark.parametrize("loss", ["mse", "box:31"])
def test_perceived_triplets_among_a_batch(loss, rng):
    grid = XYSquares(4)
    batch = rng.integers(len(grid), size=32)
    triplets = sample_triplets(grid, 50, by="perceived", loss=loss, among=batch, random_state=0)
    assert np.isin(triplets, batch).all()
    near = perceived_between(grid, triplets[:, 0], triplets[:, 1], loss)
    far = perceived_between(grid, triplets[:, 0], triplets[:, 2], loss)
    assert (near < far).all()


def test_without_strictness_ties_stay_and_the_order_is_weak():
    triplets = sample_triplets(GRID, 2000, by="differing", strict=False, random_state=0)
    near, far = (differing(GRID, triplets[:, [0, k]]) for k in (1, 2))
    assert (near <= far).all() and (near == far).any()


def test_three_points_of_a_triplet_are_even_over_all_orders():
    grid = FactorGrid((4,))
    triplets = sample_triplets(grid, 24_000, by="distance", strict=False, random_state=0)
    counts = dict.fromkeys(itertools.permutations(range(4), 3), 0)
    for key in map(tuple, triplets.tolist()):
        counts[key] += 1
    for (a, p, n), count in counts.items():
        both = abs(a - p) < abs(a - n)
        tie = abs(a - p) == abs(a - n)
        expected = 1000 if tie else 2000 if both else 0
        assert abs(count - expected) < 200


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_repeat_with_their_seed(seed):
    for draw in (
        lambda r: sample_pairs(GRID, 20, by="differing", random_state=r),
        lambda r: sample_triplets(GRID, 20, random_state=r),
    ):
        np.testing.assert_array_equal(draw(seed), draw(np.random.default_rng(seed)))
        assert (draw(seed) != draw(seed + 1)).any()


def test_scaled_triplets_of_xysquares_never_confuse_equal_distances():
    grid = FactorGrid((8,) * 6)
    a, p, n = grid.factors(sample_triplets(grid, 5000, random_state=0).T.ravel()).reshape(
        3, 5000, 6
    )
    whole = [np.abs(a - other).sum(axis=1) for other in (p, n)]
    assert (whole[0] < whole[1]).all()
    assert (ground_truth(a, p, [8] * 6) < ground_truth(a, n, [8] * 6)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_pairs(GRID, 5, by="nearby"), "by must be one of"),
        (lambda: sample_pairs(GRID, 0), "n must be at least 1"),
        (lambda: sample_pairs(GRID, 5, by="factor", factor="b"), "two values"),
        (lambda: sample_pairs(GRID, 5, by="factor", factor="x"), "'x'"),
        (lambda: sample_pairs(GRID, 5, by="differing", k=4), "between 1 and 3"),
        (lambda: sample_pairs(FactorGrid((1,)), 5), "at least 2 points"),
        (lambda: sample_pairs(FactorGrid((1, 1)), 5, by="factor", self_pairs=True), "two values"),
        (lambda: sample_triplets(FactorGrid((2,)), 5), "at least 3 points"),
        (lambda: sample_triplets(GRID, 5, by="category"), "got none"),
        (lambda: sample_triplets(GRID, 5, by="category", category=[1, 2]), "one class a point"),
        (lambda: sample_triplets(GRID, 5, by="perceived"), "got a grid of factors alone"),
        (lambda: sample_triplets(GRID, 5, among=[1, 1, 2]), "at least 3 points; got 2"),
        (
            lambda: sample_triplets(FactorGrid((9, 1)), 5, by="differing"),
            "got .* in 1000 rounds of draws",
        ),
        (
            lambda: sample_pairs(
                FactorGrid.from_arrays(None, [[0, 0], [1, 1]]), 5, by="factor", factor=0
            ),
            "differ in it alone",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
