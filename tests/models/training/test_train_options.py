"""Choices of training are checked where they are made."""

import dataclasses
from functools import partial

import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, TrainOptions, train
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


def test_choices_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainOptions().precision = "float32"


def test_other_options_are_refused():
    with pytest.raises(InputError, match="options must be TrainOptions; got dict"):
        train(AE((4,), 2), torch.rand(8, 4), 1, options={"precision": "float32"}, verbose=0)
