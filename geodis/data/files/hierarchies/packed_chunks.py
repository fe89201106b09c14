"""Chunks of HDF5 that would become larger than their data set says, refused before they do.

The library unpacks a chunk to its end, wherever that is: of a data set of a few numbers, a chunk of
a megabyte may be a gigabyte of zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.data.files.limits import MOST_OF_A_BYTE, inflated_size, unpacked_limit

# Numbers of filters, and the most that one byte becomes by those that pack.
DEFLATE, LZF, CHECKSUM = 1, 32000, 3
GROWTH = {DEFLATE: MOST_OF_A_BYTE, LZF: 100}
# Filters (nbit and scale-offset) that make as many entries as the third of their settings says.
BY_COUNT = (5, 6)
# A checksum that is packed with the numbers, and what a filter of numbers notes before them.
SPARE = 64


def check_chunks(path: Path, dataset: Any) -> None:
    """Require that no chunk unpacks to more than its entries, where that would pass the limit."""
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
    if packers in ([], [LZF]):  # whose most is below the multiple of a file that is allowed
        return
    growth = math.prod(GROWTH[code] for code in packers)
    limit, _ = unpacked_limit(path)
    if dataset.id.get_storage_size() * growth <= limit:
        return
    entries = math.prod(dataset.chunks) * dataset.dtype.itemsize
    most = entries + SPARE
    # One filter that packs, after those that only move bytes, can be followed step by step.
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
    """Place, mask of the filters that were left out, and stored bytes of every chunk."""
    found: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):  # of newer libraries; one by one is quadratic
        dataset.id.chunk_iter(found.append)
    else:
        found += map(dataset.id.get_chunk_info, range(dataset.id.get_num_chunks()))
    return ((info.chunk_offset, info.filter_mask, info.size) for info in found)
