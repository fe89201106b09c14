"""Limits on the unpacked size of a file, checked before memory is allocated.

A file of one megabyte can declare a terabyte, by compressed zeros, unwritten datasets or repeated
values. The declared size is compared with a multiple of the file size and with the free memory.
`max_bytes`, or the environment variable GEODIS_MAX_BYTES, sets another limit.
"""

from __future__ import annotations

import math
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from geodis.base.check import InputError, check_int

# Images of a few shapes compress to 1/100 (dSprites to 1/116); zeros compress to 1/1000.
MULTIPLE = 200
# Every file may unpack to this many bytes, however small it is.
ALWAYS = 2**28
# Half of the free memory, because the data are copied at least once.
SHARE_OF_FREE = 0.5
# One byte of zlib data expands to at most 1032 bytes; data are decompressed in pieces of 1 MiB.
MOST_OF_A_BYTE = 1032
AT_ONCE = 2**20
# Bytes of a Python object with its pointer: a text without its characters, a character (four bytes
# if the text has a rare one), and an integer.
TEXT_BYTES, CHARACTER_BYTES, INTEGER_BYTES = 58, 4, 40
# A category is stored as its code, twice.
CATEGORY_BYTES = 16
# pandas takes minutes to read a wider table.
MOST_COLUMNS = 100_000
# Maximum number of arrays in one file.
MOST_ARRAYS = 100_000

VARIABLE = "GEODIS_MAX_BYTES"
_max_bytes: ContextVar[int | None] = ContextVar("max_bytes", default=None)


@contextmanager
def allowing(max_bytes: int | None) -> Iterator[None]:
    """Set the maximum unpacked size of files within a context.

    Examples
    --------
    >>> with allowing(10):
    ...     check_unpacked(Path("run.npz"), 11)
    Traceback (most recent call last):
    geodis.base.check.InputError: run.npz would take 11 bytes once unpacked, more than the 10 that \
max_bytes allows: give a larger max_bytes, or set GEODIS_MAX_BYTES.
    """
    if max_bytes is not None:
        check_int(max_bytes, "max_bytes", low=1)
    token = _max_bytes.set(max_bytes)
    try:
        yield
    finally:
        _max_bytes.reset(token)


def check_unpacked(path: Path, n_bytes: int, what: str = "") -> None:
    """Refuse data that would unpack to more bytes than the limit.

    Parameters
    ----------
    path : Path
        A file or the folder of a store.
    n_bytes : int
        The declared size in memory.
    what : str
        The part of the file, for the message.
    """
    limit, why = unpacked_limit(path)
    if n_bytes > limit:
        named = f"{what} in {path}" if what else str(path)
        raise InputError(
            f"{named} would take {n_bytes} bytes once unpacked, more than the {limit} that {why}: "
            f"give a larger max_bytes, or set {VARIABLE}."
        )


def unpacked_limit(path: Path) -> tuple[int, str]:
    """Return the maximum number of bytes that a file may unpack to, and the reason for it."""
    given = _max_bytes.get()
    if given is not None:
        return given, "max_bytes allows"
    if (text := os.environ.get(VARIABLE, "").strip()) != "":
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"{VARIABLE} must be a whole number of bytes; got {text!r}.")
        return int(text), f"{VARIABLE} allows"
    size = size_of(path)
    by_file, by_memory = max(ALWAYS, MULTIPLE * size), int(SHARE_OF_FREE * free_memory())
    if by_memory < by_file:
        return by_memory, "half of the free memory holds"
    if by_file == ALWAYS:
        return by_file, f"a file of {size} bytes may become"
    return by_file, f"are {MULTIPLE} times the size of the file"


def inflated_size(data: bytes, most: int) -> int:
    """Return the size of decompressed zlib data, stopping the count once it exceeds `most`.

    Only a small piece is kept in memory. Damaged data are counted up to the damage.

    Examples
    --------
    >>> inflated_size(zlib.compress(bytes(1000)), 2000), inflated_size(b"", 0)
    (1000, 0)
    """
    stream, size = zlib.decompressobj(), 0
    with suppress(zlib.error):
        for start in range(0, len(data), AT_ONCE // 16):
            packed = data[start : start + AT_ONCE // 16]
            while packed and size <= most:
                size += len(stream.decompress(packed, AT_ONCE))
                packed = stream.unconsumed_tail
    return size


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all regular files in a folder."""
    if not path.is_dir():
        return path.stat().st_size if path.exists() else 0
    inside = (file.lstat() for file in path.rglob("*"))
    return sum(found.st_size for found in inside if stat.S_ISREG(found.st_mode))


def free_memory() -> float:
    """Return the bytes that can be allocated without swapping; infinity if unknown."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def check_columns(path: Path, count: int, of_factors: bool = False) -> None:
    """Refuse a table with too many columns."""
    if count <= MOST_COLUMNS:
        return
    if of_factors:
        raise InputError(
            f"{path} must have at most {MOST_COLUMNS} columns as factors; got {count}: are they "
            "points? Factors have a column each."
        )
    raise InputError(
        f"{path} must have at most {MOST_COLUMNS} columns as a table; got {count}: save it as "
        "an array, as .npy, which may have any number."
    )


def check_count(path: Path, count: int) -> None:
    """Refuse a file with too many arrays."""
    if count > MOST_ARRAYS:
        raise InputError(f"{path} must hold at most {MOST_ARRAYS} arrays; got {count}.")


def check_regular(path: Path) -> None:
    """Require a regular file after resolving links: reading a device or pipe may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = {
            stat.S_IFIFO: "a pipe",
            stat.S_IFCHR: "a device",
            stat.S_IFBLK: "a device",
            stat.S_IFSOCK: "a socket",
            stat.S_IFDIR: "a folder",
        }
        got = kinds.get(stat.S_IFMT(mode), "something else")
        raise InputError(f"{path} must be a regular file; got {got}.")


def check_inside(folder: Path, path: Path) -> None:
    """Require a regular file inside the folder: a link may point to any file of the machine."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{folder} must hold its own files; got {path.name}, a link out of it.")
    check_regular(path)


# HDF5 always decompresses a chunk completely. A chunk of one megabyte may therefore become a
# gigabyte, even if its dataset declares a few numbers. Such chunks are refused here.

# Filter numbers of HDF5, and the largest expansion factor of the compressing filters.
DEFLATE, LZF, CHECKSUM = 1, 32000, 3
GROWTH = {DEFLATE: MOST_OF_A_BYTE, LZF: 100}
# Filters (nbit and scale-offset) whose output length is the third of their settings.
BY_COUNT = (5, 6)
# Allowance for a checksum and for the headers of numeric filters.
SPARE = 64


def check_chunks(path: Path, dataset: Any) -> None:
    """Refuse chunks that unpack to more than their declared size and could exceed the limit."""
    if dataset.chunks is None:
        return
    import h5py

    plist = dataset.id.get_create_plist()
    packed = [plist.get_filter(i) for i in range(plist.get_nfilters())]
    filters = [code for code, *_ in packed]
    for code, _, settings, name in packed:
        if not h5py.h5z.filter_avail(code):
            raise InputError(
                f"{path} must be packed by filters that h5py has; got filter {code} "
                f"({name.decode('utf-8', 'replace')[:40]}) of {dataset.name}."
            )
        if code in BY_COUNT and (len(settings) <= 2 or settings[2] != math.prod(dataset.chunks)):
            raise InputError(f"{path} must unpack {dataset.name} to chunks of {dataset.chunks}.")
    packers = [code for code in filters if code in GROWTH]
    if packers in ([], [LZF]):  # which cannot expand beyond the allowed multiple
        return
    growth = math.prod(GROWTH[code] for code in packers)
    limit, _ = unpacked_limit(path)
    if dataset.id.get_storage_size() * growth <= limit:
        return
    entries = math.prod(dataset.chunks) * dataset.dtype.itemsize
    most = entries + SPARE
    # A single compressing filter that is applied last can be decompressed piece by piece.
    last = [code for code in filters if code != CHECKSUM][-1]
    alone = packers == [DEFLATE] == [last]
    bit = 1 << filters.index(DEFLATE) if alone else 0
    for place, mask, size in _chunks(dataset):
        if size * growth <= limit or mask & bit:
            continue
        if not alone:
            got = f"a chunk of {size} bytes packed so that they may become {size * growth}"
        elif inflated_size(dataset.id.read_direct_chunk(place)[1], most) > most:
            got = "one that unpacks to more"
        else:
            continue
        raise InputError(
            f"{path} must hold chunks of {entries} bytes in {dataset.name}, as it says; got {got}."
        )


def _chunks(dataset: Any) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """List the position, the mask of skipped filters and the stored bytes of every chunk."""
    found: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):  # newer libraries; asking for each chunk is quadratic
        dataset.id.chunk_iter(found.append)
    else:
        found += map(dataset.id.get_chunk_info, range(dataset.id.get_num_chunks()))
    return ((info.chunk_offset, info.filter_mask, info.size) for info in found)
