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
from analyses.unsupervised_study.study_measures import (
    TC_MEAN,
    balanced,
    guessing,
    learnt,
    learnt_share,
    measured_table,
)
from analyses.unsupervised_study.study_presets import METHODS, PRESETS
from analyses.unsupervised_study.study_runs import planned, rounds_of
from analyses.unsupervised_study.study_sets import SETS, study_set
from analyses.unsupervised_study.study_tables import step_lines
from geodis.models.sweeps.stacks import why_alone
from tests.analyses.unsupervised_study.drawn_runs import study_frame

TINY = "tiny-for-tests"


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


def test_convergence_is_that_of_the_runs_that_count(rng):
    frame = study_frame(effect=1.0, sets=("plain",), seeds=2)
    steps = pd.concat(
        [
            frame[["run", "data"]].assign(step=step, **{"score mig": rng.random(len(frame))})
            for step in (2, 2000)
        ]
    )
    other = steps[:3].assign(run="of a seed that is not whole", step=2000)
    lines = step_lines(frame, pd.concat([steps, other]), PRESETS["quick"])
    rows = [line.split(" | ") for line in lines if line.startswith("| dSprites")]
    assert [row[-1] for row in rows] == [f"{len(frame)} |"] * 2


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
    assert "Runs finished: 8 (dSprites 8 of 2 seeds)" in text and "not finished" not in text
    assert "## What was learnt" in text
    assert {line for line in text.split("\n") if line.startswith("![")} == {
        f"![{path.stem}]({path.name})" for path in out.glob("*.png")
    }
    # What was found is kept: without the models the same is reported, and nothing trained again.
    (out / "results.md").rename(tmp_path / "before.md")
    shutil.rmtree(runs)
    assert analysis.main([*line, "--report"]) == 0
    assert (out / "results.md").read_text() == (tmp_path / "before.md").read_text()
    # Means of a run whose latents are all idle are rounding.
    for number, row in enumerate(content["rows"]):
        kept = runs / "measured" / f"{row['run']}.json"
        values = json.loads(kept.read_text())["values"]
        values |= {"latents in use": float(number > 0), TC_MEAN: 120.5}
        kept.write_text(json.dumps({"values": values}))
    measured = measured_table(PRESETS[TINY], runs).set_index("run")[TC_MEAN]
    assert np.isnan(measured.pop(content["rows"][0]["run"])) and (measured == 120.5).all()
    # Where a run is lost, its seed is not whole: one is left, which says nothing of luck.
    (out / KEPT).unlink()
    (runs / "runs" / content["rows"][0]["run"] / "row.json").unlink()
    assert analysis.main([*line, "--report"]) == 2
