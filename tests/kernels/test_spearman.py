import numpy as np
import pytest
import torch
from scipy import stats

from geodis.base.check import InputError
from geodis.kernels import pearson, relative_strength, soft_rank, soft_spearman
from tests import GOLDEN
from tests.reference import kernels as literal

EXPECTED = np.load(GOLDEN / "softrank/softrank_s.npz")


@pytest.mark.parametrize("case", [f"c{i:02d}" for i in range(25)])
def test_correlation_and_gradient_are_the_reference_values(case):
    x, y = EXPECTED[f"{case}_x"], EXPECTED[f"{case}_y"]
    for kind in ("l2", "kl"):
        for strength in ("0.01", "0.1", "1"):
            key = f"{case}_{kind}_{strength}_spearman"
            if not np.isfinite(EXPECTED[key]):
                continue
            a = torch.from_numpy(x).requires_grad_()
            value = soft_spearman(a, torch.from_numpy(y), float(strength), kind)
            value.backward()
            np.testing.assert_allclose(value.detach(), EXPECTED[key], atol=1e-10)
            np.testing.assert_allclose(soft_spearman(x, y, float(strength), kind), value.detach())
            assert a.grad is not None and torch.isfinite(a.grad).all()
            theirs = EXPECTED[f"{key}_grad_x"]
            known = np.isfinite(theirs)
            np.testing.assert_allclose(a.grad[known], theirs[known], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_vanishing_strength_gives_the_coefficient_of_scipy_with_ties(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, (2, 80)).astype(float)
    b = b + 0.5 * a
    expected = stats.spearmanr(a, b).statistic
    for kind in ("l2", "kl"):
        assert soft_spearman(a, b, 1e-6, kind) == pytest.approx(expected, abs=1e-9)
    assert literal.spearman(a, b) == pytest.approx(expected, abs=1e-12)


def test_a_large_strength_gives_the_coefficient_of_pearson(rng):
    a, b = rng.normal(size=(2, 60))
    assert soft_spearman(a, b, 1e4) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-9)
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)


def test_a_relative_strength_makes_the_scale_irrelevant(rng):
    a, b = rng.normal(size=(2, 60))
    value = soft_spearman(a, b, None)
    assert soft_spearman(1e6 * a - 3, 1e-6 * b, None) == pytest.approx(value, abs=1e-9)
    assert relative_strength(7 * a) == pytest.approx(7 * relative_strength(a))
    # Evenly spread values are about one unit of softness apart: below it their ranks are exact.
    even = np.arange(200.0)
    np.testing.assert_array_equal(soft_rank(even, relative_strength(even, 0.99)), even + 1)
    assert np.abs(soft_rank(even, relative_strength(even, 2.0)) - even - 1).max() > 0.4


def test_gradients_lead_to_the_wanted_order():
    torch.manual_seed(0)
    target = torch.arange(30.0)
    x = torch.randn(30, requires_grad=True)
    optimiser = torch.optim.Adam([x], lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        (-soft_spearman(x, target, None)).backward()
        optimiser.step()
    assert stats.spearmanr(x.detach(), target).statistic > 0.99


def test_rows_and_gradcheck():
    torch.manual_seed(2)
    a = torch.randn(3, 9, dtype=torch.float64, requires_grad=True)
    b = torch.randn(3, 9, dtype=torch.float64, requires_grad=True)
    assert soft_spearman(a, b).shape == (3,)
    assert torch.autograd.gradcheck(lambda u, v: soft_spearman(u, v, 0.5), (a, b))
    assert torch.autograd.gradcheck(pearson, (a, b))


def test_tensors_of_whole_numbers_are_correlated_as_floats():
    a, b = torch.tensor([1, 2, 3, 5]), torch.tensor([2, 1, 7, 9])
    assert float(soft_spearman(a, b, 1e-3)) == pytest.approx(0.8)
    assert float(pearson(a, b)) == pytest.approx(pearson(a.tolist(), b.tolist()))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0], "one shape"),
        ([1.0], [2.0], "n >= 2"),
        ([1.0, 1.0], [2.0, 3.0], "all 2 of a are equal"),
        ([1.0, 4.0], [3.0, 3.0], "all 2 of b are equal"),
        ([1.0, np.nan], [3.0, 4.0], "a must be finite"),
        (torch.tensor([1.0, np.inf]), torch.tensor([3.0, 4.0]), "a must be finite"),
        (torch.tensor([1.0, 2.0]).requires_grad_(), [3.0, 4.0], "both be tensors"),
    ],
)
def test_bad_input_gets_one_sentence(a, b, message):
    for function in (soft_spearman, pearson):
        with pytest.raises(InputError, match=message):
            function(a, b)


def test_a_strength_needs_spread():
    with pytest.raises(InputError, match="values that differ"):
        relative_strength([2.0, 2.0])
    with pytest.raises(InputError, match="softness must be positive"):
        relative_strength([2.0, 3.0], 0)
