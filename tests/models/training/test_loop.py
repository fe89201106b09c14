"""The loop: it resumes to the same numbers, stops at NaN, follows schedules and reports."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import torch

from geodis import FactorGrid, models
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors
from geodis.models import (
    AE,
    ISAVAE,
    VAE,
    AdaTVAE,
    AnnealedVAE,
    BetaVAE,
    FactorVAE,
    InfoWGANGP,
    MetricEncoder,
    TrainOptions,
    score_during,
)
from geodis.models.training.step import choose_device, choose_precision
from tests.options import flat

STEPS = 12
train = flat(models.train, TrainOptions)


class KilledError(RuntimeError):
    pass


def dies_at(step):
    """A callback that ends the run in the middle, long after the last checkpoint."""
    calls = []

    def callback(model):
        calls.append(1)
        if len(calls) == step:
            raise KilledError

    return {"end": callback}


def same_weights(one, other):
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], rtol=0, atol=0, msg=name)


MAKERS = {
    "BetaVAE": lambda grid: BetaVAE(grid, 3, network="vector"),
    "AdaTVAE": lambda grid: AdaTVAE(grid, 3, network="vector"),
    "FactorVAE": lambda grid: FactorVAE(grid, 3, network="vector", discriminator_width=50),
    "ISAVAE": lambda grid: ISAVAE(grid, subspaces=[(2.0, 3)], learn="all", network="vector"),
    "MetricEncoder": lambda grid: MetricEncoder((36,), 3, learn_from="neighbours"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_run_that_was_cut_off_ends_as_one_that_was_not(name, blobs, tmp_path):
    data = blobs
    if name == "MetricEncoder":
        rows = np.random.default_rng(0).random((30, 36), dtype=np.float32)
        data = (rows, rows + 0.1)
    options = {"batch_size": 16, "verbose": 0, "random_state": 3}
    unbroken = MAKERS[name](blobs)
    full = train(unbroken, data, STEPS, **options)
    broken = MAKERS[name](blobs)
    with pytest.raises(KilledError):
        train(
            broken,
            data,
            STEPS,
            checkpoint=tmp_path,
            checkpoint_every=0,
            callback_every=1,
            callbacks=dies_at(8),
            **options,
        )
    resumed = MAKERS[name](blobs)
    done = train(resumed, data, STEPS, checkpoint=tmp_path, **options)
    same_weights(unbroken, resumed)
    assert done.steps == STEPS
    last = [entry for entry in done.history if "end" not in entry][-1]
    assert last == full.history[-1]


SCRIPT = """
import os, signal, sys
import torch
from geodis import XYSquares
from geodis.models import AdaTVAE, TrainOptions, train

torch.set_num_threads(1)
calls = []

def kill(model):
    calls.append(1)
    if len(calls) == 7:
        os.kill(os.getpid(), signal.SIGKILL)

grid = XYSquares(n_squares=1, grid_size=3, image_size=32, rgb=False)
callbacks = {"kill": kill} if sys.argv[2] == "killed" else {}
options = TrainOptions(
    checkpoint_every=0, callbacks=callbacks, callback_every=1, precision="float32"
)
train(AdaTVAE(grid, 4), grid, 10, batch_size=8, checkpoint=sys.argv[1], options=options, verbose=0)
"""


@pytest.mark.long
def test_a_run_that_was_killed_by_the_system_goes_on_as_if_it_had_not_been(tmp_path):
    # Every run has a process of its own: what other tests loaded can change the last digits.
    def run(folder, how):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder), how],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            timeout=300,
            check=False,
        )

    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    killed = run(broken, "killed")
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    written = {path.name for path in broken.iterdir()}
    # The file of the lock is left, and locks nothing.
    assert written == {"checkpoint.safetensors", "checkpoint-older.safetensors", ".lock"}
    assert read_tensors(broken / "checkpoint.safetensors")[1]["steps"] == 6
    for folder in (broken, unbroken):
        done = run(folder, "whole")
        assert done.returncode == 0, done.stderr.decode()
    weights, wanted = (
        read_tensors(folder / "model.safetensors")[0] for folder in (broken, unbroken)
    )
    assert weights.keys() == wanted.keys()
    for name, value in weights.items():
        torch.testing.assert_close(value, wanted[name], rtol=0, atol=0, msg=name)


def test_ctrl_c_waits_for_the_step_and_leaves_a_checkpoint(blobs, tmp_path):
    options = {"batch_size": 16, "verbose": 0}
    unbroken = BetaVAE(blobs, 3, network="vector")
    train(unbroken, blobs, STEPS, **options)
    before = signal.getsignal(signal.SIGINT)
    model = BetaVAE(blobs, 3, network="vector")
    press = {"press": lambda model: signal.raise_signal(signal.SIGINT)}
    with pytest.raises(KeyboardInterrupt):
        train(
            model, blobs, STEPS, checkpoint=tmp_path, callbacks=press, callback_every=5, **options
        )
    assert signal.getsignal(signal.SIGINT) is before
    assert read_tensors(tmp_path / "checkpoint.safetensors")[1]["steps"] == 5
    resumed = BetaVAE(blobs, 3, network="vector")
    train(resumed, blobs, STEPS, checkpoint=tmp_path, **options)
    same_weights(unbroken, resumed)


def test_training_works_outside_the_main_thread():
    model, runs = AE((4,), 2), []
    worker = threading.Thread(
        target=lambda: runs.append(train(model, torch.rand(20, 4), 3, batch_size=4, verbose=0))
    )
    worker.start()
    worker.join()
    assert runs[0].steps == 3


def test_a_finished_run_goes_on_when_more_steps_are_asked_for(blobs, tmp_path):
    model = VAE(blobs, 2, network="vector")
    train(model, blobs, 4, batch_size=8, checkpoint=tmp_path, verbose=0)
    again = VAE(blobs, 2, network="vector")
    done = train(again, blobs, 4, batch_size=8, checkpoint=tmp_path, verbose=0)
    assert done.steps == 4
    same_weights(model, again)
    assert train(again, blobs, 6, batch_size=8, checkpoint=tmp_path, verbose=0).steps == 6


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda grid: AE(grid, 2, network="vector"), {}, "checkpoint of VAE, and the model is AE"),
        (lambda grid: VAE(grid, 3, network="vector"), {}, "trained with latents = 2; got 3"),
        (lambda grid: VAE(grid, 2, network="mlp"), {}, "trained with network = vector; got mlp"),
        (lambda grid: VAE(grid, 2, network="vector", beta=2), {}, "with beta = 1.0; got 2"),
        (None, {"random_state": 4}, "trained with random_state = 0; got 4"),
        (None, {"batch_size": 9}, "trained with batch_size = 8; got 9"),
    ],
)
def test_another_run_is_not_resumed(make, options, message, blobs, tmp_path):
    train(VAE(blobs, 2, network="vector"), blobs, 2, batch_size=8, checkpoint=tmp_path, verbose=0)
    model = make(blobs) if make else VAE(blobs, 2, network="vector")
    with pytest.raises(InputError, match=message):
        train(model, blobs, 4, checkpoint=tmp_path, verbose=0, **{"batch_size": 8, **options})


def test_a_run_is_not_resumed_on_other_data(blobs, tmp_path):
    options = {"batch_size": 8, "checkpoint": tmp_path, "verbose": 0}
    shifted = FactorGrid.from_arrays(
        blobs.images(range(40))[:, ::-1, ::-1], blobs.factors(range(40))
    )
    train(AdaTVAE(blobs, 2, network="vector"), blobs, 2, **options)
    with pytest.raises(InputError, match="was trained on other data: name another folder"):
        train(AdaTVAE(blobs, 2, network="vector"), shifted, 4, **options)
    assert train(AdaTVAE(blobs, 2, network="vector"), blobs, 3, **options).steps == 3


def test_a_folder_that_cannot_be_written_is_said_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="checkpoint must be a folder to write to"):
        train(AE((4,), 2), torch.rand(20, 4), 2, checkpoint=tmp_path / "file", verbose=0)


def test_a_file_that_is_no_checkpoint_is_refused(blobs, tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"not this")
    with pytest.raises(InputError, match=r"cannot be read as \.safetensors"):
        train(VAE(blobs, 2, network="vector"), blobs, 2, checkpoint=tmp_path, verbose=0)


def test_training_leaves_torchs_random_numbers_alone_and_is_its_own(blobs):
    models = []
    for luck in (1, 2):
        torch.manual_seed(luck)
        expected = torch.random.get_rng_state()
        models.append(VAE(blobs, 2, network="vector"))
        train(models[-1], blobs, 3, batch_size=8, verbose=0)
        assert torch.equal(torch.random.get_rng_state(), expected)
    same_weights(*models)


# What stops a run


def test_a_loss_that_is_not_a_number_stops_the_run_and_says_where():
    x = torch.rand(64, 4)
    x[17] = float("nan")
    with pytest.raises(
        FloatingPointError, match=r"reconstruction became nan at step \d+, in batch"
    ):
        train(AE((4,), 2), x, 50, batch_size=8, verbose=0)


def test_an_adversary_that_is_not_a_number_stops_the_run_too(blobs, monkeypatch):
    monkeypatch.setattr(FactorVAE, "adversary_loss", lambda self, batch: batch.z.sum() * torch.nan)
    with pytest.raises(FloatingPointError, match="adversary became nan at step 0"):
        train(FactorVAE(blobs, 2, network="vector"), blobs, 3, batch_size=8, verbose=0)


def test_a_gradient_that_runs_away_stops_the_run():
    with pytest.raises(FloatingPointError, match=r"became (nan|inf)"):
        train(AE((4,), 2), torch.rand(64, 4), 200, learning_rate=1e9, verbose=0)


def test_the_bernoulli_loss_refuses_data_outside_its_range():
    with pytest.raises(
        InputError,
        match=r"data in \[0, 1\]; got -?\d.* in batch 0: scale the data or use loss='mse'",
    ):
        train(VAE((4,), 2, loss="bernoulli"), 3 * torch.randn(50, 4), 3, verbose=0)


def test_a_generator_of_images_refuses_data_outside_its_range():
    with pytest.raises(InputError, match=r"InfoWGANGP needs data in \[0, 1\]; .* scale the data\."):
        train(InfoWGANGP((1, 32, 32), 2), 3 * torch.rand(8, 1, 32, 32), 2, batch_size=4, verbose=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive; got -1.0"),
        ({"learning_rate": 0}, "learning_rate must be positive; got 0"),
        ({"adversary_learning_rate": 0}, "adversary_learning_rate must be positive; got 0"),
        ({"device": "tpu0"}, "device must be 'auto', 'cpu' or 'cuda'; got 'tpu0'"),
        ({"precision": "float16"}, "precision must be one of 'auto'"),
        ({"supervision": "labels"}, "supervision must be one of 'scaled'"),
        ({"schedules": {"gamma": (0, 1)}}, r"settings of VAE \(beta, learning_rate\); got gamma"),
        ({"schedules": {"beta": 3}}, r"schedule of beta must be \(start, end\) or a function"),
    ],
)
def test_bad_options_are_said_in_one_sentence(options, message):
    with pytest.raises(InputError, match=message):
        train(VAE((4,), 2), torch.rand(20, 4), **{"steps": 2, "verbose": 0, **options})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_missed():
    with pytest.raises(InputError, match="device='cuda' needs a GPU that torch can use; there is"):
        choose_device("cuda")


# What changes in a run


def rates_and_settings(model, steps, name, **options):
    seen = []

    def note(model):
        seen.append(getattr(model.settings, name))

    train(
        model,
        torch.rand(60, 4),
        steps,
        batch_size=12,
        verbose=0,
        callbacks={"see": note},
        callback_every=1,
        supervision="perceived",
        **options,
    )
    return seen


def test_schedules_go_in_a_line_to_what_was_given():
    settings = rates_and_settings(AnnealedVAE((4,), 2, capacity=8.0), 5, "capacity")
    assert settings == pytest.approx([0, 2, 4, 6, 8])
    settings = rates_and_settings(AdaTVAE((4,), 2), 5, "shared_weight")
    assert settings == pytest.approx([1, 0.875, 0.75, 0.625, 0.5])


def test_schedules_may_be_named_or_be_functions():
    plan = {"beta": (4.0, 0.0)}
    assert rates_and_settings(VAE((4,), 2), 5, "beta", schedules=plan) == [4, 3, 2, 1, 0]
    plan = {"beta": lambda part: 10 * part**2}
    settings = rates_and_settings(VAE((4,), 2), 5, "beta", schedules=plan)
    assert settings == pytest.approx([0, 0.625, 2.5, 5.625, 10])


def test_a_scheduled_setting_is_as_it_was_given_afterwards():
    model = AnnealedVAE((4,), 2, capacity=8.0)
    train(model, torch.rand(30, 4), 3, schedules={"capacity": (1.0, 2.0)}, verbose=0)
    assert model.config()["settings"]["capacity"] == 8.0
    assert model.settings.capacity == 8.0


def test_the_learning_rate_is_constant_or_follows_the_models_cycle(monkeypatch):
    import geodis.models.training.training_run as training

    seen = []
    step = training.take_step

    def watched(model, drawn, size, players, *rest):
        seen.append(players["model"].param_groups[0]["lr"])
        return step(model, drawn, size, players, *rest)

    monkeypatch.setattr(training, "take_step", watched)
    x = torch.rand(40, 4)
    train(AE((4,), 2), x, 3, verbose=0)
    assert seen == [1e-3] * 3
    seen.clear()
    train(MetricEncoder((4,), 2), (x, x), 21, batch_size=16, verbose=0)
    assert seen[0] == pytest.approx(0.04 * 2e-3) and max(seen) == pytest.approx(2e-3)
    assert np.argmax(seen) == 2 and seen[-1] < 1e-7
    seen.clear()
    train(MetricEncoder((4,), 2), (x, x), 3, learning_rate=5e-4, batch_size=16, verbose=0)
    assert seen == [5e-4] * 3
    seen.clear()
    train(AE((4,), 2), x, 3, schedules={"learning_rate": (1e-2, 0.0)}, verbose=0)
    assert seen == pytest.approx([1e-2, 5e-3, 0])


def test_what_callbacks_return_goes_into_the_history(blobs):
    calls = {
        "one": lambda model: 3,
        "many": lambda model: {"a": 1.5, "b": 2},
        "none": lambda model: None,
        "score": score_during(blobs, ["mig", "linearity_ratio"], n=20),
    }
    model = VAE(blobs, 2, network="vector")
    done = train(model, blobs, 6, batch_size=8, callbacks=calls, callback_every=3, verbose=0)
    rows = [entry for entry in done.history if "one" in entry]
    assert [entry["step"] for entry in rows] == [3, 6]
    assert rows[0]["one"] == 3 and rows[0]["many a"] == 1.5
    assert {"score mig", "score linearity_ratio"} < set(rows[0]) and "none" not in rows[0]
    assert model.training is False


def test_a_callback_may_ask_for_the_terms_of_the_step(blobs):
    seen, alone = [], []
    calls = {
        "terms": lambda model, terms: seen.append(terms),
        "alone": lambda model: alone.append(model),
        "kl": lambda model, terms: terms["kl"],
    }
    model = FactorVAE(blobs, 2, network="vector", discriminator_width=20)
    options = {"batch_size": 8, "verbose": 0}
    done = train(model, blobs, 13, callbacks=calls, callback_at=(1, 5, 11), **options)
    assert [each["step"] for each in seen] == [0, 4, 10, 12] and alone == [model] * 4
    rows = {row["step"]: row for row in done.history if "adversary" in row}
    assert [each for each in seen if each["step"] in rows] == [rows[0], rows[10], rows[12]]
    # The other is that of a run which ends there, and notes it.
    shorter = FactorVAE(blobs, 2, network="vector", discriminator_width=20)
    assert train(shorter, blobs, 5, **options).history[-1] == seen[1]
    answers = [row["kl"] for row in done.history if "adversary" not in row]
    assert answers == [each["kl"] for each in seen]


def test_a_run_that_stopped_early_tells_the_terms_again(tmp_path):
    seen = []
    options = {
        "callbacks": {"terms": lambda model, terms: seen.append(terms)},
        "callback_every": 1000,
        "stop_when": lambda history: len(history) == 3,
        "checkpoint": tmp_path,
        "batch_size": 8,
        "verbose": 0,
    }
    rows = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
    history = train(VAE((4,), 2), rows, 90, **options).history
    train(VAE((4,), 2), rows, 90, **options)  # stops where it is
    assert seen[0]["step"] == 20 and seen == [history[2]] * 2


def test_what_was_done_prints_in_a_line(blobs):
    done = train(VAE(blobs, 2, network="vector"), blobs, 3, batch_size=8, verbose=0)
    assert str(done).startswith("3 steps on cpu in float32, ") and "kl" in str(done)


def test_a_prior_learns_at_a_rate_of_its_own():
    moved = {}
    for rate in (5e-4, 2e-3):
        model = ISAVAE((4,), subspaces=[(2.0, 2)], learn="all")
        plan = {"learning_rate": (1e-3, 0.0)}
        train(model, torch.rand(40, 4), 1, schedules=plan, prior_learning_rate=rate, verbose=0)
        moved[rate] = (model.prior.exponents.detach() - torch.tensor([2.0, 2.1])).abs().tolist()
    for rate, steps in moved.items():  # Adam's first step is its rate
        assert steps == pytest.approx([rate, rate], rel=1e-3)


# Precision


def test_half_precision_is_for_convolutions_where_the_processor_has_it(monkeypatch):
    conv, vector = VAE((1, 32, 32), 2), VAE((4,), 2)
    metric, metric_of_rows = MetricEncoder((1, 32, 32), 2), MetricEncoder((4,), 2)
    cpu = torch.device("cpu")
    for has, expected in [(True, "bfloat16"), (False, "float32")]:
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        for model in (conv, metric):
            assert choose_precision("auto", cpu, model) == expected
        for model in (vector, metric_of_rows):
            assert choose_precision("auto", cpu, model) == "float32"
    assert choose_precision("bfloat16", cpu, vector) == "bfloat16"


def test_half_precision_learns_what_single_precision_does(squares):
    losses = {}
    for precision in ("float32", "bfloat16"):
        model = VAE(squares, 4)
        done = train(model, squares, 12, batch_size=16, precision=precision, verbose=0)
        losses[precision] = done.history[-1]["reconstruction"]
        assert done.precision == precision
        assert all(weight.dtype == torch.float32 for weight in model.parameters())
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.02)


def test_a_gan_takes_turns(squares):
    model = InfoWGANGP(squares, 2, categories=3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    done = train(model, squares, 3, batch_size=8, verbose=0)
    assert set(done.history[-1]) == {"step", "critic_score", "code_error", "adversary"}
    moved = {
        name.split(".")[0]
        for name, value in model.state_dict().items()
        if value.is_floating_point() and not torch.equal(value, before[name])
    }
    assert moved == {"discriminator", "code_head", "generator"}
