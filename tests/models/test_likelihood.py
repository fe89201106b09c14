"""The bound on the likelihood against its exact value."""

import math

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, ISAVAE, VAE, InfoWGANGP, LpNested, StandardNormal, iwae_bound


@pytest.fixture(scope="module")
def model():
    return VAE((3, 6, 5), 4, network="vector")


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
            "A bound needs a likelihood: loss='mse' or 'bernoulli'; got a callable",
        ),
        (
            lambda m: iwae_bound(InfoWGANGP((1, 32, 32)), np.zeros((1, 32, 32, 1))),
            "InfoWGANGP has no q",
        ),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message, model):
    with pytest.raises(InputError, match=message):
        call(model)
