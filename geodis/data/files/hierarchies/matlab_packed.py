"""Packed arrays of MATLAB files of version 5, held against a limit before scipy unpacks them.

scipy unpacks as much as a part of an array says that it has. The name of one may be a gigabyte of
zeros, which are unpacked to list the file, and so may the values of one whose shape is small.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from geodis.data.files.limits import (
    MOST_OF_A_BYTE,
    check_unpacked,
    inflates_beyond,
    unpacked_limit,
)

# Before the arrays stands a header, which ends with the order of bytes.
HEADER = 128
ORDERS = {b"IM": "<", b"MI": ">"}
# The type of an element that zlib packed, and the class of arrays that have no shape and no name.
PACKED, OPAQUE = 15, 17
# What of an array is enough for its flags, its sizes and its name, of which MATLAB takes 63 bytes.
BEGINNING, MOST_NAME = 4096, 1024


def check_packed(path: Path, key: str | None = None) -> None:
    """Refuse names that no array has, and of the array of a key more bytes than the limit."""
    limit, _ = unpacked_limit(path)
    with path.open("rb") as file:
        order = ORDERS.get(file.read(HEADER)[HEADER - 2 :])
        while order and len(tag := file.read(8)) == 8:
            kind, n_bytes = struct.unpack(f"{order}II", tag)
            start = file.tell()
            if kind == PACKED:
                name = _name(file.read(min(n_bytes, BEGINNING)), order)
                if name == key and n_bytes * MOST_OF_A_BYTE > limit:
                    file.seek(start)
                    if inflates_beyond(file.read(n_bytes), limit):
                        check_unpacked(path, limit + 1, f"what is packed as {key}")
            file.seek(start + n_bytes)


def _name(packed: bytes, order: str) -> str:
    """The name of an array, from its first bytes."""
    head = zlib.decompressobj().decompress(packed, BEGINNING)
    if head[16:20][:: 1 if order == "<" else -1][:1] == bytes([OPAQUE]):
        return ""
    _, _, after = _element(head, 24, order)  # its sizes, after two tags and the flags
    begin, n_bytes, _ = _element(head, after, order)
    if n_bytes > MOST_NAME:
        raise ValueError(f"an array has a name of {n_bytes} bytes")
    return head[begin : begin + n_bytes].decode("latin-1")


def _element(head: bytes, at: int, order: str) -> tuple[int, int, int]:
    """Where the data of an element begin, how many bytes they are, and where the next one is."""
    if at + 8 > len(head):
        raise ValueError("an array has no name")
    kind, n_bytes = struct.unpack_from(f"{order}II", head, at)
    if kind >> 16:  # four bytes or less, which stand in the tag itself
        return at + 4, kind >> 16, at + 8
    return at + 8, n_bytes, at + 8 + -(-n_bytes // 8) * 8
