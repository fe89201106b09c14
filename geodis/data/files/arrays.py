"""Array formats: npy, npz, safetensors and torch files -> their contents; nothing is unpickled."""

from __future__ import annotations

import pickle
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from geodis.base.check import InputError, require
from geodis.base.tensors import DTYPES, TensorPlace, read_header
from geodis.data.files.contents import (
    Contents,
    Stored,
    check_fits,
    check_written,
    map_array,
    unreadable,
)
from geodis.data.files.formats import register_reader
from geodis.data.files.limits import check_count, check_unpacked

# bfloat16 has no numpy dtype: its two bytes are the upper half of a float32.
BFLOAT16 = "BF16"


@register_reader(".npy")
def read_npy(path: Path, mmap: bool) -> Contents:
    """One array after a header; numpy's own loader is not needed, so neither is its unpickling."""
    with path.open("rb") as file:
        shape, fortran_order, dtype = npy_header(file)
        _refuse_objects(path, dtype)
        offset = file.tell()
    check_fits(path.stat().st_size - offset, shape, dtype)
    read = partial(
        map_array, path, dtype, shape, offset=offset, mmap=mmap, fortran_order=fortran_order
    )
    return Contents(path, {"": Stored(shape, str(dtype), read)})


@register_reader(".npz")
def read_npz(path: Path, mmap: bool) -> Contents:
    """Arrays in a zip archive; they are read into memory, for most are compressed."""
    arrays = {}
    # Open as long as its arrays may be asked for: its list of members is read but once.
    archive = zipfile.ZipFile(path)
    check_count(path, len(archive.infolist()))
    for member in archive.infolist():
        if member.filename.endswith(".npy"):
            with archive.open(member) as file:
                shape, _, dtype = npy_header(file)
            read = partial(_read_npz_member, path, archive, member.filename)
            arrays[member.filename.removesuffix(".npy")] = Stored(shape, str(dtype), read)
    return Contents(path, arrays)


def _read_npz_member(path: Path, archive: zipfile.ZipFile, member: str) -> np.ndarray:
    with archive.open(member) as file:
        shape, _, dtype = npy_header(file)
        _refuse_objects(path, dtype)
        declared = archive.getinfo(member).file_size
        check_fits(declared - file.tell(), shape, dtype)
        check_unpacked(path, declared, member.removesuffix(".npy"))
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, Fortran order and dtype; the file then stands at the first byte of data."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"plain arrays have the npy versions 1.0 and 2.0; got {version}")


def _refuse_objects(path: Path, dtype: np.dtype) -> None:
    if dtype.hasobject:
        raise InputError(
            f"{path} holds Python objects in a pickle, and geodis never loads pickles: save "
            "numbers or text instead, as np.save(path, np.asarray(values, dtype=float))."
        )


@register_reader(".safetensors")
def read_safetensors(path: Path, mmap: bool) -> Contents:
    """Tensors as raw bytes after a JSON header that says where each of them lies."""
    places = read_header(path).places
    return Contents(
        path, {name: _safetensor(path, name, place, mmap) for name, place in places.items()}
    )


def _safetensor(path: Path, name: str, place: TensorPlace, mmap: bool) -> Stored:
    if place.dtype not in (*DTYPES, BFLOAT16):
        known = ", ".join((*DTYPES, BFLOAT16))
        problem = ValueError(f"{name!r} has dtype {place.dtype}, and geodis reads {known}")
        return unreadable(place.shape, place.dtype, problem)
    dtype = np.dtype(DTYPES.get(place.dtype, "<u2"))
    read = partial(map_array, path, dtype, place.shape, offset=place.begin, mmap=mmap)
    if place.dtype == BFLOAT16:
        return Stored(place.shape, "bfloat16", lambda: _widen_bfloat16(read()))
    return Stored(place.shape, str(dtype), read)


def _widen_bfloat16(halves: np.ndarray) -> np.ndarray:
    return (halves.astype(np.uint32) << 16).view(np.float32)


@register_reader(".pt", ".pth")
def read_torch(path: Path, mmap: bool) -> Contents:
    """One tensor, or a dict of tensors, through torch's loader of weights only."""
    torch = require("torch", purpose=f"Reading {path.suffix} files")
    try:
        # Files of torch before 1.6 are no zip archives, and torch refuses to map those.
        can_map = zipfile.is_zipfile(path)
        if can_map:
            with zipfile.ZipFile(path) as archive:
                check_unpacked(path, sum(member.file_size for member in archive.infolist()))
        saved = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap and can_map)
    except pickle.UnpicklingError as error:
        # torch's own message advises weights_only=False, which would run what the file says.
        raise ValueError(
            "it holds something other than tensors, and geodis never unpickles: save with "
            "torch.save({'latents': latents}, path)"
        ) from error
    named = saved if isinstance(saved, dict) else {"": saved}
    return Contents(
        path,
        {
            str(key): Stored(
                tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                partial(_tensor_to_numpy, tensor),
            )
            for key, tensor in named.items()
            if isinstance(tensor, torch.Tensor)
        },
    )


def _tensor_to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    # A view may repeat its bytes: torch.zeros(1).expand(2**40) is a file of a kilobyte.
    check_written(tensor.untyped_storage().nbytes(), tuple(tensor.shape), tensor.element_size())
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()  # exact, and numpy has no bfloat16
    return tensor.numpy()
