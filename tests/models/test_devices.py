"""Models work where their batch is: no tensor of a step is made anywhere else.

The device "meta" has shapes and no numbers, so a step there shows on any machine what a GPU would
be asked for; whatever lies on the CPU would be a wait for the device.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from geodis.models import AAE, ISAVAE, VAE, InfoVAE, InfoWGANGP
from geodis.models.priors import StandardNormal, UniformCodes
from geodis.models.randomness import seeded
from tests.models.families.test_autoencoders import MAKERS

ALL = {
    **MAKERS,
    "InfoWGANGP": lambda shape: InfoWGANGP((1, 32, 32), 3, categories=3),
    "VAE, conv": lambda shape: VAE((3, 32, 32), 4, standardise=([0.5] * 3, [0.2] * 3)),
    "VAE, Bernoulli": lambda shape: VAE((8,), 4, loss="bernoulli"),
}


class Elsewhere(TorchDispatchMode):
    """Notes every operation whose result is not on a device."""

    def __init__(self, device):
        super().__init__()
        self.device, self.found = device, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if isinstance(each, torch.Tensor) and each.device.type != self.device:
                self.found.add(str(function))
        return made


@pytest.mark.parametrize("name", ALL)
def test_a_step_makes_no_tensor_on_another_device(name):
    model = ALL[name]((8,)).to("meta")
    x = torch.zeros(12, *model.shape, device="meta")
    labels = torch.zeros(12, 2, device="meta") if model.labelled else None
    with Elsewhere("meta") as watched:
        batch = model(x, 20, labels)
        sum(model.terms(batch).values()).backward()
        if model.discriminator is not None:
            model.adversary_loss(batch).backward()
    assert not watched.found
    assert all(p.grad is None or p.grad.device.type == "meta" for p in model.parameters())


def test_the_watch_sees_what_is_elsewhere():
    with Elsewhere("meta") as watched:
        torch.zeros(3)
    assert watched.found


def test_what_is_drawn_for_a_batch_follows_the_prior(generator):
    z = torch.empty(20_000, 3)
    drawn = StandardNormal(3).draw_for(z)
    assert drawn.shape == z.shape and abs(float(drawn.mean())) < 0.02
    assert float(drawn.std()) == pytest.approx(1, abs=0.02)
    codes = UniformCodes(1, 2).draw_for(z)
    assert codes.shape == (20_000, 3) and (codes[:, 1:].sum(dim=1) == 1).all()
    assert codes[:, 0].abs().max() <= 1 and float(codes[:, 0].std()) == pytest.approx(
        0.577, abs=0.01
    )
    assert float(codes[:, 1].mean()) == pytest.approx(0.5, abs=0.02)


def test_a_prior_that_can_only_sample_is_sampled():
    for kind in (AAE, InfoVAE):
        prior = ISAVAE((4,), subspaces=[(2.0, 2)]).prior
        model = kind((4,), 2, prior=prior)
        batch = model(torch.rand(6, 4))
        losses = [*model.terms(batch).values()]
        losses += [model.adversary_loss(batch)] if model.discriminator is not None else []
        assert all(torch.isfinite(loss) for loss in losses)


def test_a_seed_of_its_own_is_put_back():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with seeded(0):
        first = torch.rand(2)
    assert torch.equal(torch.rand(2), expected)
    with seeded(0):
        assert torch.equal(torch.rand(2), first)
