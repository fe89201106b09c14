"""What a model learns and is set to is part of a run."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from geodis import models
from geodis.base.check import InputError
from geodis.models import VAE, AnnealedVAE, FactorVAE, TrainOptions
from geodis.models.training.run_identity import frozen_parameters
from tests.options import flat

train = flat(models.train, TrainOptions)
ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))


def run(folder, steps=3, model=None, data=ROWS, **options):
    model = AnnealedVAE((4,), 2) if model is None else model
    settings = {"batch_size": 8, "verbose": 0, "horizon": 3, **options}
    return train(model, data, steps, checkpoint=folder, **settings)


class Weighted(nn.Module):
    """A loss with a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x, y):
        return (self.weight * (x - y)).square().sum(1)


# What a model learns, and is set to


@pytest.mark.parametrize("first", [False, True])
def test_another_part_that_does_not_learn_is_refused_by_name(first, tmp_path):
    def model(frozen):
        own = VAE((4,), 2)
        own.decoder.requires_grad_(not frozen)
        return own

    run(tmp_path, model=model(first))
    begun, got = (r"decoder\.0\.bias, .* and 2 more", "none")
    begun, got = (begun, got) if first else (got, begun)
    with pytest.raises(InputError, match=f"frozen parameters = {begun}; got {got}: a run goes"):
        run(tmp_path, 4, model(not first))
    assert run(tmp_path, 4, model(first)).steps == 4


@pytest.mark.parametrize(
    "make", [lambda: FactorVAE((4,), 2), lambda: VAE((4,), 2, loss=Weighted())]
)
def test_what_a_class_freezes_itself_is_not_told(make, tmp_path):
    model = make()
    for each in model.adversary_parameters():  # as an error within a step leaves them
        each.requires_grad_(False)
    assert frozen_parameters(model) == []


def test_settings_are_those_that_a_model_was_built_with(tmp_path):
    run(tmp_path, model=VAE((4,), 2))
    model = VAE((4,), 2)
    model.settings.beta = 50.0
    for folder in (tmp_path, None):
        with pytest.raises(InputError, match=r"beta must be as the model was built, 1.0; got 50.0"):
            run(folder, 4, model)


@pytest.mark.parametrize("broken", [False, True])
def test_settings_are_as_before_after_a_schedule(broken, tmp_path):
    def press(model):
        if broken:
            raise KeyboardInterrupt

    model = VAE((4,), 2)
    options = {"callbacks": {"press": press}, "callback_at": [2]}
    with pytest.raises(KeyboardInterrupt) if broken else nullcontext():
        run(tmp_path, 3, model, schedules={"beta": (0.0, 50.0)}, **options)
    assert model.settings.beta == model.chosen["beta"] == 1.0
    run(None, 3, model)  # which is not refused


def test_the_revision_of_a_model_counts(tmp_path, monkeypatch):
    run(tmp_path, model=VAE((4,), 2))
    monkeypatch.setattr(VAE, "revision", 1)
    with pytest.raises(InputError, match="with another revision of its class of model"):
        run(tmp_path, 4, VAE((4,), 2))


def test_a_tensor_and_an_array_of_its_values_are_the_same_data(tmp_path):
    run(tmp_path, model=VAE((4,), 2))
    assert run(tmp_path, 4, VAE((4,), 2), ROWS.numpy()).steps == 4
