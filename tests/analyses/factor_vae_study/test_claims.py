"""Claims of seed 003: what is compared with what, and which verdict a difference gets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from analyses.factor_vae_study.batch_estimates import estimate_lines
from analyses.factor_vae_study.claims.correlation_claims import (
    correlation_lines,
    course_claims,
    encoded,
    gamma_claims,
    nearest_half,
)
from analyses.factor_vae_study.claims.info_gan_claims import (
    compare_groups,
    gan_lines,
    power_of_ranks,
)
from analyses.factor_vae_study.claims.paired_claims import AT_CEILING, PairedClaim, claim_table
from analyses.factor_vae_study.claims.score_claims import (
    equal_claims,
    plain_claims,
    points_left_out,
    reconstruction_claims,
    score_lines,
)
from analyses.factor_vae_study.claims.score_correlations import (
    PUBLISHED,
    correlation_of,
    correlation_table,
    drawn_again,
    verdict_on,
)
from analyses.factor_vae_study.factor_vae_report import write_report
from analyses.factor_vae_study.named_runs import BETA, FACTOR, GAN
from analyses.factor_vae_study.run_measures import ERROR, OLDER, SCORE
from analyses.factor_vae_study.strength_figures import draw_scores
from analyses.factor_vae_study.study_presets import PRESETS
from analyses.factor_vae_study.total_correlation import ESTIMATE, INFORMATION, LOG_Q, NORMAL, TRUE
from analyses.shared.studies.verdicts import Interval

TINY = PRESETS["tiny-for-tests"]
SEEDS = range(16)


def made_runs(gain=0.15, older=0.7, seeds=SEEDS):
    """Runs whose FactorVAEs score so much more than beta-VAEs of the same error."""
    random = np.random.default_rng(0)
    rows = []
    for seed in seeds:
        noise = random.normal(0, 0.02, 20)
        for j, beta in enumerate((0.5, 1.0, 4.0)):
            rows.append(
                {"name": BETA, "strength": beta, "seed": seed, ERROR: 40.0 + 10 * j,
                 SCORE: 0.5 + noise[j], OLDER: older + noise[j], TRUE: 9.0 / beta + noise[j],
                 NORMAL: 1 / beta, INFORMATION: 8.0, LOG_Q: -12.0,
                 "TC, B of 64": noise[j] - 3.0 / beta, "TC, B of 64 itself": 5.0,
                 f"{LOG_Q}, B of 64": -40.0}
            )  # fmt: skip
        for j, gamma in enumerate((10.0, 40.0)):
            rows.append(
                {"name": FACTOR, "strength": gamma, "seed": seed, ERROR: 50.5 + j,
                 SCORE: 0.5 + gain + noise[5 + j], OLDER: older + noise[8 + j],
                 TRUE: 4.0 - 2 * j + noise[j], ESTIMATE: 0.1, NORMAL: 0.2, INFORMATION: 7.0}
            )  # fmt: skip
        rows.append({"name": GAN, "strength": 0.2, "seed": seed,
                     SCORE: 0.3 + noise[9], OLDER: 0.4 + noise[10]})  # fmt: skip
    return pd.DataFrame(rows)


def made_course(seeds=SEEDS):
    """Looks at runs that begin to encode after step 100, whose truth then falls."""
    random = np.random.default_rng(1)
    truth = {100: 0.01, 400: 3.0, 3200: 2.5, 6000: 1.0}
    return pd.DataFrame(
        [
            {"gamma": gamma, "seed": seed, "step": step,
             TRUE: value + random.normal(0, 0.002), ESTIMATE: 0.5 * value}
            for gamma in (10.0, 40.0)
            for seed in seeds
            for step, value in truth.items()
        ]
    )  # fmt: skip


def verdicts(lines):
    """Last cell of every row of a table by its first."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {row[0]: row[-1] for row in rows if len(row) > 2}


# Scores


def test_factor_vaes_are_compared_with_beta_vaes_of_the_same_error_gamma_by_gamma():
    rows = made_runs()
    claims = equal_claims(rows, SCORE, "+.09")
    assert [claim.published for claim in claims] == ["", "+.09", ""]
    for claim in claims:
        assert len(claim.first) == 16
        assert np.mean(list(claim.first.values())) == pytest.approx(0.15, abs=0.02)
    both = (claims[0].first[3] + claims[1].first[3]) / 2
    assert claims[2].first[3] == pytest.approx(both)
    found = verdicts(claim_table(claims, 0.09))
    assert found[f"{SCORE}, FactorVAE (gamma 40) - beta-VAE"] == "reproduced"
    assert found[f"{SCORE}, FactorVAE (gamma 10) - beta-VAE"] == "above"
    none = verdicts(claim_table(equal_claims(made_runs(gain=0.0), SCORE, "+.09"), 0.09))
    assert none[f"{SCORE}, FactorVAE (gamma 40) - beta-VAE"] == "not reproduced"


def test_points_that_no_beta_vae_reconstructs_like_are_left_out_and_counted():
    rows = made_runs()
    outside = (rows["name"] == FACTOR) & (rows["strength"] == 40.0) & (rows["seed"] < 5)
    rows.loc[outside, ERROR] = 99.0
    assert points_left_out(rows, 40.0) == (5, 16) and points_left_out(rows, 10.0) == (0, 16)
    assert len(equal_claims(rows, SCORE, "")[1].seeds) == 11
    assert "0 of 16 at gamma 10, 5 of 16 at gamma 40" in "\n".join(score_lines(rows))


@pytest.mark.parametrize(("older", "full"), [(0.98, True), (0.7, False)])
def test_rows_of_a_score_at_its_ceiling_cannot_be_told(older, full):
    rows = made_runs(older=older)
    for claims in (equal_claims(rows, OLDER, "above"), plain_claims(rows, OLDER, "above")):
        found = set(verdicts(claim_table(claims, 0.05)).values()) - {"verdict"}
        assert (found == {AT_CEILING}) == full
    assert not any(claim.full for claim in equal_claims(rows, SCORE, ""))


def test_barely_sacrificing_is_two_per_cent_of_the_error_of_the_vae():
    claims = reconstruction_claims(made_runs())  # 50.5 and 51.5 beside 50
    assert claims[0].second[0] == pytest.approx(1.0) and claims[1].second[0] == pytest.approx(3.0)
    found = list(verdicts(claim_table(claims, 1.0)).values())[1:]
    assert found[:2] == ["reproduced", "not reproduced"]


def test_p_and_power_are_corrected_for_the_rows_of_a_table():
    random = np.random.default_rng(0)
    zero = dict.fromkeys(SEEDS, 0.0)
    one = PairedClaim("a", "above", dict(enumerate(random.normal(0.06, 0.1, 16))), zero)
    alone = claim_table([one], 0.05)[-1].split(" | ")
    many = claim_table([dataclasses.replace(one, words=w) for w in "abcd"], 0.05)[-1].split(" | ")
    assert float(many[4]) == pytest.approx(4 * float(alone[4]), abs=0.003)
    assert float(many[5]) < float(alone[5])
    few = claim_table([PairedClaim("b", "", {0: 1.0}, {0: 2.0})], 0.05)[-1]
    assert few == "| b | not published | 1 |  |  |  | too few seeds |"


# Total correlation


def test_half_way_is_by_steps_and_not_by_looks():
    assert nearest_half(made_course()["step"]) == 3200
    begun = encoded(made_course())
    assert 100 not in set(begun["step"]) and len(begun) == 2 * 16 * 3
    claims = {claim.words: claim for claim in course_claims(begun, 3200, 6000)}
    fall = claims[f"{TRUE} half way - at the end, gamma 40"]
    assert fall.first[0] == pytest.approx(2.5, abs=0.1) and len(fall.seeds) == 16
    smallest = claims[f"{TRUE} - {ESTIMATE}, smallest of all looks, gamma 10"]
    assert smallest.first[0] == pytest.approx(0.5, abs=0.1)  # at the last look, where truth is 1


def test_verdicts_on_total_correlation():
    rows, course = made_runs(), made_course()
    found = verdicts(correlation_lines(rows, course))
    assert found[f"{TRUE} half way - at the end, gamma 10"] == "reproduced"
    assert found[f"{TRUE}, gamma 10 - gamma 40"] == "reproduced"
    assert found[f"{NORMAL}, gamma 10 - gamma 40"] == "not reproduced"
    rising = course.assign(**{TRUE: course[TRUE].max() - course[TRUE]})
    lines = correlation_lines(rows, rising)
    assert verdicts(lines)[f"{TRUE} half way - at the end, gamma 10"] == "not reproduced"
    assert "Half way is step 3200 of 6000" in "\n".join(lines)
    nothing = correlation_lines(rows, course.assign(**{TRUE: 0.0}))
    assert not any("half way -" in line for line in nothing)
    assert len(gamma_claims(rows, TRUE)) == 3


def test_estimates_from_batches_are_told_seed_by_seed():
    lines = estimate_lines(made_runs().query("name == @BETA"))
    assert verdicts(lines)["0 - TC, B of 64, beta 1"] == "reproduced"
    assert verdicts(lines)["0 - TC, B of 64, beta 4"] == "above"  # the paper has no beta of 4
    assert estimate_lines(pd.DataFrame({"strength": [], "seed": []})) == []


# InfoWGAN-GP


def test_both_scores_of_the_gan_are_tested_and_its_length_is_said():
    lines = gan_lines(made_runs(), PRESETS["quick"])
    found = verdicts(lines)
    assert found[f"{SCORE}, VAE - InfoWGAN-GP (0.2)"] == "reproduced"
    assert found[f"{OLDER}, VAE - InfoWGAN-GP (0.2)"] == "reproduced"
    assert "6000 steps, the VAEs 6000: as many" in lines[2]
    shorter = gan_lines(made_runs(), dataclasses.replace(PRESETS["quick"], gan_steps=1500))
    assert "1500 steps, the VAEs 6000: a low score may be for want of training" in shorter[2]


def test_groups_that_do_not_differ_are_told_where_there_are_enough():
    random = np.random.default_rng(0)
    first, second = random.normal(0.5, 0.02, (2, 16))
    found = compare_groups(first, second, 0.09, tests=2)
    assert found.verdict(found.p) == "not reproduced" and found.power > 0.95
    few = compare_groups(first[:2], second[:2], 0.09)
    assert few.verdict(few.p).startswith("cannot tell (power 0.00")
    low = compare_groups(second - 0.3, first, 0.09)
    assert low.verdict(low.p) == "not reproduced"
    assert power_of_ranks(10, 16, 1.0, 0.025) < power_of_ranks(10, 16, 1.0)


# Correlations of scores


def test_correlations_of_scores_have_known_answers():
    a, seeds = np.arange(30.0), np.arange(30)
    found = drawn_again(a, -a, seeds, "Spearman", draws=50)
    assert (found.value, found.low, found.high) == pytest.approx((-1.0, -1.0, -1.0))
    assert correlation_of("Kendall")(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(
        1 / 3
    )
    wide = drawn_again(a, np.cos(a), seeds, "Pearson", draws=200)
    assert wide.low < wide.value < wide.high and wide.low < 0 < wide.high


def test_runs_of_a_seed_are_no_independent_runs():
    random = np.random.default_rng(0)
    levels = random.standard_normal((2, 12))
    a, b = (np.repeat(own, 8) + random.normal(0, 0.01, 96) for own in levels)
    seeds = np.repeat(np.arange(12), 8)
    by_seed, by_run = (drawn_again(a, b, each, "Pearson") for each in (seeds, np.arange(96)))
    assert by_seed.high - by_seed.low > 1.8 * (by_run.high - by_run.low)
    assert by_seed.value == by_run.value and by_seed.n == 12


def test_a_coefficient_is_reproduced_by_precision_and_not_by_the_lack_of_it():
    published = PUBLISHED["Kendall"]
    assert verdict_on(Interval(0.3, 0.22, 0.38, 16), published, 0.9) == "reproduced"
    assert verdict_on(Interval(0.3, -0.1, 0.6, 16), published, 0.0) == "cannot tell (power 0.00)"
    assert verdict_on(Interval(0.05, 0.0, 0.1, 16), published, 1.0) == "not reproduced (lower)"
    assert "Not enough runs" in correlation_table(made_runs(seeds=range(2)))[2]


# The report


def test_the_report_has_every_picture_and_only_what_is_finished(tmp_path):
    write_report(made_runs(), made_course(), PRESETS["quick"], "quick", 96, "Words.", tmp_path)
    text = (tmp_path / "results.md").read_text()
    pictures = {path.name for path in tmp_path.glob("*.png")}
    assert pictures == {"scores.png", "strengths.png", "total_correlation.png"}
    assert all(f"]({name})" in text for name in pictures)
    assert "96 of 96 runs are finished" in text and "corrected for 3 rows" in text
    some = made_runs().query("name == @BETA")
    write_report(some, pd.DataFrame(), PRESETS["quick"], "quick", 96, "Words.", tmp_path / "some")
    assert not (tmp_path / "some" / "total_correlation.png").exists()


def test_labels_of_points_cover_neither_each_other_nor_lines():
    rows = made_runs()
    rows.loc[rows["name"] == FACTOR, ERROR] += 0.05 * rows["strength"]
    axis = draw_scores(rows)
    axis.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axis.texts]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    points = axis.transData.transform(
        rows.groupby(["name", "strength"])[[ERROR, SCORE]].mean().dropna()
    )
    assert not any(box.contains(*point) for box in boxes for point in points)
