"""Reader of netCDF files, in the classic formats and in version 4 (HDF5).

scipy and h5py read the bytes, and xarray decodes them. netCDF4 is not used: damaged classic files
crash its process, and it fills truncated files with zeros.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import require
from geodis.data.columns import Column
from geodis.data.files.formats import Contents, Stored, register_reader
from geodis.data.files.hdf5 import array_of_texts, member, members, values_of
from geodis.data.files.limits import CHARACTER_BYTES, TEXT_BYTES, check_count, check_unpacked

# How HDF5 marks a dimension without a variable.
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
# Attributes that xarray decodes, except those of times and coordinates.
DECODED = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "_Encoding")
# Attributes that give the range of valid values.
VALID = ("valid_min", "valid_max", "valid_range")
# Maximum number of values of such an attribute.
MOST_VALUES = 1000

# Default fill values (NC_FILL_SHORT etc. in netcdf.h). Bytes have none: by the netCDF users' guide,
# every byte value may be valid.
DEFAULT_FILLS: dict[str, float | int] = {
    "i2": -(2**15) + 1,
    "u2": 2**16 - 1,
    "i4": -(2**31) + 1,
    "u4": 2**32 - 1,
    "i8": -(2**63) + 2,
    "u8": 2**64 - 2,
    "f4": 9.9692099683868690e36,
    "f8": 9.9692099683868690e36,
}


@register_reader(".nc", ".nc4", ".cdf")
def read_netcdf(path: Path, mmap: bool) -> Contents:
    """Read variables by name, decoded by the netCDF conventions; missing values are NaN."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"CDF\x05":
        raise ValueError("it must not be CDF-5 (64-bit data): convert it with nccopy -k nc4")
    is_classic = start.startswith(b"CDF")
    return Contents(path, _listed_classic(path) if is_classic else _listed_hdf5(path))


def _listed_classic(path: Path) -> dict[str, Stored]:
    with _opened(path) as file:
        check_count(path, len(file.variables))
        return {
            name: _stored(
                variable.data.dtype,
                variable.shape,
                variable._attributes,
                partial(_read_classic, path, name),
            )
            for name, variable in file.variables.items()
        }


def _stored(
    dtype: np.dtype, shape: tuple[int, ...], attributes: Mapping[str, Any], read: Any
) -> Stored:
    """Describe a decoded variable: characters along the last axis form texts."""
    if dtype.kind == "S":
        return Stored(shape[:-1] if dtype.itemsize == 1 else shape, "labels", read)
    packed = "scale_factor" in attributes or "add_offset" in attributes
    return Stored(shape, "float64" if packed else str(dtype.newbyteorder("=")), read)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a classic file, mapped because many variables may share the same bytes."""
    from scipy.io import netcdf_file

    with warnings.catch_warnings():
        # An error may keep an array alive, and scipy warns of arrays that outlive their file.
        warnings.filterwarnings("ignore", message="Cannot close a netcdf_file", append=False)
        with netcdf_file(str(path), "r", mmap=True) as file:
            yield file


def _read_classic(path: Path, name: str) -> Column:
    with _opened(path) as file:
        variable = file.variables[name]
        check_unpacked(path, _decoded_bytes(variable.data.dtype, variable.shape), name)
        # Copy to native byte order, because the mapping ends with the file.
        values = np.array(variable.data, variable.data.dtype.newbyteorder("="))
        attributes = dict(variable._attributes)
        del variable
    return _decoded(values, attributes)


def _listed_hdf5(path: Path) -> dict[str, Stored]:
    h5py = require("h5py", purpose="Reading netCDF files of version 4")
    arrays: dict[str, Stored] = {}
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if not isinstance(node, h5py.Dataset) or node.shape is None or _is_dimension(node):
                continue
            read = partial(_read_hdf5, path, key)
            if h5py.check_string_dtype(node.dtype) and node.dtype.hasobject:
                arrays[key] = Stored(node.shape, "labels", read)
            else:
                arrays[key] = _stored(node.dtype, node.shape, node.attrs, read)
            check_count(path, len(arrays))
    return arrays


def _is_dimension(dataset: Any) -> bool:
    name = dataset.attrs.get("NAME", b"")
    return (name if isinstance(name, bytes) else str(name).encode()).startswith(NO_VARIABLE)


def _read_hdf5(path: Path, key: str) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = member(path, file, key)
        if h5py.check_string_dtype(dataset.dtype) and dataset.dtype.hasobject:
            return array_of_texts(path, dataset)
        check_unpacked(path, _decoded_bytes(dataset.dtype, dataset.shape), key)
        return _decoded(np.asarray(values_of(path, dataset)), _attributes(dataset))


def _attributes(dataset: Any) -> dict[str, Any]:
    """Read the attributes used for decoding; others may be of any size."""
    found = {}
    for name in (*DECODED, *VALID):
        if name in dataset.attrs and dataset.attrs.get_id(name).shape is not None:
            if math.prod(dataset.attrs.get_id(name).shape) > MOST_VALUES:
                raise ValueError(f"{dataset.name} has more than {MOST_VALUES} values of {name}")
            found[name] = dataset.attrs[name]
    return found


def _decoded_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return the bytes of a variable as 8-byte numbers, or as texts with one copy."""
    if dtype.kind != "S":
        return 8 * math.prod(shape)
    texts = math.prod(shape[:-1]) if dtype.itemsize == 1 else math.prod(shape)
    return TEXT_BYTES * texts + 2 * CHARACTER_BYTES * math.prod(shape) * dtype.itemsize


def _decoded(values: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Decode values by the conventions; missing and invalid values become NaN."""
    known = {name: _plain(value) for name, value in attributes.items()}
    missing = _is_missing(values, known)
    if values.dtype.kind == "S" or known.keys() & {*DECODED}:
        values = _by_xarray(values, {name: known[name] for name in DECODED if name in known})
    if values.dtype.kind in "SO":
        texts = np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values
        return np.asarray(texts, dtype=str)
    if missing.any():
        values = values.astype(np.result_type(values, np.float32 if values.itemsize < 4 else float))
        values[missing] = np.nan
    return values


def _by_xarray(values: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Decode characters, unsigned numbers, fill values, scales and offsets with xarray."""
    xarray = require("xarray", purpose="Reading netCDF files with conventions")
    axes = [f"axis {i}" for i in range(values.ndim)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about several fill values, all of which it applies
        dataset = xarray.Dataset({"x": (axes, values, attributes)})
        decoded = xarray.decode_cf(dataset, decode_times=False, decode_coords=False)
        return np.asarray(decoded["x"].values)


def _is_missing(values: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Mark what xarray does not: default fill values, and values outside the valid range."""
    missing = np.zeros(values.shape, bool)
    if values.dtype.kind not in "iuf":
        return missing
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    if "_FillValue" not in attributes and kind in DEFAULT_FILLS:
        missing |= values == np.array(DEFAULT_FILLS[kind], values.dtype)
    own = values.dtype
    is_unsigned = str(attributes.get("_Unsigned")).lower() == "true"
    seen = np.dtype(f"u{own.itemsize}") if is_unsigned and own.kind == "i" else own
    low, high = (_as(attributes.get(name), own, seen) for name in ("valid_min", "valid_max"))
    both = _as(attributes.get("valid_range"), own, seen)
    if both.size == 2:
        low, high = both[:1], both[1:]
    if low.size == 1:
        missing |= values.view(seen) < low
    if high.size == 1:
        missing |= values.view(seen) > high
    return missing


def _as(bound: Any, own: np.dtype, seen: np.dtype) -> np.ndarray:
    """Cast a bound to the variable's type; drop it if the cast changes it, as netCDF4 does."""
    given = np.atleast_1d(np.asarray(() if bound is None else bound))
    if given.dtype.kind not in "iuf":
        return np.empty(0)
    with np.errstate(all="ignore"):
        cast = given.astype(own)
    return cast.view(seen) if (cast == given).all() else np.empty(0)


def _plain(value: Any) -> Any:
    """Convert an attribute to text, or to one or several numbers in native byte order."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, np.ndarray | np.generic):
        return value
    array = np.asarray(value)
    array = array.astype(array.dtype.newbyteorder("="))
    return array.reshape(-1)[0] if array.size == 1 else array
