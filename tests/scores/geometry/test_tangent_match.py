"""The directions of factors found against those of factors given."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import tangent_match
from geodis.scores.geometry.tangent_match import factor_directions, local_gradients


@pytest.fixture(scope="module")
def spheres():
    sample = gd.product_manifold("S^2 x S^2", n=900, random_state=0)
    return sample, gd.GeoManCER(verbose=0).fit(sample.points)


def of_spheres(points, first=(0, 1, 2), second=(3, 4, 5)):
    return gd.as_factors(points, groups={"one": list(first), "other": list(second)})


def test_the_true_factors_score_one_whatever_their_order(spheres):
    sample, est = spheres
    score = tangent_match(sample.points, of_spheres(sample.points), groups=est, random_state=0)
    assert float(score) > 0.99 and np.nanmax(score.details["angles"]) < 5
    assert score.details["factor_dims"] == [2, 2] and score.details["expected"] == 0.5
    swapped = of_spheres(sample.points[:, [3, 4, 5, 0, 1, 2]])
    other = tangent_match(sample.points, swapped, groups=est, random_state=0)
    assert other.details["matched"].tolist() == score.details["matched"].tolist()[::-1]
    # The truth itself, and a linear map of a factor's values, which keeps its directions.
    bent = sample.points @ np.diag([1, 2, 3, 1, 1, 5.0])
    stretched = tangent_match(sample.points, of_spheres(bent), groups=est, random_state=0)
    assert float(stretched) > 0.98


def test_shuffled_rows_give_the_level_of_chance(spheres):
    sample, est = spheres
    factors = of_spheres(sample.points)
    levels = [
        float(
            tangent_match(
                sample.points,
                factors.take(np.random.default_rng(seed).permutation(900)),
                groups=est,
                random_state=seed,
            )
        )
        for seed in range(10)
    ]
    assert np.mean(levels) == pytest.approx(0.5, abs=0.03) and max(levels) < 0.56
    table = gd.score_latents(sample.points, factors, ["geometry"], groups=est, verbose=False)
    assert table["tangent_match"] > 0.99 and table.frame.loc["tangent_match", "chance"] < 0.56
    assert (
        "tangent_match"
        not in gd.score_latents(sample.points, factors, ["mcc"], verbose=False).scores
    )


def test_factors_that_mix_what_was_found_fall_between(spheres):
    sample, est = spheres
    points = sample.points
    # One given factor holds a coordinate of either sphere: its directions lie across both.
    mixed = gd.as_factors(
        np.column_stack([points[:, 0] + points[:, 3], points[:, 1] - points[:, 4]])
    )
    score = tangent_match(points, mixed, groups=est, random_state=0)
    assert float(score) < 0.5 and (np.abs(score.matrix - 0.5) < 0.2).all()


def test_a_cyclic_number_beside_a_sphere_and_labels_left_out():
    sample = gd.product_manifold("S^1 x S^2", n=900, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    angle = np.degrees(np.arctan2(sample.points[:, 1], sample.points[:, 0])) % 360
    factors = gd.as_factors(
        {
            "angle": angle,
            "shape": np.where(angle < 200, "box", "dot"),
            **dict(zip("xyz", sample.points[:, 2:].T, strict=True)),
        },
        periods={"angle": 360.0},
        groups={"direction": list("xyz")},
    )
    score = tangent_match(sample.points, factors, groups=est, random_state=0)
    assert float(score) > 0.99 and score.details["factor_dims"] == [1, 2]
    assert np.isnan(score.per_factor[1]) and "labels have no directions: shape" in score.note


def test_gradients_and_directions_of_a_plane():
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(400, 2)) @ np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    axes = np.tile([[1.0, 0, 0], [0, 0.6, 0.8]], (400, 1, 1))
    at = np.einsum("nd,nkd->nk", points, axes)
    values = np.column_stack([at[:, 0] + at[:, 1], 3 * at[:, 1]])
    gradients = local_gradients(points, axes, values, np.arange(5))
    assert np.allclose(gradients, [[1, 0], [1, 3]])
    # The first changes alone along (1, 0), the second along (1, -1): not along their gradients.
    first, second = factor_directions([gradients[:, :, :1], gradients[:, :, 1:]], [1, 1])[0]
    assert np.allclose(np.abs(first[:, :, 0]), [1, 0])
    assert np.allclose(np.abs(second[:, :, 0]), np.sqrt([0.5, 0.5]))


def test_what_it_needs(spheres):
    sample, est = spheres
    with pytest.raises(InputError, match="needs a fitted GeoManCER as groups; got none"):
        tangent_match(sample.points, of_spheres(sample.points))
    with pytest.raises(InputError, match="needs a factor that is not of labels"):
        tangent_match(sample.points, ["a", "b"] * 450, groups=est)


@pytest.mark.parametrize("k", [1, 2])
def test_gradients_are_least_squares_over_the_nearest_neighbours(k):
    """Against `numpy.linalg.lstsq` point by point, for functions that are not linear."""
    rng = np.random.default_rng(k)
    points = rng.uniform(size=(150, k + 1))
    axes = np.linalg.qr(rng.standard_normal((150, k + 1, k)))[0].swapaxes(1, 2)
    values = np.column_stack([np.sin(3 * points[:, 0]), (points**2).sum(axis=1)])
    rows = np.array([3, 70, 149])
    found = local_gradients(points, axes, values, rows)
    for row, gradient in zip(rows, found, strict=True):
        distance = np.linalg.norm(points - points[row], axis=1)
        near = np.argsort(distance)[1 : 1 + 3 * k + 3]
        along = (points[near] - points[row]) @ axes[row].T
        design = np.column_stack([np.ones(len(near)), along])
        expected = np.linalg.lstsq(design, values[near], rcond=None)[0][1:]
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
