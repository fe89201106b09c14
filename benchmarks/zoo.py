"""The zoo: fits of many manifolds and defects with known truth, and how often they are wrong.

``python -m benchmarks.zoo [--half tuning|held-out|all] [--families a,b] [--jobs N]
[--preset quick|full] [--out FOLDER] [--seed S] [--fresh]``

Whole families belong to one half: thresholds may be chosen on the tuning half, and the held-out
half is only run at the end. Results are written after every case, and a run that was interrupted
goes on where it was; ``--fresh`` begins anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks._measure import RESULTS
from benchmarks.zoo_cases.case import HALVES, Case, all_cases, all_families
from benchmarks.zoo_cases.judge import Answer, outcome
from benchmarks.zoo_cases.runner import answers
from benchmarks.zoo_cases.tables import Row, report, written
from geodis.base.write import whole_file, write_json

QUICK = 24  # cases of the smoke test


def chosen(half: str, families: str | None, preset: str) -> list[Case]:
    """The cases that are asked for."""
    cases = [case for case in all_cases() if half in (case.half, "all")]
    if families is not None:
        wanted = {name.strip() for name in families.split(",")}
        unknown = wanted - {kind.name for kind in all_families()} - {c.group for c in cases}
        if unknown:
            raise SystemExit(f"--families must name families or groups; got {sorted(unknown)}.")
        cases = [case for case in cases if {case.family, case.group} & wanted]
    return quick(cases) if preset == "quick" else cases


def quick(cases: list[Case]) -> list[Case]:
    """The first case of about `QUICK` families, spread over all of them."""
    first = list({case.family: case for case in reversed(cases)}.values())[::-1]
    return first[:: max(round(len(first) / QUICK), 1)]


def row(case: Case, answer: Answer) -> Row:
    """What is kept of a case."""
    return {
        "name": case.name,
        "group": case.group,
        "family": case.family,
        "half": case.half,
        "strength": case.strength,
        "accepted": case.accepted,
        "real": case.real,
        "outcome": outcome(answer, case.accepted, case.real),
        **asdict(answer),
    }


def kept(path: Path, seed: int, cases: list[Case]) -> dict[str, Row]:
    """Rows of an earlier run with the same seed, of cases that still exist."""
    if not path.exists():
        return {}
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    known = {case.name for case in cases}
    rows = stored["cases"] if stored["seed"] == seed else []
    return {entry["name"]: entry for entry in rows if entry["name"] in known}


def write(folder: Path, seed: int, rows: list[Row]) -> None:
    """Both files, each whole."""
    write_json(folder / "zoo.json", {"seed": seed, "cases": rows})
    cpu = sum(entry["cpu"] for entry in rows)
    about = f"{len(rows)} cases, seed {seed}, one thread each; the fits took {cpu:.0f} CPU s."
    with whole_file(folder / "zoo.md") as temporary:
        temporary.write_text(report(rows, about), encoding="utf-8")


def run(cases: list[Case], folder: Path, seed: int, jobs: int, fresh: bool) -> None:
    """Fit the cases that are not there yet."""
    every = all_cases()
    rows = {} if fresh else kept(folder / "zoo.json", seed, every)
    by_name = {case.name: case for case in every}
    missing = [case.name for case in cases if case.name not in rows]
    if not missing:
        progress(f"All {len(cases)} cases are there already; --fresh runs them again.")
    begun = time.monotonic()
    for done, (name, answer) in enumerate(answers(missing, seed, jobs), 1):
        rows[name] = row(by_name[name], answer)
        progress(
            f"{done}/{len(missing)} {time.monotonic() - begun:.0f} s  {name}: "
            f"{rows[name]['outcome']} ({written(rows[name])}, {answer.cpu:.1f} CPU s)"
        )
        write(folder, seed, [rows[case.name] for case in every if case.name in rows])
    if not missing:
        write(folder, seed, [rows[case.name] for case in every if case.name in rows])


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("--half", choices=(*HALVES, "all"), default="all")
    parser.add_argument("--families", help="names of families or groups, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--preset", choices=("quick", "full"), default="full")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of zoo.json and zoo.md")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    given = parser.parse_args(arguments)
    cases = chosen(given.half, given.families, given.preset)
    run(cases, given.out, given.seed, given.jobs, given.fresh)
    print(given.out / "zoo.md")


if __name__ == "__main__":
    main()
