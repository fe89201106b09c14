"""Standard input is recognised by its first bytes, and read once."""

import io
import sys

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.data.files.load import standard_input_file


class Piped(io.StringIO):
    """Standard input that holds bytes."""

    def __init__(self, data, terminal=False):
        super().__init__()
        self.buffer, self.terminal = io.BytesIO(data), terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def pipe(monkeypatch):
    def give(data, **options):
        standard_input_file.cache_clear()
        monkeypatch.setattr(sys, "stdin", Piped(data, **options))

    yield give
    standard_input_file.cache_clear()


def saved(save):
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def test_arrays_archives_and_tables_are_told_apart(pipe):
    array = np.arange(6.0).reshape(3, 2)
    pipe(saved(lambda file: np.save(file, array)))
    np.testing.assert_array_equal(gd.load_array("-"), array)
    np.testing.assert_array_equal(gd.load_array("-"), array)  # asked for twice, read once
    pipe(saved(lambda file: np.savez(file, z=array, other=array[:1])))
    np.testing.assert_array_equal(gd.load_array("-:z"), array)
    pipe(b"a,b\n0,1\n2,3\n4,5\n")
    np.testing.assert_array_equal(gd.load_array("-"), array)
    pipe(b"size,kind\n0,box\n2,dot\n")
    assert gd.load_factors("-").names == ("size", "kind")


@pytest.mark.parametrize(
    ("data", "terminal", "says"), [(b"", False, "nothing"), (b"1", True, "a terminal")]
)
def test_nothing_and_a_terminal_are_refused(pipe, data, terminal, says):
    pipe(data, terminal=terminal)
    with pytest.raises(InputError, match=f"is standard input.*; got {says}"):
        gd.load_array("-")
