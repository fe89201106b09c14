"""How good flat coordinates are: strain, curvature, curves, and parts that are only tried."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import spearmanr

from geodis import GeoManCER, Scenes, neighbor_graph, product_manifold
from geodis.data.manifolds.flat_products import flat_sample
from geodis.manifold.flat.curvature import measure_curvature
from geodis.manifold.flat.flat_evidence import strain_of
from geodis.manifold.flat.flat_part import MAX_STRAIN, split_flat_part
from geodis.manifold.flat.periods import find_periods
from geodis.manifold.flat.unroll import parallel_frame, unrolled_coordinates
from geodis.manifold.local.neighborhood_size import choose_n_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.local.tangents import tangent_frames


def frames_of(points, dim, count=None):
    count = count or choose_n_neighbors(points, dim)
    return tangent_frames(points, nearest_neighbors(points, count), dim).frames


def unrolled(points, dim, count=None):
    graph = neighbor_graph(points, max(2 * dim, 10), n_jobs=1)
    frame = parallel_frame(frames_of(points, dim, count), graph)
    return find_periods(unrolled_coordinates(points, frame, graph))


def surface(height, n=1500, noise=0.0, seed=0):
    """The graph of a function over the unit square."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-0.5, 0.5, size=(n, 2))
    points = np.column_stack([u, height(*u.T)])
    return points + noise * rng.standard_normal(points.shape)


def saddle(strength):
    return lambda x, y: strength * (x**2 - y**2)


def cap(height, n=1500):
    points = product_manifold("S^2", 10 * n, random_state=0).points
    return points[points[:, 2] > height][:n]


def fit(points, **options):
    return GeoManCER(verbose=0, n_jobs=1, **options).fit(points)


# Lengths along the coordinates.


@pytest.mark.parametrize("case", ["rectangle", "box", "circle x interval", "circle x circle"])
@pytest.mark.parametrize(("noise", "most"), [(0.0, 0.01), (0.03, 0.05)])
def test_strain_of_flat_parts(case, noise, most):
    sample = flat_sample(case, 1500, noise=noise, random_state=0)
    periods = unrolled(sample.points, sample.coordinates.shape[1])
    assert strain_of(periods.unrolling, periods.vectors) < most


@pytest.mark.parametrize("spec", ["S^2", "S^3", "torus(2, 0.7)", "SO(3)", "S^2 x S^1"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_strain_of_closed_curved_manifolds(spec, noise):
    sample = product_manifold(spec, 800, noise=noise, random_state=0)
    periods = unrolled(sample.points, sample.dim)
    assert strain_of(periods.unrolling, periods.vectors) > MAX_STRAIN


def test_strain_is_that_of_coordinates_that_were_stretched():
    sample = flat_sample("rectangle", 1500, random_state=0)
    own = unrolled(sample.points, 2).unrolling
    for factor in (0.8, 1.1):
        wider = replace(own, coordinates=factor * own.coordinates)
        assert strain_of(wider, np.zeros((0, 2))) == pytest.approx(abs(factor - 1), rel=0.01)
    # Noise of the same size in the coordinates is none.
    step = np.median(np.linalg.norm(own.steps, axis=1))
    noise = 0.1 * step * np.random.default_rng(0).standard_normal(own.coordinates.shape)
    rough = replace(own, coordinates=own.coordinates + noise)
    assert strain_of(rough, np.zeros((0, 2))) < 0.1


# Curvature.


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize(
    "case", ["rectangle", "box", "swiss roll", "circle x circle", "box, tightly bent"]
)
def test_flat_parts_have_no_curvature(case, noise):
    sample = flat_sample(case, 800, noise=noise, random_state=0)
    dim = sample.coordinates.shape[1]
    count = choose_n_neighbors(sample.points, dim)
    own = unrolled(sample.points, dim, count).unrolling
    seen = measure_curvature(sample.points, own.frames, own.coordinates, tangent_neighbors=count)
    assert not seen.curved, str(seen)


@pytest.mark.parametrize(
    ("strength", "noise", "rel"), [(0.05, 0.0, 0.02), (0.2, 0.0, 0.1), (0.2, 0.01, 0.2)]
)
def test_curvature_of_saddles(strength, noise, rel):
    points = surface(saddle(strength), noise=noise)
    own = unrolled(points, 2).unrolling
    seen = measure_curvature(points, own.frames, own.coordinates)
    # K = -4 c^2 in the middle, and the sides are one.
    assert seen.curved and seen.mean == pytest.approx(-4 * strength**2, rel=rel)
    assert seen.z > 10


def test_curvature_of_a_cap_and_of_both_signs():
    points = cap(0.8)
    own = unrolled(points, 2).unrolling
    seen = measure_curvature(points, own.frames, own.coordinates)
    area = 12 * np.sqrt(np.linalg.det(np.cov(own.coordinates.T)))
    assert seen.curved and seen.mean == pytest.approx(area, rel=0.02)
    waves = surface(lambda x, y: 0.05 * np.sin(7 * x) * np.sin(7 * y))
    own = unrolled(waves, 2).unrolling
    seen = measure_curvature(waves, own.frames, own.coordinates)
    assert seen.curved and "of either sign" in str(seen)


def test_curvature_needs_points_and_two_or_three_dimensions():
    sample = flat_sample("rectangle", 150, random_state=0)
    frames = np.concatenate(sample.tangents, axis=1)
    assert measure_curvature(sample.points, frames, sample.coordinates) is None
    assert measure_curvature(sample.points, frames[:, :1], sample.coordinates[:, :1]) is None


def test_gently_curved_patches_are_doubted():
    est = fit(surface(saddle(0.5)))
    assert est.uncertain_ and "the flat part is curved (K L^2" in est.summary()
    assert "curved-part" in [doubt.code for doubt in est.doubts_]
    # Where lengths in the plane are right to half a per cent it is said, not doubted.
    est = fit(surface(saddle(0.05)))
    assert not est.uncertain_ and "it curves (K L^2" in est.summary().replace("It", "it")
    # A cap is one factor, and that is not doubted for its curvature.
    est = fit(cap(0.8))
    assert est.factor_dims_.tolist() == [2] and not est.uncertain_
    assert "curves (K L^2" in est.summary()


# Coordinates with their quality instead of nothing.


def test_half_a_sphere_has_coordinates_of_some_quality():
    points = cap(0.0)
    part = split_flat_part(points, frames_of(points, 2), random_state=0)
    assert np.isfinite(part.coordinates).all() and part.dims == (2,)
    assert 0.8 < part.evidence.quality < 0.95
    assert "wrong-lengths" in [doubt.code for doubt in part.evidence.doubts]
    # Geodesic distance from the pole is right to that.
    radius = np.linalg.norm(part.coordinates - part.coordinates[points[:, 2].argmax()], axis=1)
    assert np.corrcoef(radius, np.arccos(points[:, 2]))[0, 1] > 0.99


def test_what_was_not_unrolled_is_doubted():
    sphere = product_manifold("S^2", 800, random_state=0)
    part = split_flat_part(sphere.points, sphere.tangents[0], random_state=0)
    assert part.evidence.quality < 0.8 and np.isnan(part.coordinates).all()
    assert [doubt.code for doubt in part.evidence.doubts] == ["not-unrolled"]
    few = flat_sample("box", 30, random_state=0)
    part = split_flat_part(few.points, np.concatenate(few.tangents, axis=1), random_state=0)
    assert part.evidence.quality == 0 and part.evidence.doubts
    disc = flat_sample("equal Gaussians", 800, random_state=0)
    part = split_flat_part(disc.points, np.concatenate(disc.tangents, axis=1), random_state=0)
    assert part.dims == (3,) and not part.evidence.doubts  # that is an answer


@pytest.mark.parametrize("spec", ["S^2", "torus(2, 0.7)", "S^3", "SO(3)", "ellipsoid(1, 1, 2)"])
def test_curved_manifolds_are_not_split_by_trying(spec):
    sample = product_manifold(spec, 800, noise=0.05, random_state=1)
    est = fit(sample.points, dim=sample.dim)
    assert est.factor_dims_.tolist() == [sample.dim]
    assert est.flat_coordinates_.shape[1] == 0


def photographs(n=700, columns=20, seed=0):
    """Images of one object in two angles and one light: a metric that is no product."""
    rng = np.random.default_rng(seed)
    yaw, tilt, light = u = np.radians([[45.0], [20.0], [60.0]]) * rng.uniform(-1, 1, size=(3, n))
    turns = Rotation.from_euler("YX", np.column_stack([yaw, tilt])).as_matrix()
    lights = np.column_stack([np.sin(light), np.full(n, 0.3), np.cos(light)])
    images = Scenes(24, n_jobs=1).render(turns, lights, "float32").reshape(n, -1).astype(float)
    centred = images - images.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:columns].T, u.T


def test_parameters_are_found_where_transport_finds_nothing():
    points, u = photographs()
    est = fit(points, dim=3)
    assert est.split_.fields.n_parallel == 0 and est.factor_dims_.tolist() == [1, 1, 1]
    assert est.uncertain_ and "transport found no flat part" in est.summary().lower()
    correlation = np.abs(spearmanr(est.flat_coordinates_, u).statistic)[:3, 3:]
    assert correlation.max(axis=0).min() > 0.93
    assert 0.85 < est.flat_evidence_.quality < 0.99


# Curves.


def views(n, waves=3, seed=0):
    """As images of an object turned n times by one step: a closed curve that bends a lot."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n) / n
    turns = np.outer(angle, np.arange(1, waves + 1))
    both = np.hstack([np.cos(turns), np.sin(turns)])
    return both @ rng.standard_normal((2 * waves, 12)), angle


def turned(est, angle):
    """How well the angle is recovered, up to sign and origin."""
    own = 2 * np.pi * est.flat_coordinates_[:, 0] / abs(est.periods_[0][0, 0])
    return max(abs(np.exp(1j * (own - s * angle)).mean()) for s in (1, -1))


@pytest.mark.parametrize("seed", range(5))
def test_few_views_of_a_turning_object(seed):
    points, angle = views(72, waves=4, seed=seed)
    est = fit(points, dim=1)
    assert len(est.periods_[0]) == 1 and turned(est, angle) > 0.9
    assert not est.uncertain_


def test_curves_are_never_refused():
    angle = np.linspace(0, 3, 400) + np.random.default_rng(0).uniform(0, 0.01, 400)
    noise = np.random.default_rng(1).standard_normal((400, 2))
    for sigma in (0.0, 0.02, 0.1):
        arc = np.column_stack([np.cos(angle), np.sin(angle)]) + sigma * noise
        est = fit(arc, dim=1)
        assert est.flat_coordinates_.shape == (400, 1)
        known = ~est.outliers_  # the farthest of noisy points may be left out
        assert known.sum() >= 399
        assert abs(np.corrcoef(est.flat_coordinates_[known, 0], angle[known])[0, 1]) > 0.98
    # Rightly one factor, however it turns.
    points, angle = views(300, waves=6)
    assert turned(fit(points, dim=1), angle) > 0.9
