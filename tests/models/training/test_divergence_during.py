"""Parts of the divergence: they add up, and are what they are for codes whose answer is known."""

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, ISAVAE, VAE, TrainOptions, divergence_during, train
from geodis.models.objectives import Batch, kl_sampled
from geodis.models.training.divergence_during import mixture_log_densities


class Given(VAE):
    """Its codes are its rows: the first half of the columns means, the second log-variances."""

    def __init__(self, latents):
        super().__init__((2 * latents,), latents)

    def posterior(self, x):
        return x.chunk(2, dim=1)


def codes(n, covariance, variance, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.multivariate_normal(np.zeros(len(covariance)), covariance, n)
    return np.column_stack([means, np.full_like(means, np.log(variance))]).astype(np.float32)


def test_normal_codes_have_the_parts_of_normal_distributions():
    covariance, variance = np.array([[1.0, 0.8], [0.8, 1.5]]), 0.3
    whole = covariance + variance * np.eye(2)
    parts = divergence_during(codes(4000, covariance, variance), 4000)(Given(2))
    correlation = -0.5 * np.log(np.linalg.det(whole) / np.prod(np.diag(whole)))
    information = 0.5 * np.log(np.linalg.det(whole / variance))
    rest = 0.5 * (np.trace(whole) - 2 - np.log(np.diag(whole)).sum())
    assert parts["total correlation"] == pytest.approx(correlation, abs=0.03)
    assert parts["information"] == pytest.approx(information, abs=0.05)
    assert parts["dimension-wise divergence"] == pytest.approx(rest, abs=0.05)


def test_a_batch_is_off_by_the_latents_but_one_times_the_log_of_the_rows():
    """Independent codes: nothing is correlated, whatever a batch says."""
    for latents in (2, 4):
        parts = divergence_during(codes(2000, np.eye(latents), 1.0), 2000)(Given(latents))
        assert parts["total correlation"] == pytest.approx(0.0, abs=0.05)
        bias = (latents - 1) * np.log(2000)
        assert parts["total correlation of a batch"] == pytest.approx(bias, rel=0.1)


@pytest.mark.parametrize("prior", ["normal", "subspaces"])
def test_the_parts_add_up_to_the_divergence(prior, generator):
    model = VAE((5,), 3) if prior == "normal" else ISAVAE((5,), subspaces=[(1.5, 2), (2.5, 1)])
    x = torch.rand(60, 5)
    parts = divergence_during(x, 60)(model)
    whole = sum(value for name, value in parts.items() if "batch" not in name)
    with torch.no_grad():
        mean, log_variance = (each.repeat(200, 1) for each in model.posterior(x))
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        batch = Batch(x, mean, log_variance, z, x, model.prior)
        expected = float(kl_sampled(batch).mean())
    assert whole == pytest.approx(expected, abs=0.6)  # one draw a row against two hundred


def test_densities_are_those_of_the_loop(generator):
    z, mean, log_variance = (torch.randn(5, 2, dtype=torch.float64) for _ in range(3))
    joint, product = mixture_log_densities(z[:3], mean, log_variance)
    for i in range(3):
        each = torch.distributions.Normal(mean, (0.5 * log_variance).exp()).log_prob(z[i]).exp()
        assert joint[i].exp() == pytest.approx(float(each.prod(dim=1).mean()))
        assert product[i].exp() == pytest.approx(float(each.mean(dim=0).prod()))


def test_the_history_has_them_and_the_same_rows_each_time(blobs):
    parts = divergence_during(blobs, 30)
    model = VAE(blobs, 2, network="vector")
    assert parts(model) == parts(model)
    done = train(
        model,
        blobs,
        4,
        batch_size=8,
        options=TrainOptions(callbacks={"divergence": parts}, callback_every=2),
        verbose=0,
    )
    last = done.history[-1]
    told = {name for name in last if name.startswith("divergence ")}
    assert told == {f"divergence {name}" for name in parts(model)}
    assert last["divergence information"] == parts(model)["information"]


def test_codes_without_noise_have_no_parts():
    with pytest.raises(InputError, match=r"where codes are noisy .*; got AE"):
        divergence_during(torch.rand(9, 4))(AE((4,), 2))
