"""Walks move one factor by the asked length and leave the others; analogies; what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import geodis as gd
from geodis.base.check import InputError
from tests.manifold.maps.true_places import angle, fitted_product

# Radians that the other factors may move, root mean square over the places of some walks; with
# noise the start itself is known only so well.
CASES = [
    ("S^2 x S^2", 2500, 0.0, 0.0, 0.02),
    ("S^2 x S^2", 2500, 0.0, 0.5, 0.02),
    ("S^2 x S^2", 2500, 0.03, 0.0, 0.06),
    ("S^2 x SO(3)", 3000, 0.0, 0.0, 0.02),
    ("S^2 x S^1", 1500, 0.0, 0.0, 0.02),
]
# Unit angles of rotations are longer in the space of matrices.
LENGTHS = {"SO(3)": np.sqrt(2), "S^2": 1.0, "S^1": 1.0}
PLAIN = ("S^2 x S^1", 1500, 0)


@pytest.mark.parametrize(("spec", "n", "noise", "bent", "most"), CASES)
def test_one_factor_moves_by_the_length_and_the_others_stay(spec, n, noise, bent, most):
    known = fitted_product(spec, n, 0, noise, bent)
    rng = np.random.default_rng(0)
    for true_factor, found in enumerate(known.found):
        leaks, errors = [], []
        for start in rng.choice(n, 8, replace=False):
            direction = rng.standard_normal(known.est.factor_dims_[found])
            length = 1.5 * LENGTHS[known.names[true_factor]]
            walk = known.est.walk(int(start), found, direction=direction, length=length, steps=7)
            assert walk.stopped is None and len(walk) == 7
            leaks.append(known.angles(1 - true_factor, walk.points, start))
            ends = known.part(known.undo(walk.points), true_factor)
            moved = angle(known.names[true_factor], ends, on(known, true_factor, ends[:1]))
            errors.append(moved[-1] / 1.5 - 1)
        assert np.sqrt(np.mean(np.square(leaks))) < most
        assert abs(np.mean(errors)) < 0.03 and np.abs(errors).max() < 0.06


def on(known, true_factor, place):
    """The place, brought onto the sphere, the circle or the rotations."""
    if known.names[true_factor] == "SO(3)":
        u, _, v = np.linalg.svd(place.reshape(-1, 3, 3))
        return (u @ v).reshape(-1, 9)
    return place / np.linalg.norm(place, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_other_draws_leak_as_little(seed):
    known = fitted_product("S^2 x S^1", 1500, seed)
    for true_factor, found in enumerate(known.found):
        leaks = [
            known.angles(1 - true_factor, known.est.walk(row, found, length=2.0).points, row)
            for row in range(6)
        ]
        assert np.sqrt(np.mean(np.square(leaks))) < 0.02


def test_a_walk_goes_all_around_and_says_where_it_is():
    known = fitted_product(*PLAIN)
    est, (sphere, circle) = known.est, known.found
    around = est.walk(4, circle, length=2 * np.pi, steps=9)
    angles = np.unwrap(np.arctan2(*around.points[:, :2:-1].T))
    np.testing.assert_allclose(np.abs(angles - angles[0]), around.lengths, atol=0.02)
    great = est.walk(4, sphere, length=2 * np.pi, steps=9)
    places = great.points[:, :3]
    assert np.linalg.norm(places[-1] - places[0]) < 0.1
    np.testing.assert_allclose(places[4], -places[0], atol=0.1)
    told = est.transform(great.points)
    np.testing.assert_allclose(told, great.targets, atol=0.15)
    distances = np.linalg.norm(est.transform(known.points[great.nearest]) - great.targets, axis=1)
    np.testing.assert_allclose(distances, great.gap, atol=1e-9)
    assert np.all(great.gap < 3 * great.spacing)


def test_a_walk_to_a_point_ends_there_in_this_factor_alone():
    known = fitted_product(*PLAIN)
    for true_factor, found in enumerate(known.found):
        for end in (11, known.points[11]):
            walk = known.est.walk(2, found, to=end, steps=5)
            assert known.angles(true_factor, walk.points[-1:], 11)[0] < 0.03
            assert known.angles(1 - true_factor, walk.points, 2).max() < 0.04
            asked = known.est.factor_distances(found, 2, 11)
            assert abs(walk.lengths[-1] - asked) < 0.03 * asked + 0.01


def test_a_new_point_is_a_start_too():
    known = fitted_product(*PLAIN)
    row = known.est.walk(3, 0, length=1.0, steps=4)
    new = known.est.walk(known.points[3], 0, length=1.0, steps=4)
    np.testing.assert_allclose(new.points, row.points, atol=1e-6)
    beside = known.points[3] + 0.01
    np.testing.assert_allclose(
        known.est.walk(beside, 0, length=1.0, steps=4).points[0], beside, atol=0.05
    )


def test_by_default_it_goes_as_far_as_the_factor():
    known = fitted_product(*PLAIN)
    walk = known.est.walk(0, known.found[0])
    assert len(walk) == 16 and abs(walk.lengths[-1] - np.pi) < 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_a_walk_out_of_the_data_stops_and_says_where(seed):
    rng = np.random.default_rng(seed)
    flat = rng.uniform(-1, 1, (2500, 2)) * [1, 0.6]
    circle = rng.uniform(0, 2 * np.pi, 2500)
    points = np.column_stack([flat, np.cos(circle), np.sin(circle)])
    est = gd.GeoManCER(3, verbose=0).fit(points)
    start = int(np.argmin((flat**2).sum(axis=1)))
    ends = []
    for j in range(est.n_factors_):
        walk = est.walk(start, j, length=4.0, steps=41)
        ends.append(np.abs(walk.points[-1, :2]).max())
        if walk.stopped is not None:
            assert walk.reason in str(walk)
            assert f"left the data after {walk.stopped:.3g} of 4" in walk.reason
            assert len(walk) == 41 and walk.lengths[-1] < walk.stopped  # over what can be walked
    # One factor is the circle, two are the sides: a spacing of the steps before their ends.
    np.testing.assert_allclose(sorted(ends), [0, 0.55, 0.95], atol=0.08)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_walk_over_the_edge_of_a_cap_stops(noise):
    points = gd.product_manifold("S^2", 4000, random_state=3).points
    points = points[points[:, 2] > 0.2]
    points = points + noise * np.random.default_rng(0).standard_normal(points.shape)
    est = gd.GeoManCER(2, 1, verbose=0).fit(points)
    start = int(np.argmax(points[:, 2]))
    edge = np.arccos(0.2) - np.arccos(min(points[start, 2], 1.0))
    for direction in ([1, 0], [-1, 0], [0, 1], [1, -1]):
        walk = est.walk(start, 0, direction=direction, length=3.0, steps=31)
        assert abs(walk.stopped - edge) < 0.2


@pytest.mark.parametrize("seed", [0, 2])
def test_a_walk_that_leaves_a_cap_at_a_slant_stops_within_a_spacing_or_so(seed):
    points = gd.product_manifold("S^2", 4000, random_state=seed).points
    points = points[points[:, 2] > 0.2]
    est = gd.GeoManCER(2, 1, verbose=0).fit(points)
    spacing = np.sqrt(2 * np.pi * 0.8 / len(points))
    starts = np.flatnonzero(points[:, 2] > 0.5)[:16]
    for start, turn in zip(starts, np.linspace(0, 2 * np.pi, 16), strict=True):
        ahead = [np.cos(turn), np.sin(turn)]
        walk = est.walk(int(start), 0, direction=ahead, length=4.0, steps=31)
        lowest = np.arcsin(walk.points[-1, 2] / np.linalg.norm(walk.points[-1]))
        assert abs(lowest - np.arcsin(0.2)) < 1.5 * spacing  # was up to 3.4


def test_a_walk_along_an_edge_does_not_stop():
    rng = np.random.default_rng(0)
    square = rng.uniform(-1, 1, (2500, 2))
    bump = 0.3 * np.exp(-(square**2).sum(axis=1))
    est = gd.GeoManCER(2, 1, verbose=0).fit(np.column_stack([square, bump]))
    for start in np.argsort(-np.abs(square[:, 0]))[:8]:
        up = est.subspace(0)[start][:, 1]
        walk = est.walk(int(start), 0, direction=up, length=5.0, steps=31)
        assert walk.points[-1, 1] > 0.85


def test_where_factors_differ_by_themselves_there_is_one_answer():
    """Where b moves one factor of a and c another, d has b's first and c's second."""
    known = fitted_product(*PLAIN)
    sphere, circle = known.part(known.true, 0), known.part(known.true, 1)
    for i, j in ((5, 9), (100, 200), (33, 44)):
        a, b = np.concatenate([sphere[i], circle[i]]), np.concatenate([sphere[j], circle[i]])
        c, d = np.concatenate([sphere[i], circle[j]]), np.concatenate([sphere[j], circle[j]])
        found = known.est.analogy(a, b, c)
        np.testing.assert_allclose(found.point, d, atol=0.06)
        np.testing.assert_allclose(known.est.analogy(a, c, b).point, d, atol=0.06)
        assert not found.outside


def test_steps_are_carried_by_parallel_transport():
    known = fitted_product(*PLAIN)
    places = known.part(known.true, 0)
    rng = np.random.default_rng(0)
    errors = []
    for a, b, c in rng.choice(1500, (10, 3), replace=False):
        axis = np.cross(places[a], places[c])
        sine, cosine = np.linalg.norm(axis), places[a] @ places[c]
        x, y, z = axis / sine
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        turn = np.eye(3) + sine * cross + (1 - cosine) * cross @ cross  # along the geodesic a to c
        found = known.est.analogy(int(a), int(b), int(c), factors=[known.found[0]])
        true = (turn @ places[b])[None]
        errors.append(angle("S^2", known.part(found.points, 0), true)[0])
        assert known.angles(1, found.points, c)[0] < 0.03  # the circle was not asked for
    assert np.median(errors) < 0.04 and max(errors) < 0.15


def test_an_analogy_without_a_step_changes_nothing():
    est = fitted_product(*PLAIN).est
    points = est.points_
    found = est.analogy(3, 3, 8)
    np.testing.assert_allclose(found.point, points[8], atol=0.03)
    np.testing.assert_allclose(found.lengths, 0)
    back = est.analogy(3, 8, 3)
    np.testing.assert_allclose(back.point, points[8], atol=0.03)
    assert "moved by" in str(back) and back.nearest[0] == 8


def test_a_walk_is_shown_by_images_or_through_a_decoder():
    known = fitted_product(*PLAIN)
    walk = known.est.walk(0, 0, length=1.0, steps=4)
    images = np.arange(1500)[:, None, None] * np.ones((1, 2, 2))
    np.testing.assert_array_equal(walk.nearest_images(images)[:, 0, 0], walk.nearest)
    np.testing.assert_array_equal(walk.decode(lambda z: 2 * z), 2 * walk.points)
    with pytest.raises(InputError, match=r"images must be those of the 1,500 fitted .*; got 3"):
        walk.nearest_images(images[:3])
    with pytest.raises(InputError, match=r"decoder must be a function of latents .*; got int"):
        walk.decode(3)
    with pytest.raises(InputError, match="an image for each of the 4 points; got 1"):
        walk.decode(lambda z: z[:1])
    assert str(walk).splitlines()[0] == "4 places along factor 0, over a length of 1"


def test_every_row_of_the_answer_is_one_place():
    walk = fitted_product(*PLAIN).est.walk(0, 1, length=0.5, steps=6)
    for values in (walk.points, walk.lengths, walk.targets, walk.nearest, walk.gap, walk.spacing):
        assert len(values) == 6
    np.testing.assert_allclose(walk.lengths, np.linspace(0, 0.5, 6))


REFUSED = [
    ((0, 2), {}, r"factor must be between 0 and 1; got 2"),
    ((0, -1), {}, r"factor must be between 0 and 1; got -1"),
    ((0, 0.5), {}, r"factor must be an integer; got 0.5"),
    ((1500, 0), {}, r"start must be rows of the 1,500 fitted points; got 1500"),
    ((0.5, 0), {}, r"start must be rows of the fitted points, integers; got 0.5"),
    ((None, 0), {}, r"start must be rows of the fitted points, integers; got None"),
    (([1.0, 2.0], 0), {}, r"start must be a row .* or a point of 5 columns; got shape \(2,\)"),
    (([np.nan] * 5, 0), {}, r"start must be finite; got NaN in 5 "),
    (([9.0] * 5, 0), {}, r"start must lie among the fitted points; got one 1\d"),
    ((0, 0), {"length": 0}, r"length must be more than 0; got 0"),
    ((0, 0), {"length": -1.0}, r"length must be more than 0; got -1.0"),
    ((0, 0), {"length": np.inf}, r"length must be a finite number; got inf"),
    ((0, 0), {"length": 1.0, "to": 3}, r"to a point or for a length; got both"),
    ((0, 0), {"to": 0}, r"to must differ from the start in factor 0; got the same position"),
    ((0, 0), {"to": 5000}, r"to must be rows of the 1,500 fitted points; got 5000"),
    ((0, 0), {"direction": 2}, r"direction must be between 0 and 1; got 2"),
    ((0, 0), {"direction": [1.0]}, r"a vector of 2 numbers along them; got shape \(1,\)"),
    ((0, 0), {"direction": [0.0, 0.0]}, r"direction must not be zero; got zeros"),
    ((0, 0), {"direction": [np.nan, 0.0]}, r"direction must be finite; got NaN"),
    ((0, 0), {"steps": 1}, r"steps must be at least 2; got 1"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED)
def test_what_cannot_be_walked_is_said_in_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message) as caught:
        fitted_product(*PLAIN).est.walk(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_an_analogy_needs_factors():
    est = fitted_product(*PLAIN).est
    with pytest.raises(InputError, match="factors must name at least one factor; got none"):
        est.analogy(0, 1, 2, factors=[])
    with pytest.raises(InputError, match="factor must be between 0 and 1; got 7"):
        est.analogy(0, 1, 2, factors=[0, 7])
    with pytest.raises(InputError, match="c must be rows of the 1,500 fitted points"):
        est.analogy(0, 1, 9999)


def test_an_unfitted_estimator_says_so():
    for call in (lambda e: e.walk(0, 0), lambda e: e.analogy(0, 1, 2)):
        with pytest.raises(NotFittedError, match="call fit first"):
            call(gd.GeoManCER())


def test_pieces_are_walked_each_on_its_own():
    one = gd.product_manifold("S^2", 900, random_state=0).points
    other = gd.product_manifold("S^2", 700, random_state=1).points + np.eye(3)[0] * 9
    far = np.full((1, 3), 60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(2, 1, verbose=0).fit(np.vstack([one, other, far]))
    for start, centre in ((0, [0, 0, 0]), (1000, [9, 0, 0])):
        walk = est.walk(start, 0, length=3.0, steps=7)
        np.testing.assert_allclose(np.linalg.norm(walk.points - centre, axis=1), 1, atol=0.1)
    with pytest.raises(InputError, match="to must be in the same piece of the graph as the start"):
        est.walk(0, 0, to=1000)
    with pytest.raises(InputError, match="b must be in the same piece of the graph"):
        est.analogy(0, 1000, 2)
    with pytest.raises(InputError, match="start must be a point with axes; got row 1600"):
        est.walk(1600, 0)


def test_too_few_points_for_maps_are_too_few_for_a_walk():
    points = gd.product_manifold("S^2", 200, random_state=0).points
    with pytest.raises(InputError, match="A map of a factor needs at least 300 points"):
        gd.GeoManCER(2, 1, verbose=0).fit(points).walk(0, 0)


def test_a_walk_from_near_an_end_goes_where_there_is_room():
    rng = np.random.default_rng(0)
    along = rng.uniform(0, 4, 2500)
    circle = rng.uniform(0, 2 * np.pi, 2500)
    points = np.column_stack([along, np.cos(circle), np.sin(circle)])
    est = gd.GeoManCER(2, verbose=0).fit(points)
    j = int(np.argmax([own.n_coordinates == 1 for own in est.maps_]))
    for start in (int(along.argmin()), int(along.argmax())):
        walk = est.walk(start, j, steps=5)
        assert len(walk) == 5 and walk.lengths[-1] > 3.5
    with pytest.raises(InputError, match="to a point or in a direction; got both"):
        est.walk(0, j, to=5, direction=0)
