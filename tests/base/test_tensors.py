"""Tensor files: what is written comes back, and no header is believed before it is checked."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from geodis.base.check import InputError
from geodis.base.safetensors_files import read_header, read_note, read_tensors, write_tensors

FLOATS = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def write(path, header, size=8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))
    return path


def test_tensors_and_notes_come_back(tmp_path):
    tensors = {"a": torch.rand(3, 2), "b": torch.arange(4), "c": torch.rand(2, 5).T}
    write_tensors(tmp_path / "x.safetensors", tensors, {"step": 3, "names": ["a"], "nan": np.nan})
    again, note = read_tensors(tmp_path / "x.safetensors")
    assert note == {"step": 3, "names": ["a"], "nan": None} == read_note(tmp_path / "x.safetensors")
    assert set(again) == set(tensors)
    assert all(torch.equal(again[name], value) for name, value in tensors.items())
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


def test_tensors_that_share_their_memory_are_written(tmp_path):
    whole = torch.arange(6.0)
    again, note = read_tensors(write_tensors(tmp_path / "x.safetensors", {"a": whole, "b": whole}))
    assert torch.equal(again["a"], again["b"]) and note == {}


@pytest.mark.parametrize("key", ["geodis", "note"])
def test_notes_are_read_under_both_names(key, tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"a": torch.zeros(2)}, path, metadata={key: '{"step": 3}'})
    assert read_note(path) == {"step": 3}


def test_a_header_says_where_tensors_lie(tmp_path):
    path = write_tensors(tmp_path / "x.safetensors", {"a": torch.rand(3, 2), "b": torch.ones(2)})
    places, stored = read_header(path).places, path.read_bytes()
    assert places["a"].shape == (3, 2) and places["a"].dtype == "F32"
    own = np.frombuffer(stored[places["b"].begin : places["b"].end], np.float32)
    assert own.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": {**FLOATS, "shape": [500_000, 500_000]}}, "does not fill 8 bytes"),
        (
            {"a": {**FLOATS, "shape": [250 * 10**9], "data_offsets": [0, 10**12]}},
            r"ends at byte 10000000000\d\d of a file of \d+ bytes",
        ),
        ({"a": {**FLOATS, "shape": [-2]}}, "must be counts"),
        ({"a": {**FLOATS, "shape": [2.0]}}, "must be counts"),
        ({"a": {**FLOATS, "shape": [True]}}, "must be counts"),
        ({"a": {**FLOATS, "shape": "2"}}, "must have a list as shape"),
        ({"a": {**FLOATS, "data_offsets": [0]}}, "two data_offsets"),
        ({"a": {**FLOATS, "data_offsets": [8, 0]}}, "does not fill -8 bytes"),
        ({"a": {**FLOATS, "dtype": "F99"}}, "dtype of 'a' must be one of F64, .*is 'F99'"),
        ({"a": {**FLOATS, "dtype": ["F32"]}}, "dtype of 'a' must be one of"),
        ({"a": {"dtype": "F32", "shape": [2]}}, "must have dtype, shape and data_offsets"),
        ({"a": [1]}, "must have dtype, shape and data_offsets"),
        ({"a": FLOATS, "b": FLOATS}, "'a' and 'b' lie on the same bytes"),
        ({"a": FLOATS, "__metadata__": {"geodis": 3}}, "metadata .* must be an object of texts"),
        ({"a": FLOATS, "__metadata__": []}, "metadata .* must be an object of texts"),
        ({"a": FLOATS, "__metadata__": {"geodis": "{"}}, "its note is not JSON"),
        ({"a": FLOATS, "__metadata__": {"geodis": "[]"}}, "note must be an object, and is list"),
        ({"a": FLOATS, "__metadata__": {"geodis": "[" * 10**5}}, "its note is not JSON"),
        ([], "header must be a JSON object"),
        (b"{", "cannot be read as"),
        (b"\xff", "cannot be read as"),
        (b"[" * 10**5, "must be a flat JSON object"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused_in_one_sentence(header, message, tmp_path):
    path = write(tmp_path / "x.safetensors", header)
    with pytest.raises(InputError, match=message) as caught:
        read_tensors(path)
    assert str(caught.value).startswith(f"{path} cannot be read as .safetensors: ")


def test_a_header_longer_than_its_file_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes((10**12).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="a header of 1000000000000 bytes was announced in a file"):
        read_header(path)


def test_what_is_no_file_is_said(tmp_path):
    with pytest.raises(InputError, match=r"must be a \.safetensors file; got a folder"):
        read_tensors(tmp_path)
    with pytest.raises(InputError, match=r"must be a \.safetensors file; got none there"):
        read_note(tmp_path / "none.safetensors")


def test_bytes_that_no_tensor_fills_are_refused_by_the_reader(tmp_path):
    with pytest.raises(InputError, match="cannot be read as"):
        read_tensors(write(tmp_path / "x.safetensors", {"a": FLOATS}, size=9))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    write_tensors(path, {"a": torch.ones(2, 3), "b": torch.arange(3)}, {"steps": 3})
    file = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(file)
    try:
        tensors, note = read_tensors(path)
    except InputError:
        return
    assert isinstance(note, dict)
    assert sum(tensor.nbytes for tensor in tensors.values()) <= len(file)
