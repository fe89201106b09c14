"""Claims follow what is in the runs, and say on which set they were published."""

import numpy as np
import pandas as pd
import pytest

from analyses.unsupervised_study import mean_shares as means
from analyses.unsupervised_study.claims.claim import ON_COLOR, Claim
from analyses.unsupervised_study.claims.efficiency_claims import efficiency_claims
from analyses.unsupervised_study.claims.overlap_claims import (
    held_out_pairs,
    overlap_claims,
    overlap_of_methods,
    overlap_of_share,
)
from analyses.unsupervised_study.claims.score_claims import (
    agreement_claims,
    correlation_claims,
    within_ranks,
)
from analyses.unsupervised_study.claims.selection_claims import selection_claims
from analyses.unsupervised_study.claims.setting_claims import (
    correlated_settings_claims,
    dominance_claims,
    left_by_seeds,
    transfer_claims,
)
from analyses.unsupervised_study.claims.study_claims import all_claims
from analyses.unsupervised_study.share_tables import SHARE_MARGIN, share_cells
from analyses.unsupervised_study.study_measures import (
    ACCURACY,
    EFFICIENCY,
    PUBLISHED_SCORES,
    TC_MEAN,
    TC_SAMPLED,
    guessing,
    whose_codes_are_read,
)
from tests.analyses.unsupervised_study.drawn_runs import study_frame


def test_what_was_published_of_another_set_is_said_to_be_of_it():
    def said(data, published, verdict, on=ON_COLOR):
        one = Claim("Fig. 1", data, "", published, "", 9, 0.5, verdict, on)
        return one.published_words, one.verdict_words

    assert said("color", "falls", "reproduced") == ("falls (on Color-dSprites)", "reproduced")
    other = "not published for this set; falls on Color-dSprites"
    assert said("plain", "falls", "reproduced") == (other, "as on Color-dSprites")
    assert said("plain", "falls", "not reproduced") == (other, "not as on Color-dSprites")
    assert said("plain", "falls", "cannot tell") == (other, "cannot tell")
    assert said("all", "falls", "cannot tell")[0].startswith("not published for these sets")
    assert said("all", "80.7%", "reproduced", "") == ("80.7%", "reproduced")
    assert said("all", "", "", "") == ("not published", "")


def test_the_published_set_is_first_in_every_figure():
    made = study_frame(effect=1.0, seeds=2)
    claims = all_claims(made)
    first: dict[str, str] = {}
    for claim in claims:
        first.setdefault(claim.where, claim.data)
    assert (first["Fig. 1"], first["Fig. 2"], first["Fig. 6"]) == ("color", "noisy", "plain")
    assert not any(claim.is_published for claim in claims if claim.where.startswith("Fig. 3"))
    published, apart = selection_claims(made)
    assert "of 30 pairs" in published.claim and "UDR" in apart.claim and apart.verdict == ""


def test_codes_that_are_not_read_say_nothing_of_efficiency():
    """They are read from few labels as well as from many: not at all."""
    made = study_frame(effect=1.0)
    chance = guessing("plain")
    made[ACCURACY["trees"]] = np.where(made["place"] == 0, chance, 0.9)
    assert set(whose_codes_are_read(made)["place"]) == {1, 2}
    # Efficiency rises with every score, but for the runs that say nothing, which have the most.
    for column in EFFICIENCY.values():
        made[column] = np.where(made["place"] == 0, 5.0, made["mig"])
    claims = efficiency_claims(made)
    assert {claim.verdict for claim in claims if "rees" in claim.claim} == {"not reproduced"}
    assert [claim.where for claim in claims] == ["Fig. 6"] * 4 + ["Fig. 5"] * 4 + ["Figs. 5, 6"] * 2
    assert claims[0].data == "plain" and claims[0].is_published
    # Without any relation it is as published.
    noise = np.random.default_rng(3)
    for column in EFFICIENCY.values():
        made[column] = noise.random(len(made))
    told = [claim for claim in efficiency_claims(made) if claim.where == "Fig. 5"]
    assert {claim.verdict for claim in told} <= {"reproduced", "cannot tell"}
    assert "reproduced" in {claim.verdict for claim in told}


@pytest.mark.parametrize(("seeds", "noise", "verdicts"), [
    (2, 0.001, ("not reproduced", "cannot tell")),
    (20, 0.001, ("not reproduced", "not reproduced")),
    (12, 5.0, ("reproduced", "reproduced")),
])  # fmt: skip
def test_overlap_is_told_by_pairs_and_not_by_the_number_of_seeds(seeds, noise, verdicts):
    """Of strengths, few pairs of held-out seeds cannot tell that none wins."""
    made = study_frame(effect=1.0, sets=("plain",), seeds=seeds, noise=noise)
    if noise < 1:  # methods that do not share any value
        made["factor_vae"] += 10.0 * made["method"].astype("category").cat.codes
    claims = overlap_claims("plain", made)
    assert tuple(claim.verdict for claim in claims) == verdicts
    assert all(0 <= claim.power <= 1 for claim in claims)


def test_what_chooses_the_strengths_does_not_judge_them():
    """Of noise, half of the pairs are won; chosen and judged by the same runs, few would be."""
    random = np.random.default_rng(0)
    wins = []
    for _ in range(200):
        places = np.repeat(np.arange(6), 2)
        runs = pd.DataFrame({"method": "a", "place": places, "seed": [0, 1] * 6})
        (pair,) = held_out_pairs(runs.assign(s=random.random(12)), "s").values()
        wins.append(pair[0] / pair[1])
    assert np.mean(wins) == pytest.approx(0.5, abs=0.1)


def test_methods_of_a_share_of_the_variance_overlap_as_computed():
    random = np.random.default_rng(0)
    found = []
    for _ in range(100):
        of_method = np.sqrt(0.26) * np.repeat(random.standard_normal(6), 60)
        scores = of_method + np.sqrt(0.74) * random.standard_normal(360)
        frame = pd.DataFrame({"method": np.repeat(np.arange(6), 60), "factor_vae": scores})
        found.append(overlap_of_methods(frame))
    assert np.mean(found) == pytest.approx(overlap_of_share(0.26), abs=0.02)


def test_one_method_or_strength_that_is_best_everywhere_is_not_as_published():
    made = study_frame(effect=5.0)
    methods, strengths = dominance_claims(made)
    assert methods.verdict == strengths.verdict == "not reproduced"
    # The other way round on half of the scores: there the first are the best.
    for key in list(PUBLISHED_SCORES.values())[::2]:
        made[key] = -made[key]
    assert [claim.verdict for claim in dominance_claims(made)] == ["reproduced"] * 2


def test_settings_correlate_beyond_what_few_seeds_leave():
    strong, consistent = correlated_settings_claims(study_frame(effect=1.0))
    assert strong.verdict == consistent.verdict == "reproduced" and strong.is_published
    luck = correlated_settings_claims(study_frame(effect=0.0))
    assert all(claim.verdict != "reproduced" for claim in luck)
    assert correlated_settings_claims(study_frame(effect=1.0, sets=("plain", "noisy"))) == []
    kept = [left_by_seeds("SAP", (n, n)) for n in (1, 2, 4, 50)]
    assert kept == sorted(kept) and kept[0] == pytest.approx(0.56) and kept[-1] > 0.98


def test_sets_of_other_numbers_of_seeds_count_as_they_are():
    made = study_frame(effect=1.0)
    uneven = made[(made["data"] == "plain") | (made["seed"] < 2)]
    assert {c.runs for c in selection_claims(uneven)} == {72 + 3 * 36}
    assert {c.runs for c in transfer_claims(uneven)} == {72 + 3 * 36}
    cells = share_cells(uneven)
    assert {(c["data"], c["runs"]) for c in cells} == {
        ("plain", 72),
        *((name, 36) for name in ("color", "noisy", "scream")),
    }
    plain, noisy = (
        np.mean([c["power"] for c in cells if c["data"] == name]) for name in ("plain", "noisy")
    )
    assert plain > noisy


def test_mean_shares_are_those_of_the_cells_and_sum_to_one():
    made = study_frame(effect=1.0)
    found, cells = means.mean_shares(made, SHARE_MARGIN), share_cells(made)
    assert sum(mean["here"] for mean in found) == pytest.approx(1)
    method, both = (
        np.mean([cell["adjusted"] for cell in cells if cell["by"] == name])
        for name in ("method", "method x strength")
    )
    assert [mean["here"] for mean in found[:2]] == pytest.approx([method, both - method])
    assert [mean["published"] for mean in found] == pytest.approx([0.37, 0.21, 0.42], abs=0.01)


def test_intervals_of_mean_shares_cover_the_truth(monkeypatch):
    monkeypatch.setattr(means, "BOOTSTRAPS", 100)
    random = np.random.default_rng(4)
    effects = []
    for _ in range(3):
        method, strength = random.standard_normal((6, 1, 6)), random.standard_normal((6, 6, 6))
        method -= method.mean(axis=0)
        strength -= strength.mean(axis=1, keepdims=True)
        effects.append(
            np.sqrt(0.37) * method / method.std(axis=(0, 1))
            + np.sqrt(0.21) * strength / strength.std(axis=(0, 1))
        )
    covariance = 0.42 * (0.5 * np.eye(6) + 0.5)  # scores of one model are alike
    inside = np.zeros(3)
    for _ in range(80):
        noise = [random.multivariate_normal(np.zeros(6), covariance, (6, 6, 2)) for _ in effects]
        studies = [each[:, :, None] + drawn for each, drawn in zip(effects, noise, strict=True)]
        found = means.mean_intervals(studies)
        inside += [
            one.low <= s <= one.high for one, s in zip(found, (0.37, 0.21, 0.42), strict=True)
        ]
    assert (inside / 80 > 0.88).all()


def test_claims_follow_what_is_in_the_runs():
    made = study_frame(effect=1.0)
    own = made[made["data"] == "plain"]
    agree = [claim.verdict for claim in agreement_claims("plain", own)]
    assert agree[:3] == ["reproduced"] * 3
    turned = own.assign(**{TC_SAMPLED: -own[TC_SAMPLED], TC_MEAN: -own["place"]})
    assert [claim.verdict for claim in correlation_claims("plain", turned)] == [
        "not reproduced",
        "not reproduced",
    ]
    same = next(c for c in transfer_claims(made) if "other seed" in c.claim)
    assert float(same.found.split(" ")[0]) > 0.75 and "over seeds" in same.found
    few = transfer_claims(made[made["seed"] < 2])
    assert ["conservative" in c.found for c in few] == [True, False, True, False]


def test_luck_reproduces_little():
    made = study_frame(effect=0.0)
    claims = all_claims(made)
    agree = [claim for claim in claims if "MIG and" in claim.claim]
    assert len(agree) == 4 and all(claim.verdict != "reproduced" for claim in agree)
    assert all(np.isfinite(claim.power) for claim in claims if claim.verdict == "cannot tell")
    methods, strengths = dominance_claims(made)
    assert methods.verdict == strengths.verdict == "cannot tell"
    assert methods.found.startswith("0 of 6") and strengths.found.startswith("so of 0 of 6")
    cells = share_cells(made)
    assert abs(np.mean([cell["adjusted"] for cell in cells])) < 0.05
    covered = np.mean([cell["low"] <= 0 <= cell["high"] for cell in cells])
    assert covered > 0.85


def test_ranks_are_within_methods():
    frame = pd.DataFrame({"method": list("aabb"), "x": [1.0, 2.0, 20.0, 10.0]})
    assert within_ranks(frame, "x").tolist() == [0.5, 1.0, 1.0, 0.5]
