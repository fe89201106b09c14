"""A run that an error breaks off is kept where it was, and goes on as if nothing had happened."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from geodis import models
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors
from geodis.models import VAE, FactorVAE, TrainOptions
from geodis.models.training import training_run
from tests.options import flat

train = flat(models.train, TrainOptions)
ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
OPTIONS = {"batch_size": 8, "verbose": 0}
STEPS = 40
AWAY: list = []


class BrokenError(RuntimeError):
    pass


def untrained():
    return FactorVAE((4,), 2, discriminator_width=20)


def steps_kept(folder):
    file = folder / "checkpoint.safetensors"
    return read_tensors(file)[1]["steps"] if file.exists() else None


def breaks_at(step, broken):
    """A callback that says 1, and raises once, after so many steps, if it is the broken one."""
    calls = []

    def callback(model):
        calls.append(1)
        if broken and len(calls) == step:
            raise BrokenError
        return 1.0

    return {"callbacks": {"one": callback}, "callback_every": 1}


class Breaks(torch.utils.data.Dataset):
    """Rows that cannot be read while something is `AWAY`."""

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, place):
        if AWAY:
            raise BrokenError
        return ROWS[place]


def same_as_unbroken(folder, **options):
    wanted, model = untrained(), untrained()
    whole = train(wanted, ROWS, STEPS, **OPTIONS, **options)
    done = train(model, ROWS, STEPS, checkpoint=folder, **OPTIONS, **options)
    assert done.history == whole.history
    same_weights(model, wanted)


def same_weights(model, wanted):
    for name, value in wanted.state_dict().items():
        torch.testing.assert_close(value, model.state_dict()[name], rtol=0, atol=0, msg=name)


@pytest.mark.parametrize("step", [7, 11, STEPS])
def test_an_error_in_a_callback(step, tmp_path):
    with pytest.raises(BrokenError):
        train(untrained(), ROWS, STEPS, checkpoint=tmp_path, **OPTIONS, **breaks_at(step, True))
    assert steps_kept(tmp_path) == step
    same_as_unbroken(tmp_path, **breaks_at(step, False))  # its row is not missing


@pytest.mark.parametrize("step", [0, 10])
def test_an_error_in_a_logger(step, tmp_path):
    def logger(row):
        if row["step"] == step and "kl" in row:
            raise OSError(28, "No space left on device")

    more = breaks_at(1, False)
    with pytest.raises(OSError, match="No space left"):
        train(untrained(), ROWS, STEPS, checkpoint=tmp_path, loggers=[logger], **OPTIONS, **more)
    assert steps_kept(tmp_path) == step + 1  # the step whose terms were told has been taken
    same_as_unbroken(tmp_path, **more)


@pytest.fixture
def away():
    yield AWAY
    AWAY.clear()


@pytest.mark.parametrize("step", [1, 9])
def test_an_error_of_the_data(step, away, tmp_path):
    options = {**OPTIONS, "checkpoint": tmp_path}
    calls = {"callbacks": {"away": lambda model: away.append(1)}, "callback_at": (step,)}
    with pytest.raises(BrokenError):
        train(untrained(), Breaks(), STEPS, **options, **calls)
    assert steps_kept(tmp_path) == step
    away.clear()
    model, wanted = untrained(), untrained()
    train(model, Breaks(), STEPS, **options)
    train(wanted, Breaks(), STEPS, **OPTIONS)
    same_weights(model, wanted)


def test_nothing_is_written_of_a_run_that_could_not_begin(tmp_path):
    rows = torch.utils.data.TensorDataset(torch.rand(20, 5))  # the model takes four columns
    with pytest.raises(InputError):
        train(untrained(), rows, STEPS, checkpoint=tmp_path, **OPTIONS)
    assert steps_kept(tmp_path) is None


def test_what_became_no_number_is_not_kept(tmp_path):
    def spoil(model):
        with torch.no_grad():
            model.decoder[0].weight.fill_(torch.nan)

    with pytest.raises(FloatingPointError):
        train(
            untrained(),
            ROWS,
            STEPS,
            checkpoint=tmp_path,
            callbacks={"spoil": spoil},
            callback_every=5,
            **OPTIONS,
        )
    assert steps_kept(tmp_path) is None


def test_a_step_that_is_under_way_is_not_kept(tmp_path, monkeypatch):
    """Of two players one has had its step."""
    whole = untrained()
    monkeypatch.setattr(FactorVAE, "adversary_loss", lambda self, batch: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(whole, ROWS, STEPS, checkpoint=tmp_path, **OPTIONS)
    assert steps_kept(tmp_path) is None


class LoserOfWorkers(torch.utils.data.DataLoader):
    """Told to end, with its workers: theirs comes first, and is an error here."""

    def __iter__(self):
        for number, batch in enumerate(super().__iter__()):
            if number == 3:
                signal.raise_signal(signal.SIGTERM)
                raise RuntimeError("DataLoader worker (pid 1) is killed by signal: Terminated.")
            yield batch


def test_a_request_to_end_that_ends_the_workers_too_is_one(tmp_path):
    loader = LoserOfWorkers(torch.utils.data.TensorDataset(ROWS), batch_size=8)
    with pytest.raises(KeyboardInterrupt):
        train(VAE((4,), 2), loader, STEPS, checkpoint=tmp_path, verbose=0)
    assert steps_kept(tmp_path) == 3


def test_a_worker_that_ends_in_the_middle_of_a_step_waits_for_it(tmp_path, monkeypatch):
    step = training_run.take_step

    def told(number, frame):
        raise BrokenError

    def interrupted(*arguments):
        if arguments[5] == 4:
            signal.raise_signal(signal.SIGCHLD)
        return step(*arguments)

    monkeypatch.setattr(training_run, "take_step", interrupted)
    before = signal.signal(signal.SIGCHLD, told)
    try:
        with pytest.raises(BrokenError):
            train(untrained(), ROWS, STEPS, checkpoint=tmp_path, **OPTIONS)
        assert signal.getsignal(signal.SIGCHLD) is told
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert steps_kept(tmp_path) == 5
    monkeypatch.setattr(training_run, "take_step", step)
    same_as_unbroken(tmp_path)


SCRIPT = """
import sys, time
import torch
from geodis.models import VAE, TrainOptions, train

torch.set_num_threads(1)

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, place):
        time.sleep(0.002)
        return torch.rand(6)

loader = torch.utils.data.DataLoader(Slow(), batch_size=8, num_workers=2)
calls = {"said": lambda model: print("under way", flush=True)}
options = TrainOptions(callbacks=calls, callback_at=(9,))
train(VAE((6,), 2), loader, 100_000, checkpoint=sys.argv[1], options=options, verbose=0)
"""


@pytest.mark.long
def test_sigterm_to_a_process_and_its_workers_leaves_a_checkpoint(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout.readline() == "under way\n"
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    # Whether it ends by the interrupt or by the error of a worker that ended first is chance.
    assert process.returncode != 0
    assert steps_kept(tmp_path) >= 9
