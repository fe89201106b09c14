"""Items of a Dataset: what lasts counts, what is made at random does not."""

import random

import numpy as np
import pytest
import torch

from geodis.models.training.state.lasting_items import lasting_items


class Items:
    """As many items as asked for, made by a function of the place."""

    def __init__(self, make):
        self.make = make

    def __getitem__(self, place):
        return self.make(place)


def told(make, places=(0, 3, 7), seeds=(0, 1)):
    return list(lasting_items(Items(make), places, seeds))


class Picture:
    """As an image of Pillow gives itself to numpy."""

    def __init__(self, value):
        self.__array_interface__ = np.full((2, 2), value).__array_interface__


MAKERS = {
    "tensor": lambda x: torch.full((2,), float(x)),
    "array": lambda x: np.full(2, x),
    "number": lambda x: x,
    "pair": lambda x: (torch.ones(2), x),
    "dict": lambda x: {"a": [1, {"b": x}]},
    "picture": lambda x: (Picture(x), 1),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_items_of_any_kind_count(kind):
    make = MAKERS[kind]
    assert told(make) == told(make) != []
    assert told(make) != told(lambda x: make(x + 10 * (x == 7)))


RANDOM = {
    "torch": lambda: float(torch.rand(())),
    "numpy": lambda: np.random.rand(),
    "python": random.random,
    "its own": np.random.default_rng().random,
}


@pytest.mark.parametrize("kind", RANDOM)
def test_what_is_made_at_random_is_left_out(kind):
    draw = RANDOM[kind]
    assert told(lambda x: x + draw()) == []
    assert told(lambda x: (x + draw(), x)) == told(lambda x: (x - draw(), x)) != []
    # Now and then is at random too, wherever it happens.
    assert told(lambda x: (x, draw() > 0.5), range(100)) == told(lambda x: (x, draw()), range(100))


@pytest.mark.parametrize("kind", RANDOM)
def test_what_a_seed_determines_counts_under_that_seed(kind):
    draw, seeds = RANDOM[kind], (0, 0)
    of_rows = told(lambda x: x + draw(), seeds=seeds)
    assert of_rows == told(lambda x: x + draw(), seeds=seeds)
    assert bool(of_rows) == (kind != "its own")
    assert not of_rows or of_rows != told(lambda x: 2 * x + draw(), seeds=seeds)


def test_the_random_numbers_of_the_user_stay_as_they_were():
    random.random(), np.random.rand(), torch.rand(1)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    told(lambda x: x + RANDOM["torch"]() + RANDOM["numpy"]() + RANDOM["python"]())
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert after == before


def test_items_without_places_say_nothing():
    def by_name(place):
        raise KeyError(place)

    assert told(by_name) == []
