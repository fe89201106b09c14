"""Numpy arrays in one safetensors file with a note of plain values; needs no other package."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.tensors import DTYPES, LENGTH_BYTES, metadata_of, read_header, read_note
from geodis.base.write import whole_file

# The header is filled up to a multiple of this, so that arrays begin where processors like it.
ALIGNMENT = 64


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    note: Mapping[str, Any] | None = None,
) -> Path:
    """Write arrays and a note as one file, whole or not at all: the same bytes for the same values.

    Parameters
    ----------
    path : path
    arrays : mapping of str to ndarray
        Of floats, integers or bool.
    note : mapping, optional
        What JSON can hold, and numpy numbers; it goes into the header.

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
    # The largest entries first: every array then begins at a multiple of its own.
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
    """Read the arrays and the note of a file, held against its size before anything is allocated.

    Parameters
    ----------
    path : path
    names : collection of str, optional
        Of the arrays to read; all by default.

    Returns
    -------
    arrays : dict of str to ndarray
    note : dict
        Empty where the file has none.
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
