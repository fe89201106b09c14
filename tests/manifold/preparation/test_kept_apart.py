import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geodis import GeoManCER, intrinsic_dimension, nearest_neighbors, sample_population
from geodis.base.check import InputError
from geodis.manifold import Apart, kept_apart
from geodis.manifold.local.neighbors import nearest_targets, neighbors_at
from geodis.manifold.preparation.sampling_checks import coverage_doubts

POINTS = np.random.default_rng(0).uniform(size=(120, 2))
WIDE = np.random.default_rng(1).uniform(size=(120, 12))


def literal(points, apart, count):
    """Neighbours one row at a time, from all distances."""
    found = []
    for i, row in enumerate(points):
        far = np.linalg.norm(points - row, axis=1)
        free = np.abs(apart.when - apart.when[i]) > apart.window
        far[~free] = np.inf
        found.append(np.argsort(far, kind="stable")[:count])
    return np.array(found)


@pytest.mark.parametrize("points", [POINTS, WIDE])
@pytest.mark.parametrize("apart", [Apart(np.arange(120) // 40.0, 0.0), Apart(np.arange(120.0), 9)])
def test_rows_of_one_group_or_time_are_no_neighbours(points, apart):
    wanted = literal(points, apart, 7)
    assert_array_equal(nearest_neighbors(points, 7, apart=apart).indices, wanted)
    rows = np.array([3, 50, 119])
    assert_array_equal(nearest_targets(points, rows, 7, apart), wanted[rows])
    assert not np.array_equal(neighbors_at(points, rows, 7).indices, wanted[rows])


def test_too_few_others_are_named():
    with pytest.raises(InputError, match=r"7 neighbours are needed .* 118 of 120 are"):
        nearest_neighbors(POINTS, 7, apart=Apart(np.r_[np.zeros(118), 1, 2], 0.0))


def test_a_window_is_the_time_of_half_the_way():
    turn = 0.01 * np.arange(4000)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    apart = kept_apart(circle, times=0.5 * np.arange(4000))
    # |x(t + w) - x(t)|^2 = 2 - 2 cos(.01 w) is a quarter of 2 from .72 radian on: 72 rows.
    assert 36 <= apart.window <= 45
    noisy = circle + 0.3 * np.random.default_rng(0).standard_normal(circle.shape)
    assert 30 <= kept_apart(noisy, times=0.5 * np.arange(4000), noise=0.3).window <= 50
    assert kept_apart(noisy, times=0.5 * np.arange(4000)).window < 30


def test_groups_follow_one_another_out_of_reach():
    rows = np.random.default_rng(0).standard_normal((6, 2))
    apart = kept_apart(rows, groups=list("aabbab"), times=[0, 1, 0, 1, 2, 2])
    same = np.abs(apart.when[:, None] - apart.when) <= apart.window
    assert not same[[0, 1, 4]][:, [2, 3, 5]].any()


@pytest.mark.parametrize("name", ["groups", "times"])
def test_a_value_a_row_is_needed(name):
    with pytest.raises(InputError, match=f"{name} must have shape"):
        GeoManCER(verbose=0).fit(POINTS, **{name: np.arange(7)})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("spec", "fast", "slow"), [("sphere", 0.15, 0.02), ("arena", 0.08, 0.01)])
def test_a_walk_that_has_covered_its_manifold_is_told_from_one_that_has_not(spec, fast, slow, seed):
    for step, doubted in ((fast, False), (slow, True)):
        walk = sample_population(spec, 1500, cells=80, peak=60, step=step, random_state=seed)
        apart = kept_apart(walk.rates, times=np.arange(1500))
        near = nearest_neighbors(walk.rates, 20)
        doubts = coverage_doubts(walk.rates, near, apart)
        assert [one.code for one in doubts] == ["slow-walk"] * doubted
    assert not coverage_doubts(walk.rates, near, None)


def test_groups_with_places_of_their_own_are_doubted():
    rows = np.random.default_rng(0).uniform(size=(600, 2))
    near = nearest_neighbors(rows, 20)
    assert not coverage_doubts(rows, near, kept_apart(rows, groups=np.arange(600) % 20))
    own = np.floor(rows * 2).astype(int) @ [1, 2]
    (doubt,) = coverage_doubts(rows, near, kept_apart(rows, groups=own))
    assert doubt.code == "separate-groups"


def test_a_fit_heeds_groups_everywhere():
    # Trials of a walk: rows of one are near one another, of all together a sphere.
    trials = [
        sample_population("sphere", 30, cells=1, step=0.15, random_state=seed).states[0]
        for seed in range(60)
    ]
    cells = np.random.default_rng(5).standard_normal((3, 8))
    points = np.tanh(np.vstack(trials) @ cells)
    trial = np.repeat(np.arange(60), 30)
    est = GeoManCER(verbose=0).fit(points, groups=trial)
    assert est.dim_ == 2
    near = est.graph_.adjacency.tocoo()
    assert (trial[near.row] != trial[near.col]).all()
    apart = kept_apart(points, groups=trial)
    assert intrinsic_dimension(points, apart=apart).dim == 2
