"""The flat part as a whole: accuracy, refusals, grids, noise, and other factors beside it."""

import numpy as np
import pytest

from geodis import GeoManCER, neighbor_graph, product_manifold, subspace_angles
from geodis.base.check import InputError
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import bent_sample, flat_sample, grid_coordinates
from geodis.manifold.flat.flat_axes import split_flat_axes
from geodis.manifold.flat.flat_part import split_flat_part
from geodis.manifold.local.graph import connecting_degree
from geodis.manifold.local.neighborhood_size import choose_n_neighbors
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.local.tangents import tangent_frames
from geodis.manifold.refine import split_factors
from geodis.manifold.split_result import Task
from tests.reference.flat import wrapped_difference


def split(sample, count=None, **options):
    """Tangents of a wholly flat sample, and its factors."""
    dim = sample.coordinates.shape[1]
    count = count or 3 * (1 + dim + dim * (dim + 1) // 2)
    near = nearest_neighbors(sample.points, count)
    frames = tangent_frames(sample.points, near, dim).frames
    return split_flat_part(sample.points, frames, random_state=0, **options)


def degrees(part, sample):
    found = np.split(part.frames, np.cumsum(part.dims)[:-1], axis=1)
    return np.degrees(subspace_angles(found, sample.tangents).mean())


# Degrees of mean direction error, medians over five seeds.
ACCURACY = {
    ("rectangle", 2000): 0.3,
    ("swiss roll", 2000): 0.3,
    ("box", 2000): 0.6,
    ("box, tightly bent", 2000): 0.8,
    ("exponential", 2000): 1.0,
    ("circle x interval", 2000): 0.2,
    ("circle x circle", 2000): 0.2,
    ("disc x interval", 2000): 1.0,
}


@pytest.mark.parametrize(("case", "n"), ACCURACY)
def test_accuracy(case, n):
    errors = []
    for seed in range(5):
        sample = flat_sample(case, n, random_state=seed)
        part = split(sample)
        assert part.dims == sample.factor_dims
        errors.append(degrees(part, sample))
    assert np.median(errors) < ACCURACY[case, n]


def test_accuracy_of_five_thousand_points():
    errors = []
    for seed in range(5):
        sample = flat_sample("box", 5_000, random_state=seed)
        part = split(sample)
        assert part.dims == sample.factor_dims
        errors.append(degrees(part, sample))
    assert np.median(errors) < 0.2


def test_accuracy_of_a_long_roll_beside_a_sphere():
    # The whole row, five seeds of 10,000 points, is one of benchmarks/flat_accuracy.py.
    errors = []
    for seed in range(5):
        u = np.random.default_rng(seed).uniform(size=(2000, 2)) * [16, 2]
        sample = bent_sample(u, (1, 1), scale=0.25, straight=(1,))
        points, true = beside_a_sphere(sample, seed + 100)
        est = fit(points)
        assert est.factor_dims_.tolist() == [2, 1, 1]
        errors.append(found_degrees(est, true))
    assert np.median(errors) < 1.5


@pytest.mark.parametrize("seed", range(5))
def test_equal_gaussians_are_unrolled_but_not_split(seed):
    sample = flat_sample("equal Gaussians", 1500, random_state=seed)
    part = split(sample)
    assert part.dims == (3,) and part.evidence.refused
    assert "look the same from all angles" in str(part.evidence)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(part.coordinates.T)))
    expected = np.sqrt(np.linalg.eigvalsh(np.cov(sample.coordinates.T)))
    np.testing.assert_allclose(spread, expected, rtol=0.05)


@pytest.mark.parametrize("case", ["box", "swiss roll", "beta(.5, .5)"])
def test_coordinates_are_the_latent_variables(case):
    sample = flat_sample(case, 1500, random_state=1)
    part = split(sample)
    correlation = np.abs(np.corrcoef(part.coordinates.T, sample.coordinates.T))
    f = len(part.dims)
    assert (correlation[:f, f:].max(axis=1) > 0.9995).all()
    np.testing.assert_allclose(
        np.sort(np.ptp(part.coordinates, axis=0)),
        np.sort(np.ptp(sample.coordinates, axis=0)),
        rtol=0.02,
    )
    np.testing.assert_allclose(np.median(part.coordinates, axis=0), 0, atol=1e-9)


def test_frames_are_the_derivatives_of_the_points():
    sample = flat_sample("box", 3000, random_state=2)
    part = split(sample)
    near = nearest_neighbors(sample.points, 1).indices[:, 0]
    chord = np.einsum("nfd,nd->nf", part.frames, sample.points[near] - sample.points)
    step = part.coordinates[near] - part.coordinates
    assert np.abs(chord - step).max() < 0.02 * np.abs(step).max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("spec", "n", "noise"), [("S^1", 3000, 0.05), ("S^2 x S^1", 5000, 0.03)])
def test_neighbours_nearer_than_the_noise_close_no_small_loops(spec, n, noise, seed):
    # Half of these circles had a period of twice the noise, and nothing was said.
    sample = product_manifold(spec, n, noise=noise, random_state=seed)
    est = GeoManCER(verbose=0, random_state=0).fit(sample.points)
    (period,) = [vector for own in est.periods_ for vector in own]
    assert np.linalg.norm(period) == pytest.approx(2 * np.pi, rel=0.01)


def test_periods_belong_to_their_factor():
    sample = flat_sample("circle x circle", 1500, random_state=0)
    part = split(sample)
    assert [abs(p[0, 0]) for p in part.periods] == pytest.approx([2.0, 3.0], rel=5e-3)
    for column, period, own in zip(part.coordinates.T, (2.0, 3.0), (1, 0), strict=True):
        truth = sample.coordinates[:, own]
        errors = [
            np.abs(wrapped_difference(s * (column - column[0]), truth - truth[0], period)).max()
            for s in (1, -1)
        ]
        assert min(errors) < 0.02
    open_part = split(flat_sample("box", 600, random_state=0))
    assert [p.shape for p in open_part.periods] == [(0, 1)] * 3


@pytest.mark.parametrize("case", ["L-shape", "triangle", "hole"])
def test_supports_that_are_no_products_are_refused_and_said(case):
    part = split(flat_sample(case, 2000, random_state=0))
    assert part.dims == (2,)
    assert "Not split. Their support is not a product" in str(part.evidence)


def test_correlated_factors_are_said():
    part = split(flat_sample("correlated .3", 2000, random_state=0))
    assert "Uncertain: flat factors 0 and 1 share" in str(part.evidence)


@pytest.mark.parametrize("n", [500, 2000, 5000])
def test_correlated_gaussians_are_split_wrongly_and_that_is_said(n):
    u = np.random.default_rng(n).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], n)
    part = split(bent_sample(u, (1, 1), scale=0.6, start=4.0))
    assert part.dims == (1, 1) and "separated by their variances alone" in str(part.evidence)


def test_a_grid_of_few_values_beside_a_circle():
    # Without the circle's direction, every place is seen 24 times, up to errors.
    u = grid_coordinates((24, 8, 8), step=1.0)
    part = split(bent_sample(u, (1, 1, 1), closed={0: 24.0}, scale=2.0))
    assert part.dims == (1, 1, 1) and not part.evidence.doubts


@pytest.mark.parametrize(("n", "limit", "near"), [(500, 5.0, 0.15), (2000, 1.0, 0.02)])
def test_everything_closed(n, limit, near):
    u = np.random.default_rng(n).uniform(size=(n, 3)) * [3, 2, 2.5]
    sample = bent_sample(u, (1, 1, 1), closed={0: 3.0, 1: 2.0, 2: 2.5})
    part = split(sample)
    assert part.dims == (1, 1, 1) and degrees(part, sample) < limit
    found = sorted(abs(p[0, 0]) for p in part.periods)
    assert found == pytest.approx([2.0, 2.5, 3.0], rel=near)


@pytest.mark.parametrize("spec", ["S^2", "S^3", "torus(2, 0.7)", "SO(3)"])
@pytest.mark.parametrize("n", [500, 4000])
def test_curved_manifolds_are_not_unrolled(spec, n):
    sample = product_manifold(spec, n, random_state=0)
    part = split_flat_part(sample.points, sample.tangents[0], random_state=0)
    assert np.isnan(part.coordinates).all() and part.dims == (sample.dim,)
    assert "left whole" in str(part.evidence)


@pytest.mark.parametrize("n", [500, 700])
@pytest.mark.parametrize("case", ["rectangle", "box", "exponential", "circle x interval"])
def test_from_five_hundred_points(case, n):
    sample = flat_sample(case, n, random_state=0)
    part = split(sample)
    assert part.dims == sample.factor_dims and degrees(part, sample) < 5


@pytest.mark.parametrize("n", [15, 60, 120])
def test_too_few_points_are_refused(n):
    sample = flat_sample("box", n, random_state=0)
    part = split_flat_part(sample.points, np.concatenate(sample.tangents, axis=1), random_state=0)
    assert part.evidence.refused and "too few" in str(part.evidence)


@pytest.mark.parametrize("jitter", [0.0, 0.5])
@pytest.mark.parametrize(
    ("sizes", "step", "count", "limit", "seeds"),
    [
        ((8, 8, 8), None, 30, 3.0, 5),
        ((32, 32, 6), 0.03, 30, 1.0, 5),
        ((32, 32, 6), None, 240, 2.0, 1),
    ],
)
def test_grids(sizes, step, count, limit, seeds, jitter):
    errors = []
    for seed in range(seeds):
        u = grid_coordinates(sizes, step=step, jitter=jitter, random_state=seed)
        turn = random_rotations(1, 3, np.random.default_rng(seed + 1))[0]
        sample = bent_sample(u, (1, 1, 1), rotation=turn)
        part = split(sample, count)
        assert part.dims == (1, 1, 1)
        if step or len(set(sizes)) == 1:  # layers far apart leave errors that follow the layers
            assert not part.evidence.doubts
        errors.append(degrees(part, sample))
    assert np.median(errors) < limit


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_three_hundredths_of_the_side(seed):
    sample = flat_sample("box", 2000, noise=0.03, random_state=seed)
    few = split(sample)
    more = split(sample, choose_n_neighbors(sample.points, 3))
    # The floor is the turn of the surface over the noise: about 3.5 degrees here.
    assert more.dims == (1, 1, 1) and degrees(more, sample) < 5.5
    assert few.dims != (1, 1, 1) or degrees(few, sample) > 2 * degrees(more, sample)


@pytest.mark.parametrize("other", ["S^2", "SO(3)"])
def test_other_factors_beside_the_flat_ones_do_not_matter(other):
    sample = flat_sample("rectangle", 3000, random_state=0)
    beside = product_manifold(other, 3000, random_state=1).points
    points = np.hstack([beside, sample.points])
    wide = [np.pad(t, ((0, 0), (0, 0), (beside.shape[1], 0))) for t in sample.tangents]
    part = split_flat_part(points, np.concatenate(wide, axis=1), random_state=0)
    found = np.split(part.frames, 2, axis=1)
    assert np.degrees(subspace_angles(found, wide).mean()) < 0.5


def test_repeated_rows_are_one_place():
    sample = flat_sample("rectangle", 600, random_state=0)
    frames = np.concatenate(sample.tangents, axis=1)
    plain = split_flat_part(sample.points, frames, random_state=0)
    twice = split_flat_part(np.tile(sample.points, (2, 1)), np.tile(frames, (2, 1, 1)))
    np.testing.assert_allclose(
        np.abs(twice.coordinates[:600] - twice.coordinates[600:]), 0, atol=1e-12
    )
    np.testing.assert_allclose(
        np.abs(np.corrcoef(plain.coordinates.T, twice.coordinates[:600].T))[:2, 2:],
        np.eye(2),
        atol=0.1,
    )


def test_only_the_largest_piece_is_unrolled_and_that_is_said():
    sample = flat_sample("rectangle", 800, random_state=0)
    points = np.vstack([sample.points, sample.points[:30] + 100])
    frames = np.concatenate(sample.tangents, axis=1)
    part = split_flat_part(points, np.concatenate([frames, frames[:30]]))
    assert part.dims == (1, 1) and "only the largest piece" in str(part.evidence)
    lost = np.isnan(part.coordinates).any(axis=1)
    np.testing.assert_array_equal(lost, np.arange(830) >= 800)


def test_a_part_in_many_pieces_is_refused():
    sample = flat_sample("rectangle", 2000, random_state=0)
    points = np.vstack([sample.points + 100 * shift for shift in range(3)])
    frames = np.tile(np.concatenate(sample.tangents, axis=1), (3, 1, 1))
    part = split_flat_part(points, frames)
    assert part.evidence.refused and "is in 3 pieces" in str(part.evidence)


def test_a_given_graph_is_used():
    sample = flat_sample("rectangle", 700, random_state=0)
    graph = neighbor_graph(sample.coordinates, 8)
    frames = np.concatenate(sample.tangents, axis=1)
    part = split_flat_part(sample.points, frames, graph=graph)
    assert degrees(part, sample) < 0.6
    plain = split_flat_part(sample.points, frames, graph=graph.adjacency)
    np.testing.assert_array_equal(plain.coordinates, part.coordinates)


def test_the_same_seed_gives_the_same_result():
    sample = flat_sample("disc x interval", 600, random_state=0)
    first, second = split(sample), split(sample)
    np.testing.assert_array_equal(first.coordinates, second.coordinates)


def test_messages():
    points, frames = np.zeros((5, 3)), np.tile(np.eye(3)[None, :2], (5, 1, 1))
    with pytest.raises(InputError, match=r"subspaces must have shape \(n, f, d\) for points of"):
        split_flat_part(points, points)
    with pytest.raises(InputError, match="subspaces must have a direction"):
        split_flat_part(points, frames[:, :0])
    frames[1] *= 2
    frames[2] = np.nan
    with pytest.raises(InputError, match="orthonormal rows at every point; those of 2 points"):
        split_flat_part(points, frames)
    with pytest.raises(InputError, match="n_neighbors must be"):
        split_flat_part(points, np.tile(np.eye(3)[None, :2], (5, 1, 1)), n_neighbors=0)


# In GeoManCER.


def fit(points, **options):
    return GeoManCER(verbose=0, n_jobs=1, **options).fit(points)


def beside_a_sphere(sample, seed=7):
    """The points times a sphere, and the true subspaces, the sphere's first."""
    n, d = sample.points.shape
    sphere = product_manifold("S^2", n, random_state=seed)
    points = np.hstack([sphere.points, sample.points])
    wide = [np.pad(sphere.tangents[0], ((0, 0), (0, 0), (0, d)))]
    return points, wide + [np.pad(t, ((0, 0), (0, 0), (3, 0))) for t in sample.tangents]


def found_degrees(est, true):
    found = [est.subspace(j) for j in range(est.n_factors_)]
    return np.degrees(subspace_angles(found, true).mean())


@pytest.mark.parametrize("case", ["rectangle", "box", "circle x interval"])
def test_estimator_on_wholly_flat_data(case):
    sample = flat_sample(case, 1000, random_state=0)
    est = fit(sample.points)
    f = len(sample.factor_dims)
    assert est.factor_dims_.tolist() == [1] * f and est.flat_.all()
    assert est.flat_coordinates_.shape == (1000, f) and len(est.periods_) == f
    assert found_degrees(est, sample.tangents) < 1
    assert "Split into" in est.summary() and not est.uncertain_


@pytest.mark.parametrize("case", ["rectangle", "circle x circle"])
def test_estimator_on_flat_times_curved(case):
    sample = flat_sample(case, 3000, random_state=0)
    points, true = beside_a_sphere(sample)
    est = fit(points)
    assert est.factor_dims_.tolist() == [2, 1, 1] and est.flat_.tolist() == [False, True, True]
    assert found_degrees(est, true) < 0.5
    assert est.holonomy_.angles.shape[1] == 3


def test_a_single_flat_direction_gets_its_coordinate():
    points = product_manifold("S^2 x S^1(2)", 1500, random_state=0).points
    est = fit(points)
    assert est.flat_.tolist() == [False, True]
    assert np.abs(est.periods_[0]) == pytest.approx(4 * np.pi, rel=1e-3)
    angle = np.arctan2(points[:, 4], points[:, 3])
    own = est.flat_coordinates_[:, 0] / 2
    errors = [
        np.ptp(wrapped_difference(s * (own - own[0]), angle - angle[0], 2 * np.pi)) for s in (1, -1)
    ]
    assert min(errors) < 0.01


def test_keeping_the_flat_part_leaves_holonomy_alone():
    sample = flat_sample("rectangle", 800, random_state=0)
    kept = fit(sample.points, flat="keep")
    assert kept.factor_dims_.tolist() == [2] and kept.flat_.tolist() == [True]
    assert kept.flat_coordinates_.shape == (800, 0) and kept.flat_evidence_ is None
    assert "flat: holonomy cannot split it further" in kept.summary()
    told = fit(sample.points, n_factors=1)
    assert told.factor_dims_.tolist() == [2] and told.flat_evidence_ is None


def test_refusals_are_said_in_the_summary():
    sample = flat_sample("L-shape", 1500, random_state=0)
    est = fit(sample.points)
    assert est.factor_dims_.tolist() == [2] and est.flat_coordinates_.shape == (1500, 2)
    assert "Not split. Their support is not a product" in est.summary()
    doubted = fit(flat_sample("correlated .3", 1500, random_state=0).points)
    assert doubted.uncertain_ and "nat of information" in doubted.summary()


def test_curved_manifolds_have_no_flat_coordinates():
    est = fit(product_manifold("S^2 x S^2", 1000, random_state=0).points)
    assert est.flat_coordinates_.shape == (1000, 0) and not est.flat_.any()


def test_more_parallel_fields_than_were_computed():
    # On a flat part of dimension 5 there are 14: no bulk is seen to tell them from.
    sample = flat_sample("box of dimension 5", 2000, random_state=0)
    est = fit(sample.points, dim=5)
    assert est.factor_dims_.tolist() == [1] * 5
    assert found_degrees(est, sample.tangents) < 2


def test_axes_and_coordinates_at_new_points():
    sample = flat_sample("rectangle", 3000, random_state=0)
    points, true = beside_a_sphere(sample)
    est = fit(points[:2700])
    np.testing.assert_array_equal(est.at(points[:5]), est.axes_[:5])
    found = np.split(est.at(points[2700:]), np.cumsum(est.factor_dims_)[:-1], axis=1)
    assert np.degrees(subspace_angles(found, [t[2700:] for t in true]).mean()) < 1
    flat = est.transform(points[:2700])[:, 3:]  # beside the sphere's three
    centred = est.flat_coordinates_ - est.flat_coordinates_.mean(axis=0)
    signs = np.sign((flat * centred).sum(axis=0))
    np.testing.assert_allclose(flat, centred * signs, atol=1e-9)
    new = est.transform(points[2700:])[:, 3:]
    correlation = np.abs(np.corrcoef(new.T, sample.coordinates[2700:].T))[:2, 2:]
    assert (correlation.max(axis=1) > 0.9999).all()


def test_every_piece_is_unrolled():
    sample = flat_sample("rectangle", 900, random_state=0)
    points = np.vstack([sample.points, sample.points[:500] + 50])
    with pytest.warns(UserWarning, match=r"in 2 pieces \(of 900, 500 points\), and factors"):
        est = fit(points)
    assert not any("do not split" in doubt for doubt in est.doubts_)
    assert np.isfinite(est.flat_coordinates_).all() and np.isfinite(est.axes_).all()
    for rows in (np.arange(900), np.arange(900, 1400)):
        true = sample.coordinates[rows % 900]
        correlation = np.abs(np.corrcoef(est.flat_coordinates_[rows].T, true.T))[:2, 2:]
        np.testing.assert_array_less(0.999, correlation[np.arange(2), correlation.argmax(axis=1)])
    # The same factor is the same side in both pieces.
    whole = np.abs(np.corrcoef(est.flat_coordinates_[:900].T, sample.coordinates.T))[:2, 2:]
    part = np.abs(np.corrcoef(est.flat_coordinates_[900:].T, sample.coordinates[:500].T))[:2, 2:]
    np.testing.assert_array_equal(whole.argmax(axis=1), part.argmax(axis=1))


def test_a_piece_that_is_too_small_has_no_coordinates():
    sample = flat_sample("rectangle", 900, random_state=0)
    points = np.vstack([sample.points, sample.points[:80] + 50])
    with pytest.warns(UserWarning, match=r"7\d points are in pieces that do not .* too small"):
        est = fit(points)
    lost = np.isnan(est.flat_coordinates_).any(axis=1)
    np.testing.assert_array_equal(lost, np.arange(980) >= 900)
    np.testing.assert_array_equal(lost, np.isnan(est.axes_).any(axis=(1, 2)))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_piece_that_closes_has_the_map_of_a_circle_beside_an_open_one(seed):
    rng = np.random.default_rng(seed)
    angle, along = rng.uniform(0, 2 * np.pi, 700), rng.uniform(0, 3, 500)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.vstack([circle, np.column_stack([along + 5, 0 * along])])
    with pytest.warns(UserWarning, match="2 pieces"):
        est = fit(points)
    assert est.coordinates(0).shape == (1200, 2) and est.maps_[0].n_pieces == 2
    assert [len(piece.periods[0]) for piece in est.fitted_.flat.pieces] == [1, 0]
    a, b = np.divmod(np.arange(100), 10)
    apart = np.abs(angle[a] - angle[b])
    found = est.factor_distances(0, a, b)
    np.testing.assert_allclose(found, np.minimum(apart, 2 * np.pi - apart), atol=0.01)
    found = est.factor_distances(0, 700 + a, 700 + b)
    np.testing.assert_allclose(found, np.abs(along[a] - along[b]), atol=0.01)
    assert np.isinf(est.factor_distances(0, 0, 700))
    told = est.transform(np.vstack([points[[3, 900]], [[6.5, 0.001]]]))
    np.testing.assert_allclose(told[:2], est.coordinates(0)[[3, 900]], atol=1e-9)
    middle = est.coordinates(0)[700 + np.argmin(np.abs(along - 1.5))]
    np.testing.assert_allclose(told[2], middle, atol=0.03)
    walk = est.walk(700, 0, length=0.5, steps=5)
    np.testing.assert_allclose(np.ptp(walk.points[:, 0]), 0.5, atol=0.02)


def test_flat_must_be_a_choice():
    with pytest.raises(InputError, match="flat must be one of 'split', 'keep'; got 'drop'"):
        fit(np.random.default_rng(0).uniform(size=(100, 3)), flat="drop")


# Lengths that neither noise nor chance explains.


def images_of_bars(n, seed, scale=0.0):
    """Soft bars at places x, y in directions t or of sizes s, and the frames of their Jacobian.

    How fast a picture changes with x depends on the direction: a metric that is no product.
    """
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-2, 2, 20)]), axis=-1).reshape(-1, 2)

    def picture(u):
        moved = grid - np.stack([u[:, 0], u[:, 1] * (scale == 0)], axis=1)[:, None]
        c, s = np.cos(u[:, 2])[:, None], np.sin(u[:, 2])[:, None]
        size = np.exp(scale * u[:, 1])[:, None] if scale else 1.0
        x = (moved[..., 0] * c + moved[..., 1] * s) / size
        y = (moved[..., 1] * c - moved[..., 0] * s) / size
        return 1 / (1 + np.exp(16 * size * np.maximum(np.abs(x) - 0.9, np.abs(y) - 0.4)))

    u = np.random.default_rng(seed).uniform(-0.5, 0.5, (n, 3))
    slopes = [(picture(u + step) - picture(u - step)) / 2e-5 for step in 1e-5 * np.eye(3)]
    frames = np.linalg.qr(np.stack(slopes, axis=2))[0]
    return picture(u), np.ascontiguousarray(np.swapaxes(frames, 1, 2))


@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_parameters_of_pictures_that_are_no_product_are_doubted(scale):
    part = split_flat_part(*images_of_bars(800, 0, scale), n_neighbors=8, random_state=0)
    assert len(part.dims) > 1 and 0.01 < part.evidence.strain < 0.05
    assert "turning-frame" in [doubt.code for doubt in part.evidence.doubts]


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_strain_that_noise_does_not_explain_is_doubted(noise):
    rng = np.random.default_rng(0)
    u = rng.uniform(-0.5, 0.5, (1000, 3))
    points = np.column_stack([u, 0.7 * (u[:, 0] ** 2 - u[:, 1] ** 2)])  # a saddle, and an interval
    points += noise * rng.standard_normal(points.shape)
    frames = tangent_frames(points, nearest_neighbors(points, 40), 3).frames
    part = split_flat_part(points, frames, random_state=0)
    assert len(part.dims) > 1 and 0.01 < part.evidence.strain < 0.05
    assert part.evidence.strain > 1.5 * part.evidence.curvature.noise_strain
    assert "not-flat" in [doubt.code for doubt in part.evidence.doubts]


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03, 0.06])
@pytest.mark.parametrize("case", ["rectangle", "box", "circle x interval", "circle x circle"])
def test_strain_of_flat_parts_is_explained_by_noise(case, noise):
    evidence = split(flat_sample(case, 800, noise=noise, random_state=1)).evidence
    assert evidence.strain < max(0.005, evidence.curvature.noise_strain)
    assert "not-flat" not in [doubt.code for doubt in evidence.doubts]


def test_without_a_graph_the_nearest_neighbours_are_one():
    points = product_manifold("S^2 x S^1(2)", 800, random_state=0).points
    whole = split_factors(points, 3)
    alone, given = (
        split_flat_axes(points, whole, Task(), graph, "split")
        for graph in (None, neighbor_graph(points, connecting_degree(3)))
    )
    assert alone.flat == given.flat == (False, True)
    np.testing.assert_array_equal(alone.axes, given.axes)
