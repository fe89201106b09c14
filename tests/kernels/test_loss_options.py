"""Choices of learning are checked where they are made."""

import dataclasses

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.kernels import FeatureOptions, KernelOptions, learn_features, learn_kernel


@pytest.mark.parametrize("kind", [KernelOptions, FeatureOptions])
@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive for what is learnt to make a difference; got 0"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"tolerance": "small"}, "tolerance must be a finite number"),
    ],
)
def test_bad_choices_are_said_in_one_sentence(kind, choices, message):
    with pytest.raises(InputError, match=message):
        kind(**choices)


@pytest.mark.parametrize(
    ("kind", "choices", "message"),
    [
        (KernelOptions, {"kernels": 0}, "kernels must be at least 1"),
        (KernelOptions, {"support": "valid"}, "support must be one of 'auto', 'full', 'same'"),
        (KernelOptions, {"symmetry": "c4"}, "symmetry must be one of 'd4', 'flip', 'none'"),
        (KernelOptions, {"l2": -1.0}, "l2 must be at least 0"),
        (FeatureOptions, {"images": 1}, "images must be at least 2"),
        (FeatureOptions, {"learning_rate": -1.0}, "learning_rate must be at least 0"),
    ],
)
def test_bad_choices_of_one_kind_are_said_in_one_sentence(kind, choices, message):
    with pytest.raises(InputError, match=message):
        kind(**choices)


def test_choices_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        KernelOptions().symmetry = "none"


@pytest.mark.parametrize(
    ("learn", "other", "wanted"),
    [
        (learn_kernel, FeatureOptions(), "KernelOptions; got FeatureOptions"),
        (learn_features, KernelOptions(), "FeatureOptions; got KernelOptions"),
    ],
)
def test_options_of_another_function_are_refused(learn, other, wanted):
    with pytest.raises(InputError, match=f"options must be {wanted}"):
        learn(np.zeros((4, 8, 8)), options=other)
