"""Models on disk: whole files of plain values and weights, and clear words about broken ones."""

import json

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.kernels.losses.loss_kernel import LossKernel
from geodis.models import (
    VAE,
    AdaTVAE,
    BetaVAE,
    InfoWGANGP,
    encode,
    load_model,
    save_model,
    train,
)
from geodis.models.saving import read_tensors, write_tensors
from geodis.models.training.streams import stream_of


def absolute(a, b):
    return (a - b).abs().flatten(1).mean(dim=1)


def test_tensors_and_notes_come_back(tmp_path):
    tensors = {"a": torch.rand(3, 2), "b": torch.arange(4), "c": torch.rand(2, 5).T}
    write_tensors(tmp_path / "x.safetensors", tensors, {"step": 3, "names": ["a"], "nan": np.nan})
    found, note = read_tensors(tmp_path / "x.safetensors")
    assert note == {"step": 3, "names": ["a"], "nan": None}
    assert all(torch.equal(found[name], value) for name, value in tensors.items())


def test_a_folder_holds_weights_and_a_configuration_that_can_be_read(tmp_path):
    model = BetaVAE((5,), 3, beta=2.5, normalise="mean")
    save_model(model, tmp_path, {"steps": 10})
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", "config.json"}
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model"] == "BetaVAE" and config["settings"] == {"beta": 2.5}
    assert config["training"] == {"steps": 10} and config["options"]["normalise"] == "mean"
    assert load_model(tmp_path).config() == model.config()


def test_a_standardised_model_comes_back(tmp_path):
    model = VAE((2,), 2, standardise=([1.0, 2.0], [3.0, 4.0]))
    again = load_model(save_model(model, tmp_path))
    x = torch.rand(4, 2)
    np.testing.assert_array_equal(encode(again, x), encode(model, x))
    assert again.config() == model.config()


def test_a_gan_comes_back(tmp_path):
    model = InfoWGANGP((1, 32, 32), 4, categories=3, noise=2, information=0.5)
    again = load_model(save_model(model, tmp_path))
    assert again.config() == model.config() and again.latents == 7
    x = torch.rand(2, 1, 32, 32)
    np.testing.assert_array_equal(encode(again, x), encode(model, x))


def test_a_loss_of_the_users_own_has_to_be_given_again(tmp_path):
    model = VAE((4,), 2, loss=absolute)
    save_model(model, tmp_path)
    with pytest.raises(InputError, match=r"loss of the user's own, .* pass it as loss=\.\.\."):
        load_model(tmp_path)
    assert load_model(tmp_path, loss=absolute).settings.loss is absolute


def test_the_user_may_give_a_prior_of_their_own(tmp_path):
    class Wide(torch.nn.Module):
        size = 2

        def log_prob(self, z):
            return -z.abs().sum(dim=-1) - 2 * np.log(2)

    model = VAE((4,), 2, prior=Wide())
    save_model(model, tmp_path)
    with pytest.raises(InputError, match=r"prior of the user's own"):
        load_model(tmp_path)
    assert isinstance(load_model(tmp_path, prior=Wide()).prior, Wide)


def broken(folder, config):
    (folder / "config.json").write_text(config)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (
            lambda f: (f / "config.json").unlink(),
            "folder of a trained model; it has no config.json",
        ),
        (lambda f: broken(f, "{"), "cannot be read as JSON"),
        (lambda f: broken(f, "[]"), "is not the configuration of a model"),
        (lambda f: broken(f, "{}"), r"not the configuration of a model: \['latents'.*missing"),
        (lambda f: (f / "model.safetensors").unlink(), "must be a safetensors file; there is none"),
        (lambda f: (f / "model.safetensors").write_bytes(b"no"), "cannot be read as safetensors"),
        (
            lambda f: write_tensors(f / "model.safetensors", VAE((4,), 3).state_dict()),
            r"holds another model: decoder.0.weight must have shape \(256, 2\), .*\(256, 3\) came",
        ),
    ],
)
def test_a_broken_folder_is_said_in_one_sentence(prepare, message, tmp_path):
    save_model(VAE((4,), 2), tmp_path)
    prepare(tmp_path)
    with pytest.raises(InputError, match=message):
        load_model(tmp_path)


def test_pickled_weights_are_not_read(tmp_path):
    save_model(VAE((4,), 2), tmp_path)
    torch.save(VAE((4,), 2).state_dict(), tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load_model(tmp_path)


@pytest.mark.parametrize("alpha", [1.0, 25.0])
def test_a_kernel_is_a_loss_and_comes_back_with_the_model(alpha, tmp_path, squares):
    kernel = LossKernel(np.random.default_rng(0).random((5, 5)), alpha=alpha, scale=0.5)
    model = VAE(squares, 3, network="vector", loss=kernel)
    x = torch.rand(4, 1, 32, 32)
    batch = model(x)
    expected = kernel(x, batch.decoded).mean() * 32 * 32
    torch.testing.assert_close(model.terms(batch)["reconstruction"], expected)
    done = train(model, squares, 4, batch_size=8, checkpoint=tmp_path, verbose=0)
    assert done.history[-1]["reconstruction"] < done.history[0]["reconstruction"]
    again = load_model(tmp_path)
    assert torch.equal(again.settings.loss.weights, kernel.weights)
    assert (again.settings.loss.alpha, again.settings.loss.scale) == (alpha, 0.5)
    assert again.config() == model.config()
    assert not any(name.startswith("loss") for name, _ in again.named_parameters())


def test_a_kernel_orders_triplets_by_perceived_distance(squares):
    kernel = LossKernel.box(3)
    model = AdaTVAE(squares, 3, network="vector", loss=kernel)
    draw, _ = stream_of(model, squares, batch_size=9, supervision="perceived")
    a, p, n = draw(0, 0).x.chunk(3)
    assert (kernel(a, p) <= kernel(a, n)).all()
