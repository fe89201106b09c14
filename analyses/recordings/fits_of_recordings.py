"""Factors of what people record: populations, walks, noisy products, images and tables.

Every recording of `benchmarks/recording_cases` is fitted with everything automatic, and the answer
compared with its truth. Run `python -m analyses.recordings --preset quick` for the first recording
of every family, or `--preset paper` for all of them; `--half tuning` leaves out the families that
are only looked at in the end. What is there already is not run again, except with `--fresh`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from analyses.recordings.ratio_curves import draw_ratio_curves
from analyses.shared.run import main_of
from benchmarks.recording_cases.recording import Recording, all_cases
from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.judge import Answer, outcome
from benchmarks.zoo_cases.runner import answers
from benchmarks.zoo_cases.tables import Row, share, table, written
from geodis.base import whole_file, write_json

CURVES = "ratio_curves.png"
OUT = Path(__file__).parents[1] / "results" / "recordings"
PRESETS = {"quick": "the first recording of every family", "paper": "every recording"}
# Noise moves points along the surface too, so that directions differ from the true ones at the
# clean points by this much, in radians, and are still those; one factor has no others to mix with.
NOISY_ANGLE = 0.6
COLLECTION = "benchmarks.recording_cases.recording"


def chosen(preset: str, half: str, families: str | None) -> list[Recording]:
    """The recordings that are asked for and can be drawn here."""
    cases = [case for case in all_cases() if half in (case.half, "all")]
    if families is not None:
        wanted = [part.strip() for part in families.split(";")]
        cases = [case for case in cases if any(part in case.name for part in wanted)]
    if preset == "quick":
        cases = list({case.family: case for case in reversed(cases)}.values())[::-1]
    missing = {case.needs for case in cases if case.needs and not _installed(case.needs)}
    for name in sorted(missing):
        print(f"{name} is not installed: its recordings are left out", file=sys.stderr)
    return [case for case in cases if case.needs not in missing]


def row(case: Recording, answer: Answer) -> Row:
    """What is kept of a recording."""
    near = answer.angle is not None and (len(answer.dims) == 1 or answer.angle < NOISY_ANGLE)
    judged = replace(answer, angle=0.0) if near else answer
    return {
        "name": case.name,
        "group": case.group,
        "family": case.family,
        "half": case.half,
        "within": case.within,
        "dims_right": case.dims,
        "accepted": case.accepted,
        "real": case.real,
        "outcome": outcome(judged, case.accepted, case.real),
        **asdict(answer),
    }


def report(rows: list[Row]) -> str:
    """The whole page: what is asked for, then families, then every failure."""
    parts = [
        "# Factors of recordings",
        f"{len(rows)} recordings, everything automatic; the fits took "
        f"{sum(one['cpu'] for one in rows):.0f} CPU s. Within: counts from a peak of 4 on and "
        "noise up to .1.",
        _shares(rows),
        "The dimension is the smallest whose ratio stays above 2 at the finest scale that is sure: "
        f"![Ratio of curved fits over scales, for five recordings]({CURVES})",
        "## Families",
        _families(rows),
        "## What is wrong",
        _failures(rows),
    ]
    return "\n\n".join(parts) + "\n"


def _shares(rows: list[Row]) -> str:
    """The figures of each half."""
    lines = []
    for half in HALVES:
        for within in (True, False):
            own = [one for one in rows if (one["half"], one["within"]) == (half, within)]
            known = [one for one in own if one["dims_right"]]
            right = [one for one in known if one["dim"] in one["dims_right"]]
            bold = sum(one["verdict"] == "clear" and one not in right for one in known)
            sound = [one for one in own if one["outcome"].startswith("right") or _said(one)]
            lines.append(
                [
                    half,
                    "yes" if within else "no",
                    share(len(right), len(known)),
                    share(bold, len(known)),
                    share(len(sound), len(own)),
                    share(sum(_right(one) for one in right), len(right)),
                ]
            )
    header = ["half", "within", "dimension right", "clear and wrong", "factors right or flagged"]
    return table([*header, "factors right where the dimension is"], lines)


def _said(one: Row) -> bool:
    return one["flagged"] or one["refused"] is not None


def _right(one: Row) -> bool:
    return one["outcome"] in ("right, silent", "right, flagged")


def _families(rows: list[Row]) -> str:
    lines = []
    for name in dict.fromkeys(one["family"] for one in rows):
        own = [one for one in rows if one["family"] == name]
        known = [one for one in own if one["dims_right"]]
        right = [one for one in known if one["dim"] in one["dims_right"]]
        counts = [sum(one["outcome"] == kind for one in own) for kind in OUTCOMES_SHOWN]
        cpu = sum(one["cpu"] for one in own)
        lines.append(
            [name, own[0]["half"], share(len(right), len(known)), *counts, f"{cpu / len(own):.1f}"]
        )
    return table(["family", "half", "dimension right", *OUTCOMES_SHOWN, "CPU s each"], lines)


OUTCOMES_SHOWN = (
    "right, silent",
    "right, flagged",
    "dimensions only",
    "wrong, flagged",
    "wrong, silent",
    "crash",
)


def _failures(rows: list[Row]) -> str:
    lines = [
        [
            one["half"],
            one["name"],
            "" if one["dim"] is None else f"{one['dim']}, {one['verdict']}",
            one["crash"] or written(one),
            " or ".join(" + ".join(map(str, dims)) for dims in one["accepted"]) or "a flag",
            (one["refused"] or next(iter(one["doubts"]), ""))[:150],
        ]
        for one in rows
        if not _right(one) and not (one["real"] and _said(one))
    ]
    header = ["half", "recording", "dimension", "factors", "right", "first doubt"]
    return table(header, lines) if lines else "None."


def run(preset: str, out: Path, half: str, families: str | None, fresh: bool, jobs: int) -> bool:
    """Fit what is not there yet, and write after every recording."""
    path = out / "recordings.json"
    stored: list[Row] = []
    if path.exists() and not fresh:
        stored = json.loads(path.read_text(encoding="utf-8"))
    rows = {one["name"]: one for one in stored}
    every = {case.name: case for case in all_cases()}
    missing = [case.name for case in chosen(preset, half, families) if case.name not in rows]
    done = (answer for answer in answers(missing, 0, jobs, COLLECTION) if missing)
    for name, answer in done:
        rows[name] = json.loads(json.dumps(row(every[name], answer)))
        print(
            f"{name}: {rows[name]['outcome']} ({written(rows[name])}, dimension {answer.dim} "
            f"{answer.verdict}, {answer.directions} directions, {answer.cpu:.1f} CPU s)",
            flush=True,
        )
        _write(out, [rows[known] for known in every if known in rows])
    _write(out, [rows[known] for known in every if known in rows])
    if not (out / CURVES).exists():
        draw_ratio_curves(out / CURVES)
    return True


def _write(out: Path, rows: list[Row]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "recordings.json", rows)
    with whole_file(out / "results.md") as temporary:
        temporary.write_text(report(rows), encoding="utf-8")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--half", choices=(*HALVES, "all"), default="all")
    parser.add_argument("--families", help="parts of names, with semicolons between")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def main(arguments: list[str] | None = None) -> int:
    options: dict[str, Any] = {"options": _options}
    return main_of(__doc__, PRESETS, OUT, run, arguments, **options)
