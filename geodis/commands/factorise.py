"""`geodis factorise`: split points into independent factors."""

from __future__ import annotations

import platform
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.write import whole_file, write_json
from geodis.commands.shared.data_source import load_points
from geodis.commands.shared.options import (
    ClusterOption,
    CommonOptions,
    CountsOption,
    FileArgument,
    MetricOption,
    WorkersOption,
)
from geodis.commands.shared.output import OutputFolder, say, tell

if TYPE_CHECKING:
    import numpy as np

    from geodis.manifold.geomancer import GeoManCER

NAMES = (
    "axes.npy", "factor_dims.npy", "flat_coordinates.npy", "spectrum.npy", "summary.json",
    "spectrum.png", "separation.png", "directions.png", "holonomy.png", "coordinates.npy",
    "coordinates.csv", "maps.png",
)  # fmt: skip


@dataclass(frozen=True)
class FactoriseOptions:
    """What is known of the factors beforehand, and how they are sought."""

    dim: Annotated[
        int | None, typer.Option(help="Intrinsic dimension.", show_default="estimated")
    ] = None
    factors: Annotated[
        int | None, typer.Option(help="Number of factors.", show_default="counted")
    ] = None
    neighbors: Annotated[
        int | None, typer.Option(help="Neighbours in the graph.", show_default="by dimension")
    ] = None
    tangents: Annotated[
        str, typer.Option(help="curved, or pca as published: less accurate, for few points.")
    ] = "curved"
    flat: Annotated[
        str, typer.Option(help="split a flat part by independence, or keep it as one factor.")
    ] = "split"
    counts: CountsOption = False
    metric: MetricOption = "euclidean"

    def settings(self) -> dict[str, Any]:
        """The settings of `GeoManCER`."""
        return {
            "dim": "auto" if self.dim is None else self.dim,
            "n_factors": "auto" if self.factors is None else self.factors,
            "n_neighbors": self.neighbors,
            "tangents": self.tangents,
            "flat": self.flat,
            "prepare": "sqrt" if self.counts else None,
            "metric": self.metric,
        }


@dataclass(frozen=True)
class PartsOptions:
    """How points larger than memory are fitted by a sample and mapped part by part."""

    sample: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Fit so many rows, and map all rows into parts of --out: for points larger than "
            "memory. The same command goes on after a stop.",
        ),
    ] = None
    part_rows: Annotated[int, typer.Option(min=1, help="Rows of a part.")] = 250_000
    resample: Annotated[
        bool,
        typer.Option("--resample", help="Fit again with rows far from all that were fitted."),
    ] = False
    no_axes: Annotated[
        bool, typer.Option("--no-axes", help="Write coordinates and distances without axes.")
    ] = False
    as_float64: Annotated[
        bool, typer.Option("--float64", help="Write parts in float64 instead of float32.")
    ] = False
    cluster: ClusterOption = None
    workers: WorkersOption = None


def factorise_command(
    *,
    file: FileArgument,
    chosen: FactoriseOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for arrays, summary, figures.")] = None,
    by_parts: PartsOptions,
    common: CommonOptions,
) -> None:
    """Split points into independent factors, with the directions of each (GeoManCER).

    With --out the maps of the factors are made too. They take longer, and only they show where
    factors hold nearby and not for the whole: what is certain without them may be uncertain then.

    Examples: `geodis factorise latents.npy --out factors`, `geodis factorise run.npz:z --dim 5`,
    `geodis factorise big.npy --sample 100000 --out parts`
    """
    if by_parts.sample is not None:
        _factorise_in_parts(file, chosen, out, by_parts, common)
        return
    for option in ("resample", "cluster", "workers"):
        if getattr(by_parts, option):
            raise InputError(f"--{option} belongs to --sample; got it without.")
    folder = None if out is None else OutputFolder(out, NAMES)
    points = load_points(file)
    settings = chosen.settings() | {
        "random_state": common.seed,
        "verbose": int(common.verbose),
    }
    est, notes = fit_and_note(points, settings)
    maps = {} if out is None else {"maps": maps_or_note(est)}  # first: they may add a doubt
    values = {"file": file, **factorisation_summary(est, notes), **maps}
    say(est.summary(), values, common.as_json)
    if folder is not None:
        with folder:
            write_factorisation(folder, points, est, values)
            if values["maps"]:
                write_maps(folder, est)
        if not common.as_json:
            folder.list_files()


def _factorise_in_parts(
    file: str,
    chosen: FactoriseOptions,
    out: Path | None,
    by_parts: PartsOptions,
    common: CommonOptions,
) -> None:
    """Fit a sample, map all rows, and say what was found."""
    from geodis.parts import factorise_parts

    if out is None:
        raise InputError("--sample writes parts into a folder, which --out names; got none.")
    assert by_parts.sample is not None
    made = factorise_parts(
        file,
        out,
        sample=by_parts.sample,
        part_rows=by_parts.part_rows,
        dtype="float64" if by_parts.as_float64 else "float32",
        axes=not by_parts.no_axes,
        resample=by_parts.resample,
        settings=chosen.settings(),
        random_state=common.seed,
        cluster=by_parts.cluster,
        n_workers=by_parts.workers,
        verbose=int(common.verbose),
    )
    say(made, {"file": file, "out": str(out), **made.manifest}, common.as_json)


def fit_and_note(points: Any, settings: dict[str, Any]) -> tuple[GeoManCER, list[str]]:
    """Fit, and say on standard error what the fit warns of."""
    from geodis.manifold.geomancer import GeoManCER

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        est = GeoManCER(**settings).fit(points)
    notes = [str(warning.message) for warning in caught]
    for note in notes:
        tell(f"note: {note}", error=True)
    return est, notes


def maps_or_note(est: GeoManCER) -> list[dict[str, Any]]:
    """What the map of every factor is; nothing, and a note, where there are none."""
    from geodis.report.sections.maps import describe_maps

    try:
        return [one.to_dict() for one in describe_maps(est)]
    except InputError as problem:
        tell(f"note: no maps of the factors: {problem}", error=True)
        return []


def factorisation_summary(est: GeoManCER, notes: list[str]) -> dict[str, Any]:
    """Everything but the arrays that have a row for every point, as plain values."""
    import numpy as np
    import scipy

    from geodis.manifold.doubts import with_sentences

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
        "doubts": est.doubts_,
        "doubt_codes": [doubt.code for doubt in est.doubts_],
        "departure": est.departure_ and asdict(est.departure_),
        "outliers": np.flatnonzero(est.outliers_),
        "n_copies": est.n_copies_,
        "noise": est.noise_,
        "converged": est.converged_,
        "refined": est.split_.refined,
        "eigenvalues": est.eigenvalues_,
        "evidence": [with_sentences(evidence) for evidence in est.evidence_],
        "flat_evidence": est.flat_evidence_ and with_sentences(est.flat_evidence_),
        "periods": [period.tolist() for period in est.periods_],
        "dimension": {**with_sentences(estimate), "agree": estimate.agree},
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
    folder: OutputFolder, points: np.ndarray, est: GeoManCER, values: dict[str, Any]
) -> None:
    """Write arrays, summary and figures, each file whole or not at all."""
    import numpy as np

    from geodis import plots

    arrays = {
        "axes.npy": (est.axes_, "axes at every point, by factor: (points, dimension, columns)"),
        "factor_dims.npy": (est.factor_dims_, "how many of the axes belong to each factor"),
        "flat_coordinates.npy": (
            est.flat_coordinates_,
            "coordinates along the flat factors; no columns where nothing is flat",
        ),
        "spectrum.npy": (est.eigenvalues_, "bottom eigenvalues of the whole"),
    }
    for name, (array, meaning) in arrays.items():
        with whole_file(folder.path(name, meaning)) as temporary:
            np.save(temporary, array)
    meaning = "dimensions, evidence, doubts, settings, versions, seconds"
    write_json(folder.path("summary.json", meaning), values)
    picture = folder.path("spectrum.png", "the eigenvalues and the gap between them")
    plots.save_figure(plots.plot_eigenvalue_spectrum(est), picture)
    picture = folder.path("separation.png", "both tests on every field: why so many factors")
    plots.save_figure(plots.plot_field_separation(est.evidence_), picture)
    picture = folder.path("directions.png", "the points, and the directions of each factor")
    plots.save_figure(plots.plot_directions_by_factor(points, est), picture)
    picture = folder.path("holonomy.png", "what transport around loops does to each factor")
    plots.save_figure(plots.plot_holonomy(est.holonomy_, est.factor_dims_), picture)


def write_maps(folder: OutputFolder, est: GeoManCER) -> None:
    """Write where every point lies on the maps of the factors, and their pictures."""
    import numpy as np
    import pandas as pd

    from geodis import plots

    coordinates = np.hstack([est.coordinates(j) for j in range(est.n_factors_)])
    meaning = "places on the maps of the factors, side by side: (points, coordinates)"
    with whole_file(folder.path("coordinates.npy", meaning)) as temporary:
        np.save(temporary, coordinates)
    named = pd.DataFrame(coordinates, columns=est.get_feature_names_out())
    with whole_file(folder.path("coordinates.csv", "the same with names")) as temporary:
        named.to_csv(temporary, index=False)
    picture = folder.path("maps.png", "the map of each factor, and every point on it")
    plots.save_figure(plots.plot_maps(est), picture)
