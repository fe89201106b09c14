import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from geodis.base.check import InputError
from geodis.manifold.holonomy.eigenfields import Eigenfields, norm_variation
from geodis.manifold.holonomy.factor_axes import _whole_dims, factor_axes
from geodis.manifold.holonomy.factor_count import commuting_combinations, count_factors
from geodis.manifold.holonomy.laplacian import traceless_basis, unvec_symmetric, vec_symmetric
from geodis.manifold.local.angles import principal_angles


def eigenfields(matrices, n_parallel=None):
    """Wrap fields of shape (n, w, k, k) as the eigensolver returns them."""
    fields = np.swapaxes(vec_symmetric(matrices), 1, 2).astype(np.float32)
    width = fields.shape[2]
    return Eigenfields(
        values=np.linspace(0, 1e-3, width),
        fields=fields,
        variation=norm_variation(fields),
        residuals=np.zeros(width),
        n_parallel=width if n_parallel is None else n_parallel,
        n_applications=1,
        converged=True,
        top=2.0,
    )


def constant_matrices(dims, flat):
    """An orthonormal basis of the traceless combinations of projectors and, on the flat factors
    together, of all symmetric matrices: what is parallel, in the frame of the axes.
    """
    k = sum(dims)
    blocks = np.split(np.arange(k), np.cumsum(dims)[:-1])
    spanning = [np.diag(np.isin(np.arange(k), block).astype(float)) for block in blocks]
    on_flat = [a for j in flat for a in blocks[j]]
    for a, b in itertools.combinations_with_replacement(on_flat, 2):
        matrix = np.zeros((k, k))
        matrix[a, b] = matrix[b, a] = 1.0
        spanning.append(matrix)
    vectors = vec_symmetric(np.array(spanning)) @ traceless_basis(k)
    _, values, rows = np.linalg.svd(vectors)
    rows = rows[: int((values > 1e-9).sum())]
    return unvec_symmetric(rows @ traceless_basis(k).T, k)


def parallel_fields(dims, rng, *, n=300, flat=(), noise=0.0):
    """Random axes at every point, the same random combination of constants there, and noise."""
    k = sum(dims)
    axes = np.linalg.qr(rng.standard_normal((n, k, k)))[0]
    constants = constant_matrices(dims, flat)
    width = len(constants)
    mixing = np.linalg.qr(rng.standard_normal((width, width)))[0]
    matrices = axes.swapaxes(1, 2)[:, None] @ np.tensordot(mixing, constants, 1) @ axes[:, None]
    disturbance = noise * rng.standard_normal(matrices.shape)
    matrices = matrices + (disturbance + disturbance.swapaxes(2, 3)) / 2
    return np.split(axes, np.cumsum(dims)[:-1], axis=1), eigenfields(matrices)


def found_parts(found):
    return np.split(found.axes, np.cumsum(found.dims)[:-1], axis=1)


def matches(found, true):
    """For every found factor the largest angle over points to the same true one, and which."""
    pairs = []
    for part in found_parts(found):
        angles = [principal_angles(part, other).max() for other in true]
        pairs.append((min(angles), int(np.argmin(angles))))
    assert sorted(j for _, j in pairs) == list(range(len(true)))
    return pairs


@pytest.mark.parametrize(
    "dims", [(2, 2), (3, 2, 2), (1, 2), (4, 1), (2, 2, 2, 2), (5, 3, 2, 1), (1, 1, 1)]
)
@pytest.mark.parametrize("seed", range(3))
def test_axes_come_back_from_the_fields_composed_of_them(dims, seed):
    true, fields = parallel_fields(dims, np.random.default_rng(seed))
    found = factor_axes(fields, random_state=seed)
    assert found.dims == tuple(sorted(dims, reverse=True))
    assert found.flat is None
    # One true factor for all points: the labels agree everywhere.
    for (angle, j), dim in zip(matches(found, true), found.dims, strict=True):
        assert angle < 1e-6
        assert dims[j] == dim
    assert found.axes.dtype == float
    gram = found.axes @ found.axes.swapaxes(1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(sum(dims)), gram.shape), atol=1e-10)
    assert len(found.commutators) == len(dims) - 1
    assert found.commutators.max() < 1e-9
    assert found.off_diagonal < 1e-9 and found.spread < 1e-5


@pytest.mark.parametrize("dims", [(2, 2), (3, 2, 2), (2, 2, 2, 2)])
def test_noise_in_the_fields_tilts_the_axes_as_much_and_mixes_no_labels(dims, rng):
    errors = []
    for noise in (0.003, 0.03):
        true, fields = parallel_fields(dims, np.random.default_rng(1), noise=noise)
        found = factor_axes(fields, random_state=0)
        assert found.dims == dims
        errors.append(max(angle for angle, _ in matches(found, true)))
        assert 0 < found.spread < 0.2
    assert errors[0] < 0.05 and errors[1] < 0.4
    assert_allclose(errors[1] / errors[0], 10, rtol=0.3)


def test_many_more_points_than_are_used_for_labels_are_all_labelled():
    true, fields = parallel_fields((3, 2), np.random.default_rng(0), n=9000)
    found = factor_axes(fields, random_state=0)
    assert max(angle for angle, _ in matches(found, true)) < 1e-6


def test_turning_the_frames_turns_the_axes(rng):
    _, fields = parallel_fields((2, 2, 1), rng, n=100)
    turns = np.linalg.qr(rng.standard_normal((100, 5, 5)))[0]
    turned = turns[:, None] @ fields.matrices() @ turns.swapaxes(1, 2)[:, None]
    plain = factor_axes(fields, random_state=0)
    found = factor_axes(eigenfields(turned), random_state=0)
    back = [part @ turns for part in found_parts(found)]
    assert max(angle for angle, _ in matches(plain, back)) < 1e-6


def test_the_result_depends_on_neither_threads_nor_more_than_the_seed():
    _, fields = parallel_fields((2, 2), np.random.default_rng(0), n=9000, noise=0.02)
    one, two = (factor_axes(fields, n_jobs=jobs, random_state=4) for jobs in (1, 2))
    assert_array_equal(one.axes, two.axes)
    assert one.spread == two.spread
    other = factor_axes(fields, random_state=5)
    angles = [
        min(principal_angles(a, b).max() for b in found_parts(one)) for a in found_parts(other)
    ]
    assert max(angles) < 1e-3


def test_only_the_parallel_fields_are_read(rng):
    true, fields = parallel_fields((3, 2), rng)
    matrices = fields.matrices()
    bulk = rng.standard_normal((300, 4, 5, 5))
    bulk += bulk.swapaxes(2, 3)
    found = factor_axes(eigenfields(np.concatenate([matrices, bulk], axis=1), 1), random_state=0)
    assert found.dims == (3, 2)
    assert max(angle for angle, _ in matches(found, true)) < 1e-6


def test_no_parallel_field_means_one_factor(rng):
    _, fields = parallel_fields((2, 2), rng)
    found = factor_axes(eigenfields(fields.matrices(), n_parallel=0))
    assert found.dims == (4,)
    assert found.flat is None
    assert len(found.commutators) == 0
    assert_array_equal(found.axes, np.broadcast_to(np.eye(4), (300, 4, 4)))


@pytest.mark.parametrize("n_factors", [2, 3])
def test_a_given_number_of_factors_is_found(n_factors, rng):
    true, fields = parallel_fields((3, 2, 2)[:n_factors], rng, noise=0.02)
    found = factor_axes(fields, n_factors, random_state=0)
    assert len(found.dims) == n_factors
    assert max(angle for angle, _ in matches(found, true)) < 0.3


def test_fewer_factors_than_there_are_merge_some_and_call_none_flat(rng):
    true, fields = parallel_fields((2, 2, 2), rng)
    found = factor_axes(fields, 2, random_state=0)
    assert found.dims == (4, 2)
    assert found.flat is None
    small = found_parts(found)[1]
    assert min(principal_angles(small, other).max() for other in true) < 1e-5
    one = factor_axes(fields, 1)
    assert one.dims == (6,)
    assert one.flat is None


@settings(deadline=None)
@given(st.lists(st.floats(-0.5, 4), min_size=1, max_size=5))
def test_dims_are_the_nearest_whole_numbers_with_the_right_sum(raw):
    k = max(len(raw), round(sum(raw)))
    traces = np.array(raw) + (k - sum(raw)) / len(raw)
    dims = _whole_dims(traces, k)
    assert sum(dims) == k and min(dims) >= 1
    others = itertools.product(range(1, k + 1), repeat=len(raw))
    nearest = min(np.sum((traces - other) ** 2) for other in others if sum(other) == k)
    assert np.sum((traces - dims) ** 2) < nearest + 1e-9


# ---- flat parts ----


@pytest.mark.parametrize(
    ("dims", "flat"),
    [
        ((2, 2), 0),
        ((3, 2), 0),
        ((2, 3), 0),
        ((4, 2, 2), 2),
        ((3, 3, 2), 1),
        ((2, 2, 1), 0),
        ((2, 1), 0),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_flat_part_is_one_factor_and_named_as_flat(dims, flat, noise):
    true, fields = parallel_fields(dims, np.random.default_rng(2), flat=(flat,), noise=noise)
    f, m = dims[flat], len(dims)
    n_flat = f * (f + 1) // 2
    assert fields.n_parallel == n_flat + (m - 1) - 1
    found = factor_axes(fields, random_state=0)
    assert found.dims == tuple(sorted(dims, reverse=True))
    pairs = matches(found, true)
    assert max(angle for angle, _ in pairs) < (1e-6 if noise == 0 else 0.2)
    assert found.flat is not None
    assert pairs[found.flat][1] == flat
    # Combinations of projectors commute with all fields, the others of the flat part do not.
    assert_array_equal(found.commutators < 0.1, np.arange(fields.n_parallel) < m - 1)
    assert found.commutators[m - 1] > 0.4


def test_several_flat_lines_are_one_flat_factor():
    # Circle x circle x S^2: every constant symmetric matrix on the circles together is parallel.
    true, fields = parallel_fields((2, 1, 1), np.random.default_rng(0), flat=(1, 2))
    found = factor_axes(fields, random_state=0)
    assert found.dims == (2, 2)
    assert found.flat is not None
    lines = np.concatenate(true[1:], axis=1)
    parts = found_parts(found)
    assert principal_angles(parts[found.flat], lines).max() < 1e-6
    assert principal_angles(parts[1 - found.flat], true[0]).max() < 1e-6


@pytest.mark.parametrize("k", [2, 3])
def test_a_wholly_flat_space_is_one_flat_factor(k, rng):
    _, fields = parallel_fields((k,), rng, flat=(0,))
    assert fields.n_parallel == k * (k + 1) // 2 - 1
    found = factor_axes(fields)
    assert found.dims == (k,)
    assert found.flat == 0
    assert found.commutators.min() > 0.4


# ---- combinations that commute ----


def commutator_energy(matrices, combination):
    """mean_i sum_s |[sum_r c_r Omega_r, Omega_s]|^2, as loops."""
    total = 0.0
    for fields in matrices:
        mixed = sum(c * field for c, field in zip(combination, fields, strict=True))
        for field in fields:
            total += np.linalg.norm(mixed @ field - field @ mixed) ** 2
    return total / len(matrices)


def test_the_values_are_the_mean_squared_commutators_of_the_combinations(rng):
    matrices = rng.standard_normal((15, 4, 3, 3))
    matrices += matrices.swapaxes(2, 3)
    values, combinations = commuting_combinations(matrices)
    assert_allclose(combinations @ combinations.T, np.eye(4), atol=1e-12)
    assert_allclose(values, [commutator_energy(matrices, c) for c in combinations], rtol=1e-10)
    assert (np.diff(values) > 0).all()
    # The first is the smallest over all unit combinations.
    for c in rng.standard_normal((50, 4)):
        assert commutator_energy(matrices, c / np.linalg.norm(c)) > values[0]


def test_the_values_change_with_neither_turns_of_the_frames_nor_mixtures_of_the_fields(rng):
    matrices = rng.standard_normal((40, 3, 4, 4))
    matrices += matrices.swapaxes(2, 3)
    turns = np.linalg.qr(rng.standard_normal((40, 1, 4, 4)))[0]
    mixing = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    values, combinations = commuting_combinations(matrices)
    turned = commuting_combinations(turns @ matrices @ turns.swapaxes(2, 3))[0]
    assert_allclose(turned, values, rtol=1e-9)
    mixed, others = commuting_combinations(np.einsum("rs,nsab->nrab", mixing, matrices))
    assert_allclose(mixed, values, rtol=1e-9)
    assert_allclose(np.abs(others @ mixing), np.abs(combinations), atol=1e-6)


def test_the_spectrum_counts_the_projectors_and_what_is_flat():
    _, fields = parallel_fields((3, 2, 2), np.random.default_rng(3), flat=(0,))
    values, combinations = commuting_combinations(fields.matrices())
    assert_allclose(values[:2], 0, atol=1e-9)
    assert_allclose(values[2:], values[2], rtol=1e-5)  # a rotation of the flat part mixes them
    central = np.tensordot(combinations[:2], fields.matrices(), axes=(1, 1)).swapaxes(0, 1)
    for matrix in central[:5].reshape(-1, 7, 7):
        assert len(np.unique(np.linalg.eigvalsh(matrix).round(4))) <= 3


@pytest.mark.parametrize(("dims", "flat"), [((2, 2), ()), ((3, 2, 2), ()), ((2, 2), (0,))])
def test_factors_are_counted_by_the_combinations_that_commute(dims, flat, rng):
    _, fields = parallel_fields(dims, rng, flat=flat)
    count = count_factors(fields, random_state=0)
    assert (count.n_factors, count.has_flat) == (len(dims), bool(flat))
    told = count_factors(fields, 2, random_state=0)
    assert told.n_factors == 2
    labelled = factor_axes(fields, told, random_state=0)
    assert len(labelled.dims) == 2
    assert count_factors(eigenfields(fields.matrices(), n_parallel=0)).n_factors == 1
    with pytest.raises(InputError, match=r"factors apart; got n_factors=9\."):
        count_factors(fields, 9)


def test_commutators_are_means_over_fields_and_points(rng):
    """Against loops over combinations, fields and points."""
    matrices = rng.standard_normal((20, 3, 4, 4))
    matrices += matrices.swapaxes(2, 3)
    fields = eigenfields(matrices)
    counted = count_factors(fields, 2, random_state=0)
    assert len(counted.matrices) == 20
    for row, value in zip(counted.combinations, counted.commutators, strict=True):
        squares = []
        for here in counted.matrices:
            own = sum(c * field for c, field in zip(row, here, strict=True))
            squares += [((own @ field - field @ own) ** 2).sum() for field in here]
        assert value == pytest.approx(np.mean(squares), rel=1e-5)


def test_noise_does_not_add_up_over_many_fields():
    """Six factors have five fields, each as noisy as the one of two factors."""
    _, two = parallel_fields((1, 1), np.random.default_rng(0), noise=0.08)
    _, six = parallel_fields((1,) * 6, np.random.default_rng(0), noise=0.08)
    assert count_factors(two, random_state=0).n_factors == 2
    assert count_factors(six, random_state=0).n_factors == 6
