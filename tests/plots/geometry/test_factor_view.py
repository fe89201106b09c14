"""Every kind of map is drawn as what it is."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from geodis.manifold.maps.factor_map import FactorData, UnrolledFactor
from geodis.manifold.maps.unrolled_map import unrolled_map
from geodis.plots.geometry.factor_view import factor_view, fit_ellipsoid
from geodis.plots.geometry.shown_rows import (
    factor_titles,
    hex_colors,
    place_colors,
    rows_moving_alone,
)
from tests.manifold.maps.cases import known_map


def unrolled(flat, periods):
    n, k = flat.shape
    points = np.random.default_rng(0).standard_normal((n, 4))
    own = UnrolledFactor(flat, ((np.arange(n), np.array(periods)),))
    return unrolled_map(FactorData(points, points, np.zeros((n, k, 4)), own, 0.01))


def refined(coordinates, dim, frames=None):
    n = len(coordinates)
    frames = np.zeros((n, coordinates.shape[1], dim)) if frames is None else frames
    return known_map(coordinates, np.zeros((n, dim, 1)), coordinates, frames)


def sphere(n=600, seed=0):
    draws = np.random.default_rng(seed).standard_normal((n, 3))
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def rotations(n):
    """SO(3) in R^9 as GeoManCER maps it, with its frames."""
    turns = Rotation.random(n, random_state=0).as_matrix()
    generators = Rotation.from_rotvec(np.pi / 2 * np.eye(3)).as_matrix()
    generators = (generators - np.swapaxes(generators, 1, 2)) / 2
    frames = np.einsum("nab,kbc->nack", turns, generators).reshape(n, 9, 3) / np.sqrt(2)
    return turns, refined(turns.reshape(n, 9), 3, frames)


def test_a_sphere_is_a_globe_of_radius_one_wherever_its_points_are_dense():
    points = sphere(2000)
    uneven = points[(points[:, 0] > 0) | (np.arange(2000) % 4 == 0)]
    seen = factor_view(refined(3.0 * uneven + [1.0, 0, 0], 2), "sphere", "a sphere")
    assert seen.view.hides and seen.view.turns
    np.testing.assert_allclose(np.linalg.norm(seen.view.places, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(seen.view.places, uneven, atol=1e-9)
    for line in seen.view.outlines:
        np.testing.assert_allclose(np.linalg.norm(line.path, axis=1), 1, atol=1e-9)


def test_an_ellipsoid_has_its_own_meridians():
    stretched = sphere() * [3.0, 2.0, 1.0]
    found = fit_ellipsoid(stretched)
    np.testing.assert_allclose(found.radii, [3, 2, 1], rtol=1e-9)
    for line in found.grid():
        np.testing.assert_allclose(((line / [3, 2, 1]) ** 2).sum(axis=1), 1, atol=1e-9)
    assert factor_view(refined(stretched, 2), "unknown", "").view.hides


@pytest.mark.parametrize(
    "coordinates",
    [
        pytest.param(sphere()[sphere()[:, 2] > 0.3], id="cap"),
        pytest.param(np.random.default_rng(0).standard_normal((400, 3)), id="cloud"),
        pytest.param(
            np.column_stack([sphere()[:, :2], sphere()[:, 0] * sphere()[:, 1]]), id="saddle"
        ),
    ],
)
def test_what_is_no_closed_surface_is_no_globe(coordinates):
    view = factor_view(refined(coordinates, 2), "unknown", "").view
    assert view.turns and not view.hides
    assert np.linalg.norm(view.places, axis=1).max() <= 1 + 1e-9


def test_a_circle_is_a_circle_and_a_line_a_line():
    angle = np.linspace(0, 7, 50)[:, None]
    view = factor_view(unrolled(angle, [[2 * np.pi]]), "circle", "").view
    lengths = np.linalg.norm(view.places, axis=1)
    np.testing.assert_allclose(lengths, lengths[0])
    assert [line.look for line in view.outlines] == ["edge"] and not view.turns
    line = factor_view(unrolled(angle, np.zeros((0, 1))), "interval", "").view
    along = line.places[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(along)), 2 / 49)
    assert abs(along).max() == pytest.approx(1)


def test_a_torus_is_a_square_whose_edges_are_glued():
    flat = np.random.default_rng(0).uniform(-9, 9, (300, 2))
    turned = [[1.2, 1.6], [-0.8, 0.6]]  # lengths 2 and 1, at a right angle
    view = factor_view(unrolled(flat, turned), "torus", "").view
    assert abs(view.places[:, 0]).max() <= 1 and abs(view.places[:, 1]).max() <= 0.5 + 1e-9
    assert sorted(line.heads for line in view.outlines) == [1, 1, 2, 2]
    one = [line.path for line in view.outlines if line.heads == 1]
    shift = one[1] - one[0]  # the same edge, a period away
    np.testing.assert_allclose(abs(shift), [[2, 0, 0]] * 2, atol=1e-9)
    moved = factor_view(unrolled(flat + turned[0], turned), "torus", "").view
    np.testing.assert_allclose(moved.places, view.places, atol=1e-9)


def test_colours_go_on_across_glued_edges():
    edge = np.array([[1e-6, 0.3], [1 - 1e-6, 0.3], [0.5, 0.3], [0.3, 1e-6], [0.3, 1 - 1e-6]])
    colors = place_colors(factor_view(unrolled(edge, np.eye(2)), "torus", "").wheel)
    assert abs(colors[0] - colors[1]).max() < 1e-3 and abs(colors[3] - colors[4]).max() < 1e-3
    assert abs(colors[0] - colors[2]).max() > 0.2


@pytest.mark.parametrize(("periods", "heads"), [([], []), ([[1.0, 0.0]], [1, 1])])
def test_a_sheet_and_a_cylinder_are_squares(periods, heads):
    flat = np.random.default_rng(0).uniform(size=(300, 2))
    view = factor_view(unrolled(flat, np.reshape(periods, (-1, 2))), "sheet", "").view
    assert [line.heads for line in view.outlines if line.heads] == heads
    assert not view.turns and len(view.outlines) == 4


def test_a_torus_of_dimension_three_is_a_box():
    flat = np.random.default_rng(0).uniform(size=(300, 3))
    view = factor_view(unrolled(flat, np.eye(3)[:2]), "unknown", "").view
    assert view.turns and len(view.outlines) == 12
    assert np.linalg.norm(view.places, axis=1).max() <= 1 + 1e-9


def test_logarithms_of_rotations_are_their_axes_and_angles():
    turns, own = rotations(1500)
    _, chart = own.log_chart()
    lengths = np.linalg.norm(chart, axis=1)
    source = int(np.argmin(lengths))
    angles = (Rotation.from_matrix(turns[source]).inv() * Rotation.from_matrix(turns)).magnitude()
    # A turn by an angle is that angle times sqrt(2) in R^9.
    near = angles < 2.8  # beyond, both ways around are as short
    assert np.median(abs(lengths[near] / np.sqrt(2) - angles[near])) < 0.03
    vectors = (Rotation.from_matrix(turns[source]).inv() * Rotation.from_matrix(turns)).as_rotvec()
    directions = chart[near] / lengths[near, None].clip(1e-9)
    true = vectors[near] / angles[near, None].clip(1e-9)
    assert np.median(abs(directions @ directions.T - true @ true.T)) < 0.05


def test_rotations_are_a_ball_with_opposite_points_of_its_rim_the_same():
    _, own = rotations(800)
    view = factor_view(own, "SO(3)", "").view
    assert view.turns and not view.hides
    assert np.linalg.norm(view.places, axis=1).max() <= 1 + 1e-9
    places: dict = {}
    for letter, place in view.letters:
        places.setdefault(letter, []).append(place)
    assert sorted(places) == ["A", "B", "C"]
    assert all((a == -b).all() for a, b in places.values())
    assert "Opposite points" in view.note
    assert factor_view(own, "unknown", "").view.letters == []


def test_points_without_a_place_stay_without():
    coordinates = sphere()
    coordinates[3] = np.nan
    for dim, shown in ((2, coordinates), (2, coordinates[:, :2]), (1, coordinates[:, :1])):
        places = factor_view(refined(shown, dim), "unknown", "").view.places
        assert np.isnan(places[3]).any() and np.isfinite(np.delete(places, 3, axis=0)).all()


def test_of_several_pieces_the_largest_is_shown():
    points = sphere()
    own = refined(points, 2)
    both = replace(own, pieces=own.pieces * 2, piece=(np.arange(600) >= 400).astype(int))
    view = factor_view(both, "sphere", "").view
    assert np.isfinite(view.places[:400]).all() and np.isnan(view.places[400:]).all()
    assert view.note.endswith("Only the largest of 2 pieces is shown.")


def test_colours_are_as_near_as_the_places():
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.9, 0.9, (500, 3))
    moved = abs(place_colors(places + 0.01) - place_colors(places))
    assert moved.max() < 0.1 and moved.mean() < 0.01
    assert len(set(hex_colors(place_colors(places)))) > 480
    light = place_colors(places) @ [0.2126, 0.7152, 0.0722]
    assert light.min() > 0.1 and light.max() < 0.95


def test_images_on_a_map_move_little_in_the_others():
    rng = np.random.default_rng(0)
    places = [np.pad(rng.uniform(-1, 1, (3000, 2)), ((0, 0), (0, 1))) for _ in range(2)]
    for j, rows in enumerate(rows_moving_alone(places, np.arange(3000))):
        own, other = places[j][rows], places[1 - j][rows]
        assert own[:, :2].std() > 0.45  # all over its own map
        assert np.linalg.norm(other, axis=1).mean() < 0.25  # random rows: 0.77
        assert len(set(rows.tolist())) == len(rows) > 40


def space(name, radius=None, size=None):
    return SimpleNamespace(name=name, radius=radius, size=size)


def test_titles_are_words_where_the_space_is_known():
    known = (
        space("sphere", 1.04, 13.0),
        space("circle", size=2 * np.pi * 0.52),
        space("unknown"),
        space("torus", size=3.0),
        space("interval", size=0.25),
    )
    dims = np.array([2, 1, 3, 2, 1])
    est = SimpleNamespace(n_factors_=5, factor_dims_=dims, topology_=known)
    assert factor_titles(est) == (
        "Factor 0: a sphere of radius 1.0",
        "Factor 1: a circle of radius 0.52",
        "Factor 2: a 3-dimensional space of unknown topology",
        "Factor 3: a torus with two periodic directions",
        "Factor 4: an open line of length 0.25",
    )
