"""File formats of other packages."""

import json
from functools import partial

import numpy as np
import pytest

from geodis import as_factors, load_array, load_factors
from geodis.base.check import InputError
from geodis.data import Contents, Labels, Stored, register_reader, unregister_reader
from geodis.data.files import formats


def add_records() -> None:
    """What another package would write: JSON with columns by name."""

    @register_reader(".records")
    def read_records(path, mmap):
        columns = json.loads(path.read_text())
        arrays = {}
        for name, column in columns.items():
            read = np.array if isinstance(column[0], float) else Labels.of
            arrays[name] = Stored((len(column),), "a column", partial(read, column))
        return Contents(path, arrays, columns={name: name for name in arrays})


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "READERS", dict(formats.READERS))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "factors.records"
    path.write_text(json.dumps({"x": [0.5, 1.5], "shape": ["dot", "box"]}))
    return path


@pytest.mark.usefixtures("readers")
def test_a_format_of_another_package_is_read(file):
    add_records()
    assert load_array(f"{file}:x").tolist() == [0.5, 1.5]
    expected = as_factors({"x": [0.5, 1.5], "shape": ["dot", "box"]})
    np.testing.assert_array_equal(load_factors(file).values, expected.values)
    assert load_factors(file).kinds == ("numbers", "labels")
    file.write_text("no json")
    with pytest.raises(InputError, match=r"cannot be read as \.records: Expecting value"):
        load_factors(file)


@pytest.mark.usefixtures("readers")
def test_a_format_goes_again_and_is_written_anew(file):
    add_records()
    unregister_reader(".records")
    with pytest.raises(InputError, match=r"that of a registered reader; got '\.records'"):
        unregister_reader(".records")
    add_records()
    assert len(load_factors(file)) == 2


@pytest.mark.usefixtures("readers")
def test_packages_are_asked_for_a_suffix_that_is_not_known(file, monkeypatch):
    asked = []

    def load_plugins(group):
        asked.append(group)
        add_records()

    monkeypatch.setattr(formats, "load_plugins", load_plugins)
    np.save(file.with_suffix(".npy"), np.eye(2))
    load_array(file.with_suffix(".npy"))
    assert not asked
    assert load_array(f"{file}:x").tolist() == [0.5, 1.5]
    assert asked == ["geodis.file_formats"]


@pytest.mark.parametrize("suffix", ["records", ".Records", "."])
def test_a_suffix_is_a_dot_and_small_letters(suffix):
    with pytest.raises(InputError, match=r"must be like '\.npy', in lower case; got"):
        register_reader(suffix)


def test_a_suffix_has_one_reader():
    with pytest.raises(InputError, match=r"must have one reader; got a second for '\.npy'"):
        register_reader(".npy")
