"""AnnData in zarr stores: sparse matrices, categories and masked columns, and the table obs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.notes import note_entry
from geodis.data.files.contents import Contents, Stored
from geodis.data.files.hierarchies.annotated import (
    CATEGORICAL,
    MASKED,
    SPARSE,
    check_sparse_shape,
    dense_matrix,
    labels_of_codes,
    masked_column,
)
from geodis.data.files.limits import CATEGORY_BYTES, INTEGER_BYTES, check_columns, check_unpacked
from geodis.data.read_column import Column, Labels


def is_table_of_cells(root: Mapping[str, Any], obs: Mapping[str, Any]) -> bool:
    """Whether the attributes of a store and of its ``obs`` are those that AnnData writes."""
    return root.get("encoding-type") == "anndata" or obs.get("encoding-type") == "dataframe"


def with_defaults(contents: Contents, obs: Mapping[str, Any]) -> Contents:
    """Contents of which X are the points and the columns of obs the factors."""
    names = [str(name) for name in obs.get("column-order") or ()]
    check_columns(contents.path, len(names))
    return replace(contents, default="X", columns={name: f"obs/{name}" for name in names})


def array_of_group(
    contents: Contents,
    key: str,
    attributes: Mapping[str, Any],
    parts: Callable[[], dict[str, Stored]],
) -> Stored | None:
    """The one array that a group stands for; None where it is a group of arrays.

    Parameters
    ----------
    contents : Contents
        Of the store, so far as it is known.
    key : str
    attributes : mapping
        Of the group.
    parts : callable
        Lists the arrays in the group.
    """
    encoding = attributes.get("encoding-type")
    if encoding in SPARSE:
        shape = check_sparse_shape(note_entry(attributes, "shape", list, key))
        held = parts()
        kind = held["data"].dtype if "data" in held else "no data"
        read = partial(_dense, contents, key, str(encoding), shape, held)
        return Stored(shape, f"{kind} (sparse)", read)
    if encoding == CATEGORICAL and "codes" in (held := parts()):
        ordered = attributes.get("ordered") is True
        labels = partial(_labels, contents.path, key, held, ordered)
        return Stored(held["codes"].shape, "labels", labels)
    if encoding in MASKED and "values" in (held := parts()):
        values = held["values"]
        return Stored(values.shape, values.dtype, partial(_masked, contents.path, key, held))
    return None


def _part(key: str, parts: Mapping[str, Stored], name: str) -> Column:
    if name not in parts:
        raise ValueError(f"{key} must have an array {name}")
    return parts[name].read()


def _numbers(key: str, parts: Mapping[str, Stored], name: str) -> np.ndarray:
    part = _part(key, parts, name)
    if isinstance(part, Labels):
        raise ValueError(f"{name} of {key} must be numbers; got texts")
    return part


def _dense(
    contents: Contents,
    key: str,
    encoding: str,
    shape: tuple[int, ...],
    parts: Mapping[str, Stored],
) -> np.ndarray:
    reduced = "obsm/X_pca" in contents.arrays
    part = partial(_numbers, key, parts)
    return dense_matrix(contents.path, key, encoding, shape, part, reduced)


def _labels(path: Path, key: str, parts: Mapping[str, Stored], ordered: bool) -> Labels:
    check_unpacked(path, CATEGORY_BYTES * math.prod(parts["codes"].shape), f"codes of {key}")
    return labels_of_codes(
        _numbers(key, parts, "codes"),
        tuple(map(str, _plain(_part(key, parts, "categories")))),
        ordered,
    )


def _masked(path: Path, key: str, parts: Mapping[str, Stored]) -> Column:
    check_unpacked(path, INTEGER_BYTES * math.prod(parts["values"].shape), key)
    missing = np.asarray(_numbers(key, parts, "mask"), dtype=bool)
    return masked_column(_plain(_part(key, parts, "values")), missing, key)


def _plain(column: Column) -> np.ndarray:
    """Texts as objects, none of which is missing."""
    if isinstance(column, Labels):
        return np.array(column.categories, dtype=object)[column.codes]
    return column
