"""Sweeps: the grid written out, a table that no kill changes, and runs as `train` makes them."""

import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from geodis import FactorGrid, models
from geodis.base.check import InputError
from geodis.base.write import FolderLock
from geodis.models import load_model, score_during, sweep
from geodis.models.saving import model_named
from geodis.models.sweeps.run_folder import RUNS
from geodis.models.sweeps.stacks import ROW
from geodis.models.sweeps.sweep_plan import TRAINING, ScoringPlan, plan_runs

GRID = [
    {"model": ["vae", "beta-tcvae"], "beta": [1.0, 4.0], "latents": 3, "network": "vector"},
    {
        "model": "factor-vae",
        "latents": 3,
        "network": "vector",
        "discriminator_width": 8,
        "steps": 7,
    },
]
TRAIN = {"steps": 12, "batch_size": 8}
CHOICES = {"training": TRAIN, "scores": ["mig", "sap"], "score_at": [5], "n": 40, "seeds": 2}


def small(folder, blobs, **more):
    return sweep(folder, GRID, {"blobs": blobs}, **{**CHOICES, "verbose": 0, **more})


@pytest.fixture(scope="module")
def done(tmp_path_factory, blobs):
    return small(tmp_path_factory.mktemp("sweep"), blobs)


def test_the_table_has_a_row_a_run_and_step_of_settings_terms_and_scores(done):
    table = done.table
    assert str(done) == "10 runs, 10 of them trained now"
    assert list(table.columns[:4]) == ["run", "model", "data", "seed"]
    assert {"beta", "latents", "discriminator_width", "step", "term kl", "score mig"} < set(table)
    steps = table.groupby("model")["step"].unique().map(list).to_dict()
    assert steps == {"VAE": [5, 12], "BetaTCVAE": [5, 12], "FactorVAE": [5, 7]}
    assert table.groupby(["model", "beta", "seed"], dropna=False).size().tolist() == [2] * 10
    finished = table[["score mig", "score sap", "term reconstruction"]].to_numpy()
    assert np.isfinite(finished).all()
    assert table.loc[table.model == "VAE", "term decomposed_kl"].isna().all()


def test_learnt_exponents_are_columns_of_the_table(tmp_path, blobs):
    grid = [
        {
            "model": "isa-vae",
            "subspaces": [[[2.0, 2], [1.8, 2]]],
            "learn": ["none", "subspaces"],
            "network": "vector",
        }
    ]
    training = {"steps": 6, "batch_size": 8, "prior_learning_rate": 0.01}
    done = sweep(
        tmp_path,
        grid,
        {"blobs": blobs},
        seeds=1,
        training=training,
        scores=["mig"],
        n=40,
        verbose=0,
    )
    fixed, learnt = done.table.iloc[0], done.table.iloc[1]
    assert np.isnan(fixed["exponent 1"])
    model = load_model(tmp_path / RUNS / learnt["run"])
    own = sorted(model.prior.exponents[:-1].tolist())
    assert [learnt["exponent 1"], learnt["exponent 2"]] == own != [1.8, 2.0]


def test_the_files_hold_the_table(done):
    read = pd.read_csv(done.folder / "table.csv")
    pd.testing.assert_frame_equal(read, done.table, check_dtype=False, check_exact=True)
    read = pd.read_parquet(done.folder / "table.parquet")
    pd.testing.assert_frame_equal(read, done.table, check_dtype=False, check_exact=True)


def test_a_run_is_what_train_makes_of_the_same_settings(done, blobs):
    row = done.table.query("model == 'BetaTCVAE' and beta == 4 and seed == 1").iloc[-1]
    own = models.BetaTCVAE(blobs, 3, beta=4.0, network="vector", random_state=1)
    score = score_during(blobs, ["mig", "sap"], 40)
    trained = models.train(own, blobs, 12, batch_size=8, random_state=1, verbose=0)
    assert row["score mig"] == score(own)["mig"] and row["score sap"] == score(own)["sap"]
    terms = [each["reconstruction"] for each in trained.history if each["step"] in (0, 10, 11)]
    assert row["term reconstruction"] == pytest.approx(np.mean(terms), rel=1e-12)
    loaded = load_model(done.folder / RUNS / row["run"])
    for name, value in own.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name


def test_what_is_finished_is_not_trained_again_and_leaves_no_checkpoints(done, blobs, monkeypatch):
    monkeypatch.setattr("geodis.models.sweeps.run_folder.train", None)
    again = small(done.folder, blobs)
    assert again.trained == 0
    pd.testing.assert_frame_equal(again.table, done.table, check_exact=True)
    names = {path.name for path in (done.folder / RUNS).glob("*/*")}
    assert names == {"model.safetensors", "config.json", ROW}


def test_a_grid_may_grow_and_other_choices_are_other_runs(done, blobs, tmp_path):
    folder = shutil.copytree(done.folder, tmp_path / "copy")
    more = small(folder, blobs, seeds=3)
    assert (more.planned, more.trained) == (15, 5)
    assert set(done.table["run"]) < set(more.table["run"])
    fewer = small(folder, blobs, seeds=[2])
    assert (fewer.planned, fewer.trained) == (5, 0)


def child(folder, blobs, threads):
    torch.set_num_threads(threads)
    small(folder, blobs)


def test_a_sweep_killed_at_random_moments_ends_in_the_same_table(done, blobs, tmp_path):
    context, luck = multiprocessing.get_context("fork"), random.Random(0)
    kills = 0
    while kills < 5:
        process = context.Process(target=child, args=(tmp_path, blobs, 1))
        process.start()
        process.join(luck.uniform(0.05, 0.5))
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        kills += 1
    table = small(tmp_path, blobs).table
    pd.testing.assert_frame_equal(table, done.table, check_exact=True)
    for name in ("table.csv", "table.parquet"):
        assert (tmp_path / name).read_bytes() == (done.folder / name).read_bytes()


def test_a_run_goes_on_from_its_checkpoint(done, blobs, tmp_path, monkeypatch):
    """Interrupted between two scorings: the earlier scores are kept, the later are the same."""
    seen, whole = [], models.training.training_run.Run.step

    def stop_once(run, stages):
        seen.append(run.done.steps)
        if len(seen) == 9:
            signal.raise_signal(signal.SIGINT)
        whole(run, stages)

    monkeypatch.setattr("geodis.models.training.training_run.Run.step", stop_once)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path, blobs)
    table = small(tmp_path, blobs).table
    assert seen[:13] == [*range(9), 9, 10, 11, 0]  # on from step 9, not from 0
    pd.testing.assert_frame_equal(table, done.table, check_exact=True)


def test_a_run_of_another_process_is_left_to_it(done, blobs, tmp_path):
    held = tmp_path / RUNS / done.table["run"][0]
    held.mkdir(parents=True)
    with FolderLock(held):
        first = small(tmp_path, blobs)
    assert (first.trained, first.elsewhere) == (9, 1)
    assert str(first) == "10 runs, 9 of them trained now, 1 left to another process"
    assert len(first.table) == len(done.table) - 2
    table = small(tmp_path, blobs).table
    pd.testing.assert_frame_equal(table, done.table, check_exact=True)


def test_a_run_that_diverges_is_said_in_the_table_and_not_tried_again(blobs, tmp_path):
    models_ = [{"model": "ae", "latents": 2, "network": "vector", "learning_rate": [1e-3, 1e30]}]
    options = {**CHOICES, "seeds": 1, "training": {"steps": 60, "batch_size": 8}, "verbose": 0}
    done = sweep(tmp_path, models_, {"blobs": blobs}, **options)
    assert (done.trained, done.diverged) == (2, 1) and "1 diverged" in str(done)
    last = done.table.iloc[-1]
    assert "became" in last["error"] and np.isnan(last["score mig"])
    assert done.table["error"].isna().sum() == 2
    assert sweep(tmp_path, models_, {"blobs": blobs}, **options).trained == 0
    assert pd.read_parquet(tmp_path / "table.parquet")["error"].iloc[-1] == last["error"]


def test_without_scores_the_table_has_the_terms(blobs, tmp_path):
    done = small(tmp_path, blobs, scores=[], seeds=1)
    assert not [name for name in done.table if name.startswith("score")]
    assert done.table["term reconstruction"].notna().all() and len(done.table) == 10


def test_data_may_be_opened_where_it_is_needed(blobs, tmp_path):
    opened = []

    def open_it():
        opened.append(1)
        return blobs

    done = sweep(tmp_path, GRID[1:], {"blobs": open_it}, **CHOICES, verbose=0)
    assert done.trained == 2 and len(opened) <= 2


# The plan


def planned(entries, **more):
    return plan_runs(entries, {"a": "1"}, [0], {"steps": 10}, ScoringPlan(**more))


def test_every_choice_is_in_the_name_of_a_run():
    base = {"model": "beta-vae", "beta": 4.0}
    others = [
        {"latents": 3},
        {"beta": 2.0},
        {"network": "mlp"},
        {"normalise": "mean"},
        {"model": "vae"},
        {"steps": 11},
        {"batch_size": 8},
        {"learning_rate": 1e-4},
        {"precision": "bfloat16"},
        {"schedules": {"beta": [0.0, 4.0]}},
        {"horizon": 5},
    ]
    names = [planned([{**base, **other}])[0].identity for other in [{}, *others]]
    names += [planned([base], scores=("dci",))[0].identity]
    names += [planned([base], steps=(3,))[0].identity, planned([base], n=50)[0].identity]
    for data, seed in [({"a": "2"}, 0), ({"a": "1"}, 1)]:
        names.append(plan_runs([base], data, [seed], {"steps": 10}, ScoringPlan())[0].identity)
    for one, other in itertools.combinations(names, 2):
        assert one != other
    # What a class takes by default is named or not, and a data set is called this or that.
    assert planned([{"model": "BetaVAE"}])[0].identity == names[0]
    again = plan_runs([base], {"b": "1"}, [0], {"steps": 10}, ScoringPlan())
    assert again[0].identity == names[0]


def test_every_choice_of_training_is_one_of_train():
    assert set(TRAINING) - {"steps", "batch_size", "learning_rate"} == {
        "adversary_learning_rate",
        "prior_learning_rate",
        "supervision",
        "category",
        "schedules",
        "horizon",
        "precision",
        "version",
    }


def test_a_run_that_the_grid_has_twice_is_there_once():
    runs = planned([{"model": "vae", "beta": [1.0, 2.0]}, {"model": "vae", "beta": [2.0, 3.0]}])
    assert [run.named["beta"] for run in runs] == [1.0, 2.0, 3.0]


def test_lists_within_lists_are_settings_that_are_lists():
    layouts = [[[2.0, 2]], [[2.0, 3]]]
    runs = planned([{"model": "isa-vae", "subspaces": layouts}])
    assert [run.options["subspaces"] for run in runs] == layouts
    assert model_named(runs[0].model)((4,), **runs[0].options).latents == 2


@pytest.mark.parametrize(
    ("entries", "choices", "message"),
    [
        ([{"beta": 4}], {}, "must name its model, as model='vae'; got {'beta': 4}"),
        ([{"model": "vat"}], {}, "The model must be one of"),
        ([{"model": "vae", "gamma": 3}], {}, "VAE has the settings beta; got gamma"),
        ([{"model": "metric-encoder", "network": "mlp"}], {}, "MetricEncoder has the settings"),
        ([{"model": "vae", "loss": torch.sum}], {}, "plain values, which name a run; got"),
        ([{"model": "vae", "random_state": 3}], {}, "seeds its models by seeds=...; got random_"),
        ([{"model": "vae"}], {"training": {"step": 3}}, "The sweep trains by steps, .*; got step"),
        ([{"model": "vae"}], {"score_at": [13]}, "score_at must be steps up to 12; got 13"),
        ([{"model": "vae"}], {"scores": ["mug"]}, "mug"),
        ([{"model": "vae"}], {"scores": "mig"}, "scores must be a list; got 'mig'"),
        ([{"model": "vae"}], {"seeds": 0}, "seeds must be at least 1"),
        ([{"model": "vae"}], {"threads": 0}, "threads must be at least 1"),
        ([{"model": "vae", "precision": "half"}], {}, "precision must be one of"),
        ({"model": "vae"}, {}, "models must be a list"),
        ([], {}, "at least one model, one data set and one seed"),
    ],
)
def test_bad_grids_are_said_before_anything_is_trained(entries, choices, message, blobs, tmp_path):
    with pytest.raises(InputError, match=message):
        sweep(tmp_path, entries, {"blobs": blobs}, **{**CHOICES, "verbose": 0, **choices})
    assert list(tmp_path.iterdir()) == []


def test_data_without_factors_are_refused(tmp_path):
    data: Any = {"rows": lambda: np.zeros((4, 2))}
    with pytest.raises(InputError, match=r"must be a FactorGrid, .*; rows is ndarray"):
        sweep(tmp_path, GRID, data, **CHOICES, verbose=0)


def test_a_row_that_was_damaged_is_said(done, blobs, tmp_path):
    own = tmp_path / RUNS / done.table["run"][0]
    own.mkdir(parents=True)
    for text in ("{", "[]", json.dumps({"scored": 3})):
        (own / ROW).write_text(text)
        with pytest.raises(InputError, match="emove it"):
            small(tmp_path, blobs)


def test_hundreds_of_finished_runs_are_recognised_from_their_rows(tmp_path):
    """No model is built for them; `benchmarks/sweeps.py` measures how long 720 take."""
    factors = [[a, b] for a in range(3) for b in range(3)]
    grid = FactorGrid.from_arrays(np.random.default_rng(0).random((9, 4, 4)), factors)
    entries = [{"model": "vae", "network": "vector", "beta": [float(i) for i in range(24)]}]
    choices = {**CHOICES, "training": {"steps": 1}, "score_at": [], "scores": [], "n": 10}
    first = sweep(tmp_path, entries, {"grid": grid}, **choices, verbose=0)
    again = sweep(tmp_path, entries, {"grid": grid}, **choices, verbose=0)
    assert (first.trained, again.trained, len(again.table)) == (48, 0, 48)


@pytest.mark.long
def test_a_client_gives_the_same_table(done, blobs, tmp_path, client):
    pd.testing.assert_frame_equal(small(tmp_path, blobs, cluster=client).table, done.table)


@pytest.mark.long
def test_processes_give_the_same_table(done, blobs, tmp_path):
    """Whatever order runs end in."""
    pytest.importorskip("distributed")
    table = small(tmp_path, blobs, cluster="local", n_workers=2).table
    pd.testing.assert_frame_equal(table, done.table, check_exact=True)
