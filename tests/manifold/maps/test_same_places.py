"""Loops around two factors, and maps that lay points over one another."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.doubts import doubt
from tests.conftest import sphere

OVERLAID = doubt("overlaid", "maps")


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
    assert any("go around in factors 1 and 2 simultaneously" in doubt for doubt in found.doubts)
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
    assert found.is_product and found.merge is None and found.doubts == (OVERLAID,)
    assert "hold locally but not globally" in found.verdict
    assert "superimposed on others in all maps: " in str(found)


def twisted_sphere(n, seed, noise=0.0):
    """A sphere carried around a circle that comes back as its antipodes: locally S^2 x S^1."""
    rng = np.random.default_rng(seed)
    place, angle = sphere(n, 2, rng), rng.uniform(0, 2 * np.pi, (n, 1))
    ring = [np.cos(angle), np.sin(angle)]
    points = np.hstack([place * np.cos(angle / 2), place * np.sin(angle / 2), *ring])
    return points + noise * rng.standard_normal(points.shape)


@pytest.mark.parametrize(
    ("n", "noise", "asked"),
    [(800, 0.0, "names_"), (800, 0.0, "maps_"), (1200, 0.06, "product_test_")],
)
def test_what_asks_for_maps_doubts_a_twisted_product(n, noise, asked):
    est = gd.GeoManCER(3, verbose=0).fit(twisted_sphere(n, 2, noise))
    assert est.factor_dims_.tolist() == [2, 1] and OVERLAID not in est.doubts_
    assert getattr(est, asked)
    assert est.doubts_.count(OVERLAID) == 1 and est.uncertain_
    assert OVERLAID in est.summary() and "uncertain" in est._repr_html_()
    assert est.names_ == ("unknown", "unknown")
    assert all(topology.doubts == (OVERLAID,) for topology in est.topology_)
    assert est.product_test_.overlaid
    assert est.doubts_.count(OVERLAID) == 1  # said once, whoever finds it


def test_a_page_doubts_a_twisted_product():
    report = gd.report(twisted_sphere(800, 2), out=None, verbose=0)
    assert any("hold locally but not globally" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("spec", "n", "noise"),
    [
        ("S^2 x S^1", 600, 0.08),
        ("Gr(3,1) x S^1", 1000, 0.08),  # a projective plane that is there
        ("S^2 x S^2", 1000, 0.08),
        ("S^1 x S^1", 800, 0.08),
        ("Gr(3,1)", 1000, 0.06),
        ("S^3", 1000, 0.06),
    ],
)
def test_true_products_keep_their_names(spec, n, noise):
    est = gd.GeoManCER(verbose=0).fit(
        gd.product_manifold(spec, n, noise=noise, random_state=3).points
    )
    names = est.names_
    assert len(names) == 1 + spec.count("x") and "unknown" not in names
    assert OVERLAID not in est.doubts_
