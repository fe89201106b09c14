"""The pieces of evidence one by one, against formulas and slow twins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodis.data.manifolds.products import product_manifold
from geodis.manifold.topology.betti import (
    CHANCE,
    REAL,
    _count,
    betti_numbers,
    farthest_distances,
    place_graph,
)
from geodis.manifold.topology.boundary import (
    OUT,
    _cut_balls,
    _expected,
    find_boundary,
    follow_line,
    handedness,
)
from geodis.manifold.topology.scalar_curvature import local_fits, scalar_curvature
from geodis.manifold.topology.space_names import sphere_volume


def fitted(spec, n, noise=0.02, seed=0):
    sample = product_manifold(spec, n, noise=noise, random_state=seed)
    return sample, local_fits(sample.points, sample.dim, None, np.random.default_rng(seed))


def test_fits_average_noise_away():
    clean = product_manifold("S^2", 2000, random_state=1).points
    sample, fits = fitted("S^2", 2000, seed=1)
    assert_allclose(fits.noise, 0.02, rtol=0.1)
    height = np.abs(np.linalg.norm(fits.places, axis=1) - 1)
    assert height.mean() < 0.3 * np.abs(np.linalg.norm(sample.points, axis=1) - 1).mean()
    # II = -x g on the unit sphere.
    ones = np.einsum("cabr,cr->cab", fits.forms, -clean)
    assert_allclose(ones.mean(axis=0), np.eye(2), atol=0.05)


def test_curvature_of_an_ellipsoid_place_by_place():
    axes = np.array([1.0, 1.3, 1.7])
    sample, fits = fitted("ellipsoid(1, 1.3, 1.7)", 2000)
    h = fits.forms
    found = ((h[:, 0, 0] * h[:, 1, 1]).sum(axis=1)) - (h[:, 0, 1] ** 2).sum(axis=1)
    true = 1 / (np.prod(axes) ** 2 * ((sample.points / axes**2) ** 2).sum(axis=1) ** 2)
    assert np.median(np.abs(found / true - 1)) < 0.12
    boundary = find_boundary(sample.points, fits, place_graph(fits))
    kind = scalar_curvature(fits, boundary.volumes, boundary.inside, closed=True)
    assert_allclose(kind.euler, 2, atol=0.2)  # Gauss and Bonnet
    assert kind.sign == "positive" and kind.even is False


def test_ricci_and_weyl_of_products_and_spheres():
    # |Ric|^2 - scal^2 / 3 over scal^2 is 1/6 for S^2 x S^1; Weyl is 1/3 for S^2 x S^2.
    for spec, one_sided, weyl in (
        ("S^2 x S^1", 1 / 6, None),
        ("S^3", 0, None),
        ("S^4", 0, 0),
        ("S^2 x S^2", 0, 1 / 3),
    ):
        sample, fits = fitted(spec, 1500)
        if weyl is not None and spec != "S^4":
            fits = local_fits(
                sample.points, 4, np.concatenate(sample.tangents, axis=1), np.random.default_rng(0)
            )
        ones = np.ones(1500)
        kind = scalar_curvature(fits, ones, ones > 0, closed=True)
        assert_allclose(kind.one_sided, one_sided, atol=0.05)
        if weyl is not None:
            assert_allclose(kind.weyl, weyl, atol=0.12)


def double_cover_pieces(frames, graph):
    """A literal twin: two copies of every place, linked where the handedness agrees."""
    n = len(graph.rows)
    own = frames[graph.rows]
    label = list(range(2 * n))

    def root(i):
        while label[i] != i:
            label[i] = label[label[i]]
            i = label[i]
        return i

    for a, b in zip(graph.edges.i, graph.edges.j, strict=True):
        same = np.linalg.det(own[a] @ own[b].T) > 0
        for side in (0, 1):
            label[root(a + side * n)] = root(b + (side if same else 1 - side) * n)
    return len({root(i) for i in range(2 * n)})


@pytest.mark.parametrize(
    ("spec", "orientable"), [("S^2", True), ("Gr(3, 1)", False), ("Klein(2, .8)", False)]
)
def test_handedness_is_that_of_the_double_cover(spec, orientable):
    _, fits = fitted(spec, 900)
    graph = place_graph(fits)
    found = handedness(fits.frames, graph, np.random.default_rng(0))
    assert found.orientable is orientable
    assert double_cover_pieces(fits.frames, graph) == (2 if orientable else 1)


def test_turning_frames_over_changes_nothing(rng):
    _, fits = fitted("Moebius(1.5, .5)", 1500)
    graph = place_graph(fits)
    one = handedness(fits.frames, graph, np.random.default_rng(0))
    turned = fits.frames.copy()
    turned[rng.random(1500) < 0.5, 0] *= -1
    other = handedness(turned, graph, np.random.default_rng(0))
    assert_allclose(other.frequency, one.frequency, rtol=1e-3)
    assert other.orientable is one.orientable is False


def test_a_ball_cut_in_half():
    # The mean of half a ball lies at 1/2, 4 / (3 pi), 3/8 of the radius.
    for dim, offset in ((1, 0.5), (2, 4 / (3 * np.pi)), (3, 3 / 8)):
        offsets, parts = _cut_balls(dim)
        assert_allclose(np.interp(offset, offsets, parts), 0.5, atol=1e-3)
        assert_allclose(np.interp(0, offsets, parts), 1, atol=1e-3)


def test_pieces_of_a_boundary(rng):
    radius, angle = np.sqrt(rng.uniform(0.25, 1, 2000)), rng.uniform(0, 2 * np.pi, 2000)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    frames = np.tile(np.eye(2), (2000, 1, 1))
    fits = local_fits(ring, 2, frames, rng)
    boundary = find_boundary(ring, fits, place_graph(fits))
    assert (boundary.exists, boundary.n_pieces) == (True, 2)
    assert_allclose(boundary.size, 0.75 * np.pi, rtol=0.05)


def test_lines_are_followed_to_their_length():
    for spec, closed, length in (("S^1(2)", True, 4 * np.pi), ("R^1", False, 2.0)):
        _, fits = fitted(spec, 800, noise=0.0)
        line = follow_line(place_graph(fits))
        assert line.closed is closed
        assert_allclose(line.length, length, rtol=0.02)


def test_distances_along_the_graph_are_geodesics():
    _, fits = fitted("S^2", 2000, noise=0.0)
    between = farthest_distances(place_graph(fits), 12, np.random.default_rng(0))
    assert_allclose(between, between.T)
    assert between.max() == pytest.approx(np.pi, rel=0.04)


def test_holes_of_exact_distances(with_ripser_module):
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    apart = np.abs(angle[:, None] - angle)
    circle = betti_numbers(np.minimum(apart, 2 * np.pi - apart), 1, 2)
    assert circle.over_two == circle.over_three == (1,) and circle.known
    line = betti_numbers(apart, 1, 2)
    assert line.over_two == (0,)


@pytest.fixture
def with_ripser_module():
    return pytest.importorskip("ripser")


def test_volumes_of_unit_spheres():
    assert_allclose(
        [sphere_volume(k) for k in (1, 2, 3, 4)],
        [2 * np.pi, 4 * np.pi, 2 * np.pi**2, 8 * np.pi**2 / 3],
    )


def test_a_ball_cut_by_a_plane_on_a_line_and_in_the_plane():
    assert _expected(1) == pytest.approx((1 - OUT) / (1 + OUT))
    segment = np.arccos(OUT) - OUT * np.sqrt(1 - OUT**2)
    assert _expected(2) == pytest.approx(segment / (np.pi - segment))


@pytest.mark.parametrize("kind", CHANCE)
def test_bars_are_holes_gaps_between_samples_or_either(kind):
    """In spacings of the samples: what dies within one and a half is never a hole."""
    beyond = 1.01 * np.array(REAL[kind])
    hole = [beyond[0] / beyond[1] / 1.01, beyond[0]]
    either = [1e-3, (CHANCE[kind][0] + REAL[kind][0]) / 2]
    assert _count(np.array([hole, [0.5, 1.5], [1.0, 1.4]]), kind) == 1
    assert _count(np.array([[0.01, 1.5], [1.4, 1.5]]), kind) == 0
    assert _count(np.array([hole, either]), kind) is None
