"""Latents, images, samples and traversals."""

import numpy as np
import pytest
import torch

import geodis.models.model_inputs as model_inputs
from geodis import XYSquares, models
from geodis.base.check import InputError
from geodis.models import (
    AE,
    VAE,
    BetaVAE,
    MetricEncoder,
    decode,
    encode,
    export_encoder,
    generate,
    reconstruct,
    traverse,
)
from geodis.models.model_inputs import to_input


@pytest.fixture(scope="module")
def model():
    return VAE((3, 6, 5), 4, network="vector")


def test_latents_are_means_or_draws_and_batches_do_not_show(model, monkeypatch):
    images = np.random.default_rng(1).random((7, 6, 5, 3))
    mean = encode(model, images)
    with torch.no_grad():
        expected, log_variance = model.posterior(to_input(images, model.shape))
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(model_inputs, "BATCH", 3)
    np.testing.assert_allclose(encode(model, images), mean, rtol=1e-5, atol=1e-6)
    many = np.stack([encode(model, images, sample=True, random_state=i) for i in range(400)])
    np.testing.assert_allclose(many.mean(axis=0), mean, atol=0.3)
    np.testing.assert_allclose(many.std(axis=0), (0.5 * log_variance).exp(), rtol=0.3)


def test_a_grid_is_encoded_in_the_order_of_its_index(blobs):
    small = VAE(blobs, 3, network="vector")
    np.testing.assert_array_equal(encode(small, blobs), encode(small, blobs.images(range(40))))


def test_encoding_leaves_mode_and_random_numbers_alone(model):
    model.train()
    before = torch.random.get_rng_state()
    encode(model, np.zeros((1, 6, 5, 3)), sample=True)
    generate(model, 2, random_state=0)
    assert model.training and torch.equal(torch.random.get_rng_state(), before)
    model.eval()


def test_decoded_images_are_channels_last_and_in_range(model):
    z = np.random.default_rng(0).standard_normal((9, 4)) * 10
    images = decode(model, z)
    assert images.shape == (9, 6, 5, 3) and images.min() >= 0 and images.max() <= 1
    raw = model.decode(torch.tensor(z, dtype=torch.float32)).detach().permute(0, 2, 3, 1)
    np.testing.assert_allclose(images, raw.clamp(0, 1), rtol=1e-5, atol=1e-6)
    logits = BetaVAE((3, 6, 5), 4, network="vector", loss="bernoulli")
    raw = logits.decode(torch.tensor(z, dtype=torch.float32)).detach().permute(0, 2, 3, 1)
    np.testing.assert_allclose(decode(logits, z), raw.sigmoid(), rtol=1e-5)


def test_a_standardised_model_decodes_into_the_data():
    model = AE((1,), 2, standardise=([100.0], [5.0]))
    assert abs(float(reconstruct(model, np.full((3, 1), 100.0)).mean()) - 100) < 5


def test_reconstructions_are_decoded_means(model):
    images = np.random.default_rng(2).random((3, 6, 5, 3))
    np.testing.assert_array_equal(reconstruct(model, images), decode(model, encode(model, images)))


def test_samples_are_decoded_draws_of_the_prior(model):
    z = model.prior.sample(5, random_state=3)
    np.testing.assert_array_equal(generate(model, 5, random_state=3), decode(model, z))


def test_a_traversal_moves_one_latent_and_keeps_the_others(model):
    image = np.random.default_rng(0).random((6, 5, 3))
    traversals = traverse(model, image, steps=5, reach=3.0)
    assert traversals.shape == (4, 5, 6, 5, 3)
    z = np.repeat(encode(model, image[None]), 5, axis=0)
    z[:, 2] = np.linspace(-3, 3, 5)
    np.testing.assert_allclose(traversals[2], decode(model, z), rtol=1e-5, atol=1e-6)
    own = traverse(model, image, steps=3, reach=np.array([0, 1, 2, 3]))
    np.testing.assert_allclose(own[0, 0], own[0, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: decode(m, np.zeros((2, 5))), r"shape \(n, 4\); got shape \(2, 5\)"),
        (lambda m: decode(MetricEncoder((4,), 2), np.zeros((1, 2))), "has no decoder"),
        (lambda m: generate(MetricEncoder((4,), 2), 3), "MetricEncoder has no prior to draw from"),
        (lambda m: encode(m, np.zeros((0, 6, 5, 3))), "at least one row; got none"),
        (lambda m: traverse(m, np.zeros((6, 5, 3)), steps=1), "steps must be at least 2"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message, model):
    with pytest.raises(InputError, match=message):
        call(model)


@pytest.mark.parametrize(
    "make",
    [
        lambda: VAE((5,), 2),
        lambda: VAE((3, 28, 31), 3, network="conv", standardise=([0.5] * 3, [0.2] * 3)),
        lambda: MetricEncoder((1, 9, 9), 3),
    ],
)
def test_an_exported_encoder_gives_the_same_codes_for_any_number_of_rows(make, tmp_path):
    model = make().train()
    program = torch.export.load(export_encoder(model, tmp_path / "encoder.pt2")).module()
    assert model.training
    for n in (1, 2, 7):
        x = torch.rand(n, *model.shape)
        means, spreads = program(x)
        codes, log_variances = encode(model, x, log_variances=True)
        np.testing.assert_allclose(means.detach(), codes, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(spreads.detach(), log_variances, rtol=1e-5, atol=1e-6)


def test_an_export_needs_a_format_that_is_known_and_installed(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"must end in .pt2 or .onnx; got a.pt"):
        export_encoder(VAE((5,), 2), tmp_path / "a.pt")
    monkeypatch.setattr("geodis.models.encoding.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"A .onnx file needs onnx: pip install onnx"):
        export_encoder(VAE((5,), 2), tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)

    def forward(self, x):
        return self.layer(x) if float(x.sum()) >= 0 else self.layer(-x)


def test_an_encoder_that_looks_at_its_rows_is_not_exported(tmp_path):
    model = VAE((5,), 2, encoder=Branches())
    with pytest.raises(InputError, match="no branch on their values; got VAE") as told:
        export_encoder(model, tmp_path / "a.pt2")
    assert "\n" not in str(told.value) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda grid: models.AE(grid, 2),
        lambda grid: VAE(grid, 2, loss="bernoulli"),
        lambda grid: VAE(grid, 2, standardise=models.channel_moments(grid)),
        lambda grid: models.FactorVAE(grid, 2, discriminator_width=8),
        lambda grid: models.ISAVAE(grid, subspaces=[(2.0, 2)], learn="subspaces"),
        lambda grid: models.InfoVAE(grid, 2),
        lambda grid: models.AdaMLVAE(grid, 2),
        lambda grid: models.AdaTVAE(grid, 2),
        lambda grid: models.TripletEncoder(grid, 2),
        lambda grid: MetricEncoder(grid, 2, roll=True),
        lambda grid: models.InfoGAN(grid),
    ],
)
def test_models_of_float64_compute_in_float64(make, tmp_path):
    grid = XYSquares(n_squares=1, grid_size=3, spacing=5, square_size=5, image_size=16)
    double = make(grid).double()
    models.train(double, grid, 2, batch_size=6, verbose=0)
    codes = encode(double, grid)
    assert codes.dtype == np.float64
    assert encode(double, grid, sample=True, random_state=0).dtype == np.float64
    models.save_model(double, tmp_path)
    np.testing.assert_array_equal(encode(models.load_model(tmp_path), grid), codes)
    if not isinstance(double, models.TripletEncoder | MetricEncoder):
        assert decode(double, codes).dtype == np.float64
        assert generate(double, 3, random_state=0).dtype == np.float64
        assert traverse(double, grid.images(0)[0], steps=3).dtype == np.float64


def test_float64_keeps_the_digits_of_its_data_and_learns_what_float32_does():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    single, double = (models.AE((3,), 2, random_state=1) for _ in range(2))
    double.double()
    # A difference of 1e-10 is lost in float32.
    assert (encode(double, rows + 1e-10) != encode(double, rows)).all()
    done = [models.train(m, rows, 50, batch_size=8, verbose=0) for m in (single, double)]
    first, second = (run.history[-1]["reconstruction"] for run in done)
    assert first == pytest.approx(second, rel=1e-3)
    np.testing.assert_allclose(encode(single, rows), encode(double, rows), rtol=0, atol=1e-3)
