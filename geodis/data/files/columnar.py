"""Readers of Parquet and Feather files that check the unpacked size before reading."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.data.columns import Column, exact_column, frame_of_arrow
from geodis.data.files.formats import Contents, register_reader, unreadable
from geodis.data.files.limits import (
    CATEGORY_BYTES,
    CHARACTER_BYTES,
    INTEGER_BYTES,
    TEXT_BYTES,
    check_columns,
    check_unpacked,
)
from geodis.data.files.text_tables import column_of_series, contents_of_frame

# Arrow allocates the buffers of a record batch when it opens it. Their sizes are read here from the
# header of the message first. The header is a flatbuffer: a table begins with the distance to its
# list of fields, which gives the offset of each field from the table (0 if absent).

# Field numbers in Arrow's message schema.
HEADER, BATCH_OF_DICTIONARY = 2, 1
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3


def size_of_message(message: Any) -> tuple[int, int]:
    """Return the number of rows of a record batch or dictionary, and its unpacked size in bytes.

    Parameters
    ----------
    message : pyarrow.ipc.Message

    Returns
    -------
    rows, n_bytes : int

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"x": pa.array([1.0, 2.0, 3.0])})
    >>> size_of_message(pa.ipc.read_message(batch.serialize()))
    (3, 24)
    """
    head = bytes(message.metadata)
    (root,) = struct.unpack_from("<I", head)
    batch = _table(head, root, HEADER)
    if message.type == "dictionary":
        batch = _table(head, batch, BATCH_OF_DICTIONARY)
    at = _field(head, batch, LENGTH)
    rows = struct.unpack_from("<q", head, at)[0] if at else 0
    at = _field(head, batch, BUFFERS)
    if not at:
        return rows, 0
    start = at + struct.unpack_from("<I", head, at)[0]
    (count,) = struct.unpack_from("<I", head, start)
    packed, n_bytes = bool(_field(head, batch, COMPRESSION)), 0
    for offset, size in struct.iter_unpack("<qq", head[start + 4 : start + 4 + 16 * count]):
        n_bytes += _unpacked_size(message.body, offset) if packed and size > 8 else size
    return rows, n_bytes


def _unpacked_size(body: Any, offset: int) -> int:
    """Return the unpacked size before a compressed buffer; -1 marks an uncompressed buffer."""
    return max(int(struct.unpack_from("<q", body, offset)[0]), 0)


def _table(head: bytes, table: int, number: int) -> int:
    """Return the position of the table to which a field refers."""
    if not (at := _field(head, table, number)):
        raise ValueError("a message of Arrow must have a header; got none")
    return int(at + struct.unpack_from("<I", head, at)[0])


def _field(head: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table, or 0 if the field is absent."""
    fields = table - struct.unpack_from("<i", head, table)[0]
    (size,) = struct.unpack_from("<H", head, fields)
    if 4 + 2 * number >= size:
        return 0
    (distance,) = struct.unpack_from("<H", head, fields + 4 + 2 * number)
    return table + distance if distance else 0


# Bytes of one value after reading. Factors take 8 bytes per number, even for booleans; dates and
# decimals become Python objects.
NUMBER, DATE, DECIMAL = 8, 48, 112
# An Arrow file is a stream of messages after a magic string of eight bytes.
STREAM_BEGINS = 8


@register_reader(".parquet")
def read_parquet(path: Path, mmap: bool) -> Contents:
    """Read the columns of a Parquet file, without a stored pandas index."""
    parquet = require("pyarrow.parquet", purpose="Reading .parquet files")
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        check_columns(path, len(schema))
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        rows = max(file.metadata.num_rows, sum(group.num_rows for group in groups))
        check_unpacked(path, rows * row_bytes(schema))
        check_unpacked(path, sum(group.total_byte_size for group in groups))
        texts = [field.name for field in schema if _is_text(field.type)]
    # Read texts as dictionaries, because a few long texts may be repeated in many rows.
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        flat = [schema.field(i).name for i in _flat(path, schema)]
        table = file.read(columns=None if len(flat) == len(schema) else flat)
    return _contents(path, _without_dictionaries(path, table, {*texts}), schema)


@register_reader(".feather", ".arrow")
def read_feather(path: Path, mmap: bool) -> Contents:
    """Read the columns of a Feather file (Arrow's own format), without a stored pandas index."""
    pyarrow = require("pyarrow", purpose=f"Reading {path.suffix} files")
    ipc = require("pyarrow.ipc", purpose=f"Reading {path.suffix} files")
    with pyarrow.OSFile(str(path), "rb") as source, ipc.open_file(source) as file:
        schema = file.schema
        check_columns(path, len(schema))
        _check_messages(path, source, row_bytes(schema))
        source.seek(STREAM_BEGINS)
        flat = ipc.IpcReadOptions(included_fields=_flat(path, schema))
        table = ipc.open_stream(source, options=flat).read_all()
    check_unpacked(path, sum(map(_text_bytes, table.columns)), "text")
    return _contents(path, table, schema)


def _check_messages(path: Path, source: Any, width: int) -> None:
    """Compare the unpacked sizes declared by the messages with the limit, without unpacking."""
    from pyarrow import ipc

    source.seek(STREAM_BEGINS)
    reader, rows, total = ipc.MessageReader.open_stream(source), 0, 0
    for message in reader:
        if message.type not in ("record batch", "dictionary"):
            continue
        length, n_bytes = size_of_message(message)
        total += n_bytes
        rows += length * (message.type == "record batch")
        check_unpacked(path, max(total, rows * width))


def row_bytes(schema: Any) -> int:
    """Return the bytes that one row takes after reading, not counting the characters of texts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> row_bytes(pa.schema({"x": pa.float64(), "on": pa.bool_(), "word": pa.string()}))
    74
    """
    return sum(_entry_bytes(field.type) for field in schema)


def _entry_bytes(kind: Any) -> int:
    from pyarrow import types

    if hasattr(kind, "storage_type"):  # an extension type
        return _entry_bytes(kind.storage_type)
    if types.is_fixed_size_binary(kind):
        return TEXT_BYTES + int(kind.byte_width)
    if types.is_dictionary(kind):
        return CATEGORY_BYTES
    if types.is_date(kind) or types.is_time(kind):
        return DATE
    if types.is_decimal(kind) or types.is_interval(kind):
        return DECIMAL
    return TEXT_BYTES if _is_text(kind) else NUMBER


def _is_text(kind: Any) -> bool:
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")


def _flat(path: Path, schema: Any) -> list[int]:
    """Return the columns of single values. Nested lists could share values without limit."""
    found = [j for j, field in enumerate(schema) if not _is_nested(field.type)]
    if not found:
        raise InputError(
            f"{path} must hold columns of numbers, texts or dates; got "
            f"{', '.join(sorted({str(field.type) for field in schema})) or 'none'}."
        )
    return found


def _is_nested(kind: Any) -> bool:
    from pyarrow import types

    kind = getattr(kind, "storage_type", kind)
    return bool(types.is_nested(getattr(kind, "value_type", kind)) or types.is_nested(kind))


def _text_bytes(column: Any) -> int:
    """Return the bytes that the texts of a column may take in Python, counting a category once."""
    import pyarrow.compute as compute
    from pyarrow import types

    length = 0
    for chunk in column.chunks:
        values = getattr(chunk, "storage", chunk)
        values = values.dictionary if types.is_dictionary(values.type) else values
        if str(values.type).endswith("_view"):  # entries of 16 bytes that begin with the length
            views = np.frombuffer(values.buffers()[1] or b"", "<i4")
            views = views[4 * values.offset : 4 * (values.offset + len(values)) : 4]
            length += int(views[np.asarray(values.is_valid())].sum(dtype=np.int64))
        elif _is_text(values.type):
            length += compute.sum(compute.binary_length(values)).as_py() or 0
    return CHARACTER_BYTES * length


def _without_dictionaries(path: Path, table: Any, names: set[str]) -> Any:
    """Replace dictionary columns by plain text once the total length of the text is known."""
    import pyarrow.compute as compute

    length = 0
    for j, field in enumerate(table.schema):
        column = table.column(j)
        if field.name not in names or not str(field.type).startswith("dictionary"):
            length += _text_bytes(column)
            check_unpacked(path, length, "text")
            continue
        for chunk in column.chunks:
            sizes = compute.binary_length(chunk.dictionary)
            length += CHARACTER_BYTES * (compute.sum(sizes.take(chunk.indices)).as_py() or 0)
        check_unpacked(path, length, "text")
        plain = column.cast(field.type.value_type)
        table = table.set_column(j, field.with_type(field.type.value_type), plain)
    return table


def _contents(path: Path, table: Any, schema: Any) -> Contents:
    frame = frame_of_arrow(table)
    as_factor = {
        str(name): partial(_read_exact, path, table, frame.iloc[:, j])
        for j, name in enumerate(frame.columns)
    }
    contents = contents_of_frame(path, frame, as_factor)
    for field in schema:
        if _is_nested(field.type):
            problem = InputError(
                f"{path} must hold one number, text or date in each row of {field.name}; "
                f"got {field.type}."
            )
            contents.arrays[field.name] = unreadable((len(frame),), str(field.type), problem)
            assert contents.columns is not None
            contents.columns[field.name] = field.name
    return contents


def _read_exact(path: Path, table: Any, series: Any) -> Column:
    from pyarrow import types

    kind = table.schema.field(str(series.name)).type
    if types.is_integer(kind) and series.dtype.kind == "f":  # integers with gaps become objects
        check_unpacked(path, INTEGER_BYTES * len(series), str(series.name))
    return column_of_series(exact_column(table, series))
