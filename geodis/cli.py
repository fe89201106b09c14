"""The command line: arguments -> the functions of the library."""

from __future__ import annotations

import json
import platform
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis._check import InputError, MissingExtraError
from geodis._write import to_jsonable, whole_file, write_json

if TYPE_CHECKING:
    import numpy as np

    from geodis.manifold.geomancer import GeoManCER

app = typer.Typer(
    help="Geometry-first disentanglement analysis of points, latents and images.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

DEMO_SPEC = "S^2 x SO(3)"
DEMO_POINTS = 5000
DEMO_PAD = 8

INSPECT_FILES = {
    "inspection.txt": "the first table",
    "inspection.json": "the same for machines",
    "principal_components.png": "variance along each principal component",
}
FACTORISE_FILES = {
    "axes.npy": "axes at every point, by factor: (points, dimension, columns)",
    "factor_dims.npy": "how many of the axes belong to each factor",
    "spectrum.npy": "bottom eigenvalues of the whole",
    "summary.json": "dimensions, evidence, doubts, settings, versions, seconds",
    "spectrum.png": "the eigenvalues and the gap between them",
    "separation.png": "both tests on every field: why so many factors",
    "directions.png": "the points, and the directions of each factor",
    "holonomy.png": "what transport around loops does to each factor",
}

FileArgument = Annotated[
    str,
    typer.Argument(
        help="Points, one row each: .npy, .npz:key, .csv, .tsv, .parquet, .safetensors:key, "
        ".pt:key, .h5:path or .h5ad:path.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
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
        save_figure(axis, out / "principal_components.png")


@app.command()
def factorise(
    file: FileArgument,
    dim: Annotated[
        int | None, typer.Option(help="Intrinsic dimension.", show_default="estimated")
    ] = None,
    factors: Annotated[
        int | None, typer.Option(help="Number of factors.", show_default="counted")
    ] = None,
    neighbors: Annotated[
        int | None, typer.Option(help="Neighbours in the graph.", show_default="by dimension")
    ] = None,
    tangents: Annotated[
        str, typer.Option(help="curved, or pca as published: less accurate, for few points.")
    ] = "curved",
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Folder for arrays, summary, figures.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Split points into independent factors, with the directions of each (GeoManCER).

    Examples: `geodis factorise latents.npy --out factors`, `geodis factorise run.npz:z --dim 5`
    """
    from geodis.data.files import load_array

    points = load_array(file)
    settings = {
        "dim": "auto" if dim is None else dim,
        "n_factors": "auto" if factors is None else factors,
        "n_neighbors": neighbors,
        "tangents": tangents,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    est, notes = _fit(points, settings)
    content = {"file": file, **_factorisation_summary(est, notes)}
    print(json.dumps(to_jsonable(content), indent=2) if as_json else est.summary())
    if out is not None:
        _write_factorisation(out, points, est, content)
        if not as_json:
            _list_files("Written", {out / name: text for name, text in FACTORISE_FILES.items()})


def _fit(points: Any, settings: dict[str, Any]) -> tuple[GeoManCER, list[str]]:
    """Fit, and say on standard error what the fit warns of."""
    from geodis.manifold.geomancer import GeoManCER

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        est = GeoManCER(**settings).fit(points)
    notes = [str(item.message) for item in caught]
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return est, notes


def _factorisation_summary(est: GeoManCER, notes: list[str]) -> dict[str, Any]:
    """Everything but the arrays that have a row for every point, as plain values."""
    import numpy as np
    import scipy

    n, k, d = est.axes_.shape
    graph, estimate = est.graph_, est.dimension_
    sizes = np.sort(np.bincount(graph.piece))[::-1]
    return {
        "n": n,
        "d": d,
        "dim": k,
        "n_factors": est.n_factors_,
        "factor_dims": est.factor_dims_,
        "flat": est.flat_,
        "uncertain": est.uncertain_,
        "converged": est.converged_,
        "refined": est.split_.refined,
        "eigenvalues": est.eigenvalues_,
        "evidence": [asdict(item) for item in est.evidence_],
        "dimension": estimate and {**asdict(estimate), "agree": estimate.agree},
        "graph": {
            "edges": graph.n_edges,
            "method": graph.method,
            "pieces": graph.n_pieces,
            "largest_pieces": sizes[:10],
        },
        "warnings": notes,
        "seconds": est.seconds_,
        "peak_memory_mb": est.peak_memory_,
        "settings": est.get_params(),
        "seed": est.random_state,
        "versions": {
            "geodis": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }


def _write_factorisation(
    out: Path, points: np.ndarray, est: GeoManCER, content: dict[str, Any]
) -> None:
    """Write what `FACTORISE_FILES` lists, each file whole or not at all."""
    import numpy as np

    from geodis import plots

    arrays = {"axes": est.axes_, "factor_dims": est.factor_dims_, "spectrum": est.eigenvalues_}
    for name, array in arrays.items():
        with whole_file(out / f"{name}.npy") as temporary:
            np.save(temporary, array)
    write_json(out / "summary.json", content)
    plots.save_figure(plots.plot_eigenvalue_spectrum(est), out / "spectrum.png")
    plots.save_figure(plots.plot_field_separation(est.evidence_), out / "separation.png")
    plots.save_figure(plots.plot_directions_by_factor(points, est), out / "directions.png")
    plots.save_figure(plots.plot_holonomy(est.holonomy_, est.factor_dims_), out / "holonomy.png")


def _list_files(title: str, files: dict[Path, str]) -> None:
    """Say what was made and where."""
    print(f"\n{title}:")
    width = max(len(str(path)) for path in files)
    for path, meaning in files.items():
        print(f"  {path!s:<{width}}  {meaning}")


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
    import numpy as np

    from geodis.data.manifolds import product_manifold
    from geodis.manifold.evaluate import subspace_angles

    drawn = product_manifold(DEMO_SPEC, DEMO_POINTS, rotate=True, pad=DEMO_PAD, random_state=seed)
    points, file = drawn.points, out / "points.npy"
    with whole_file(file) as temporary:
        np.save(temporary, points)
    print(f"{len(points):,} points of {DEMO_SPEC}, rotated into {points.shape[1]} columns.\n")
    inspect(str(file), out=out, seed=seed)
    print()
    est, notes = _fit(points, {"random_state": seed})
    print(est.summary())
    _write_factorisation(
        out, points, est, {"file": str(file), **_factorisation_summary(est, notes)}
    )
    found = [est.subspace(factor) for factor in range(est.n_factors_)]
    angle = np.degrees(subspace_angles(found, drawn.tangents).mean())
    print(
        f"\nThe directions found lie {angle:.2f} degrees from the true tangent spaces of "
        f"{' and '.join(drawn.names)}, on average (90: wrong factors)."
    )
    texts = {"points.npy": "the points", **INSPECT_FILES, **FACTORISE_FILES}
    _list_files("Made", {out / name: text for name, text in texts.items()})
