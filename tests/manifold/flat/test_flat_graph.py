"""The order along a curve: checked against local fits, and mended where edges lead across."""

import numpy as np
import pytest

from geodis import GeoManCER
from geodis.manifold.flat.flat_graph import WRONG_ORDER, curve_order, mended_curve, order_error

OPEN = np.zeros((0, 1))
TURN = np.array([[2 * np.pi]])


def helix(n, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 16, n)
    points = np.column_stack([np.cos(t), np.sin(t), 0.2 * t])
    return points + noise * rng.standard_normal((n, 3)), t


def ring(n, seed, noise, d=2):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    points = np.pad(np.column_stack([np.cos(t), np.sin(t)]), ((0, 0), (0, d - 2)))
    return points + noise * rng.standard_normal((n, d)), t


def star(arms, n, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    ends = rng.standard_normal((arms, 3))
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    points = ends[rng.integers(arms, size=n)] * rng.uniform(size=(n, 1))
    return points + noise * rng.standard_normal((n, 3))


def literal_order_error(points, coordinates, period, count):
    """`order_error` point by point, with `polyfit`."""
    along, local = [], []
    for i in range(len(points)):
        others = np.delete(np.arange(len(points)), i)
        step = coordinates[others] - coordinates[i]
        if period:
            step = (step + period / 2) % period - period / 2
        near = np.argsort(np.abs(step), kind="stable")[:count]
        fit = np.polyfit(step[near], points[others[near]], 2)[2]
        along.append(((points[i] - fit) ** 2).sum())
        chord = points[others] - points[i]
        near = np.argsort((chord**2).sum(axis=1), kind="stable")[:count]
        centred = chord[near] - chord[near].mean(axis=0)
        first = chord[near] @ np.linalg.svd(centred)[2][0]
        fit = np.polyfit(first, points[others[near]], 2)[2]
        local.append(((points[i] - fit) ** 2).sum())
    none = 1e-3 * points.var(axis=0).sum()
    return (np.mean(along) + none) / (np.mean(local) + none)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_error_is_that_of_a_literal_twin(noise):
    points, angle = ring(150, 0, noise, 3)
    shuffled = np.random.default_rng(1).permutation(angle)
    for coordinates, periods, period in (
        (angle, TURN, 2 * np.pi),
        (angle, OPEN, 0.0),
        (points[:, 0], OPEN, 0.0),
        (shuffled, TURN, 2 * np.pi),
    ):
        expected = literal_order_error(points, coordinates, period, 12)
        assert order_error(points, coordinates, periods, 12) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_a_right_order_is_right_under_noise_and_a_wrong_one_is_not(noise, seed):
    points, _ = ring(800, seed, noise, 4)
    seen = np.arctan2(points[:, 1], points[:, 0])  # with the noise along the curve
    assert order_error(points, seen, TURN, 100) < 1.3
    assert order_error(points, points[:, 0], OPEN, 100) > 3 * WRONG_ORDER
    assert np.isnan(order_error(points[:15], seen[:15], TURN, 8))


@pytest.mark.parametrize(("arms", "noise"), [(3, 0.0), (3, 0.01), (5, 0.0), (5, 0.01), (12, 0.0)])
def test_branches_are_seen_where_they_meet(arms, noise):
    points = star(arms, 900, 0, noise)
    found = curve_order(points, np.linalg.norm(points, axis=1), OPEN, 20)
    assert found.is_wrong and found.row >= 0
    assert np.linalg.norm(points[found.row]) < 0.3


@pytest.mark.filterwarnings("ignore::geodis.base.check.GeodisWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "noise"), [(120, 0.0), (120, 0.02), (250, 0.0), (250, 0.03)])
def test_turns_as_near_as_the_neighbours_are_not_joined(n, noise, seed):
    points, t = helix(n, seed, noise)
    est = GeoManCER(verbose=0).fit(points)
    assert est.factor_dims_.tolist() == [1] and len(est.periods_[0]) == 0
    rank = np.corrcoef(np.argsort(np.argsort(est.flat_coordinates_[:, 0])), np.argsort(t.argsort()))
    assert abs(rank[0, 1]) > 0.99


@pytest.mark.filterwarnings("ignore::geodis.base.check.GeodisWarning")
def test_a_band_thicker_than_the_spacing_closes():
    rng = np.random.default_rng(1)
    t = rng.uniform(0, 2 * np.pi, 5000)
    radius = 1 + 0.1 * rng.standard_t(3, 5000)
    points = np.column_stack([np.cos(t), np.sin(t)]) * radius[:, None]
    est = GeoManCER(dim=1, verbose=0).fit(points)
    assert len(est.periods_[0]) == 1
    known = np.isfinite(est.flat_coordinates_[:, 0])
    assert known.mean() > 0.97
    turn = 2 * np.pi * est.flat_coordinates_[known, 0] / est.periods_[0][0, 0]
    both = [np.abs(np.exp(1j * (turn + sign * t[known])).mean()) for sign in (-1, 1)]
    assert max(both) > 0.98


def test_what_is_in_order_is_left_as_it_is():
    from geodis.manifold.flat.flat_graph import connected_graph, unrolled_with_periods

    points, angle = ring(600, 0, 0.05)
    tangents = np.column_stack([-np.sin(angle), np.cos(angle)])[:, None]
    rng = np.random.default_rng(0)
    found = unrolled_with_periods(points, tangents, connected_graph(points, 1, None, 1, rng))
    assert mended_curve(points, tangents, found, 60, 1) is found
