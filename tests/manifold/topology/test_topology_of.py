"""Names of factors and their evidence: laws, known answers, what is missing and what is wrong."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodis.base.check import InputError
from geodis.data.manifolds.products import product_manifold
from geodis.manifold.topology.space_names import SHORT_NAMES
from geodis.manifold.topology.topology_of import topology_of

NOISE = 0.02


def noisy(spec, n=1500, seed=0, noise=NOISE):
    return product_manifold(spec, n, noise=noise, random_state=seed).points


@pytest.fixture
def no_ripser(monkeypatch):
    monkeypatch.setitem(sys.modules, "ripser", None)


@pytest.fixture
def with_ripser():
    return pytest.importorskip("ripser")


# ---- laws ----


def test_a_turn_and_a_scale_change_nothing_but_sizes(rng):
    points = noisy("S^2", 1000)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    here, there = topology_of(points, 2), topology_of(7 * points @ turn, 2)
    assert (here.name, here.boundary, here.orientable) == ("sphere", False, True)
    assert (there.name, there.boundary, there.orientable) == ("sphere", False, True)
    assert_allclose(there.size / here.size, 49, rtol=1e-6)
    assert_allclose(there.radius / here.radius, 7, rtol=1e-6)
    assert_allclose(there.curvature.mean / here.curvature.mean, 1 / 49, rtol=1e-6)
    assert_allclose(there.curvature.euler, here.curvature.euler, rtol=1e-6)


def test_the_order_of_points_does_not_matter(rng):
    points = noisy("torus(2, .8)", 1500)
    order = rng.permutation(len(points))
    here, there = topology_of(points, 2), topology_of(points[order], 2)
    assert here.name == there.name == "torus"
    assert_allclose(there.size, here.size, rtol=0.03)


def test_it_is_repeated_with_its_seed_and_with_copies_of_rows():
    points = noisy("S^2", 800)
    assert topology_of(points, 2, random_state=3).to_dict() == (
        topology_of(np.vstack([points, points]), 2, random_state=3).to_dict()
    )


# ---- known answers ----

# spec -> name, boundary, orientable, size, radius
KNOWN = {
    "S^1(2)": ("circle", False, True, 4 * np.pi, None),
    "knot(2, 3)": ("circle", False, True, 31.9, None),
    "R^1": ("interval", True, True, 2.0, None),
    "S^2(1.5)": ("sphere", False, True, 9 * np.pi, 1.5),
    "torus(2, .8)": ("torus", False, True, 6.4 * np.pi**2, None),
    "Gr(3, 1)": ("projective plane", False, False, 4 * np.pi, np.sqrt(2)),
    "Klein(2, .8)": ("Klein bottle", False, False, 63.8, None),
    "R^2": ("sheet", True, True, 4.0, None),
    "S^3": ("S^3", False, True, 2 * np.pi**2, 1.0),
    "SO(3)": ("SO(3)", False, True, 8**1.5 * np.pi**2, np.sqrt(8)),
}


@pytest.mark.parametrize("spec", KNOWN)
def test_names_and_sizes_that_are_known(spec, no_ripser):
    name, boundary, orientable, size, radius = KNOWN[spec]
    dim = product_manifold(spec, 1).dim
    found = topology_of(noisy(spec, 1800 if spec == "SO(3)" else 1000), dim)
    assert (found.name, found.boundary, found.orientable) == (name, boundary, orientable)
    assert_allclose(found.size, size, rtol=0.06)
    assert found.short == SHORT_NAMES[name] and found.betti is None
    if radius is None:
        assert found.radius is None
    else:
        assert_allclose(found.radius, radius, rtol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_a_band_and_a_cylinder_differ_by_their_handedness(seed, no_ripser):
    band = topology_of(noisy("Moebius(1.5, .5)", 1000, seed), 2)
    rng = np.random.default_rng(seed)
    angle, height = rng.uniform(0, 2 * np.pi, 1000), rng.uniform(-0.7, 0.7, 1000)
    ring = np.stack([np.cos(angle), np.sin(angle), height], axis=1)
    cylinder = topology_of(ring + NOISE * rng.standard_normal(ring.shape), 2)
    assert (band.name, band.orientable, band.boundary) == ("Moebius band", False, True)
    assert (cylinder.name, cylinder.orientable, cylinder.boundary) == ("cylinder", True, True)
    assert band.curvature.sign in ("flat", "negative") and cylinder.curvature.sign == "flat"


@pytest.mark.parametrize("seed", range(3))
def test_betti_numbers_over_two_fields(seed, with_ripser):
    plane = topology_of(noisy("Gr(3, 1)", seed=seed), 2)
    assert (plane.name, plane.betti.over_two, plane.betti.over_three) == (
        "projective plane",
        (1,),
        (0,),
    )
    bottle = topology_of(noisy("Klein(2, .8)", 2000, seed), 2)
    assert (bottle.name, bottle.betti.over_two, bottle.betti.over_three) == (
        "Klein bottle",
        (2,),
        (1,),
    )
    assert bottle.doubts == () and "b1 = 2 and 1 over Z2 and Z3" in str(bottle)


def test_the_second_betti_number_in_four_dimensions(with_ripser):
    found = topology_of(noisy("CP^2", 3500), 4)
    assert (found.name, found.betti.over_two, found.symmetric) == ("CP^2", (0, 1), True)
    assert_allclose(found.curvature.weyl, 1 / 6, atol=0.04)


def test_a_cap_is_curved_and_has_a_radius(no_ripser):
    sphere = noisy("S^2", 3000)
    found = topology_of(sphere[sphere[:, 2] > 0.5], 2)
    assert (found.name, found.boundary, found.symmetric) == ("cap", True, False)
    assert_allclose(found.size, np.pi, rtol=0.06)
    assert_allclose(found.radius, 1.0, rtol=0.1)


def test_an_ellipsoid_is_a_sphere_that_is_not_symmetric():
    found = topology_of(noisy("ellipsoid(1, 1.3, 1.9)"), 2)
    assert (found.name, found.symmetric, found.radius) == ("sphere", False, None)
    assert_allclose(found.curvature.euler, 2, atol=0.25)


def test_density_may_be_uneven():
    sphere = product_manifold("S^2", 2000, density=1.2, noise=NOISE, random_state=0).points
    found = topology_of(sphere, 2)  # eleven times as dense at one pole as at the other
    assert (found.name, found.symmetric) == ("sphere", True)
    assert_allclose(found.size, 4 * np.pi, rtol=0.06)


def test_frames_may_be_given():
    sample = product_manifold("torus(2, .8)", 1500, noise=NOISE, random_state=0)
    found = topology_of(sample.points, 2, frames=sample.tangents[0])
    assert (found.name, found.orientable) == ("torus", True)


def test_unrolled_points_close_along_their_periods(rng):
    flat = rng.uniform(0, [3, 5], (1200, 2))
    names = {
        count: topology_of(flat, 2, periods=[[3.0, 0.0], [0.0, 5.0]][:count]) for count in (0, 1, 2)
    }
    assert [found.boundary for found in names.values()] == [True, True, False]
    assert names[2].name == "torus" and names[2].symmetric is True
    assert all(abs(found.size / 15 - 1) < 0.08 for found in names.values())
    assert all(found.curvature.sign == "flat" for found in names.values())
    line = rng.uniform(0, 4, (500, 1))
    assert topology_of(line, 1, periods=[[4.0]]).name == "circle"
    assert topology_of(line, 1).name == "interval"


# ---- what is missing, and what is wrong ----


def test_without_ripser_names_rest_on_the_rest_and_say_so(no_ripser):
    torus = topology_of(noisy("torus(2, .8)"), 2)
    assert torus.name == "torus" and "integral of the curvature alone" in torus.doubts[0]
    turn = topology_of(noisy("SO(3)", 1800), 3)
    assert turn.name == "SO(3)" and "of the sphere of the same curvature" in turn.doubts[0]
    # S^2 x S^1 has a volume near that of its sphere, and is told by its direction.
    product = topology_of(noisy("S^2 x S^1", 1500), 3)
    assert product.name == "unknown" and "pip install ripser" in product.doubts[0]
    assert (product.boundary, product.orientable) == (False, True)


def test_what_has_no_name_is_unknown(rng):
    arms = rng.uniform(size=(1500, 1)) * np.array([[1, 0], [-1, 2], [-1, -2]])[np.arange(1500) % 3]
    two = noisy("S^2", 800)
    two[:400] += 5
    cases = {
        "few-for-name": (noisy("S^2", 200), 2),
        "no-name": (noisy("S^5", 400), 5),
        "map-in-pieces": (two, 2),
        "branching-line": (arms + NOISE * rng.standard_normal(arms.shape), 1),
    }
    for code, (points, dim) in cases.items():
        found = topology_of(points, dim)
        assert found.name == found.short == "unknown"
        assert [doubt.code for doubt in found.doubts] == [code]


def test_noise_has_no_name(rng):
    for dim in (1, 2, 3):
        found = topology_of(rng.standard_normal((700, dim + 2)), dim)
        assert found.name == "unknown"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"points": np.full((400, 2), np.nan)}, "points must be finite; got NaN in 800"),
        ({"points": np.zeros(400)}, "points must have shape"),
        ({"dim": 0}, "dim must be at least 1; got 0"),
        ({"dim": 4}, "dim must be at most 3, the columns of points; got 4"),
        ({"frames": np.zeros((5, 2, 3))}, r"frames must have shape \(400, 2, 3\), \(c, k, r\);"),
        ({"frames": np.full((400, 2, 3), np.inf)}, "frames must be finite; got NaN or infinity"),
        ({"periods": [[1.0, 0.0]]}, r"periods must have shape \(b, 2\), b <= 2, and points as"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
        ({"random_state": "a"}, "random_state must be None"),
    ],
)
def test_bad_input_is_refused(arguments, says):
    given = {"points": np.random.default_rng(0).standard_normal((400, 3)), "dim": 2, **arguments}
    with pytest.raises(InputError, match=says):
        topology_of(given.pop("points"), given.pop("dim"), **given)


def test_it_prints_and_goes_to_json():
    found = topology_of(noisy("S^2", 800), 2)
    lines = str(found).splitlines()
    assert lines[0].startswith("sphere, dimension 2, radius 0.99") and ", area 12" in lines[0]
    assert any("closed" in line for line in lines) and any("orientable" in line for line in lines)
    again = json.loads(json.dumps(found.to_dict()))
    assert again["name"] == "sphere" and again["curvature"]["sign"] == "positive"
