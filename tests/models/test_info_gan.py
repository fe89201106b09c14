"""InfoGAN: what each player lowers, by probabilities written out."""

import pytest
import torch
from torch import nn

from geodis.models import InfoGAN, objectives


@pytest.fixture
def model():
    return InfoGAN((1, 32, 32), 2, categories=3, noise=4, random_state=1)


def test_the_players_raise_and_lower_the_same_probabilities(model, generator):
    x = torch.rand(6, 1, 32, 32)
    model.train()
    batch = model(x)
    terms = model.terms(batch)
    chance = model.discriminator(batch.decoded).sigmoid()
    torch.testing.assert_close(terms["unconvincing"], -chance.log().mean())
    real = model.discriminator(x).sigmoid()
    expected = -real.log().mean() - (1 - chance).log().mean() + terms["code_error"]
    torch.testing.assert_close(model.adversary_loss(batch), expected)
    torch.testing.assert_close(terms["code_error"], objectives.code_error(batch))


def test_batches_are_normalised_as_printed(model):
    # Table 5: in the convolutions but the first, and behind the fully connected layer.
    kinds = [type(layer) for layer in model.discriminator.trunk]
    assert kinds.count(nn.BatchNorm2d) == 3 and kinds[-2] is nn.BatchNorm1d
    assert nn.LayerNorm not in kinds and kinds[2] is nn.Conv2d


def test_the_discriminators_step_leaves_the_generator_alone(model, generator):
    model.adversary_loss(model(torch.rand(4, 1, 32, 32))).backward()
    assert all(weight.grad is None for weight in model.generator.parameters())
    assert all(weight.grad is not None for weight in model.discriminator.parameters())


def test_the_discriminator_learns_to_tell():
    apart = []
    for seed in range(3):
        torch.manual_seed(seed)
        model = InfoGAN((1, 16, 16), 1, noise=1, random_state=seed)
        real = (torch.arange(16.0) / 15 * torch.rand(32, 1, 1, 1)).expand(32, 1, 16, 16)
        adam = torch.optim.Adam(model.adversary_parameters(), 1e-3, betas=model.adversary_betas)
        for _ in range(40):
            batch = model(real)
            adam.zero_grad()
            model.adversary_loss(batch).backward()
            adam.step()
        with torch.no_grad():
            scores = [model.discriminator(x).mean() for x in (real, batch.decoded)]
        apart.append(float(scores[0] - scores[1]))
    assert min(apart) > 0.3
