"""Chunks of texts of any length in zarr stores: a count, and each text after its length."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VLEN_UTF8 = "vlen-utf8"


def texts_in(data: bytes, count: int) -> Iterator[str]:
    """The texts of one chunk.

    Examples
    --------
    >>> [*texts_in(bytes([2, 0, 0, 0, 1, 0, 0, 0, 97, 0, 0, 0, 0]), 2)]
    ['a', '']
    """
    (held,) = struct.unpack_from("<I", data)
    if held != count:
        raise ValueError(f"a chunk has {held} texts instead of {count}")
    place = 4
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, place)
        place += 4 + length
        if place > len(data):
            raise ValueError("a chunk ends within a text")
        yield data[place - length : place].decode("utf-8", "replace")
