"""Interventional robustness score: reference values, the twin, laws, degenerate input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from tests import GOLDEN
from tests.reference import intervention_and_unsupervised as slow

EXPECTED = GOLDEN / "disentanglement_lib"
FILES = sorted(EXPECTED.glob("latents_s*.npz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-3:])
def test_equals_the_reference(path):
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    active = data["irs_active"]
    for quantile, suffix in ((0.99, ""), (1.0, "_q1")):
        score = scores.irs(data["latents"], data["factors"], quantile=quantile)
        assert float(score) == pytest.approx(float(data[f"irs{suffix}"]), abs=1e-9)
        np.testing.assert_allclose(
            score.matrix[active], data[f"irs_matrix{suffix}"], rtol=0, atol=1e-9
        )
        per_latent = score.per_latent[active]
        np.testing.assert_allclose(per_latent, data[f"irs_per_latent{suffix}"], rtol=0, atol=1e-9)
    details = score.details  # the reference's parents are those of quantile 1
    np.testing.assert_array_equal(details["parents"][active], data["irs_parents"])
    np.testing.assert_allclose(details["max_deviations"][active], data["irs_max_deviations"])
    # The peer reports the sum of the latents as their number; ours are named one by one.
    assert (details["parents"][~active] == -1).all()
    assert (details["max_deviations"][~active] == 0).all()


def test_the_sixteen_files_are_there():
    assert len(FILES) == 16


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), quantile=st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_equals_the_twin_and_keeps_the_laws(seed, quantile):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(size, size=300) for size in (2, 3, 4)])
    latents = factors @ rng.standard_normal((3, 4)) + rng.standard_normal((300, 4))
    score = scores.irs(latents, factors, quantile=quantile)
    value, matrix, widest = slow.irs(latents, factors, quantile)
    assert float(score) == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(score.matrix, matrix, atol=1e-12)
    np.testing.assert_allclose(score.details["max_deviations"], widest)
    # A shift and one scale for all latents change nothing, nor does any order.
    same = scores.irs(3 * latents[:, ::-1] - 7, factors[:, ::-1], quantile=quantile)
    assert float(same) == pytest.approx(value, abs=1e-9)
    assert float(score) <= 1


def test_a_perfect_code_is_robust_and_noise_is_at_chance():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors = np.column_stack([rng.integers(4, size=3000) for _ in range(3)])
        assert float(scores.irs(factors * [1.0, 2.0, 0.1], factors)) == 1.0
        noise = rng.standard_normal((3000, 5))
        shuffled = factors[rng.permutation(3000)]
        chance = float(scores.irs(noise, shuffled))
        assert float(scores.irs(noise, factors)) == pytest.approx(chance, abs=0.05)


def test_values_with_few_rows_do_not_make_anything_robust(rng):
    """One row deviates from its own mean by nothing: every value unique would score 1."""
    factors = np.column_stack([rng.integers(4, size=400), np.arange(400) // 2])
    noise = rng.standard_normal((400, 3))
    score = scores.irs(noise, factors)
    assert float(score) < 0.5 and "factor 1 has too few rows a value" in score.note
    assert np.isnan(score.matrix[:, 1]).all()
    with pytest.raises(InputError, match="10 rows of the same value or more; got 400 rows"):
        scores.irs(noise, factors[:, 1])


def test_degenerate_input(rng):
    factors = rng.integers(3, size=(200, 2))
    constant = scores.irs(np.ones((200, 3)), factors)
    assert float(constant) == 0 and "every latent is constant" in constant.note
    one = scores.irs(rng.standard_normal((200, 2)), factors[:, 0])
    assert 0 <= float(one) <= 1
    still = scores.irs(factors * 1.0, np.column_stack([factors, np.zeros(200)]))
    assert "factor 2 has one value" in still.note
    with pytest.raises(InputError, match="got 2 rows"):
        scores.irs([[0.0], [1.0]], [0, 1])


def test_a_code_of_a_grid_is_its_rows(rng):
    grid = FactorGrid((4, 5, 6), names=("a", "b", "c"))
    code = rng.standard_normal((120, 4))
    by_grid = scores.irs(code, grid)
    assert float(by_grid) == float(scores.irs(code, grid.factors(range(120))))
    assert by_grid.factor_names == ("a", "b", "c")


def test_an_encoder_of_a_large_grid_is_sampled():
    images = np.arange(240, dtype=np.uint8).reshape(240, 1, 1)
    factors = np.stack(np.unravel_index(np.arange(240), (12, 20)), axis=1)
    grid = FactorGrid.from_arrays(images, factors)
    seen = []

    def encoder(batch):
        seen.append(len(batch))
        return batch.reshape(len(batch), 1)

    # The image is 20 a + b: robust to b, hardly to a.
    score = scores.irs(encoder, grid, n_samples=200, random_state=0)
    assert sum(seen) == 200 and score.details["parents"].tolist() == [0]


@pytest.mark.parametrize("quantile", [-0.01, 1.01])
def test_a_quantile_lies_between_zero_and_one(quantile):
    factors = np.random.default_rng(0).integers(3, size=(90, 2))
    with pytest.raises(InputError, match="quantile must be"):
        scores.irs(factors * 1.0, factors, quantile=quantile)
