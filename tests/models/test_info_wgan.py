"""InfoWGAN-GP: what each player lowers, and that codes can be read off what is generated."""

import numpy as np
import pytest
import torch

from geodis.models import InfoWGANGP, decode, encode, generate, objectives, traverse
from geodis.models.terms import gradient_penalty


@pytest.fixture(scope="module")
def model():
    return InfoWGANGP((1, 32, 32), 2, categories=3, noise=4)


def test_latents_are_codes_and_probabilities(model):
    codes = encode(model, np.random.default_rng(0).random((5, 32, 32, 1)))
    assert codes.shape == (5, 5)
    np.testing.assert_allclose(codes[:, 2:].sum(axis=1), 1, rtol=1e-5)


def test_the_players_lower_opposite_scores(model, generator):
    x = torch.rand(6, 1, 32, 32)
    model.train()
    batch = model(x)
    terms = model.terms(batch)
    score = model.discriminator(batch.decoded).mean()
    torch.testing.assert_close(terms["critic_score"], -score)
    torch.testing.assert_close(terms["code_error"], 0.2 * objectives.code_error(batch))
    torch.manual_seed(3)
    loss = model.adversary_loss(batch)
    torch.manual_seed(3)
    penalty = gradient_penalty(model.discriminator, x, batch.decoded.detach())
    expected = score - model.discriminator(x).mean() + 10 * penalty + terms["code_error"]
    torch.testing.assert_close(loss, expected, rtol=1e-3, atol=1e-4)


def test_the_critics_step_leaves_the_generator_alone(model, generator):
    model.zero_grad()
    model.adversary_loss(model(torch.rand(4, 1, 32, 32))).backward()
    assert all(weight.grad is None for weight in model.generator.parameters())
    assert all(weight.grad is not None for weight in model.discriminator.parameters())
    own = {id(weight) for weight in model.own_parameters()}
    assert own.isdisjoint(id(weight) for weight in model.adversary_parameters())


def test_images_come_from_codes_alone(model):
    model.eval()
    codes = model.prior.sample(3, random_state=0)
    images = decode(model, codes)
    assert images.shape == (3, 32, 32, 1) and 0 <= images.min() <= images.max() <= 1
    np.testing.assert_array_equal(images, decode(model, codes))
    assert generate(model, 2, random_state=0).shape == (2, 32, 32, 1)
    assert traverse(model, images[0], steps=3, reach=1.0).shape == (5, 3, 32, 32, 1)


def test_codes_become_readable(generator):
    model = InfoWGANGP((1, 32, 32), 1, noise=1, information=1.0)
    adam = torch.optim.Adam(model.own_parameters(), 1e-3, betas=model.betas)
    errors = []
    for _ in range(25):
        batch = model(torch.zeros(16, 1, 32, 32))
        error = objectives.code_error(batch)
        errors.append(float(error.detach()))
        adam.zero_grad()
        error.backward()
        adam.step()
    assert errors[-1] < errors[0] - 0.3
