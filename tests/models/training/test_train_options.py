"""Choices of training are checked where they are made."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, CSVLogger, TrainOptions, train
from geodis.models.training.train_options import takes_terms


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"adversary_learning_rate": 0}, "adversary_learning_rate must be positive; got 0"),
        ({"supervision": "labels"}, "supervision must be one of 'scaled', 'factors', 'perceived'"),
        ({"precision": "float16"}, "precision must be one of 'auto', 'float32', 'bfloat16'"),
        ({"checkpoint_every": -1.0}, "checkpoint_every must be at least 0"),
        ({"callback_every": 0}, "callback_every must be at least 1"),
        ({"prefetch": True}, "prefetch must be one of 'auto', 'always', 'never'; got True"),
        ({"callbacks": {"a": lambda: 1}}, r"must take the model, or .* got 'a', which takes \(\)"),
        ({"callbacks": {"b": lambda m, t, x: 1}}, r"got 'b', which takes \(m, t, x\)\."),
        ({"callbacks": {"c": lambda m, *, x: 1}}, r"got 'c', which takes \(m, \*, x\)\."),
        ({"callbacks": {"d": 3.0}}, "or the model and the terms of the step; got 3.0 as 'd'"),
        ({"callbacks": [len]}, r"callbacks must be callables by name, such as .*; got \[<built-in"),
        ({"callback_at": 5}, r"callback_at must be a list of steps, such as .*; got 5\."),
        ({"callback_at": "5"}, r"callback_at must be a list of steps, such as .*; got '5'"),
        ({"callback_at": [0]}, "A step of callback_at must be at least 1; got 0"),
        (
            {"loggers": CSVLogger("a.csv")},
            r"loggers must be a list of loggers, .*; got <.*CSVLogger",
        ),
        ({"loggers": "csv"}, r"loggers must be a list of loggers, .*; got 'csv'"),
        ({"loggers": ["csv"]}, "A logger must be a callable that takes a row; got 'csv'"),
        ({"stop_when": 3}, r"stop_when must be a callable that takes the history, .*; got 3\."),
    ],
)
def test_bad_choices_are_said_in_one_sentence(choices, message):
    with pytest.raises(InputError, match=message):
        TrainOptions(**choices)


def test_a_callback_gets_the_terms_if_it_cannot_do_without():
    class Asks:
        def __call__(self, model, terms):
            return 1.0

        def alone(self, model):
            return 1.0

    asks = Asks()
    for callback in (asks, Asks.alone, lambda model, terms, more=3: 1, partial(asks, terms=None)):
        expected = not isinstance(callback, partial)
        assert takes_terms(callback, "a") is expected
    # A second argument with a default is the callback's own, as in a loop that makes several.
    for callback in (asks.alone, [].append, lambda model, n=3: n, lambda *all: 1, {}.update):
        assert not takes_terms(callback, "a")


def test_sequences_of_any_kind_are_taken():
    assert TrainOptions(callback_at=np.array([3, 5])).callback_at.tolist() == [3, 5]
    assert TrainOptions(callback_at=range(1, 3), loggers=(print,)).loggers == (print,)


def test_choices_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainOptions().precision = "float32"


def test_other_options_are_refused():
    with pytest.raises(InputError, match="options must be TrainOptions; got dict"):
        train(AE((4,), 2), torch.rand(8, 4), 1, options={"precision": "float32"}, verbose=0)
