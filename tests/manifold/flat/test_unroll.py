"""Parallel frames, isometric coordinates and periods."""

import numpy as np
import pytest

from geodis import neighbor_graph, product_manifold
from geodis.base.check import InputError
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import (
    CASES,
    bend,
    bent_sample,
    circle,
    flat_sample,
    involute,
)
from geodis.manifold.flat.differences import Edges, edges_of, solve_differences
from geodis.manifold.flat.periods import _clusters, _lattice_basis, find_periods
from geodis.manifold.flat.unroll import along_tree, integrate, parallel_frame, unrolled_coordinates
from geodis.manifold.local.graph import graph_of_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.local.tangents import tangent_frames
from tests.reference import flat as reference


def true_frames(sample):
    return np.concatenate(sample.tangents, axis=1)


def unroll(points, subspaces, degree=10):
    graph = neighbor_graph(points, degree)
    return unrolled_coordinates(points, parallel_frame(subspaces, graph), graph)


def estimated(points, dim, per_term=3):
    terms = 1 + dim + dim * (dim + 1) // 2
    near = nearest_neighbors(points, per_term * terms)
    frames = tangent_frames(points, near, dim).frames
    graph = graph_of_neighbors(near, max(2 * dim, 10))
    return unrolled_coordinates(points, parallel_frame(frames, graph), graph)


def distances(values):
    return np.linalg.norm(values[:, None] - values, axis=2)


def lengths(vectors):
    return np.sort(np.linalg.norm(vectors, axis=1))


# What samples are made of.


def test_curves_have_unit_speed():
    s = np.linspace(0, 5, 7)
    for curve in (lambda t: involute(t, 0.3, 0.5), lambda t: circle(t, 6.0)):
        slope = (curve(s + 1e-6)[0] - curve(s - 1e-6)[0]) / 2e-6
        np.testing.assert_allclose(slope, curve(s)[1], atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_frames_of_samples_are_derivatives_along_the_coordinates(case):
    sample = flat_sample(case, 400, random_state=0)
    frames = true_frames(sample)
    f = frames.shape[1]
    np.testing.assert_allclose(
        frames @ np.swapaxes(frames, 1, 2), np.broadcast_to(np.eye(f), (400, f, f)), atol=1e-12
    )
    # Short chords are the coordinates' differences, read in the frame.
    near = np.argsort(distances(sample.points) + 1e9 * np.eye(400), axis=1)[:, 0]
    step = sample.coordinates[near] - sample.coordinates
    chord = np.einsum("nfd,nd->nf", frames, sample.points[near] - sample.points)
    assert np.median(np.abs(chord - step)) < 0.02 * np.median(np.abs(chord))


def test_bending_without_curves_is_a_rotation():
    u = np.random.default_rng(0).uniform(size=(10, 2))
    turn = random_rotations(1, 2, np.random.default_rng(1))[0]
    points, frames = bend(u, rotation=turn, straight=(0, 1))
    np.testing.assert_allclose(points[:, [0, 2]], u @ turn.T)
    np.testing.assert_allclose(frames[:, :, [0, 2]], np.broadcast_to(turn.T, (10, 2, 2)))


# Literal twins.


@pytest.fixture(scope="module")
def small():
    sample = flat_sample("box", 150, random_state=3)
    frames = true_frames(sample)
    turned = random_rotations(150, 3, np.random.default_rng(0)) @ frames
    graph = neighbor_graph(sample.points, 8)
    return sample, turned, graph


def test_differences_are_those_of_the_dense_normal_equations(small):
    edges = edges_of(small[2])
    rng = np.random.default_rng(0)
    wanted, weights = rng.standard_normal((len(edges), 2)), rng.uniform(0.1, 1, len(edges))
    found = solve_differences(edges, wanted, weights, tolerance=1e-10)
    np.testing.assert_allclose(found, reference.differences(edges, wanted, weights), atol=1e-7)
    np.testing.assert_allclose(edges.difference(found), found[edges.j] - found[edges.i])


def test_edges_without_weight_do_not_count():
    square = Edges(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), 4)
    wanted = np.array([[1.0], [1.0], [1.0], [-50.0]])
    found = solve_differences(square, wanted, np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_allclose(np.diff(found[:, 0]), 1.0, atol=1e-6)


def test_a_triangle_that_does_not_close_among_edges_that_do_has_little_weight():
    star, triangle = (np.zeros(9, int), np.arange(1, 10)), (np.r_[10, 11, 10], np.r_[11, 12, 12])
    edges = Edges(np.r_[star[0], triangle[0]], np.r_[star[1], triangle[1]], 13)
    steps = np.r_[np.zeros(9), 1.0, 1.0, 1.0][:, None]
    values, weights = integrate(edges, steps, np.ones(12), None)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(weights[:9], 1.0)
    assert weights[9:].max() < 0.1


def test_sums_along_the_tree_are_those_of_the_loop(small):
    _, turned, graph = small
    frame, edges = parallel_frame(turned, graph), edges_of(graph)
    steps = np.random.default_rng(0).standard_normal((len(edges), 2))
    np.testing.assert_allclose(
        along_tree(steps, frame.tree, edges), reference.tree_sums(steps, frame.tree, edges)
    )


def test_frames_differ_from_transport_along_the_tree_by_little(small):
    _, turned, graph = small
    frame = parallel_frame(turned, graph)
    carried = reference.transported(turned, frame.tree)
    between = np.einsum("nfd,ngd->nfg", frame.frames, carried)
    # On a flat part the tree's frames are parallel already.
    assert np.abs(between - np.eye(3)).max() < 0.05
    assert np.linalg.matrix_rank(between.mean(axis=0)) == 3


def test_steps_are_those_of_the_formula(small):
    sample, turned, graph = small
    frame = parallel_frame(turned, graph)
    found = unrolled_coordinates(sample.points, frame, graph)
    for e in range(0, len(found.edges), 97):
        i, j = found.edges.i[e], found.edges.j[e]
        expected = reference.wanted_step(
            sample.points[i], sample.points[j], frame.frames[i], frame.frames[j]
        )
        np.testing.assert_allclose(found.steps[e], expected, atol=1e-12)


# Laws.


@pytest.mark.parametrize("case", ["rectangle", "box", "disc x interval", "hole", "L-shape"])
def test_coordinates_have_the_geodesic_distances_of_a_developable_surface(case):
    sample = flat_sample(case, 800, random_state=1)
    found = estimated(sample.points, sample.coordinates.shape[1])
    expected = distances(sample.coordinates)
    assert np.abs(distances(found.coordinates) - expected).max() < 3e-3 * expected.max()
    assert found.turn < 0.02 and found.rel < 1e-6


def test_the_chord_correction_takes_away_most_of_the_bias():
    angle = np.linspace(0, 4, 60)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    tangent = np.column_stack([-arc[:, 1], arc[:, 0]])[:, None]
    found = unroll(arc, tangent, 4)
    chords = np.linalg.norm(arc[found.edges.j] - arc[found.edges.i], axis=1)
    arcs = angle[found.edges.j] - angle[found.edges.i]
    own = np.abs(np.abs(found.steps[:, 0]) - arcs)
    assert own.max() < 0.1 * (arcs - chords).max()


def test_coordinates_do_not_depend_on_the_frames_given_but_by_a_rotation(small):
    sample, turned, graph = small
    both = [
        unrolled_coordinates(sample.points, parallel_frame(frames, graph), graph).coordinates
        for frames in (turned, true_frames(sample))
    ]
    np.testing.assert_allclose(distances(both[0]), distances(both[1]), atol=2e-4)


def test_a_rotation_of_the_input_changes_nothing(small):
    sample, turned, graph = small
    rotation = random_rotations(1, 6, np.random.default_rng(5))[0]
    plain = unrolled_coordinates(sample.points, parallel_frame(turned, graph), graph)
    points, frames = sample.points @ rotation.T + 7.0, turned @ rotation.T
    moved = unrolled_coordinates(points, parallel_frame(frames, graph), graph)
    np.testing.assert_allclose(
        distances(moved.coordinates), distances(plain.coordinates), atol=1e-6
    )


def test_lengths_scale_with_the_input(small):
    sample, turned, graph = small
    plain = unrolled_coordinates(sample.points, parallel_frame(turned, graph), graph)
    large = unrolled_coordinates(1000 * sample.points, parallel_frame(turned, graph), graph)
    np.testing.assert_allclose(large.coordinates, 1000 * plain.coordinates, rtol=1e-5, atol=1e-3)
    assert large.turn == pytest.approx(plain.turn, rel=1e-5)


@pytest.mark.parametrize("spec", ["S^2", "S^3", "torus(2, 0.7)"])
@pytest.mark.parametrize("n", [600, 3000])
def test_the_frame_of_a_curved_manifold_turns(spec, n):
    sample = product_manifold(spec, n, random_state=0)
    found = unroll(sample.points, sample.tangents[0])
    assert found.turn > 0.5


def test_a_mirrored_band_turns_by_a_reflection():
    rng = np.random.default_rng(0)
    angle, width = rng.uniform(0, 2 * np.pi, 1500), rng.uniform(-0.3, 0.3, 1500)
    radius = 1 + width * np.cos(angle / 2)
    moebius = np.column_stack(
        [radius * np.cos(angle), radius * np.sin(angle), width * np.sin(angle / 2)]
    )
    assert estimated(moebius, 2).turn > 0.5


# Periods.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [500, 2000])
def test_periods_of_cylinders_and_tori(n, seed):
    cylinder = flat_sample("circle x interval", n, random_state=seed)
    found = find_periods(estimated(cylinder.points, 2))
    assert lengths(found.vectors) == pytest.approx([3.0], rel=2e-3)
    torus = flat_sample("circle x circle", n, random_state=seed)
    found = find_periods(estimated(torus.points, 2))
    assert lengths(found.vectors) == pytest.approx([2.0, 3.0], rel=5e-3)
    assert found.groups == ((0,), (1,))


@pytest.mark.parametrize("case", ["rectangle", "swiss roll", "box", "hole", "L-shape"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_closes_where_nothing_closes(case, seed):
    sample = flat_sample(case, 700, random_state=seed)
    assert len(find_periods(estimated(sample.points, sample.coordinates.shape[1]))) == 0


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_noise_neither_opens_a_cylinder_nor_closes_a_rectangle(noise):
    cylinder = flat_sample("circle x interval", 1500, noise=noise, random_state=0)
    found = find_periods(estimated(cylinder.points, 2, per_term=20))
    assert lengths(found.vectors) == pytest.approx([3.0], rel=0.02)
    rectangle = flat_sample("rectangle", 1500, noise=noise, random_state=0)
    assert len(find_periods(estimated(rectangle.points, 2, per_term=20))) == 0


def test_coordinates_on_a_cylinder_are_the_angle_and_the_height():
    sample = flat_sample("circle x interval", 1000, random_state=4)
    found = find_periods(estimated(sample.points, 2))
    along = found.vectors[0] / np.linalg.norm(found.vectors)
    angle, height = np.array([along, [-along[1], along[0]]]) @ found.unrolling.coordinates.T
    expected = sample.coordinates
    best = min(
        np.abs(reference.wrapped_difference(s * angle - s * angle[0], own, 3.0)).max()
        for s in (1, -1)
        for own in [expected[:, 0] - expected[0, 0]]
    )
    assert best < 5e-3
    spread = np.abs(np.corrcoef(height, expected[:, 1])[0, 1])
    assert spread > 0.999999 and np.ptp(height) == pytest.approx(np.ptp(expected[:, 1]), rel=1e-3)


def test_a_hexagonal_torus_is_left_as_one_factor():
    u = np.random.default_rng(0).uniform(size=(1200, 2)) @ [[3, 0], [1.5, 1.5 * np.sqrt(3)]]
    waves = 2 * np.pi * np.linalg.inv(np.array([[3, 0], [1.5, 1.5 * np.sqrt(3)]])).T
    waves = np.vstack([waves, waves.sum(axis=0)])
    phase = u @ waves.T
    points = np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt((waves[:, 0] ** 2).sum())
    found = find_periods(estimated(points, 2))
    assert lengths(found.vectors) == pytest.approx([3.0, 3.0], rel=2e-3)
    assert found.groups == ((0, 1),)


@pytest.mark.parametrize("dense", [np.eye(2) * 2, [[3, 0], [1.5, 2.6]], [[2.0, 0, 0], [0, 5, 1]]])
def test_lattice_basis_from_redundant_generators(dense):
    basis = np.array(dense, dtype=float)
    integers = np.array([[1, 0], [2, 1], [1, 1], [3, -1], [0, 2]])
    noise = 1e-3 * np.random.default_rng(0).standard_normal((5, basis.shape[1]))
    found = _lattice_basis(integers @ basis + noise, 0.5)
    assert len(found) == 2
    back = found @ np.linalg.pinv(basis)
    np.testing.assert_allclose(back, np.rint(back), atol=0.02)
    assert abs(np.linalg.det(np.rint(back))) == pytest.approx(1)


@pytest.mark.parametrize("size", [0.0, 1e-320, 1.0, 1e200])
def test_a_lattice_reduction_ends_whatever_it_is_given(size):
    zeros, broken = np.zeros((30, 2)), np.full((30, 2), np.nan)
    some = np.vstack([size * np.eye(2), zeros, broken])
    with np.errstate(over="ignore"):  # 1e200 has no square
        assert len(_clusters(zeros)) == 1 and len(_clusters(broken)) == 0
        assert np.isfinite(_clusters(some)).all()
        assert np.isfinite(_lattice_basis(some, 0.0)).all()
        incommensurable = size * np.array([[1.0, 0.0], [np.sqrt(2), 0.0], [np.e, 0.0]])
        assert np.isfinite(_lattice_basis(incommensurable, 0.0)).all()


def test_a_closed_curve():
    points = product_manifold("S^1(2)", 800, random_state=0).points
    near = nearest_neighbors(points, 20)
    graph = graph_of_neighbors(near, 20)
    frame = parallel_frame(tangent_frames(points, near, 1, n_neighbors=9).frames, graph)
    found = find_periods(unrolled_coordinates(points, frame, graph))
    assert lengths(found.vectors) == pytest.approx([4 * np.pi], rel=1e-4)


# Bad input.


def test_messages():
    sample = bent_sample(np.linspace(0, 1, 50)[:, None], (1,))
    graph = neighbor_graph(sample.points, 4)
    with pytest.raises(InputError, match=r"shape \(n, f, d\), a row for each of the 50 points"):
        parallel_frame(sample.points, graph)
    apart = np.vstack([sample.points, sample.points + 100])
    with pytest.raises(InputError, match="connected graph; got 2 pieces"):
        parallel_frame(np.tile(sample.tangents[0], (2, 1, 1)), neighbor_graph(apart, 4))
    with pytest.raises(InputError, match="a row for each of 50; got 49"):
        unrolled_coordinates(sample.points[1:], parallel_frame(sample.tangents[0], graph), graph)
    with pytest.raises(InputError, match="case must be one of"):
        flat_sample("plane", 10)


@pytest.mark.parametrize("cut", [False, True])
def test_a_curve_is_solved_directly(cut, rng):
    n = 400
    i = np.repeat(np.arange(n), 3)
    j = (i + np.tile([1, 2, 3], n)) % n
    shuffled = rng.permutation(n)
    i, j = shuffled[i], shuffled[j]
    edges = Edges(np.minimum(i, j), np.maximum(i, j), n)
    wanted, weights = rng.standard_normal((len(edges), 2)), rng.uniform(0.5, 2, len(edges))
    if cut:  # the first third of the points is a piece of its own, joined by nothing that counts
        near = np.isin(edges.i, shuffled[:130]) != np.isin(edges.j, shuffled[:130])
        weights = np.where(near, 0.0, weights)
    assert edges.line[1] ** 2 <= n
    found = solve_differences(edges, wanted, weights, tolerance=1e-8)
    gradient = np.zeros((len(edges), n))
    gradient[np.arange(len(edges)), edges.j] = 1
    gradient[np.arange(len(edges)), edges.i] = -1
    root = np.sqrt(weights)[:, None]
    expected = np.linalg.lstsq(root * gradient, root * wanted, rcond=None)[0]
    difference = (edges.difference(found) - gradient @ expected)[weights > 0]
    np.testing.assert_allclose(difference, 0.0, atol=1e-6)
