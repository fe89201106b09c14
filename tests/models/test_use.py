"""Latents, images, samples, traversals; and the bound on the likelihood against its exact value."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import (
    AE,
    ISAVAE,
    VAE,
    BetaVAE,
    InfoWGANGP,
    LpNested,
    MetricEncoder,
    StandardNormal,
    channel_moments,
    decode,
    encode,
    iwae_bound,
    reconstruct,
    sample,
    traverse,
)
from geodis.models.use import to_input


@pytest.fixture(scope="module")
def model():
    return VAE((3, 6, 5), 4, network="vector")


def test_images_come_in_any_of_their_forms():
    images = np.random.default_rng(0).integers(256, size=(4, 6, 5, 3), dtype=np.uint8)
    expected = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    tensor = torch.from_numpy(images).permute(0, 3, 1, 2)
    for given in (images, images / 255, (images / 255).astype(np.float32), tensor, tensor / 255):
        torch.testing.assert_close(to_input(given, (3, 6, 5)), expected)
    grey = to_input(images[..., 0], (1, 6, 5))
    torch.testing.assert_close(grey[:, 0], expected[:, 0])
    frame = pd.DataFrame([[1, 2], [3, 4]])
    assert to_input(frame, (2,)).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 6, 5, 1)), r"rows of shape \(3, 6, 5\) .*\(n, h, w, c\).*\(1, 6, 5\) came"),
        (np.zeros((2, 90)), r"rows of shape \(90,\) came"),
        (np.full((2, 6, 5, 3), "a"), "must hold numbers; dtype <U1 came"),
    ],
)
def test_rows_that_the_model_cannot_take_are_told(images, message):
    with pytest.raises(InputError, match=message):
        to_input(images, (3, 6, 5))


def test_latents_are_means_or_draws_and_batches_do_not_show(model, monkeypatch):
    import geodis.models.use as use

    images = np.random.default_rng(1).random((7, 6, 5, 3))
    mean = encode(model, images)
    with torch.no_grad():
        expected, log_variance = model.posterior(to_input(images, model.shape))
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(use, "BATCH", 3)
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
    sample(model, 2, random_state=0)
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
    np.testing.assert_array_equal(sample(model, 5, random_state=3), decode(model, z))


def test_a_traversal_moves_one_latent_and_keeps_the_others(model):
    image = np.random.default_rng(0).random((6, 5, 3))
    found = traverse(model, image, steps=5, reach=3.0)
    assert found.shape == (4, 5, 6, 5, 3)
    z = np.repeat(encode(model, image[None]), 5, axis=0)
    z[:, 2] = np.linspace(-3, 3, 5)
    np.testing.assert_allclose(found[2], decode(model, z), rtol=1e-5, atol=1e-6)
    own = traverse(model, image, steps=3, reach=np.array([0, 1, 2, 3]))
    np.testing.assert_allclose(own[0, 0], own[0, 2])


def test_moments_are_those_of_the_channels(squares):
    images = squares.images(range(9)) / 255
    mean, deviation = channel_moments(squares)
    assert mean == pytest.approx(images.reshape(-1, 1).mean(axis=0))
    assert deviation == pytest.approx(images.reshape(-1, 1).std(axis=0))
    constant = channel_moments(np.ones((4, 2)))
    assert constant == ((1, 1), (1, 1))


# The bound on the likelihood


class Linear(VAE):
    """x = W z + noise of variance one half, z normal: everything is known."""

    def __init__(self, spread=1.0):
        super().__init__((3,), 2)
        self.weight = torch.tensor([[1.0, 0.9], [0.5, 0.6], [0.8, 1.1]], dtype=torch.float64)
        precision = torch.eye(2, dtype=torch.float64) + 2 * self.weight.T @ self.weight
        self.covariance = torch.linalg.inv(precision)
        self.spread = spread

    def posterior(self, x):
        """The true posterior mean, and its variances but not its covariance."""
        mean = 2 * x.double() @ self.weight @ self.covariance
        variance = self.spread * self.covariance.diagonal()
        return mean, variance.log().expand_as(mean)

    def decode(self, z):
        return z.double() @ self.weight.T

    def log_likelihood(self, x):
        marginal = self.weight @ self.weight.T + 0.5 * torch.eye(3, dtype=torch.float64)
        normal = torch.distributions.MultivariateNormal(torch.zeros(3).double(), marginal)
        return normal.log_prob(x).numpy()


def test_more_particles_tighten_the_bound_up_to_the_exact_likelihood():
    model = Linear(spread=1.0)
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)).double()
    exact = model.log_likelihood(x)
    means = [
        np.mean([iwae_bound(model, x, particles=k, random_state=i) for i in range(repeats)])
        for k, repeats in [(1, 200), (3, 200), (3000, 1)]
    ]
    assert means[0] + 0.02 < means[1] < means[2] - 0.005
    assert means[2] == pytest.approx(exact.mean(), abs=0.01)
    np.testing.assert_allclose(iwae_bound(model, x, particles=3000), exact, atol=0.1)


def test_the_exact_posterior_needs_one_particle_only():
    model = Linear()
    model.weight = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    precision = torch.eye(2, dtype=torch.float64) + 2 * model.weight.T @ model.weight
    model.covariance = torch.linalg.inv(precision)  # diagonal: the columns are orthogonal
    x = torch.randn(9, 3, generator=torch.Generator().manual_seed(0)).double()
    np.testing.assert_allclose(iwae_bound(model, x, particles=1), model.log_likelihood(x), 1e-6)


def test_one_particle_is_the_evidence_bound_of_the_objectives_on_average():
    model = VAE((6,), 3)
    x = torch.rand(4, 6)
    bound = np.mean([iwae_bound(model, x, particles=1, random_state=i) for i in range(300)])
    with torch.no_grad():
        elbo = np.mean([-float(sum(model.terms(model(x)).values())) for _ in range(300)])
    assert bound == pytest.approx(elbo - 3 * math.log(math.pi), abs=0.1)


@pytest.mark.parametrize("prior", [StandardNormal(3), LpNested.isa(2.1, [(1.3, 2), (2.2, 1)])])
def test_the_bound_takes_any_prior_and_the_bernoulli_loss(prior):
    make = ISAVAE if isinstance(prior, LpNested) else VAE
    model = make((6,), 3, prior=prior, loss="bernoulli")
    x = torch.rand(5, 6)
    bounds = [
        np.mean([iwae_bound(model, x, particles=k, random_state=i) for i in range(50)])
        for k in (1, 20)
    ]
    assert bounds[0] < bounds[1] < 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: iwae_bound(m, np.zeros((1, 6, 5, 3)), particles=0), "particles must be at l"),
        (lambda m: iwae_bound(AE((4,), 2), np.zeros((1, 4))), r"AE has no q\(z\|x\) to draw from"),
        (
            lambda m: iwae_bound(VAE((4,), 2, loss=lambda a, b: a.sum(1)), np.zeros((1, 4))),
            "A bound needs a likelihood: loss='mse' or 'bernoulli'; a callable came",
        ),
        (
            lambda m: iwae_bound(InfoWGANGP((1, 32, 32)), np.zeros((1, 32, 32, 1))),
            "InfoWGANGP has no q",
        ),
        (lambda m: decode(m, np.zeros((2, 5))), r"shape \(n, 4\); shape \(2, 5\) came"),
        (lambda m: decode(MetricEncoder((4,), 2), np.zeros((1, 2))), "has no decoder"),
        (lambda m: sample(MetricEncoder((4,), 2), 3), "MetricEncoder has no prior to draw from"),
        (lambda m: encode(m, np.zeros((0, 6, 5, 3))), "at least one row; none came"),
        (lambda m: traverse(m, np.zeros((6, 5, 3)), steps=1), "steps must be at least 2"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message, model):
    with pytest.raises(InputError, match=message):
        call(model)


def test_a_file_that_is_mapped_read_only_will_do(model, tmp_path):
    images = np.random.default_rng(0).random((4, 6, 5, 3))
    np.save(tmp_path / "x.npy", images)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(encode(model, mapped), encode(model, images))
