"""Ground-truth distances of every kind: around circles, between labels, with and without sizes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodis import as_factors, scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.sprites import Sprites
from geodis.distances import GridDistances, distance_correlations, ground_truth, sample_triplets

KINDS = ("numbers", "ordered", "cyclic", "labels")


def literal(a, b, size, kind):
    """One factor, by the definition; and the largest distance that it can have."""
    if kind == "labels":
        return int(a != b), 1
    if kind == "cyclic":
        return min((a - b) % size, (b - a) % size), size // 2
    return abs(a - b), size - 1


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(2, 9)), min_size=1, max_size=4),
    st.integers(0, 2**32),
)
def test_all_kinds_equal_their_literal_twin(factors, seed):
    kinds, sizes = zip(*factors, strict=True)
    rng = np.random.default_rng(seed)
    a, b = (np.column_stack([rng.integers(size, size=6) for size in sizes]) for _ in range(2))
    plain = ground_truth(a, b, kinds=kinds, periods=sizes)
    scaled = ground_truth(a, b, sizes, kinds=kinds)
    for i in range(6):
        parts = [literal(*map(int, x), k) for *x, k in zip(a[i], b[i], sizes, kinds, strict=True)]
        assert plain[i] == sum(d for d, _ in parts)
        assert scaled[i] == float(sum(Fraction(d, longest) for d, longest in parts))


def test_factors_bring_their_kinds_and_periods():
    table = {"angle": [350.0, 10.0, 180.0], "shape": ["box", "dot", "arc"]}
    factors = as_factors(table, periods={"angle": 360.0})
    np.testing.assert_array_equal(ground_truth(factors, factors.take([1, 2, 0])), [21, 171, 171])
    plain = ground_truth(factors, factors.take([1, 2, 0]), kinds="numbers")
    np.testing.assert_array_equal(plain, [341, 172, 171])
    with pytest.raises(InputError, match="same categories on both sides"):
        ground_truth(
            factors.take([0]),
            as_factors({**table, "shape": ["a", "b", "c"]}, periods={"angle": 360.0}).take([0]),
        )


def test_labels_may_be_called_anything(rng):
    """Equal distances: another order of the labels changes nothing."""
    a, b = rng.integers(6, size=(2, 50, 2))
    other = rng.permutation(6)
    kinds = ("labels", "labels")
    before = ground_truth(a, b, kinds=kinds)
    np.testing.assert_array_equal(ground_truth(other[a], other[b], kinds=kinds), before)


def test_a_turn_of_a_circle_changes_nothing(rng):
    a, b = rng.integers(12, size=(2, 50, 1))
    for sizes in (None, [12]):
        before = ground_truth(a, b, sizes, kinds="cyclic", periods=[12])
        turned = ground_truth((a + 5) % 12, (b + 5) % 12, sizes, kinds="cyclic", periods=[12])
        np.testing.assert_array_equal(turned, before)
    assert ground_truth([[0.5]], [[11.0]], kinds="cyclic", periods=[12]).tolist() == [1.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": "round"}, "kinds must be labels, ordered, numbers, cyclic"),
        ({"kinds": ("numbers",)}, "one for each of 2 factors"),
        ({"kinds": "cyclic"}, "need periods above 0, .* got none"),
        ({"kinds": "cyclic", "periods": [0, 3]}, "need periods above 0"),
    ],
)
def test_bad_kinds_are_told_in_one_sentence(options, message):
    with pytest.raises(InputError, match=message):
        ground_truth([[0, 1]], [[1, 0]], **options)


def test_a_circle_in_the_latents_has_the_distances_of_a_cyclic_factor():
    grid = FactorGrid((12, 5), names=("angle", "x"), kinds=("cyclic", "numbers"))
    factors = grid.factors(range(60))
    angle = factors[:, 0] * np.pi / 6
    code = np.column_stack([np.cos(angle), np.sin(angle), factors[:, 1]])
    around = distance_correlations(grid, code, kind="l2", random_state=0)
    straight = distance_correlations(grid, code, kind="l2", kinds="numbers", random_state=0)
    key = ("ground truth", "latent")
    assert around.factors["angle"][key].spearman == pytest.approx(1)
    assert straight.factors["angle"][key].spearman < 0.7
    scored = scores.distance_correlation(code, grid, kind="l2", random_state=0)
    assert float(scored) == pytest.approx(1)
    rows = as_factors({"angle": 30.0 * factors[:, 0], "x": factors[:, 1]}, periods={"angle": 360})
    again = scores.distance_correlation(code, rows, kind="l2", random_state=0)
    assert float(again) == pytest.approx(1)


def test_labels_without_an_order_are_left_out_along_factors():
    grid = FactorGrid((4, 6), names=("shape", "x"), kinds=("labels", "numbers"))
    code = grid.factors(range(24)) * [[-1.0, 1.0]]
    agreed = distance_correlations(grid, code, random_state=0)
    assert set(agreed.factors) == {"x"} and "Left out: shape" in agreed.note
    assert agreed.overall["ground truth", "latent"][1] == pytest.approx(1)
    published = distance_correlations(grid, code, kinds="numbers", random_state=0)
    assert set(published.factors) == {"shape", "x"}
    with pytest.raises(InputError, match="three values that have an order"):
        scores.distance_correlation([[0.0], [1], [2]], ["a", "b", "c"])


def test_orientation_and_shape_of_sprites_no_longer_pull_the_mean_to_zero():
    grid = Sprites()
    rows = np.random.default_rng(0).choice(len(grid), 4000, replace=False)
    assert grid.kinds[2] == "cyclic" and grid.kinds[grid.names.index("shape")] == "labels"
    turned = GridDistances(grid).between(rows[:-1], rows[1:], "ground truth")
    plain = GridDistances(grid, kinds="numbers").between(rows[:-1], rows[1:], "ground truth")
    assert (turned <= plain).all() and (turned < plain).any()


@pytest.mark.parametrize("by", ["scaled", "distance"])
def test_triplets_are_ordered_around_the_circle(by):
    grid = FactorGrid((12,), kinds=("cyclic",))
    a, p, n = grid.factors(sample_triplets(grid, 200, by, random_state=0).ravel()).reshape(-1, 3).T
    near, far = (np.minimum((a - x) % 12, (x - a) % 12) for x in (p, n))
    assert (near < far).all()


def test_columns_of_one_factor_are_as_far_apart_as_the_point_has_moved(rng):
    points = rng.standard_normal((40, 3))
    names = ["x", "y", "z", "size"]
    known = as_factors(
        np.column_stack([points, rng.integers(4, size=40)]),
        names=names,
        groups={"direction": names[:3]},
    )
    a, b = known.take(np.arange(20)), known.take(np.arange(20, 40))
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    moved = as_factors(
        np.column_stack([points @ turned, known.values[:, 3]]),
        names=names,
        groups={"direction": names[:3]},
    )
    expected = np.linalg.norm(points[:20] - points[20:], axis=1)
    expected += np.abs(known.values[:20, 3] - known.values[20:, 3])
    np.testing.assert_allclose(ground_truth(a, b), expected, rtol=1e-12)
    np.testing.assert_allclose(
        ground_truth(moved.take(np.arange(20)), moved.take(np.arange(20, 40))), expected, rtol=1e-12
    )
    apart = as_factors(known.values, names=names)
    with pytest.raises(InputError, match="the same groups on both sides"):
        ground_truth(a, apart.take(np.arange(20)))
    grid = FactorGrid.from_arrays(None, known)
    assert (
        "Factors of several columns, of which each is treated separately: direction." in grid.note
    )


def test_a_grid_says_which_circles_do_not_go_round_in_it():
    table = {"angle": [0.0, 60.0, 120.0], "turn": [0.0, 120.0, 240.0]}
    known = as_factors(table, periods={"angle": 360.0, "turn": 360.0})
    grid = FactorGrid.from_arrays(None, known)
    assert grid.kinds == ("numbers", "cyclic")
    assert grid.note.endswith("their values are not evenly spaced: angle.")
