"""What is piped in: a file that is called "-"."""

from __future__ import annotations

import atexit
import sys
import tempfile
from functools import cache
from pathlib import Path

from geodis.base.check import InputError

STANDARD_INPUT = "-"
# How files begin that are told apart by it; what begins with none of these is a text table.
BEGINNINGS = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"\x89HDF": ".h5",
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"MATLAB": ".mat",
}


@cache
def standard_input_file() -> Path:
    """Read all that is piped in, once, and return a file that holds it until the program ends."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is what is piped in, as in `geodis inspect - < z.npy`; got a terminal.")
    data = sys.stdin.buffer.read()
    if not data:
        raise InputError("- is what is piped in; got nothing.")
    suffix = next((s for start, s in BEGINNINGS.items() if data.startswith(start)), ".csv")
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / f"standard_input{suffix}"
    path.write_bytes(data)
    return path
