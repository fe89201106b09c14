"""Scores against compute (seed 004, Figs. 6, 7), and encoders of any kind beside its Table 1.

Run `python -m analyses.compute_scaling --preset quick --runs FOLDER`; what is finished of the runs
stays in FOLDER, and the same line goes on after any end. With `--report` nothing is trained, and
the tables are written anew of the rows that are kept in the results. With `--factors F.csv
--embeddings A.npy B.npy` only the table of encoders is printed: MIG of these files beside the
published ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analyses.compute_scaling.encoder_files import (
    HEADER,
    EncoderRow,
    controls,
    encoder_rows,
    rows_of_files,
)
from analyses.compute_scaling.scaling_report import write_scaling
from analyses.compute_scaling.scaling_runs import PRESETS, Preset, train_scaling
from analyses.shared.model_runs import table
from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import cost_of
from geodis import Sprites
from geodis.base import InputError

OUT = Path(__file__).parents[1] / "results" / "compute_scaling"


def run(
    preset: str, out: Path, runs: Path | None = None, report: bool = False, **encoders: None
) -> bool:
    """Train what is not trained yet, and report; or report of the rows that were kept.

    Options of `encoders` are not given here: `main` answers them itself.
    """
    settings = PRESETS[preset]
    if report:
        kept, rows, cost = kept_rows(out, preset, settings)
        write_scaling(kept, rows, settings, preset, out, cost)
        return True
    folder = runs or out / "runs"
    trained = train_scaling(settings, folder)
    rows = untrained_rows(settings)
    write_scaling(trained.table, rows, settings, preset, out, cost_of(folder))
    return trained.elsewhere == 0


def kept_rows(
    out: Path, preset: str, settings: Preset
) -> tuple[pd.DataFrame, list[EncoderRow], str]:
    """Runs and encoders that `results.json` has of a preset, and what the runs have cost."""
    path = out / "results.json"
    content = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if (content.get("preset"), content.get("settings")) != (preset, str(settings)):
        raise InputError(f"--report needs rows of the preset {preset} in {path}; there are none.")
    numbers = ("parameters", "published", "found", "chance")
    encoders = [
        EncoderRow(**{**row, **{k: float("nan") for k in numbers if row[k] is None}})
        for row in content["encoders"]
    ]
    return pd.DataFrame(content["rows"]), encoders, content["cost"]


def print_encoders(embeddings: Sequence[Path] | None, factors: Path | None) -> int:
    """Print the table of encoders for a user's files; the exit code."""
    try:
        if not (embeddings and factors):
            raise InputError("A table of encoders needs --embeddings and --factors; got one.")
        rows = rows_of_files(embeddings, factors)
    except InputError as problem:
        print(problem, file=sys.stderr)
        return 2
    print("\n".join(table(HEADER, [row.cells() for row in rows])))
    return 0


def untrained_rows(preset: Preset) -> list[EncoderRow]:
    """Table 1 with codes that nobody trained, on sprites of the published size."""
    grid = Sprites(binary=True)
    index = np.sort(np.random.default_rng(0).choice(len(grid), preset.images, replace=False))
    images = grid.images(index).astype(np.float32) / 255
    return encoder_rows(controls(images), grid.factors(index))


def options(parser: argparse.ArgumentParser) -> None:
    """Options of this analysis."""
    parser.add_argument("--runs", type=Path, help="folder of the runs; OUT/runs unless given")
    parser.add_argument("--report", action="store_true", help="train nothing; write tables anew")
    encoder_options(parser)


def encoder_options(parser: argparse.ArgumentParser) -> None:
    """Options that print the table of encoders instead."""
    parser.add_argument("--embeddings", type=Path, nargs="+", help="files of embeddings (n, z)")
    parser.add_argument("--factors", type=Path, help="file of the factors of their rows")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset, or print the table of encoders, which makes no files."""
    encoders = argparse.ArgumentParser(add_help=False)
    encoder_options(encoders)
    given, _ = encoders.parse_known_args(arguments)
    if given.embeddings or given.factors:
        return print_encoders(given.embeddings, given.factors)
    return main_of(__doc__, PRESETS, OUT, run, arguments, options)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    sys.exit(main())
