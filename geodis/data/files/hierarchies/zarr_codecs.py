"""The codecs of zarr arrays that may be decoded, and how large a chunk becomes when it is.

zarr decodes whatever the metadata of an array names, to any size. Here only codecs are allowed that
rearrange, convert or decompress bytes, and at most one of them decompresses, because the size of
its result can be found out beforehand.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from geodis.base.check import require
from geodis.data.files.limits import AT_ONCE, inflated_size

COMPRESSORS = ("zlib", "gzip", "blosc", "zstd", "lz4")
TEXTS, SHARDS = "vlen-utf8", "sharding_indexed"
# Codecs that keep the size of a chunk, apart from a few bytes of a checksum.
LEVEL = (
    *("bytes", "transpose", "shuffle", "bitround"),
    *("crc32c", "crc32", "adler32", "fletcher32"),
)
# Filters that store numbers in a narrower type: 1 byte may become 8.
WIDENING, MOST_WIDENING = ("delta", "fixedscaleoffset", "quantize"), 8
# Bytes by which checksums and headers may exceed the chunk itself.
SPARE = 64
# The first four bytes of a frame of zstd.
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# Bytes of its fields, by the bits of its descriptor (RFC 8878, section 3.1.1.1).
DICTIONARY_BYTES, SIZE_BYTES = (0, 1, 2, 4), (0, 2, 4, 8)


def check_codecs(names: Iterable[str]) -> str | None:
    """Require codecs that are allowed; return the one that compresses, if there is one.

    Examples
    --------
    >>> check_codecs(["bytes", "zstd", "crc32c"])
    'zstd'
    >>> check_codecs(["pickle"])
    Traceback (most recent call last):
    ValueError: the codec 'pickle' is not one of zlib, gzip, blosc, zstd, lz4, bytes, transpose, \
shuffle, bitround, crc32c, crc32, adler32, fletcher32, delta, fixedscaleoffset, \
quantize, which geodis reads
    """
    found = [name for name in names if name != TEXTS]
    for name in found:
        if name not in (*COMPRESSORS, *LEVEL, *WIDENING):
            known = ", ".join((*COMPRESSORS, *LEVEL, *WIDENING))
            raise ValueError(f"the codec {name!r} is not one of {known}, which geodis reads")
    compressors = [name for name in found if name in COMPRESSORS]
    if len(compressors) > 1:
        raise ValueError(f"chunks are compressed {len(compressors)} times, and geodis reads one")
    return compressors[0] if compressors else None


def decoded_size(compressor: str, data: bytes, most: int) -> int:
    """The bytes that one chunk decompresses to, counted until they are more than the most.

    Examples
    --------
    >>> import zlib
    >>> decoded_size("zlib", zlib.compress(bytes(1000)), 1000)
    1000
    >>> decoded_size("zlib", zlib.compress(bytes(2**22)), 6) <= AT_ONCE
    True
    """
    if compressor == "gzip":
        return _length(gzip.GzipFile(fileobj=io.BytesIO(data)), most)
    if compressor == "zlib":
        return inflated_size(data, most)
    if compressor == "blosc":  # whose header says it, as does that of lz4
        return int.from_bytes(data[4:8], "little")
    if compressor == "lz4":
        return int.from_bytes(data[:4], "little")
    # A zstd frame may say its size, and several frames may follow: decompress into a buffer.
    declared = zstd_size(data)
    size = most - SPARE if declared is None else declared
    if size <= most:
        codec: Any = require("numcodecs", purpose="Reading zarr stores").Zstd()
        codec.decode(data, out=np.empty(size, np.uint8))
    return size


def check_texts(compressor: str | None, data: bytes, count: int, most: int) -> int:
    """The bytes of a chunk of texts, which must say that it holds so many, or more than the most.

    The decoder makes room for as many texts as the first four bytes say.
    """
    plain = data
    if compressor is not None:
        if (size := decoded_size(compressor, data, most)) > most:
            return size
        numcodecs: Any = require("numcodecs", purpose="Reading zarr stores")
        plain = bytes(numcodecs.get_codec({"id": compressor}).decode(data))
    if (n_texts := int.from_bytes(plain[:4], "little")) != count:
        raise ValueError(f"a chunk has {n_texts} texts instead of {count}")
    return len(plain)


def _length(file: gzip.GzipFile, most: int) -> int:
    size = 0
    while size <= most and (piece := file.read(AT_ONCE)):
        size += len(piece)
    return size


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
