"""A categorical latent: what it is drawn from, what it costs, and what it learns."""

import numpy as np
import pytest
import torch

from geodis import scores
from geodis.base.check import InputError
from geodis.models import (
    ConcreteVAE,
    NormalCodes,
    encode,
    generate,
    iwae_bound,
    objectives,
    train,
    traverse,
)


def test_latents_are_means_and_probabilities():
    model = ConcreteVAE((6,), 2, categories=4, random_state=2)
    x = torch.rand(9, 6)
    codes, log_variances = encode(model, x.numpy(), log_variances=True)
    assert codes.shape == log_variances.shape == (9, 6)
    np.testing.assert_allclose(codes[:, 2:].sum(axis=1), 1, rtol=1e-5)
    drawn = encode(model, x.numpy(), sample=True)
    np.testing.assert_allclose(drawn[:, 2:], codes[:, 2:], atol=1e-3)
    assert np.abs(drawn[:, :2] - codes[:, :2]).max() > 0.01
    assert generate(model, 3, random_state=0).shape == (3, 6)
    assert traverse(model, x[0].numpy(), steps=3).shape == (6, 3, 6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_categories_are_drawn_as_often_as_they_are_probable(seed):
    # The largest of log q + Gumbel noise is a draw from q, at any temperature.
    torch.manual_seed(seed)
    model = ConcreteVAE((6,), 2, categories=3, temperature=0.3, random_state=seed)
    with torch.no_grad():
        model.head.layer.weight *= 5
        x = torch.rand(1, 6).expand(20_000, 6)
        batch = model(x)
    assert batch.z.shape == (20_000, 5) and batch.mean.shape == (20_000, 2)
    chosen = batch.z[:, 2:]
    torch.testing.assert_close(chosen.sum(dim=1), torch.ones(20_000))
    often = torch.bincount(chosen.argmax(dim=1), minlength=3) / 20_000
    torch.testing.assert_close(often, batch.logits[0].softmax(dim=0), atol=0.015, rtol=0)


def test_a_lower_temperature_is_nearer_to_a_choice():
    x = torch.rand(500, 6)
    largest = []
    for temperature in (5.0, 0.67, 0.1):
        torch.manual_seed(0)
        batch = ConcreteVAE((6,), 1, categories=3, temperature=temperature)(x)
        largest.append(float(batch.z[:, 1:].detach().amax(dim=1).mean()))
    assert largest[0] < 0.5 < largest[1] < 0.9 < largest[2]


def test_every_part_of_the_divergence_has_its_weight():
    model = ConcreteVAE((6,), 2, categories=3, beta=2.0, category_beta=0.5)
    batch = model(torch.rand(9, 6))
    terms = model.terms(batch)
    assert list(terms) == ["reconstruction", "kl", "category_kl"]
    torch.testing.assert_close(terms["kl"], 2 * objectives.kl(batch))
    torch.testing.assert_close(terms["category_kl"], 0.5 * objectives.category_kl(batch))
    for term in terms.values():
        model.zero_grad()
        term.backward(retain_graph=True)
        assert torch.isfinite(model.head.layer.weight.grad).all()


def information(probabilities, shape):
    """Mutual information, in nats, of a category that is drawn and the shape."""
    joint = np.stack([probabilities[shape == each].sum(axis=0) for each in range(3)]) / len(shape)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float((joint * np.log(np.maximum(joint, 1e-12) / apart)).sum())


def test_a_discrete_factor_goes_into_the_categories():
    # Three patterns far apart, each shifted a little by one number. Two of them may share a
    # category and be told apart by the number's latent: log 3 - 2/3 log 2 nats, .64, are then left.
    learnt = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shape, shift = rng.integers(3, size=600), rng.uniform(-1, 1, 600)
        x = 3 * np.kron(np.eye(3), np.ones(4))[shape]
        x = (x + shift[:, None] * np.linspace(-0.6, 0.6, 12)).astype(np.float32)
        model = ConcreteVAE((12,), 1, categories=3, random_state=seed)
        assert information(encode(model, x)[:, 1:], shape) < 0.1
        train(model, x, 300, batch_size=64, verbose=0, random_state=seed)
        codes = encode(model, x)
        learnt.append(information(codes[:, 1:], shape))
        factors = np.column_stack([shape, np.digitize(shift, [-0.5, 0, 0.5])])
        score = scores.factor_vae(codes, factors, discrete=[[1, 2, 3]], random_state=0)
        assert score.matrix.shape == (2, 2) and score.details["classifier"][1] == 0
    assert np.median(learnt) > 0.5


def test_what_is_drawn_from_the_prior():
    drawn = NormalCodes(2, 4).sample(20_000, random_state=0)
    assert drawn.shape == (20_000, 6) and (drawn[:, 2:].sum(dim=1) == 1).all()
    assert float(drawn[:, :2].std()) == pytest.approx(1, abs=0.02)
    assert drawn[:, 2:].mean(dim=0).tolist() == pytest.approx([0.25] * 4, abs=0.015)


def test_a_bound_wants_a_density():
    with pytest.raises(InputError, match="needs a prior with a density"):
        iwae_bound(ConcreteVAE((5,), 2), np.zeros((1, 5)))
