"""Encoders and decoders of the user's own: trained, saved and loaded, and refused in a sentence."""

import numpy as np
import pytest
import torch
from torch import nn

from geodis.base.check import InputError
from geodis.models import VAE, FactorVAE, decode, encode, load_model, train, train_stacked

ROWS = torch.rand(40, 6, generator=torch.Generator().manual_seed(0))


class Skip(nn.Module):
    """A network that no list of layers is."""

    def __init__(self, inside, outside):
        super().__init__()
        self.inner = nn.Linear(inside, inside)
        self.norm = nn.BatchNorm1d(inside)
        self.outer = nn.Linear(inside, outside)

    def forward(self, x):
        return self.outer(x + self.norm(self.inner(x)).relu())


@pytest.mark.parametrize("parts", [("encoder",), ("decoder",), ("encoder", "decoder")])
def test_own_modules_are_trained_saved_and_loaded(parts, tmp_path):
    torch.manual_seed(0)
    made = {"encoder": lambda: Skip(6, 5), "decoder": lambda: Skip(2, 6)}
    own = {name: made[name]() for name in parts}
    before = {name: module.outer.weight.detach().clone() for name, module in own.items()}
    model = VAE((6,), 2, **own)
    train(model, ROWS, 5, batch_size=8, checkpoint=tmp_path, verbose=0)
    assert all(not torch.equal(own[name].outer.weight, before[name]) for name in parts)
    with pytest.raises(InputError, match=f"has an? {parts[0]} of the user's own, .* {parts[0]}="):
        load_model(tmp_path)
    again = load_model(tmp_path, **{name: made[name]() for name in parts})
    codes = encode(model, ROWS)
    np.testing.assert_array_equal(encode(again, ROWS), codes)
    np.testing.assert_array_equal(decode(again, codes), decode(model, codes))
    with pytest.raises(InputError, match="holds another VAE"):
        load_model(
            tmp_path,
            **{name: nn.Linear(6, 5) if name == "encoder" else nn.Linear(2, 6) for name in parts},
        )


def test_convolutions_of_ones_own_take_images_of_any_size():
    encoder = nn.Sequential(nn.Conv2d(1, 4, 5, 3), nn.ReLU(), nn.Flatten())
    decoder = nn.Sequential(nn.Linear(3, 11 * 13), nn.Unflatten(1, (1, 11, 13)))
    model = FactorVAE((1, 11, 13), 3, encoder=encoder, decoder=decoder, discriminator_width=8)
    done = train(model, torch.rand(20, 1, 11, 13), 3, batch_size=8, verbose=0)
    assert done.steps == 3 and encode(model, torch.rand(4, 1, 11, 13)).shape == (4, 3)


def test_a_trial_leaves_a_module_as_it_was():
    encoder = Skip(6, 5)
    encoder.norm.eval()
    VAE((6,), 2, encoder=encoder)
    assert encoder.training and not encoder.norm.training
    assert int(encoder.norm.num_batches_tracked) == 0


class Wide(nn.Module):
    """Features of float64."""

    def forward(self, x):
        return x.double()


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"encoder": nn.Linear(5, 4)}, r"encoder must take rows of shape \(2, 6\): mat1 and mat2"),
        ({"encoder": nn.Unflatten(1, (2, 3))}, r"of 2 rows it made shape \(2, 2, 3\)"),
        ({"encoder": lambda x: x}, "encoder must be a torch module; got function"),
        ({"encoder": Wide()}, r"float32 features; got torch.float64: end it with .float\(\)"),
        ({"encoder": nn.LSTM(6, 3)}, "encoder must return one tensor; got tuple"),
        ({"decoder": nn.Linear(2, 5)}, r"latents \(n, 2\) into rows \(n, 6\); .* shape \(2, 5\)"),
    ],
)
def test_modules_that_do_not_fit_get_one_sentence(own, message):
    with pytest.raises(InputError, match=message):
        VAE((6,), 2, **own)


def test_own_modules_are_trained_alone():
    with pytest.raises(InputError, match="cannot be trained in a stack: its network is no percep"):
        train_stacked([VAE((6,), 2, encoder=Skip(6, 5))], ROWS, 1, verbose=0)
