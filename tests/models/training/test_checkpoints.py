"""Checkpoints: the state that comes back, and one sentence about altered ones."""

import pytest
import torch

from geodis.base.check import InputError
from geodis.base.tensors import read_tensors, write_tensors
from geodis.models import VAE, FactorVAE, train


def run(folder, steps, model=None):
    model = VAE((4,), 2) if model is None else model
    x = torch.rand(20, 4, generator=torch.Generator().manual_seed(0))
    return train(model, x, steps, batch_size=4, checkpoint=folder, verbose=0)


@pytest.fixture
def file(tmp_path):
    run(tmp_path, 2)
    return tmp_path / "checkpoint.safetensors"


def test_a_run_goes_on(file):
    assert run(file.parent, 3).steps == 3


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["steps"], None, "is not a checkpoint of a training run"),
        (["steps"], "two", "must say a whole number of at least 0 as 'steps'; got 'two'"),
        (["steps"], -1, "must say a whole number of at least 0 as 'steps'; got -1"),
        (["history"], 3, "must say a list as 'history'; got 3"),
        (["history"], [3], "must say an object a step as 'history'"),
        (["config"], None, "is not a checkpoint of a training run"),
        (["config"], [], "must say an object as 'config'"),
        (["config", "settings"], None, "must say an object as 'settings'; got nothing"),
        (["config", "model"], None, "is a checkpoint of None, and the model is VAE"),
        (["config", "shape"], [5], r"trained with shape = \[5\]; got \[4\]"),
        (["config", "loss"], None, "trained with loss = None; got mse"),
        (["run"], 3, "must say an object as 'run'"),
        (["run", "rows"], None, "trained with rows = None; got 20"),
    ],
)
def test_an_altered_note_gets_one_sentence(keys, to, message, file):
    tensors, note = read_tensors(file)
    entry = note
    for key in keys[:-1]:
        entry = entry[key]
    if to is None:
        del entry[keys[-1]]
    else:
        entry[keys[-1]] = to
    write_tensors(file, tensors, note)
    with pytest.raises(InputError, match=message):
        run(file.parent, 3)


@pytest.mark.parametrize(
    ("name", "to", "message"),
    [
        ("model/head.layer.bias", None, "head.layer.bias must have shape .*; got none"),
        ("model/head.layer.bias", torch.zeros(5), r"must have shape \(4,\); got \(5,\)"),
        ("model/more", torch.zeros(5), "more must have shape none"),
        ("furniture", torch.zeros(5), "must hold the state of VAE; got furniture"),
        ("adversary state/0/step", torch.zeros(()), "must hold the state of VAE; got adversary"),
        ("model state/0/step", None, "must hold step of parameter 0; got none"),
        ("model state/0/exp_avg", torch.zeros(2), "0/exp_avg must have shape .* got"),
        ("model state/99/exp_avg", torch.zeros(2), "99/exp_avg must have shape none"),
        ("model state/x/exp_avg", torch.zeros(2), "x/exp_avg must have shape none"),
        ("model state/0", torch.zeros(2), "0 must have shape none"),
    ],
)
def test_altered_tensors_get_one_sentence(name, to, message, file):
    tensors, note = read_tensors(file)
    if to is None:
        del tensors[name]
    else:
        tensors[name] = to
    write_tensors(file, tensors, note)
    with pytest.raises(InputError, match=message):
        run(file.parent, 3)


def test_both_players_come_back(tmp_path):
    run(tmp_path, 2, FactorVAE((4,), 2))
    assert run(tmp_path, 3, FactorVAE((4,), 2)).steps == 3
