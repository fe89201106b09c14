"""Sets, pictures and tables that the studies of models share."""

from dataclasses import replace

import numpy as np
import pytest

from analyses import vae_distances
from analyses.shared.studies.framework_sets import (
    APART,
    MASKED,
    OVERLAP,
    SHADES,
    SHIFTED,
    SPRITES,
    framework_set,
)
from analyses.shared.studies.paired_comparisons import compare_pairs, equal_power
from analyses.shared.studies.seed_claims import NOT_PUBLISHED, SeedClaim, claims_table
from analyses.shared.studies.small_sprites import KEPT, small_sprites
from analyses.vae_frameworks.framework_report import best_by_other_seeds
from geodis import Sprites


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


# Tables


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


# Verdicts


def test_low_scores_are_no_difference_that_is_missing_and_one_that_is_there_is_told():
    claim = SeedClaim("", "above", {"model": "a"}, {"model": "b"}, "mig", learnt=0.1)
    none = "cannot tell (no mean above 0.1; power 1.00)"
    for level, verdict in ((0.02, none), (0.5, "not reproduced")):
        pair = [level, level + 0.001, level], [level, level, level + 0.001]
        assert claim.verdict(*pair, compare_pairs(*pair, 0.05)) == verdict
    for level, verdict in ((0.09, "reproduced, of low scores"), (0.19, "reproduced")):
        pair = [level, level + 0.001, level], [0.01, 0.011, 0.012]
        assert claim.verdict(*pair, compare_pairs(*pair, 0.05)) == verdict
        turned = claim.verdict(*pair[::-1], compare_pairs(*pair[::-1], 0.05))
        assert turned == f"not {verdict}"
    alike = replace(claim, equal=True)
    pair = [0.05, 0.01, 0.03], [0.02, 0.04, 0.02]
    found = compare_pairs(*pair, 0.05)
    assert (
        alike.verdict(*pair, found)
        == f"cannot tell (no mean above 0.1; power {equal_power(found):.2f})"
    )
    unsaid = replace(claim, published=NOT_PUBLISHED)
    assert unsaid.verdict(*pair, found) == "not told apart"


@pytest.mark.parametrize("equal", [False, True])
def test_scores_that_are_all_cut_at_zero_tell_nothing(equal):
    claim = SeedClaim("", "above", {"model": "a"}, {"model": "b"}, "rank", equal=equal)
    none, some = [0.0, 0.0, 0.0], [0.0, 0.1, 0.2]
    assert claim.verdict(none, none, compare_pairs(none, none, 0.05)).startswith("cannot tell")
    same = [0.3, 0.3, 0.3]  # an interval as short, of values that were not cut
    said = "reproduced" if equal else "not reproduced"
    assert claim.verdict(same, same, compare_pairs(same, same, 0.05)) == said
    found = compare_pairs(some, none, 0.05)
    assert claim.verdict(some, none, found).startswith("cannot tell (power")


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
