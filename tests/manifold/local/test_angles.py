import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from geodis import nearest_neighbors, product_manifold
from geodis.base.check import InputError
from geodis.manifold.local.angles import principal_angles, subspace_angles, unaligned_angles
from tests.reference import manifold as reference

SEEDS = st.integers(0, 2**32 - 1)
RIGHT_ANGLE = np.pi / 2


def frames(n, k, d, rng):
    """Random orthonormal rows, shape (n, k, d)."""
    return np.linalg.qr(rng.standard_normal((n, d, k)))[0].swapaxes(1, 2)


def split_frames(n, dims, d, rng):
    """Mutually orthogonal subspaces of the given dimensions."""
    return np.split(frames(n, sum(dims), d, rng), np.cumsum(dims)[:-1], axis=1)


def turned(subspace, rng):
    """The same subspaces with their rows rotated."""
    n, k, _ = subspace.shape
    return frames(n, k, k, rng) @ subspace


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 4), SEEDS)
def test_principal_angles_equal_those_of_scipy(k, codim, seed):
    rng = np.random.default_rng(seed)
    first, second = frames(6, k, k + codim, rng), frames(6, k, k + codim, rng)
    expected = [
        scipy.linalg.subspace_angles(a.T, b.T)[0] for a, b in zip(first, second, strict=True)
    ]
    assert_allclose(principal_angles(first, second), expected, atol=1e-7)
    literal = [reference.largest_angle(a, b) for a, b in zip(first, second, strict=True)]
    assert_allclose(principal_angles(first, second), literal, atol=1e-7)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-3, 0.5, 1.5, RIGHT_ANGLE])
def test_known_angles_come_back_however_small(angle, rng):
    rotation = frames(1, 6, 6, rng)[0]
    first = np.eye(3, 6)[None]
    second = first.copy()
    second[0, 2] = [0, 0, np.cos(angle), np.sin(angle), 0, 0]
    found = principal_angles(first @ rotation, turned(second, rng) @ rotation)
    assert_allclose(found, angle, rtol=1e-3 if angle < 1e-10 else 1e-7, atol=2e-15)


@given(SEEDS)
def test_principal_angles_are_symmetric_and_obey_the_triangle_inequality(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (frames(5, 2, 5, rng) for _ in range(3))
    assert_allclose(principal_angles(a, b), principal_angles(b, a), atol=1e-7)
    assert (principal_angles(a, c) < principal_angles(a, b) + principal_angles(b, c) + 1e-9).all()


def test_subspaces_of_unlike_dimension_are_at_a_right_angle(rng):
    big = frames(4, 3, 5, rng)
    assert_array_equal(principal_angles(big, big[:, :2]), np.full(4, RIGHT_ANGLE))


# ---- matching of factors ----


@pytest.mark.parametrize("matching", ["global", "local"])
def test_neither_rotated_rows_nor_the_order_of_factors_change_the_angles(matching, rng):
    true = split_frames(20, (2, 3, 1), 7, rng)
    noisy = [part + 0.1 * rng.standard_normal(part.shape) for part in true]
    estimated = [np.linalg.qr(part.swapaxes(1, 2))[0].swapaxes(1, 2) for part in noisy]
    plain = subspace_angles(estimated, true, matching=matching)
    assert 0.01 < plain.mean() < 0.6
    shuffled = [turned(estimated[j], rng) for j in (2, 0, 1)]
    other = [turned(true[j], rng) for j in (1, 0, 2)]
    assert_allclose(subspace_angles(shuffled, other, matching=matching), plain, atol=1e-9)
    rotation = frames(1, 7, 7, rng)[0]
    moved = [part @ rotation for part in shuffled], [part @ rotation for part in other]
    assert_allclose(subspace_angles(*moved, matching=matching), plain, atol=1e-9)
    swapped = subspace_angles(true, estimated, matching=matching)
    assert_allclose(swapped, plain, atol=1e-9)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 2), min_size=1, max_size=4),
    st.lists(st.integers(1, 2), min_size=1, max_size=4),
    SEEDS,
)
def test_both_matchings_equal_brute_force_over_permutations(estimated_dims, true_dims, seed):
    rng = np.random.default_rng(seed)
    estimated = split_frames(6, estimated_dims, 8, rng)
    true = split_frames(6, true_dims, 8, rng)
    size = max(len(estimated), len(true))
    angles = [
        [
            [
                reference.largest_angle(estimated[i][p], true[j][p])
                if i < len(estimated) and j < len(true)
                else RIGHT_ANGLE
                for j in range(size)
            ]
            for i in range(size)
        ]
        for p in range(6)
    ]
    together, one_by_one = reference.matched_angles(angles)
    found = subspace_angles(estimated, true)
    local = subspace_angles(estimated, true, matching="local")
    assert_allclose(found.mean(), together.mean(), atol=1e-7)
    assert_allclose(local, one_by_one, atol=1e-7)
    assert (local <= found + 1e-12).all()


def test_labels_that_change_from_point_to_point_cost_only_the_global_matching(rng):
    first, second = split_frames(40, (2, 2), 4, rng)
    odd = (np.arange(40) % 2 == 1)[:, None, None]
    mixed = [np.where(odd, first, second), np.where(odd, second, first)]
    assert_allclose(subspace_angles(mixed, [first, second], matching="local"), 0, atol=1e-7)
    assert_allclose(subspace_angles(mixed, [first, second]).mean(), RIGHT_ANGLE / 2, atol=1e-7)


@pytest.mark.parametrize("matching", ["global", "local"])
def test_a_factor_without_a_partner_costs_a_right_angle(matching, rng):
    true = split_frames(5, (2, 2, 1), 6, rng)
    options = {"matching": matching}
    assert_allclose(subspace_angles(true[:2], true, **options), RIGHT_ANGLE / 3, atol=1e-9)
    assert_allclose(subspace_angles(true, true[1:], **options), RIGHT_ANGLE / 3, atol=1e-9)
    merged = [np.concatenate(true[:2], axis=1), true[2]]
    assert_allclose(subspace_angles(merged, true, **options), 2 * RIGHT_ANGLE / 3, atol=1e-9)
    assert_allclose(subspace_angles(merged[:1], true[:2], **options), RIGHT_ANGLE)


def test_many_factors_are_matched_point_by_point(rng):
    # Pairings of ten factors are too many to list: 3,628,800.
    true = split_frames(3, (1,) * 10, 10, rng)
    order = rng.permutation(10)
    assert_allclose(subspace_angles([true[j] for j in order], true, matching="local"), 0, atol=1e-7)


def test_lists_and_float32_are_understood(rng):
    true = split_frames(4, (1, 2), 4, rng)
    lists = [part.tolist() for part in true]
    assert_allclose(subspace_angles(lists, true), 0, atol=1e-7)
    single = [part.astype(np.float32) for part in true]
    assert_allclose(subspace_angles(single, true), 0, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimated": []}, "at least one estimated and one true subspace; got none"),
        ({"true": []}, "at least one estimated and one true subspace; got none"),
        ({"true": [np.ones((3, 1, 5))]}, r"must share n and d; got \[\(3, 4\), \(3, 5\)\]"),
        ({"true": [np.ones((2, 1, 4))]}, r"must share n and d; got \[\(2, 4\), \(3, 4\)\]"),
        ({"true": [np.ones((3, 4))]}, r"must have shape \(n, k_j, d\); got shape \(3, 4\)"),
        ({"true": [np.full((3, 1, 4), np.nan)]}, "subspaces must be finite"),
        ({"true": [[["a"]]]}, "subspaces must hold numbers"),
        ({"matching": "best"}, "matching must be one of 'global', 'local'; got 'best'"),
    ],
)
def test_subspaces_that_cannot_be_compared_are_refused(arguments, message):
    given_ones = {"estimated": [np.ones((3, 1, 4))], "true": [np.ones((3, 1, 4))]}
    with pytest.raises(InputError, match=message):
        subspace_angles(**{**given_ones, **arguments})


# ---- spaces that correspond only point by point ----


@pytest.fixture
def sample():
    return product_manifold("S^2 x S^1", 300, random_state=0)


@pytest.mark.parametrize("matching", ["global", "local"])
def test_identical_estimates_in_a_rotated_space_are_at_angle_zero(sample, matching, rng):
    d = sample.points.shape[1]
    rotation = frames(1, d, d + 3, rng)[0]  # into more dimensions, as a latent space may have
    points = 4.0 * sample.points @ rotation + 1.0
    estimated = [turned(part, rng) @ rotation for part in sample.tangents[::-1]]
    found = unaligned_angles(points, estimated, sample.points, sample.tangents, matching=matching)
    assert found.shape == (300,)
    assert found.max() < 1e-6


def test_angles_do_not_change_with_ambient_rotations_of_either_side(sample, rng):
    mixed = [sample.tangents[0] + 0.2 * rng.standard_normal((300, 2, 5)), sample.tangents[1]]
    estimated = [np.linalg.qr(part.swapaxes(1, 2))[0].swapaxes(1, 2) for part in mixed]
    plain = unaligned_angles(sample.points, estimated, sample.points, sample.tangents)
    assert plain.mean() > 0.05
    one, other = frames(2, 5, 5, rng)
    moved = unaligned_angles(
        sample.points @ one,
        [turned(part, rng) @ one for part in estimated],
        3 * sample.points @ other - 2,
        [turned(part, rng) @ other for part in sample.tangents],
    )
    assert_allclose(moved, plain, atol=1e-6)


def test_unaligned_angles_equal_their_literal_twin(sample, rng):
    estimated = split_frames(300, (2, 1), 5, rng)
    points = sample.points**3
    found = unaligned_angles(points, estimated, sample.points, sample.tangents, matching="local")
    near = nearest_neighbors(sample.points, 10).indices
    for i in range(0, 300, 10):
        twin = reference.unaligned_angle(
            points,
            [item[i] for item in estimated],
            sample.points,
            [item[i] for item in sample.tangents],
            i,
            near[i],
        )
        assert_allclose(found[i], twin, atol=1e-6)


def test_wrong_subspaces_are_far_from_the_truth(sample, rng):
    wrong = [sample.tangents[1], sample.tangents[0]]
    points = sample.points
    # Swapped labels are no error; wrong dimensions or random subspaces are.
    assert unaligned_angles(points, wrong, points, sample.tangents).max() < 1e-6
    random = split_frames(300, (2, 1), 5, rng)
    assert unaligned_angles(points, random, points, sample.tangents).mean() > 0.5
    one = unaligned_angles(points, sample.tangents[:1], points, sample.tangents)
    assert (one >= RIGHT_ANGLE / 2).all()  # a factor without a partner is a right angle off
    whole = [np.concatenate(sample.tangents, axis=1)]
    assert_allclose(unaligned_angles(points, whole, points, sample.tangents), RIGHT_ANGLE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": np.zeros((4, 2))}, "must correspond row by row; got 4 and 30 rows"),
        ({"true_points": np.zeros(30)}, r"true_points must have shape \(n, d\)"),
        ({"points": np.full((30, 3), np.inf)}, "points must be finite"),
        ({"matching": "best"}, "matching must be one of 'global', 'local'; got 'best'"),
        ({"n_neighbors": 1}, "n_neighbors must be at least 2; got 1"),
        ({"n_neighbors": 30}, "n_neighbors=30 needs at least 31 distinct points; got 30"),
        ({"estimated": [np.ones((30, 3))]}, r"must have shape \(n, k_j, d\); got shape \(30, 3\)"),
        ({"estimated": []}, "at least one estimated and one true subspace; got none"),
        ({"true": []}, "at least one estimated and one true subspace; got none"),
        ({"estimated": [np.ones((1, 2, 3))]}, r"must share n and d with their points"),
        ({"estimated": [np.ones((30, 2, 4))]}, r"must share n and d with their points"),
        ({"true": [np.ones((29, 2, 3))]}, r"must share n and d with their points"),
    ],
)
def test_spaces_that_do_not_correspond_are_refused(options, message, rng):
    points = rng.standard_normal((30, 3))
    arguments = {
        "points": points,
        "estimated": [np.ones((30, 2, 3))],
        "true_points": points,
        "true": [np.ones((30, 2, 3))],
        **options,
    }
    names = ("points", "estimated", "true_points", "true")
    positional = [arguments.pop(name) for name in names]
    with pytest.raises(InputError, match=message):
        unaligned_angles(*positional, **arguments)
