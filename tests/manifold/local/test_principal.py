import numpy as np
import pytest

from geodis import principal_components, product_manifold
from geodis.base.check import InputError
from geodis.manifold.local.principal import kept_directions, marchenko_pastur_quantiles


@pytest.mark.parametrize("n", [5, 400])
def test_equal_to_the_singular_value_decomposition(n, rng):
    points = rng.standard_normal((n, 12)) * np.arange(1, 13)
    found = principal_components(points)
    _, singular, rows = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    count = min(n - 1, 12)
    np.testing.assert_allclose(found.variances[:count], singular[:count] ** 2 / n)
    np.testing.assert_allclose(np.abs((found.axes[:count] * rows[:count]).sum(axis=1)), 1)
    np.testing.assert_allclose(found.explained.sum(), 1)


def test_many_columns_are_sketched_to_the_same_answer(rng):
    points = rng.standard_normal((150, 20)) @ rng.standard_normal((20, 2500))
    found = principal_components(points, random_state=1)
    singular = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    assert len(found.variances) == 100
    np.testing.assert_allclose(found.variances[:20], singular[:20] ** 2 / 150, rtol=1e-6)
    np.testing.assert_allclose(found.explained.sum(), 1)
    np.testing.assert_allclose(found.axes[:20] @ found.axes[:20].T, np.eye(20), atol=1e-10)


def test_projection_keeps_distances_of_points_in_a_subspace(rng):
    points = rng.standard_normal((50, 3)) @ np.linalg.qr(rng.standard_normal((10, 3)))[0].T
    projected = principal_components(points).project(points, 3)
    np.testing.assert_allclose(
        np.linalg.norm(projected[1:] - projected[:-1], axis=1),
        np.linalg.norm(points[1:] - points[:-1], axis=1),
    )


def test_constant_points_have_no_variance():
    found = principal_components(np.ones((4, 3)))
    assert found.total_variance == 0
    np.testing.assert_array_equal(found.explained, np.zeros(3))


def test_too_many_components_are_refused():
    with pytest.raises(InputError, match="n_components must be between 1 and 3; got 4"):
        principal_components(np.eye(5)[:, :3], 4)


# Kept directions


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("n", "columns", "sigma"),
    [
        (3000, 10, 0.1),
        (3000, 50, 0.1),
        (3000, 200, 0.03),
        (1000, 200, 0.1),
        (300, 100, 0.1),  # few rows for each column
        (500, 1000, 0.05),  # fewer rows than columns
    ],
)
def test_even_noise_is_measured_and_left_out(n, columns, sigma, seed):
    sample = product_manifold(
        "S^2 x S^2", n, pad=columns - 6, noise=sigma, rotate=True, random_state=seed
    )
    kept = kept_directions(sample.points)
    assert kept.n_directions == 6 and kept.n_columns == columns
    np.testing.assert_allclose(kept.noise, sigma, rtol=0.06)
    assert kept.spectrum[6] < 3 * kept.edge < 3 * kept.spectrum[5]
    np.testing.assert_allclose(kept.basis @ kept.basis.T, np.eye(6), atol=1e-10)
    tangents = np.concatenate(sample.tangents, axis=1)
    assert np.linalg.norm(tangents @ kept.basis.T, axis=2).mean() > 0.95
    assert str(kept).startswith(f"6 of {columns} directions lie above a floor of noise of")


def test_uneven_noise_is_left_out_too():
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.standard_normal((2000, 3)), np.zeros((2000, 57))])
    points = points @ np.linalg.qr(rng.standard_normal((60, 60)))[0]
    points += rng.uniform(0.1, 0.2, 60) * rng.standard_t(5, (2000, 60))
    assert kept_directions(points).n_directions == 3


def waves(rng, n, columns=60, frequency=1.0, latents=3):
    """A smooth embedding whose spectrum decays without a floor."""
    phases = rng.uniform(-1, 1, (n, latents)) @ rng.standard_normal((latents, columns)) * frequency
    return np.cos(phases + rng.uniform(0, 6, columns))


def blobs(rng, n, width):
    """Images of a blob that moves."""
    side = np.linspace(-1, 1, 20)
    x, y = rng.uniform(-0.6, 0.6, (2, n, 1, 1))
    squared = (side[:, None] - x) ** 2 + (side - y) ** 2
    return np.exp(-squared / (2 * width**2)).reshape(n, -1)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: product_manifold("S^2 x S^2 x S^2", 2000, rotate=True, random_state=0).points,
        lambda rng: product_manifold("S^2 x S^2 x S^2 x S^2", 2000, random_state=0).points,
        lambda rng: product_manifold("SO(3) x S^2(10)", 2000, random_state=0).points,
        lambda rng: product_manifold("SO(3) x S^1(20)", 500, random_state=0).points,
        lambda rng: product_manifold("S^1(20) x S^2 x S^2 x S^2", 2000, random_state=0).points,
        lambda rng: waves(rng, 2000, frequency=2.0),
        lambda rng: waves(rng, 400),
        lambda rng: waves(rng, 300, frequency=0.5, columns=12),
        lambda rng: rng.standard_normal((1000, 40)),  # nothing but noise
        lambda rng: rng.standard_normal((1000, 9)) * np.array([9.0, 9.0, *7 * [0.1]]),
    ],
    ids=lambda make: "",
)
def test_without_a_floor_nothing_is_left_out(make):
    points = make(np.random.default_rng(0))
    kept = kept_directions(points)
    assert kept.noise == kept.edge == 0.0
    np.testing.assert_array_equal(kept.basis, np.eye(points.shape[1]))
    np.testing.assert_array_equal(kept.project(points), points)
    assert "no floor" in str(kept)


def test_images_without_noise_keep_what_varies_and_with_noise_what_is_above_it():
    rng = np.random.default_rng(0)
    clean = blobs(rng, 500, 0.3)
    assert kept_directions(clean).noise < 1e-5
    noisy = kept_directions(clean + 0.05 * rng.standard_normal(clean.shape))
    assert 5 < noisy.n_directions < 30
    np.testing.assert_allclose(noisy.noise, 0.05, rtol=0.05)


def test_directions_without_variance_are_left_out(rng):
    points = np.column_stack([rng.standard_normal((50, 3)), np.full(50, 7.0)])
    kept = kept_directions(points)
    assert kept.n_directions == 3 and kept.noise == 0
    np.testing.assert_allclose(np.abs(kept.basis[:, 3]), 0, atol=1e-12)


def test_identical_rows_stay_identical(rng):
    points = np.repeat(rng.standard_normal((7, 30)), 9, axis=0)
    projected = kept_directions(points).project(points)
    assert len(np.unique(projected, axis=0)) == 7


@pytest.mark.parametrize("ratio", [0.1, 0.5, 2.0])
def test_quantiles_are_those_of_noise(ratio, rng):
    n = 600
    table = rng.standard_normal((n, int(ratio * n)))
    variances = np.linalg.svd(table, compute_uv=False) ** 2 / n
    shares = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(
        marchenko_pastur_quantiles(shares, ratio), np.quantile(variances, shares), rtol=0.05
    )


def test_points_that_do_not_vary_are_refused():
    with pytest.raises(InputError, match="X must vary; got 4 identical rows"):
        kept_directions(np.ones((4, 3)))


def test_what_is_kept_whole_is_not_copied_and_else_lifted_into_all_columns(rng):
    points = rng.standard_normal((300, 4))
    whole, part = kept_directions(points), kept_directions(points * [1.0, 1.0, 0.0, 1.0])
    vectors = rng.standard_normal((300, 2, 4))
    assert whole.project(points) is points
    assert whole.lift(vectors) is vectors
    inside = part.project(points)
    assert inside.shape == (300, 3)
    np.testing.assert_allclose(part.project(part.lift(inside)), inside, atol=1e-12)


@pytest.mark.parametrize("count", [None, 3])
def test_fewer_points_than_columns_have_as_many_components(count, rng):
    points = rng.standard_normal((40, 90)) * np.linspace(3, 0.1, 90)
    found = principal_components(points, count)
    _, singular, rows = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    kept = count or 39  # without the mean one direction is lost
    assert len(found.axes) == (count or 40)
    np.testing.assert_allclose(found.variances[:kept], singular[:kept] ** 2 / 40)
    np.testing.assert_allclose(np.abs((found.axes[:kept] * rows[:kept]).sum(axis=1)), 1)
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(len(found.axes)), atol=1e-12)
    np.testing.assert_allclose(found.total_variance, (singular**2).sum() / 40)
