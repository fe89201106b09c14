"""Parts of the divergence: they add up, and are what they are for codes whose answer is known."""

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, ISAVAE, VAE, TrainOptions, divergence_during, train
from geodis.models.objectives import Batch, kl_sampled
from geodis.models.training import during as module
from geodis.models.training.during import mixture_log_densities
from geodis.scores import gaussian_total_correlation

PARTS = ("information", "total correlation", "dimension-wise divergence")


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


def narrow(means, variance):
    return np.column_stack([means, np.full_like(means, np.log(variance))]).astype(np.float32)


@pytest.mark.parametrize("n", [30, 200, 1024])
def test_independent_narrow_codes_have_no_total_correlation_however_few_are_drawn(n):
    """Means on a product grid: q(z) is a product, whatever the noise, and the information log N."""
    means = np.stack(np.unravel_index(np.arange(1024), (2,) * 10), axis=1).astype(np.float32)
    parts = divergence_during(narrow(means, 1e-4), n)(Given(10))
    assert parts["total correlation"] == pytest.approx(0.0, abs=1e-9)
    assert parts["total correlation of a normal fit"] == pytest.approx(0.0, abs=1e-6)
    assert parts["information"] == pytest.approx(np.log(1024), abs=1e-6)
    assert parts["information ceiling"] == np.log(1024)


def literal_parts(rows, repeats, seed):
    """Information and total correlation by a loop over draws, of z and of rows."""
    mean, log_variance = np.split(rows.astype(float), 2, axis=1)
    rng = np.random.default_rng(seed)
    information, correlation = [], []
    for i in list(range(len(rows))) * repeats:
        z = mean[i] + np.exp(0.5 * log_variance[i]) * rng.standard_normal(mean.shape[1])
        densities = []
        for j in range(len(rows)):
            scaled = (z - mean[j]) ** 2 / np.exp(log_variance[j])
            densities.append(np.exp(-0.5 * scaled) / np.sqrt(2 * np.pi * np.exp(log_variance[j])))
        densities = np.array(densities)
        joint = np.log(densities.prod(axis=1).mean())
        information.append(np.log(densities[i].prod()) - joint)
        correlation.append(joint - np.log(densities.mean(axis=0)).sum())
    return np.array(information), np.array(correlation)


@pytest.mark.parametrize("variance", [0.02, 0.3])
def test_few_draws_say_the_same_as_the_loop_over_all_rows(variance):
    """Ten latents, whose densities are of all rows unless fewer are asked for."""
    rows = narrow(np.random.default_rng(1).standard_normal((150, 10)), variance)
    information, correlation = literal_parts(rows, 2, seed=3)
    parts = divergence_during(rows, 60)(Given(10))
    for name, values in (("information", information), ("total correlation", correlation)):
        error = values.std() * np.sqrt(1 / 60 + 1 / len(values))
        assert parts[name] == pytest.approx(values.mean(), abs=4 * error + 1e-6)
    fewer = divergence_during(rows, 60, rows=60)(Given(10))
    assert fewer["information ceiling"] == pytest.approx(np.log(60))
    if variance < 0.1:  # at its ceiling
        assert parts["information"] == pytest.approx(np.log(150), abs=0.05)
        assert fewer["information"] == pytest.approx(np.log(60), abs=0.05)


def test_the_normal_fit_is_that_of_the_score():
    rows = codes(500, np.array([[1.0, 0.8], [0.8, 1.5]]), 0.3)
    expected = float(gaussian_total_correlation(rows[:, :2], log_variances=rows[:, 2:]))
    parts = divergence_during(rows, 10)(Given(2))
    assert parts["total correlation of a normal fit"] == pytest.approx(expected)
    assert expected == pytest.approx(0.17, abs=0.06)


@pytest.mark.parametrize("given", ["tensor", "array", "dataset", "labelled", "loader"])
def test_rows_are_those_that_are_encoded(given):
    rows = torch.from_numpy(codes(40, np.eye(2), 0.5))
    sets = torch.utils.data
    data = {
        "tensor": rows,
        "array": rows.numpy(),
        "dataset": sets.TensorDataset(rows),
        "labelled": sets.TensorDataset(rows, torch.arange(40)),
        "loader": sets.DataLoader(sets.TensorDataset(rows), batch_size=7),
    }[given]
    expected = divergence_during(rows.numpy(), 25)(Given(2))
    assert divergence_during(data, 25)(Given(2)) == pytest.approx(expected)
    if given == "loader":
        with pytest.raises(InputError, match=r"rows can be drawn of a grid, .*; got DataLoader"):
            divergence_during(data, rows=20)
    else:
        some = divergence_during(rows.numpy(), 25, rows=30)(Given(2))
        assert divergence_during(data, 25, rows=30)(Given(2)) == pytest.approx(some)
        assert some["information ceiling"] == pytest.approx(np.log(30))


@pytest.mark.parametrize("prior", ["normal", "subspaces"])
def test_the_parts_add_up_to_the_divergence(prior, generator):
    model = VAE((5,), 3) if prior == "normal" else ISAVAE((5,), subspaces=[(1.5, 2), (2.5, 1)])
    x = torch.rand(60, 5)
    parts = divergence_during(x, 60)(model)
    whole = sum(parts[name] for name in PARTS)
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


def test_densities_do_not_depend_on_how_many_are_held_at_once(monkeypatch, generator):
    z, mean, log_variance = (torch.randn(50, 3, dtype=torch.float64) for _ in range(3))
    whole = mixture_log_densities(z, mean, log_variance)
    for entries in (1, 21, 400):
        monkeypatch.setattr(module, "MOST_ENTRIES", entries)
        for one, other in zip(mixture_log_densities(z, mean, log_variance), whole, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-13, atol=1e-13)


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
    named = {*PARTS, "total correlation of a batch"}  # as analyses read them
    assert told >= {f"divergence {name}" for name in named}


def test_codes_without_noise_have_no_parts():
    with pytest.raises(InputError, match=r"where codes are noisy .*; got AE"):
        divergence_during(torch.rand(9, 4))(AE((4,), 2))
