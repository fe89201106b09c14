"""`geodis inspect`: look at a file of points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodis import __version__
from geodis.base.write import write_json
from geodis.commands.shared.data_source import load_points
from geodis.commands.shared.options import CommonOptions, CountsOption, FileArgument, MetricOption
from geodis.commands.shared.output import OutputFolder, say

NAMES = ("inspection.json", "inspection.txt", "principal_components.png")


def inspect_command(
    *,
    file: FileArgument,
    out: Annotated[Path | None, typer.Option(help="Folder for JSON, table and figure.")] = None,
    max_points: Annotated[
        int, typer.Option(min=10, help="Rows used for the graph and the dimension.")
    ] = 50_000,
    counts: CountsOption = False,
    metric: MetricOption = "euclidean",
    common: CommonOptions,
) -> None:
    """Look at a file of points: sizes, defects, pieces, dimension, spectrum.

    Examples: `geodis inspect latents.npy`, `geodis inspect run.npz:latents --json`
    """
    from geodis.inspection import inspect_points

    folder = None if out is None else OutputFolder(out, NAMES)
    compared: dict[str, Any] = {"prepare": "sqrt" if counts else None, "metric": metric}
    inspection = inspect_points(
        load_points(file),
        max_points=max_points,
        **compared,
        random_state=common.seed,
        verbose=common.verbose,
    )
    values = {"file": file, "geodis": __version__, "seed": common.seed, **inspection.to_dict()}
    say(inspection, values, common.as_json)
    if folder is not None:
        from geodis.plots import plot_principal_spectrum, save_figure

        with folder:
            write_json(folder.path("inspection.json", "the same for machines"), values)
            folder.write_text("inspection.txt", "the first table", f"{file}\n\n{inspection}")
            picture = folder.path("principal_components.png", "variance along each component")
            axis = plot_principal_spectrum(
                inspection.explained, inspection.dimension.dim, edge=inspection.edge_share
            )
            save_figure(axis, picture)
        if not common.as_json:
            folder.list_files()
