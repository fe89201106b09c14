"""Run a function in a process of its own and report its time and peak memory."""

from __future__ import annotations

import multiprocessing
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from geodis.base import whole_file, write_json

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Measurement:
    """What one call cost and returned.

    Attributes
    ----------
    value : Any
        What the function returned; it should be small.
    seconds : float
        Wall-clock time of the call, after `warm_up` calls.
    megabytes : float
        Peak resident memory of the process above what it held before the call.
    """

    value: Any
    seconds: float
    megabytes: float


def measure(
    function: Callable[..., Any], *arguments: Any, warm_up: Callable[[], Any] | None = None
) -> Measurement:
    """Call a module-level function in a fresh process and measure it there.

    A fresh process makes peak memory that of the call alone, and compilation visible: pass
    `warm_up` to compile before the clock starts.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, function, arguments, warm_up))
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(
            f"{getattr(function, '__name__', function)} died with exit code {process.exitcode}"
        ) from None
    process.join()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _child(
    sender: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    warm_up: Callable[[], Any] | None,
) -> None:
    try:
        if warm_up is not None:
            warm_up()
        before = most_memory()
        start = time.perf_counter()
        value = function(*arguments)
        seconds = time.perf_counter() - start
        sender.send(Measurement(value, seconds, most_memory() - before))
    except Exception as error:
        sender.send(error)


def most_memory(pid: int | str = "self") -> float:
    """The most resident memory that a process had so far, in MB; 0 of one that is gone.

    Not what `getrusage` says, which begins with what the parent held when it started the process.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    held = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(held[0]) / 1024 if held else 0.0


def write_table(
    name: str,
    title: str,
    rows: list[dict[str, Any]],
    folder: Path | None = None,
    remarks: Sequence[str] = (),
) -> Path:
    """Write rows as JSON and as a Markdown table into benchmarks/results, or another folder.

    Remarks stand below the table, a point each.
    """
    folder = RESULTS if folder is None else folder
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [
        f"# {title}",
        "",
        f"Python {platform.python_version()}, {multiprocessing.cpu_count()} cores, one run: "
        "read ratios, not seconds.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in columns) + " |" for row in rows]
    lines += ["", *(f"- {remark}" for remark in remarks)] if remarks else []
    write_json(folder / f"{name}.json", rows)
    path = folder / f"{name}.md"
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "\\|")
