import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geodis import nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.base.jobs import blocks, over_blocks, over_ranges
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local import tangents
from geodis.manifold.local.angles import principal_angles
from geodis.manifold.local.neighborhood_size import choose_n_neighbors
from geodis.manifold.local.neighbors import Neighbors
from geodis.manifold.local.quadratic_fits import quadratic_pairs, tangent_terms
from geodis.manifold.local.tangents import (
    neighbors_for_tangents,
    searched_tangent_frames,
    tangent_frames,
)
from tests.reference import manifold as reference


def projectors(frames):
    return np.swapaxes(frames, 1, 2) @ frames


def true_frames(sample):
    return np.concatenate(sample.tangents, axis=1)


def paraboloid(rng, scale, n=40, k=2, codim=3):
    """Points (t, q(t)) with the first at the vertex, where the tangent space is known."""
    forms = rng.standard_normal((codim, k, k))
    t = scale * rng.uniform(-1, 1, (n, k))
    t[0] = 0
    points = np.column_stack([t, np.einsum("na,cab,nb->nc", t, forms, t)])
    return points, np.eye(k, k + codim)[None]


@pytest.mark.parametrize("spec", ["S^1", "S^2", "S^2 x S^1", "ellipsoid(1, 2, 3)"])
def test_curved_tangents_equal_their_literal_twin(spec):
    sample = product_manifold(spec, 80, noise=0.01, pad=1, rotate=True, random_state=4)
    near = nearest_neighbors(sample.points, 2 * tangent_terms(sample.dim))
    found = tangent_frames(sample.points, near, sample.dim)
    for i in range(80):
        frame, residual = reference.curved_frame(sample.points, i, near.indices[i], sample.dim)
        assert_allclose(found.frames[i].T @ found.frames[i], frame.T @ frame, atol=1e-6)
        assert_allclose(found.residual[i], residual, rtol=1e-6)


def test_restricted_terms_from_given_frames_equal_their_literal_twin():
    sample = product_manifold("S^2 x S^1", 80, random_state=4)
    near = nearest_neighbors(sample.points, 16)
    start = tangent_frames(sample.points, near, 3, method="pca").frames
    found = tangent_frames(sample.points, near, 3, factor_dims=(2, 1), start=start)
    for i in range(80):
        frame, residual = reference.curved_frame(
            sample.points, i, near.indices[i], 3, factor_dims=(2, 1), start=start[i]
        )
        assert_allclose(found.frames[i], frame, atol=1e-6)  # the start fixes every row
        assert_allclose(found.residual[i], residual, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3])
def test_pca_tangents_equal_the_singular_vectors_of_the_displacements(k):
    sample = product_manifold(f"S^{k} x S^1", 60, noise=0.05, random_state=1)
    near = nearest_neighbors(sample.points, 9)
    found = tangent_frames(sample.points, near, k + 1, method="pca", n_neighbors=7)
    assert found.n_neighbors == 7
    assert_array_equal(found.radius, near.distances[:, 6])
    for i in range(60):
        frame = reference.pca_frame(sample.points, i, near.indices[i, :7], k + 1)
        assert_allclose(projectors(found.frames)[i], frame.T @ frame, atol=1e-10)
        outside = [
            x - frame.T @ (frame @ x) for x in sample.points[near.indices[i, :7]] - sample.points[i]
        ]
        assert_allclose(found.residual[i], np.sqrt(np.mean([x @ x for x in outside])), rtol=1e-8)


@pytest.mark.parametrize("method", ["curved", "pca"])
def test_many_columns_have_the_tangents_of_the_few_that_vary(method):
    sample = product_manifold("S^2", 150, noise=0.01, random_state=3)
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((60, 3)))[0].T
    near = nearest_neighbors(sample.points, 20)
    few = tangent_frames(sample.points, near, 2, method=method)
    many = tangent_frames(sample.points @ turn, near, 2, method=method)
    assert_allclose(projectors(many.frames), projectors(few.frames @ turn), atol=1e-8)
    assert_allclose(many.residual, few.residual, rtol=1e-6)


def test_frames_are_orthonormal(rng):
    points = rng.standard_normal((200, 6))
    near = nearest_neighbors(points, 30)
    for method in ("curved", "pca"):
        frames = tangent_frames(points, near, 4, method=method).frames
        assert_allclose(
            frames @ np.swapaxes(frames, 1, 2), np.tile(np.eye(4), (200, 1, 1)), atol=1e-9
        )


def test_curvature_correction_gains_tenfold_on_a_product_of_spheres():
    sample = product_manifold("S^2 x S^2", 2000, random_state=0)
    near = nearest_neighbors(sample.points, neighbors_for_tangents(4))
    error = {
        (method, count): principal_angles(
            tangent_frames(sample.points, near, 4, method=method, n_neighbors=count).frames,
            true_frames(sample),
        ).mean()
        for method, count in [("curved", None), ("pca", None), ("pca", 8)]
    }
    assert error["curved", None] < 0.012
    assert 10 * error["curved", None] < min(error["pca", None], error["pca", 8])


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01])
def test_the_tangent_at_the_vertex_of_a_quadratic_surface_is_a_fixed_point(scale, rng):
    points, tangent = paraboloid(rng, scale)
    near = nearest_neighbors(points, 2 * tangent_terms(2))
    start = np.repeat(tangent, len(points), axis=0)
    found = tangent_frames(points, near, 2, start=start)
    assert principal_angles(found.frames[:1], tangent) < 1e-7
    assert found.residual[0] < 1e-7 * scale


def test_as_many_neighbors_as_terms_determine_the_tangent_of_a_quadratic_surface(rng):
    points, tangent = paraboloid(rng, 0.003)
    near = nearest_neighbors(points, tangent_terms(2))
    assert principal_angles(tangent_frames(points, near, 2).frames[:1], tangent) < 1e-6
    assert (
        principal_angles(tangent_frames(points, near, 2, method="pca").frames[:1], tangent) > 1e-4
    )


def test_the_error_falls_with_a_higher_power_of_the_radius_than_that_of_pca(rng):
    seeds = rng.integers(2**32, size=20)
    error = {}
    for scale in (0.1, 0.05):
        for method in ("pca", "curved"):
            angles = []
            for seed in seeds:
                points, tangent = paraboloid(np.random.default_rng(seed), scale)
                near = nearest_neighbors(points, 18)
                frames = tangent_frames(points, near, 2, method=method).frames[:1]
                angles.append(principal_angles(frames, tangent)[0])
            error[method, scale] = np.median(angles)
    assert 1.5 < error["pca", 0.1] / error["pca", 0.05] < 3
    assert error["curved", 0.1] / error["curved", 0.05] > 8


@pytest.mark.parametrize("method", ["curved", "pca"])
def test_tangents_turn_and_scale_with_the_points(method):
    sample = product_manifold("S^2 x S^1", 300, random_state=2)
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    moved = 7.0 * sample.points @ rotation.T + 3.0
    plain, turned = (
        tangent_frames(points, nearest_neighbors(points, 25), 3, method=method)
        for points in (sample.points, moved)
    )
    assert_allclose(projectors(turned.frames), projectors(plain.frames @ rotation.T), atol=1e-7)
    assert_allclose(turned.residual, 7 * plain.residual, rtol=1e-6)
    assert_allclose(turned.radius, 7 * plain.radius, rtol=1e-12)


def test_the_result_depends_neither_on_threads_nor_on_blocks(monkeypatch):
    sample = product_manifold("S^2 x S^1", 300, random_state=2)
    near = nearest_neighbors(sample.points, 20)
    whole = tangent_frames(sample.points, near, 3)
    monkeypatch.setattr(tangents, "BLOCK_ENTRIES", 2**12)
    fractions: list[float] = []
    one, three = (
        tangent_frames(sample.points, near, 3, n_jobs=n_jobs, done=fractions.append)
        for n_jobs in (1, 3)
    )
    assert_array_equal(one.frames, three.frames)
    assert_array_equal(one.residual, three.residual)
    assert_allclose(one.frames, whole.frames, atol=1e-10)
    assert len(fractions) > 20
    assert fractions[-1] == 1.0


def test_a_plane_leaves_no_residual(rng):
    plane = np.linalg.qr(rng.standard_normal((7, 3)))[0].T
    points = rng.uniform(size=(400, 3)) @ plane + 2.0
    near = nearest_neighbors(points, 20)
    for method in ("curved", "pca"):
        found = tangent_frames(points, near, 3, method=method)
        assert principal_angles(found.frames, np.tile(plane, (400, 1, 1))).max() < 1e-7
        assert found.residual.max() < 1e-7


@pytest.mark.parametrize("codim", [1, 4, 9])
@pytest.mark.parametrize("sigma", [0.001, 0.01])
def test_the_residual_of_a_noisy_plane_is_the_noise_across_it(codim, sigma, rng):
    points = np.zeros((3000, 2 + codim))
    points[:, :2] = rng.uniform(size=(3000, 2))
    points += sigma * rng.standard_normal(points.shape)
    # Neighbours in space would be chosen for their noise too, where it exceeds the spacing.
    near = nearest_neighbors(points[:, :2], 100)
    found = tangent_frames(points, near, 2)
    mean_square = np.mean(found.residual**2)
    assert_allclose(np.sqrt(mean_square), sigma * np.sqrt(codim), rtol=0.05)


def test_the_intercept_frees_the_tangent_from_the_noise_of_its_own_point(rng):
    # A dent at one point moves that point alone: with a constant term its tangent hardly feels it.
    points = np.zeros((500, 3))
    points[:, :2] = rng.uniform(-1, 1, (500, 2))
    points[0] = [0, 0, 0.1]
    near = nearest_neighbors(points, 24)
    tangent = np.eye(2, 3)[None]
    curved = tangent_frames(points, near, 2).frames[:1]
    assert principal_angles(curved, tangent) < 1e-7


def test_quadratic_terms_within_factors_are_enough_on_a_product():
    sample = product_manifold("S^2 x S^2", 2000, random_state=0)
    near = nearest_neighbors(sample.points, 30)
    few = tangent_frames(
        sample.points, near, 4, n_neighbors=20, factor_dims=(2, 2), start=true_frames(sample)
    )
    all_terms = tangent_frames(sample.points, near, 4, n_neighbors=20, start=true_frames(sample))
    error = [principal_angles(f.frames, true_frames(sample)).mean() for f in (few, all_terms)]
    assert error[0] < 0.9 * error[1]


def test_some_rows_alone_have_the_tangents_that_they_have_among_all():
    sample = product_manifold("S^2 x S^1", 200, random_state=2)
    near = nearest_neighbors(sample.points, 20)
    rows = np.array([150, 3, 77, 78])
    some = Neighbors(near.indices[rows], near.distances[rows], near.method)
    whole = tangent_frames(sample.points, near, 3)
    found = tangent_frames(sample.points, some, 3, centres=sample.points[rows])
    assert_allclose(projectors(found.frames), projectors(whole.frames[rows]), atol=1e-10)
    assert_allclose(found.residual, whole.residual[rows], rtol=1e-8)
    assert_array_equal(found.radius, whole.radius[rows])


@pytest.mark.parametrize("entries", [2**23, 2**13, 1])
@pytest.mark.parametrize("pad", [0, 8])  # by tree, and by blocks of distances
def test_neighbours_found_by_blocks_give_the_same_tangents(monkeypatch, entries, pad):
    sample = product_manifold("S^2 x S^1", 400, pad=pad, noise=0.02, rotate=True, random_state=2)
    whole = tangent_frames(sample.points, nearest_neighbors(sample.points, 40), 3)
    again = tangent_frames(
        sample.points,
        nearest_neighbors(sample.points, 40),
        3,
        start=whole.frames,
        factor_dims=(2, 1),
    )
    monkeypatch.setattr(tangents, "HELD_ENTRIES", entries)
    monkeypatch.setattr(tangents, "BLOCK_ENTRIES", 2**13)
    done: list[float] = []
    found = searched_tangent_frames(sample.points, 3, 40, done=done.append)
    assert_allclose(found.frames, whole.frames, atol=1e-9)
    assert_allclose(found.residual, whole.residual, rtol=1e-9)
    assert_array_equal(found.radius, whole.radius)
    assert done[-1] == 1.0 and (len(done) > 10) == (entries == 1)
    rows = np.array([7, 300, 20])
    some = searched_tangent_frames(
        sample.points, 3, 40, rows=rows, start=whole.frames[rows], factor_dims=(2, 1)
    )
    assert_allclose(some.frames, again.frames[rows], atol=1e-9)


def test_more_noisy_points_are_given_more_neighbours_and_have_better_tangents():
    """Against the tangent at the clean point nearest to the noisy one."""
    error, chosen = [], []
    for n in (4_000, 20_000):
        points = product_manifold("S^2 x S^2", n, noise=0.02, random_state=0).points
        chosen.append(choose_n_neighbors(points, 4))
        rows = np.arange(0, n, n // 100)
        frames = searched_tangent_frames(points, 4, chosen[-1], rows=rows).frames
        normals = np.zeros((len(rows), 2, 6))
        normals[:, 0, :3], normals[:, 1, 3:] = points[rows, :3], points[rows, 3:]
        normals /= np.linalg.norm(normals, axis=2, keepdims=True)
        sines = np.linalg.svd(normals @ np.swapaxes(frames, 1, 2), compute_uv=False)
        error.append(np.arcsin(np.minimum(sines, 1)).mean())
    assert chosen[0] < chosen[1] <= 100 * tangent_terms(4)
    assert error[1] < 0.8 * error[0]


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.03, 0.1])
def test_the_chosen_neighborhood_is_nearly_as_good_as_the_best(sigma):
    sample = product_manifold("S^2 x S^1", 2000, noise=sigma, random_state=0)
    near = nearest_neighbors(sample.points, 330)
    chosen = choose_n_neighbors(sample.points, 3)
    error = {
        count: principal_angles(
            tangent_frames(sample.points, near, 3, n_neighbors=count).frames, true_frames(sample)
        ).mean()
        for count in (chosen, 30, 50, 100, 180, 330)
    }
    assert error[chosen] < 1.15 * min(error.values())
    assert max(error.values()) > 1.5 * error[chosen]


def test_the_chosen_neighborhood_does_not_change_with_scale_and_rotation():
    points = product_manifold("S^2 x S^1", 1000, noise=0.03, random_state=0).points
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    counts = {choose_n_neighbors(x, 3) for x in (points, 100.0 * points @ rotation.T - 5.0)}
    assert len(counts) == 1
    assert counts.pop() > neighbors_for_tangents(3)


def test_the_whole_space_needs_no_choice_of_neighborhood(rng):
    assert choose_n_neighbors(rng.standard_normal((500, 2)), 2) == neighbors_for_tangents(2)
    assert choose_n_neighbors(rng.standard_normal((10, 2)), 2) == 9


@pytest.mark.parametrize(
    ("dim", "factor_dims"), [(1, None), (4, None), (4, (2, 2)), (6, (3, 1, 2)), (3, (1, 1, 1))]
)
def test_quadratic_pairs_equal_their_literal_twin(dim, factor_dims):
    pairs = list(zip(*quadratic_pairs(dim, factor_dims), strict=True))
    assert sorted(pairs) == sorted(reference.quadratic_pairs(dim, factor_dims))


@pytest.mark.parametrize("dim", [1, 4, 7])
def test_neighbors_for_tangents_are_twice_the_terms(dim):
    n_terms = 1 + dim + len(reference.quadratic_pairs(dim))
    assert neighbors_for_tangents(dim) == 2 * n_terms


def test_float32_points_give_the_same_tangents():
    sample = product_manifold("S^2", 200, random_state=0)
    near = nearest_neighbors(sample.points, 15)
    found = tangent_frames(sample.points.astype(np.float32), near, 2)
    expected = tangent_frames(sample.points, near, 2)
    assert found.frames.dtype == float
    assert principal_angles(found.frames, expected.frames).max() < 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 3}, "curved tangents of dimension 3 need at least 10 neighbours per point; got 9"),
        ({"dim": 2, "n_neighbors": 5}, "need at least 6 neighbours per point; got 5"),
        (
            {"dim": 4, "factor_dims": (2, 2)},
            "curved tangents of dimension 4 need at least 11 neighbours per point; got 9",
        ),
        ({"dim": 3, "n_neighbors": 2, "method": "pca"}, "need at least 3 neighbours .*; got 2"),
        ({"dim": 2, "n_neighbors": 10}, "n_neighbors must be between 1 and 9; got 10"),
        ({"dim": 5}, "dim must be between 1 and 4; got 5"),
        ({"dim": 2.0}, "dim must be an integer; got 2.0"),
        ({"dim": 2, "method": "svd"}, "method must be one of 'curved', 'pca'; got 'svd'"),
        ({"dim": 2, "points": np.full((30, 4), np.nan)}, "points must be finite"),
        ({"dim": 2, "points": np.zeros(30)}, r"points must have shape \(n, d\)"),
    ],
)
def test_tangents_that_cannot_be_found_say_what_was_needed(options, message, rng):
    points = rng.standard_normal((30, 4))
    arguments = {"points": points, "neighbors": nearest_neighbors(points, 9), **options}
    with pytest.raises(InputError, match=message):
        tangent_frames(**arguments)


# ---- small dense linear algebra ----


def test_polar_rows_equals_the_polar_factor_of_the_singular_vectors(rng):
    matrices = rng.standard_normal((3, 5, 4, 6))
    nearest = polar_rows(matrices)
    expected = [[reference.polar_factor(matrix) for matrix in row] for row in matrices]
    assert_allclose(nearest, expected, atol=1e-9)
    assert_allclose(polar_rows(5.0 * matrices), nearest, atol=1e-9)


def test_polar_rows_leaves_short_what_the_matrix_does_not_determine():
    found = polar_rows(np.diag([2.0, 0.0])[None])[0]
    assert_allclose(found, np.diag([1.0, 0.0]), atol=1e-12)
    assert_array_equal(polar_rows(np.zeros((1, 2, 3))), 0)


@pytest.mark.parametrize(("n", "size"), [(10, 3), (9, 3), (2, 5), (0, 4)])
def test_blocks_cover_the_range_once(n, size):
    covered = [i for rows in blocks(n, size) for i in range(n)[rows]]
    assert covered == list(range(n))
    assert all(rows.stop - rows.start <= size for rows in blocks(n, size))


@pytest.mark.parametrize(("n", "n_jobs"), [(1000, 1), (1000, 3), (8, 2), (5, 2), (0, 2)])
def test_ranges_on_threads_cover_all_rows_once(n, n_jobs):
    seen = np.zeros(n, int)

    def work(start, stop):
        seen[start:stop] += 1

    over_ranges(work, n, n_jobs)
    assert_array_equal(seen, 1)


def test_an_error_on_a_thread_reaches_the_caller():
    def work(start, stop):
        raise ValueError(f"rows {start} to {stop}")

    with pytest.raises(ValueError, match="rows 0 to"):
        over_ranges(work, 100, 2)


def test_an_error_in_a_block_reaches_the_caller_and_stops_the_rest():
    seen = []

    def work(rows):
        seen.append(rows.start)
        if rows.start == 2:
            raise ValueError("block at 2")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="block at 2"):
        over_blocks(work, 2000, 1, 1)
    assert len(seen) < 2000
