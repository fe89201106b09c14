"""Ratios equal the reference and loops, obey their laws, and refuse what says nothing."""

from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.distances.correlations import geometric_mean
from geodis.scores._spreads import (
    axis_variances,
    largest_share,
    linear_variances,
    widths_and_lengths,
)
from tests import GOLDEN
from tests import reference_distances as slow

EXPECTED = GOLDEN / "disent"
RATIOS = np.load(EXPECTED / "factored_ratios_s.npz")
ALL = ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness", "distance_correlation")
VARIANCES = {"axis": axis_variances, "linear": linear_variances}
SPREADS: dict[str, Any] = {"var": np.asarray, "std": np.sqrt}
SEEDS = (0, 1, 2)


def grid_and_code(seed, sizes=(4, 5, 6), z=7):
    rng = np.random.default_rng(seed)
    grid = FactorGrid(sizes)
    factors = grid.factors(range(len(grid)))
    code = factors @ rng.standard_normal((len(sizes), z))
    return grid, code + 0.5 * rng.standard_normal(code.shape)


# Equal to independent software


@pytest.mark.parametrize("case", range(int(RATIOS["n_cases"])))
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("basis", VARIANCES)
def test_ratios_of_traversals_equal_the_reference(case, basis, spread):
    key = f"c{case:02d}_"
    latents = RATIOS[f"{key}latents"].astype(float)
    values = SPREADS[spread](VARIANCES[basis](latents))
    # Where directions outnumber points the peer's last eigenvalue is rounding, and its root 1e-8.
    flat = basis == "linear" and spread == "std" and latents.shape[1] <= latents.shape[2]
    tolerance = 1e-7 if flat else 1e-9
    expected = RATIOS[f"{key}{basis}_values_{spread}"]
    np.testing.assert_allclose(np.sort(values, 1), np.sort(expected, 1), atol=tolerance)
    for top in (None, 2):
        for normalise in (True, False):
            found = largest_share(values, top, normalise)
            name = f"{basis}{'_top2' if top else ''}_{spread}_{'norm' if normalise else 'raw'}"
            expected = RATIOS[key + name]
            if np.isnan(expected).all():  # latents that stand still: the peer divides 0 by 0
                n = top or latents.shape[2]
                expected = np.full(len(found), 0 if normalise else 1 / n)
            np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("case", range(int(RATIOS["n_cases"])))
def test_pooled_ratios_orientation_and_widths_equal_the_reference(case):
    key = f"c{case:02d}_"
    latents = RATIOS[f"{key}latents"].astype(float)
    axis, linear = axis_variances(latents), linear_variances(latents)
    for spread, root in SPREADS.items():
        pooled = largest_share(root(axis).mean(0, keepdims=True))[0]
        expected = np.nan_to_num(RATIOS[f"{key}axis_ave_{spread}"])
        assert pooled == pytest.approx(expected, abs=1e-9)
    on_axis, on_line = largest_share(axis), largest_share(linear)
    expected = np.nan_to_num(RATIOS[f"{key}axis_alignment_var"])
    np.testing.assert_allclose(on_axis / (on_line + 1e-20), expected, atol=1e-9)
    for order in (1, 2):
        width, length = widths_and_lengths(latents, order, order)
        np.testing.assert_allclose(width, RATIOS[f"{key}width_l{order}"], rtol=1e-6)
        assert width.mean() == pytest.approx(RATIOS[f"{key}ave_width_l{order}"], rel=1e-6)
        delta = (length / (latents.shape[1] - 1)).mean()
        assert delta == pytest.approx(RATIOS[f"{key}ave_delta_l{order}"], rel=1e-6)


@pytest.mark.parametrize("file", range(1, 7))
def test_the_whole_metric_equals_the_reference_on_its_draws(file):
    data = np.load(EXPECTED / f"factored_full_s{file}.npz")
    sizes = data["factor_sizes"]
    found: dict[str, list[float]] = {}

    def note(name, value):
        found.setdefault(name, []).append(float(value))

    for j in range(len(sizes)):
        latents = [
            data["codebook"][
                np.ravel_multi_index(tuple(np.moveaxis(data[f"{name}_f{j}"], -1, 0)), sizes)
            ].astype(float)
            for name in ("trav", "flat_trav")
        ]
        axis, linear = axis_variances(latents[0]), linear_variances(latents[0])
        on_axis, on_line = largest_share(axis), largest_share(linear)
        note("linearity.axis_ratio.var", on_axis.mean())
        note("linearity.linear_ratio.var", on_line.mean())
        note("linearity.axis_alignment.var", (on_axis / (on_line + 1e-20)).mean())
        pooled = largest_share(axis.mean(0, keepdims=True))
        note("linearity.axis_ratio_ave.var", pooled[0])
        for norm, orders in (("", (2, 1)), ("_l1", (1, 1)), ("_l2", (2, 2))):
            width, length = widths_and_lengths(latents[1], *orders)
            note(f"flatness.ave_flatness{norm}", width.mean() / length.mean())
    for name, values in found.items():
        mean = np.mean(values) if "flatness" in name else geometric_mean(values)
        assert mean == pytest.approx(float(data[f"score/{name}"]), abs=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_of_a_grid_equal_loops_over_all_traversals(seed):
    grid, code = grid_and_code(seed)
    factors = grid.factors(range(len(grid)))
    for score, share in (
        (scores.axis_ratio, slow.axis_share),
        (scores.linearity_ratio, slow.linear_share),
    ):
        assert float(score(code, grid)) == pytest.approx(slow.ratio(code, factors, share))


# Laws

cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 9))


def drawn(case):
    seed, size, z = case
    rng = np.random.default_rng(seed)
    grid = FactorGrid((size, 3))
    return rng, grid, rng.standard_normal((len(grid), z)) * rng.uniform(0, 3, z)


@given(cases)
@settings(deadline=None, max_examples=40)
def test_linearity_is_invariant_to_rotation(case):
    rng, grid, code = drawn(case)
    turn = ortho_group.rvs(code.shape[1], random_state=np.random.RandomState(case[0] % 2**31))
    for spread in ("variance", "std"):
        first = float(scores.linearity_ratio(code, grid, spread=spread))
        second = float(scores.linearity_ratio(code @ turn, grid, spread=spread))
        assert first == pytest.approx(second, abs=1e-8)
    assert rng


@given(cases)
@settings(deadline=None, max_examples=40)
def test_no_axis_is_better_than_the_best_line(case):
    _, grid, code = drawn(case)
    axis, linear = scores.axis_ratio(code, grid), scores.linearity_ratio(code, grid)
    assert (axis.per_factor <= linear.per_factor + 1e-12).all()
    assert float(axis) <= float(linear) + 1e-12
    turned = scores.axis_orientation(code, grid)
    assert 0 <= float(turned) <= 1 + 1e-12
    assert float(turned) * float(linear) == pytest.approx(float(axis), abs=1e-12)


@given(cases, st.floats(0.01, 100), st.floats(-50, 50))
@settings(deadline=None, max_examples=25)
def test_all_are_invariant_to_scale_and_translation(case, scale, shift):
    _, grid, code = drawn(case)
    for name in ALL:
        if name == "distance_correlation" and max(grid.sizes) < 3:
            continue
        options = {"random_state": 0}
        first = float(getattr(scores, name)(code, grid, **options))
        second = float(getattr(scores, name)(scale * code + shift, grid, **options))
        assert first == pytest.approx(second, abs=1e-7)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_very_large_and_very_small_latents_score_as_any_other(name, scale):
    grid, code = grid_and_code(0)
    first, second = (getattr(scores, name)(c, grid, random_state=0) for c in (code, code * scale))
    np.testing.assert_allclose(second.per_factor, first.per_factor, atol=1e-9)
    assert float(second) == pytest.approx(float(first), abs=1e-9)


@given(cases)
@settings(deadline=None, max_examples=25)
def test_the_order_of_latents_does_not_matter(case):
    rng, grid, code = drawn(case)
    mixed = code[:, rng.permutation(code.shape[1])] * rng.choice([-1, 1], code.shape[1])
    for name in ("linearity_ratio", "axis_ratio", "flatness"):
        first, second = (float(getattr(scores, name)(c, grid)) for c in (code, mixed))
        assert first == pytest.approx(second, abs=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_a_perfect_axis_scores_one(name):
    grid = FactorGrid((4, 5, 6))
    code = grid.factors(range(120)) * [1.0, 10.0, 0.1]
    spare = np.zeros((120, 2))
    found = getattr(scores, name)(np.hstack([code, spare]), grid, random_state=0)
    assert float(found) == pytest.approx(1)
    np.testing.assert_allclose(found.per_factor, 1)


def test_a_diagonal_line_is_linear_and_not_aligned():
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)) @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert float(scores.linearity_ratio(code, grid)) == pytest.approx(1)
    assert float(scores.axis_ratio(code, grid)) == pytest.approx(0)
    assert float(scores.flatness(code, grid)) == pytest.approx(np.sqrt(0.5))
    assert float(scores.flatness(code, grid, norm="l2")) == pytest.approx(1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_of_isotropic_noise_is_known(seed):
    # Variances of S normal numbers are chi-squared: their expected largest share by simulation,
    # written without the library. Long traversals have almost equal shares.
    z, size = 5, 8
    rng = np.random.default_rng(100)
    chi = rng.chisquare(size - 1, (200_000, z))
    expected = ((chi.max(1) / chi.sum(1)).mean() - 1 / z) / (1 - 1 / z)
    grid = FactorGrid((size, 3000))
    noise = np.random.default_rng(seed).standard_normal((len(grid), z))
    found = scores.axis_ratio(noise, grid)
    assert found.per_factor[0] == pytest.approx(expected, abs=0.01)
    assert found.per_factor[1] == pytest.approx(0, abs=0.02)
    assert scores.linearity_ratio(noise, grid).per_factor[1] == pytest.approx(0, abs=0.03)


# From a sample, from an encoder


@pytest.mark.parametrize("name", ALL)
def test_rows_of_a_whole_grid_in_any_order_score_as_the_grid(name, rng):
    grid, code = grid_and_code(0)
    rows = rng.permutation(len(grid))
    table = pandas.DataFrame(grid.factors(rows), columns=["a", "b", "c"])
    whole = getattr(scores, name)(code, grid, random_state=0)
    found = getattr(scores, name)(code[rows], table, random_state=0)
    assert float(found) == pytest.approx(float(whole), abs=0.02 * (name == "distance_correlation"))
    assert found.factor_names == ("a", "b", "c") and not found.note


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_most_rows_of_a_grid_score_nearly_as_all_and_say_so(name, seed):
    grid, code = grid_and_code(seed, sizes=(6, 7, 5))
    rows = np.random.default_rng(seed).permutation(len(grid))[:180]
    whole = getattr(scores, name)(code, grid, random_state=0)
    found = getattr(scores, name)(code[rows], grid.factors(rows), random_state=0)
    assert float(found) == pytest.approx(float(whole), abs=0.1)
    assert "Traversals found among 180 rows" in found.note


def test_repeated_rows_are_one_value_for_flatness(rng):
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)).astype(float)
    rows = rng.permutation(np.repeat(np.arange(30), 3))
    noisy = code[rows] + 1e-6 * rng.standard_normal((90, 2))
    assert float(scores.flatness(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)
    assert float(scores.axis_ratio(noisy, grid.factors(rows))) == pytest.approx(1, abs=1e-4)


def test_an_encoder_scores_as_its_table():
    factors = np.stack(np.unravel_index(np.arange(24), (4, 6)), axis=1)
    images = np.random.default_rng(0).integers(0, 256, (24, 3, 3), dtype=np.uint8)
    grid = FactorGrid.from_arrays(images, factors)
    encoder = lambda x: x.mean(axis=1)[:, :, 0]  # noqa: E731
    table = encoder(grid.images(range(24), "float32")).astype(float)
    for name in ALL:
        first, second = (
            getattr(scores, name)(code, grid, random_state=0) for code in (encoder, table)
        )
        assert float(first) == pytest.approx(float(second), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_traversals_estimate_what_all_give(seed):
    grid, code = grid_and_code(seed, sizes=(6, 20, 20))
    for name in ("linearity_ratio", "axis_ratio", "flatness"):
        whole = getattr(scores, name)(code, grid)
        some = getattr(scores, name)(code, grid, n_traversals=60, random_state=seed)
        assert some.details["n_traversals"] == {"factor 0": 60, "factor 1": 60, "factor 2": 60}
        assert whole.details["n_traversals"]["factor 0"] == 400
        assert float(some) == pytest.approx(float(whole), abs=0.05)
        assert float(some) != float(whole)


# What has no answer by the formula


@pytest.mark.parametrize("name", ALL)
def test_constant_latents_score_zero(name):
    grid = FactorGrid((3, 4))
    found = getattr(scores, name)(np.full((12, 3), 0.1), grid, random_state=0)
    assert float(found) == 0 and (found.per_factor == 0).all()
    assert "nan" not in str(found)


@pytest.mark.parametrize("name", ALL)
def test_a_single_latent_has_a_score(name, rng):
    grid = FactorGrid((3, 4))
    found = getattr(scores, name)(rng.standard_normal((12, 1)), grid, random_state=0)
    assert np.isfinite(float(found)) and np.isfinite(found.per_factor).all()
    assert float(scores.axis_ratio(np.ones((12, 1)), grid)) == 0


@pytest.mark.parametrize("name", ALL)
def test_a_factor_with_one_value_is_left_out_with_a_note(name, rng):
    grid = FactorGrid((3, 1, 4), names=("a", "still", "b"))
    code = rng.standard_normal((12, 3))
    found = getattr(scores, name)(code, grid, random_state=0)
    without = getattr(scores, name)(code, FactorGrid((3, 4)), random_state=0)
    assert "still" in found.note and np.isnan(found.per_factor).tolist() == [False, True, False]
    assert float(found) == pytest.approx(float(without))


def test_two_values_are_a_line_by_definition_and_it_is_said(rng):
    grid = FactorGrid((2, 5), names=("two", "five"))
    found = scores.linearity_ratio(rng.standard_normal((10, 3)), grid)
    assert found.per_factor[0] == pytest.approx(1) and "two points" in found.note
    still = scores.linearity_ratio(np.ones((10, 3)), grid)
    assert still.per_factor[0] == 0 and "1 wherever latents move" in still.note


def test_what_is_left_out_is_said_once(rng):
    grid = FactorGrid((1, 2, 6, 7), names=("one", "two", "six", "seven"))
    rows = rng.permutation(len(grid))[:75]
    code = rng.standard_normal((len(grid), 3))
    table = pandas.DataFrame(grid.factors(rows), columns=list(grid.names))
    for found in (
        scores.distance_correlation(code, grid, random_state=0),
        scores.distance_correlation(code[rows], table, random_state=0),
    ):
        assert np.isnan(found.per_factor).tolist() == [True, True, False, False]
        assert found.note.count("one value: one.") == found.note.count("no order: two.") == 1
        assert found.note.count("Left out") == 2


def test_an_encoder_sees_every_image_once(rng):
    factors = np.stack(np.unravel_index(np.arange(24), (4, 6)), axis=1)
    images = rng.integers(0, 256, (24, 3, 3), dtype=np.uint8)
    grid = FactorGrid.from_arrays(images, factors)
    seen = []

    def encoder(x):
        seen.append(len(x))
        return x.mean(axis=1)[:, :, 0]

    for name in ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness"):
        seen.clear()
        getattr(scores, name)(encoder, grid)
        assert sum(seen) == 2 * 24 + 1  # along both factors, and one to count the latents


def test_a_latent_that_stands_for_the_factor_everywhere_pools(rng):
    grid = FactorGrid((6, 40))
    factors = grid.factors(range(240))
    code = np.zeros((240, 4))
    code[np.arange(240), factors[:, 1] % 4] = factors[:, 0]  # another latent on every traversal
    assert scores.axis_ratio(code, grid).per_factor[0] == pytest.approx(1)
    assert scores.axis_ratio(code, grid, pooled=True).per_factor[0] == pytest.approx(0)
    matrix = scores.axis_ratio(code, grid).matrix
    assert matrix is not None
    np.testing.assert_allclose(matrix[:, 0], 0.25)


def test_distance_correlation_has_a_global_value_and_intervals(rng):
    grid, code = grid_and_code(0)
    found = scores.distance_correlation(code, grid, confidence=0.9, n_pairs=500, random_state=0)
    assert -1 <= found.details["global"] <= 1
    low, high = found.details["intervals"]["factor 0"]
    assert low <= found.per_factor[0] <= high
    lifted = scores.distance_correlation(
        rng.standard_normal(code.shape), grid, self_pairs=True, random_state=0
    )
    assert float(lifted) > 0.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, z: scores.axis_ratio(z, np.arange(60)[:, None] // [1, 1]), "5 sets of rows"),
        (lambda f, z: scores.flatness(z, f[:, :1] * 0), "at least two values; none came"),
        (lambda f, z: scores.linearity_ratio(z, f[:30]), "as many rows"),
        (lambda f, z: scores.linearity_ratio(z, FactorGrid((3, 3))), r"shape \(9, z\)"),
        (lambda f, z: scores.axis_ratio(z[:9, :0], FactorGrid((3, 3))), r"shape \(9, 0\) came"),
        (lambda f, z: scores.axis_ratio(z, f, spread="range"), "spread must be one of"),
        (lambda f, z: scores.axis_ratio(z, f, top=1), "top must be at least 2"),
        (lambda f, z: scores.flatness(z, f, norm="l3"), "norm must be one of"),
        (lambda f, z: scores.axis_ratio(z, f, n_traversals=0), "n_traversals must be at least 1"),
        (lambda f, z: scores.distance_correlation(z, f, kind="cosine"), "kind must be one of"),
        (
            lambda f, z: scores.distance_correlation(z[:4], FactorGrid((2, 2))),
            "three values, or self_pairs",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message, rng):
    factors = np.stack(np.unravel_index(np.arange(60), (4, 15)), axis=1)
    latents = rng.standard_normal((60, 3))
    with pytest.raises(InputError, match=message):
        call(factors, latents)


def test_a_single_factor_has_one_traversal_and_that_is_enough(rng):
    factors = rng.integers(6, size=(60, 1))
    latents = factors * [1.0, 2.0] + 0.01 * rng.standard_normal((60, 2))
    for name in ALL:
        found = getattr(scores, name)(latents, np.hstack([factors, 0 * factors]), random_state=0)
        assert "factor 0 1." in found.note and "Left out" in found.note
        assert float(found) > 0.5


def test_a_sample_with_too_few_traversals_says_how_many_it_has(rng):
    factors = rng.integers(30, size=(200, 3))
    with pytest.raises(InputError, match=r"200 rows came, with so many: factor 0 \d"):
        scores.linearity_ratio(rng.standard_normal((200, 4)), factors)


def test_a_factor_with_too_few_traversals_is_left_out_and_it_is_said(rng):
    # The second and the third vary together, so no rows differ in one of them alone.
    pairs = np.stack(np.divmod(np.arange(160), 4), axis=1)
    lone = np.column_stack([pairs[:, 1], pairs[:, 0], pairs[:, 0] // 2])
    latents = lone * [1.0, 1.0, 0.3] + 0.01 * rng.standard_normal(lone.shape)
    for name in ALL:
        found = getattr(scores, name)(latents, lone, random_state=0)
        assert "Left out, for they need 5 of them: factor 1, factor 2." in found.note
        assert np.isfinite(found.per_factor[0]) and np.isnan(found.per_factor[1:]).all()
        assert float(found) == pytest.approx(found.per_factor[0])
