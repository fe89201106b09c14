"""The command line: arguments -> the functions of the library."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from geodis import __version__
from geodis._check import InputError, MissingExtraError
from geodis._write import to_jsonable, whole_file, write_json

app = typer.Typer(
    help="Geometry-first disentanglement analysis of points, latents and images.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

DEMO_SPEC = "S^2 x S^2"

Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]


def main() -> None:
    """Run the command line; bad input ends it with one sentence and exit code 2."""
    try:
        app()
    except (InputError, MissingExtraError) as error:
        print(f"geodis: {error}", file=sys.stderr)
        sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"geodis {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command()
def inspect(
    file: Annotated[
        str,
        typer.Argument(
            help="Points, one row each: .npy, .npz:key, .csv, .tsv, .parquet, .safetensors:key, "
            ".pt:key, .h5:path or .h5ad:path.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for inspection.txt, .json and spectrum.png.")
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
    from geodis.data.files import load_array
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
        save_figure(axis, out / "spectrum.png")


@app.command()
def sample(
    spec: Annotated[str, typer.Argument(help='A product of manifolds, such as "S^2 x SO(3)".')],
    out: Annotated[Path, typer.Option(help="Where to write the points (.npy).")],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of points.")] = 5000,
    rotate: Annotated[bool, typer.Option(help="Rotate the ambient space at random.")] = False,
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation of noise.")] = 0.0,
    pad: Annotated[int, typer.Option(min=0, help="Zero columns to add.")] = 0,
    seed: Seed = 0,
) -> None:
    """Draw points from a product of manifolds, to try things on.

    Example: `geodis sample "S^2 x SO(3)" --n 5000 --out points.npy`
    """
    import numpy as np

    from geodis.data.manifolds import product_manifold

    if out.suffix != ".npy":
        raise InputError(f"--out must end in .npy; {out} came.")
    drawn = product_manifold(spec, n, rotate=rotate, noise=noise, pad=pad, random_state=seed)
    with whole_file(out) as temporary:
        np.save(temporary, drawn.points)
    print(f"{out}: {drawn.points.shape[0]:,} points of {spec} in {drawn.points.shape[1]} columns")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Run the main job on built-in data and say what it made and where."""
    points = out / "points.npy"
    sample(DEMO_SPEC, out=points, n=5000, seed=seed)
    print()
    inspect(str(points), out=out, seed=seed)
    print(f"\nMade in {out}/:")
    for name, meaning in (
        ("points.npy", f"5,000 points of {DEMO_SPEC}"),
        ("inspection.txt", "the lines above"),
        ("inspection.json", "the same for machines"),
        ("spectrum.png", "variance along each principal component"),
    ):
        print(f"  {out / name!s:<28} {meaning}")
