"""Traversals, average matrices and factor importance equal loops over all pairs."""

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYObject, XYSquares
from geodis.distances import (
    factor_importance,
    perceived_between,
    traversal_matrices,
    traversal_matrix,
)
from geodis.distances.grid_distances import (
    MIN_SAMPLED,
    grid_traversals,
    row_traversals,
    traversal_pairs,
)
from tests.reference import distances as slow

SIZES = (3, 4, 2)


def small_grid(rng, dtype=np.uint8):
    factors = np.stack(np.unravel_index(np.arange(24), SIZES), axis=1)
    images = rng.integers(0, 256, (24, 4, 5, 3), dtype=np.uint8)
    if dtype != np.uint8:
        images = rng.random(images.shape).astype(dtype)
    return FactorGrid.from_arrays(images, factors, names=["a", "b", "c"]), images, factors


@pytest.mark.parametrize("j", range(3))
@pytest.mark.parametrize("n", [24, 15])
def test_traversals_of_a_grid_or_of_rows_equal_loops(rng, j, n):
    rows = rng.permutation(24)[:n]
    factors = np.stack(np.unravel_index(rows, SIZES), axis=1)
    grid = FactorGrid.from_arrays(None, factors, sizes=SIZES)
    traversals = grid_traversals(grid, j, None, np.random.default_rng(0))
    own = grid.factors(range(len(grid)))
    expected = [group for group in slow.traversals(own.tolist(), j) if len(group) > 1]
    pieces = np.split(traversals.index, traversals.start[1:-1])
    assert sorted(map(tuple, pieces)) == sorted(map(tuple, expected))
    assert len(traversals) == traversals.n_all


def test_rows_of_one_combination_stay_together_and_too_few_values_are_no_traversal():
    factors = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [0, 2]])
    two = row_traversals(factors, 1)
    assert two.index.tolist() == [0, 1, 2, 5] and two.start.tolist() == [0, 4]
    assert len(row_traversals(factors, 1, min_values=4)) == 0
    assert len(row_traversals(factors, 0)) == 1


def test_drawn_traversals_are_whole_different_and_counted():
    grid = FactorGrid((8,) * 4)
    traversals = grid_traversals(grid, 2, 100, np.random.default_rng(0))
    index = traversals.index.reshape(100, 8)
    rows = grid.factors(index.ravel()).reshape(100, 8, 4)
    assert (rows[:, :, 2] == np.arange(8)).all()
    assert (np.delete(rows, 2, axis=2) == np.delete(rows, 2, axis=2)[:, :1]).all()
    assert len(np.unique(index[:, 0])) == 100 and traversals.n_all == 512


@pytest.mark.parametrize(
    ("self_pairs", "ordered", "each"), [(False, False, 28), (False, True, 56), (True, False, 64)]
)
def test_all_pairs_of_a_traversal(self_pairs, ordered, each):
    grid = FactorGrid((8, 3))
    rng = np.random.default_rng(0)
    traversals = grid_traversals(grid, 0, None, rng)
    pairs = traversal_pairs(traversals, None, rng, self_pairs=self_pairs, ordered=ordered)
    assert len(pairs.a) == 3 * each and pairs.exact
    assert len(set(zip(pairs.a, pairs.b, strict=True))) == 3 * each
    a, b = grid.factors(pairs.a), grid.factors(pairs.b)
    assert (a[:, 1] == b[:, 1]).all() and (a[:, 1] == pairs.group).all()
    assert (pairs.a == pairs.b).any() == self_pairs


@pytest.mark.parametrize("self_pairs", [False, True])
def test_drawn_pairs_are_spread_evenly_over_traversals(self_pairs):
    grid = FactorGrid((30, 10))
    rng = np.random.default_rng(0)
    traversals = grid_traversals(grid, 0, None, rng)
    pairs = traversal_pairs(traversals, 1000, rng, self_pairs=self_pairs)
    assert (np.bincount(pairs.group) == 100).all() and not pairs.exact
    assert (pairs.a == pairs.b).any() == self_pairs
    gaps = np.abs(grid.factors(pairs.a)[:, 0] - grid.factors(pairs.b)[:, 0])
    expected = (30 - np.arange(1, 30)) / np.arange(29, 0, -1).sum()
    counts = np.bincount(gaps[gaps > 0], minlength=30)[1:]
    np.testing.assert_allclose(counts / counts.sum(), expected, atol=0.035)


@pytest.mark.parametrize("loss", ["mse", "bce"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("j", range(3))
def test_the_matrix_equals_loops_over_all_traversals(rng, j, dtype, loss):
    grid, images, factors = small_grid(rng, dtype)
    distance = getattr(slow, loss)
    expected = slow.traversal_matrix(
        factors.tolist(), j, SIZES[j], lambda a, b: distance(images[a], images[b])
    )
    matrix = traversal_matrix(grid, j, loss=loss, n_traversals=None)
    np.testing.assert_allclose(matrix, expected, rtol=1e-5, atol=1e-8)


def test_matrices_of_latent_and_ground_truth_distances(rng):
    grid, _, factors = small_grid(rng)
    code = rng.standard_normal((24, 5))
    expected = slow.traversal_matrix(
        factors.tolist(), 1, 4, lambda a, b: np.abs(code[a] - code[b]).sum()
    )
    matrix = traversal_matrix(grid, "b", "latent", code=code, n_traversals=None)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)
    truth = traversal_matrix(grid, "b", "ground truth")
    np.testing.assert_array_equal(truth, np.abs(np.subtract.outer(range(4), range(4))))
    scaled = traversal_matrix(grid, "b", "ground truth", scaled=True)
    np.testing.assert_allclose(scaled, truth / 3)


def test_all_matrices_are_those_of_one_factor_and_source(rng):
    grid, _, _ = small_grid(rng)
    code = rng.standard_normal((24, 5))
    options = {"code": code, "n_traversals": 2, "random_state": 3}
    matrices = traversal_matrices(grid, max_values=3, **options)
    assert [*matrices] == ["ground truth", "perceived", "latent"]
    for source, by_factor in matrices.items():
        few = [name for name, size in zip(grid.names, grid.sizes, strict=True) if size <= 3]
        assert [*by_factor] == few and 0 < len(few) < len(grid.names)
        for name, matrix in by_factor.items():
            np.testing.assert_array_equal(matrix, traversal_matrix(grid, name, source, **options))


def test_pairs_that_a_sample_never_has_are_unknown(rng):
    images = rng.integers(0, 256, (3, 2, 2), dtype=np.uint8)
    grid = FactorGrid.from_arrays(images, [[0, 0], [2, 0], [1, 1]], sizes=(3, 2))
    matrix = traversal_matrix(grid, 0, n_traversals=None)
    assert np.isnan(matrix[0, 1]) and np.isnan(matrix[1, 1])
    assert matrix[0, 2] == matrix[2, 0] == pytest.approx(slow.mse(images[0], images[1]))


def test_xysquares_distances_grow_linearly_at_spacing_1_and_not_at_all_at_8():
    # A square of side 8 that moves by s leaves 8 s pixels and enters as many.
    steps = np.abs(np.subtract.outer(range(8), range(8)))
    for spacing in range(1, 9):
        matrix = traversal_matrix(XYSquares(spacing), 2, n_traversals=2, random_state=0)
        np.testing.assert_allclose(matrix, 16 * np.minimum(spacing * steps, 8) / (3 * 64**2))


def test_importance_equals_loops_over_all_pairs(rng):
    grid, images, factors = small_grid(rng)
    importance = factor_importance(grid, n_pairs=10**6, random_state=0)
    for j, name in enumerate(grid.names):
        values = [
            slow.mse(images[a], images[b])
            for rows in slow.traversals(factors.tolist(), j)
            for a in rows
            for b in rows
            if a != b
        ]
        assert importance.exact[name]
        assert importance.mean[name] == pytest.approx(np.mean(values))
        assert importance.std[name] == pytest.approx(np.std(values), abs=1e-12)
        assert len(importance.distances[name]) == importance.n_pairs[name] == len(values) / 2
    everything = [slow.mse(images[a], images[b]) for a in range(24) for b in range(a)]
    assert importance.mean["random"] == pytest.approx(np.mean(everything))
    means = [importance.mean[name] for name in importance.names]
    assert means == sorted(means, reverse=True)
    assert "random" in str(importance) and "(all)" in str(importance)
    assert importance.to_dict()["factors"]["a"]["mean"] == importance.mean["a"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_xysquares_has_the_published_importance(seed):
    importance = factor_importance(XYSquares(8), n_pairs=20_000, random_state=seed)
    for name in XYSquares(8).names:
        assert importance.mean[name] == pytest.approx(2 * 64 / (3 * 64**2))  # 0.0104
        assert importance.std[name] == pytest.approx(0, abs=1e-15)
    assert importance.mean["random"] == pytest.approx(0.0308, abs=2e-4)
    assert importance.std["random"] == pytest.approx(0.0022, abs=2e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_drawn_pairs_estimate_what_all_pairs_give(seed):
    grid = XYObject()
    some = factor_importance(grid, n_pairs=3000, random_state=seed)
    many = factor_importance(grid, n_pairs=40_000, random_state=99)
    for name in grid.names:
        assert some.mean[name] == pytest.approx(many.mean[name], rel=0.15)
        assert some.n_pairs[name] >= min(3000, MIN_SAMPLED)


def test_batches_do_not_change_distances(rng, monkeypatch):
    grid = XYObject()
    a, b = rng.integers(len(grid), size=(2, 500))
    whole = perceived_between(grid, a, b)
    monkeypatch.setattr("geodis.distances.grid_distances.BUDGET", 1)
    np.testing.assert_array_equal(perceived_between(grid, a, b), whole)
    x, y = (grid.images(side).astype(float) / 255 for side in (a, b))
    np.testing.assert_allclose(whole, ((x - y) ** 2).mean(axis=(1, 2, 3)), rtol=1e-12)


def test_importance_leaves_out_a_factor_with_one_value(rng):
    images = rng.integers(0, 256, (3, 2, 2), dtype=np.uint8)
    grid = FactorGrid.from_arrays(images, [[0, 0], [0, 1], [0, 2]], names=["still", "moves"])
    importance = factor_importance(grid)
    assert set(importance.names) == {"random", "moves"} and "Left out: still" in importance.note


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: traversal_matrix(FactorGrid((2, 2)), 0), "need images"),
        (lambda: traversal_matrix(FactorGrid((2, 2)), 0, "latent"), "need a code"),
        (lambda: traversal_matrix(FactorGrid((2, 2)), 5, "ground truth"), "between 0 and 1"),
        (lambda: traversal_matrix(FactorGrid((2, 2)), 0, "seen"), "source must be .* 'seen'"),
        (lambda: traversal_matrix([[1, 2]], 0), "must be a FactorGrid"),
        (lambda: factor_importance(FactorGrid((2, 2))), "needs images"),
        (lambda: perceived_between(FactorGrid((2, 2)), [0], [1]), "need images"),
        (lambda: perceived_between(XYSquares(), [0], [1, 2]), "as long as each other"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
