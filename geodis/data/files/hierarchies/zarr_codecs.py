"""What compresses chunks of zarr stores, undone without more room than a chunk may take."""

from __future__ import annotations

import gzip
import io
import zlib

import numpy as np

from geodis.base.check import require

DECOMPRESSED = ("zlib", "gzip", "blosc", "zstd", "lz4")
# The first four bytes of a frame of zstd.
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# Bytes of its fields, by the bits of its descriptor (RFC 8878, section 3.1.1.1).
DICTIONARY_BYTES, SIZE_BYTES = (0, 1, 2, 4), (0, 2, 4, 8)


def decompressed(name: str, data: bytes, most: int) -> bytes:
    """Decompress no more than so many bytes.

    Examples
    --------
    >>> decompressed("zlib", zlib.compress(b"points"), 6)
    b'points'
    >>> decompressed("zlib", zlib.compress(bytes(1000)), 6)
    Traceback (most recent call last):
    ValueError: a chunk is larger than the 6 bytes that its array says
    """
    if name == "zlib":
        stream = zlib.decompressobj()
        plain = stream.decompress(data, most + 1)
    elif name == "gzip":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(most + 1)
    else:
        plain = _by_numcodecs(name, data, most)
    if len(plain) > most:
        raise ValueError(f"a chunk is larger than the {most} bytes that its array says")
    return plain


def _by_numcodecs(name: str, data: bytes, most: int) -> bytes:
    too_large = f"a chunk is larger than the {most} bytes that its array says"
    numcodecs = require("numcodecs", extra="zarr", purpose=f"Reading chunks of zarr in {name}")
    if name == "blosc":
        if len(data) < 16 or int.from_bytes(data[4:8], "little") > most:  # as its header says
            raise ValueError(too_large)
        return bytes(numcodecs.Blosc().decode(data))
    if name == "lz4":  # whose first four bytes say how long it will be
        if len(data) < 4 or int.from_bytes(data[:4], "little") > most:
            raise ValueError(too_large)
        return bytes(numcodecs.LZ4().decode(data))
    size = zstd_size(data)
    if size is not None and size > most:
        raise ValueError(too_large)
    # A buffer is refused where it is too small, before anything is written to it.
    buffer = np.zeros(most if size is None else size, np.uint8)
    return bytes(numcodecs.Zstd().decode(data, out=buffer))


def zstd_size(data: bytes) -> int | None:
    """How many bytes a frame of zstd says that it becomes; None where it does not say.

    Examples
    --------
    >>> zstd_size(ZSTD_MAGIC + bytes([0b00100000, 6, 0]))
    6
    """
    if len(data) < 5 or data[:4] != ZSTD_MAGIC:
        return None
    descriptor = data[4]
    single, kind = descriptor >> 5 & 1, descriptor >> 6
    length = SIZE_BYTES[kind] or single
    start = 5 + (1 - single) + DICTIONARY_BYTES[descriptor & 3]
    if not length or len(data) < start + length:
        return None
    return int.from_bytes(data[start : start + length], "little") + (256 if kind == 1 else 0)
