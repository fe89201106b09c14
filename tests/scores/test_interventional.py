"""BetaVAE and FactorVAE scores: reference values, defects of the peers, laws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.scores import _fixed
from geodis.scores import interventional as fast
from geodis.scores._collapsed import active_latents
from tests import GOLDEN
from tests import reference_scores_b as slow

EXPECTED = GOLDEN / "disentanglement_lib"
FILES = sorted(EXPECTED.glob("betavae_factorvae_s*.npz"))
SMALL = {"n_train": 400, "n_eval": 400, "batch_size": 16}


def sample(seed, n=600, sizes=(3, 4, 5)):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(size, size=n) for size in sizes]), rng


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem[-2:])
def golden(request):
    with np.load(request.param, allow_pickle=False) as file:
        data = dict(file)
    book = slow.Codebook(data["codebook"], data["factor_sizes"])
    sizes = int(data["num_train"]), int(data["num_eval"]), int(data["batch_size"])
    return data, book, sizes


def test_all_reference_files_are_there():
    assert len(FILES) == 6


def test_differences_equal_the_reference(golden):
    data, book, (n_train, n_eval, size) = golden
    random = np.random.RandomState(int(data["seed"]))
    for part, count in (("train", n_train), ("eval", n_eval)):
        labels, left, right = slow.beta_vae_draws(book, count, size, random)
        np.testing.assert_array_equal(labels, data[f"betavae_{part}_labels"])
        points = fast.pair_differences(book.codebook, left, right)
        np.testing.assert_allclose(points, data[f"betavae_{part}_points"], rtol=0, atol=1e-9)
    few = slow.beta_vae_points(book.codebook, left[:5], right[:5])
    np.testing.assert_allclose(points[:5], few, rtol=0, atol=1e-12)


def test_accuracy_of_the_linear_classifier_equals_the_reference(golden):
    data, book, (n_train, _, _) = golden
    points = np.concatenate([data["betavae_train_points"], data["betavae_eval_points"]])
    labels = np.concatenate([data["betavae_train_labels"], data["betavae_eval_labels"]])
    source = _fixed.open_source(book.codebook, FactorGrid(book.sizes), "beta_vae")
    score = fast._linear_score(source, points, labels, n_train)
    assert float(score) == pytest.approx(float(data["betavae_eval_accuracy"]), abs=1e-9)
    assert score.details["train_accuracy"] == pytest.approx(float(data["betavae_train_accuracy"]))


def replay(golden):
    data, book, (n_train, n_eval, size) = golden
    random = np.random.RandomState(int(data["seed"]))
    typical = book.rows(book.draw(int(data["num_variance_estimate"]), random))
    variances = book.codebook[typical].var(axis=0, ddof=1)
    parts = [slow.factor_vae_draws(book, count, size, random) for count in (n_train, n_eval)]
    return variances, np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def test_votes_and_their_accuracy_equal_the_reference(golden):
    data, book, (n_train, _, _) = golden
    variances, labels, rows = replay(golden)
    np.testing.assert_allclose(variances, data["factorvae_global_variances"], rtol=1e-9)
    active = active_latents(book.codebook)
    np.testing.assert_array_equal(active, data["factorvae_active_dims_pruned05"])
    votes = fast.vote(book.codebook, rows, variances, active)
    source = _fixed.open_source(book.codebook, FactorGrid(book.sizes), "factor_vae")
    score = fast._majority_score(source, votes, labels, n_train, active)
    # The reference counts the kept latents only, from 0.
    for found, key in ((score.matrix, "train"), (score.details["eval_votes"], "eval")):
        expected = np.zeros_like(found)
        expected[active] = data[f"factorvae_{key}_votes_pruned05"][:, : active.sum()].T
        np.testing.assert_array_equal(found, expected)
    assert float(score) == pytest.approx(float(data["factorvae_eval_accuracy_pruned05"]), abs=1e-9)
    train = float(data["factorvae_train_accuracy_pruned05"])
    assert score.details["train_accuracy"] == pytest.approx(train, abs=1e-9)


def test_votes_equal_the_twin(golden):
    _, book, _ = golden
    variances, labels, rows = replay(golden)
    labels, rows = labels[:300], rows[:300]
    active = active_latents(book.codebook)
    shape = (book.codebook.shape[1], len(book.sizes))
    found = fast.count_votes(fast.vote(book.codebook, rows, variances, active), labels, shape)
    expected = slow.factor_vae_votes(book.codebook, labels, rows, variances, shape[1], active)
    np.testing.assert_array_equal(found.T, expected)


def test_constant_latents_do_not_take_every_vote():
    """The peer keeps latents of variance 0, whose ratio is NaN, and argmin names the first NaN."""
    with np.load(EXPECTED / "betavae_factorvae_s4.npz", allow_pickle=False) as file:
        book, sizes, peer = file["codebook"], file["factor_sizes"], file["factorvae_eval_accuracy"]
    assert float(peer) < 0.4
    for seed in range(3):
        score = scores.factor_vae(book, FactorGrid(sizes), random_state=seed, **SMALL)
        assert float(score) == 1.0
        assert score.details["active"].sum() == 3 and "3 of 6 latents collapsed" in score.note


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

    def test_too_few_rows_say_what_is_needed(self, function):
        factors, rng = sample(0, n=15)
        with pytest.raises(InputError, match="two factors with two values of 10 rows or more"):
            function(rng.standard_normal((15, 2)), factors)

    def test_one_factor_is_refused(self, function):
        factors, rng = sample(0)
        with pytest.raises(InputError, match="needs two that vary; 1 came"):
            function(rng.standard_normal((600, 2)), factors[:, 0])
        with pytest.raises(InputError, match="needs two that vary; 1 came"):
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


def test_factor_vae_ignores_the_scale_of_a_latent():
    factors, rng = sample(3)
    latents = factors + rng.standard_normal(factors.shape)
    plain = scores.factor_vae(latents, factors, random_state=0, **SMALL)
    scaled = scores.factor_vae(latents * [1e-6, 1, 1e6], factors, random_state=0, **SMALL)
    assert float(plain) == float(scaled)


def test_standardising_lets_beta_vae_see_small_latents():
    factors, _ = sample(0)
    assert float(scores.beta_vae(factors * 1e-5, factors, random_state=0, **SMALL)) < 0.9
    seen = scores.beta_vae(factors * 1e-5, factors, standardise=True, random_state=0, **SMALL)
    assert float(seen) == 1.0


def test_collapse_to_the_prior_is_seen_in_the_variances():
    factors, rng = sample(0)
    latents = np.column_stack([factors - 1.5, 1e-3 * rng.standard_normal((600, 2))])
    log_variances = np.full(latents.shape, -4.0)
    log_variances[:, 3:] = 0
    score = scores.factor_vae(
        latents, factors, log_variances=log_variances, random_state=0, **SMALL
    )
    assert score.details["active"].tolist() == [True] * 3 + [False] * 2
    by_std = scores.factor_vae(latents, factors, min_std=0.05, random_state=0, **SMALL)
    assert by_std.details["active"].tolist() == [True] * 3 + [False] * 2
    with pytest.raises(InputError, match=r"shape of the latents, \(600, 5\)"):
        scores.factor_vae(latents, factors, log_variances=log_variances[:5])


def test_a_batch_needs_two_rows_to_vary():
    factors, _ = sample(0)
    with pytest.raises(InputError, match="batch_size must be at least 2"):
        scores.factor_vae(factors * 1.0, factors, batch_size=1)


def test_pairs_share_the_value_and_are_two_rows():
    factors, rng = sample(0, n=100)
    rows = _fixed.SampleRows(factors, 10)
    for k in range(3):
        left, right = rows.pairs(k, 50, 20, rng)
        assert (factors[left, k] == factors[right, k]).all() and (left != right).all()
        batches = rows.batches(k, 50, 20, rng)
        assert (factors[batches, k] == factors[batches[:, :1], k]).all()
        assert len(np.unique(factors[batches[:, 0], k])) == len(np.unique(factors[:, k]))


def test_draws_from_a_grid_fix_one_factor_and_leave_the_others_uniform(rng):
    grid = FactorGrid((3, 4, 5))
    batches = _fixed.GridRows(grid).batches(1, 400, 30, rng)
    factors = grid.factors(batches.ravel()).reshape(400, 30, 3)
    assert (factors[:, :, 1] == factors[:, :1, 1]).all()
    shares = np.bincount(factors[:, :, 2].ravel()) / batches.size
    np.testing.assert_allclose(shares, 0.2, atol=0.02)
