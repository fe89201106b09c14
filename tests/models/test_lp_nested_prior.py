"""Lp-nested priors: golden values, integrals, finite differences, the laws of their samples."""

import json
import math
from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats

from geodis.base.check import InputError
from geodis.models import (
    ISAVAE,
    VAE,
    LpNested,
    StandardNormal,
    TrainOptions,
    learnt_exponents,
    train,
)
from tests import GOLDEN
from tests.reference.models import lp_nested_norm

EXPECTED = GOLDEN / "lpnested" / "lpnested_s.npz"
with np.load(EXPECTED, allow_pickle=False) as file:
    VALUES = dict(file)
LAYOUTS = json.loads(str(VALUES["layouts_json"]))


def tree_of(nested):
    """A golden tree as geodis writes it: a leaf, [1.0] there, is 1 here."""
    exponent, children = nested
    return exponent, [1 if len(child) == 1 else tree_of(child) for child in children]


def of(layout):
    return VALUES_OF[layout["case"]]


VALUES_OF = {
    layout["case"]: {
        key[4:]: value for key, value in VALUES.items() if key.startswith(f"c{layout['case']:02d}_")
    }
    for layout in LAYOUTS
}
EVERY = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda item: f"c{item['case']:02d}")


@EVERY
def test_golden_densities_norms_and_gradients(layout):
    golden, prior = of(layout), LpNested(tree_of(layout["nested"]), scale=layout["scale"])
    z = torch.tensor(golden["z"], dtype=torch.float64, requires_grad=True)
    log_prob = prior.log_prob(z)
    log_prob.sum().backward()
    np.testing.assert_allclose(log_prob.detach(), golden["log_prob"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(prior.norm(z).detach(), golden["norm"], rtol=1e-11)
    # Where a latent is zero the published code has no gradient; here it is zero.
    expected = np.nan_to_num(golden["grad_z"], nan=0.0)
    np.testing.assert_allclose(z.grad, expected, rtol=1e-9, atol=1e-9)
    assert float(prior.log_surface()) == pytest.approx(float(golden["log_surface"]), abs=1e-11)


@EVERY
def test_the_norm_is_that_of_the_literal_recursion(layout):
    tree = tree_of(layout["nested"])
    z = of(layout)["z"][:5]
    expected = [lp_nested_norm(tree, row)[0] for row in z]
    np.testing.assert_allclose(LpNested(tree).norm(torch.tensor(z)), expected, rtol=1e-11)


def test_isa_is_a_tree_of_depth_two():
    isa = LpNested.isa(2.1, [(1.3, 2), (2.6, 1)], scale=0.7)
    tree = LpNested((2.1, [(1.3, [2]), (2.6, [1])]), scale=0.7)
    z = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(isa.log_prob(z), tree.log_prob(z))
    assert isa.exponents.tolist() == pytest.approx([1.3, 2.6, 2.1])


LATTICES = [
    LpNested((1.4, [2]), scale=0.8),
    LpNested.isa(2.0, [(1.4, 2)]),
    LpNested.isa(1.6, [(3.0, 2), (1.2, 1)]),
    LpNested((2.2, [1, (1.3, [2])]), scale=1.5),
]


@cache
def on_a_lattice(prior):
    """Centres, width and mass of the cells of the positive orthant; signs are even chances."""
    reach, steps = (12.0, 480) if prior.size == 2 else (8.0, 80)
    width = reach / steps
    side = (torch.arange(steps, dtype=torch.float64) + 0.5) * width
    log_density = prior.log_prob(torch.cartesian_prod(*[side] * prior.size))
    log_density = log_density.reshape((steps,) * prior.size)
    return side, width, log_density, log_density.exp() * (2 * width) ** prior.size


@pytest.mark.parametrize("prior", LATTICES, ids=str)
def test_the_density_integrates_to_one(prior):
    *_, mass = on_a_lattice(prior)
    assert float(mass.sum()) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("prior", LATTICES, ids=str)
def test_samples_have_the_marginals_of_the_density(prior, seed):
    side, width, _, mass = on_a_lattice(prior)
    z = prior.sample(4000, random_state=seed).double().numpy()
    edges = np.append(0, (side + width / 2).numpy())
    for axis in range(prior.size):
        others = tuple(other for other in range(prior.size) if other != axis)
        above = np.append(0, np.cumsum(mass.sum(dim=others).numpy()))
        test = stats.ks_1samp(np.abs(z[:, axis]), lambda x, c=above: np.interp(x, edges, c))
        assert test.pvalue > 1e-3
        assert stats.binomtest(int((z[:, axis] > 0).sum()), len(z)).pvalue > 1e-3


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("prior", LATTICES, ids=str)
def test_samples_are_as_likely_as_the_density_says(prior, seed):
    """Mean and spread of log p(z) itself, which sees all columns together."""
    *_, log_density, mass = on_a_lattice(prior)
    mean = float((mass * log_density).sum())
    variance = float((mass * log_density.square()).sum()) - mean**2
    drawn = prior.log_prob(prior.sample(4000, random_state=seed).double())
    assert float(drawn.mean()) == pytest.approx(mean, abs=4 * math.sqrt(variance / 4000) + 5e-3)
    assert float(drawn.var()) == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_norms_of_subspaces_are_independent_gamma_variables(seed):
    p0, subspaces, scale = 1.7, [(3.0, 3), (1.2, 2), (2.0, 4)], 1.3
    z = LpNested.isa(p0, subspaces, scale=scale).sample(6000, random_state=seed).double().numpy()
    powers, start = [], 0
    for p, size in subspaces:
        norm = (np.abs(z[:, start : start + size]) ** p).sum(axis=1) ** (1 / p)
        powers.append(norm**p0 / scale)
        start += size
        # f^p0 is a sum over subspaces, so that exp(-f^p0 / s) falls into a product: equation 11.
        assert stats.kstest(powers[-1], stats.gamma(size / p0).cdf).pvalue > 1e-3
    for a in range(3):
        for b in range(a):
            assert stats.spearmanr(powers[a], powers[b]).pvalue > 1e-3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_latents_depend_on_each_other_within_a_subspace_and_only_there(seed):
    prior = LpNested.isa(1.0, [(4.0, 2), (4.0, 2)])
    size = np.abs(prior.sample(6000, random_state=seed).numpy())
    inside = stats.spearmanr(size[:, 0], size[:, 1])
    assert inside.statistic > 0.2
    for a, b in [(0, 2), (0, 3), (1, 2), (1, 3)]:
        assert stats.spearmanr(size[:, a], size[:, b]).pvalue > 1e-3
    equal = np.abs(LpNested.isa(2.1, [(2.1, 2)]).sample(6000, random_state=seed).numpy())
    assert stats.spearmanr(equal[:, 0], equal[:, 1]).pvalue > 1e-3  # p1 = p0: all independent


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_exponents_of_two_are_a_normal_distribution_of_half_the_scale(scale):
    prior = LpNested((2.0, [1, (2.0, [2, (2.0, [1])])]), scale=scale)
    z = 3 * torch.randn(50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    deviation = math.sqrt(scale / 2)
    expected = torch.distributions.Normal(0, deviation).log_prob(z).sum(dim=1)
    torch.testing.assert_close(prior.log_prob(z), expected.double(), rtol=1e-6, atol=1e-6)
    if scale == 2.0:
        torch.testing.assert_close(prior.log_prob(z), StandardNormal(4).log_prob(z))
    drawn = prior.sample(4000, random_state=0).numpy()
    assert stats.kstest(drawn.ravel(), stats.norm(0, deviation).cdf).pvalue > 1e-3


def test_exponents_have_the_gradients_of_finite_differences():
    z = torch.randn(30, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    prior = LpNested.isa(1.8, [(1.3, 4), (2.6, 2)], learn="all")
    value = prior.log_prob(z).sum()
    (own,) = torch.autograd.grad(value, prior._learnt)
    step, numeric = 1e-5, []
    with torch.no_grad():
        for k in range(3):
            ends = []
            for side in (1, -1):
                prior._learnt[k] += side * step
                ends.append(float(prior.log_prob(z).sum()))
                prior._learnt[k] -= side * step
            numeric.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(own, numeric, rtol=1e-6)


@pytest.mark.parametrize(("learn", "n_learnt"), [("none", 0), ("subspaces", 2), ("all", 3)])
def test_the_root_is_learnt_only_when_asked(learn, n_learnt):
    prior = LpNested.isa(2.1, [(2.0, 4), (2.0, 4)], learn=learn)
    assert sum(p.numel() for p in prior.parameters()) == n_learnt
    assert prior.exponents.tolist() == pytest.approx([2.0, 2.0, 2.1], abs=1e-9)


def test_learnt_exponents_find_those_of_the_data():
    true = LpNested.isa(2.1, [(1.2, 3), (4.0, 3)])
    z = true.sample(8000, random_state=0).double()
    prior = LpNested.isa(2.1, [(2.0, 3), (2.0, 3)], learn="subspaces")
    optimiser = torch.optim.LBFGS(prior.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = -prior.log_prob(z).mean()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert prior.exponents.tolist() == pytest.approx([1.2, 4.0, 2.1], rel=0.06)


def test_a_step_moves_every_exponent_alike_and_none_beyond_the_range():
    prior = LpNested.isa(2.1, [(2.0, 2), (4.5, 2), (50.0, 2)], learn="subspaces")
    optimiser = torch.optim.Adam(prior.parameters(), lr=5e-4)
    (-prior.exponents[:3].sum()).backward()
    optimiser.step()
    assert prior.exponents[:2].tolist() == pytest.approx([2.0005, 4.5005], abs=1e-9)
    assert float(prior.exponents[2].detach()) == 50.0
    optimiser = torch.optim.SGD(prior.parameters(), lr=1.0)
    optimiser.zero_grad()
    prior.exponents[2].backward()  # from beyond the end the gradient leads back
    optimiser.step()
    assert 48.9 < float(prior.exponents[2].detach()) < 49.1


def steps_of(model, rate=5e-4, steps=30):
    options = TrainOptions(prior_learning_rate=rate)
    train(model, torch.rand(40, 4), steps, batch_size=8, options=options, verbose=0)
    return model.prior


@pytest.mark.parametrize(("begin", "end"), [(49.9, 50.0), (0.15, 0.1)])
def test_a_learnt_exponent_stays_at_the_end_of_the_range(begin, end, monkeypatch):
    """As a parameter too: one that had wandered off would be as long on its way back."""
    outward = 1.0 if end > 1 else -1.0
    monkeypatch.setattr(
        LpNested, "log_prob", lambda self, z: z.sum(dim=1) * 0 + outward * self.exponents[0]
    )
    model = ISAVAE((4,), subspaces=[(begin, 2)], learn="subspaces")
    assert steps_of(model, rate=0.1)._learnt.tolist() == [end]
    outward = -outward
    assert abs(float(steps_of(model, rate=0.1, steps=40)._learnt.detach()) - end) > 0.5


def test_exponents_within_the_range_are_learnt_to_the_same_digit(monkeypatch):
    """Held in the range or not: the same bits of exponents and weights."""

    def trained():
        model = ISAVAE((4,), subspaces=[(2.0, 2), (1.9, 2)], learn="all", random_state=0)
        steps_of(model, rate=0.01)
        return model

    torch.manual_seed(0)
    held = trained().state_dict()
    monkeypatch.setattr(LpNested, "keep_in_range", lambda self: None)
    torch.manual_seed(0)
    free = trained().state_dict()
    assert all(torch.equal(held[name], free[name]) for name in held)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("prior", [LpNested.isa(2.1, [(2.2, 3), (1.1, 2)]), StandardNormal(5)])
def test_density_and_gradient_are_finite_at_zero_and_far_out(prior, dtype):
    z = torch.stack([torch.zeros(5), torch.full((5,), 1e6), torch.tensor([1e6, 0, 0, 0, 1e-6])])
    z = z.to(dtype).requires_grad_()
    prior.log_prob(z).sum().backward()
    assert torch.isfinite(prior.log_prob(z)).all() and torch.isfinite(z.grad).all()


def test_exponents_that_are_learnt_are_listed_by_rank():
    model = ISAVAE((4,), subspaces=[(2.2, 2), (1.9, 2)], learn="subspaces")
    options = TrainOptions(callbacks={"exponent": learnt_exponents}, prior_learning_rate=0.05)
    history = train(model, torch.rand(40, 4), 12, batch_size=8, options=options, verbose=0).history
    row = history[-1]
    assert [row["exponent 1"], row["exponent 2"]] == sorted(model.prior.exponents[:2].tolist())
    assert "exponent 3" not in row  # the root's is not learnt
    assert learnt_exponents(ISAVAE((4,), subspaces=[(2.2, 2)])) == {}
    assert learnt_exponents(VAE((4,), 2)) == {}
    assert len(learnt_exponents(VAE((4,), 2, prior=LpNested((2, [2]), learn="all")))) == 1


def test_samples_follow_their_seed():
    prior = LpNested.isa(2.1, [(2.2, 3)])
    assert torch.equal(prior.sample(5, random_state=3), prior.sample(5, random_state=3))
    assert not torch.equal(prior.sample(5, random_state=3), prior.sample(5, random_state=4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LpNested((60.0, [2])), "an exponent must be between 0.1 and 50.0; got 60.0"),
        (lambda: LpNested((2.0, [])), "must have leaves; got none at the node of exponent 2.0"),
        (lambda: LpNested((2.0, [10**10])), "at most 1,000,000 leaves; got 10,000,000,000"),
        (lambda: LpNested((2.0, [9, (2.0, [10**6])])), "at most 1,000,000 leaves; got 1,000,009"),
        (lambda: LpNested(3), r"must be \(exponent, \[children\]\), .* got 3"),
        (lambda: LpNested((2.0, [0])), "a number of leaves must be at least 1; got 0"),
        (lambda: LpNested((2.0, [2]), scale=0), "scale must be positive; got 0"),
        (lambda: LpNested((2.0, [2]), learn="some"), "learn must be one of .*got 'some'"),
        (lambda: LpNested.isa(2.1, "x"), r"subspaces must be \[\(exponent, size\), .*; got 'x'"),
        (lambda: LpNested.isa(2.1, 3), r"subspaces must be \[\(exponent, size\), .*; got 3"),
        (lambda: LpNested((2.0, [2])).log_prob(torch.zeros(4, 3)), "2 columns.*shape \\(4, 3\\)"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
