"""Objectives against literal loops and closed forms on normal distributions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from geodis.models import objectives as terms
from geodis.models.objectives import Batch
from geodis.models.priors import LpNested, NormalCodes, StandardNormal
from geodis.models.terms import (
    aggregate_log_densities,
    discriminator_loss,
    gaussian_kl,
    gaussian_log_density,
    gradient_penalty,
    permuted_latents,
)
from tests.reference import models as twin


def batch_of(n=6, d=3, *, prior=None, seed=0, **settings):
    rng = torch.Generator().manual_seed(seed)
    x, decoded = torch.rand(n, 2, 4, 4, generator=rng), torch.randn(n, 2, 4, 4, generator=rng)
    mean, log_variance, z = (torch.randn(n, d, generator=rng) for _ in range(3))
    chosen = SimpleNamespace(**{"loss": "mse", "normalise": "sum", **settings})
    prior = StandardNormal(d) if prior is None else prior
    return Batch(x, mean, log_variance, z, decoded, prior, chosen, dataset_size=50)


def close(value, expected):
    value = value.detach() if isinstance(value, torch.Tensor) else value
    assert float(value) == pytest.approx(float(expected), rel=1e-5)


# Reconstruction


def test_squares_are_summed_over_entries_and_meant_over_rows():
    batch = batch_of()
    x, decoded = batch.x.numpy(), batch.decoded.numpy()
    close(terms.reconstruction(batch), ((x - decoded) ** 2).sum() / len(x))
    batch.settings.normalise = "mean"
    close(terms.reconstruction(batch), ((x - decoded) ** 2).mean())


def test_the_bernoulli_loss_is_the_cross_entropy_of_the_sigmoid():
    batch = batch_of(loss="bernoulli")
    p = 1 / (1 + np.exp(-batch.decoded.double().numpy()))
    x = batch.x.double().numpy()
    close(terms.reconstruction(batch), -(x * np.log(p) + (1 - x) * np.log(1 - p)).sum() / len(x))


def test_a_loss_of_the_users_own_counts_as_a_mean_over_entries():
    def absolute(a, b):
        return (a - b).abs().flatten(1).mean(dim=1)

    batch = batch_of(loss=absolute)
    close(terms.reconstruction(batch), (batch.x - batch.decoded).abs().sum() / len(batch.x))


# Divergence


def test_the_divergence_is_that_of_the_formula_and_of_torch():
    batch = batch_of()
    expected = sum(
        twin.normal_kl(float(m), float(v), 0.0, 0.0)
        for m, v in zip(batch.mean.ravel(), batch.log_variance.ravel(), strict=True)
    )
    close(terms.kl(batch), expected / 6)
    own = torch.distributions.Normal(batch.mean, (0.5 * batch.log_variance).exp())
    standard = torch.distributions.Normal(0.0, 1.0)
    divergence = gaussian_kl(batch.mean, batch.log_variance)
    torch.testing.assert_close(divergence, torch.distributions.kl_divergence(own, standard))
    batch.settings.normalise = "mean"
    close(terms.kl(batch), expected / 18)


@pytest.mark.parametrize("prior", [StandardNormal(3), LpNested((2.0, [3]), scale=2.0)])
def test_the_sampled_divergence_is_the_exact_one_on_average(prior, generator):
    mean, log_variance = torch.tensor([[0.5, -1.0, 0.2]]), torch.tensor([[0.3, -1.0, -2.0]])
    mean, log_variance = mean.expand(40_000, 3), log_variance.expand(40_000, 3)
    z = mean + (0.5 * log_variance).exp() * torch.randn(mean.shape)
    batch = Batch(z, mean, log_variance, z, z, prior)
    rows = terms.kl_sampled(batch)
    error = float(rows.std()) / math.sqrt(len(rows))
    expected = float(gaussian_kl(mean[:1], log_variance[:1]).sum())
    assert float(rows.mean()) == pytest.approx(expected, abs=4 * error)


def test_a_prior_that_is_not_normal_is_sampled():
    prior = LpNested.isa(2.1, [(1.2, 2), (3.0, 1)])
    batch = batch_of(prior=prior)
    own = gaussian_log_density(batch.z, batch.mean, batch.log_variance).sum(dim=1)
    close(terms.kl(batch), (own - prior.log_prob(batch.z)).mean())


@pytest.mark.parametrize("capacity", [0.0, 2.0, 500.0])
def test_capacity_is_the_distance_of_the_divergence_from_it(capacity):
    batch = batch_of(capacity=capacity)
    close(terms.capacity_gap(batch), abs(float(terms.kl(batch)) - capacity))


# Total correlation


def test_minibatch_densities_are_those_of_the_loop():
    batch = batch_of(n=5)
    arrays = (item.double().numpy() for item in (batch.z, batch.mean, batch.log_variance))
    expected = twin.minibatch_log_densities(*arrays, 50)
    densities = aggregate_log_densities(batch.z, batch.mean, batch.log_variance, 50)
    for one, other in zip(densities, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_parts_of_the_divergence_add_up_to_it():
    batch = batch_of(beta=1.0)
    close(terms.decomposed_kl(batch), terms.kl_sampled(batch).mean())


def test_alpha_and_gamma_weigh_information_and_the_rest():
    batch = batch_of(beta=2.0)
    own = gaussian_log_density(batch.z, batch.mean, batch.log_variance).sum(dim=1)
    joint, product = aggregate_log_densities(batch.z, batch.mean, batch.log_variance, 50)
    parts = (own - joint, joint - product, product - batch.prior.log_prob(batch.z))
    for weights in ((1.0, 2.0, 1.0), (0.0, 2.0, 1.0), (1.0, 2.0, 3.0)):
        batch.settings.alpha, batch.settings.gamma = weights[0], weights[2]
        expected = sum(w * part.mean() for w, part in zip(weights, parts, strict=True))
        close(terms.decomposed_kl(batch), expected)


def test_beta_weighs_the_total_correlation_alone():
    batch = batch_of(beta=1.0)
    one = float(terms.decomposed_kl(batch))
    batch.settings.beta = 3.0
    joint, product = aggregate_log_densities(batch.z, batch.mean, batch.log_variance, 50)
    close(terms.decomposed_kl(batch), one + 2 * float((joint - product).mean()))


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (0.3, 2.0)])
def test_information_dropout_counts_information_and_correlation_and_no_prior(beta, gamma):
    batch = batch_of(beta=beta, gamma=gamma)
    z, mean, log_variance = (
        part.double().numpy() for part in (batch.z, batch.mean, batch.log_variance)
    )
    n, d = z.shape
    density = np.zeros((n, n, d))
    for i in range(n):
        for j in range(n):
            spread = np.exp(log_variance[j])
            density[i, j] = np.exp(-((z[i] - mean[j]) ** 2) / (2 * spread))
            density[i, j] /= np.sqrt(2 * np.pi * spread)
    own = np.log(density[range(n), range(n)].prod(axis=1))
    joint = np.log(density.prod(axis=2).sum(axis=1) / (n * 50))
    product = np.log(density.sum(axis=1) / (n * 50)).sum(axis=1)
    expected = beta * (own - joint).mean() + gamma * (joint - product).mean()
    close(terms.coding_cost(batch), expected)
    batch.prior = None
    close(terms.coding_cost(batch), expected)


def test_the_divergence_of_a_category_is_that_from_equal_chances():
    batch = batch_of(prior=NormalCodes(3, 5))
    batch.logits = 2 * torch.randn(6, 5, generator=torch.Generator().manual_seed(3))
    equal = torch.distributions.Categorical(logits=torch.zeros(5))
    own = torch.distributions.Categorical(logits=batch.logits)
    close(terms.category_kl(batch), torch.distributions.kl_divergence(own, equal).mean())
    batch.logits = torch.zeros(6, 5)
    assert float(terms.category_kl(batch)) == pytest.approx(0, abs=1e-6)
    # What is normal counts as always.
    close(terms.kl(batch), gaussian_kl(batch.mean, batch.log_variance).sum(dim=1).mean())


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
def test_total_correlation_of_a_known_normal_distribution(correlation, generator):
    """With all rows in the batch, log q is the density of a mixture: nearly N(0, C)."""
    n, spread = 3000, 0.05
    covariance = torch.tensor([[1.0, correlation], [correlation, 1.0]])
    means = torch.randn(n, 2) @ torch.linalg.cholesky(covariance).T
    log_variance = torch.full((n, 2), math.log(spread))
    z = means + math.sqrt(spread) * torch.randn(n, 2)
    joint, product = aggregate_log_densities(z, means, log_variance, n)
    # Weights of 1 / (N M) where a mixture has 1 / M: too small by log N, once a density.
    offset = math.log(n)
    wide = covariance + spread * torch.eye(2)
    exact = 0.5 * float(wide.diagonal().log().sum() - torch.logdet(wide))
    assert float((joint - product).mean()) - offset == pytest.approx(exact, abs=0.12)


class Ratio(nn.Module):
    """A discriminator that knows: N(0, C) of correlation .8 against its marginals."""

    def forward(self, z):
        covariance = torch.tensor([[1.0, 0.8], [0.8, 1.0]])
        joint = torch.distributions.MultivariateNormal(torch.zeros(2), covariance).log_prob(z)
        apart = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(dim=1)
        return torch.stack([joint, apart], dim=1)


def test_an_optimal_discriminator_gives_the_exact_total_correlation(generator):
    covariance = torch.tensor([[1.0, 0.8], [0.8, 1.0]])
    z = torch.randn(20_000, 2) @ torch.linalg.cholesky(covariance).T
    batch = Batch(z, z, z, z, z, None, SimpleNamespace(normalise="sum"), discriminator=Ratio())
    exact = -0.5 * math.log(1 - 0.64)
    assert float(terms.density_ratio_correlation(batch)) == pytest.approx(exact, abs=0.03)
    assert float(terms.density_ratio_prior(batch)) == pytest.approx(exact, abs=0.03)


def test_a_trained_discriminator_comes_near_it(generator):
    covariance = torch.tensor([[1.0, 0.8], [0.8, 1.0]])
    lower = torch.linalg.cholesky(covariance)
    tell = nn.Sequential(
        nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )
    adam = torch.optim.Adam(tell.parameters(), 3e-3)
    for _ in range(300):
        z = torch.randn(512, 2) @ lower.T
        loss = discriminator_loss(tell, z[:256], permuted_latents(z[256:]))
        adam.zero_grad()
        loss.backward()
        adam.step()
    z = torch.randn(20_000, 2) @ lower.T
    batch = Batch(z, z, z, z, z, None, SimpleNamespace(normalise="sum"), discriminator=tell)
    with torch.no_grad():
        ratio = float(terms.density_ratio_correlation(batch))
    assert ratio == pytest.approx(-0.5 * math.log(1 - 0.64), abs=0.12)


def test_permuting_keeps_columns_and_loses_what_joins_them(generator):
    z = torch.randn(2000, 1).expand(2000, 3)
    shuffled = permuted_latents(z)
    torch.testing.assert_close(shuffled.sort(dim=0).values, z.sort(dim=0).values)
    assert np.abs(np.corrcoef(shuffled.T) - np.eye(3)).max() < 0.1


def test_a_discriminator_that_cannot_tell_loses_log_two():
    assert float(
        discriminator_loss(lambda z: torch.zeros(len(z), 2), torch.ones(3, 1), torch.ones(7, 1))
    ) == pytest.approx(math.log(2))


def test_the_discriminator_loss_weighs_both_samples_alike():
    def tell(z):
        return torch.cat([z, -z], dim=1)

    first, second = torch.full((2, 1), 0.7), torch.full((6, 1), -0.2)
    p = torch.sigmoid(2 * first[0, 0]), torch.sigmoid(2 * second[0, 0])
    close(discriminator_loss(tell, first, second), -0.5 * (p[0].log() + (1 - p[1]).log()))


def test_the_gradient_penalty_of_a_linear_critic():
    weight = torch.tensor([3.0, 4.0])
    real, fake = torch.randn(5, 2), torch.randn(5, 2)
    close(gradient_penalty(lambda x: x @ weight, real, fake), 16.0)


def test_the_gradient_penalty_is_taken_between_real_and_fake():
    real, fake = torch.full((2, 1), 4.0), torch.zeros(2, 1)
    part = torch.tensor([0.25, 1.0])
    penalty = gradient_penalty(lambda x: 0.5 * x.square().sum(dim=1), real, fake, part)
    close(penalty, ((1 - 1) ** 2 + (4 - 1) ** 2) / 2)  # the slope of x^2 / 2 is x


# Moments


@pytest.mark.parametrize("kind", ["I", "II"])
def test_dip_penalises_the_covariance_that_its_kind_names(kind):
    batch = batch_of(n=7, kind=kind, off_diagonal=3.0, diagonal=5.0)
    covariance = np.cov(batch.mean.T, ddof=0)
    if kind == "II":
        covariance += np.diag(np.exp(batch.log_variance.numpy()).mean(axis=0))
    expected = 0.0
    for i in range(3):
        for j in range(3):
            entry = covariance[i, j]
            expected += 5.0 * (entry - 1) ** 2 if i == j else 3.0 * entry**2
    close(terms.dip(batch), expected)


def test_discrepancy_is_that_of_the_loop():
    rng = torch.Generator().manual_seed(3)
    a, b = torch.randn(6, 2, generator=rng), torch.randn(9, 2, generator=rng) + 1
    assert float(terms.mmd_between(a, b)) == pytest.approx(twin.mmd(a.tolist(), b.tolist()), 1e-4)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_discrepancy_of_normal_distributions_has_its_closed_form(shift, generator):
    """E k of two normal rows with k = exp(-|a - b|^2 / d): each column gives a normal integral."""
    d, n = 4, 4000
    a, b = torch.randn(n, d) + shift, torch.randn(n, d)
    width = d / 2  # the kernel is N(0, d / 2) but for its constant; a - b has variance 2
    same = (width / (width + 2)) ** (d / 2)
    cross = same * math.exp(-0.5 * d * shift**2 / (width + 2))
    assert float(terms.mmd_between(a, b)) == pytest.approx(2 * same - 2 * cross, abs=0.01)


def test_discrepancy_from_the_prior_is_small_for_samples_of_it(generator):
    z = torch.randn(2000, 3)
    batch = Batch(z, z, z, z, z, StandardNormal(3))
    assert abs(float(terms.mmd(batch))) < 0.01
    batch.z = 2 * z
    assert float(terms.mmd(batch)) > 0.05


# Triplets and learnt distances


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("p", [1, 2])
def test_triplet_terms_are_the_means_of_the_loop(hard, p):
    batch = batch_of(
        n=9, d=4, hard=hard, margin=1.0, p=p, deltas="absolute", strength=0.4, shared_weight=0.3
    )
    rows = [item.tolist() for item in batch.mean.chunk(3)]
    margin = 1.0 if hard else None
    plain = [twin.triplet(*row, p, margin) for row in zip(*rows, strict=True)]
    close(terms.triplet(batch), np.mean(plain))
    adaptive = [twin.adaptive_triplet(*row, p, margin, 0.4, 0.3) for row in zip(*rows, strict=True)]
    close(terms.adaptive_triplet(batch), np.mean(adaptive))


def test_distances_to_all_others_are_those_of_the_loop():
    batch = batch_of(n=6, d=2, kappa=1.7)
    batch.labels = torch.randn(6, 3, generator=torch.Generator().manual_seed(5))
    expected = twin.neighbour_cross_entropy(batch.z.tolist(), batch.labels.tolist(), 1.7)
    close(terms.neighbour_cross_entropy(batch), expected)


def test_codes_that_have_the_distances_of_the_labels_cannot_be_beaten(generator):
    labels = torch.randn(40, 3)
    batch = batch_of(n=40, kappa=2.0)
    batch.labels = labels
    batch.z = (labels @ torch.linalg.qr(torch.randn(3, 3)).Q + 1).requires_grad_()
    loss = terms.neighbour_cross_entropy(batch)
    loss.backward()
    assert float(batch.z.grad.abs().max()) < 1e-4
    batch.z = batch.z.detach() * 1.3
    assert float(terms.neighbour_cross_entropy(batch)) > float(loss.detach())


def test_partners_are_found_as_in_the_loop():
    batch = batch_of(n=8, d=2, kappa=0.9)
    first, second = batch.z.chunk(2)
    close(terms.info_nce(batch), twin.info_nce(first.tolist(), second.tolist(), 0.9))


def test_the_codes_of_a_generator_are_read_by_their_density():
    batch = batch_of(n=5, d=2)
    batch.z = torch.cat([torch.randn(5, 2), torch.eye(3)[[0, 2, 1, 1, 0]]], dim=1)
    batch.logits = torch.randn(5, 3)
    expected = 0.0
    for i in range(5):
        for k in range(2):
            expected -= twin.normal_log_density(
                float(batch.z[i, k]), float(batch.mean[i, k]), float(batch.log_variance[i, k])
            )
        p = batch.logits[i].softmax(dim=0)
        expected -= math.log(float(p[[0, 2, 1, 1, 0][i]]))
    close(terms.code_error(batch), expected / 5)


def test_squared_distances_have_a_gradient_where_they_are_zero():
    a = torch.ones(2, 3, requires_grad=True)
    terms.squared_distances(a, a).sum().backward()
    assert torch.isfinite(a.grad).all()
