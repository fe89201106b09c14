"""Runs of the study of seed 003, and their total correlation against known answers."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses.factor_vae_study.claims.correlation_claims import nearest_half
from analyses.factor_vae_study.run_measures import CATEGORY, ERROR, OLDER, SCORE, measure
from analyses.factor_vae_study.study_presets import PRESETS
from analyses.factor_vae_study.total_correlation import (
    ESTIMATE,
    INFORMATION,
    LOG_Q,
    NORMAL,
    TRUE,
    total_correlations,
)
from analyses.factor_vae_study.watched_factor_vaes import factor_vae, watched_runs
from analyses.shared.studies.kept_runs import KEPT, keep_runs, put_back
from analyses.shared.studies.small_sprites import small_sprites
from analyses.unsupervised_study.narrow_models import NarrowBetaVAE
from geodis import FactorGrid, models, scores

TINY = PRESETS["tiny-for-tests"]


# Latents whose total correlation is known


class Known(models.VAE):
    """An autoencoder whose posteriors are given, by the first pixel of an image."""

    def posterior(self, x):
        place = (x[:, 0, 0, 0] * 255).round().long()
        return self.means[place], self.spreads[place]


def known_model(means, spread):
    n = len(means)
    images = np.zeros((n, 4, 4, 1), np.uint8)
    images[:, 0, 0, 0] = np.arange(n)
    model = Known((1, 4, 4), means.shape[1], network="vector")
    model.means = torch.from_numpy(means).float()
    model.spreads = torch.full(means.shape, spread)
    return model, FactorGrid.from_arrays(images, np.arange(n))


def product_of_codes():
    return np.stack(np.meshgrid(np.arange(16.0), np.arange(16.0)), -1).reshape(-1, 2) * 4


def test_a_product_of_codes_has_no_total_correlation_and_a_part_of_it_has():
    model, grid = known_model(product_of_codes(), 0.0)
    found = total_correlations(model, grid, drawn=100)
    assert found[TRUE] == pytest.approx(0, abs=1e-3) and found[NORMAL] == pytest.approx(0, abs=1e-3)
    assert found[INFORMATION] == pytest.approx(np.log(256), rel=0.1)
    some = np.sort(np.random.default_rng(0).choice(256, 64, replace=False))
    part = FactorGrid.from_arrays(grid.images(some, "auto"), some)
    assert total_correlations(model, part, drawn=64)[TRUE] > 0.2  # of the truth's images a quarter


def test_the_truth_is_that_of_double_precision_and_of_densities_written_out():
    codes = np.random.default_rng(0).normal(0, 1, (120, 1)) * [1.0, 0.8, 0.0] + [0.0, 1.0, 2.0]
    model, grid = known_model(codes, -4.0)
    found = total_correlations(model, grid, drawn=120, random_state=3)
    random = np.random.default_rng(3)
    order = random.permutation(120)
    noise = random.standard_normal((120, 3), dtype=np.float32).astype(float)
    z, s = codes[order] + np.exp(-2.0) * noise, np.exp(-2.0)
    each = np.exp(-0.5 * ((z[:, None] - codes) / s) ** 2) / (s * np.sqrt(2 * np.pi))
    joint = np.log(each.prod(axis=2).mean(axis=1))
    product = np.log(each.mean(axis=1)).sum(axis=1)
    assert found[TRUE] == pytest.approx((joint - product).mean(), abs=1e-4)
    assert found[LOG_Q] == pytest.approx(joint.mean(), abs=1e-4)
    assert found[TRUE] > 1


@pytest.mark.parametrize(("log_variance", "negative"), [(-8.0, True), (8.0, False)])
def test_a_batch_that_does_not_hold_the_images_of_its_latents_is_too_small_a_mixture(
    log_variance, negative
):
    """Seed 003, appendix D: it is negative where posteriors are narrow."""
    model, grid = known_model(np.random.default_rng(0).normal(0, 1, (90, 3)), log_variance)
    found = total_correlations(model, grid, drawn=30, sizes=(10, 60, 80))
    assert found[TRUE] > -1e-3 and "TC, B of 80" not in found  # not enough images
    if negative:
        assert found["TC, B of 10"] < found["TC, B of 60"] < 0 < found["TC, B of 10 itself"]
        assert found[f"{LOG_Q}, B of 10"] < found[f"{LOG_Q}, B of 60"] < found[LOG_Q]
    else:
        assert abs(found["TC, B of 10"] - found[TRUE]) < 0.1


def test_the_estimate_of_a_discriminator_is_its_mean_log_ratio_at_the_same_latents():
    grid = small_sprites(TINY.data, 16)
    model = factor_vae(TINY, grid, 10.0, seed=0)
    with torch.no_grad():
        model.discriminator[-1].weight.zero_()
        model.discriminator[-1].bias.copy_(torch.tensor([1.5, -0.5]))
    assert total_correlations(model, grid, 40)[ESTIMATE] == pytest.approx(2.0, abs=1e-5)


# Runs


def test_without_a_penalty_a_factor_vae_becomes_the_vae_of_its_seed():
    grid = small_sprites(TINY.data, 16)
    pair = [
        factor_vae(TINY, grid, 0.0, seed=3),
        NarrowBetaVAE(grid, random_state=3, beta=1.0, **TINY.common),
    ]
    options = models.TrainOptions(precision="float32")
    for model in pair:
        models.train_stacked(
            [model], grid, 5, batch_size=16, learning_rate=1e-3, device="cpu",
            options=options, random_states=[3], verbose=0,
        )  # fmt: skip
    found = pair[0].state_dict()
    for name, value in pair[1].state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-6)
    assert (
        factor_vae(TINY, grid, 0.0, seed=4)
        .state_dict()["body.1.bias"]
        .ne(found["body.1.bias"])
        .any()
    )


def test_presets_have_the_published_strengths_and_a_look_half_way():
    for name, preset in PRESETS.items():
        assert 40.0 in preset.gammas and {1.0, 4.0} <= set(preset.betas)
        assert nearest_half(pd.Series([*preset.looks, preset.steps])) == preset.steps / 2
        if name != "tiny-for-tests":
            assert {5.0, 9.0} <= set(preset.betas) and 35.0 in preset.gammas
            assert preset.gan_steps == preset.steps and preset.data == "thinned sprites"
            assert preset.gan_seeds >= 6  # fewer could hardly be told from the VAEs


def test_every_factor_vae_is_planned_once_with_all_gammas_of_a_seed_together():
    planned = PRESETS["longer"].planned_factor_vaes
    assert len(set(planned)) == len(planned) == 48
    assert planned[:30] == PRESETS["quick"].planned_factor_vaes
    assert planned[:3] == [(10.0, 0), (35.0, 0), (40.0, 0)]


def test_the_categorical_code_of_a_gan_is_one_discrete_latent():
    grid = small_sprites("hearts", 16)
    model = models.InfoWGANGP(grid, 4, categories=3, random_state=0)
    found = measure(model, grid, drawn=10)
    codes, factors = models.encode(model, grid), grid.factors(np.arange(len(grid)))
    expected = scores.factor_vae(codes, factors, discrete=[[4, 5, 6]], random_state=0)
    assert CATEGORY == [[4, 5, 6]] and len(expected.matrix) == 5
    assert found == {SCORE: float(expected), OLDER: found[OLDER]}


def test_factor_vaes_are_looked_at_on_the_way_and_kept(tmp_path):
    grid = small_sprites(TINY.data, 16)
    here, there = tmp_path / "here", tmp_path / "there"
    assert watched_runs(TINY, grid, here, train=False) == []
    found = watched_runs(TINY, grid, here, train=True)
    assert [(run["gamma"], run["seed"]) for run in found] == TINY.planned_factor_vaes
    for run in found:
        assert [row["step"] for row in run["course"]] == [2, 4]
        last = run["course"][-1]
        assert last[TRUE] == pytest.approx(run["found"][TRUE])
        assert last[ESTIMATE] == pytest.approx(run["found"][ESTIMATE])
        assert {SCORE, OLDER, ERROR, INFORMATION} <= set(run["found"])
    keep_runs(here, tmp_path / KEPT)
    put_back(there, tmp_path / KEPT)
    assert watched_runs(TINY, grid, there, train=False) == found
