"""The parts of maps, each against a known answer or a slow literal twin."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from geodis.manifold.flat.differences import Edges, edges_of
from geodis.manifold.local.graph import neighbor_graph
from geodis.manifold.maps.closed_coordinates import closed_coordinates
from geodis.manifold.maps.fit_map import landmark_scaling, orientation_of
from geodis.manifold.maps.geodesics import geodesics_of
from geodis.manifold.maps.rigid_map import RigidFit, chords_of, steps_within
from tests.manifold.maps.cases import sphere


def tangents_of_sphere(points):
    """Orthonormal rows at right angles to the points."""
    return np.linalg.svd(points[:, None])[2][:, 1:]


def test_steps_on_a_sphere_are_arcs():
    rng = np.random.default_rng(0)
    points = sphere(400, rng)
    i, j = np.arange(200), np.arange(200, 400)
    steps = steps_within(points, tangents_of_sphere(points), i, j, n_jobs=2)
    angle = np.arccos((points[i] * points[j]).sum(axis=1))
    near = angle < 1.5
    np.testing.assert_allclose(np.linalg.norm(steps.out[near], axis=1), angle[near], rtol=1e-9)
    np.testing.assert_allclose(steps.lengths[near], angle[near], rtol=1e-9)
    np.testing.assert_allclose(steps.turning[near], angle[near], rtol=1e-6)


def test_steps_leave_the_other_factor_out_and_do_not_depend_on_the_frames():
    rng = np.random.default_rng(1)
    one, other = sphere(300, rng), sphere(300, rng)
    points = np.hstack([one, other])
    axes = np.pad(tangents_of_sphere(one), ((0, 0), (0, 0), (0, 3)))
    i, j = rng.integers(300, size=(2, 100))
    alone = steps_within(one, axes[..., :3], i, j)
    within = steps_within(points, axes, i, j)
    np.testing.assert_allclose(within.out, alone.out, atol=1e-12)
    turned = steps_within(points, -axes[:, ::-1], i, j)
    np.testing.assert_allclose(turned.lengths, within.lengths, atol=1e-12)


def test_steps_to_other_points():
    rng = np.random.default_rng(2)
    points = sphere(50, rng)
    axes = tangents_of_sphere(points)
    i, j = np.arange(20), np.arange(20, 40)
    one = steps_within(points, axes, i, j)
    two = steps_within(points, axes, i, np.arange(20), to_points=points[20:40], to_axes=axes[20:40])
    np.testing.assert_array_equal(one.out, two.out)
    np.testing.assert_array_equal(one.back, two.back)


def test_a_sphere_stays_as_it_is():
    points = sphere(600, np.random.default_rng(0))
    edges = edges_of(neighbor_graph(points, 12))
    steps = steps_within(points, tangents_of_sphere(points), edges.i, edges.j)
    fitted = RigidFit(steps, edges).refine(points)
    assert fitted.misfit < 0.003
    np.testing.assert_allclose(fitted.coordinates, points - points.mean(axis=0), atol=0.02)
    inside = np.einsum("crk,crl->ckl", fitted.frames, fitted.frames)
    np.testing.assert_allclose(inside, np.broadcast_to(np.eye(2), inside.shape), atol=1e-9)


def test_chords_are_those_of_circles():
    rng = np.random.default_rng(0)
    start, angle = rng.uniform(0, 6, 20), rng.uniform(0.01, 1.9, 20)

    def at(t):
        return np.stack([np.cos(t), np.sin(t)], axis=1)

    def along(t):
        return np.stack([-np.sin(t), np.cos(t)], axis=1)[:, :, None]

    chords = chords_of(along(start), along(start + angle), angle[:, None], angle[:, None])
    np.testing.assert_allclose(chords, at(start + angle) - at(start), atol=1e-12)


def test_landmark_scaling_of_a_square_grid():
    side = np.arange(12.0)
    grid = np.stack(np.meshgrid(side, side), axis=2).reshape(-1, 2)
    distances = np.linalg.norm(grid[:, None] - grid, axis=2)
    i, j = np.nonzero(np.triu(distances < 4, 1))
    coordinates, values = landmark_scaling(distances[i, j], Edges(i, j, 144), most=2)
    assert values[1] > 0.9 * values[0]
    again = np.linalg.norm(coordinates[:, None] - coordinates, axis=2)
    assert np.abs(again - distances).max() < 0.1 * distances.max()


def test_logarithms_are_exact_on_a_plane():
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(500, 2))
    frames = np.broadcast_to(np.eye(2), (500, 2, 2)).copy()
    geodesics = geodesics_of(points, frames)
    np.testing.assert_allclose(geodesics.logarithms(3)[0], points - points[3], atol=1e-9)
    distances = geodesics.logarithms(77)[1]
    np.testing.assert_allclose(distances, np.linalg.norm(points - points[77], axis=1), rtol=0.08)


def test_paths_are_those_of_scipy():
    points = sphere(400, np.random.default_rng(0))
    frames = np.swapaxes(tangents_of_sphere(points), 1, 2)
    geodesics = geodesics_of(points, frames)
    from scipy.sparse import csr_array

    graph = csr_array((geodesics.lengths, geodesics.indices, geodesics.indptr), shape=(400, 400))
    paths = dijkstra(graph, indices=[0, 9])
    found = [geodesics.logarithms(source) for source in (0, 9)]
    straight = np.linalg.norm([vectors for vectors, _ in found], axis=2)
    distances = np.array([own for _, own in found])
    assert (straight <= paths + 1e-9).all()
    true = np.arccos(np.clip(points[[0, 9]] @ points.T, -1, 1))
    assert np.sqrt(((distances - true) ** 2).mean()) < 0.01 < np.sqrt(((paths - true) ** 2).mean())


def test_distances_count_what_lies_beside():
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(500, 2))
    frames = np.broadcast_to(np.eye(2), (500, 2, 2)).copy()
    geodesics = geodesics_of(points, frames)
    a, b = rng.integers(500, size=(2, 60))
    beside = 0.01 * rng.standard_normal((2, 60, 2))
    found = geodesics.distances(a, b, *beside)
    true = np.linalg.norm(points[b] + beside[1] - points[a] - beside[0], axis=1)
    assert np.abs(found - true).max() < 0.05 and np.median(np.abs(found - true)) < 1e-9


def test_a_way_around_a_hole_is_no_shortcut():
    angle = np.random.default_rng(0).uniform(0.3, 2 * np.pi - 0.3, 600)  # a ring with a gap
    radius = np.random.default_rng(1).uniform(1, 1.1, 600)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    frames = np.broadcast_to(np.eye(2), (600, 2, 2)).copy()
    ends = np.array([angle.argmin()]), np.array([angle.argmax()])
    assert geodesics_of(points, frames).distances(*ends)[0] > 4


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("b", [1, 2, 3])
def test_closed_coordinates_are_isometric_and_have_no_seam(b, seed):
    rng = np.random.default_rng(seed)
    periods = rng.standard_normal((b, b + seed % 2)) + np.eye(b, b + seed % 2)
    dim = periods.shape[1]
    closed = closed_coordinates(periods, dim)
    flat = rng.standard_normal((40, dim))
    around = flat + rng.integers(-3, 4, (40, b)) @ periods
    np.testing.assert_allclose(closed.close(around), closed.close(flat), atol=1e-8)
    step = 1e-6 * rng.standard_normal(flat.shape)
    seen = np.linalg.norm(closed.close(flat + step) - closed.close(flat), axis=1)
    np.testing.assert_allclose(seen, np.linalg.norm(step, axis=1), rtol=0.035)
    slopes = closed.slopes(flat)
    np.testing.assert_allclose(
        np.einsum("nrf,nf->nr", slopes, step),
        closed.close(flat + step) - closed.close(flat),
        atol=1e-8,
    )
    assert (closed.distances(around - flat) < 1e-9).all()
    assert closed.distances(step) == pytest.approx(np.linalg.norm(step, axis=1))


def test_orientation_follows_the_columns():
    rng = np.random.default_rng(0)
    points = sphere(2000, rng)
    for _ in range(5):
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        turned = points @ turn
        again = turned @ orientation_of(turned - turned.mean(axis=0), points).T
        assert np.abs(again - points).max() < 0.1
    rows = orientation_of(points - points.mean(axis=0), np.zeros((2000, 1)))
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-9)
