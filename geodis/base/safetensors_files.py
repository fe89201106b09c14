"""Safetensors files with a note of plain values: torch tensors or numpy arrays.

A file begins with the length of its header in 8 bytes. The header, a JSON object, gives the dtype,
the shape and the range of bytes of every tensor. The bytes follow. The header is checked against
the size of the file before anything is allocated. Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.write import to_jsonable, whole_file

# numpy's names of the dtypes, by their names in the format: F64, I32, U8 and so on.
DTYPES = {
    f"{letter}{8 * size}": f"<{code}{size}"
    for letter, code, sizes in (
        ("F", "f", (8, 4, 2)),
        ("I", "i", (8, 4, 2, 1)),
        ("U", "u", (8, 4, 2, 1)),
    )
    for size in sizes
} | {"BOOL": "?"}
FLOATS_OF_A_BYTE = ("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ")
# Bytes per entry; numpy has no names for some of the dtypes.
ENTRY_BYTES = {
    **{name: np.dtype(own).itemsize for name, own in DTYPES.items()},
    **{"BF16": 2, "C64": 8, **dict.fromkeys(FLOATS_OF_A_BYTE, 1)},
}
LENGTH_BYTES = 8
# Key of the note in the metadata; older files of models use the second key.
NOTE, OLDER_NOTE = "geodis", "note"

AnyPath = str | os.PathLike[str]
Tensors = Mapping[str, Any]  # torch tensors; base does not import torch


@dataclass(frozen=True)
class TensorPlace:
    """The entry of one tensor in a header: dtype, shape, and its bytes [begin, end) in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """The header of a safetensors file.

    Attributes
    ----------
    places : dict of str to TensorPlace
    metadata : dict of str to str
        Free text by the writer of the file.
    """

    places: dict[str, TensorPlace]
    metadata: dict[str, str]


def read_header(path: AnyPath) -> Header:
    """Read the header of a safetensors file, and check it against the size of the file.

    Raises
    ------
    ValueError
        With the reason why the file cannot be read; the caller adds the name of the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "codes.safetensors"
    >>> text = b'{"codes": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
    >>> _ = path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    >>> read_header(path).places
    {'codes': TensorPlace(dtype='F32', shape=(2,), begin=73, end=81)}
    """
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        prefix = file.read(LENGTH_BYTES)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < LENGTH_BYTES or length > size - LENGTH_BYTES:
            raise ValueError(f"a header of {length} bytes was announced in a file of {size} bytes")
        try:
            header = json.loads(file.read(length))
        except RecursionError:
            raise ValueError("the header must be a flat JSON object") from None
    if not isinstance(header, dict):
        raise ValueError("the header must be a JSON object")
    metadata = _checked_metadata(header.pop("__metadata__", {}))
    start = LENGTH_BYTES + length
    places = {name: _checked_place(name, entry, start, size) for name, entry in header.items()}
    _refuse_overlaps(places)
    return Header(places, metadata)


def write_tensors(
    path: AnyPath,
    tensors: Tensors,
    note: Mapping[str, Any] | None = None,
    *,
    durable: bool = False,
    older: AnyPath | None = None,
) -> Path:
    """Write torch tensors and a note to one file; an interrupted write leaves no file.

    Parameters
    ----------
    path : path
    tensors : mapping of str to Tensor
    note : mapping, optional
        Values that JSON can hold, and numpy numbers. It is stored in the header.
    durable, older
        As for `whole_file`.
    """
    save_file = require("safetensors.torch", purpose="Writing tensors").save_file
    failed = require("safetensors", purpose="Writing tensors").SafetensorError
    plain = _without_sharing(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    )
    metadata = metadata_of(note)
    with whole_file(path, durable=durable, older=older) as temporary:
        try:
            save_file(plain, str(temporary), metadata=metadata)
        except failed as error:  # of any kind, such as a full disk
            raise OSError(str(error)) from error
    return Path(path)


def metadata_of(note: Mapping[str, Any] | None) -> dict[str, str]:
    """Return metadata of a header with a note."""
    return {NOTE: json.dumps(to_jsonable(dict(note or {})), allow_nan=False)}


def _without_sharing(tensors: Tensors) -> dict[str, Any]:
    """Copy tensors that share memory with others, which the format does not allow."""
    holders = Counter(value.untyped_storage().data_ptr() for value in tensors.values())
    return {
        name: value.clone() if holders[value.untyped_storage().data_ptr()] > 1 else value
        for name, value in tensors.items()
    }


def read_tensors(path: AnyPath) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the torch tensors and the note of a file.

    Returns
    -------
    tensors : dict of str to Tensor
    note : dict
        Empty if the file has none.
    """
    safetensors = require("safetensors", purpose="Reading tensors")
    note = read_note(path)
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, note  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise _unreadable(path, error) from error


def read_note(path: AnyPath) -> dict[str, Any]:
    """Read the note of a file without its tensors, and check the header."""
    metadata = _header_of(path).metadata
    try:
        note = json.loads(metadata.get(NOTE, metadata.get(OLDER_NOTE, "{}")))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"its note is not JSON, {error}") from error
    if not isinstance(note, dict):
        raise _unreadable(path, f"its note must be an object, and is {type(note).__name__}")
    return note


def _header_of(path: AnyPath) -> Header:
    """Read the header, with any error as one sentence about the file."""
    if not Path(path).is_file():
        what = "a folder" if Path(path).is_dir() else "none there"
        raise InputError(f"{path} must be a .safetensors file; got {what}.")
    try:
        return read_header(path)
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: AnyPath, reason: object) -> InputError:
    return InputError(f"{path} cannot be read as .safetensors: {str(reason).rstrip('.')}.")


def _checked_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
        raise ValueError("the metadata of the header must be an object of texts")
    return metadata


def _checked_place(name: str, entry: Any, start: int, size: int) -> TensorPlace:
    """Check the entry of one tensor in a header; the bytes of all tensors begin at `start`."""
    keys = ("dtype", "shape", "data_offsets")
    if not isinstance(entry, dict) or not set(keys) <= set(entry):
        raise ValueError(f"{name!r} must have dtype, shape and data_offsets, and is {entry!r}")
    dtype, shape, offsets = (entry[key] for key in keys)
    if not (isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2):
        raise ValueError(f"{name!r} must have a list as shape and two data_offsets")
    # type, not isinstance: True is an instance of int.
    if any(type(number) is not int or number < 0 for number in (*shape, *offsets)):
        raise ValueError(f"shape {shape} and offsets {offsets} of {name!r} must be counts")
    if not isinstance(dtype, str) or dtype not in ENTRY_BYTES:
        known = ", ".join(ENTRY_BYTES)
        raise ValueError(f"the dtype of {name!r} must be one of {known}, and is {dtype!r}")
    begin, end = (start + offset for offset in offsets)
    if end > size:
        raise ValueError(f"{name!r} ends at byte {end} of a file of {size} bytes")
    if math.prod(shape) * ENTRY_BYTES[dtype] != end - begin:
        raise ValueError(
            f"{name!r} of shape {tuple(shape)} and dtype {dtype} does not fill {end - begin} bytes"
        )
    return TensorPlace(dtype, tuple(shape), begin, end)


def _refuse_overlaps(places: Mapping[str, TensorPlace]) -> None:
    last, reached = "", 0
    for name, place in sorted(places.items(), key=lambda pair: (pair[1].begin, pair[1].end)):
        if place.begin < reached:
            raise ValueError(f"{last!r} and {name!r} lie on the same bytes")
        last, reached = name, place.end


# Numpy arrays: these functions need no other package.

# The header is padded to a multiple of this number of bytes, so that arrays are aligned.
ALIGNMENT = 64


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    note: Mapping[str, Any] | None = None,
) -> Path:
    """Write arrays and a note to one file; an interrupted write leaves no file.

    Equal values give equal bytes.

    Parameters
    ----------
    path : path
    arrays : mapping of str to ndarray
        Floats, integers or bool.
    note : mapping, optional
        Values that JSON can hold, and numpy numbers. It is stored in the header.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.safetensors"
    >>> _ = write_arrays(path, {"a": np.arange(3)}, {"made": "here"})
    >>> read_arrays(path)
    ({'a': array([0, 1, 2])}, {'made': 'here'})
    """
    names = {np.dtype(own): name for name, own in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": metadata_of(note)}
    begin, plain = 0, []
    # In order of decreasing entry size, so that every array is aligned to its entries.
    for name in sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype not in names:
            known = ", ".join(str(np.dtype(own)) for own in DTYPES.values())
            raise InputError(f"Arrays on disk must be of {known}; got {array.dtype} in {name}.")
        plain.append(array)
        end = begin + array.nbytes
        place = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
        header[name], begin = place, end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(LENGTH_BYTES + len(text)) % ALIGNMENT)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
        for array in plain:
            file.write(array.data if array.size else b"")
    return Path(path)


def read_arrays(
    path: str | os.PathLike[str], *, names: Collection[str] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the note of a file; its size is checked before anything is allocated.

    Parameters
    ----------
    path : path
    names : collection of str, optional
        The arrays to read; all by default.

    Returns
    -------
    arrays : dict of str to ndarray
    note : dict
        Empty if the file has none.
    """
    note = read_note(path)
    arrays = {}
    for name, place in read_header(path).places.items():
        if names is not None and name not in names:
            continue
        if place.dtype not in DTYPES:
            raise InputError(
                f"{path} must hold arrays of {', '.join(DTYPES)}; got {place.dtype} in {name}."
            )
        dtype = np.dtype(DTYPES[place.dtype])
        count = (place.end - place.begin) // dtype.itemsize
        array = np.fromfile(path, dtype, count, offset=place.begin)
        arrays[name] = array.reshape(place.shape).astype(dtype.newbyteorder("="), copy=False)
    return arrays, note
