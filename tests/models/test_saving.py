"""Models on disk: whole files of plain values and weights, and clear words about broken ones."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis.base.check import InputError
from geodis.base.safetensors_files import write_tensors
from geodis.kernels.loss_kernel import LossKernel
from geodis.models import (
    ISAVAE,
    VAE,
    AdaTVAE,
    BetaVAE,
    ConcreteVAE,
    InfoWGANGP,
    TrainOptions,
    encode,
    load_model,
    save_model,
    train,
)
from geodis.models.training import batches
from tests.options import flat

stream_of = flat(batches.stream_of, TrainOptions)


def absolute(a, b):
    return (a - b).abs().flatten(1).mean(dim=1)


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


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["settings", "beta"], 5.0, "must say beta = 4.0, as when model.safetensors was written"),
        (["settings", "beta"], "four", "beta must be a finite number; got .four."),
        (["settings", "gamma"], 1, "BetaVAE has the settings beta; got gamma"),
        (["options", "normalise"], "mean", "must say normalise = 'sum'"),
        (["shape"], [4, 1, 1], r"must say shape = \[4\], as when"),
        (["loss"], "bernoulli", "must say loss = 'mse'"),
    ],
)
def test_settings_that_were_edited_are_answered_with_a_sentence(keys, to, message, tmp_path):
    save_model(BetaVAE((4,), 2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    entry = config
    for key in keys[:-1]:
        entry = entry[key]
    entry[keys[-1]] = to
    broken(tmp_path, json.dumps(config))
    with pytest.raises(InputError, match=message):
        load_model(tmp_path)


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
        (
            lambda f: (f / "model.safetensors").unlink(),
            r"must be a \.safetensors file; got none there",
        ),
        (
            lambda f: (f / "model.safetensors").write_bytes(b"no"),
            r"cannot be read as \.safetensors",
        ),
        (
            lambda f: write_tensors(f / "model.safetensors", VAE((4,), 3).state_dict()),
            r"holds another VAE: decoder.0.weight must have shape \(256, 2\); got \(256, 3\)",
        ),
    ],
)
def test_a_broken_folder_is_said_in_one_sentence(prepare, message, tmp_path):
    save_model(VAE((4,), 2), tmp_path)
    prepare(tmp_path)
    with pytest.raises(InputError, match=message):
        load_model(tmp_path)


def test_damaged_weights_are_said_and_files_without_a_checksum_load(tmp_path):
    model = VAE((4,), 2)
    file = save_model(model, tmp_path) / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-2] + bytes([whole[-2] ^ 64]) + whole[-1:])
    with pytest.raises(InputError, match=r"model.safetensors must have the checksum that it was"):
        load_model(tmp_path)
    write_tensors(file, model.state_dict(), {"config": model.config()})  # of an older version
    assert torch.equal(load_model(tmp_path).head.layer.bias, model.head.layer.bias)


def test_pickled_weights_are_not_read(tmp_path):
    save_model(VAE((4,), 2), tmp_path)
    torch.save(VAE((4,), 2).state_dict(), tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"cannot be read as \.safetensors"):
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


# Altered configurations


def altered(folder, *keys, to=None):
    """Set an entry of the configuration, or drop it."""
    config = json.loads((folder / "config.json").read_text())
    entry = config
    for key in keys[:-1]:
        entry = entry[key]
    if to is None:
        del entry[keys[-1]]
    else:
        entry[keys[-1]] = to
    (folder / "config.json").write_text(json.dumps(config))


ALTERED = [
    (["model"], None, r"\['model'\] missing"),
    (["model"], 3, "must say a text as 'model'; got 3"),
    (["model"], "Sofa", "The model must be one of .*; got 'Sofa'"),
    (["model"], "Autoencoder", "The model must be one of .*; got 'Autoencoder'"),
    (["model"], "AE", "AE has the settings none; got beta"),
    (["model"], "MetricEncoder", "MetricEncoder has the settings .*; got beta, network"),
    (["shape"], "364", "must say a list as 'shape'"),
    (["shape"], [4.5], "whole numbers from 1 on as 'shape'"),
    (["shape"], [-4], "whole numbers from 1 on as 'shape'"),
    (["shape"], [5], r"holds another VAE: .* must have shape"),
    (["shape"], [4, 4], r"shape must be .*; got \(4, 4\)"),
    (["shape"], [10**10], r"describes a tensor of shape \(256, 10000000000\)"),
    (["latents"], "two", "must say a whole number of at least 1 as 'latents'; got 'two'"),
    (["latents"], True, "as 'latents'; got True"),
    (["latents"], 0, "as 'latents'; got 0"),
    (["latents"], 10**10, "describes a tensor of shape"),
    (["latents"], 10**30, "cannot be built"),
    (["options"], [], "must say an object as 'options'"),
    (["options", "network"], "deep", "network must be one of"),
    (["options", "network"], {}, "network must be one of"),
    (["options", "colour"], "red", "VAE has the settings beta; got colour"),
    (["options", "standardise"], 3, "standardise must be"),
    (["options", "normalise"], "max", "normalise must be one of 'sum', 'mean'"),
    (["settings"], 3, "must say an object as 'settings'"),
    (["settings", "beta"], "much", "beta must be a finite number"),
    (["settings", "gamma"], 3, "VAE has the settings beta; got gamma"),
    (["loss"], None, "cannot be built: 'loss' is missing"),
    (["loss"], "l9", "loss must be one of"),
    (["loss"], 3, "The loss of the model must say a text as 'kind'"),
    (["loss"], {"kind": "Sofa"}, "The loss of the model must name one of"),
    (
        ["loss"],
        {"kind": "LossKernel", "shape": [1, 1, 10**6 + 1, 10**6 + 1], "options": {}, "made": {}},
        r"describes a tensor of shape \(1, 1, 1000001, 1000001\)",
    ),
    (["loss"], {"kind": "LossKernel", "options": {}, "made": {}}, "'shape' is missing"),
    (["prior"], None, "cannot be built: 'prior' is missing"),
    (["prior"], 3, "prior of the user's own"),
    (["prior", "prior"], [], "cannot be built"),
    (["prior", "size"], "two", "size must be an integer"),
    (["prior", "size"], 3, "as many latents as the model; got 3 and 2"),
    (["prior", "colour"], "red", "cannot be built: .*'colour'"),
]


@pytest.mark.parametrize(("keys", "to", "message"), ALTERED)
def test_an_altered_configuration_gets_one_sentence(keys, to, message, tmp_path):
    save_model(VAE((4,), 2), tmp_path)
    altered(tmp_path, *keys, to=to)
    with pytest.raises(InputError, match=message):
        load_model(tmp_path)


def test_an_altered_tree_takes_no_memory(tmp_path):
    save_model(ISAVAE((4,), subspaces=[(2.0, 2)]), tmp_path)
    altered(tmp_path, "prior", "tree", to=[2.1, [10**12]])
    with pytest.raises(InputError, match="a tree must have at most 1,000,000 leaves"):
        load_model(tmp_path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def places(entry, path=()):
    """Every entry of a configuration, by the keys that lead there."""
    pairs = entry.items() if isinstance(entry, dict) else enumerate(entry)
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def makers():
    return {
        "vae": VAE((4,), 2),
        "isa": ISAVAE((4,), subspaces=[(2.0, 2)]),
        "kernel": VAE((1, 8, 8), 2, network="vector", loss=LossKernel.box(1)),
        "gan": InfoWGANGP((1, 32, 32), 1, categories=2, noise=1),
        "concrete": ConcreteVAE((4,), 2, categories=3),
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", ["vae", "isa", "kernel", "gan", "concrete"])
def test_any_altered_configuration_is_refused_or_loads(name, data, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / f"altered {name}"
    if not folder.exists():
        save_model(makers()[name], folder)
        (folder / "config.json").rename(folder / "whole.json")
    config = json.loads((folder / "whole.json").read_text())
    *lead, last = data.draw(st.sampled_from(list(places(config))))
    entry = config
    for key in lead:
        entry = entry[key]
    if data.draw(st.booleans()):
        del entry[last]
    else:
        entry[last] = data.draw(VALUES)
    (folder / "config.json").write_text(json.dumps(config))
    try:
        model = load_model(folder)
    except InputError:
        return
    assert np.isfinite(encode(model, torch.zeros(2, *model.shape))).all()
