"""`geodis inspect` and `geodis sample`: look at points, and draw points to try things on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.commands.options import (
    CommonOptions,
    CountsOption,
    FileArgument,
    MetricOption,
    argument,
    load_points,
    option,
)
from geodis.commands.output import OutputFolder, output_file, say

FILES = {
    "inspection.json": "the same, machine-readable",
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


# `geodis sample`


@dataclass(frozen=True)
class SampleOptions:
    """What is drawn."""

    spec: str = argument('A product of manifolds, such as "S^2 x SO(3)".')
    out: Path = option(..., "File to write the points to (.npy).")
    n: int = option(5000, "Number of points.", "--n", min=1)
    rotate: bool = option(False, "Rotate the ambient space at random.")
    noise: float = option(0.0, "Standard deviation of the noise.", min=0)
    pad: int = option(0, "Number of zero columns to add.", min=0)


def sample_command(given: SampleOptions, common: CommonOptions) -> None:
    """Draw points from a product of manifolds, to try things on.

    Example: `geodis sample "S^2 x SO(3)" --n 5000 --out points.npy`
    """
    from geodis.data.manifolds.products import product_manifold

    out, spec = given.out, given.spec
    if out.suffix != ".npy":
        raise InputError(f"--out must end in .npy; got {out}.")
    folder = output_file(out, "the points")
    points = product_manifold(
        spec,
        given.n,
        rotate=given.rotate,
        noise=given.noise,
        pad=given.pad,
        random_state=common.seed,
    ).points
    with folder:
        folder.write_array(out.name, points)
    n, columns = points.shape
    values = {"out": str(out), "spec": spec, "n": n, "columns": columns, "seed": common.seed}
    made = f"{counted(n, 'point')} of {spec} in {counted(columns, 'column')}"
    say(f"{out}: {made}", values, common.as_json)
