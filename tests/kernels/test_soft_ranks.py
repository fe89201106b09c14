import importlib.util

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from geodis.base.check import InputError
from geodis.kernels import soft_rank, soft_rank_vjp, soft_sort, soft_sort_vjp
from geodis.kernels import spearman as autograd
from tests import GOLDEN
from tests.reference import kernels as literal

EXPECTED = np.load(GOLDEN / "softrank/softrank_s.npz")
CASES = [f"c{i:02d}" for i in range(25)]
KINDS = ("l2", "kl")
STRENGTHS = ("0.01", "0.1", "1")

vectors = arrays(float, st.integers(1, 12), elements=st.floats(-50, 50, width=32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_ranks_sorts_and_gradients_are_the_reference_values(case, kind):
    x, w = EXPECTED[f"{case}_x"], EXPECTED[f"{case}_w"]
    for strength in STRENGTHS:
        key = f"{case}_{kind}_{strength}"
        ranks, vjp = soft_rank_vjp(x, float(strength), kind)
        np.testing.assert_allclose(ranks, EXPECTED[f"{key}_rank"], rtol=1e-11, atol=1e-10)
        np.testing.assert_allclose(
            soft_sort(x, float(strength), kind), EXPECTED[f"{key}_sort"], rtol=1e-11, atol=1e-10
        )
        theirs, ours = EXPECTED[f"{key}_grad"], vjp(w)
        # The reference turns NaN in whole blocks at a large range over strength; ours never does.
        assert np.isfinite(ours).all()
        known = np.isfinite(theirs)
        assert known.all() or kind == "kl"
        np.testing.assert_allclose(ours[known], theirs[known], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.03, 1.0, 20.0])
def test_ranks_and_sorts_are_the_literal_ones(kind, strength, rng):
    for n in (1, 2, 9, 17):
        x = rng.normal(size=n).round(1)  # with ties
        np.testing.assert_allclose(
            soft_rank(x, strength, kind), literal.soft_rank(x, strength, kind), atol=1e-9
        )
        np.testing.assert_allclose(
            soft_sort(x, strength, kind), literal.soft_sort(x, strength, kind), atol=1e-9
        )


@given(vectors, st.floats(0.01, 100), st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_ranks_keep_the_sum_the_order_and_the_ties(x, strength, kind):
    n = len(x)
    ranks = soft_rank(x, strength, kind)
    np.testing.assert_allclose(ranks.sum(), n * (n + 1) / 2, rtol=1e-10)
    order = np.argsort(x, kind="stable")
    assert (np.diff(ranks[order]) >= -1e-9).all()
    _, first, again = np.unique(x, return_index=True, return_inverse=True)
    np.testing.assert_allclose(ranks, ranks[first][again], atol=1e-9)
    moved = soft_rank(x + 3, strength, kind)
    np.testing.assert_allclose(moved, ranks, atol=1e-6)  # x + 3 is rounded


@given(vectors, st.floats(0.01, 100), st.sampled_from(KINDS))
@settings(max_examples=40, deadline=None)
def test_a_shift_of_values_shifts_the_sort_and_rows_of_the_jacobian_sum_to_one(x, strength, kind):
    result, vjp = soft_sort_vjp(x, strength, kind)
    np.testing.assert_allclose(soft_sort(x + 4, strength, kind), result + 4, atol=1e-6)
    for i in range(len(x)):
        np.testing.assert_allclose(vjp(np.eye(len(x))[i]).sum(), 1.0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_a_vanishing_strength_are_those_of_scipy(kind, rng):
    x = np.concatenate([rng.normal(size=40), [0.5] * 5, [-1.0] * 2])
    np.testing.assert_allclose(soft_rank(x, 1e-9, kind), rankdata(x), atol=1e-9)


def test_ranks_are_exact_where_values_are_further_apart_than_the_strength():
    x = np.array([3.0, -2.0, 10.0, 0.5])
    np.testing.assert_array_equal(soft_rank(x, 2.4), rankdata(x))


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_range_and_a_huge_offset_lose_nothing(kind):
    x = np.array([1e300, -1e300, 1.0, 2.0, 2.0])
    ranks, vjp = soft_rank_vjp(x, 0.1, kind)
    np.testing.assert_allclose(ranks, [5, 1, 2, 3.5, 3.5], atol=1e-3)
    assert np.isfinite(vjp(np.arange(5.0))).all()
    y = np.array([0.0, 0.25, 0.5])
    np.testing.assert_array_equal(soft_rank(y + 2**40, 1.0, kind), soft_rank(y, 1.0, kind))
    assert np.isfinite(soft_sort(x, 0.1, kind)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", [soft_rank_vjp, soft_sort_vjp])
def test_the_vector_jacobian_product_is_that_of_differences(operation, kind, rng):
    x, g, step = rng.normal(size=11), rng.normal(size=11), 1e-6
    _, vjp = operation(x, 0.3, kind)
    numeric = [
        g @ (operation(x + e, 0.3, kind)[0] - operation(x - e, 0.3, kind)[0]) / (2 * step)
        for e in step * np.eye(11)
    ]
    np.testing.assert_allclose(vjp(g), numeric, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", [soft_rank, soft_sort])
def test_gradcheck_of_batched_rows(operation, kind):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: operation(v, 0.4, kind), (x,))


def test_rows_are_ranked_each_for_itself(rng):
    x = rng.normal(size=(4, 5, 6))
    together = soft_rank(x)
    assert together.shape == x.shape
    np.testing.assert_array_equal(together[2, 3], soft_rank(x[2, 3]))
    tensor = torch.from_numpy(x).float()
    assert soft_rank(tensor).dtype == torch.float32
    np.testing.assert_allclose(soft_rank(tensor), together, atol=1e-5)


def test_tensors_of_whole_numbers_get_ranks_of_floats():
    whole = torch.tensor([1, 2, 7])
    for operation in (soft_rank, soft_sort):
        torch.testing.assert_close(operation(whole, 3.0), operation(whole.float(), 3.0))


@pytest.mark.skipif(importlib.util.find_spec("torchsort") is None, reason="needs torchsort")
@pytest.mark.parametrize("operation", [soft_rank_vjp, soft_sort_vjp])
def test_the_way_through_torchsort_agrees(operation):
    torch.manual_seed(1)
    x = torch.randn(3, 50, dtype=torch.float64)
    weights = torch.randn(3, 50, dtype=torch.float64)
    outcomes = []
    for theirs in (True, False):
        values = x.clone().requires_grad_()
        if theirs:
            result = autograd.with_torchsort(operation, values, 0.2)
        else:
            result = autograd.apply_to_tensor(operation, values, 0.2, "l2")
        result.backward(weights)
        outcomes.append((result.detach(), values.grad))
    for one, other in zip(*outcomes, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, np.nan], {}, "values must be finite; got NaN in 1"),
        (3.0, {}, r"shape \(..., n\) with n >= 1"),
        ([], {}, "n >= 1"),
        ([1.0, 2.0], {"strength": 0.0}, "strength must be positive; got 0.0"),
        ([1.0, 2.0], {"strength": np.inf}, "strength must be a finite number"),
        ([1.0, 2.0], {"regularization": "log_kl"}, "regularization must be one of 'l2', 'kl'"),
    ],
)
def test_bad_input_gets_one_sentence(values, options, message):
    for operation in (soft_rank, soft_sort):
        with pytest.raises(InputError, match=message):
            operation(values, **options)
        with pytest.raises(InputError, match=message):
            operation(torch.tensor(values), **options)
