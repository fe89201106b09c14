import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from geodis import intrinsic_dimension, nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.manifold import kept_directions
from geodis.manifold.local.dimension_estimate import points_needed
from geodis.manifold.local.quadratic_fits import tangent_terms


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spec", "dim", "n"),
    [
        ("S^1", 1, 500),
        ("S^2", 2, 1000),
        ("S^2 x S^2", 4, 3000),
        ("S^2 x S^2", 4, 300),
        ("SO(3)", 3, 2000),
        ("SO(3) x S^2", 5, 5000),
        ("T^2 x R^1", 3, 3000),
        ("ellipsoid(1,1,3) x S^2", 4, 4000),
        ("S^2 x S^2(3)", 4, 3000),
        ("S^2 x S^2 x S^2", 6, 10000),
        ("S^2 x S^4 x SO(3)", 9, 4000),
        ("S^2 x S^2 x S^2 x S^2 x S^2", 10, 5000),
    ],
)
def test_clean_manifolds_have_their_dimension_clearly(spec, dim, n, seed):
    points = product_manifold(spec, n, rotate=True, random_state=seed).points
    estimate = intrinsic_dimension(points)
    assert estimate.dim == dim
    assert estimate.verdict == "clear" and estimate.agree and not estimate.doubts
    assert f"dimension {dim}, clear" in str(estimate)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sigma", [0.03, 0.1])
@pytest.mark.parametrize(
    ("spec", "pad"), [("S^2", 7), ("S^2 x S^2", 0), ("S^2 x S^2", 44), ("SO(3)", 0), ("S^3", 196)]
)
def test_even_noise_changes_nothing(spec, pad, sigma, seed):
    sample = product_manifold(spec, 3000, pad=pad, noise=sigma, rotate=True, random_state=seed)
    estimate = intrinsic_dimension(sample.points)
    assert (estimate.dim, estimate.verdict) == (sample.dim, "clear")
    assert estimate.n_directions <= 9
    assert (estimate.noise > 0) == (sample.points.shape[1] >= 10)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """The tests run in a process a core."""
    monkeypatch.setattr("geodis.base.jobs.os.cpu_count", lambda: 1)


def population(rng, n, peak):
    """Square roots of the counts of 200 cells tuned to a ring and a sphere."""
    heading = rng.uniform(0, 2 * np.pi, (n, 1))
    place = rng.standard_normal((n, 3))
    place /= np.linalg.norm(place, axis=1, keepdims=True)
    centres = rng.standard_normal((100, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rates = np.column_stack(
        [
            np.exp(2 * (np.cos(heading - rng.uniform(0, 2 * np.pi, 100)) - 1)),
            np.exp(3 * (place @ centres.T - 1)),
        ]
    )
    return np.sqrt(rng.poisson(peak * rates))


@pytest.mark.parametrize("peak", [4, 30])
def test_populations_of_cells_have_the_dimension_of_what_they_code_for(peak):
    estimate = intrinsic_dimension(population(np.random.default_rng(peak), 3000, peak))
    assert (estimate.dim, estimate.verdict) == (3, "clear")


def test_strong_noise_leaves_doubt():
    for seed in range(3):
        sample = product_manifold("S^2 x S^2", 3000, noise=0.2, random_state=seed)
        estimate = intrinsic_dimension(sample.points)
        assert estimate.dim == 4 and estimate.verdict == "doubtful"
        assert "nearly-as-long" in [doubt.code for doubt in estimate.doubts]


@pytest.mark.parametrize("seed", range(3))
def test_a_small_factor_is_never_passed_over_in_silence(seed):
    estimate = intrinsic_dimension(
        product_manifold("S^2 x S^2(10)", 3000, random_state=seed).points
    )
    assert estimate.dim == 4 or estimate.verdict == "doubtful"
    many = intrinsic_dimension(product_manifold("S^2 x S^2(10)", 20000, random_state=seed).points)
    assert many.dim == 4
    assert "4 up to" in many.changes and "2 beyond" in many.changes


def test_mixed_dimensions_are_said():
    ring = np.column_stack([product_manifold("S^1", 800, random_state=0).points, np.zeros(800)])
    sphere = product_manifold("S^2", 1200, random_state=0).points + 5
    estimate = intrinsic_dimension(np.concatenate([ring, sphere]))
    assert estimate.verdict == "doubtful"
    assert "mixed-dimensions" in [doubt.code for doubt in estimate.doubts]


def test_noise_alone_is_undecided():
    estimate = intrinsic_dimension(np.random.default_rng(0).standard_normal((1000, 60)))
    assert estimate.verdict == "undecided" and not estimate.agree
    assert "give dim" in str(estimate)


def test_filled_directions_are_said(rng):
    flat = intrinsic_dimension(np.column_stack([rng.uniform(size=(1500, 3)), np.zeros(1500)]))
    assert (flat.dim, flat.verdict, flat.n_directions) == (3, "doubtful", 3)
    assert not flat.remarkable and "fill all directions" in str(flat)
    noisy = product_manifold("S^2", 2000, pad=20, noise=0.25, random_state=0).points
    estimate = intrinsic_dimension(noisy)
    assert estimate.verdict != "clear" and estimate.remarkable


def test_few_points_rest_on_distances_and_say_so():
    points = product_manifold("S^3 x S^2", 300, random_state=0).points
    estimate = intrinsic_dimension(points)
    assert (estimate.dim, estimate.verdict, estimate.scale) == (5, "doubtful", 0)
    assert "300 points are too few for curved fits of dimension 5" in str(estimate)


def tied(rng):
    """Finite data with repeated distances, of many kinds."""
    sample = product_manifold("S^2 x S^2", 800, pad=6, rotate=True, random_state=0).points
    counts = rng.poisson(np.exp(sample @ rng.standard_normal((12, 30))))
    line = np.arange(6.0)
    return {
        "one decimal": np.round(sample, 1),
        "two decimals": np.round(sample, 2),
        "counts": counts,
        "grid": np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3) @ np.ones((3, 12)),
        "bits": rng.integers(0, 2, (400, 16)),
        "one-hot": np.eye(12)[rng.integers(0, 12, 300)],
        "corners": np.eye(15),
        "near": np.concatenate([sample, sample + 1e-9 * rng.standard_normal(sample.shape)]),
        "far": sample + 1e8,
        "tiny": 1e-140 * sample,
        "huge": 1e140 * sample,
    }


@pytest.mark.parametrize("name", list(tied(np.random.default_rng(0))))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_finite_input_is_refused(name, rng):
    estimate = intrinsic_dimension(tied(rng)[name])
    assert estimate.dim >= 1 and estimate.verdict in ("clear", "doubtful", "undecided")


def test_digits_have_a_dimension():
    estimate = intrinsic_dimension(load_digits().data)
    assert 5 <= estimate.dim < 15 and estimate.verdict != "clear"


def test_directions_that_are_kept_already_are_not_sought_again():
    sample = product_manifold("S^2", 1500, pad=30, noise=0.05, rotate=True, random_state=0)
    directions = kept_directions(sample.points)
    one = intrinsic_dimension(directions.project(sample.points), directions=directions)
    assert (one.dim, one.n_directions, one.noise) == (2, 3, directions.noise)
    assert intrinsic_dimension(sample.points).dim == 2


@settings(max_examples=20)
@given(st.floats(1e-3, 1e3), st.integers(0, 100))
def test_dimension_is_invariant_to_similarity(scale, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((80, 3))
    moved = scale * points @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + rng.standard_normal(3)
    one, two = intrinsic_dimension(points), intrinsic_dimension(moved)
    np.testing.assert_allclose((one.mle, one.two_nn), (two.mle, two.two_nn), rtol=1e-5)
    assert (one.dim, one.verdict) == (two.dim, two.verdict)


def test_copies_of_points_change_nothing(rng):
    points = rng.standard_normal((300, 2))
    repeated = np.concatenate([points, points, points[:1].repeat(200, axis=0)])
    once, again = intrinsic_dimension(points), intrinsic_dimension(repeated)
    assert once.dim == again.dim == 2


def test_few_points_use_fewer_neighbors(rng):
    assert intrinsic_dimension(rng.standard_normal((20, 2))).n_neighbors == 15
    few_places = np.tile(rng.standard_normal((10, 2)), (30, 1))
    assert intrinsic_dimension(few_places).n_neighbors == 9


def test_found_neighbors_save_the_search(rng):
    points = rng.standard_normal((200, 3))
    found = nearest_neighbors(points, 50)
    assert intrinsic_dimension(points, neighbors=found) == intrinsic_dimension(points)
    assert intrinsic_dimension(points, n_neighbors=20).n_neighbors == 20


def test_points_on_a_grid_are_said_to_mislead():
    line = np.linspace(0, 1, 30)
    estimate = intrinsic_dimension(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    assert not estimate.agree and "evenly spaced" in str(estimate)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: intrinsic_dimension(np.zeros((10, 2))), "at least 4 distinct points; got 1"),
        (
            lambda: intrinsic_dimension(np.eye(9), n_neighbors=2),
            "n_neighbors must be at least 3; got 2",
        ),
        (lambda: points_needed(0), "dim must be at least 1; got 0"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


@given(st.integers(1, 30))
def test_tangent_terms_count_the_monomials_up_to_degree_two(dim):
    monomials = {tuple(sorted((a, b))) for a in range(dim + 1) for b in range(dim + 1)}
    assert tangent_terms(dim) == len(monomials)
    needed, recommended = points_needed(dim)
    assert needed < recommended
