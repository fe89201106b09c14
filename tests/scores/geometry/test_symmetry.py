"""D_LSBD, equivariance and Z-max variance: known answers."""

import numpy as np
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid


def torus(sizes=(8, 6), names=("a", "b")):
    grid = FactorGrid(sizes, names=names)
    index = grid.factors(range(len(grid)))
    periods = dict(zip(names, map(float, sizes), strict=True))
    return gd.as_factors(index, names=names, periods=periods), 2 * np.pi * index / np.array(sizes)


def test_circles_turn_and_lines_do_not():
    factors, angle = torus()
    circles = np.column_stack([np.cos(angle), np.sin(angle)])
    assert float(scores.d_lsbd(circles, factors)) == pytest.approx(0, abs=1e-12)
    rows = np.random.default_rng(0).permutation(48)
    moved = 5 + 1e9 * circles[rows] @ np.linalg.qr(np.random.default_rng(1).random((4, 4)))[0]
    assert float(scores.d_lsbd(moved, factors.take(rows))) == pytest.approx(0, abs=1e-9)
    line = np.column_stack([angle, np.zeros(48)])
    assert float(scores.d_lsbd(line, factors)) > 0.3
    noise = np.random.default_rng(0).standard_normal((48, 4))
    assert float(scores.d_lsbd(noise, factors)) > 0.8
    half = scores.d_lsbd(circles[:, [0, 2]], factors)  # b stands still
    assert half.per_factor == pytest.approx([0, 1], abs=1e-12)


def test_objects_have_planes_of_their_own():
    factors, angle = torus((8, 3), ("turn", "shape"))
    factors = gd.as_factors(factors.values, names=["turn", "shape"], periods={"turn": 8.0})
    shape = factors.values[:, 1].astype(int)
    planes = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 5, 2)))[0]
    circle = np.stack([np.cos(angle[:, 0]), np.sin(angle[:, 0])], axis=1)
    code = np.einsum("nk,nzk->nz", circle, planes[shape])
    score = scores.d_lsbd(code, factors)
    assert float(score) == pytest.approx(0, abs=1e-9) and np.isnan(score.per_factor[1])


def test_a_turn_whose_last_value_equals_its_first():
    """As the orientations of published sets: 7 steps of a turn, 8 values."""
    angle = 2 * np.pi * np.repeat(np.arange(8), 3) / 7
    names, sizes = ["turn", "size"], np.tile(np.arange(3), 8)
    factors = gd.as_factors(
        np.column_stack([angle, sizes]), names=names, periods={"turn": 2 * np.pi}
    )
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert float(scores.d_lsbd(circle, factors)) == pytest.approx(0, abs=1e-12)
    # On a line of as many steps, the first of which would be the step after the last.
    code = np.column_stack([circle, sizes])
    found = scores.equivariance(code, factors, random_state=0)
    assert found.details["n_steps"] == {"turn": 21, "size": 16}


def test_what_d_lsbd_needs():
    factors, angle = torus()
    with pytest.raises(InputError, match="needs a cyclic factor: give periods to as_factors"):
        scores.d_lsbd(angle, factors.values)
    with pytest.raises(
        InputError, match=r"every combination of values as often .* from 0 to 1 rows"
    ):
        scores.d_lsbd(angle[:-1], factors.take(slice(-1)))
    with pytest.raises(InputError, match="needs two latents at least; got 1"):
        scores.d_lsbd(angle[:, :1], factors)


def test_steps_that_are_linear_maps_wherever_they_start():
    factors, angle = torus((9, 7))
    circles = np.column_stack([np.cos(angle), np.sin(angle)])
    turned = circles @ np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    assert float(scores.equivariance(turned, factors, random_state=0)) == pytest.approx(1, abs=1e-6)
    grid = FactorGrid((9, 7))
    line = grid.factors(range(63)) @ [[1.0, 2.0], [0.5, -1.0]]
    assert float(scores.equivariance(line, grid, random_state=0)) == pytest.approx(1, abs=1e-6)
    bent = np.column_stack([np.sign(np.sin(3 * angle[:, 0])), np.exp(angle[:, 1])])
    assert float(scores.equivariance(bent, factors, random_state=0)) < 0.75
    still = scores.equivariance(np.column_stack([line[:, 0], line[:, 0]]) * 0, grid, random_state=0)
    assert still.per_factor.tolist() == [0, 0]


def test_a_random_code_moves_half_as_far_as_to_its_mean():
    values = []
    for seed in range(20):
        noise = np.random.default_rng(seed).standard_normal((20 * 20, 3))
        values.append(float(scores.equivariance(noise, FactorGrid((20, 20)), random_state=seed)))
    assert np.mean(values) == pytest.approx(0.49, abs=0.03)


def test_the_free_factor_is_recognised():
    factors = np.array(list(np.ndindex(4, 5, 3)))
    perfect = scores.z_max_variance(factors[:, ::-1] * [1.0, 1e-6, 1e6], factors, random_state=0)
    assert float(perfect) == 1 and perfect.matrix.argmax(axis=1).tolist() == [2, 1, 0]
    noise = np.random.default_rng(0).standard_normal((60, 5))
    assert float(scores.z_max_variance(noise, factors, random_state=0)) < 0.7
    # Along a factor that no rows agree beside, nothing can be drawn.
    odd = np.column_stack([factors, factors[:, 0]])
    score = scores.z_max_variance(factors * 1.0, odd, random_state=0)
    assert score.note == "left out, no rows agree in all others: factor 0, factor 3"
    with pytest.raises(InputError, match="needs two factors along which rows agree"):
        scores.z_max_variance(noise, np.arange(60))
