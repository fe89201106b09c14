"""BetaVAE and FactorVAE scores alike: chance, laws, what is left out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from tests.scores.interventional.conftest import SMALL, sample


def test_both_are_near_the_reference_with_draws_of_their_own(golden):
    """Within four standard errors of the two evaluations."""
    data, book, (_, n_eval, size) = golden
    for function, key in (
        (scores.beta_vae, "betavae_eval_accuracy"),
        (scores.factor_vae, "factorvae_eval_accuracy_pruned05"),
    ):
        peer = float(data[key])
        own = float(
            function(
                book.codebook,
                FactorGrid(book.sizes),
                n_train=2000,
                n_eval=n_eval,
                batch_size=size,
                random_state=5,
            )
        )
        assert abs(own - peer) <= 4 * np.sqrt(2 * 0.25 / n_eval) and (peer < 0.9 or own > 0.98)


@pytest.mark.parametrize("function", [scores.beta_vae, scores.factor_vae])
class TestBoth:
    def test_a_perfect_code_scores_one_and_noise_near_chance(self, function):
        for seed in range(3):
            factors, rng = sample(seed)
            assert float(function(factors * 0.7, factors, random_state=seed, **SMALL)) == 1.0
            # Of many rows, so that a value has no mean of its own.
            factors, rng = sample(seed, n=20_000)
            noise = rng.standard_normal((20_000, 5))
            assert float(function(noise, factors, random_state=seed, **SMALL)) < 0.5

    def test_a_grid_and_its_rows_as_a_sample_agree(self, function):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            grid = FactorGrid((4, 5, 6), names=("a", "b", "c"))
            factors = grid.factors(range(len(grid)))
            mixed = factors @ rng.standard_normal((3, 4)) + 0.2 * rng.standard_normal((120, 4))
            options = {"n_train": 3000, "n_eval": 3000, "batch_size": 16, "random_state": seed}
            from_grid = function(mixed, grid, **options)
            from_rows = function(mixed, factors, **options)
            assert float(from_grid) == pytest.approx(float(from_rows), abs=0.08)
            assert from_grid.factor_names == ("a", "b", "c")

    def test_an_encoder_scores_as_its_table_and_sees_an_image_once(self, function):
        images = np.random.default_rng(0).integers(256, size=(60, 4, 4, 1), dtype=np.uint8)
        factors = np.stack(np.unravel_index(np.arange(60), (3, 4, 5)), axis=1)
        grid = FactorGrid.from_arrays(images, factors)
        seen = []

        def encoder(batch):
            seen.append(len(batch))
            return batch.reshape(len(batch), -1)[:, :3]

        table = grid.images(range(60), "float32").reshape(60, -1)[:, :3]
        by_encoder = function(encoder, grid, random_state=1, **SMALL)
        by_table = function(table, grid, random_state=1, **SMALL)
        assert float(by_encoder) == pytest.approx(float(by_table), abs=1e-12)
        assert sum(seen) <= 60

    def test_a_grid_with_holes_is_a_sample(self, function):
        factors = np.stack(np.unravel_index(np.arange(240), (4, 6, 10)), axis=1)[:200]
        grid = FactorGrid.from_arrays(None, factors)
        assert not grid.complete
        assert float(function(factors * 1.0, grid, random_state=0, **SMALL)) == 1.0

    def test_the_seed_decides(self, function):
        factors, rng = sample(0)
        latents = factors + rng.standard_normal(factors.shape)
        values = [float(function(latents, factors, random_state=s, **SMALL)) for s in (0, 0, 1)]
        assert values[0] == values[1] != values[2]

    def test_factors_that_cannot_be_fixed_are_left_out_with_a_note(self, function):
        factors, _ = sample(0)
        factors = np.column_stack([factors, np.zeros(600, int), np.arange(600) // 3])
        frame = pd.DataFrame(factors, columns=list("abcde"))
        score = function(factors[:, :3] * 1.0, frame, random_state=0, **SMALL)
        assert float(score) == 1.0
        assert "left out, with one value: d" in score.note and "too few rows" in score.note
        assert np.isnan(score.per_factor[[3, 4]]).all() and (score.per_factor[:3] == 1).all()

    def test_a_rare_value_is_never_fixed_and_the_note_says_so(self, function):
        factors, _ = sample(0)
        factors[0, 1] = 9
        score = function(factors * 1.0, factors, random_state=0, **SMALL)
        assert float(score) == 1.0 and "fewer than 10 rows are never fixed, of: 1" in score.note

    def test_nothing_is_noted_where_every_value_has_rows_enough(self, function):
        factors, _ = sample(0)
        assert function(factors * 1.0, factors, random_state=0, **SMALL).note == ""

    def test_too_few_rows_say_what_is_needed(self, function):
        factors, rng = sample(0, n=15)
        with pytest.raises(InputError, match="two factors with two values of 10 rows or more"):
            function(rng.standard_normal((15, 2)), factors)

    def test_one_factor_is_refused(self, function):
        factors, rng = sample(0)
        with pytest.raises(InputError, match="needs two that vary; got 1"):
            function(rng.standard_normal((600, 2)), factors[:, 0])
        with pytest.raises(InputError, match="needs two that vary; got 1"):
            function(rng.standard_normal((5, 2)), FactorGrid((5, 1)))

    def test_continuous_factors_are_refused(self, function):
        _, rng = sample(0)
        with pytest.raises(InputError, match="is continuous"):
            function(rng.standard_normal((600, 2)), rng.standard_normal((600, 2)))

    def test_a_code_without_information_gives_the_guess(self, function):
        factors, _ = sample(0)
        score = function(np.zeros((600, 3)), factors, random_state=0, **SMALL)
        assert float(score) == pytest.approx(1 / 3, abs=0.1)

    def test_labels_integers_and_float16(self, function):
        factors, _ = sample(0)
        frame = pd.DataFrame({"shape": np.array(["heart", "oval", "square"])[factors[:, 0]]})
        frame["x"] = pd.Categorical(factors[:, 1])
        for latents in (factors[:, :2], factors[:, :2].astype(np.float16)):
            assert float(function(latents, frame, random_state=0, **SMALL)) == 1.0

    @settings(max_examples=10, deadline=None)
    @given(seed=st.integers(0, 10_000))
    def test_range_and_permutations(self, function, seed):
        factors, rng = sample(seed, n=300)
        latents = factors @ rng.standard_normal((3, 4)) + rng.standard_normal((300, 4))
        score = function(latents, factors, random_state=seed, **SMALL)
        moved = function(latents[:, ::-1], factors, random_state=seed, **SMALL)
        assert 0 <= float(score) <= 1
        # The same draws, and a classifier that does not care for the order of latents.
        assert float(moved) == pytest.approx(float(score), abs=0.011)


def test_beta_vae_forgives_a_missing_factor_and_factor_vae_does_not():
    """Kim and Mnih (2018), section 4: K - 1 of K factors are enough for the linear classifier."""
    for seed in range(3):
        factors, rng = sample(seed, n=2000)
        latents = np.column_stack([factors[:, :2], rng.standard_normal(2000)])
        assert float(scores.beta_vae(latents, factors, random_state=seed)) > 0.99
        lowered = scores.factor_vae(
            np.column_stack([factors[:, :2]] * 2), factors, random_state=seed, **SMALL
        )
        assert float(lowered) < 0.8
