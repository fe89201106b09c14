"""Parquet and Feather files -> their columns, once their sizes are known to be bearable."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from geodis.base.check import require
from geodis.data.arrow import exact_column, frame_of_arrow
from geodis.data.files.contents import Contents
from geodis.data.files.formats import register_reader
from geodis.data.files.limits import check_columns, check_unpacked
from geodis.data.files.tables.arrow_messages import size_of_message
from geodis.data.files.tables.text_tables import column_of_series, contents_of_frame
from geodis.data.read_column import Column

# Bytes of an entry whose type has no width of its own: an offset, at least.
NO_WIDTH = 8
# An Arrow file is a stream of messages between a mark of eight bytes and a list of their places.
STREAM_BEGINS = 8


@register_reader(".parquet")
def read_parquet(path: Path, mmap: bool) -> Contents:
    """Columns of a Parquet file; a pandas index stored with them is left out."""
    parquet = require("pyarrow.parquet", extra="files", purpose="Reading .parquet files")
    with parquet.ParquetFile(path) as file:
        _check_schema(path, file.schema_arrow, file.metadata.num_rows)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        check_unpacked(path, sum(group.total_byte_size for group in groups))
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
    # A few long texts may stand in many rows: as a dictionary they are held once.
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        table = file.read()
    return _contents(path, _without_dictionaries(path, table, set(texts)))


@register_reader(".feather", ".arrow")
def read_feather(path: Path, mmap: bool) -> Contents:
    """Columns of a Feather file, which is Arrow's own format; a pandas index is left out."""
    pyarrow = require("pyarrow", extra="files", purpose=f"Reading {path.suffix} files")
    ipc = require("pyarrow.ipc", extra="files", purpose=f"Reading {path.suffix} files")
    with pyarrow.OSFile(str(path), "rb") as source, ipc.open_file(source) as file:
        check_columns(path, len(file.schema))
        _check_messages(path, source, file.schema)
        source.seek(STREAM_BEGINS)
        table = ipc.open_stream(source).read_all()
    return _contents(path, table)


def _check_messages(path: Path, source: Any, schema: Any) -> None:
    """Hold what the messages say that they unpack to against the limit, and unpack none."""
    from pyarrow import ipc

    source.seek(STREAM_BEGINS)
    reader, rows, held = ipc.MessageReader.open_stream(source), 0, 0
    for message in reader:
        if message.type not in ("record batch", "dictionary"):
            continue
        length, n_bytes = size_of_message(message)
        held += n_bytes
        rows += length * (message.type == "record batch")
        check_unpacked(path, held)
        _check_schema(path, schema, rows)


def _check_schema(path: Path, schema: Any, rows: int) -> None:
    """Require that so many rows of these columns are bearable, whatever they are packed to."""
    check_columns(path, len(schema))
    widths = [
        getattr(field.type, "bit_width", 8 * NO_WIDTH) if _has_width(field.type) else 8 * NO_WIDTH
        for field in schema
    ]
    check_unpacked(path, rows * sum(widths) // 8)


def _has_width(kind: Any) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:  # how pyarrow says that there is none
        return False


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "binary", "large_binary")


def _without_dictionaries(path: Path, table: Any, names: set[str]) -> Any:
    """Texts as columns of their own again, once it is known how long they are together."""
    import pyarrow.compute as compute

    for j, field in enumerate(table.schema):
        if field.name not in names or not str(field.type).startswith("dictionary"):
            continue
        column, length = table.column(j), 0
        for chunk in column.chunks:
            sizes = compute.binary_length(chunk.dictionary)
            length += compute.sum(sizes.take(chunk.indices)).as_py() or 0
        check_unpacked(path, length, f"column {field.name}")
        plain = column.cast(field.type.value_type)
        table = table.set_column(j, field.with_type(field.type.value_type), plain)
    return table


def _contents(path: Path, table: Any) -> Contents:
    frame = frame_of_arrow(table)
    as_factor = {
        str(name): partial(_read_exact, table, frame.iloc[:, j])
        for j, name in enumerate(frame.columns)
    }
    return contents_of_frame(path, frame, as_factor)


def _read_exact(table: Any, series: Any) -> Column:
    return column_of_series(exact_column(table, series))
