"""Sets, pictures and tables that the studies of models share."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses import vae_distances
from analyses.factor_vae_study.batch_estimates import batch_estimates
from analyses.factor_vae_study.score_correlations import bootstrapped, correlation_of, rank_power
from analyses.isa_tradeoff.isa_claims import SAMPLED_SMALL, STATED, VAE_SMALL
from analyses.isa_tradeoff.isa_report import named
from analyses.isa_tradeoff.prior_pictures import contour_levels, fitting_angle
from analyses.shared.studies.framework_sets import (
    APART,
    MASKED,
    OVERLAP,
    SHADES,
    SHIFTED,
    SPRITES,
    framework_set,
)
from analyses.shared.studies.paired_comparisons import compare_pairs
from analyses.shared.studies.seed_claims import SeedClaim, claims_table
from analyses.shared.studies.small_sprites import KEPT, small_sprites
from analyses.vae_frameworks.framework_report import best_by_other_seeds
from geodis import FactorGrid, Sprites, models


@pytest.mark.parametrize(("name", "sizes"), [("hearts", (6, 16, 16)), ("thinned sprites", None)])
def test_small_sprites_are_sprites(name, sizes):
    grid, whole = small_sprites(name, 16), Sprites(16, binary=True)
    assert grid.complete and (sizes is None or grid.sizes == sizes)
    last = [
        (KEPT[name].get(f, range(n)))[-1] for f, n in zip(whole.names, whole.sizes, strict=True)
    ]
    np.testing.assert_array_equal(grid.images([len(grid) - 1]), whole.images(whole.index([last])))


def test_the_sets_differ_in_what_can_be_seen():
    apart, overlap = (framework_set(name, 16) for name in (APART, OVERLAP))
    assert apart.sizes == overlap.sizes == (8, 8, 8, 8)

    def common(grid):
        """Pixels that a square shares with itself a place further on."""
        first, second = grid.images(grid.index([[0, 0, 7, 7], [1, 0, 7, 7]])).astype(float)
        return (np.minimum(first, second)[..., 0] > 0).sum()

    assert common(apart) == 0 and common(overlap) == 2
    assert framework_set(SPRITES, 16).kinds == ("labels", "numbers", "cyclic", "numbers", "numbers")
    assert framework_set(SHADES, 16).names[-2:] == ("intensity", "color")
    noisy = framework_set(MASKED[100], 16).images([0])
    assert noisy.mean() > framework_set(SPRITES, 16).images([0]).mean()


# Pictures of priors


def test_level_lines_are_norms():
    for p0, p1 in ((1.0, 2.0), (9.0, 1.0)):
        at, across, within = contour_levels(p0, p1)
        first, second = np.meshgrid(at, at)
        np.testing.assert_allclose(
            across, (abs(first) ** p0 + abs(second) ** p0) ** (1 / p0), atol=1e-12
        )
        np.testing.assert_allclose(
            within, (abs(first) ** p1 + abs(second) ** p1) ** (1 / p1), atol=1e-12
        )


def test_the_square_of_places_lies_along_the_axes_of_flat_priors_only():
    angles = np.radians([0, 15, 30, 45])
    for p, turned in ((1.0, 45), (1.5, 45), (3.0, 0), (9.0, 0)):
        assert np.degrees(fitting_angle(models.LpNested((p, [2])), angles)) == pytest.approx(turned)
    normal = models.LpNested((2.0, [2]))
    z = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    torch.testing.assert_close(*normal.log_prob(z).split(1))  # no angle is better than another


# Tables


def test_every_claim_is_stated_once():
    assert len({(test.first, test.second, test.beta) for test in STATED}) == len(STATED)


def test_a_table_of_claims_counts_the_seeds_that_both_have():
    rows = [
        {"case": {"model": model, "seed": seed}, "mig": level + 0.01 * seed}
        for model, level, seeds in (("new", 0.6, (0, 1, 2, 3)), ("old", 0.1, (1, 2, 3)))
        for seed in seeds
    ]
    kinds = ({"model": "new"}, {"model": "old"})
    lines = claims_table(
        rows,
        [
            SeedClaim("MIG", "above", *kinds, "mig"),
            SeedClaim("MIG", "below", *kinds[::-1], "mig"),
            SeedClaim("MIG", "alike", *kinds, "mig", equal=True),
            SeedClaim("DCI", "above", *kinds, "dci"),
        ],
    )
    cells = [line.split(" | ") for line in lines if line.startswith(("| MIG", "| DCI"))]
    assert [cell[2] for cell in cells] == ["3", "3", "3", "0"]
    verdicts = [cell[-1].removesuffix(" |") for cell in cells]
    assert verdicts == ["reproduced", "not reproduced", "not reproduced", "not finished"]


def test_correlations_of_scores_have_known_answers():
    a = np.arange(30.0)
    assert bootstrapped(a, -a, "Spearman", draws=50) == pytest.approx((-1.0, -1.0, -1.0))
    assert correlation_of("Kendall")(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(
        1 / 3
    )
    value, low, high = bootstrapped(a, np.cos(a), "Pearson")
    assert low < value < high and low < 0 < high
    assert rank_power(0.0, 40) == pytest.approx(0.025, abs=0.015)
    assert rank_power(0.444, 20) < rank_power(0.444, 60) < rank_power(0.8, 60) + 1e-9


# The estimate of a total correlation from a batch


def test_a_batch_that_does_not_hold_the_images_of_its_latents_is_too_small_a_mixture():
    """Seed 003, appendix D: it is negative where posteriors are narrow."""
    grid = FactorGrid.from_arrays(
        np.random.default_rng(0).integers(0, 255, (90, 4, 4, 1), dtype=np.uint8), np.arange(90)
    )
    model = models.VAE(grid, 3, network="vector", random_state=0)
    with torch.no_grad():
        model.head.layer.weight.mul_(20)
        for log_variance, sign in ((-8.0, -1), (8.0, 1)):
            model.head.layer.weight[3:] = 0
            model.head.layer.bias[3:] = log_variance
            found = batch_estimates(model, grid, sizes=(10, 60), drawn=30)
            assert found["TC"] > -1e-3
            if sign < 0:
                assert found["TC of 10"] < found["TC of 60"] < 0
                assert found["log q of 10"] < found["log q of 60"] < found["log q"]
            else:
                assert abs(found["TC of 10"] - found["TC"]) < 0.1


# Verdicts


def test_scores_of_models_that_did_not_learn_are_no_difference_that_is_missing():
    claim = SeedClaim("", "above", {"model": "a"}, {"model": "b"}, "mig", learnt=0.1)
    too_little = "cannot tell (neither is above 0.1)"
    for level, verdict in ((0.02, too_little), (0.5, "not reproduced")):
        pair = [level, level + 0.001, level], [level, level, level + 0.001]
        assert claim.verdict(*pair, compare_pairs(*pair, 0.05)) == verdict
    for level, verdict in ((0.09, too_little), (0.19, "reproduced")):
        pair = [level, level + 0.001, level], [0.01, 0.011, 0.012]
        assert claim.verdict(*pair, compare_pairs(*pair, 0.05)) == verdict


@pytest.mark.parametrize(("size", "side"), [(16, 4), (64, 8)])
def test_squares_overlap_by_as_much_as_their_name_says(size, side):
    for overlap, name in SHIFTED.items():
        grid = framework_set(name, size)
        places = np.zeros((2, len(grid.sizes)), int)
        places[1, 0] = 1
        first, second = grid.images(grid.index(places))[..., 0] > 0  # a square has its own colour
        assert first.sum() == side**2
        assert (first & second).sum() == side**2 * overlap / 100


def test_strengths_are_chosen_score_by_score_on_whole_seeds():
    shared = {"data": "a", "loss": "MSE", "model": "BetaVAE"}
    rows = [
        {"case": {**shared, "beta": beta, "seed": seed}, "mig": beta, "dci": -beta}
        for beta in (0.1, 0.2)
        for seed in range(3)
    ]
    rows.append({"case": {**shared, "beta": 0.1, "seed": 3}, "mig": 9.0, "dci": 9.0})  # not whole
    rows.append(
        {"case": {**shared, "model": "AdaGVAE", "beta": 0.1, "seed": 0}, "mig": 1, "dci": 1}
    )
    best = best_by_other_seeds(rows)
    assert [row["case"] for row in best] == [{**shared, "seed": seed} for seed in range(3)]
    assert {(row["mig"], row["dci"]) for row in best} == {(0.2, -0.1)}
    assert {(row["beta of mig"], row["beta of dci"]) for row in best} == {(0.2, 0.1)}


def test_small_batches_have_names_of_their_own():
    rows = pd.DataFrame(
        {
            "model": ["ISAVAE", "ISAVAE", "ISAVAE", "BetaVAE"],
            "learn": [None, None, "subspaces", None],
            "p0": [None, 2.0, None, None],
            "batch_size": [np.nan, 64, np.nan, 64],
            "term reconstruction": [1.0, 2.0, 3.0, 4.0],
        }
    )
    found = named(rows)
    assert list(found["name"]) == ["ISA-VAE", SAMPLED_SMALL, "ISA-VAE, learnt", VAE_SMALL]
    assert list(found["likelihood"]) == [-1, -2, -3, -4]


def test_latents_follow_perceived_distances_only_where_the_paper_shows_it():
    values = {"bound random": 0.36, "bound along factors": 0.7, "data along factors": 0.95}
    rows = [
        {
            "case": {"data": "XYSquares", "loss": loss, "seed": seed},
            **{f"{name}, published": value + 0.001 * seed for name, value in values.items()},
        }
        for loss in (vae_distances.MSE, vae_distances.BOX)
        for seed in range(3)
    ]
    cells = [line.split(" | ") for line in vae_distances._beside_published(rows) if "MSE" in line]
    verdicts = {(cell[1], cell[2]): cell[-1].removesuffix(" |") for cell in cells}
    assert verdicts == {
        ("MSE", "bound random"): "reproduced",
        ("MSE", "bound along factors"): "not reproduced",
        ("MSE", "data along factors"): "reproduced",
        ("MSE + box blur", "bound random"): "not reproduced",
        ("MSE + box blur", "bound along factors"): "not reproduced",
    }
