"""Notes of files: entries of the right kind, and one sentence about all others."""

import math

import pytest

from geodis.base.check import InputError
from geodis.base.notes import named, note_counts, note_entry, rebuilding


def test_entries_of_the_right_kind_are_returned():
    note = {"steps": 3, "seconds": 2, "best": None, "shape": [1, 2]}
    assert note_entry(note, "steps", int, "run") == 3
    seconds = note_entry(note, "seconds", float, "run")
    assert seconds == 2.0 and isinstance(seconds, float)
    assert math.isnan(note_entry(note, "best", float, "run"))
    assert note_counts(note, "shape", "run") == (1, 2)


@pytest.mark.parametrize(
    ("note", "kind", "message"),
    [
        ({}, int, "run must say a whole number of at least 0 as 'x'; got nothing"),
        ([], int, "run must say a whole number of at least 0 as 'x'; got nothing"),
        ({"x": True}, int, "a whole number of at least 0 as 'x'; got True"),
        ({"x": -1}, int, "a whole number of at least 0 as 'x'; got -1"),
        ({"x": 1.5}, int, "got 1.5"),
        ({"x": None}, dict, "an object"),
        ({"x": "3"}, float, "a number"),
    ],
)
def test_other_entries_get_one_sentence(note, kind, message):
    with pytest.raises(InputError, match=message):
        note_entry(note, "x", kind, "run", low=0 if kind is int else None)


@pytest.mark.parametrize("shape", [[0], [1.0], [True], ["3"]])
def test_counts_are_whole_numbers_from_one_on(shape):
    with pytest.raises(InputError, match="run must say whole numbers from 1 on as 'shape'"):
        note_counts({"shape": shape}, "shape", "run")


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (KeyError("size"), "^run describes what cannot be built: 'size' is missing"),
        (TypeError("no such option"), "^run describes what cannot be built: no such option"),
        (InputError("steps must be there."), "^run describes what cannot be built: steps must be"),
        (InputError("run must say steps."), "^run must say steps"),
    ],
)
def test_what_a_constructor_raises_becomes_one_sentence(raised, message):
    with pytest.raises(InputError, match=message), rebuilding("run"):
        raise raised


def test_names_are_those_of_the_table():
    assert named({"a": 1}, "a", "run") == 1
    wrong: tuple[object, ...] = ("b", 3, [])
    for name in wrong:
        with pytest.raises(InputError, match="run must name one of a; got"):
            named({"a": 1}, name, "run")
