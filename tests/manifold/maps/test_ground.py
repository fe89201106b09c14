"""Geodesics on maps: great circles, straight lines, and what is carried around a triangle."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.maps.factor_map import FactorData, UnrolledFactor
from geodis.manifold.maps.unrolled_map import unrolled_map
from tests.manifold.maps.true_places import fitted_product


@pytest.fixture(scope="module")
def sphere():
    points = gd.product_manifold("S^2", 2000, random_state=0).points
    return gd.GeoManCER(2, 1, verbose=0).fit(points).maps_[0].pieces[0]


def stand(surface, row):
    """A place on the surface, with a frame, at one of the points that carry the map."""
    return surface.project(surface.coordinates[row], surface.frames[row])


def test_a_great_circle_closes(sphere):
    position, frame = stand(sphere, 3)
    way = sphere.exp(position, frame, np.array([1.0, 2.0]), 2 * np.pi)
    places = way.at(np.linspace(0, 2 * np.pi, 9))
    assert np.linalg.norm(places.positions[-1] - places.positions[0]) < 0.05
    np.testing.assert_allclose(places.positions[4], -position, atol=0.1)
    np.testing.assert_allclose(places.velocities[-1], places.velocities[0], atol=0.1)
    normal = np.linalg.svd(places.positions)[2][-1]
    assert np.abs(places.positions @ normal).max() < 0.06  # in one plane


def test_lengths_are_those_of_arcs(sphere):
    way = sphere.exp(*stand(sphere, 5), np.array([0.0, 1.0]), 3.0)
    chords = np.linalg.norm(np.diff(way.at(np.linspace(0, 3, 400)).positions, axis=0), axis=1)
    assert abs(chords.sum() - 3) < 0.01
    assert np.all(np.diff(way.lengths) > 0)


def test_frames_stay_orthonormal_and_tangent(sphere):
    places = sphere.exp(*stand(sphere, 5), np.array([0.0, 1.0]), 3.0).at(np.linspace(0, 3, 7))
    np.testing.assert_allclose(
        np.swapaxes(places.frames, 1, 2) @ places.frames, np.tile(np.eye(2), (7, 1, 1)), atol=1e-9
    )
    outward = places.positions / np.linalg.norm(places.positions, axis=1, keepdims=True)
    assert np.abs(np.einsum("sr,srk->sk", outward, places.frames)).max() < 0.05


def test_a_frame_that_is_carried_around_a_triangle_turns_by_its_area(sphere):
    corners = [np.eye(3)[a] for a in (0, 1, 2, 0)]
    start = int(np.argmax(sphere.coordinates @ corners[0]))
    position, frame = stand(sphere, start)
    ends = [stand(sphere, int(np.argmax(sphere.coordinates @ c)))[0] for c in corners]
    ends[-1] = position
    first = frame
    for end in ends[1:]:
        way = sphere.log(position, frame, end)
        position, frame = way.positions[-1], way.frames[-1]
    turned = np.arctan2(*(first.T @ frame)[[1, 0], 0])
    a, b, c = (end / np.linalg.norm(end) for end in ends[:3])
    area = 2 * np.arctan2(abs(a @ np.cross(b, c)), 1 + a @ b + b @ c + c @ a)
    assert abs(abs(turned) - area) < 0.1  # about a quarter of a turn


def test_the_way_between_two_places_is_the_shortest(sphere):
    rows = np.random.default_rng(0).choice(2000, (20, 2), replace=False)
    for a, b in rows:
        position, frame = stand(sphere, a)
        end, _ = stand(sphere, b)
        way = sphere.log(position, frame, end)
        cosine = position @ end / np.linalg.norm(position) / np.linalg.norm(end)
        np.testing.assert_allclose(way.positions[-1], end, atol=1e-6)
        assert abs(way.lengths[-1] - np.arccos(cosine)) < 0.06


def flat_torus(periods, n=800):
    flat = np.random.default_rng(0).uniform(0, 1, (n, 2)) @ periods
    angles = 2 * np.pi * flat @ np.linalg.inv(periods)
    points = np.hstack([np.cos(angles), np.sin(angles)])
    axes = np.zeros((n, 2, 4))
    unrolled = UnrolledFactor(flat, ((np.arange(n), periods),))
    own = unrolled_map(FactorData(points, points, axes, unrolled, 0.0))
    return own.pieces[0], own


@pytest.mark.parametrize("slant", [0.0, 1.0])
def test_on_a_flat_torus_ways_are_straight_lines_around_it(slant):
    periods = np.array([[2.0, 0.0], [slant, 3.0]])
    surface, own = flat_torus(periods)
    for a, b in np.random.default_rng(1).choice(800, (20, 2), replace=False):
        start, end = own.coordinates[a], own.coordinates[b]
        frame = surface.frame_at(own.places[a], own.axes[a], start)
        way = surface.log(start, frame, end)
        np.testing.assert_allclose(way.positions[-1], end, atol=1e-6)
        assert way.lengths[-1] == pytest.approx(own.distances(np.array([a]), np.array([b]))[0])


def test_a_period_leads_back():
    surface, own = flat_torus(np.diag([2.0, 3.0]))
    frame = surface.frame_at(own.places[0], own.axes[0], own.coordinates[0])
    way = surface.exp(own.coordinates[0], frame, np.array([0.0, 1.0]), 3.0)
    np.testing.assert_allclose(way.positions[-1], way.positions[0], atol=1e-9)
    assert np.linalg.norm(way.positions[250] - way.positions[0]) > 0.9


def test_beside_a_place_the_surface_is_found_again(sphere):
    position, frame = stand(sphere, 7)
    beside, turned = sphere.project(1.02 * position, frame)
    np.testing.assert_allclose(beside, position, atol=5e-3)
    np.testing.assert_allclose(turned, frame, atol=0.02)


def test_a_frame_shows_where_the_axes_lead():
    known = fitted_product("S^2 x S^1", 1500, 0)
    for j, own in enumerate(known.est.maps_):
        surface = own.pieces[0]
        axes = known.est.fitted_.flat.axes[10, sum(known.est.factor_dims_[:j]) :][: own.dim]
        frame = surface.frame_at(known.est.fitted_.places[10], axes, own.coordinates[10])
        near = np.argsort(known.est.factor_distances(j, 10, np.arange(1500)))[1:6]
        steps = (known.points[near] - known.points[10]) @ axes.T
        seen = (own.coordinates[near] - own.coordinates[10]) @ frame
        np.testing.assert_allclose(seen, steps, atol=0.02)
