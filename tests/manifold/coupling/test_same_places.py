"""Loops around two factors, and maps that lay points over one another."""

import numpy as np
import pytest

import geodis as gd
from tests.conftest import sphere


def hexagonal_torus(n, seed):
    """The flat torus whose shortest loops are 60 degrees apart, evenly sampled."""
    cell = 2 * np.pi * np.array([[1, 1 / np.sqrt(3)], [0, 2 / np.sqrt(3)]])
    plane = np.random.default_rng(seed).uniform(size=(n, 2)) @ cell
    angle = np.arange(3) * 2 * np.pi / 3
    waves = plane @ np.stack([np.cos(angle), np.sin(angle)])
    return np.hstack([np.cos(waves), np.sin(waves)])


@pytest.mark.parametrize("seed", [0, 4])
def test_directions_of_a_hexagonal_torus_are_no_factors(seed):
    est = gd.GeoManCER(2, n_factors=2, verbose=0).fit(hexagonal_torus(2000, seed))
    found = est.product_test_
    assert found.periods.there and found.periods.share > 0.15
    assert not found.is_product and found.merge == (0, 1) and est.uncertain_


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_the_pair_is_named_beside_another_factor(seed):
    # How the two directions lie in the plane is chance: with two of these seeds maps fold.
    rng = np.random.default_rng(seed)
    points = np.hstack([hexagonal_torus(3000, seed), sphere(3000, 2, rng)])
    found = gd.GeoManCER(4, n_factors=3, verbose=0).fit(points).product_test_
    assert found.merge == found.periods.pair == (1, 2)  # the sphere is factor 0
    assert any("go around in factors 1 and 2 at once" in doubt for doubt in found.doubts)
    assert found.overlaid or found.collapsed == (1, 2)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(("spec", "dim"), [("S^1 x S^1", 2), ("S^1 x S^1(3)", 2), ("S^2 x S^1", 3)])
def test_circles_are_factors_also_when_they_were_told(spec, dim, noise):
    points = gd.product_manifold(spec, 2000, noise=noise, random_state=0).points
    found = gd.GeoManCER(dim, n_factors=2, verbose=0).fit(points).product_test_
    assert found.is_product and found.same < 0.01 and found.periods.share < 0.01


def test_tensors_of_unit_vectors_are_a_product_nearby_only():
    rng = np.random.default_rng(0)
    first, second = sphere(3000, 2, rng), sphere(3000, 1, rng)
    points = np.einsum("na,nb->nab", first, second).reshape(3000, 6)
    found = gd.GeoManCER(3, verbose=0).fit(points).product_test_
    assert found.same > 0.3 and found.overlaid
    assert found.is_product and found.merge is None and not found.doubts
    assert "a product, nearby and not as a whole" in found.verdict
    assert "at the places of others in all maps: " in str(found)
