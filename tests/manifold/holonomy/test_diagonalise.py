import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from geodis.base.check import InputError
from geodis.manifold.holonomy.factor_axes import ffdiag
from tests.reference import manifold as reference

SEEDS = st.integers(0, 2**32 - 1)
HADAMARD = scipy.linalg.hadamard(4) / 2


def rotations(n, k, rng):
    return np.linalg.qr(rng.standard_normal((n, k, k)))[0]


def compose(W, diagonals):
    """Sets W diag W^T, shape (n, r, k, k)."""
    return np.einsum("nab,nrb,ncb->nrac", W, diagonals, W)


def symmetric_sets(n, r, k, rng):
    matrices = rng.standard_normal((n, r, k, k))
    return matrices + matrices.swapaxes(2, 3)


def circulant_sets(n, r, k, rng):
    """Symmetric circulant matrices: they commute, and their diagonals are constant."""
    row = rng.standard_normal((n, r, k))
    row += np.roll(row[..., ::-1], 1, axis=-1)
    return np.stack([np.roll(row, shift, axis=-1) for shift in range(k)], axis=-1)


def hadamard_sets(n, r, k, rng):
    """Sets that Hadamard's matrix diagonalises: every entry of an eigenvector is as large."""
    assert k == 4
    return compose(np.broadcast_to(HADAMARD, (n, 4, 4)), rng.standard_normal((n, r, 4)))


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), SEEDS)
def test_rotations_are_orthogonal_and_diagonals_are_those_of_the_contract(k, r, seed):
    sets = symmetric_sets(3, r, k, np.random.default_rng(seed))
    found = ffdiag(sets)
    V = found.rotations
    assert_allclose(V @ V.swapaxes(1, 2), np.broadcast_to(np.eye(k), V.shape), atol=1e-10)
    D = V[:, None] @ sets @ V.swapaxes(1, 2)[:, None]
    assert_allclose(found.diagonals, np.diagonal(D, axis1=2, axis2=3), atol=1e-9)
    off = [sum((d - np.diag(np.diag(d))).ravel() @ d.ravel() for d in D[i]) for i in range(3)]
    total = (sets**2).sum(axis=(1, 2, 3))
    assert_allclose(found.off_diagonal, off / total, atol=1e-10)
    assert_array_equal(found.history[-1], found.off_diagonal)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 5), SEEDS)
def test_sets_composed_from_their_eigenvectors_give_them_back(k, r, seed):
    rng = np.random.default_rng(seed)
    W, diagonals = rotations(4, k, rng), rng.standard_normal((4, r, k))
    found = ffdiag(compose(W, diagonals))
    assert found.converged.all()
    assert found.off_diagonal.max() < 1e-20
    # V W is a signed permutation: rows of V are the columns of W in some order.
    match = np.abs(found.rotations @ W)
    order = match.argmax(axis=2)
    assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(k), (4, 1)))
    gap = min(pdist(d.T).min(initial=1.0) for d in diagonals)
    assert_allclose(match.max(axis=2), 1, atol=1e-9 / min(gap, 1) ** 2)
    expected = np.take_along_axis(diagonals, order[:, None], axis=2)
    assert_allclose(found.diagonals, expected, atol=1e-8)


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 4), SEEDS)
def test_rounds_near_the_answer_equal_those_of_the_literal_twin(k, r, rounds, seed):
    rng = np.random.default_rng(seed)
    W = rotations(1, k, rng)
    sets = compose(W, np.arange(k) + 0.2 * rng.standard_normal((1, r, k)))
    near = scipy.linalg.expm(0.02 * np.subtract(A := rng.uniform(-1, 1, (k, k)), A.T)) @ W[0].T
    expected = reference.ffdiag(sets[0], near, rounds)
    found = ffdiag(sets, start=near, max_rounds=rounds, tolerance=0.0)
    assert_allclose(found.rotations[0], expected, atol=1e-10)


def test_convergence_is_quadratic():
    exponents = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        k = 3 + seed % 4
        W, diagonals = rotations(1, k, rng), rng.standard_normal((1, 3, k))
        near = scipy.linalg.expm(0.1 * np.subtract(A := rng.standard_normal((k, k)), A.T)) @ W[0].T
        history = ffdiag(compose(W, diagonals)[0], start=near).history
        log = np.log(history[(history > 1e-27) & (history < 1e-3)])
        exponents += list(log[1:] / log[:-1])
    assert len(exponents) > 60
    assert np.min(exponents) > 1.8
    assert np.median(exponents) > 2


@pytest.mark.parametrize(("sets", "k"), [(circulant_sets, 5), (hadamard_sets, 4)])
def test_the_identity_is_a_saddle_point_where_diagonals_are_equal_and_the_default_is_not(sets, k):
    # Equal diagonal entries give no direction: the step is zero, though nothing is diagonal.
    matrices = sets(200, 3, k, np.random.default_rng(0))
    default, identity = (ffdiag(matrices, start=start) for start in ("combination", "identity"))
    assert ((default.off_diagonal > 1e-10) | ~default.converged).sum() == 0
    assert (identity.off_diagonal > 0.1).mean() > 0.9
    assert identity.converged.all()  # so that `off_diagonal` has to be read as well


def test_one_reflection_stalls_at_the_identity():
    swap = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    assert ffdiag(swap, start="identity").off_diagonal == 1.0
    found = ffdiag(swap)
    assert_allclose(np.sort(found.diagonals[0]), [-1, 1])
    assert found.off_diagonal < 1e-30


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_start_takes_all_matrices_into_account(order):
    # Each alone leaves a plane undecided, in which the other is a reflection with equal diagonal.
    one, other = np.diag([1.0, 1.0, 0.0]), np.diag([0.0, 0.0, 2.0])
    other[:2, :2] = [[0.0, 1.0], [1.0, 0.0]]
    found = ffdiag(np.array([one, other])[list(order)])
    assert found.off_diagonal < 1e-20
    assert_allclose(np.sort(found.diagonals[order.index(1)]), [-1, 1, 2])


def test_sets_that_commute_are_diagonalised_from_a_far_start_too(rng):
    for k, r in [(3, 2), (6, 1), (8, 3)]:
        W = rotations(200, k, rng)
        found = ffdiag(compose(W, rng.standard_normal((200, r, k))), start="identity")
        assert found.converged.all()
        assert found.off_diagonal.max() < 1e-15


def test_projectors_with_the_same_coefficients_at_every_point_are_told_apart(rng):
    # What parallel fields look like: repeated eigenvalues, in sets of two.
    coefficients = rng.standard_normal((2, 3))[:, [0, 0, 0, 1, 1, 2, 2]]
    W = rotations(500, 7, rng)
    found = ffdiag(compose(W, np.broadcast_to(coefficients, (500, 2, 7))))
    assert found.converged.all() and found.off_diagonal.max() < 1e-20
    expected = np.sort(coefficients, axis=1)
    assert_allclose(np.sort(found.diagonals, axis=2), np.tile(expected, (500, 1, 1)), atol=1e-10)


def test_sets_that_do_not_commute_reach_a_stationary_point(rng):
    sets = symmetric_sets(30, 3, 4, rng)
    found = ffdiag(sets, max_rounds=1000)
    assert found.converged.all()
    assert found.off_diagonal.min() > 0.01
    assert (found.history[-1] <= found.history[0] + 1e-12).all()
    again = ffdiag(sets, start=found.rotations)
    assert_allclose(again.rotations, found.rotations, atol=1e-6)


def test_exhausted_rounds_are_not_called_converged(rng):
    sets = symmetric_sets(20, 3, 5, rng)
    found = ffdiag(sets, max_rounds=2)
    assert not found.converged.any()
    assert found.history.shape == (3, 20)
    commuting = compose(rotations(20, 5, rng), rng.standard_normal((20, 3, 5)))
    both = ffdiag(np.concatenate([sets, commuting]), max_rounds=3)
    assert_array_equal(both.converged, np.repeat([False, True], 20))


def test_rounds_end_when_all_sets_have_converged(rng):
    found = ffdiag(compose(rotations(10, 4, rng), rng.standard_normal((10, 2, 4))))
    assert len(found.history) < 5


def test_a_batch_gives_what_each_set_gives_alone(rng):
    sets = symmetric_sets(12, 2, 4, rng)
    batch = ffdiag(sets, random_state=7)
    for i, matrices in enumerate(sets):
        alone = ffdiag(matrices, random_state=7)
        assert_allclose(alone.rotations, batch.rotations[i], atol=1e-12)
        assert_allclose(alone.diagonals, batch.diagonals[i], atol=1e-12)
        assert alone.converged == batch.converged[i]
        assert_allclose(alone.off_diagonal, batch.off_diagonal[i], atol=1e-12)
    assert alone.rotations.shape == (4, 4) and alone.diagonals.shape == (2, 4)
    assert alone.history.ndim == 1 and np.ndim(alone.off_diagonal) == 0


def test_turning_the_matrices_turns_the_eigenvectors_and_keeps_the_diagonals(rng):
    sets, turns = symmetric_sets(10, 3, 4, rng), rotations(10, 4, rng)
    turned = turns[:, None] @ sets @ turns.swapaxes(1, 2)[:, None]
    plain = ffdiag(sets, start=rotations(10, 4, rng))
    start = plain.rotations @ turns.swapaxes(1, 2)
    found = ffdiag(turned, start=start)
    again = ffdiag(sets, start=plain.rotations)
    assert_allclose(found.diagonals, again.diagonals, atol=1e-9)
    assert_allclose(found.rotations @ turns, again.rotations, atol=1e-9)


def test_scale_changes_only_the_diagonals(rng):
    sets = symmetric_sets(10, 3, 4, rng)
    plain, large = ffdiag(sets), ffdiag(1e6 * sets)
    assert_allclose(large.rotations, plain.rotations, atol=1e-9)
    assert_allclose(large.off_diagonal, plain.off_diagonal, atol=1e-9)


def test_the_answer_is_a_fixed_point(rng):
    W = rotations(5, 4, rng)
    found = ffdiag(compose(W, rng.standard_normal((5, 2, 4))), start=W.swapaxes(1, 2))
    assert_allclose(found.rotations, W.swapaxes(1, 2), atol=1e-12)
    assert len(found.history) == 2


def test_the_start_and_the_matrices_are_left_as_they_were(rng):
    sets, start = symmetric_sets(4, 2, 3, rng), rotations(4, 3, rng)
    before = sets.copy(), start.copy()
    ffdiag(sets, start=start)
    assert_array_equal(sets, before[0])
    assert_array_equal(start, before[1])


def test_matrices_of_zero_are_diagonal():
    found = ffdiag(np.zeros((2, 3, 3)))
    assert found.converged and found.off_diagonal == 0
    assert_array_equal(found.diagonals, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matrices": np.eye(3)}, r"shape \(n, r, k, k\) or \(r, k, k\) .* got shape \(3, 3\)"),
        ({"matrices": np.ones((2, 3, 4))}, r"got shape \(2, 3, 4\)"),
        ({"matrices": np.ones((2, 0, 3, 3))}, r"with r at least 1; got shape \(2, 0, 3, 3\)"),
        ({"matrices": np.full((1, 2, 2), np.nan)}, "matrices must be finite; got NaN or infinity"),
        ({"matrices": [[[0.0, 1.0], [0.0, 0.0]]]}, "matrices must be symmetric"),
        ({"start": "random"}, "start must be one of 'combination', 'identity'; got 'random'"),
        ({"start": np.ones((2, 2))}, "start must hold 1 orthogonal 2 x 2 matrices"),
        ({"start": np.tile(np.eye(2), (3, 1, 1))}, "start must hold 1 orthogonal 2 x 2 matrices"),
        ({"start": np.eye(3)}, "start must hold 1 orthogonal 2 x 2 matrices"),
        ({"tolerance": -1.0}, "tolerance must be at least 0.0; got -1.0"),
        ({"max_rounds": 0}, "max_rounds must be at least 1; got 0"),
        ({"max_rounds": 1.5}, "max_rounds must be an integer; got 1.5"),
        ({"random_state": "seed"}, "random_state must be None"),
    ],
)
def test_sets_that_cannot_be_diagonalised_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        ffdiag(**{"matrices": np.eye(2)[None], **arguments})
