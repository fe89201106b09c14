"""Traversals of a sample, of an encoder, of few rows."""

import numpy as np
import pandas
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.scores.geometry.traversals import open_traversals

ALL = ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness", "distance_correlation")
SEEDS = (0, 1, 2)


def grid_and_code(seed, sizes=(4, 5, 6), z=7):
    rng = np.random.default_rng(seed)
    grid = FactorGrid(sizes)
    factors = grid.factors(range(len(grid)))
    code = factors @ rng.standard_normal((len(sizes), z))
    return grid, code + 0.5 * rng.standard_normal(code.shape)


@pytest.mark.parametrize("name", ALL)
def test_rows_of_a_whole_grid_in_any_order_score_as_the_grid(name, rng):
    grid, code = grid_and_code(0)
    rows = rng.permutation(len(grid))
    table = pandas.DataFrame(grid.factors(rows), columns=["a", "b", "c"])
    whole = getattr(scores, name)(code, grid, random_state=0)
    scored = getattr(scores, name)(code[rows], table, random_state=0)
    assert float(scored) == pytest.approx(float(whole), abs=0.02 * (name == "distance_correlation"))
    assert scored.factor_names == ("a", "b", "c") and not scored.note


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", SEEDS)
def test_most_rows_of_a_grid_score_nearly_as_all_and_say_so(name, seed):
    grid, code = grid_and_code(seed, sizes=(6, 7, 5))
    rows = np.random.default_rng(seed).permutation(len(grid))[:180]
    whole = getattr(scores, name)(code, grid, random_state=0)
    scored = getattr(scores, name)(code[rows], grid.factors(rows), random_state=0)
    assert float(scored) == pytest.approx(float(whole), abs=0.1)
    assert "Traversals found among 180 rows" in scored.note


def test_an_encoder_scores_as_its_table():
    factors = np.stack(np.unravel_index(np.arange(24), (4, 6)), axis=1)
    images = np.random.default_rng(0).integers(0, 256, (24, 3, 3), dtype=np.uint8)
    grid = FactorGrid.from_arrays(images, factors)
    encoder = lambda x: x.mean(axis=1)[:, :, 0]  # noqa: E731
    table = encoder(grid.images(range(24), "float32"))
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


def test_a_single_factor_has_one_traversal_and_that_is_enough(rng):
    factors = rng.integers(6, size=(60, 1))
    latents = factors * [1.0, 2.0] + 0.01 * rng.standard_normal((60, 2))
    for name in ALL:
        scored = getattr(scores, name)(latents, np.hstack([factors, 0 * factors]), random_state=0)
        assert "factor 0 1." in scored.note and "Left out" in scored.note
        assert float(scored) > 0.5


def test_a_sample_with_too_few_traversals_says_how_many_it_has(rng):
    factors = rng.integers(30, size=(200, 3))
    with pytest.raises(InputError, match=r"got 200 rows with so many: factor 0 \d"):
        scores.linearity_ratio(rng.standard_normal((200, 4)), factors)


def test_a_factor_with_too_few_traversals_is_left_out_and_it_is_said(rng):
    # The second and the third vary together, so no rows differ in one of them alone.
    pairs = np.stack(np.divmod(np.arange(160), 4), axis=1)
    lone = np.column_stack([pairs[:, 1], pairs[:, 0], pairs[:, 0] // 2])
    latents = lone * [1.0, 1.0, 0.3] + 0.01 * rng.standard_normal(lone.shape)
    for name in ALL:
        scored = getattr(scores, name)(latents, lone, random_state=0)
        assert "Left out, for they need 5 of them: factor 1, factor 2." in scored.note
        assert np.isfinite(scored.per_factor[0]) and np.isnan(scored.per_factor[1:]).all()
        assert float(scored) == pytest.approx(scored.per_factor[0])


def test_traversals_of_incomplete_rows_have_three_values_or_all():
    rng = np.random.default_rng(0)
    factors = np.stack(np.unravel_index(np.arange(60), (2, 5, 6)), axis=1)
    rows = rng.permutation(60)[:36]
    opened = open_traversals(rng.standard_normal((36, 3)), factors[rows], "flatness", None, 0)
    for j, least in enumerate((2, 3, 3)):
        assert opened.traversals[j].lengths.min() == least


def test_rounding_of_single_precision_is_no_movement_in_the_table():
    """The table calls every score of a grid with the latents as they were given."""
    grid, code = grid_and_code(0, z=3)
    steps = 100.0 * grid.factors(range(len(grid)))[:, :1]  # moves with the first factor alone
    noise = 1e-5 * np.random.default_rng(0).standard_normal((len(grid), 1))
    given = np.hstack([code, steps + noise]).astype(np.float32)
    table = gd.score_latents(given, grid, ["linearity_ratio", "axis_ratio"], chance=0, verbose=0)
    for name in ("linearity_ratio", "axis_ratio"):
        score = getattr(scores, name)
        assert table[name] == float(score(given, grid)) != float(score(given.astype(float), grid))
