"""How far from a product: known answers, true products, and things that only look like one."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.holonomy.factor_count import (
    RATIO_PER_LENGTH,
    Departure,
    FactorCount,
    departure_of,
)
from geodis.manifold.local.angles import TangentError
from tests.conftest import sphere, warped


def departure(points, **options):
    return gd.GeoManCER(verbose=0, n_jobs=1, **options).fit(points)


def warped_product(n, strength, seed):
    """S^2 x_f S^2 with f = 1 + c x_3: lengths in the second factor change with the first."""
    rng = np.random.default_rng(seed)
    first, second = sphere(n, 2, rng), sphere(n, 2, rng)
    return np.hstack([first, (1 + strength * first[:, 2:]) * second])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("strength", [0.05, 0.15, 0.3])
def test_the_figure_is_the_spread_of_the_warp(strength, seed):
    est = departure(warped_product(2500, strength, seed))
    true = strength / np.sqrt(3)
    assert abs(est.departure_.value / true - 1) < 0.2
    assert est.departure_.low < est.departure_.value < est.departure_.high
    assert not est.departure_.is_product and est.uncertain_
    assert any("depart from a product" in doubt for doubt in est.doubts_)
    assert est.split_.refined != "ambient"


def test_the_figure_rises_with_the_strength():
    values = [
        departure(warped_product(2000, strength, 0)).departure_.value
        for strength in (0.0, 0.03, 0.08, 0.2)
    ]
    assert (np.diff(values) > 0).all()


def mixed(points, turn):
    """An exact isometry of the ambient space that mixes factors: rotated, each axis rolled up."""
    d = points.shape[1]
    rotated = points @ np.linalg.qr(np.random.default_rng(5).standard_normal((d, d)))[0].T
    return np.hstack([np.cos(turn * rotated), np.sin(turn * rotated)]) / turn


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("spec", "n", "noise", "turn"),
    [
        ("S^2 x S^2", 2000, 0.0, 0),
        ("S^2 x S^2", 3000, 0.05, 0),
        ("S^2 x S^3", 2000, 0.0, 0),
        ("ellipsoid(1,1,3) x S^2", 3000, 0.0, 0),
        ("S^2 x S^2", 2000, 0.0, 1.0),
        ("S^2 x S^1", 1500, 0.0, 1.0),
        ("S^2 x S^2", 400, 0.0, 0),
    ],
)
def test_products_are_products_however_they_lie_in_space(spec, n, noise, turn, seed):
    points = gd.product_manifold(spec, n, noise=noise, random_state=seed).points
    est = departure(mixed(points, turn) if turn else points)
    assert est.departure_.is_product
    assert not any("depart" in doubt for doubt in est.doubts_)


def roll_beside_a_sphere(n, noise, seed):
    """One and a half turns of a roll, 15 x 1: its slowest field is far slower than it turns."""
    rng = np.random.default_rng(seed)
    low, high = 1.5 * np.pi, 4.5 * np.pi
    turn = np.sqrt(low**2 + (high**2 - low**2) * rng.uniform(size=n))
    roll = 0.25 * turn * np.array([np.cos(turn), np.sin(turn)])
    points = np.column_stack([*roll, rng.uniform(0, 1, n), sphere(n, 2, rng)])
    return points + noise * rng.standard_normal(points.shape)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_roll_beside_a_sphere_is_a_product(noise, seed):
    est = departure(roll_beside_a_sphere(3000, noise, seed), dim=4)
    assert est.factor_dims_.tolist() == [2, 1, 1]
    assert est.departure_.is_product
    assert not any("depart" in doubt for doubt in est.doubts_)


def test_what_is_not_clearly_a_product_is_not_refined_as_one():
    estimate = Departure(0.05, 0.0, 0.1, 0.04, strict_low=0.02)
    assert estimate.is_product and not estimate.clearly_product
    assert Departure(0.05, 0.0, 0.1, 0.04, strict_low=0.005).clearly_product


@pytest.mark.parametrize("strength", [0.05, 0.2])
def test_a_sphere_that_grows_along_a_long_line_is_no_product(strength):
    rng = np.random.default_rng(0)
    along = rng.uniform(-1, 1, (3000, 1))
    points = np.hstack([6 * along, (1 + strength * along) * sphere(3000, 2, rng)])
    assert not departure(points).departure_.is_product


def test_a_nonlinear_map_of_the_space_makes_no_product():
    assert not departure(warped("S^2 x S^2", 3000, 0.5)[0], dim=4).departure_.is_product


def test_one_factor_has_nothing_to_depart_from():
    est = departure(sphere(1200, 3, np.random.default_rng(0)))
    assert est.departure_ is None


def two_factors(energies):
    """The departure of fields with these energies (20, 2) in parts; tangents without error."""
    values, nothing = energies.sum(axis=0), np.zeros(2)
    some = np.zeros((20, 3, 2), np.float32)
    fields = Eigenfields(values, some, nothing, nothing, 1, 1, True, 2.0, energies)
    counted = FactorCount(2, False, np.zeros((1, 1, 2, 2)), np.ones((1, 1)), np.zeros(1))
    return departure_of(fields, counted, TangentError(0.0, 0.0))


def test_the_interval_holds_the_true_value_nine_times_in_ten():
    rng = np.random.default_rng(0)
    upper = rng.gamma(4, size=(2000, 20))
    lower = 0.1 * upper * rng.gamma(2, 0.5, size=upper.shape)
    true = np.sqrt(0.1) / RATIO_PER_LENGTH
    found = [two_factors(np.stack([a, b], axis=1) / 80) for a, b in zip(lower, upper, strict=True)]
    held = np.mean([one.low <= true <= one.high for one in found])
    assert 0.84 < held < 0.93
