"""Every model is built, trained for a few steps, saved and read; and refuses what it cannot use."""

import numpy as np
import pytest
import torch
from torch import nn

from geodis import FactorGrid
from geodis.base.check import InputError
from geodis.models import (
    AAE,
    AE,
    DIPVAE,
    ISATCVAE,
    ISAVAE,
    TAE,
    TVAE,
    VAE,
    AdaAE,
    AdaGVAE,
    AdaMLVAE,
    AdaTAE,
    AdaTVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    ConcreteVAE,
    FactorVAE,
    InformationDropout,
    InfoVAE,
    LpNested,
    MetricEncoder,
    StandardNormal,
    TripletEncoder,
    encode,
    load_model,
    objectives,
    save_model,
    train,
)
from geodis.models.model_inputs import input_shape
from geodis.models.saving import model_named

LAYOUT = {"p0": 2.1, "subspaces": [(2.2, 2), (2.2, 2)]}
MAKERS = {
    "AE": lambda shape: AE(shape, 4, network="vector"),
    "VAE": lambda shape: VAE(shape, 4, network="vector"),
    "BetaVAE": lambda shape: BetaVAE(shape, 4, network="vector", loss="bernoulli"),
    "AnnealedVAE": lambda shape: AnnealedVAE(shape, 4, network="vector", gamma=1.0),
    "BetaTCVAE": lambda shape: BetaTCVAE(shape, 4, network="vector"),
    "InformationDropout": lambda shape: InformationDropout(shape, 4, network="vector", gamma=0.5),
    "ConcreteVAE": lambda shape: ConcreteVAE(shape, 2, categories=2, network="vector"),
    "FactorVAE": lambda shape: FactorVAE(shape, 4, network="vector"),
    "AAE": lambda shape: AAE(shape, 4, network="vector"),
    "AAE with KL": lambda shape: AAE(shape, 4, network="vector", beta=1.0, discriminator_width=9),
    "DIPVAE": lambda shape: DIPVAE(shape, 4, network="vector"),
    "DIPVAE II": lambda shape: DIPVAE(shape, 4, network="vector", kind="II"),
    "InfoVAE": lambda shape: InfoVAE(shape, 4, network="vector", mmd=1.0),
    "AdaGVAE": lambda shape: AdaGVAE(shape, 4, network="vector"),
    "AdaAE": lambda shape: AdaAE(shape, 4, network="vector"),
    "AdaMLVAE": lambda shape: AdaMLVAE(shape, 4, network="vector", deltas="kl"),
    "TAE": lambda shape: TAE(shape, 4, network="vector", p=2),
    "TVAE": lambda shape: TVAE(shape, 4, network="vector", hard=False),
    "AdaTAE": lambda shape: AdaTAE(shape, 4, network="vector"),
    "TripletEncoder": lambda shape: TripletEncoder(shape, 4, network="vector"),
    "AdaTVAE": lambda shape: AdaTVAE(shape, 4, network="vector"),
    "ISAVAE": lambda shape: ISAVAE(shape, **LAYOUT, learn="subspaces", network="vector"),
    "ISATCVAE": lambda shape: ISATCVAE(shape, **LAYOUT, network="vector"),
    "MetricEncoder": lambda shape: MetricEncoder((8,) if shape == (8,) else shape, 4),
}


@pytest.fixture(scope="module")
def dots():
    """Images of 8 x 8 with a dot, on a 4 x 4 grid: enough for every model to learn from."""
    factors = np.stack(np.unravel_index(np.arange(16), (4, 4)), axis=1)
    images = np.zeros((16, 8, 8), dtype=np.uint8)
    for di in range(2):
        for dj in range(2):
            images[np.arange(16), 2 * factors[:, 0] + di, 2 * factors[:, 1] + dj] = 255
    return FactorGrid.from_arrays(images, factors)


@pytest.mark.parametrize("name", MAKERS)
def test_a_model_trains_and_its_loss_falls_and_it_comes_back_from_its_folder(name, dots, tmp_path):
    model = MAKERS[name](input_shape(dots))
    steps = 25 if model.discriminator is not None else 60  # discriminators are published large
    done = train(model, dots, steps, batch_size=48, checkpoint=tmp_path, verbose=0, random_state=1)
    terms = [key for key in done.history[0] if key not in ("step", "adversary")]
    fell = "reconstruction" if "reconstruction" in terms else terms[0]
    total = [sum(entry[key] for key in terms) for entry in done.history]
    assert done.history[-1][fell] < done.history[0][fell]
    if not name.startswith(("FactorVAE", "AAE", "AnnealedVAE")):  # a moving target
        assert total[-1] < total[0]
    latents = encode(model, dots)
    assert latents.shape == (16, 4) and np.isfinite(latents).all()
    again = load_model(tmp_path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(encode(again, dots), latents)


def test_every_term_is_named_and_weighted():
    model = TVAE((6,), 3, beta=0.5, scale=2.0)
    batch = model(torch.rand(9, 6))
    terms = model.terms(batch)
    assert list(terms) == ["reconstruction", "kl", "triplet"]
    torch.testing.assert_close(terms["kl"], 0.5 * objectives.kl(batch))
    torch.testing.assert_close(terms["triplet"], 2.0 * objectives.triplet(batch))


def test_the_discriminator_of_factor_vae_sees_the_whole_batch_on_both_sides():
    """Algorithm 2 (seed 003), whose sums over B and B' have m rows each."""
    model = FactorVAE((6,), 3, network="vector", discriminator_width=9)
    batch = model(torch.rand(8, 6))
    told = []
    model.discriminator.register_forward_hook(lambda module, given, logits: told.append(given[0]))
    loss = model.adversary_loss(batch)
    z, shuffled = told[0].chunk(2)
    assert torch.equal(z, batch.z) and not torch.equal(shuffled, batch.z)
    assert torch.equal(shuffled.sort(dim=0).values, batch.z.sort(dim=0).values)
    with torch.no_grad():
        p = model.discriminator(told[0]).softmax(dim=1)
    total = sum(p[i, 0].log() for i in range(8)) + sum(p[i, 1].log() for i in range(8, 16))
    torch.testing.assert_close(loss, -total / (2 * 8))


def test_a_deterministic_model_decodes_its_means():
    model = AE((6,), 3)
    batch = model(torch.rand(4, 6))
    assert torch.equal(batch.z, batch.mean)
    noisy = VAE((6,), 3)(torch.rand(4, 6))
    assert not torch.equal(noisy.z, noisy.mean)


def test_ada_models_couple_their_pairs():
    model = AdaGVAE((6,), 5)
    x = torch.rand(8, 6)
    batch = model(x)
    first, second = batch.mean.chunk(2)
    own = model.posterior(x)[0]
    assert (first == second).any(dim=1).all() and not (first == second).all(dim=1).any()
    different = torch.cat([first != second] * 2)
    assert torch.equal(batch.mean[different], own[different])


def test_shared_codes_of_pairs_without_noise_are_averaged():
    model = AdaAE((6,), 5)
    x = torch.rand(8, 6)
    batch, own = model(x), model.posterior(x)[0]
    (first, second), (mean_a, mean_b) = batch.z.chunk(2), own.chunk(2)
    deltas = (mean_a - mean_b).abs()
    middle = 0.5 * (deltas.amin(dim=1, keepdim=True) + deltas.amax(dim=1, keepdim=True))
    shared = deltas < middle
    assert torch.equal(first == second, shared)
    torch.testing.assert_close(first[shared], (0.5 * (mean_a + mean_b))[shared])
    assert torch.equal(first[~shared], mean_a[~shared])


def test_a_cut_keeps_the_reconstruction_from_the_encoder(tmp_path):
    x = torch.rand(9, 6)
    for cut in (False, True):
        model = TVAE((6,), 3, cut_decoder=cut)
        batch = model(x)
        model.terms(batch)["reconstruction"].backward()
        assert (model.head.layer.weight.grad is None) == cut
        assert model.decoder[0].weight.grad.abs().sum() > 0
        assert load_model(save_model(model, tmp_path / str(cut))).cut_decoder is cut


def test_weights_follow_their_seed():
    one, same, other = (VAE((6,), 3, random_state=seed) for seed in (0, 0, 1))
    weights = [model.body[1].weight for model in (one, same, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_building_a_model_leaves_torchs_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    VAE((6,), 3)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    ("shape", "network"), [((3, 64, 64), "conv"), ((1, 28, 28), "mlp"), ((5,), "vector")]
)
def test_the_network_is_chosen_by_what_it_can_take(shape, network):
    assert VAE(shape, 2).network == network


def test_a_standardised_model_takes_and_gives_data_as_it_is():
    moments = (0.2, 0.4, 0.6), (0.1, 0.2, 0.3)
    model = VAE((3, 8, 8), 2, network="vector", standardise=moments)
    x = torch.rand(4, 3, 8, 8)
    mean, deviation = (torch.tensor(part)[:, None, None] for part in moments)
    torch.testing.assert_close(model(x).x, (x - mean) / deviation)
    torch.testing.assert_close(model.to_data(model(x).x), x)
    plain = VAE((3, 8, 8), 2, network="vector")
    torch.testing.assert_close(model.posterior(x)[0], plain.posterior((x - mean) / deviation)[0])


def test_isa_models_have_the_published_layout():
    fixed, learnt = ISAVAE((12,)), ISAVAE((12,), learn="subspaces")
    assert fixed.latents == learnt.latents == 20
    assert ISAVAE((12,), 8).prior.exponents.tolist() == pytest.approx([2.2] * 2 + [2.1])
    assert fixed.prior.exponents.tolist() == pytest.approx([2.2] * 5 + [2.1])
    assert learnt.prior.exponents.tolist() == pytest.approx([2.0] * 5 + [2.1])


def test_learnt_exponents_move_in_training_and_the_root_stays():
    model = ISAVAE((4,), **LAYOUT, learn="subspaces")
    train(model, torch.rand(200, 4), 30, learning_rate=1e-2, batch_size=64, verbose=0)
    p = model.prior.exponents.tolist()
    assert abs(p[0] - 2.2) > 1e-3 and p[2] == pytest.approx(2.1)


def test_a_model_with_a_tree_as_prior_comes_back(tmp_path):
    model = BetaTCVAE((4,), 3, prior=LpNested((2.0, [1, (1.5, [2])]), learn="all"))
    with torch.no_grad():
        model.prior._learnt += 0.1
    again = load_model(save_model(model, tmp_path))
    assert again.prior.exponents.tolist() == model.prior.exponents.tolist()


def test_a_model_of_the_users_own_takes_a_few_lines(tmp_path):
    def sparsity(batch):
        """Mean absolute latent."""
        return batch.mean.abs().mean()

    class QuietVAE(VAE):
        objectives = (*VAE.objectives, (sparsity, "sparse"))
        defaults = {**VAE.defaults, "sparse": 1.0}  # noqa: RUF012 - as the README has it

    model = QuietVAE((6,), 3, sparse=5.0)
    done = train(model, torch.rand(50, 6), 20, batch_size=32, checkpoint=tmp_path, verbose=0)
    assert done.history[-1]["sparsity"] < done.history[0]["sparsity"]
    assert isinstance(load_model(tmp_path), QuietVAE)
    assert model_named("quiet-vae") is QuietVAE


@pytest.mark.parametrize("name", ["ada-tvae", "AdaTVAE", "ada_tvae", "ADATVAE"])
def test_models_are_found_by_their_names(name):
    assert model_named(name) is AdaTVAE


class Bare(nn.Module):
    size = 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VAE((3, 12, 60), 4, network="conv"), "from 16 x 16 on"),
        (lambda: VAE((3, 64), 4), r"shape must be .*got \(3, 64\)"),
        (lambda: VAE("images", 4), "shape must be .*got 'images'"),
        (lambda: VAE(FactorGrid((2, 3)), 4), "grid that has images; this one has factors only"),
        (lambda: VAE((5,), 0), "latents must be at least 1; got 0"),
        (lambda: VAE((5,), 2, gamma=1), "VAE has the settings beta; got gamma"),
        (lambda: VAE((5,), 2, beta="much"), "beta must be a finite number; got 'much'"),
        (lambda: AE((5,), 2, beta=1), "AE has the settings none; got beta"),
        (lambda: VAE((5,), 2, loss="l1"), "loss must be one of 'mse', 'bernoulli'; got 'l1'"),
        (lambda: VAE((5,), 2, normalise="no"), "normalise must be one of 'sum', 'mean'"),
        (
            lambda: VAE((5,), 2, prior=StandardNormal(3)),
            "as many latents as the model; got 3 and 2",
        ),
        (lambda: DIPVAE((5,), 2, kind="III"), "kind must be one of 'I', 'II'; got 'III'"),
        (lambda: AdaGVAE((5,), 2, deltas="l2"), "deltas must be one of .*got 'l2'"),
        (lambda: TVAE((5,), 2, p=3), "p must be one of 1, 2; got 3"),
        (lambda: TVAE((5,), 2, hard=3), "hard must be one of True, False; got 3"),
        (lambda: ISAVAE((5,), 7, **LAYOUT), "as many dimensions as there are latents; got 4 and 7"),
        (lambda: ISAVAE((5,), 7), "multiple of 4 without a layout of subspaces; got 7: pass"),
        (lambda: VAE((5,), 2, standardise=(1, 2)), "5 means and as many positive"),
        (lambda: VAE((1,), 2, standardise=([0], [0])), "positive standard deviations"),
        (lambda: VAE((1,), 2, standardise=3), r"must be \(means, standard deviations\); got 3"),
        (
            lambda: VAE((1,), 2, loss="bernoulli", standardise=([0], [1])),
            r"data in \[0, 1\]: leave out standardise",
        ),
        (lambda: ConcreteVAE((5,), 2, categories=1), "categories must be at least 2; got 1"),
        (lambda: ConcreteVAE((5,), 2, temperature=0), "temperature must be positive; got 0"),
        (
            lambda: ConcreteVAE((5,), 2, prior=StandardNormal(5)),
            r"has the prior NormalCodes\(continuous=2, categories=3\); got StandardNormal",
        ),
        (lambda: model_named("gan"), "The model must be one of AAE, AE,.*got 'gan'"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({}, (10.0, 100.0)),
        ({"kind": "II"}, (10.0, 10.0)),
        ({"off_diagonal": 5.0}, (5.0, 50.0)),
        ({"kind": "II", "off_diagonal": 5.0}, (5.0, 5.0)),
        ({"kind": "II", "diagonal": 3.0}, (10.0, 3.0)),
    ],
)
def test_weights_of_dip_vaes_are_those_of_the_study(settings, weights):
    """The ratio in `unsupervised_study_v1` of disentanglement_lib: 10 for kind I, 1 for kind II."""
    model = DIPVAE((4,), 2, **settings)
    assert (model.settings.off_diagonal, model.settings.diagonal) == weights
    assert model.config()["settings"]["diagonal"] == weights[1]
    assert DIPVAE.from_config(model.config()).chosen == model.chosen


def test_the_annealed_vae_has_the_published_strength():
    assert AnnealedVAE((4,), 2).chosen == {"gamma": 1000.0, "capacity": 25.0}  # seed 000, A.2
