"""How many rows and bytes a message of Arrow unpacks to, read from its head alone.

Arrow unpacks the buffers of a batch when it opens it, and tells their sizes afterwards. They stand
in its head, a flat buffer: a table begins with the distance to its list of fields, which says how
far from the table each field is (0: nowhere).
"""

from __future__ import annotations

import struct
from typing import Any

# Numbers of the fields in the published schema of messages.
HEADER, BATCH_OF_DICTIONARY = 2, 1
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3


def size_of_message(message: Any) -> tuple[int, int]:
    """Rows of a record batch or a dictionary, and the bytes of its buffers once unpacked.

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
    """What stands before a packed buffer; -1 where it lies in the file as it is."""
    return max(int(struct.unpack_from("<q", body, offset)[0]), 0)


def _table(head: bytes, table: int, number: int) -> int:
    """Where the table begins that a field refers to."""
    if not (at := _field(head, table, number)):
        raise ValueError("a message of Arrow says nothing of what it holds")
    return int(at + struct.unpack_from("<I", head, at)[0])


def _field(head: bytes, table: int, number: int) -> int:
    """Where a field of a table stands; 0 where it has none."""
    fields = table - struct.unpack_from("<i", head, table)[0]
    (size,) = struct.unpack_from("<H", head, fields)
    if 4 + 2 * number >= size:
        return 0
    (distance,) = struct.unpack_from("<H", head, fields + 4 + 2 * number)
    return table + distance if distance else 0
