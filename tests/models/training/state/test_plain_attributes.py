"""Settings of objects: what they were given, without what they count."""

from dataclasses import dataclass

import numpy as np
from torch import nn

from geodis.models.training.state.plain_attributes import attributes_of, plain_attributes


class Counting:
    """Has settings, one of which may be changed, and counts its calls in two ways."""

    def __init__(self):
        self.scale, self.more, self.rows = 2.0, {"a": (1, None)}, np.zeros(3)
        self.calls = self.sums = 0

    def set_scale(self, scale):
        self.scale = scale

    def __call__(self, x):
        self.calls += 1
        return self._summed(x)

    def _summed(self, x):
        self.sums += x
        return self.scale * x


def test_plain_values_that_no_call_sets():
    thing = Counting()
    thing(3)
    assert plain_attributes(thing) == {"scale": 2.0, "more": {"a": (1, None)}}
    thing.set_scale(4.0)
    assert plain_attributes(thing)["scale"] == 4.0
    assert set(attributes_of(thing)) == {"scale", "more", "rows"}


def test_slots_are_attributes():
    @dataclass(slots=True)
    class Slotted:
        a: int = 1

    assert plain_attributes(Slotted(3)) == {"a": 3}


def test_what_every_module_has_is_none():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.layer, self.last = 3, nn.Linear(2, 2), None

        def forward(self, x):
            self.last = x
            return self.scale * self.layer(x)

    assert attributes_of(Scaled().eval()) == {"scale": 3}
