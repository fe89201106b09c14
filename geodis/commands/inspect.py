"""`geodis inspect`: look at a file of points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from geodis import __version__
from geodis.base.write import to_jsonable, whole_file, write_json
from geodis.commands._shared import AsJson, FileArgument, Quiet, Seed

INSPECT_FILES = {
    "inspection.txt": "the first table",
    "inspection.json": "the same for machines",
    "principal_components.png": "variance along each principal component",
}


def inspect(
    file: FileArgument,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help=f"Folder for {', '.join(INSPECT_FILES)}.")
    ] = None,
    max_points: Annotated[
        int, typer.Option(min=10, help="Rows used for the graph and the dimension.")
    ] = 50_000,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Look at a file of points: sizes, defects, pieces, dimension, spectrum.

    Examples: `geodis inspect latents.npy`, `geodis inspect run.npz:latents --json`
    """
    from geodis.data.files.load import load_array
    from geodis.inspection import inspect_points

    inspection = inspect_points(
        load_array(file), max_points=max_points, random_state=seed, verbose=not quiet
    )
    content = {"file": file, "geodis": __version__, "seed": seed, **inspection.to_dict()}
    print(json.dumps(to_jsonable(content), indent=2) if as_json else inspection)
    if out is not None:
        from geodis.plots import plot_principal_spectrum, save_figure

        write_json(out / "inspection.json", content)
        with whole_file(out / "inspection.txt") as temporary:
            temporary.write_text(f"{file}\n\n{inspection}\n", encoding="utf-8")
        axis = plot_principal_spectrum(inspection.explained, inspection.dimension.dim)
        save_figure(axis, out / "principal_components.png")
