"""Stacks of a sweep: the same table but for rounding, and grids that grow under them."""

import multiprocessing
import os
import random
import signal

import pandas as pd
import pytest
import torch

from geodis.models import load_model, sweep
from geodis.models.sweeps import stacked_training
from geodis.models.sweeps.run_folder import RUNS
from geodis.models.sweeps.stacks import ROW, STACKS, begin_stack, begun_stacks, in_stacks
from geodis.models.sweeps.sweep_plan import ScoringPlan, plan_runs
from geodis.models.training.training_run import Run
from tests.models.sweeps.test_sweeping import CHOICES, small


@pytest.fixture(scope="module")
def done(tmp_path_factory, blobs):
    return small(tmp_path_factory.mktemp("sweep"), blobs)


def test_a_sweep_in_stacks_has_the_same_table_but_for_rounding(done, blobs, tmp_path):
    in_float32 = {"training": {**CHOICES["training"], "precision": "float32"}, "stack": 3}
    stacked = small(tmp_path, blobs, **in_float32)
    assert stacked.trained == 10 and not (set(stacked.table["run"]) & set(done.table["run"]))
    same = [name for name in done.table if name not in ("run", "score mig", "score sap")]
    pd.testing.assert_frame_equal(stacked.table[same], done.table[same], rtol=1e-4)
    names = {path.name for path in (tmp_path / RUNS).glob("*/*")}
    assert names == {"model.safetensors", "config.json", ROW}
    assert list((tmp_path / "stacks").iterdir()) == []
    assert small(tmp_path, blobs, **in_float32).trained == 0
    row = stacked.table.iloc[-1]
    assert load_model(tmp_path / RUNS / row["run"]).config()["model"] == row["model"]


def stacked_child(folder, blobs):
    torch.set_num_threads(1)
    small(folder, blobs, stack=4)


def test_a_sweep_in_stacks_that_is_killed_ends_in_the_same_table(blobs, tmp_path):
    wanted = small(tmp_path / "whole", blobs, stack=4).table
    context, luck = multiprocessing.get_context("fork"), random.Random(1)
    for _ in range(4):
        process = context.Process(target=stacked_child, args=(tmp_path / "broken", blobs))
        process.start()
        process.join(luck.uniform(0.05, 0.4))
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    table = small(tmp_path / "broken", blobs, stack=4).table
    pd.testing.assert_frame_equal(table, wanted, check_exact=True)


def test_what_cannot_be_stacked_is_trained_alone(blobs, tmp_path):
    entries = [{"model": ["tae", "ae"], "latents": 2, "network": "vector"}]
    training = {**CHOICES["training"], "precision": "float32"}
    options = {**CHOICES, "training": training, "verbose": 0}
    stacked = sweep(tmp_path, entries, {"blobs": blobs}, stack=2, **options).table
    alone = sweep(tmp_path, entries, {"blobs": blobs}, **options).table
    of = stacked["model"] == "TAE"
    scores = ["score mig", "score sap"]
    pd.testing.assert_frame_equal(stacked[of][scores], alone[of][scores], check_exact=True)


def test_stacks_do_not_depend_on_what_is_finished():
    entries = [
        {"model": "vae", "beta": [1.0, 2.0, 3.0], "latents": [2, 3]},
        {"model": "factor-vae", "discriminator_width": [4, 5], "gamma": [1.0, 2.0]},
    ]
    runs = plan_runs(entries, {"a": "1"}, [0, 1], {"steps": 10}, ScoringPlan())
    stacks = in_stacks(runs, 4, lambda run: False)
    assert sorted(map(len, stacks)) == [2, 2, 4, 4, 4, 4]
    for stack in stacks:
        assert len({run.options.get("latents") for run in stack}) == 1
        assert len({run.options.get("discriminator_width") for run in stack}) == 1
    assert {run.identity for stack in stacks for run in stack} == {run.identity for run in runs}
    assert in_stacks(runs, 1, lambda run: False) == [[run] for run in runs]


def test_a_stacked_model_that_diverges_is_said_in_the_table(blobs, tmp_path):
    entries = [{"model": "vae", "beta": [1.0, 1e39], "latents": 2, "network": "vector"}]
    options = {**CHOICES, "seeds": 1, "verbose": 0}
    done = sweep(tmp_path, entries, {"blobs": blobs}, stack=2, **options)
    assert (done.trained, done.diverged) == (2, 1)
    assert done.table["error"].notna().tolist() == [False, False, True]


# Grids that grow

BETAS = [{"model": "vae", "beta": [1.0, 2.0, 4.0, 8.0], "latents": 2, "network": "vector"}]
SHORT = {"training": {"steps": 6, "batch_size": 8, "precision": "float32"}, "n": 40, "verbose": 0}


def test_one_seed_more_trains_no_finished_run_again(blobs, tmp_path):
    options = {**SHORT, "scores": ["mig"], "stack": 8}
    first = sweep(tmp_path, BETAS, {"blobs": blobs}, seeds=5, **options)
    before = first.table.set_index("run")["score mig"]
    more = sweep(tmp_path, BETAS, {"blobs": blobs}, seeds=6, **options)
    assert (first.trained, more.trained, len(more.table)) == (20, 4, 24)
    after = more.table.set_index("run")["score mig"]
    pd.testing.assert_series_equal(after[before.index], before, check_exact=True)


def test_a_stack_that_was_begun_goes_on_with_its_runs_in_a_larger_grid(
    blobs, tmp_path, monkeypatch
):
    steps, whole, stop_at = [], Run.begin_step, [4 + 24 + 12]  # a look; a stack; half of the next

    def stop_once(run):
        steps.append(run.done.steps)
        if len(steps) in stop_at:
            stop_at.clear()
            signal.raise_signal(signal.SIGINT)
        return whole(run)

    options = {**SHORT, "scores": [], "stack": 4}
    monkeypatch.setattr(Run, "begin_step", stop_once)
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, BETAS, {"blobs": blobs}, seeds=2, **options)
    (begun,) = (tmp_path / STACKS).iterdir()
    assert {"stack.json", "checkpoint.safetensors"} <= {path.name for path in begun.iterdir()}
    steps.clear()
    done = sweep(tmp_path, BETAS, {"blobs": blobs}, seeds=3, **options)
    assert (done.planned, done.trained, len(done.table)) == (12, 8, 12)
    assert len(steps) == 4 + 24 + 12  # a look; the new stack; the other half
    assert list((tmp_path / STACKS).iterdir()) == []


def test_lists_of_runs_that_are_not_all_planned_are_left(tmp_path):
    runs = plan_runs(BETAS, {"a": "1"}, [0], {"steps": 10}, ScoringPlan(), stack=2)
    begin_stack(tmp_path, runs[:2])
    begin_stack(tmp_path, runs[1:3])  # of another sweep at the same time
    found = begun_stacks(tmp_path, runs, lambda identity: False)
    assert len(found) == 1
    assert begun_stacks(tmp_path, runs[:1], lambda identity: False) == []
    assert begun_stacks(tmp_path, runs, lambda identity: True) == []


def test_a_checkpoint_of_a_stack_holds_no_copies_and_no_gradients(blobs, tmp_path, monkeypatch):
    seen = []

    def look(together, now):
        moments = dict(together._moments())
        held = together._players["model"].state_dict()["state"]
        seen.append(moments["model state/0/exp_avg"] is held[0]["exp_avg"])
        save(together, now)
        seen.append(all(p.grad is None for p in together.stack.own_parameters()))

    save = stacked_training._StackedRuns.save_if_due
    monkeypatch.setattr(stacked_training._StackedRuns, "save_if_due", look)
    options = {**SHORT, "training": {**SHORT["training"], "steps": 1}, "scores": [], "stack": 4}
    sweep(tmp_path, BETAS, {"blobs": blobs}, seeds=1, **options)
    assert seen[-2:] == [True, True]
