"""The product test on maps: true products pass, others do not, and which factors are one."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.confidence.product_test import PairTest, ProductTest
from geodis.manifold.confidence.stretch import CoupledPeriods, Strength
from tests.conftest import sphere


def fitted(points, **options):
    return gd.GeoManCER(verbose=0, n_jobs=1, **options).fit(points)


def warped_spheres(n, strength, seed):
    """S^2 x_f S^2 with f = 1 + c x_3."""
    rng = np.random.default_rng(seed)
    first, second = sphere(n, 2, rng), sphere(n, 2, rng)
    return np.hstack([first, (1 + strength * first[:, 2:]) * second])


def coupled_spheres(n, strength, seed):
    """(x, y, c x_1 y_1): on average over either sphere the scale of the other stays the same."""
    rng = np.random.default_rng(seed)
    first, second = sphere(n, 2, rng), sphere(n, 2, rng)
    return np.column_stack([first, second, strength * first[:, 0] * second[:, 0]])


@pytest.mark.parametrize(
    ("spec", "noise"),
    [("S^2 x S^2", 0.0), ("S^2 x S^2", 0.04), ("S^2 x S^1", 0.0), ("S^2 x R^1", 0.01)],
)
def test_products_pass(spec, noise):
    est = fitted(gd.product_manifold(spec, 1000, noise=noise, random_state=3).points)
    found = est.product_test_
    assert found.is_product and found.merge is None and not found.doubts
    assert not est.uncertain_
    assert found.verdict.startswith("a product: lengths in factor ")
    assert len(found.pairs) == 2 and min(found.scales) > 0.97


def test_a_product_bent_as_a_whole_passes():
    straight = gd.product_manifold("S^2 x S^2", 1500, random_state=1).points
    turn = gd.data.random_rotations(1, 6, np.random.default_rng(0))[0]
    turned = straight @ turn
    est = fitted(np.hstack([np.cos(turned), np.sin(turned)]))
    assert est.factor_dims_.tolist() == [2, 2]
    assert est.product_test_.is_product


@pytest.mark.parametrize("strength", [0.05, 0.15])
def test_the_figure_of_a_warp_is_half_the_spread_of_its_factor(strength):
    found = fitted(warped_spheres(1500, strength, 1)).product_test_
    assert found.worst is not None and not found.is_product
    # The map, whose sphere grows along the other one, takes up the other half.
    assert found.worst.tensor.value == pytest.approx(0.55 * strength / np.sqrt(3), rel=0.1)
    back = next(pair for pair in found.pairs if pair.factor == found.worst.other)
    assert not back.matters  # the base does not depend on the fibre


def test_a_coupling_is_seen():
    found = fitted(coupled_spheres(2000, 0.5, 1), n_factors=2).product_test_
    assert not found.is_product and found.merge == (0, 1)
    assert any("treat factors 0 and 1 as one" in doubt for doubt in found.doubts)


def test_doubts_are_added_when_the_test_is_made_and_none_is_lost():
    est = fitted(coupled_spheres(2500, 0.25, 0))
    before = est.doubts_
    assert "product test" not in est.summary()
    made = est.product_test_
    assert est.product_test_ is made
    assert est.doubts_[: len(before)] == before and set(made.doubts) <= set(est.doubts_)
    assert len(est.doubts_) > len(before) and est.uncertain_
    assert "product test: lengths in factor" in est.summary()
    est.fit(gd.product_manifold("S^2 x S^2", 800, random_state=0).points)
    assert not est.doubts_ and "product test" not in est.summary()


def test_confidence_brings_the_test():
    points = gd.product_manifold("S^2 x S^1", 600, random_state=0).points
    est = gd.GeoManCER(verbose=0, n_jobs=1).fit(points, confidence="quick")
    assert "product test: a product" in est.summary()


def test_too_many_told_factors_have_no_maps():
    points = gd.product_manifold("S^2 x S^2", 1000, random_state=0).points
    est = fitted(points, n_factors=3)
    found = est.product_test_
    assert len(found.collapsed) >= 2 and not found.is_product
    assert found.merge is not None and set(found.merge) <= set(found.collapsed)
    assert any("have no maps of their own" in doubt for doubt in est.doubts_)


def strength(value):
    return Strength(value, 0.9 * value, 1.1 * value, 0.001)


@pytest.mark.parametrize(
    ("scales", "merge"),
    [
        ((1.0, 1.0, 1.0), (0, 2)),  # those that change most with each other
        ((1.0, 0.7, 0.7), (1, 2)),  # those without maps
        ((1.0, 0.7, 1.0), (1, 2)),  # the one without, and what it changes with most
        ((0.7, 0.7, 0.7), (0, 2)),
    ],
)
def test_the_pair_to_merge(scales, merge):
    changes = {(0, 1): 0.01, (1, 0): 0.01, (0, 2): 0.05, (2, 0): 0.0, (1, 2): 0.0, (2, 1): 0.03}
    pairs = tuple(
        PairTest(f, g, strength(value), strength(value), 0.001) for (f, g), value in changes.items()
    )
    found = ProductTest(pairs, scales, (0.01,) * 3, ((2,), (1,), (1,)))
    assert found.merge == merge
    assert found.worst is pairs[2]


@pytest.mark.parametrize(
    ("scales", "looped"),
    [
        ((1.0, 1.0, 1.0), True),
        ((1.0, 0.7, 1.0), True),
        ((1.0, 0.7, 0.7), True),  # loops around the two explain why their maps fold
        ((0.7, 0.7, 1.0), False),  # something else as well
        ((0.7, 0.7, 0.7), False),
    ],
)
def test_loops_explain_the_maps_of_the_factors_around_which_they_go(scales, looped):
    pairs = tuple(
        PairTest(f, g, strength(0.01), strength(0.01), 0.001)
        for f in range(3)
        for g in range(3)
        if f != g
    )
    periods = CoupledPeriods(0.3, (1, 2))
    found = ProductTest(pairs, scales, (0.01,) * 3, ((2,), (1,), (1,)), periods=periods)
    assert found.looped == looped
    assert ("go around in factors 1 and 2 simultaneously" in found.verdict) == looped


def test_words_of_a_test_with_splits_and_slight_changes():
    slight, none = strength(0.0016), strength(0.0)
    found = ProductTest(
        (PairTest(0, 1, slight, slight, 0.0005), PairTest(1, 0, none, none, 0.0005)),
        (1.0, 1.0),
        (0.002, 0.002),
        ((2, 2), (2,)),
    )
    assert found.is_product and found.worst is found.pairs[0]
    assert found.doubts == (
        "the map of factor 0 splits again into 2 + 2: fit with n_factors=3 to see the parts",
    )
    assert "  lengths in factor 0 change with the position in factor 1 by 0.16 %" in str(found)
    assert ProductTest((), (1.0,), (0.0,), ((2,),)).verdict == (
        "one factor, whose map does not split again"
    )


def test_too_few_points_for_maps_are_refused_in_words():
    est = fitted(gd.product_manifold("S^2 x S^1", 250, random_state=0).points, dim=3)
    with pytest.raises(gd.base.check.InputError, match="A map of a factor needs at least 300"):
        _ = est.product_test_
