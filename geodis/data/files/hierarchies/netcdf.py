"""netCDF files, of the classic formats and of version 4 (which is HDF5) -> their variables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import require
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.formats import register_reader
from geodis.data.files.hierarchies.hdf5_members import member, members, values_of
from geodis.data.files.limits import check_count
from geodis.data.read_column import Column

# How HDF5 marks a dimension that is no variable.
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"

# What stands where nobody wrote, if a variable does not say (NC_FILL_SHORT and so on in netcdf.h).
# Of bytes every value may be meant, as the users' guide of netCDF has it.
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
    """Variables by their names; packed numbers are unpacked, and fill values are NaN."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"CDF\x05":
        raise ValueError(
            "it is CDF-5, of 64-bit data: nccopy -k nc4 makes a file of version 4 of it"
        )
    is_classic = start.startswith(b"CDF")
    return Contents(path, _listed_classic(path) if is_classic else _listed_hdf5(path))


def _listed_classic(path: Path) -> dict[str, Stored]:
    arrays = {}
    with _opened(path) as file:
        check_count(path, len(file.variables))
        for name, variable in file.variables.items():
            kind = np.dtype(variable.data.dtype)
            packed = _is_packed(variable.__dict__)
            arrays[name] = Stored(
                variable.shape,
                _called(kind, packed),
                partial(_read_classic, path, name),
            )
    return arrays


def _called(kind: np.dtype, packed: bool) -> str:
    if kind.kind == "S":
        return "labels"
    return "float64" if packed else str(kind.newbyteorder("="))


def _opened(path: Path) -> Any:
    from scipy.io import netcdf_file

    # Not mapped: arrays would keep the file open, and scipy warns that they do.
    return netcdf_file(str(path), "r", mmap=False)


def _read_classic(path: Path, name: str) -> Column:
    with _opened(path) as file:
        variable = file.variables[name]
        values = np.array(variable.data)
        if values.dtype.kind == "S":
            return _texts(values)
        values = values.astype(values.dtype.newbyteorder("="))
        return _unpacked(values, variable.__dict__)


def _listed_hdf5(path: Path) -> dict[str, Stored]:
    h5py = require("h5py", extra="files", purpose="Reading netCDF files of version 4")
    arrays: dict[str, Stored] = {}
    with h5py.File(path, "r") as file:
        for key, node in members(file):
            if not isinstance(node, h5py.Dataset) or node.shape is None or _is_dimension(node):
                continue
            kind = "float64" if _is_packed(node.attrs) else str(node.dtype)
            if h5py.check_string_dtype(node.dtype):
                kind = "labels"
            arrays[key] = Stored(node.shape, kind, partial(_read_hdf5, path, key))
            check_count(path, len(arrays))
    return arrays


def _is_dimension(dataset: Any) -> bool:
    name = dataset.attrs.get("NAME", b"")
    return (name if isinstance(name, bytes) else str(name).encode()).startswith(NO_VARIABLE)


def _read_hdf5(path: Path, key: str) -> Column:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = member(path, file, key)
        if h5py.check_string_dtype(dataset.dtype):
            return np.asarray(values_of(path, dataset, as_text=True), dtype=str)
        values = np.asarray(values_of(path, dataset))
        if values.dtype.kind == "S":
            return _texts(values)
        return _unpacked(values, dict(dataset.attrs))


def _is_packed(attributes: Mapping[str, Any]) -> bool:
    return "scale_factor" in attributes or "add_offset" in attributes


def _unpacked(values: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Numbers as the convention stores them: ``packed * scale_factor + add_offset``."""
    if values.dtype.kind not in "iuf":
        return values
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    missing = np.zeros(values.shape, bool)
    if "_FillValue" not in attributes and kind in DEFAULT_FILLS:
        missing |= values == np.array(DEFAULT_FILLS[kind], values.dtype)
    for name in ("_FillValue", "missing_value"):
        if name in attributes:
            fill = np.atleast_1d(attributes[name])[0]
            if isinstance(fill, np.number | int | float):
                missing |= values == fill
    if _is_packed(attributes):
        scale, offset = (
            float(np.atleast_1d(attributes.get(name, default))[0])
            for name, default in (("scale_factor", 1.0), ("add_offset", 0.0))
        )
        values = values * scale + offset
    if not missing.any():
        return values
    values = values.astype(np.result_type(values, np.float32 if values.itemsize < 4 else float))
    values[missing] = np.nan
    return values


def _texts(values: np.ndarray) -> np.ndarray:
    """Texts of single bytes, as the classic formats store them, along the last axis."""
    if values.dtype.itemsize == 1 and values.ndim:
        values = np.ascontiguousarray(values).view(f"S{max(values.shape[-1], 1)}")[..., 0]
    return np.char.decode(values, "utf-8", "replace")
