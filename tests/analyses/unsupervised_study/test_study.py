"""The study: what is planned, what its claims count, and a miniature that runs through."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from analyses.shared.studies.kept_runs import KEPT
from analyses.unsupervised_study import __main__ as analysis
from analyses.unsupervised_study import study_runs
from analyses.unsupervised_study.narrow_models import NarrowFactorVAE
from analyses.unsupervised_study.published_study import GROUPED_BY, SHARES
from analyses.unsupervised_study.share_tables import share_cells
from analyses.unsupervised_study.study_claims import (
    agreement_claims,
    all_claims,
    correlation_claims,
    efficiency_claims,
    overlap_claims,
    within_ranks,
)
from analyses.unsupervised_study.study_measures import (
    ACCURACY,
    DOWNSTREAM,
    EFFICIENCY,
    PUBLISHED_SCORES,
    TC_MEAN,
    TC_SAMPLED,
    UNSUPERVISED,
    balanced,
    guessing,
    learnt,
    learnt_share,
    whose_codes_are_read,
)
from analyses.unsupervised_study.study_presets import METHODS, PRESETS
from analyses.unsupervised_study.study_runs import planned, rounds_of
from analyses.unsupervised_study.study_sets import SETS, study_set
from geodis.models.stacking.model_stack import why_alone

TINY = "tiny-for-tests"


def study_frame(effect, sets=SETS, seeds=4, noise=0.1):
    """Runs whose scores follow the strength by as much as is said."""
    random = np.random.default_rng(0)
    lines = []
    for data in sets:
        for number, method in enumerate(METHODS):
            for place in range(3):
                for seed in range(seeds):
                    quality = effect * (place + number) / 8
                    drawn = quality + noise * random.standard_normal(30)
                    names = [*PUBLISHED_SCORES.values(), *UNSUPERVISED, *DOWNSTREAM]
                    values = dict(zip(names, drawn, strict=False))
                    values |= {"latents in use": 3.0, "run": f"{data}{method}{place}{seed}"}
                    values[TC_SAMPLED] = -place + noise * random.standard_normal()
                    whose = {"method": method, "strength": float(place), "place": place}
                    lines.append({**whose, "data": data, "seed": seed, **values})
    return pd.DataFrame(lines)


def test_every_run_is_planned_once_and_named_by_method_and_strength():
    quick = replace(PRESETS["quick"], sets=("plain",))
    runs = planned(quick)
    assert len({run.identity for run in runs}) == len(runs) == quick.planned
    names = study_runs._named_settings(quick)
    assert len(names) == len(METHODS) * len(quick.strengths)
    assert {study_runs._key(run.model, dict(run.named)) for run in runs} == set(names)
    in_rounds = [(name, seed) for name, seeds in rounds_of(PRESETS["paper"]) for seed in seeds]
    assert len(set(in_rounds)) == len(in_rounds) == 4 * 10
    assert PRESETS["paper"].planned == 1440


def test_the_narrow_models_are_the_methods_and_can_be_stacked():
    grid = study_set("plain")
    model = NarrowFactorVAE(grid, latents=3, discriminator_width=20, random_state=0)
    assert why_alone(model) == "" and model.discriminator is not None
    assert [tuple(p.shape) for p in model.body.parameters() if p.ndim == 2] == [
        (128, 256),
        (128, 128),
    ]


def test_sets_have_the_same_factors_in_the_same_order():
    index = np.arange(0, 46_080, 999)
    plain = study_set("plain")
    for name in SETS:
        grid = study_set(name)
        assert (grid.factors(index) == plain.factors(index)).all()
        assert grid.image_shape == (16, 16, 1 if name == "plain" else 3)


def test_published_tables_are_whole():
    assert {len(row) for side in SHARES.values() for row in side.values()} == {6}
    assert sum(len(row) for side in SHARES.values() for row in side.values()) == 84
    # Strengths within methods explain no less than methods alone.
    for data in SHARES["method"]:
        pairs = zip(*(SHARES[name][data] for name in GROUPED_BY), strict=True)
        assert all(alone <= both for alone, both in pairs)


def test_codes_that_are_not_read_say_nothing_of_efficiency():
    """They are read from few labels as well as from many: not at all."""
    made = study_frame(effect=1.0)
    chance = guessing("plain")
    made[ACCURACY["trees"]] = np.where(made["place"] == 0, chance, 0.9)
    assert set(whose_codes_are_read(made)["place"]) == {1, 2}
    # Efficiency rises with every score, but for the runs that say nothing, which have the most.
    for column in EFFICIENCY.values():
        made[column] = np.where(made["place"] == 0, 5.0, made["mig"])
    verdicts = {claim.verdict for claim in efficiency_claims(made)}
    assert verdicts == {"not reproduced"}


def test_that_runs_do_not_overlap_is_told_by_many_seeds_only():
    """Two runs of a strength are luck: nothing is not reproduced by them."""
    for seeds, noise, verdict in (
        (2, 0.001, "cannot tell"),
        (12, 0.001, "not reproduced"),
        (12, 5.0, "reproduced"),
    ):
        made = study_frame(effect=1.0, sets=("plain",), seeds=seeds, noise=noise)
        (claim,) = overlap_claims("plain", made)
        assert claim.verdict == verdict and 0 <= claim.power <= 1


def test_claims_follow_what_is_in_the_runs():
    made = study_frame(effect=1.0)
    verdicts = {(c.where, c.data, c.claim.split(" ")[2]): c.verdict for c in all_claims(made)}
    assert verdicts["Fig. 1", "plain", "samples"] == "reproduced"
    own = made[made["data"] == "plain"]
    agree = [claim.verdict for claim in agreement_claims("plain", own)]
    assert agree[:2] == ["reproduced", "reproduced"]
    turned = own.assign(**{TC_SAMPLED: -own[TC_SAMPLED], TC_MEAN: -own["place"]})
    assert [claim.verdict for claim in correlation_claims("plain", turned)] == [
        "not reproduced",
        "not reproduced",
    ]
    found = {c.claim: c for c in all_claims(made) if c.where == "Result 4"}
    same = next(c for text, c in found.items() if "other seed" in text)
    assert float(same.found.split(" ")[0]) > 0.75


def test_luck_reproduces_little():
    made = study_frame(effect=0.0)
    claims = [claim for claim in all_claims(made) if "MIG and" in claim.claim]
    assert len(claims) == 4 and all(claim.verdict != "reproduced" for claim in claims)
    cells = share_cells(made)
    assert abs(np.mean([cell["adjusted"] for cell in cells])) < 0.05
    covered = np.mean([cell["low"] <= 0 <= cell["high"] for cell in cells])
    assert covered > 0.85


def test_sets_and_seeds_count_once_they_are_whole():
    quick = PRESETS["quick"]
    made = study_frame(effect=1.0, sets=("plain", "noisy"), seeds=3)
    assert len(balanced(made, quick)) == len(made) == 2 * 18 * 3
    lost = balanced(made.drop(index=[0]), quick)
    assert lost.groupby("data")["seed"].nunique().to_dict() == {"plain": 2, "noisy": 3}
    one = made[(made["data"] == "noisy") | (made["seed"] == 0)]
    assert set(balanced(one, quick)["data"]) == {"noisy"}


def test_sets_of_which_nothing_is_learnt_are_left_out():
    made = study_frame(effect=1.0, sets=("plain", "noisy"))
    good = made["data"] == "plain"
    made["trees accuracy"] = np.where(good, 0.5, guessing("noisy") + 0.02)
    assert set(learnt(made)["data"]) == {"plain"}
    one = made.assign(
        **{"trees accuracy": made["trees accuracy"].mask(made["method"] == "FactorVAE", 0.4)}
    )
    assert set(learnt(one)["data"]) == {"plain", "noisy"}  # that others learn nothing says much
    assert learnt_share(made[good], 0.5) == 0 and learnt_share(made[good], 0.0) == 0.5


def test_ranks_are_within_methods():
    frame = pd.DataFrame({"method": list("aabb"), "x": [1.0, 2.0, 20.0, 10.0]})
    assert within_ranks(frame, "x").tolist() == [0.5, 1.0, 1.0, 0.5]


@pytest.mark.long
def test_it_runs_through_says_how_many_runs_and_goes_on(tmp_path):
    torch.set_num_threads(1)
    out, runs = tmp_path / "out", tmp_path / "runs"
    line = ["--preset", TINY, "--out", str(out), "--runs", str(runs)]
    assert analysis.main([*line, "--report"]) == 2  # nothing is finished
    assert analysis.main(line) == 0
    content = json.loads((out / "results.json").read_text())
    assert len(content["rows"]) == PRESETS[TINY].planned == 8
    assert {path.suffix for path in out.iterdir()} == {".gz", ".json", ".md", ".png"}
    text = (out / "results.md").read_text()
    assert "Runs finished: 8 (dSprites 8)" in text and "not finished" not in text
    assert "## What was learnt" in text
    # What was found is kept: without the models the same is reported, and nothing trained again.
    (out / "results.md").rename(tmp_path / "before.md")
    shutil.rmtree(runs)
    assert analysis.main([*line, "--report"]) == 0
    assert (out / "results.md").read_text() == (tmp_path / "before.md").read_text()
    # Where a run is lost, its seed is not whole: one is left, which says nothing of luck.
    (out / KEPT).unlink()
    (runs / "runs" / content["rows"][0]["run"] / "row.json").unlink()
    assert analysis.main([*line, "--report"]) == 2
