"""What decides how well models disentangle, and how much is luck (seed 000, Figs. 1 to 6).

Six methods, several strengths and seeds on sprites that are plain, coloured, before noise and
before a picture, trained in stacks by `models.sweep`, round by round of two seeds.

Run `python -m analyses.unsupervised_study --preset quick --runs FOLDER`; the runs, some 1 MB each,
stay in FOLDER, and the same line goes on after any end, also started several times at once.
`--minutes 30` stops after the round in which 30 processor minutes are over; `--report` trains
nothing, and reports on what is finished. What the runs found is kept beside the results: without
their folder, too, the study goes on from it. Results of the paper preset stand in the folder
itself, of others in a folder of their own beside them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import KEPT, cost_of, costed, keep_runs, put_back
from analyses.unsupervised_study.study_measures import balanced, measured_table
from analyses.unsupervised_study.study_presets import PRESETS
from analyses.unsupervised_study.study_report import write_study
from analyses.unsupervised_study.study_runs import finished_table, train_study
from geodis.base import InputError

OUT = Path(__file__).parents[1] / "results" / "unsupervised_study"


def run(
    preset: str,
    out: Path,
    runs: Path | None = None,
    minutes: float | None = None,
    report: bool = False,
) -> bool:
    """Train what there is time for, measure and report what is finished."""
    settings, folder = PRESETS[preset], runs or out / "runs"
    put_back(folder, out / KEPT)
    complete = False
    if not report:
        with costed(folder):
            complete = train_study(settings, folder, None if minutes is None else 60 * minutes)
    measured = measured_table(settings, folder)
    steps = finished_table(settings, folder)
    if steps.empty:
        raise InputError(f"A report needs finished runs; got none in {folder}.")
    frame = balanced(measured, settings)
    if frame.empty:
        raise InputError("A report needs two seeds of every method and strength on one set.")
    keep_runs(folder, out / KEPT)
    write_study(frame, steps, settings, preset, out, _cost(folder, len(frame)))
    return complete or report


def _cost(folder: Path, counted: int) -> str:
    """What all runs of a folder have cost, and how many more they are than are counted."""
    cost, made = cost_of(folder), sum(1 for _ in folder.glob("runs/*/row.json"))
    if not cost or made <= counted:
        return cost
    return (
        f"{cost} That is with {made - counted} runs that are in no number: others of their set and "
        "seed are not finished, or they were made again in another way."
    )


def options(parser: argparse.ArgumentParser) -> None:
    """Options of this analysis."""
    parser.add_argument("--runs", type=Path, help="folder of the runs; OUT/runs unless given")
    parser.add_argument("--minutes", type=float, help="processor minutes of training, about")
    parser.add_argument("--report", action="store_true", help="train nothing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 where runs are left."""
    return main_of(__doc__, PRESETS, OUT, run, arguments, options, preset_of_out="paper")


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    sys.exit(main())
