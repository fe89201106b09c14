"""Early stopping and loggers: the same decision after a resume, and no step written twice."""

import csv
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


@pytest.fixture
def board(monkeypatch):
    """What stands for tensorboard: it keeps what it is told."""
    told = {"opened": [], "scalars": [], "closed": 0}

    class SummaryWriter:
        def __init__(self, folder, **options):
            told["opened"].append((folder, options))

        def add_scalar(self, name, value, step):
            told["scalars"].append((step, name, value))

        def close(self):
            told["closed"] += 1

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return told


def test_tensorboard_gets_every_value_once(board, tmp_path):
    options = {**OPTIONS, "checkpoint": tmp_path / "run", "loggers": [TensorBoardLogger(tmp_path)]}
    train(VAE((4,), 2), ROWS, 20, **options)
    done = train(VAE((4,), 2), ROWS, 40, **options)
    assert [each[1] for each in board["opened"]] == [{}, {"purge_step": 11}]
    assert board["closed"] == 2
    last = {(step, name): value for step, name, value in board["scalars"]}
    assert last.items() >= {(s, name): v for s, name, v in flattened(done.history)}.items()


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
