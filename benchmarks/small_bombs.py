"""Small files that would become large: read or refused, in bounded memory and time."""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import resource
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import small_bombs_columnar
from benchmarks._measure import most_memory, write_table
from geodis import load_array, load_factors

# The most that a file of about a megabyte may take beside what the process holds already.
GIGABYTES, SECONDS = 1.0, 20.0
# Entries of the default limit of 256 MiB in float64, and a few less.
JUST_ALLOWED = 2**25 - 2**10
# A case is stopped after so many seconds, and has no more memory than this.
MOST_SECONDS, MOST_GIGABYTES = 60, 9


def _gzip(text: bytes, count: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with gzip.open(path, "wb", 9) as file:
            block = text * (2**20 // len(text))
            for _ in range(count // len(block)):
                file.write(block)

    return write


def _wide_csv(path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 10, (2, 60_000))
    names = ",".join(f"c{j}" for j in range(rows.shape[1]))
    path.write_text("\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n")


def _wide_with_gaps(path: Path) -> None:
    """Large whole numbers with a gap in every column, which are read again digit by digit."""
    full = ",".join(["90071992547409931"] * 9_000)
    path.write_text(f"{full}\n{',' * 8_999}\n{full}\n")


def _wide_with_commas(path: Path) -> None:
    row = ";".join(["3,5", "1,25"] * 30_000)
    path.write_text(f"{row}\n{row}\n")


def _many_members(path: Path) -> None:
    arrays: Any = {f"f{j}": np.arange(3.0) for j in range(4_000)}
    np.savez(path, **arrays)


def _deflated_torch(path: Path) -> None:
    """Zeros, in an archive that torch itself would leave unpacked."""
    import torch

    torch.save({"z": torch.zeros(JUST_ALLOWED)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset(
            "z", data=np.zeros(JUST_ALLOWED), chunks=(2**20,), compression="gzip", shuffle=True
        )


def _unwritten_hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("z", (JUST_ALLOWED,), float, chunks=(2**20,), compression="gzip")


def _many_datasets(path: Path) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        for j in range(4_000):
            file[f"f{j}"] = np.arange(3.0)


def _sparse_h5ad(path: Path) -> None:
    """A few entries of a matrix that is 2 GB when it is dense."""
    import h5py

    n = 2**14 - 1
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (n, n)
        group["data"], group["indices"] = np.ones(2), np.arange(2)
        group.create_dataset("indptr", data=np.minimum(np.arange(n + 1), 2), compression="gzip")


def _matlab(path: Path) -> None:
    from scipy.io import savemat

    savemat(path, {"z": np.zeros(JUST_ALLOWED // 2)}, do_compression=True)


def _wide_safetensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"z": np.random.default_rng(0).integers(0, 9, (2, 60_000)).astype(float)}, path)


def _image(path: Path) -> None:
    from PIL import Image

    path.mkdir()
    Image.new("L", (8_000, 8_000)).save(path / "zeros.png")


# By the name of the file: what writes it, of about a megabyte or less.
CASES: dict[str, Callable[[Path], None]] = {
    "pairs.csv.gz": _gzip(b"0,0\n", 2**27),
    "one_column.csv.gz": _gzip(b"0\n", 2**28),
    "texts.csv.gz": _gzip(b"box,dot,a long label of a category\n", 2**28),
    "empty_fields.csv.gz": _gzip(b",", 2**28),
    "decimal_commas.csv.gz": _gzip(b"3,5;1,25\n", 2**28),
    "spaces.txt.gz": _gzip(b"0 0\n", 2**27),
    # These stay just within the default limit.
    "allowed_column.csv.gz": _gzip(b"0\n", 21 * 2**20),
    "allowed_texts.csv.gz": _gzip(b"box,dot,a long label of a category\n", 76 * 2**20),
    "allowed_commas.csv.gz": _gzip(b"3,5;1,25\n", 45 * 2**20),
    "allowed_spaces.txt.gz": _gzip(b"0 0\n", 24 * 2**20),
    "wide.csv": _wide_csv,
    "gaps.csv": _wide_with_gaps,
    "commas.csv": _wide_with_commas,
    "wide.npy": lambda path: np.save(path, np.arange(2 * 60_000).reshape(2, -1)),
    "wide.safetensors": _wide_safetensors,
    "members.npz": _many_members,
    "zeros.npz": lambda path: np.savez_compressed(path, z=np.zeros(JUST_ALLOWED)),
    "labels.npz": lambda path: np.savez_compressed(path, z=np.full(2**24 - 2**10, "box!")),
    "zeros.pt": _deflated_torch,
    "zeros.h5": _hdf5,
    "unwritten.h5": _unwritten_hdf5,
    "datasets.h5": _many_datasets,
    "sparse.h5ad": _sparse_h5ad,
    "zeros.mat": _matlab,
    "image": _image,
    **small_bombs_columnar.CASES,
}


def _child(path: Path, load: Callable[[Path], Any], sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_GIGABYTES * 2**30,) * 2)
    # What the first call imports is no part of what the file takes.
    np.save(path.with_name("warm_up.npy"), np.eye(2))
    path.with_name("warm_up.csv").write_text("a,b\n1,2\n")
    for suffix in ("npy", "csv"):
        load(path.with_name(f"warm_up.{suffix}"))
    before, begun = most_memory(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(path)
        outcome = "read"
    except Exception as error:
        outcome = "refused" if type(error).__name__ == "InputError" else type(error).__name__
    sender.send((outcome, time.process_time() - begun, (most_memory() - before) / 1024))


def examine(path: Path, load: Callable[[Path], Any]) -> tuple[str, float, float]:
    """What becomes of a file, the processor seconds that it takes, and the gigabytes.

    In a process of its own, which is not forked: a child begins with what its parent holds.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(path, load, sender))
    process.start()
    sender.close()
    try:
        if receiver.poll(MOST_SECONDS):
            return receiver.recv()
        process.kill()
        return "no end", float(MOST_SECONDS), 0.0
    except EOFError:
        return "died", 0.0, 0.0
    finally:
        process.join()


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of files; nothing is written")
    parser.add_argument("--to", default="small_bombs", help="name of the table")
    asked = parser.parse_args(arguments or [])
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only or CASES:
            path = Path(folder) / name
            CASES[name](path)
            row: dict[str, Any] = {"file": name, "kB": round(_size(path) / 1000)}
            for load in (load_array, load_factors):
                outcome, seconds, gigabytes = examine(path, load)
                too_much = seconds > SECONDS or gigabytes > GIGABYTES
                row[load.__name__] = f"{outcome}, TOO MUCH" if too_much else outcome
                row[f"{load.__name__}: CPU s"] = round(seconds, 1)
                row[f"{load.__name__}: GB"] = round(gigabytes, 2)
            rows.append(row)
            print(rows[-1], flush=True)
    if not asked.only:
        write_table(asked.to, (__doc__ or "").strip().rstrip("."), rows)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
