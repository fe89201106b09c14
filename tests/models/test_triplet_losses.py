"""Triplet losses and shared latents, row by row."""

import math

import numpy as np
import pytest
import torch

from geodis.models.terms import (
    adaptive_triplet_loss,
    average_shared,
    latent_deltas,
    lp_distance,
    shared_latents,
    triplet_loss,
)
from tests.reference import models as twin


@pytest.fixture
def rows():
    rng = torch.Generator().manual_seed(0)
    return [torch.randn(50, 5, generator=rng, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("margin", [None, 1.0, 10.0])
@pytest.mark.parametrize("p", [1, 2])
def test_plain_and_adaptive_losses_are_those_of_the_loop(rows, p, margin):
    each = list(zip(*(item.tolist() for item in rows), strict=True))
    losses = triplet_loss(*rows, p=p, margin=margin)
    np.testing.assert_allclose(losses, [twin.triplet(*row, p, margin) for row in each])
    for strength, weight in [(0.5, 0.5), (0.2, 0.0), (0.9, 0.7)]:
        losses = adaptive_triplet_loss(
            *rows, p=p, margin=margin, strength=strength, shared_weight=weight
        )
        expected = [twin.adaptive_triplet(*row, p, margin, strength, weight) for row in each]
        np.testing.assert_allclose(losses, expected)


def test_a_weight_of_one_or_no_strength_is_the_plain_loss(rows):
    plain = triplet_loss(*rows, margin=2.0)
    for options in ({"shared_weight": 1.0}, {"strength": 0.0, "shared_weight": 0.0}):
        torch.testing.assert_close(adaptive_triplet_loss(*rows, margin=2.0, **options), plain)


def test_the_hard_loss_ends_where_the_negative_is_a_margin_further():
    a, b = torch.zeros(1, 1), torch.full((1, 1), 3.0)
    assert triplet_loss(a, a, b, margin=3.0).item() == 0
    assert triplet_loss(a, a, b, margin=3.5).item() == 0.5
    assert triplet_loss(a, a, b).item() == pytest.approx(math.log(1 + math.exp(-3)))


@pytest.mark.parametrize("p", [1, 2])
def test_equal_rows_have_no_gradient_and_no_nan(p):
    a = torch.ones(2, 3, requires_grad=True)
    triplet_loss(a, a, a.detach(), p=p).sum().backward()
    assert torch.isfinite(a.grad).all()
    assert lp_distance(a, a, p).tolist() == [0, 0]


def test_the_adaptive_loss_pushes_along_the_latent_that_differs():
    """Half the push goes to a latent that is thought shared: w_i = 1/2 in equation 5.21."""
    anchor = torch.tensor([[0.0, 0.0]])
    negative = torch.tensor([[1.0, 0.1]], requires_grad=True)
    adaptive_triplet_loss(anchor, anchor, negative, margin=10.0, shared_weight=0.5).sum().backward()
    assert negative.grad.tolist() == [[-1.0, -0.5]]


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_what_is_shared_is_as_in_the_loop(strength):
    deltas = torch.rand(40, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = [twin.shared(row, strength) for row in deltas.tolist()]
    assert shared_latents(deltas, strength).tolist() == expected
    if strength == 0.0:
        assert not shared_latents(deltas, strength).any()


@pytest.mark.parametrize("kind", ["kl", "symmetric_kl", "absolute"])
def test_deltas_are_those_of_the_formulas(kind):
    rng = torch.Generator().manual_seed(2)
    numbers = [torch.randn(4, 3, generator=rng, dtype=torch.float64) for _ in range(4)]
    deltas = latent_deltas(*numbers, kind)
    for i in range(4):
        for k in range(3):
            m, v, n, w = (float(item[i, k]) for item in numbers)
            forward, backward = twin.normal_kl(m, v, n, w), twin.normal_kl(n, w, m, v)
            expected = {
                "kl": forward,
                "symmetric_kl": (forward + backward) / 2,
                "absolute": abs(m - n),
            }[kind]
            assert float(deltas[i, k]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["kl", "symmetric_kl", "absolute"])
@pytest.mark.parametrize("average", ["gvae", "gvae-std", "ml-vae"])
def test_latents_that_differ_stay_and_shared_ones_become_equal(kind, average):
    rng = torch.Generator().manual_seed(3)
    mean, log_variance = (torch.randn(20, 6, generator=rng, dtype=torch.float64) for _ in range(2))
    new_mean, new_log = average_shared(mean, log_variance, kind=kind, average=average)
    (a, b), (va, vb) = mean.chunk(2), log_variance.chunk(2)
    shared = shared_latents(latent_deltas(a, va, b, vb, kind))
    both = torch.cat([shared, shared])
    assert shared.any() and not shared.all()
    assert torch.equal(new_mean[~both], mean[~both])
    assert torch.equal(new_log[~both], log_variance[~both])
    for new in (new_mean, new_log):
        first, second = new.chunk(2)
        assert torch.equal(first[shared], second[shared])
    m, n, v, w = a[shared], b[shared], va[shared].exp(), vb[shared].exp()
    if average == "ml-vae":  # the product of normal densities, its precision halved
        torch.testing.assert_close(new_mean.chunk(2)[0][shared], (m / v + n / w) / (1 / v + 1 / w))
        torch.testing.assert_close(new_log.chunk(2)[0][shared].exp(), 2 / (1 / v + 1 / w))
    else:
        torch.testing.assert_close(new_mean.chunk(2)[0][shared], (m + n) / 2)
        middle = (v + w) / 2 if average == "gvae" else ((v.sqrt() + w.sqrt()) / 2) ** 2
        torch.testing.assert_close(new_log.chunk(2)[0][shared].exp(), middle)


def test_the_choice_of_what_is_shared_has_no_gradient_of_its_own():
    mean = torch.tensor([[0.0, 0.0], [1.0, 0.1]], requires_grad=True)
    new, _ = average_shared(mean, torch.zeros(2, 2), kind="absolute", average="gvae")
    new[:, 0].sum().backward()
    assert mean.grad.tolist() == [[1, 0], [1, 0]]
