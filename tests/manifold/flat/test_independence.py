"""Contrasts, rotations to independent coordinates, and when these are refused."""

from itertools import pairwise

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import CASES, grid_coordinates
from geodis.manifold.flat.contrasts import (
    CONTRASTS,
    jitter_grid,
    minimise_contrast,
    moment_entropy,
    over_angles,
    rank_information,
    spacing_entropy,
    split_by_spread_alone,
    support_width,
)
from geodis.manifold.flat.independent_rotation import (
    independent_rotation,
    information_between,
    lp_nested_rotation,
    negative_log_likelihood,
)
from tests.reference import flat as reference


def turned(u, seed):
    """The coordinates in a random frame, and that frame."""
    turn = random_rotations(1, u.shape[1], np.random.default_rng(seed))[0]
    return u @ turn.T, turn.T  # row a of the second: where coordinate a points


def degrees_off(found, truth, dims):
    """Largest angle between found groups of directions and the true ones of the same sizes."""
    angles = []
    bounds = np.cumsum((0, *dims))
    true = [truth[a:b] for a, b in pairwise(bounds)]
    for a, b in pairwise(bounds):
        cosines = [
            np.linalg.svd(found[a:b] @ t.T, compute_uv=False).min() for t in true if len(t) == b - a
        ]
        angles.append(np.degrees(np.arccos(min(1.0, max(cosines)))))
    return max(angles)


# Contrasts.


@pytest.mark.parametrize("kind", ["uniform", "normal", "exponential"])
def test_contrasts_equal_their_twins(kind):
    values = getattr(np.random.default_rng(0), kind)(size=700)
    assert spacing_entropy(values) == pytest.approx(reference.spacing_entropy(values))
    assert support_width(values) == pytest.approx(reference.support_width(values))
    assert moment_entropy(values) == pytest.approx(reference.moment_entropy(values))
    repeated = np.round(values)
    assert spacing_entropy(repeated, 0.01) == pytest.approx(
        reference.spacing_entropy(repeated, 0.01)
    )


@pytest.mark.parametrize("name", CONTRASTS)
def test_contrasts_shift_scale_and_reflect_like_entropies(name):
    contrast = CONTRASTS[name]
    values = np.random.default_rng(1).gamma(2.0, size=(3, 500))
    plain = contrast(values, 0.0)
    np.testing.assert_allclose(contrast(values + 5, 0.0), plain, atol=1e-10)
    np.testing.assert_allclose(contrast(3 * values, 0.0), plain + np.log(3), atol=1e-10)
    np.testing.assert_allclose(contrast(-values, 0.0), plain, atol=1e-10)
    np.testing.assert_allclose(contrast(values[1], 0.0), plain[1])


@pytest.mark.parametrize("name", CONTRASTS)
def test_contrast_of_a_turned_pair(name):
    first, second = np.random.default_rng(2).uniform(size=(2, 400)) * [[1], [3]]
    angles = np.linspace(0, np.pi / 2, 5)
    found = over_angles(first, second, angles, CONTRASTS[name])
    expected = [
        reference.turned_pair(first, second, angle, lambda x: CONTRASTS[name](x, 0.0))
        for angle in angles
    ]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert found[0] == pytest.approx(found[-1])  # a quarter turn is the same pair of lines


def test_entropies_of_known_distributions():
    rng = np.random.default_rng(0)
    n = 100_000
    for contrast, tolerance in ((spacing_entropy, 0.02), (moment_entropy, 0.15)):
        assert contrast(rng.uniform(0, 5, n)) == pytest.approx(np.log(5), abs=tolerance)
        normal = 0.5 * np.log(2 * np.pi * np.e) + np.log(3)
        assert contrast(rng.normal(1, 3, n)) == pytest.approx(normal, abs=0.02)
    assert spacing_entropy(rng.exponential(2, n)) == pytest.approx(1 + np.log(2), abs=0.02)


def test_rank_information_equals_its_twin_and_the_formula_for_normals():
    rng = np.random.default_rng(0)
    first, second = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 20_000).T
    information, error, coverage = rank_information(first, second)
    assert information == pytest.approx(reference.rank_information(first, second))
    assert information == pytest.approx(-0.5 * np.log(1 - 0.36), abs=0.02)
    assert error < 0.002 and coverage < 1
    alone = [rank_information(*rng.uniform(size=(2, 2000))) for _ in range(30)]
    assert abs(np.mean([a[0] for a in alone])) < 2 * alone[0][1]
    assert np.std([a[0] for a in alone]) == pytest.approx(alone[0][1], rel=0.5)


# Rotations.


def test_minimise_contrast_finds_the_known_rotation():
    u = np.random.default_rng(0).uniform(size=(1000, 3)) - 0.5
    points, truth = turned(u, 1)
    for contrast in CONTRASTS.values():
        found, value = minimise_contrast(points, contrast, np.eye(3))
        np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
        assert degrees_off(found, truth, (1, 1, 1)) < 6
        assert value <= contrast((points @ truth.T).T, 0.0).sum() + 0.02


CLEAR = {
    "box": 1.0,
    "exponential": 2.0,
    "beta(2, 2)": 4.0,
    "beta(.5, .5)": 0.3,
    "disc x interval": 2.0,
    "disc x disc": 4.0,
    "box of dimension 5": 1.5,
}


@pytest.mark.parametrize("case", CLEAR)
def test_independent_factors_are_found(case):
    made = CASES[case]
    errors = []
    for seed in range(3):
        points, truth = turned(made.draw(1500, np.random.default_rng(seed)), seed)
        found = independent_rotation(points, random_state=seed)
        assert found.dims == made.dims and not found.doubts
        errors.append(degrees_off(found.rotation, truth, made.dims))
    assert np.median(errors) < CLEAR[case]


@pytest.mark.parametrize("n", [500, 2000, 5000])
@pytest.mark.parametrize("seed", range(5))
def test_equal_gaussians_are_never_split(n, seed):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    found = independent_rotation(points, random_state=seed)
    assert found.refused and found.dims == (3,)
    assert "look the same from all angles" in " ".join(found.reasons)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_balls_are_never_split(dim, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1500, dim))
    points *= rng.uniform(size=(1500, 1)) ** (1 / dim) / np.linalg.norm(
        points, axis=1, keepdims=True
    )
    assert independent_rotation(points, random_state=seed).refused


@pytest.mark.parametrize("case", ["L-shape", "triangle", "hole"])
@pytest.mark.parametrize("n", [500, 2000])
def test_supports_that_are_no_products_are_refused_or_doubted(case, n):
    for seed in range(3):
        points, _ = turned(CASES[case].draw(n, np.random.default_rng(seed)), seed)
        found = independent_rotation(points, random_state=seed)
        assert found.refused or found.doubts
        if n == 2000:
            assert found.refused and "support is not a product" in found.reasons[0]


def test_correlated_factors_are_doubted():
    for seed in range(3):
        points, _ = turned(CASES["correlated .3"].draw(2000, np.random.default_rng(seed)), seed)
        codes = [doubt.code for doubt in independent_rotation(points).doubts]
        assert "shared-information" in codes


def test_correlated_gaussians_are_split_along_their_principal_axes_and_doubted():
    # Nothing in the data says that these are not the factors; that is what is said.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 3000)
        found = independent_rotation(points)
        assert found.dims == (1, 1)
        assert found.doubts[0].code == "spread-alone"
        assert np.abs(found.rotation) == pytest.approx(np.full((2, 2), np.sqrt(0.5)), abs=0.05)


def test_three_factors_that_depend_on_each_other_only_together_pass():
    # The documented limit: only pairs are looked at. Every two of these are independent.
    u = np.random.default_rng(0).uniform(-1, 1, size=(6000, 3))
    u = u[u.prod(axis=1) > 0]
    found = independent_rotation(u)
    assert found.dims == (1, 1, 1) and not found.doubts


def test_gaussians_of_unequal_variance_need_their_scale():
    for seed in range(3):
        u = np.random.default_rng(seed).standard_normal((2000, 2)) * [2.0, 1.0]
        points, truth = turned(u, seed)
        found = independent_rotation(points)
        assert found.dims == (1, 1)
        assert degrees_off(found.rotation, truth, (1, 1)) < 5
        assert found.doubts[0].code == "spread-alone"


@pytest.mark.parametrize("sides", [(1, 3), (1, 10)])
def test_uniform_factors_of_unequal_width_are_not_told_by_spread_alone(sides):
    for seed in range(3):
        u = np.random.default_rng(seed).uniform(size=(1000, 2)) * sides
        assert not independent_rotation(turned(u, seed)[0]).doubts


def test_repeated_places_are_one_place_up_to_errors():
    rng = np.random.default_rng(0)
    grid = np.tile(grid_coordinates((8, 8), step=1.0), (30, 1))
    points, truth = turned(grid + 1e-3 * rng.standard_normal(grid.shape), 5)
    found = independent_rotation(points)
    assert found.dims == (1, 1) and degrees_off(found.rotation, truth, (1, 1)) < 2
    spread, floor = jitter_grid(points, rng)
    assert np.std(spread - points) == pytest.approx(0.25, rel=0.05)
    assert floor == pytest.approx(1e-3, rel=0.05)
    uniform = rng.uniform(size=(2000, 3))
    np.testing.assert_array_equal(jitter_grid(uniform, rng)[0], uniform)


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("sizes", "step"), [((8, 8, 8), None), ((32, 32, 6), 0.03), ((32, 32, 6), None), ((5, 4), 1.0)]
)
def test_grids_of_few_values(sizes, step, jitter):
    u = grid_coordinates(sizes, step=step, jitter=jitter, random_state=0)
    points, truth = turned(u, 3)
    found = independent_rotation(points)
    if len(u) < 100:  # 20 points tell nothing
        assert found.refused or degrees_off(found.rotation, truth, found.dims) < 10
        return
    assert found.dims == (1,) * len(sizes)
    assert degrees_off(found.rotation, truth, found.dims) < 3


# The Lp-nested likelihood.


def test_density_integrates_to_one():
    # The scale of greatest likelihood for one sample is a constant on another.
    grid = np.stack(np.meshgrid(*[np.linspace(-6, 6, 121)] * 2), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((50_000, 2))
    for dims, outer, inner in (((2,), 2.0, [2.0]), ((1, 1), 2.0, [2.0, 2.0])):
        found = negative_log_likelihood(normal, dims, outer, np.array(inner))
        density = np.exp(-(grid**2).sum(axis=1) / 2) / (2 * np.pi)
        entropy = -(density * np.log(density)).sum() * 0.01
        assert found == pytest.approx(entropy, abs=0.02)
    # Uniform in the unit disc, a limit: entropy log pi.
    disc = (
        normal
        / np.linalg.norm(normal, axis=1, keepdims=True)
        * rng.uniform(size=(50_000, 1)) ** 0.5
    )
    found = negative_log_likelihood(disc, (2,), 40.0, np.array([2.0]))
    assert found == pytest.approx(np.log(np.pi), abs=0.15)
    # Laplacian: entropy 1 + log 2 each.
    laplace = rng.laplace(size=(50_000, 2))
    assert negative_log_likelihood(laplace, (2,), 1.0, np.array([1.0])) == pytest.approx(
        2 * (1 + np.log(2)), abs=0.02
    )


@pytest.mark.parametrize("case", ["ball x interval", "disc x disc"])
def test_likelihood_halves_the_error_of_pairs(case):
    made = CASES[case]
    pairs: list[float] = []
    likelihood: list[float] = []
    chosen: list[float] = []
    for seed in range(5):
        points, truth = turned(made.draw(700, np.random.default_rng(seed)), seed)
        found = independent_rotation(points, random_state=seed)
        assert found.dims == made.dims
        *others, last = found.contrasts
        best = min(
            (r for r in others if r.dims == made.dims), key=lambda result: result.instability
        )
        assert last.name == "Lp-nested likelihood"
        for errors, result in ((pairs, best), (likelihood, last), (chosen, found)):
            errors.append(degrees_off(result.rotation, truth, made.dims))
    assert np.median(likelihood) < np.median(pairs)
    assert np.median(chosen) < np.median(pairs)


def test_likelihood_starts_from_and_returns_rotations():
    points = np.random.default_rng(0).uniform(size=(800, 3))
    found = lp_nested_rotation(points, np.eye(3), (2, 1))
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(np.abs(found[2]), [0, 0, 1], atol=0.05)


# What may change and what may not.


def test_order_of_points_signs_and_order_of_coordinates_do_not_matter():
    u = np.random.default_rng(0).uniform(size=(1500, 3)) * [1, 2, 3]
    plain = independent_rotation(u, random_state=0).rotation
    signs = np.diag([1.0, -1.0, 1.0])[[2, 0, 1]]
    other = independent_rotation(u[::-1] @ signs.T, random_state=1).rotation
    np.testing.assert_allclose(np.abs(other @ signs), np.abs(plain), atol=0.02)
    # Factors of a size come widest first.
    np.testing.assert_allclose(np.abs(plain), np.eye(3)[::-1], atol=0.02)


def test_scale_does_not_matter():
    u = np.random.default_rng(0).uniform(size=(1000, 2))
    found = [independent_rotation(scale * u, random_state=0) for scale in (1e-6, 1.0, 1e6)]
    for other in found[1:]:
        np.testing.assert_allclose(other.rotation, found[0].rotation, atol=1e-6)
        assert other.dims == (1, 1)


def test_one_direction_and_no_variation():
    assert independent_rotation(np.arange(10.0)[:, None]).dims == (1,)
    assert independent_rotation(np.zeros((200, 2))).refused


def test_information_between_groups():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 3000))
    found, said = information_between(np.column_stack([a, b, a + 0.1 * b]), (2, 1))
    assert found[0, 1] == found[1, 0] > 0.5 and said[0].code == "shared-information"
    assert information_between(np.column_stack([a, b]), (1, 1))[1] == []


def test_messages():
    with pytest.raises(InputError, match=r"coordinates must have shape \(n, d\)"):
        independent_rotation(np.zeros(5))
    with pytest.raises(InputError, match="coordinates must be finite"):
        independent_rotation(np.full((5, 2), np.nan))


def test_ties_of_a_single_coordinate_are_looked_for(rng):
    assert jitter_grid(np.linspace(0, 1, 50)[:, None], rng)[0].shape == (50, 1)
    assert jitter_grid(np.repeat(np.arange(10.0), 5)[:, None], rng)[0].shape[1] == 1


def test_of_many_points_some_tell_what_looks_alike():
    rng = np.random.default_rng(0)
    normal, uniform = rng.standard_normal((2500, 2)), rng.uniform(size=(2500, 2))
    assert split_by_spread_alone(normal * [3, 1], (1, 1), 0.0, rng)
    assert not split_by_spread_alone(uniform * [3, 1], (1, 1), 0.0, rng)
