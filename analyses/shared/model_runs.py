"""What the analyses of models share: cases that are kept as they finish, and tables."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.studies.kept_runs import costed, seconds_in
from geodis import __version__
from geodis.base import InputError, to_jsonable, whole_file, write_json
from geodis.base.journal import plain_digest

Row = dict[str, Any]
# Between tables and figures of what is finished so far: small models take no longer than these.
SECONDS_BETWEEN = 60
UNDER_WAY = "under_way"


def run_cases(
    cases: Sequence[Mapping[str, Any]],
    run_case: Callable[[Mapping[str, Any], Path], Row],
    out: Path,
    preset: str,
    write: Callable[[list[Row], Path], None],
    settings: Any = None,
    measures: Sequence[str] = (),
) -> tuple[list[Row], bool]:
    """Run what has not been run, keep every row at once, and write tables and figures.

    Parameters
    ----------
    cases : sequence of mappings of plain values
    run_case : callable
        Case, and a folder of its own for checkpoints -> what was found; the case is added.
    out : Path
        Folder; rows that `results.json` has of the same case, preset and settings are not run
        again where they have all `measures`; others stay until they are measured again.
    preset : str
    write : callable
        Rows -> table and figures in the folder; called every minute, and at the end.
    settings : optional
        What the preset says, kept as text.
    measures : sequence of str
        What a row must have to count as finished, such as a measure that old rows lack.

    Returns
    -------
    rows : list of dict
    complete : bool
        False after Ctrl-C.
    """
    made = {"preset": preset, "geodis": __version__, "settings": str(settings)}
    rows = _known(out / "results.json", made)
    order = [to_jsonable(dict(case)) for case in cases]
    complete = True

    def ordered() -> list[Row]:
        planned = [row for row in rows if row["case"] in order]
        return sorted(planned, key=lambda row: order.index(row["case"]))

    written = time.monotonic()
    try:
        for number, case in enumerate(cases, start=1):
            plain = to_jsonable(dict(case))
            if any(row["case"] == plain and row.keys() >= set(measures) for row in rows):
                continue
            print(f"[{number}/{len(cases)}] {describe(case)}", flush=True)
            checkpoint = out / UNDER_WAY / plain_digest({**made, "case": plain})
            with costed(checkpoint):
                results = to_jsonable(_run_or_begin_anew(run_case, case, checkpoint))
            rows[:] = [row for row in rows if row["case"] != plain]
            # With those of calls that were stopped.
            rows.append({"case": plain, **results, "processor seconds": seconds_in(checkpoint)})
            _keep(out, made, rows)
            _remove(checkpoint)
            if time.monotonic() - written > SECONDS_BETWEEN:
                write(ordered(), out)
                written = time.monotonic()
    except KeyboardInterrupt:
        complete = False
    rows = ordered()
    if rows:
        _keep(out, made, rows)
        write(rows, out)
    return rows, complete


def run_preset(
    preset: str,
    out: Path,
    presets: Mapping[str, Any],
    plan: Callable[[Any], Sequence[Mapping[str, Any]]],
    run_case: Callable[..., Row],
    write: Callable[[list[Row], Path, str], None],
    checkpoints: bool = False,
    measures: Sequence[str] = (),
) -> bool:
    """Run the cases that an analysis plans for a preset; whether all were run.

    With `checkpoints`, `run_case` is told a folder, from which a case that was stopped goes on.
    Rows that lack one of `measures` are run again.
    """
    settings = presets[preset]

    def run_one(case: Mapping[str, Any], checkpoint: Path) -> Row:
        return run_case(case, settings, **({"checkpoint": checkpoint} if checkpoints else {}))

    _, complete = run_cases(
        plan(settings),
        run_one,
        out,
        preset,
        lambda rows, folder: write(rows, folder, preset),
        settings,
        measures,
    )
    return complete


def _run_or_begin_anew(
    run_case: Callable[[Mapping[str, Any], Path], Row], case: Mapping[str, Any], checkpoint: Path
) -> Row:
    """Run a case; what another version of the code left of it half done is of no use."""
    begun = checkpoint.exists()
    try:
        return run_case(case, checkpoint)
    except InputError:
        if not begun:
            raise
        shutil.rmtree(checkpoint)
        return run_case(case, checkpoint)


def _remove(checkpoint: Path) -> None:
    """Remove what a finished case went on from, and the folder if it was the last."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    with suppress(OSError):  # other cases are under way, or none was
        checkpoint.parent.rmdir()


def hours_of(rows: Sequence[Row]) -> str:
    """What the cases have cost, in a sentence.

    Examples
    --------
    >>> hours_of([{"processor seconds": 1800.0}, {"processor seconds": 3600.0}])
    '2 runs took 1.5 processor hours.'
    """
    hours = sum(row["processor seconds"] for row in rows) / 3600
    return f"{len(rows)} runs took {hours:.2g} processor hours."


def describe(case: Mapping[str, Any]) -> str:
    """A case in a line."""
    return ", ".join(f"{name} {value}" for name, value in case.items())


def _known(path: Path, made: Mapping[str, str]) -> list[Row]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    # Files that say nothing of settings are from before they were kept.
    same = all(content.get(name, value) == value for name, value in made.items())
    return content["rows"] if same else []


def _keep(out: Path, made: Mapping[str, str], rows: list[Row]) -> None:
    import torch

    content = {
        **made,
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
