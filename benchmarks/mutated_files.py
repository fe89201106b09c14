"""Files of every format with bytes changed: read, or refused in one sentence, in bounded memory."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import random
import resource
import shutil
import struct
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import write_table
from geodis import load_array, load_factors
from geodis.base.check import InputError

# What may be asked for: processor seconds of one file, and memory beside what the process holds.
SECONDS, GIGABYTES = 5.0, 2.0
# What no result may hold: it stands in other files of the same folder.
SECRET = b"\x13NoByteOfThis\x37" * 8
EDGES = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)
EDGES_LONG = (*EDGES, 2**40, 2**62, 2**63 - 1, 2**64 - 1)


def _hdf5(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=z, chunks=(8, 3), compression="gzip")
        file["plain"], file["names"] = z, ["box", "dot"]
        file["obs/kind"] = f
        file["obs"].attrs["column-order"] = ["kind"]
        storage = [(str(path.with_name("secret")), 0, len(SECRET))]
        file.create_dataset("elsewhere", (len(SECRET),), np.uint8, external=storage)
        file["link"] = h5py.ExternalLink(str(path.with_name("secret.h5")), "secret")


def _matlab_73(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        file["z"], file["f"] = z.T, f[None]
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(512))


def _netcdf(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    from scipy.io import netcdf_file

    with netcdf_file(path, "w") as file:
        file.createDimension("n", None)
        file.createDimension("d", z.shape[1])
        file.createVariable("z", float, ("n", "d"))[:] = z
        file.createVariable("f", np.int32, ("n",))[:] = f


def _safetensors(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    from safetensors.numpy import save_file

    save_file({"z": z, "f": f}, path)


def _torch(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    import torch

    torch.save({"z": torch.tensor(z), "f": torch.tensor(f)}, path)


def _frame(z: np.ndarray, f: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame({"a": z[:, 0], "b": z[:, 1], "f": f, "shape": np.array(["x", "y"])[f % 2]})


def _matlab(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    from scipy.io import savemat

    savemat(path, {"z": z, "f": f, "word": "box"}, do_compression=True)


def _matlab_kinds(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    """An array of every class, not packed."""
    from scipy.io import savemat
    from scipy.sparse import csc_matrix

    held: dict[str, Any] = {"z": z, "f": f, "word": ["box", "dot"], "complex": z + 1j}
    held |= {"sparse": csc_matrix(z * (z > 0)), "sparse_logical": csc_matrix(z > 0)}
    held |= {"cell": np.array([z, "a", f], object), "struct": {"a": z, "b": "c"}, "logical": z > 0}
    held |= {kind: f.astype(kind) for kind in ("int8", "uint8", "int16", "int64", "float32")}
    savemat(path, held)


def _matlab_4(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    from scipy.io import savemat
    from scipy.sparse import coo_matrix

    held = {"z": z, "f": f.astype(float), "word": "box", "complex": z + 1j}
    savemat(path, {**held, "sparse": coo_matrix(z * (z > 0))}, format="4")


def _packed_elements(data: bytes) -> bytes:
    """The arrays of a MATLAB file, each packed as it is, so that what was changed is inside."""
    packed, at = data[:128], 128
    while at < len(data):
        end = min(at + 8 + int.from_bytes(data[at + 4 : at + 8], "little"), len(data))
        element = zlib.compress(data[at:end], 1)
        packed += struct.pack("<II", 15, len(element)) + element
        at = end
    return packed


def _zarr(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    note = {"zarr_format": 2, "shape": z.shape, "chunks": [8, 3], "dtype": "<f8", "order": "C"}
    note |= {"compressor": {"id": "zlib", "level": 1}, "filters": None, "fill_value": 0}
    path.mkdir()
    (path / ".zarray").write_text(json.dumps(note))
    for i in range(3):
        (path / f"{i}.0").write_bytes(zlib.compress(z[8 * i : 8 * i + 8].tobytes()))


def _images(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    from PIL import Image

    path.mkdir()
    for i, suffix in enumerate((".png", ".jpg", ".tif", ".bmp")):
        image = Image.fromarray(np.full((6, 5), 10 * i, np.uint8))
        image.save(path / f"img{i}{suffix}")


def _text_gzip(path: Path, z: np.ndarray, f: np.ndarray) -> None:
    with gzip.open(path, "wt") as file:
        _frame(z, f).to_csv(file, index=False)


# A file, or a folder of files, of every format.
WRITERS: dict[str, Callable[[Path, np.ndarray, np.ndarray], Any]] = {
    "run.npy": lambda path, z, f: np.save(path, z),
    "run.npz": lambda path, z, f: np.savez_compressed(path, z=z, f=f),
    "plain.npz": lambda path, z, f: np.savez(path, z=z, f=f),
    "run.csv": lambda path, z, f: _frame(z, f).to_csv(path, index=False),
    "comma.csv": lambda path, z, f: _frame(z, f).to_csv(path, index=False, sep=";", decimal=","),
    "run.csv.gz": _text_gzip,
    "run.txt": lambda path, z, f: np.savetxt(path, z),
    "run.parquet": lambda path, z, f: _frame(z, f).to_parquet(path),
    "run.feather": lambda path, z, f: _frame(z, f).to_feather(path),
    "run.safetensors": _safetensors,
    "run.pt": _torch,
    "run.h5": _hdf5,
    "run.h5ad": _hdf5,
    "run.mat": _matlab,
    "kinds.mat": _matlab_kinds,
    "packed.mat": _matlab_kinds,
    "four.mat": _matlab_4,
    "seven.mat": _matlab_73,
    "run.nc": _netcdf,
    "four.nc": _hdf5,
    "run.zarr": _zarr,
    "images": _images,
}


@dataclass
class Found:
    """What became of the files of one format.

    Attributes
    ----------
    counts : how many were read, and how many refused in one sentence
    wrong : what should not have happened, by the number of the file
    seconds, gigabytes : most of one file, of the processor and of memory
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    gigabytes: float = 0.0


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Change a few bytes, numbers, or pieces of a file."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at, kind = rng.randrange(len(data) or 1), rng.randrange(8)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at : at + 1] = bytes([data[at] ^ (1 << rng.randrange(8))]) if data else b""
        elif kind == 2:
            width = rng.choice((2, 4, 8))
            edge = rng.choice(EDGES_LONG) % 2 ** (8 * width)
            data[at : at + width] = edge.to_bytes(width, rng.choice(("little", "big")))
        elif kind == 3:
            del data[at : at + rng.choice((1, 4, 64, 1024))]
        elif kind == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
        elif kind == 5:
            end = at + rng.choice((1, 8, 64, 512))
            data[at:end] = bytes(len(data[at:end]))
        elif kind == 6:
            other, size = rng.randrange(len(data) or 1), rng.choice((4, 16, 128))
            data[at : at + size] = data[other : other + size]
        else:
            data = data[: max(at, 1)]
    return bytes(data)


def _write_mutant(name: str, number: int, folder: Path) -> Path:
    """The file of this number: always the same."""
    rng = random.Random(f"{name} {number}")
    draws = np.random.default_rng(number % 7)
    path = folder / name
    if path.is_dir():
        shutil.rmtree(path)
    WRITERS[name](path, draws.standard_normal((24, 3)), draws.integers(4, size=24))
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    victim = rng.choice(files)
    changed = mutate(victim.read_bytes(), rng)
    victim.write_bytes(_packed_elements(changed) if name == "packed.mat" else changed)
    return path


def _keys(path: Path) -> Iterator[str]:
    """The file without a key, and with those it had before it was changed."""
    yield str(path)
    known: tuple[str, ...] = (
        "z",
        "f",
        "X",
        "plain",
        "names",
        "elsewhere",
        "link",
        "a",
        "shape",
        "obs/kind",
        "word",
    )
    if path.suffix == ".mat":
        known += ("sparse", "sparse_logical", "complex", "logical", "cell", "struct", "uint8")
    for key in known:
        yield f"{path}:{key}"


def examine(path: Path) -> str:
    """Load all of it in every way; say what became of it, "wrong: ..." if it should not have."""
    outcome = "refused"
    for given in _keys(path):
        for load in (load_array, load_factors):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.filterwarnings("ignore", message=".*numbers are read with.*")
                    result = load(given)
            except InputError as refusal:
                if "\n" in str(refusal) or len(str(refusal)) > 2000:
                    return f"wrong: no sentence, {str(refusal)[:200]!r}"
                continue
            except Exception as error:
                return f"wrong: {type(error).__name__} of {load.__name__}, {str(error)[:200]}"
            if SECRET[:13] in np.asarray(result).tobytes():
                return "wrong: bytes of another file"
            outcome = "read"
    return outcome


def _child(name: str, numbers: range, folder: Path, sender: Connection) -> None:
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = held + int(4 * GIGABYTES * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in numbers:
        path = _write_mutant(name, number, folder)
        before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        sender.send((number, "begun", 0.0, 0.0))
        outcome = examine(path)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        sender.send((number, outcome, time.process_time() - begun, grown / 2**20))


def examine_many(name: str, count: int, folder: Path) -> Found:
    """Files 0 to count of one format, in a process that may die."""
    context = multiprocessing.get_context("fork")
    found, start = Found(), 0
    _prepare(folder)
    while start < count:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(name, range(start, count), folder, sender))
        process.start()
        sender.close()
        number = start
        try:
            while True:
                if not receiver.poll(60):
                    found.wrong[number] = "wrong: no end"
                    process.kill()
                    break
                number, outcome, seconds, gigabytes = receiver.recv()
                if outcome == "begun":
                    continue
                found.seconds = max(found.seconds, seconds)
                found.gigabytes = max(found.gigabytes, gigabytes)
                if seconds > SECONDS or gigabytes > GIGABYTES:
                    outcome = f"wrong: {seconds:.1f} s and {gigabytes:.1f} GB"
                if outcome.startswith("wrong"):
                    found.wrong[number] = outcome
                else:
                    found.counts[outcome] += 1
        except EOFError:
            pass
        process.join()
        finished = process.exitcode == 0
        if not finished and number not in found.wrong:
            found.wrong[number] = f"wrong: the process died with {process.exitcode}"
        start = count if finished else number + 1
    return found


def _prepare(folder: Path) -> None:
    import h5py

    (folder / "secret").write_bytes(SECRET)
    with h5py.File(folder / "secret.h5", "w") as file:
        file["secret"] = np.frombuffer(SECRET, np.uint8)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200, help="of every format")
    parser.add_argument("--only", nargs="*", default=[], help="names of formats")
    asked = parser.parse_args(arguments or [])
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only or WRITERS:
            found = examine_many(name, asked.files, Path(folder))
            for number, what in found.wrong.items():
                print(f"{name} {number}: {what}", flush=True)
            rows.append(
                {
                    "file": name,
                    "changed": asked.files,
                    "read": found.counts["read"],
                    "refused": found.counts["refused"],
                    "wrong": len(found.wrong),
                    "most CPU s": round(found.seconds, 2),
                    "most GB": math.ceil(100 * found.gigabytes) / 100,
                }
            )
            print(rows[-1], flush=True)
    if not asked.only:
        write_table("mutated_files", (__doc__ or "").strip().rstrip("."), rows)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
