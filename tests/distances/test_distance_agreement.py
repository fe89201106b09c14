"""Correlations between kinds of distances reproduce exact and published values."""

import json

import numpy as np
import pytest
import scipy.stats

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares
from geodis.distances import (
    GridDistances,
    box_blur,
    correlation,
    distance_correlations,
    gaussian_blur,
    overlap,
    random_pairs,
)
from tests import GOLDEN

EXACT = json.loads((GOLDEN / "kernels" / "correlations.json").read_text())
TRUTH_SEEN, TRUTH_LATENT = ("ground truth", "perceived"), ("ground truth", "latent")


@pytest.fixture(scope="module")
def one_square():
    """All images of one square: distances along a factor of XYSquares are three times smaller."""
    return {spacing: XYSquares(spacing, n_squares=1, rgb=False) for spacing in (1, 2, 4, 8)}


@pytest.mark.parametrize("spacing", [1, 2, 4, 8])
@pytest.mark.parametrize("self_pairs", [True, False])
def test_correlations_along_factors_equal_the_exact_ones(one_square, spacing, self_pairs):
    agreement = distance_correlations(one_square[spacing], self_pairs=self_pairs, random_state=0)
    end = "" if self_pairs else "_noself"
    assert len(agreement.factors) == 2
    for name, item in agreement.factors.items():
        assert agreement.exact[name]
        for kind in ("spearman", "pearson"):
            value = EXACT[f"mse/sp{spacing}"][f"factor_x_{kind}{end}"]  # None: all are equal
            assert getattr(item[TRUTH_SEEN], kind) == pytest.approx(value or 0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "key"), [("box:31", "box_r31"), ("gaussian:31", "gau_r31"), ("box:15", "box_r15")]
)
@pytest.mark.parametrize("self_pairs", [True, False])
def test_blurred_correlations_equal_the_exact_ones(loss, key, self_pairs):
    # What a blur sees near an edge depends on y: one square takes every y.
    grid = XYSquares(8, n_squares=1, rgb=False)
    kind, _, radius = loss.partition(":")
    blur = {"box": box_blur, "gaussian": gaussian_blur}[kind](int(radius), alpha=3969)
    agreement = distance_correlations(grid, loss=blur, self_pairs=self_pairs)
    expected = EXACT[f"{key}/sp8/combined_sum_a3969"]
    end = "" if self_pairs else "_noself"
    for item in agreement.factors.values():
        for measure in ("spearman", "pearson"):
            value = expected[f"factor_x_{measure}{end}"]
            assert getattr(item[TRUTH_SEEN], measure) == pytest.approx(value, abs=1e-8)


class SingleLoss:
    """The mean squared error of images that were computed in single precision, as on a GPU."""

    name = "single"

    def parts(self, images):
        noise = 1 + 3e-7 * np.random.default_rng(0).uniform(-1, 1, images.shape)
        return [(1 / images[0].size, (images / 255 * noise).astype(np.float32))]


@pytest.mark.parametrize("self_pairs", [True, False])
def test_rounding_of_single_precision_makes_no_order(self_pairs):
    grid = XYSquares(4, n_squares=1, rgb=False)
    agreement, exact = (
        distance_correlations(grid, loss=loss, self_pairs=self_pairs).factors["x"][TRUTH_SEEN]
        for loss in (SingleLoss(), "mse")
    )
    assert agreement.spearman == pytest.approx(exact.spearman, abs=1e-12)
    a, b = np.divmod(np.arange(64**2), 64)
    distances = GridDistances(grid, loss=SingleLoss())
    seen = distances.between(a, b, "perceived")
    truth = distances.between(a, b, "ground truth")
    kept = correlation(truth, seen).spearman
    broken = scipy.stats.spearmanr(truth, seen).statistic
    assert kept - broken > 0.001


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("spacing", [1, 2, 4, 8])
def test_random_pairs_of_xysquares_equal_the_reference(spacing, seed):
    expected = EXACT[f"mse/sp{spacing}"]
    for self_pairs, end in ((False, "random"), (True, "random_b32")):
        agreement = distance_correlations(
            XYSquares(spacing), self_pairs=self_pairs, n_pairs=20_000, random_state=seed
        ).random[TRUTH_SEEN]
        assert agreement.spearman == pytest.approx(expected[f"{end}_spearman"], abs=0.02)
        assert agreement.pearson == pytest.approx(expected[f"{end}_pearson"], abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_scores_nothing_without_self_pairs_and_much_with_them(seed):
    grid = FactorGrid((4, 5, 6))
    noise = np.random.default_rng(seed).standard_normal((len(grid), 6))
    clean = distance_correlations(grid, noise, random_state=0)
    lifted = distance_correlations(grid, noise, self_pairs=True, random_state=0)
    assert abs(clean.random[TRUTH_LATENT].spearman) < 0.1
    for name in grid.names:
        assert abs(clean.factors[name][TRUTH_LATENT].spearman) < 0.25
        assert lifted.factors[name][TRUTH_LATENT].spearman > 0.3
    assert lifted.overall[TRUTH_LATENT][1] > 0.3


def test_a_code_of_images_and_its_table_agree():
    grid = XYSquares(4, n_squares=1, rgb=False)
    encoder = lambda images: images.mean(axis=(1, 3))  # noqa: E731
    table = encoder(grid.images(range(len(grid)), "float32"))
    for options in ({}, {"self_pairs": True}, {"kind": "l2"}):
        first = distance_correlations(grid, encoder, n_pairs=500, random_state=1, **options)
        second = distance_correlations(grid, table, n_pairs=500, random_state=1, **options)
        assert str(first) == str(second)
        assert list(first.random) == [TRUTH_SEEN, TRUTH_LATENT, ("perceived", "latent")]


def test_latents_that_copy_the_images_have_perceived_distances():
    grid = XYSquares(4, n_squares=1, rgb=False)
    table = grid.images(range(len(grid))).reshape(len(grid), -1).astype(float)
    agreement = distance_correlations(grid, table, kind="l1", loss="mae", random_state=0)
    for item in (agreement.random, *agreement.factors.values()):
        assert item["perceived", "latent"].spearman == pytest.approx(1)


def test_a_negative_factor_makes_the_mean_zero():
    grid = FactorGrid((5, 5), names=("good", "bad"))
    factors = grid.factors(range(25))
    folded = np.array([0.0, 2.0, 4.0, 1.0, 0.1])[factors[:, 1]]
    agreement = distance_correlations(grid, np.stack([factors[:, 0] * 9.0, folded], 1))
    assert agreement.factors["good"][TRUTH_LATENT].spearman == pytest.approx(1)
    assert agreement.factors["bad"][TRUTH_LATENT].spearman < 0
    assert agreement.overall[TRUTH_LATENT] == (0.0, 0.0)


def test_factors_without_an_order_are_left_out_with_a_note(rng):
    grid = FactorGrid((1, 2, 5), names=("one", "two", "five"))
    code = rng.standard_normal((10, 3))
    agreement = distance_correlations(grid, code)
    assert set(agreement.factors) == {"five"} and "Left out: one, two" in agreement.note
    lifted = distance_correlations(grid, code, self_pairs=True)
    assert set(lifted.factors) == {"two", "five"} and "Left out: one" in lifted.note


def test_where_no_factor_has_an_order_there_is_no_mean():
    agreement = distance_correlations(FactorGrid((2, 2)), np.array([[0.0], [1.0], [2.0], [4.0]]))
    assert (
        not agreement.factors
        and not agreement.overall
        and "Left out: factor 0, factor 1" in agreement.note
    )
    assert "geometric mean" not in str(agreement)


def test_a_factor_in_which_alone_no_points_differ_is_left_out_for_that(rng):
    rows = [[0, 0], [1, 1], [2, 2], [3, 3]]
    grid = FactorGrid.from_arrays(None, rows, ["u", "v"])
    agreement = distance_correlations(grid, rng.standard_normal((4, 2)))
    assert "Left out: u, v (no two points differ in it alone)." in agreement.note
    assert "no order" not in agreement.note


def test_a_single_traversal_has_no_interval_and_it_is_said(rng):
    grid = FactorGrid((30,), names=("only",))
    agreement = distance_correlations(grid, rng.standard_normal((30, 2)), confidence=0.9)
    assert agreement.factors["only"][TRUTH_LATENT].spearman_interval is None
    assert agreement.random[TRUTH_LATENT].spearman_interval is not None
    assert "No intervals along only" in agreement.note


def test_constant_sides_are_zero_and_said_so():
    grid = XYSquares(8, n_squares=1, rgb=False)
    agreement = distance_correlations(grid, np.zeros((64, 2)))
    for item in agreement.factors.values():
        assert all(value.spearman == 0 and value.note for value in item.values())
    text = str(agreement)
    assert "nan" not in text and "one side has no order" in text


def test_traversals_of_a_sample_are_found_among_its_rows(rng):
    full = XYSquares(2, n_squares=1, rgb=False)
    rows = rng.permutation(64)[:50]
    images = full.images(rows)
    sample = FactorGrid.from_arrays(images, full.factors(rows), full.names, sizes=full.sizes)
    agreement, whole = (distance_correlations(grid, random_state=0) for grid in (sample, full))
    assert "50 of 64 combinations" in agreement.note
    for name in full.names:
        assert agreement.factors[name][TRUTH_SEEN].spearman == pytest.approx(
            whole.factors[name][TRUTH_SEEN].spearman, abs=0.03
        )


def test_intervals_are_printed_and_written(rng):
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)) + 0.5 * rng.standard_normal((30, 2))
    agreement = distance_correlations(grid, code, confidence=0.9, random_state=0)
    item = agreement.factors["factor 0"][TRUTH_LATENT]
    assert item.spearman_interval and item.spearman_interval[0] <= item.spearman
    assert "[" in str(agreement)
    plain = agreement.to_dict()["factors"]["factor 0"]["ground truth ~ latent"]
    assert plain["spearman"] == item.spearman
    table = agreement.frame()
    assert list(table["factor"]) == ["random", "factor 0", "factor 1"]


def test_scaling_evens_out_factors_of_different_size():
    grid = FactorGrid((2, 20))
    even = grid.factors(range(40)) / [1.0, 19.0]
    scaled = distance_correlations(grid, even, scaled=True).random[TRUTH_LATENT]
    steps = distance_correlations(grid, even).random[TRUTH_LATENT]
    assert scaled.spearman == pytest.approx(1) and steps.spearman < 0.9


def test_divergences_between_posteriors(rng):
    grid = FactorGrid((4, 5))
    means = grid.factors(range(20)).astype(float)
    posterior = np.hstack([means, np.zeros((20, 2))])
    agreement = distance_correlations(grid, posterior, kind="kl")
    squared = distance_correlations(grid, means, kind="l2")
    for name in grid.names:
        assert agreement.factors[name][TRUTH_LATENT].spearman == pytest.approx(1)
    assert agreement.random[TRUTH_LATENT].spearman == pytest.approx(
        squared.random[TRUTH_LATENT].spearman
    )


@pytest.mark.parametrize(("spacing", "adversarial"), [(8, True), (7, False), (1, False)])
def test_overlap_of_xysquares(spacing, adversarial):
    overlaps = overlap(XYSquares(spacing), n_pairs=3000, random_state=0)
    assert overlaps.adversarial is adversarial
    assert overlaps.verdict.startswith("Adversarial" if adversarial else "Not adversarial")
    for item in overlaps.factors.values():
        assert item.constant is adversarial
        if adversarial:
            assert (item.told_apart, item.in_order, item.spearman) == (0, 0, 0)
            assert item.mean == pytest.approx(2 * 64 / (3 * 64**2))
        if spacing == 1:
            assert item.told_apart == item.in_order == 1


def test_a_blur_takes_the_adversity_away():
    overlaps = overlap(XYSquares(8), loss="box:31", n_pairs=2000, random_state=0)
    assert not overlaps.adversarial
    assert min(item.in_order for item in overlaps.factors.values()) > 0.95
    assert "box:31" in str(overlaps)


def test_one_constant_factor_is_named_and_is_not_the_whole(rng):
    images = np.zeros((9, 3, 6), np.uint8)
    for i, (a, b) in enumerate(np.ndindex(3, 3)):
        images[i, a, :3] = 255  # elsewhere: constant
        images[i, 0, 3 : 4 + b] = 255  # longer: ordered
    grid = FactorGrid.from_arrays(images, list(np.ndindex(3, 3)), names=["place", "length"])
    overlaps = overlap(grid, random_state=0)
    assert not overlaps.adversarial
    assert overlaps.factors["place"].constant and not overlaps.factors["length"].constant
    assert overlaps.factors["length"].in_order == 1
    assert "all equal along place" in overlaps.verdict


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance_correlations(FactorGrid((3, 3))), "two kinds of distances"),
        (lambda: distance_correlations([[0]]), "must be a FactorGrid; such|FactorGrid"),
        (lambda: distance_correlations(FactorGrid((3, 3)), np.eye(4)), r"shape \(9, z\)"),
        (lambda: distance_correlations(FactorGrid((2,)), np.eye(2)), "at least 3 points; got 2"),
        (lambda: distance_correlations(XYSquares(), n_pairs=1), "n_pairs must be at least 2"),
        (lambda: distance_correlations(XYSquares(), kind="cosine"), "kind must be one of"),
        (lambda: overlap(FactorGrid((3, 3))), "needs images"),
        (lambda: GridDistances(FactorGrid((3,))).between([0], [1], "latent"), "source must be"),
        (
            lambda: overlap(FactorGrid.from_arrays(np.zeros((2, 2, 2), np.uint8), [[0], [1]])),
            "three values",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("ordered", [True, False])
def test_random_pairs_are_all_pairs_where_those_are_few(ordered):
    grid, rng = FactorGrid((3, 2)), np.random.default_rng(0)
    pairs, exact = random_pairs(grid, 30, rng, ordered=ordered)
    assert exact and len({*map(tuple, pairs)}) == len(pairs) == (30 if ordered else 15)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    drawn, exact = random_pairs(grid, 14, rng, ordered=ordered)
    assert not exact and drawn.shape == (14, 2) and (drawn[:, 0] != drawn[:, 1]).all()


def test_one_in_32_random_pairs_is_of_a_point_with_itself_as_published():
    rng = np.random.default_rng(0)
    pairs, _ = random_pairs(FactorGrid((100, 100)), 100_000, rng, self_pairs=True)
    assert (pairs[:, 0] == pairs[:, 1]).mean() == pytest.approx(1 / 32, abs=0.003)
