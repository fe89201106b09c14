"""Early stopping and loggers: the same decision after a resume, and no step written twice."""

import csv
import signal
import sys
import types

import pytest
import torch

from geodis import models
from geodis.base.check import InputError
from geodis.models import (
    AE,
    VAE,
    CSVLogger,
    EarlyStopping,
    RunLogger,
    TensorBoardLogger,
    TrainOptions,
    train_stacked,
)
from tests.options import flat

train = flat(models.train, TrainOptions)
ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
OPTIONS = {"batch_size": 8, "verbose": 0}


def read(path):
    with path.open() as file:
        return [(int(r["step"]), r["name"], float(r["value"])) for r in csv.DictReader(file)]


def flattened(history):
    return [
        (r["step"], name, value) for r in history for name, value in r.items() if name != "step"
    ]


def test_a_logger_is_told_every_term_and_answer():
    told: list = []
    done = train(
        VAE((4,), 2),
        ROWS,
        25,
        loggers=[told.append],
        callbacks={"one": lambda model: 1.0},
        callback_every=10,
        **OPTIONS,
    )
    assert told == done.history
    assert [row["step"] for row in told if "kl" in row] == [0, 10, 20, 24]


def test_a_csv_has_the_history_also_after_a_resume(tmp_path):
    path, folder = tmp_path / "log.csv", tmp_path / "run"
    options = {**OPTIONS, "checkpoint": folder}
    first = train(VAE((4,), 2), ROWS, 15, loggers=[CSVLogger(path)], **options)
    assert read(path) == flattened(first.history)
    again = train(VAE((4,), 2), ROWS, 35, loggers=[CSVLogger(path)], **options)
    assert read(path) == flattened(again.history)
    assert len({(step, name) for step, name, _ in read(path)}) == len(read(path))


def test_a_log_that_cannot_be_written_is_said_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="A log must be a file that can be written"):
        train(AE((4,), 2), ROWS, 2, loggers=[CSVLogger(tmp_path / "file" / "x.csv")], **OPTIONS)


def test_a_log_that_can_no_longer_be_written_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "log.csv"

    def away(model):
        path.unlink()
        path.mkdir()

    options = {**OPTIONS, "callbacks": {"away": away}, "callback_every": 5}
    with pytest.raises(InputError, match="A log must be a file that can be written"):
        train(AE((4,), 2), ROWS, 20, loggers=[CSVLogger(path)], **options)


@pytest.fixture
def board(monkeypatch):
    """What stands for tensorboard: it keeps what it is told."""
    told = {"told": [], "closed": 0}

    class SummaryWriter:
        def __init__(self, folder, **options):
            told["told"].append(options)

        def add_scalar(self, name, value, step):
            told["told"].append((step, name, value))

        def close(self):
            told["closed"] += 1

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return told


def shown(board):
    """What TensorBoard shows: whoever opens a folder hides what has his first step, or a later."""
    left: list = []
    for told in board["told"]:
        if isinstance(told, dict):
            left = [each for each in left if each[0] < told["purge_step"]]
        else:
            left.append(told)
    return sorted(left)


def test_tensorboard_shows_every_value_once(board, tmp_path):
    options = {**OPTIONS, "checkpoint": tmp_path / "run", "loggers": [TensorBoardLogger(tmp_path)]}
    train(VAE((4,), 2), ROWS, 20, **options)
    done = train(VAE((4,), 2), ROWS, 40, **options)
    assert board["closed"] == 2 and shown(board) == sorted(flattened(done.history))


@pytest.mark.parametrize("kept", [0, 10, 11, 15])
def test_tensorboard_hides_what_a_run_that_was_killed_had_written(kept, board, tmp_path):
    """Killed after step 28, with a checkpoint of fewer: rows of a step lie on both sides of it."""
    folder = tmp_path / "run"
    calls = {"callbacks": {"one": lambda model: 1.0}, "callback_every": 5}
    options = {**OPTIONS, **calls, "loggers": [TensorBoardLogger(tmp_path)]}
    train(VAE((4,), 2), ROWS, 28, **options)
    if kept:
        train(VAE((4,), 2), ROWS, kept, **OPTIONS, **calls, checkpoint=folder)
    done = train(VAE((4,), 2), ROWS, 40, **options, checkpoint=folder)
    assert shown(board) == sorted(flattened(done.history))


def test_what_is_open_is_closed_after_an_error(board, tmp_path):
    def fail(model):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(
            VAE((4,), 2),
            ROWS,
            5,
            callbacks={"fail": fail},
            callback_every=2,
            loggers=[TensorBoardLogger(tmp_path)],
            **OPTIONS,
        )
    assert board["closed"] == 1


def test_without_tensorboard_a_sentence_says_what_else_there_is(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"needs tensorboard, which is not installed: .*CSVLogger"):
        train(AE((4,), 2), ROWS, 2, loggers=[TensorBoardLogger(tmp_path)], **OPTIONS)


def test_a_logger_of_ones_own_defines_what_it_needs():
    class Last(RunLogger):
        def __call__(self, row):
            self.row = row

    last = Last()
    done = train(AE((4,), 2), ROWS, 12, loggers=[last], **OPTIONS)
    assert last.row == done.history[-1]


# Early stopping


def rows(values, name="loss"):
    return [{"step": 10 * place, name: value} for place, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "options", "stops"),
    [
        ([3, 2, 2, 2], {"patience": 20}, True),
        ([3, 2, 2, 1.9], {"patience": 20}, False),
        ([3, 2, 2, 1.9], {"patience": 20, "least": 0.2}, True),
        ([3, 2, 2], {"patience": 20}, False),
        ([1, 2, 3, 4], {"patience": 20}, True),
        ([1, 2, 3, 4], {"patience": 20, "better": "higher"}, False),
        ([3, 1, 3, 1, 3, 1], {"patience": 30, "average": 2}, True),
        ([9, 7, 8, 6, 7, 5], {"patience": 30, "average": 2}, False),
        ([1], {"patience": 1, "average": 2}, False),
    ],
)
def test_a_run_ends_when_a_value_is_not_better_for_long(values, options, stops):
    stop = EarlyStopping("loss", **{"average": 1, **options})
    assert stop(rows(values)) is stops
    # Rows that say something else are passed over.
    assert stop(sorted(rows(values) + rows(values, "other"), key=lambda r: r["step"])) is stops


def test_a_name_that_never_comes_is_missed():
    with pytest.raises(InputError, match="a name in the history, loss; got 'lost'"):
        EarlyStopping("lost", 20)(rows([1, 2, 3]))


def test_a_value_of_a_callback_is_waited_for_until_the_first_call():
    calls = {"score": lambda model: {"mig": 1.0, "sap": 0.5}}
    stop = EarlyStopping("score mig", 50, average=1)
    options = {**OPTIONS, "callbacks": calls, "callback_every": 100}
    done = train(VAE((4,), 2), ROWS, 400, stop_when=stop, **options)
    assert done.steps == 200  # the second call is 50 steps or more after the first
    lost = EarlyStopping("score dci", 50, average=1)
    with pytest.raises(
        InputError, match=r"name in the history, kl, .*, score sap; got 'score dci'"
    ):
        train(VAE((4,), 2), ROWS, 400, stop_when=lost, **options)
    neither = EarlyStopping("scores", 50)  # no callback's, and no term: said before any is called
    with pytest.raises(InputError, match="history, kl, reconstruction, score; got 'scores'"):
        train(VAE((4,), 2), ROWS, 90, stop_when=neither, **options)


@pytest.mark.parametrize("cut", [20, 21, 25, 26, 50, 75])
def test_callbacks_and_stopping_are_the_same_after_a_resume(cut, tmp_path):
    """Wherever it is cut: stopped by a callback's value, with the terms of the step before."""
    calls = {"x": lambda model, terms: {"one": 1.0, "terms": len(terms)}}
    options = {**OPTIONS, "callbacks": calls, "callback_every": 25}
    options["stop_when"] = EarlyStopping("x one", 50, average=1)
    wanted = train(VAE((4,), 2), ROWS, 400, **options)
    assert wanted.steps == 75
    train(VAE((4,), 2), ROWS, cut, checkpoint=tmp_path, **options)
    for _ in range(2):
        done = train(VAE((4,), 2), ROWS, 400, checkpoint=tmp_path, **options)
        assert (done.steps, done.history) == (wanted.steps, wanted.history)


def test_another_stopping_waits_for_a_step_whose_terms_are_known(tmp_path):
    """Step 26 was not noted, and a callback that has the last word asks for its terms."""

    def press(model, terms):
        if terms["step"] == 26:
            signal.raise_signal(signal.SIGINT)

    folder = {**OPTIONS, "checkpoint": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        train(VAE((4,), 2), ROWS, 90, callbacks={"p": press}, callback_every=1, **folder)
    calls = {"callbacks": {"kl": lambda model, terms: terms["kl"]}, "callback_every": 500}
    done = train(VAE((4,), 2), ROWS, 90, stop_when=lambda history: True, **calls, **folder)
    assert done.steps == 28 and done.history[-1] == {"step": 28, "kl": done.history[-1]["kl"]}


def test_a_stopped_run_says_so_and_stays_stopped(tmp_path):
    stop = EarlyStopping("reconstruction", 30, least=1e9, average=1)
    calls = {"size": lambda model: model.decoder[0].weight.detach().abs().sum()}
    options = {**OPTIONS, "callbacks": calls, "callback_every": 1000, "stop_when": stop}
    model = VAE((4,), 2)
    done = train(model, ROWS, 500, checkpoint=tmp_path, **options)
    assert done.steps == 31 and "(stopped early, of 500 steps)" in str(done)
    assert done.history[-1].keys() == {"step", "size"}  # the callbacks had the last word
    again = train(VAE((4,), 2), ROWS, 500, checkpoint=tmp_path, **options)
    assert (again.steps, again.history) == (31, done.history)
    options["stop_when"] = None
    longer = train(VAE((4,), 2), ROWS, 60, checkpoint=tmp_path, **options)
    wanted = train(VAE((4,), 2), ROWS, 60, **options)
    assert longer.history == wanted.history and not longer.note


def test_a_run_that_is_resumed_stops_where_it_would_have(tmp_path):
    stop = EarlyStopping("reconstruction", 40, least=0.05, average=1)
    wanted = train(VAE((4,), 2), ROWS, 900, stop_when=stop, **OPTIONS)
    assert 50 < wanted.steps < 900
    train(VAE((4,), 2), ROWS, 33, checkpoint=tmp_path, **OPTIONS)
    done = train(VAE((4,), 2), ROWS, 900, stop_when=stop, checkpoint=tmp_path, **OPTIONS)
    assert (done.steps, done.history) == (wanted.steps, wanted.history)


def test_stacks_have_neither():
    with pytest.raises(InputError, match="for models that are trained alone"):
        train_stacked(
            [VAE((4,), 2)], ROWS, 2, options=TrainOptions(loggers=[lambda row: None]), verbose=0
        )
