"""What the analyses of models share: cases that are kept as they finish, and tables."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodis import __version__
from geodis._write import to_jsonable, whole_file, write_json

Row = dict[str, Any]


def run_cases(
    cases: Sequence[Mapping[str, Any]],
    run_case: Callable[[Mapping[str, Any]], Row],
    out: Path,
    preset: str,
    write: Callable[[list[Row], Path], None],
) -> tuple[list[Row], bool]:
    """Run what has not been run, keep every row at once, and write tables and figures.

    Parameters
    ----------
    cases : sequence of mappings of plain values
    run_case : callable
        Case -> what was found; the case itself is added.
    out : Path
        Folder; rows that `results.json` has of the same case and preset are not run again.
    preset : str
    write : callable
        Rows -> table and figures in the folder; called after every case.

    Returns
    -------
    rows : list of dict
    complete : bool
        False after Ctrl-C.
    """
    rows = _known(out / "results.json", preset)
    order = [to_jsonable(dict(case)) for case in cases]
    complete = True

    def ordered() -> list[Row]:
        planned = [row for row in rows if row["case"] in order]
        return sorted(planned, key=lambda row: order.index(row["case"]))

    try:
        for number, case in enumerate(cases, start=1):
            plain = to_jsonable(dict(case))
            if any(row["case"] == plain for row in rows):
                continue
            print(f"[{number}/{len(cases)}] {describe(case)}", flush=True)
            begun = time.perf_counter()
            found = to_jsonable(run_case(case))
            seconds = time.perf_counter() - begun
            rows.append({"case": plain, **found, "seconds": seconds})
            _keep(out, preset, rows)
            write(ordered(), out)
    except KeyboardInterrupt:
        complete = False
    rows = ordered()
    if rows:
        _keep(out, preset, rows)
        write(rows, out)
    return rows, complete


def describe(case: Mapping[str, Any]) -> str:
    """A case in a line."""
    return ", ".join(f"{name} {value}" for name, value in case.items())


def _known(path: Path, preset: str) -> list[Row]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    same = content.get("preset") == preset and content.get("geodis") == __version__
    return content["rows"] if same else []


def _keep(out: Path, preset: str, rows: list[Row]) -> None:
    import torch

    content = {
        "preset": preset,
        "geodis": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "rows": rows,
    }
    write_json(out / "results.json", content)


def summarise(
    rows: Sequence[Row], by: Sequence[str], columns: Sequence[str], digits: int = 3
) -> list[list[str]]:
    """Mean over seeds, with the smallest and largest where there are several, as table cells."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row["case"].get(name) for name in by), []).append(row)
    cells = []
    for key, own in groups.items():
        line = [str(part) for part in key] + [str(len(own))]
        for column in columns:
            values = [row[column] for row in own if isinstance(row.get(column), int | float)]
            if not values:
                line.append("")
                continue
            mean = f"{np.mean(values):.{digits}f}"
            spread = f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
            line.append(mean + spread if len(values) > 1 else mean)
        cells.append(line)
    return cells


def table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(line) + " |" for line in cells]


def write_markdown(out: Path, lines: Sequence[str]) -> None:
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
