"""Choices of training are checked where they are made."""

import dataclasses

import pytest
import torch

from geodis.base.check import InputError
from geodis.models import AE, TrainOptions, train


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"adversary_learning_rate": 0}, "adversary_learning_rate must be positive; got 0"),
        ({"supervision": "labels"}, "supervision must be one of 'scaled', 'factors', 'perceived'"),
        ({"precision": "float16"}, "precision must be one of 'auto', 'float32', 'bfloat16'"),
        ({"checkpoint_every": -1.0}, "checkpoint_every must be at least 0"),
        ({"callback_every": 0}, "callback_every must be at least 1"),
    ],
)
def test_bad_choices_are_said_in_one_sentence(choices, message):
    with pytest.raises(InputError, match=message):
        TrainOptions(**choices)


def test_choices_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainOptions().precision = "float32"


def test_other_options_are_refused():
    with pytest.raises(InputError, match="options must be TrainOptions; got dict"):
        train(AE((4,), 2), torch.rand(8, 4), 1, options={"precision": "float32"}, verbose=0)
