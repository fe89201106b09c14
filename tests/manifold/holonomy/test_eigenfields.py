import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import eigsh

from geodis import nearest_neighbors, neighbor_graph, product_manifold
from geodis.manifold.holonomy import eigenfields as coarse
from geodis.manifold.holonomy.connection import connection
from geodis.manifold.holonomy.eigenfields import (
    PARALLEL_VARIATION,
    bottom_eigenfields,
    coarse_start,
    count_by_gap,
    count_parallel,
    extend_fields,
    norm_variation,
)
from geodis.manifold.holonomy.laplacian import (
    ConnectionLaplacian,
    explicit_laplacian,
    symmetric_basis,
    traceless_basis,
    vec_symmetric,
)
from geodis.manifold.local.tangents import tangent_frames
from tests.reference import manifold as reference


def laplacian_of(points, frames, *, normalized=True):
    graph = neighbor_graph(points, 2 * frames.shape[1])
    return ConnectionLaplacian(graph, connection(frames, graph), normalized)


def problem(spec, n, n_neighbors=45):
    """Points in spatial order and curved tangents."""
    sample = product_manifold(spec, n, random_state=0)
    points = sample.points[np.lexsort(np.round(sample.points[:, :2], 1).T)]
    near = nearest_neighbors(points, n_neighbors)
    return points, tangent_frames(points, near, sample.dim).frames


def dense_bottom(laplacian, count):
    """Bottom eigenpairs of the explicit matrix; vectors as fields (n, k (k + 1) / 2, count)."""
    matrix = explicit_laplacian(
        laplacian.graph, laplacian.transports, normalized=laplacian.normalized
    )
    values, vectors = scipy.linalg.eigh(matrix.toarray(), subset_by_index=[0, count - 1])
    basis = traceless_basis(laplacian.k)
    return values, basis @ vectors.reshape(laplacian.shape[0], -1, count)


def unit(laplacian, fields):
    """Eigenvectors of unit length from fields: the normalised form has them times sqrt degree."""
    if laplacian.normalized:
        fields = fields * np.sqrt(laplacian.graph.degrees)[:, None, None]
    vectors = fields.reshape(-1, fields.shape[-1]).astype(float)
    return vectors / np.linalg.norm(vectors, axis=0)


def subspace_sine(first, second):
    """Sine of the largest angle between column spaces of orthonormal columns."""
    return np.linalg.norm(first - second @ (second.T @ first), 2)


@pytest.mark.parametrize("normalized", [True, False])
def test_the_bottom_pairs_equal_those_of_the_dense_matrix(normalized):
    laplacian = laplacian_of(*problem("S^2 x S^2", 300), normalized=normalized)
    values, exact = dense_bottom(laplacian, 8)
    found = bottom_eigenfields(laplacian, n_wanted=3, tolerance=1e-3, random_state=0)
    assert found.converged
    assert_allclose(found.values[:3], values[:3], atol=2e-6 * found.top)
    assert subspace_sine(unit(laplacian, found.fields[..., :1]), unit_exact(exact, 1)) < 1e-4
    assert subspace_sine(unit(laplacian, found.fields[..., :3]), unit_exact(exact, 3)) < 0.02
    assert (found.values > values - 1e-5).all()  # Ritz values lie above


def unit_exact(fields, count):
    return fields[..., :count].reshape(-1, count)


def test_a_repeated_eigenvalue_gives_the_whole_parallel_space():
    sample = product_manifold("S^1 x S^1 x S^1", 200, random_state=0)
    laplacian = laplacian_of(sample.points, np.concatenate(sample.tangents, axis=1))
    values, exact = dense_bottom(laplacian, 6)
    found = bottom_eigenfields(laplacian, tolerance=1e-3, random_state=0)
    assert found.n_parallel == 5
    assert_allclose(found.values[:5], values[:5], atol=1e-5)
    assert subspace_sine(unit(laplacian, found.fields[..., :5]), unit_exact(exact, 5)) < 1e-3


def test_the_default_tolerance_bounds_the_angle_to_the_dense_eigenvector():
    laplacian = laplacian_of(*problem("S^2 x S^2", 300))
    values, exact = dense_bottom(laplacian, 2)
    found = bottom_eigenfields(laplacian, random_state=0)
    assert found.converged and found.n_parallel == 1
    vector = unit(laplacian, found.fields[..., :1])
    sine = subspace_sine(vector, unit_exact(exact, 1))
    # Davis and Kahan: the sine is at most the residual over the distance to the other values.
    assert sine < 1.1 * found.residuals[0] / (values[1] - found.values[0]) + 1e-5
    assert found.residuals[0] < 0.02 * (values[1] - values[0])


def test_what_is_returned_is_what_its_words_say(rng):
    laplacian = laplacian_of(*problem("S^2 x S^2", 400))
    found = bottom_eigenfields(laplacian, n_fields=5, random_state=1)
    assert found.fields.dtype == np.float32 and found.fields.shape == (400, 10, 5)
    assert_allclose((found.fields**2).sum(axis=1).mean(axis=0), 1, rtol=1e-5)
    vectors = unit(laplacian, found.fields)
    assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-5)
    image = laplacian.apply(vectors.reshape(found.fields.shape).astype(np.float32))
    misfit = image.reshape(-1, 5) - vectors * found.values
    assert_allclose(np.linalg.norm(misfit, axis=0), found.residuals, rtol=0.01, atol=1e-6)
    assert_allclose(found.variation, norm_variation(found.fields), rtol=1e-3)
    matrices = found.matrices()
    assert matrices.shape == (400, 5, 4, 4)
    assert_allclose(np.trace(matrices, axis1=2, axis2=3), 0, atol=1e-5)
    rows = np.array([7, 3])
    assert_array_equal(found.matrices(2, rows=rows), matrices[rows, :2])
    assert_array_equal(vec_symmetric(matrices)[..., 2].astype(np.float32), found.fields[:, 2])


def test_one_thread_and_two_give_the_same_bits():
    points, frames = problem("S^2 x S^2", 2000, 30)
    graph = neighbor_graph(points, 8)
    transports = connection(frames, graph)
    one, two = (
        bottom_eigenfields(
            ConnectionLaplacian(graph, transports, n_jobs=count), random_state=3, max_rounds=3
        )
        for count in (1, 2)
    )
    assert_array_equal(one.values, two.values)
    assert_array_equal(one.fields, two.fields)


def test_the_same_seed_gives_the_same_fields_and_the_start_is_left_alone(rng):
    laplacian = laplacian_of(*problem("S^2 x S^2", 300))
    one, two = (bottom_eigenfields(laplacian, random_state=5) for _ in range(2))
    assert_array_equal(one.fields, two.fields)
    start = rng.standard_normal((300, 10, 8)).astype(np.float32)
    before = start.copy()
    bottom_eigenfields(laplacian, start=start, max_rounds=1, random_state=5)
    assert_array_equal(start, before)


def test_too_few_rounds_are_said_and_the_answer_still_comes():
    laplacian = laplacian_of(*problem("S^2 x S^2", 300))
    found = bottom_eigenfields(laplacian, n_wanted=1, max_rounds=1, tolerance=1e-6, random_state=0)
    assert not found.converged
    assert np.isfinite(found.values).all()
    more = bottom_eigenfields(laplacian, n_wanted=1, max_rounds=2, tolerance=1e-6, random_state=0)
    assert more.residuals[0] < found.residuals[0]
    assert more.n_applications == found.n_applications + 13  # a filter and a Rayleigh quotient


def test_a_double_eigenvalue_leaves_no_gap_and_is_not_waited_for():
    # On a surface a quarter turn takes eigenfields to others with the same eigenvalue.
    laplacian = laplacian_of(*problem("S^2", 1000))
    found = bottom_eigenfields(laplacian, n_wanted=1, max_rounds=200, random_state=0)
    assert_allclose(found.values[0], found.values[1], rtol=1e-3)
    assert not found.converged
    assert found.n_applications < 1000
    assert found.residuals[0] < 1e-4


def test_progress_is_told_with_the_number_of_parallel_fields():
    laplacian = laplacian_of(*problem("S^2 x S^2", 300))
    told: list[tuple[float, str]] = []
    found = bottom_eigenfields(
        laplacian, tolerance=1e-3, random_state=0, done=lambda *args: told.append(args)
    )
    fractions = [fraction for fraction, _ in told]
    assert fractions[0] == 0 and (np.diff(fractions) > 0).all()
    assert told[-1][1] == f"round {len(told)}: 1 parallel fields"
    assert found.n_applications == 2 + 13 * len(told)  # at the start, and for the energies


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_top_bounds_the_spectrum(normalized, seed):
    laplacian = laplacian_of(*problem("S^2 x S^2", 300), normalized=normalized)
    matrix = explicit_laplacian(laplacian.graph, laplacian.transports, normalized=normalized)
    largest = eigsh(matrix, 1, which="LA", return_eigenvectors=False, v0=np.ones(2700))[0]
    top = bottom_eigenfields(laplacian, max_rounds=0, random_state=seed).top
    assert largest < top < (1.5 if normalized else 1.2) * largest


# ---- counting parallel fields ----


@pytest.mark.parametrize("spec", ["S^2", "S^4"])
def test_a_single_sphere_has_no_parallel_field(spec):
    for normalized in (True, False):
        laplacian = laplacian_of(*problem(spec, 1000), normalized=normalized)
        found = bottom_eigenfields(laplacian, random_state=0)
        assert found.n_parallel == 0
        assert found.converged
        assert found.variation.min() > PARALLEL_VARIATION


@pytest.mark.parametrize(
    ("spec", "n_parallel"), [("S^2 x S^2", 1), ("S^2 x S^1", 1), ("S^2 x S^2 x S^2", 2)]
)
def test_a_product_has_one_parallel_field_fewer_than_factors(spec, n_parallel):
    points, frames = problem(spec, 2500, 60)
    found = bottom_eigenfields(laplacian_of(points, frames), random_state=0)
    assert found.converged
    assert found.n_parallel == n_parallel
    assert found.variation[:n_parallel].max() < 0.03
    assert found.variation[n_parallel] > 0.15


def test_a_parallel_field_has_no_variation(rng):
    turns = np.linalg.qr(rng.standard_normal((200, 4, 4)))[0]
    turned = turns @ np.diag([1.0, 1.0, -1.0, -1.0]) @ turns.swapaxes(1, 2)
    parallel = vec_symmetric(turned)[..., None]
    assert_allclose(norm_variation(parallel), 0, atol=1e-14)
    scale = rng.uniform(0.5, 1.5, 200)
    expected = scale.std() / scale.mean()
    assert_allclose(norm_variation(parallel * scale[:, None, None]), expected, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_norm_variation_equals_its_literal_twin(seed, width, weighted):
    rng = np.random.default_rng(seed)
    matrices = rng.standard_normal((20, width, 3, 3))
    matrices += matrices.swapaxes(2, 3)
    weights = rng.uniform(0.1, 1, 20) if weighted else None
    found = norm_variation(vec_symmetric(matrices).swapaxes(1, 2), weights)
    for r in range(width):
        literal = np.ones(20) if weights is None else weights
        expected = reference.norm_variation(matrices[:, r], literal)
        assert_allclose(found[r], expected, rtol=1e-12)


def test_weights_silence_the_points_they_leave_out(rng):
    fields = np.ones((100, 3, 1))
    fields[50:] = rng.standard_normal((50, 3, 1))
    assert norm_variation(fields)[0] > 0.2
    assert_allclose(norm_variation(fields, np.repeat([1.0, 0.0], 50)), 0, atol=1e-12)


@given(
    st.lists(
        st.tuples(st.floats(0, 0.1), st.sampled_from([0.0, 0.01, 0.09, 0.1, 0.11, 0.4])),
        min_size=1,
        max_size=9,
    )
)
def test_count_parallel_equals_its_literal_twin(pairs):
    values = np.sort([value for value, _ in pairs])
    variation = np.array([spread for _, spread in pairs])
    expected = reference.count_parallel(values, variation, 0.1)
    assert count_parallel(values, variation, threshold=0.1) == expected


@pytest.mark.parametrize(
    ("values", "variation", "expected"),
    [
        ([0.0002, 0.075, 0.079, 0.081], [0.001, 0.44, 0.4, 0.4], 1),  # (S^2)^2
        ([0.002, 0.004, 0.03, 0.033], [0.000, 0.002, 0.239, 0.3], 2),  # S^2 x S^4 x SO(3)
        ([0.01, 0.01, 0.01, 0.01, 0.05], [0.006] * 4 + [0.502], 4),  # (S^2)^5
        # Slow modes of ellipsoid(1, 1, 3) x S^2: small eigenvalues that are not parallel.
        ([0.0001, 0.0057, 0.0078, 0.0078, 0.019], [0.001, 0.755, 0.7, 0.7, 0.6], 1),
        ([0.025, 0.026, 0.026, 0.027], [0.19, 0.16, 0.12, 0.12], 0),  # S^4
        ([0.02, 0.021, 0.022], [0.01, 0.01, 0.01], 0),  # steady norms within the bulk
        ([0.0, 0.001, 0.1], [0.5, 0.0, 0.5], 0),  # only leading fields count
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0),  # no bulk to compare with
    ],
)
def test_count_parallel_on_tables(values, variation, expected):
    assert count_parallel(np.array(values), np.array(variation)) == expected


def test_the_threshold_of_the_variation_can_be_moved():
    values, variation = np.array([0.001, 0.002, 0.005, 0.1]), np.array([0.02, 0.12, 0.5, 0.5])
    assert count_parallel(values, variation) == 1
    assert count_parallel(values, variation, threshold=0.15) == 2
    assert count_parallel(values, variation, threshold=0.01) == 0


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=9, unique=True))
def test_the_gap_rule_counts_what_lies_below_the_largest_gap(raw):
    values = np.sort(np.array(raw, dtype=float))
    count = count_by_gap(values)
    gaps = [values[j + 1] - values[j] for j in range(len(values) - 1)]
    assert gaps[count - 1] == max(gaps)
    assert count >= 1  # never none: a single factor is never found


def test_the_published_rule_finds_a_factor_too_many_where_there_is_one():
    laplacian = laplacian_of(*problem("S^4", 1000))
    published = bottom_eigenfields(laplacian, rule="gap", random_state=0)
    assert published.n_parallel >= 1
    assert published.n_parallel == count_by_gap(published.values)
    assert bottom_eigenfields(laplacian, random_state=0).n_parallel == 0
    both = [
        bottom_eigenfields(laplacian_of(*problem("S^2 x S^2", 500)), rule=rule, random_state=0)
        for rule in ("gap", "parallel")
    ]
    assert both[0].n_parallel == both[1].n_parallel == 1


# ---- the coarse start ----


def overlap(first, second):
    first, second = first.ravel().astype(float), second.ravel().astype(float)
    return abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)


def test_a_coarse_start_lies_near_the_wanted_field_and_saves_applications():
    points, frames = problem("S^2 x S^2", 6000, 30)
    laplacian = laplacian_of(points, frames)
    start = coarse_start(points, frames, 8, random_state=0)
    assert start is not None
    warm = bottom_eigenfields(laplacian, start=start, random_state=0)
    cold = bottom_eigenfields(laplacian, random_state=0)
    assert cold.converged and warm.converged
    assert overlap(start[..., 0], cold.fields[..., 0]) > 0.9
    assert overlap(warm.fields[..., 0], cold.fields[..., 0]) > 0.999
    assert warm.n_applications < cold.n_applications


def test_few_points_have_no_coarse_start(rng):
    points = rng.standard_normal((2 * coarse.MIN_POINTS - 1, 3))
    frames = np.broadcast_to(np.eye(2, 3), (len(points), 2, 3))
    assert coarse_start(points, frames, 4) is None


def test_a_large_coarse_problem_starts_from_a_coarser_one(monkeypatch):
    points, frames = problem("S^2 x S^2", 5000, 30)
    monkeypatch.setattr(coarse, "MIN_POINTS", 150)
    sizes = []

    def spy(laplacian, **options):
        sizes.append((laplacian.graph.n_points, options["start"] is not None))
        return bottom_eigenfields(laplacian, **options)

    monkeypatch.setattr(coarse, "bottom_eigenfields", spy)
    start = coarse_start(points, frames, 4, random_state=0)
    assert sizes == [(150, False), (312, True)]
    assert start is not None and start.shape == (5000, 10, 4)


def test_the_coarse_fields_come_from_the_nearest_of_the_chosen_points(monkeypatch):
    points, frames = problem("S^2 x S^2", 900, 30)
    monkeypatch.setattr(coarse, "MIN_POINTS", 300)
    seen = []

    def spy(fields, from_frames, to_frames, nearest, **options):
        seen.append((from_frames, nearest))
        return extend_fields(fields, from_frames, to_frames, nearest)

    monkeypatch.setattr(coarse, "extend_fields", spy)
    coarse_start(points, frames, 4, random_state=0)
    ((from_frames, nearest),) = seen
    chosen = [int(np.flatnonzero((frames == frame).all(axis=(1, 2)))[0]) for frame in from_frames]
    assert len(chosen) == 300 and np.diff(chosen).max() <= 4  # spread evenly
    distances = np.linalg.norm(points[:, None] - points[chosen], axis=2)
    expected = np.argsort(distances, axis=1)[:, :3]
    assert_array_equal(np.sort(nearest), np.sort(expected))


def test_extended_fields_equal_their_literal_twin(rng):
    from_frames, to_frames = (
        np.linalg.qr(np.eye(5, 3) + 0.2 * rng.standard_normal((n, 5, 3)))[0].swapaxes(1, 2)
        for n in (12, 30)
    )
    nearest = rng.integers(0, 12, (30, 3))
    coordinates = rng.standard_normal((12, 2, 5)) @ traceless_basis(3).T
    matrices = (coordinates @ symmetric_basis(3).T).reshape(12, 2, 3, 3)
    fields = np.ascontiguousarray(coordinates.swapaxes(1, 2), dtype=np.float32)
    found = extend_fields(fields, from_frames, to_frames, nearest)
    for r in range(2):
        expected = reference.extend_field(matrices[:, r], from_frames, to_frames, nearest)
        assert_allclose(found[..., r], vec_symmetric(expected), atol=1e-5)


def test_a_parallel_field_extends_to_itself(rng):
    sample = product_manifold("S^2 x S^2", 2000, random_state=0)
    frames = np.concatenate(sample.tangents, axis=1)
    field = vec_symmetric(np.diag([0.5, 0.5, -0.5, -0.5]))
    few = np.tile(field[None, :, None], (500, 1, 1)).astype(np.float32)
    nearest = nearest_neighbors(sample.points, 3).indices % 500
    near = np.einsum("nkd,ncjd->nckj", frames, frames[nearest])
    sound = np.linalg.svd(near, compute_uv=False).min(axis=(1, 2)) > 0.05
    found = extend_fields(few, frames[:500], frames, nearest)
    assert_allclose(found[sound, :, 0], np.tile(field, (sound.sum(), 1)), atol=1e-4)
    assert sound.mean() > 0.5
