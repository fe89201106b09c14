"""`geodis factorise`: split points into independent factors."""

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
from geodis.base.write import to_jsonable, whole_file, write_json
from geodis.commands._shared import AsJson, FileArgument, Quiet, Seed, list_files

if TYPE_CHECKING:
    import numpy as np

    from geodis.manifold.geomancer import GeoManCER

FACTORISE_FILES = {
    "axes.npy": "axes at every point, by factor: (points, dimension, columns)",
    "factor_dims.npy": "how many of the axes belong to each factor",
    "flat_coordinates.npy": "coordinates along the flat factors; no columns where nothing is flat",
    "spectrum.npy": "bottom eigenvalues of the whole",
    "summary.json": "dimensions, evidence, doubts, settings, versions, seconds",
    "spectrum.png": "the eigenvalues and the gap between them",
    "separation.png": "both tests on every field: why so many factors",
    "directions.png": "the points, and the directions of each factor",
    "holonomy.png": "what transport around loops does to each factor",
}


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
    flat: Annotated[
        str, typer.Option(help="split a flat part by independence, or keep it as one factor.")
    ] = "split",
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Folder for arrays, summary, figures.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Split points into independent factors, with the directions of each (GeoManCER).

    Examples: `geodis factorise latents.npy --out factors`, `geodis factorise run.npz:z --dim 5`
    """
    from geodis.data.files.load import load_array

    points = load_array(file)
    settings = {
        "dim": "auto" if dim is None else dim,
        "n_factors": "auto" if factors is None else factors,
        "n_neighbors": neighbors,
        "tangents": tangents,
        "flat": flat,
        "random_state": seed,
        "verbose": int(not quiet),
    }
    est, notes = fit_and_note(points, settings)
    content = {"file": file, **factorisation_summary(est, notes)}
    print(json.dumps(to_jsonable(content), indent=2) if as_json else est.summary())
    if out is not None:
        write_factorisation(out, points, est, content)
        if not as_json:
            list_files("Written", {out / name: text for name, text in FACTORISE_FILES.items()})


def fit_and_note(points: Any, settings: dict[str, Any]) -> tuple[GeoManCER, list[str]]:
    """Fit, and say on standard error what the fit warns of."""
    from geodis.manifold.geomancer import GeoManCER

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        est = GeoManCER(**settings).fit(points)
    notes = [str(item.message) for item in caught]
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return est, notes


def factorisation_summary(est: GeoManCER, notes: list[str]) -> dict[str, Any]:
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
        "flat_evidence": est.flat_evidence_ and asdict(est.flat_evidence_),
        "periods": [period.tolist() for period in est.periods_],
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


def write_factorisation(
    out: Path, points: np.ndarray, est: GeoManCER, content: dict[str, Any]
) -> None:
    """Write what `FACTORISE_FILES` lists, each file whole or not at all."""
    import numpy as np

    from geodis import plots

    arrays = {
        "axes": est.axes_,
        "factor_dims": est.factor_dims_,
        "flat_coordinates": est.flat_coordinates_,
        "spectrum": est.eigenvalues_,
    }
    for name, array in arrays.items():
        with whole_file(out / f"{name}.npy") as temporary:
            np.save(temporary, array)
    write_json(out / "summary.json", content)
    plots.save_figure(plots.plot_eigenvalue_spectrum(est), out / "spectrum.png")
    plots.save_figure(plots.plot_field_separation(est.evidence_), out / "separation.png")
    plots.save_figure(plots.plot_directions_by_factor(points, est), out / "directions.png")
    plots.save_figure(plots.plot_holonomy(est.holonomy_, est.factor_dims_), out / "holonomy.png")
