"""`geodis inspect`: look at a file of points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodis import __version__
from geodis.commands.shared.data_source import load_points
from geodis.commands.shared.options import (
    CommonOptions,
    CountsOption,
    FileArgument,
    MetricOption,
    option,
)
from geodis.commands.shared.output import OutputFolder, say

FILES = {
    "inspection.json": "the same for machines",
    "inspection.txt": "the table above",
    "principal_components.png": "variance along each principal component",
}


@dataclass(frozen=True)
class InspectOptions:
    """What is inspected."""

    file: FileArgument
    out: Path | None = option(None, "Folder for JSON, table and figure.")
    max_points: int = option(50_000, "Rows used for the graph and the dimension.", min=10)
    counts: CountsOption = False
    metric: MetricOption = "euclidean"


def inspect_command(given: InspectOptions, common: CommonOptions) -> None:
    """Look at a file of points: sizes, defects, pieces, dimension, spectrum.

    Examples: `geodis inspect latents.npy`, `geodis inspect run.npz:latents --json`
    """
    from geodis.inspection import inspect_points

    folder = None if given.out is None else OutputFolder(given.out, FILES)
    metric: Any = given.metric
    inspection = inspect_points(
        load_points(given.file),
        max_points=given.max_points,
        prepare="sqrt" if given.counts else None,
        metric=metric,
        **common.settings(),
    )
    run = {"file": given.file, "geodis": __version__, "seed": common.seed}
    values = {**run, **inspection.to_dict()}
    say(inspection, values, common.as_json)
    if folder is not None:
        from geodis.plots import plot_principal_spectrum

        with folder:
            folder.write_json("inspection.json", values)
            folder.write_text("inspection.txt", f"{given.file}\n\n{inspection}")
            axis = plot_principal_spectrum(
                inspection.explained, inspection.dimension.dim, edge=inspection.edge_share
            )
            folder.save_figure("principal_components.png", axis)
        folder.list_files(common.as_json)
