"""Scores against compute (seed 004, Figs. 6, 7), and encoders of any kind beside its Table 1.

Run `python -m analyses.compute_scaling --preset quick --runs FOLDER`; what is finished of the runs
stays in FOLDER, and the same line goes on after any end. With `--factors F.csv --embeddings A.npy
B.npy` only the table of encoders is printed: MIG of these files beside the published ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

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
    preset: str,
    out: Path,
    runs: Path | None = None,
    embeddings: list[Path] | None = None,
    factors: Path | None = None,
) -> bool:
    """Train and report, or print the table of encoders for a user's files."""
    if embeddings or factors:
        if not (embeddings and factors):
            raise InputError("A table of encoders needs --embeddings and --factors; got one.")
        print("\n".join(table(HEADER, [row.cells() for row in rows_of_files(embeddings, factors)])))
        return True
    settings = PRESETS[preset]
    folder = runs or out / "runs"
    trained = train_scaling(settings, folder)
    rows = untrained_rows(settings)
    write_scaling(trained.table, rows, settings, preset, out, cost_of(folder))
    return trained.elsewhere == 0


def untrained_rows(preset: Preset) -> list[EncoderRow]:
    """Table 1 with codes that nobody trained, on sprites of the published size."""
    grid = Sprites(binary=True)
    index = np.sort(np.random.default_rng(0).choice(len(grid), preset.images, replace=False))
    images = grid.images(index).astype(np.float32) / 255
    return encoder_rows(controls(images), grid.factors(index))


def options(parser: argparse.ArgumentParser) -> None:
    """Options of this analysis."""
    parser.add_argument("--runs", type=Path, help="folder of the runs; OUT/runs unless given")
    parser.add_argument("--embeddings", type=Path, nargs="+", help="files of embeddings (n, z)")
    parser.add_argument("--factors", type=Path, help="file of the factors of their rows")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset, or print the table of encoders."""
    return main_of(__doc__, PRESETS, OUT, run, arguments, options)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    sys.exit(main())
