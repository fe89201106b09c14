"""Scores of traversals equal loops, obey their laws, and refuse what says nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from tests.reference import distances as slow

ALL = ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness", "distance_correlation")
SEEDS = (0, 1, 2)


def grid_and_code(seed, sizes=(4, 5, 6), z=7):
    rng = np.random.default_rng(seed)
    grid = FactorGrid(sizes)
    factors = grid.factors(range(len(grid)))
    code = factors @ rng.standard_normal((len(sizes), z))
    return grid, code + 0.5 * rng.standard_normal(code.shape)


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_of_a_grid_equal_loops_over_all_traversals(seed):
    grid, code = grid_and_code(seed)
    factors = grid.factors(range(len(grid)))
    for score, share in (
        (scores.axis_ratio, slow.axis_share),
        (scores.linearity_ratio, slow.linear_share),
    ):
        assert float(score(code, grid)) == pytest.approx(slow.ratio(code, factors, share))


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 9))


def drawn(case):
    seed, size, z = case
    rng = np.random.default_rng(seed)
    grid = FactorGrid((size, 3))
    return rng, grid, rng.standard_normal((len(grid), z)) * rng.uniform(0, 3, z)


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
    scored = getattr(scores, name)(np.hstack([code, spare]), grid, random_state=0)
    assert float(scored) == pytest.approx(1)
    np.testing.assert_allclose(scored.per_factor, 1)


def test_a_diagonal_line_is_linear_and_not_aligned():
    grid = FactorGrid((5, 6))
    code = grid.factors(range(30)) @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert float(scores.linearity_ratio(code, grid)) == pytest.approx(1)
    assert float(scores.axis_ratio(code, grid)) == pytest.approx(0)
    assert float(scores.flatness(code, grid)) == pytest.approx(np.sqrt(0.5))
    assert float(scores.flatness(code, grid, norm="l2")) == pytest.approx(1)


@pytest.mark.parametrize("name", ALL)
def test_constant_latents_score_zero(name):
    grid = FactorGrid((3, 4))
    scored = getattr(scores, name)(np.full((12, 3), 0.1), grid, random_state=0)
    assert float(scored) == 0 and (scored.per_factor == 0).all()
    assert "nan" not in str(scored)


@pytest.mark.parametrize("name", ALL)
def test_a_single_latent_has_a_score(name, rng):
    grid = FactorGrid((3, 4))
    scored = getattr(scores, name)(rng.standard_normal((12, 1)), grid, random_state=0)
    assert np.isfinite(float(scored)) and np.isfinite(scored.per_factor).all()
    assert float(scores.axis_ratio(np.ones((12, 1)), grid)) == 0


@pytest.mark.parametrize("name", ALL)
def test_a_factor_with_one_value_is_left_out_with_a_note(name, rng):
    grid = FactorGrid((3, 1, 4), names=("a", "still", "b"))
    code = rng.standard_normal((12, 3))
    scored = getattr(scores, name)(code, grid, random_state=0)
    without = getattr(scores, name)(code, FactorGrid((3, 4)), random_state=0)
    assert "still" in scored.note and np.isnan(scored.per_factor).tolist() == [False, True, False]
    assert float(scored) == pytest.approx(float(without))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, z: scores.axis_ratio(z, np.arange(60)[:, None] // [1, 1]), "5 sets of rows"),
        (lambda f, z: scores.flatness(z, f[:, :1] * 0), "at least two values; got none"),
        (lambda f, z: scores.linearity_ratio(z, f[:30]), "as many rows"),
        (lambda f, z: scores.linearity_ratio(z, FactorGrid((3, 3))), r"shape \(9, z\)"),
        (lambda f, z: scores.axis_ratio(z[:9, :0], FactorGrid((3, 3))), r"got shape \(9, 0\)"),
        (lambda f, z: scores.axis_ratio(z, f, spread="range"), "spread must be one of"),
        (lambda f, z: scores.axis_ratio(z, f, top=1), "top must be at least 2"),
        (lambda f, z: scores.flatness(z, f, norm="l3"), "norm must be one of"),
        (lambda f, z: scores.axis_ratio(z, f, n_traversals=0), "n_traversals must be at least 1"),
        (lambda f, z: scores.distance_correlation(z, f, kind="cosine"), "kind must be one of"),
        (
            lambda f, z: scores.distance_correlation(z[:4], FactorGrid((2, 2))),
            "three values that have an order, or self_pairs",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message, rng):
    factors = np.stack(np.unravel_index(np.arange(60), (4, 15)), axis=1)
    latents = rng.standard_normal((60, 3))
    with pytest.raises(InputError, match=message):
        call(factors, latents)
