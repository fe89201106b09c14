"""Folders of sweeps: two at once, what kills leave, runs that end in errors, paths and losses."""

import json
import multiprocessing

import numpy as np
import pandas as pd
import pytest
import torch

from geodis import FactorGrid, models
from geodis.base.check import InputError
from geodis.base.journal import write_item
from geodis.base.write import FolderLock
from geodis.kernels.loss_kernel import LossKernel
from geodis.kernels.storage import save_kernel
from geodis.models import load_model, sweep
from geodis.models.sweeps import run_folder as planned_run_folder
from geodis.models.sweeps import sweeping
from geodis.models.sweeps.run_folder import RUNS, held_grid
from geodis.models.sweeps.stacks import ROW, SWEEP_LOCK
from geodis.models.sweeps.sweep_plan import ScoringPlan, plan_runs
from geodis.report.comparison.many_models import runs_of_table

VAES = [{"model": "vae", "beta": [1.0, 2.0, 3.0], "latents": 2, "network": "vector"}]
SHORT = {"training": {"steps": 3, "batch_size": 8}, "scores": [], "n": 40, "verbose": 0}


def short(folder, grid, entries=VAES, **more):
    return sweep(folder, entries, {"grid": grid}, **{"seeds": 1, **SHORT, **more})


# Two sweeps in one folder


def both(folder, blobs, stack, said):
    torch.set_num_threads(1)
    entries = [{**VAES[0], "beta": [float(beta) for beta in range(1, 13)]}]
    try:
        said.put(short(folder, blobs, entries, stack=stack).trained)
    except Exception as error:
        said.put(str(error))


@pytest.mark.parametrize("stack", [1, 4])
def test_two_sweeps_train_each_run_once(stack, blobs, tmp_path):
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    processes = [
        context.Process(target=both, args=(tmp_path, blobs, stack, said)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    trained = [said.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert sum(trained) == 12
    assert len(list((tmp_path / RUNS).glob(f"*/{ROW}"))) == 12


def test_a_run_is_held_until_its_checkpoints_are_removed(blobs, tmp_path, monkeypatch):
    """Between the end of training and the row, when the lock of training is gone."""
    write, seen = planned_run_folder._write_row, []

    def look_first(run, own, history, error):
        seen.append((own / SWEEP_LOCK).exists())
        seen.append(short(tmp_path, blobs, VAES, cluster=None).elsewhere)
        write(run, own, history, error)

    # Another sweep is one of another thread: this one's own lock would keep it waiting.
    class Free:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return None

    monkeypatch.setattr(planned_run_folder, "_one_at_a_time", Free())
    calls = iter([look_first])
    monkeypatch.setattr(planned_run_folder, "_write_row", lambda *given: next(calls, write)(*given))
    assert short(tmp_path, blobs).trained == 1
    assert seen == [True, 1]


def test_what_another_sweep_wrote_meanwhile_is_not_counted(tmp_path):
    scoring = ScoringPlan(scores=())
    runs = plan_runs(VAES, {"grid": "1"}, [0], {}, scoring)
    own = tmp_path / RUNS / runs[0].identity
    own.mkdir(parents=True)
    (own / ROW).write_text(json.dumps({"run": runs[0].identity, "scored": []}))
    settings = planned_run_folder.SweepSettings(tmp_path, {}, scoring, "cpu", 1)
    assert planned_run_folder.finish_runs(runs[:1], settings) == 0


def test_a_run_that_ends_while_the_table_is_written_is_in_it(blobs, tmp_path, monkeypatch):
    done = short(tmp_path, blobs)
    row = tmp_path / RUNS / done.table["run"][0] / ROW
    text, write, seen = row.read_text(), sweeping.write_sweep_table, []

    def meanwhile(table, folder):
        seen.append(len(table))
        row.write_text(text)
        return write(table, folder)

    row.unlink()
    monkeypatch.setattr(sweeping, "finish_runs", lambda runs, settings: 0)
    monkeypatch.setattr(sweeping, "write_sweep_table", meanwhile)
    again = short(tmp_path, blobs)
    assert seen == [2, 3] and again.elsewhere == 0
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 4


# What is left


def test_what_kills_leave_is_removed_from_finished_runs(blobs, tmp_path):
    done = short(tmp_path, blobs)
    own = tmp_path / RUNS / done.table["run"][0]
    left = ("checkpoint.safetensors", "checkpoint-older.safetensors", ".config-a1.json", ".lock")
    for name in left:
        (own / name).write_text("left")
    with FolderLock(own, SWEEP_LOCK):
        short(tmp_path, blobs)
        assert all((own / name).exists() for name in left)  # somebody is at work there
    short(tmp_path, blobs)
    names = {path.name for path in own.iterdir()}
    assert names == {"model.safetensors", "config.json", ROW}


def test_a_row_of_another_run_is_refused(blobs, tmp_path):
    done = short(tmp_path, blobs)
    own = tmp_path / RUNS / done.table["run"][0] / ROW
    other = {"run": done.table["run"][1], "scored": []}
    write_item(tmp_path / "other.json", other)
    for row in ((tmp_path / "other.json").read_text(), json.dumps(other), "[1]", "{"):
        own.write_text(row)
        with pytest.raises(InputError, match="emove it"):
            short(tmp_path, blobs)


def test_a_file_in_the_place_of_the_runs_is_said(blobs, tmp_path):
    (tmp_path / RUNS).write_text("")
    with pytest.raises(InputError, match="runs must be a folder; got a file"):
        short(tmp_path, blobs)


def test_a_relative_folder_is_the_same_from_another_directory(blobs, tmp_path, monkeypatch):
    seen = []

    def elsewhere(runs, settings):
        seen.append(settings.folder)
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("geodis.models.sweeps.sweeping.finish_runs", elsewhere)
    assert short("out", blobs).folder == tmp_path / "out" == seen[0]


# Errors


def test_a_run_that_ends_in_an_error_keeps_no_other_from_its_row(blobs, tmp_path, monkeypatch):
    real = planned_run_folder.train

    def fails_once(model, *given, **options):
        if model.settings.beta == 1.0:
            raise InputError("The disk is not there.")
        return real(model, *given, **options)

    monkeypatch.setattr(planned_run_folder, "train", fails_once)
    with pytest.raises(InputError, match=r"errors in 1 of 3, .* 2 that are .*The disk is not the"):
        short(tmp_path, blobs)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 3
    monkeypatch.undo()
    assert short(tmp_path, blobs).trained == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ["vae", "factor-vae"], "schedules": {"beta": [0.0, 4.0]}}, "must name settings"),
        ({"model": "vae", "learning_rate": [1e-3, 0]}, "learning_rate must be positive; got 0"),
        (
            {"model": "tvae", "supervision": "category", "category": "colour"},
            "factor must be one of",
        ),
        ({"model": "tvae", "supervision": "perceived", "batch_size": 2}, "at least 3 rows; got 2"),
        ({"model": "vae", "loss": "box:30"}, "more than 30 pixels"),
        ({"model": "vae", "loss": "none.safetensors"}, "must be the file of a learnt kernel"),
        ({"model": "vae", "loss": "box:wide"}, "loss must be mse, .* got box:wide"),
    ],
)
def test_what_one_kind_of_run_cannot_do_is_said_before_any_is_trained(
    settings, message, blobs, tmp_path
):
    entries = [*VAES, {"latents": 2, "network": "vector", **settings}]
    with pytest.raises(InputError, match=message):
        short(tmp_path, blobs, entries)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stack", [1, 2])
def test_scores_before_a_divergence_stay_beside_the_error(stack, blobs, tmp_path):
    entries = [{"model": "ae", "latents": 2, "network": "vector"}]
    training = {"steps": 60, "batch_size": 8, "schedules": {"learning_rate": [1e-4, 1e30]}}
    options = {"scores": ["mig"], "score_at": [1], "training": training, "seeds": 2}
    done = short(tmp_path, blobs, entries, stack=stack, **options)
    assert done.diverged == 2 and len(done.table) == 4
    assert done.table["error"].notna().all()
    assert done.table["score mig"].notna().tolist() == [True, False] * 2


def test_runs_that_diverged_are_left_out_of_a_comparison():
    rows = [["ae", 0, 1, 0.1, None], ["ae", 1, 1, 0.2, None], ["vae", 0, 1, 0.3, None]]
    rows += [["vae", 1, 1, 0.4, "became nan"], ["vae", 1, None, None, "became nan"]]
    table = pd.DataFrame(rows, columns=["model", "seed", "step", "score mig", "error"])
    assert runs_of_table(table)[0].names == ("ae/0", "ae/1", "vae/0")


# Data, losses and classes


def test_sets_are_opened_set_by_set(blobs, tmp_path, monkeypatch):
    opened = []

    def counted(grid):
        opened.append(len(grid))
        return held_grid(grid)

    monkeypatch.setattr("geodis.models.sweeps.run_folder.held_grid", counted)
    rng = np.random.default_rng(0)
    factors = [[a, b] for a in range(5) for b in range(8)]
    data = {
        name: FactorGrid.from_arrays(rng.random((40, 4, 4)), factors) for name in ("a", "b", "c")
    }
    sweep(tmp_path, VAES, data, seeds=1, **SHORT)
    assert len(opened) == 5  # each to be looked at and to train on, the first once for both


def test_held_images_are_counted_in_bytes(monkeypatch):
    grid = FactorGrid.from_arrays(
        np.random.default_rng(0).random((6, 4, 4)), [[i] for i in range(6)]
    )
    floats = 6 * 4 * 4 * 4
    monkeypatch.setattr("geodis.models.sweeps.run_folder.MOST_HELD", floats - 1)
    assert held_grid(grid) is grid
    monkeypatch.setattr("geodis.models.sweeps.run_folder.MOST_HELD", floats)
    monkeypatch.setattr("geodis.models.sweeps.run_folder.AT_ONCE", 4)
    held = held_grid(grid)
    assert held is not grid
    np.testing.assert_array_equal(held.images([5, 0], "auto"), grid.images([5, 0], "auto"))


def test_a_blurred_and_a_learnt_loss_are_those_of_train(blobs, tmp_path):
    file = save_kernel(LossKernel.box(2), tmp_path / "kernel.safetensors")
    entries = [
        {"model": "vae", "latents": 2, "network": "vector", "loss": ["mse", "box:2", str(file)]}
    ]
    done = short(tmp_path / "out", blobs, entries)
    own = models.VAE(blobs, 2, network="vector", loss=LossKernel.box(2), random_state=0)
    models.train(own, blobs, 3, batch_size=8, random_state=0, verbose=0)
    for run in done.table["run"][1:]:
        loaded = load_model(tmp_path / "out" / RUNS / run).state_dict()
        assert all(torch.equal(loaded[name], value) for name, value in own.state_dict().items())
    assert done.table["loss"].tolist() == ["mse", "box:2", str(file)]


def test_a_learnt_loss_names_a_run_by_its_content(tmp_path):
    def named(radius, file):
        save_kernel(LossKernel.box(radius), file)
        entry = {"model": "vae", "loss": str(file)}
        return plan_runs([entry], {"a": "1"}, [0], {}, ScoringPlan())[0].identity

    one, other = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    assert named(2, one) == named(2, other) != named(3, one)


def test_channels_may_be_standardised_or_not(blobs, tmp_path):
    done = short(tmp_path, blobs, [{**VAES[0], "beta": 1.0, "standardise": [True, False]}])
    own = [load_model(tmp_path / RUNS / run).standardised for run in done.table["run"]]
    assert own == [True, False]


def test_a_class_of_ones_own_goes_with_its_runs(blobs, tmp_path, monkeypatch):
    """Workers have never run the cell that defines it, and find no class of its name."""

    class SentSweptVAE(models.VAE):
        """A model of the user's own."""

    def none_here(name):
        raise InputError("The model must be one of those of geodis.")

    monkeypatch.setattr(planned_run_folder, "model_named", none_here)
    entries = [{**VAES[0], "model": SentSweptVAE.__name__}]
    assert short(tmp_path, blobs, entries).trained == 3


def test_the_table_says_how_runs_were_trained(blobs, tmp_path):
    entries = [{**VAES[0], "beta": 1.0}, {**VAES[0], "beta": 2.0, "steps": 4}]
    training = {"steps": 3, "batch_size": 8, "learning_rate": 1e-4}
    table = short(tmp_path, blobs, entries, training=training).table
    assert table["training steps"].tolist() == [3, 4]
    assert np.isnan(table["steps"][0]) and table["steps"][1] == 4  # as the grid names it
    assert table["training learning_rate"].tolist() == [1e-4] * 2
    assert "training horizon" not in table
