"""`geodis factorise` and `geodis walk`: find independent factors, and move along one of them."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.commands.options import (
    ClusterOptions,
    CommonOptions,
    CountsOption,
    DeviceOption,
    FileArgument,
    MetricOption,
    load_points,
    option,
)
from geodis.commands.output import OutputFolder, say, tell

if TYPE_CHECKING:
    import numpy as np

    from geodis.manifold.geomancer import GeoManCER


FILES = {
    "axes.npy": "axes at every point, by factor: (points, dimension, columns)",
    "factor_dims.npy": "number of axes of each factor",
    "flat_coordinates.npy": "coordinates along flat factors; no columns if nothing is flat",
    "spectrum.npy": "lowest eigenvalues",
    "summary.json": "dimensions, evidence, doubts, settings, versions, seconds",
    "spectrum.png": "the eigenvalues and the gap between them",
    "separation.png": "both tests of every field, which give the number of factors",
    "directions.png": "the points, and the directions of each factor",
    "holonomy.png": "how transport around loops changes each factor",
    "coordinates.npy": "coordinates on the maps of the factors, side by side",
    "coordinates.csv": "the same with names",
    "maps.png": "the map of each factor with all points",
}

# Results that are copied to the summary unchanged.
PLAIN = (
    *("n_factors", "factor_dims", "flat", "uncertain", "doubts"),
    *("n_copies", "noise", "converged", "eigenvalues"),
)


@dataclass(frozen=True)
class FactoriseOptions:
    """What is known of the factors, and how they are found."""

    dim: int | None = option(None, "Intrinsic dimension.", show_default="estimated")
    factors: int | None = option(None, "Number of factors.", show_default="counted")
    neighbors: int | None = option(
        None, "Neighbours in the graph.", show_default="depends on the dimension"
    )
    tangents: str = option("curved", "curved, or pca as published: less accurate, for few points.")
    flat: str = option("split", "split a flat part by independence, or keep it as one factor.")
    counts: CountsOption = False
    metric: MetricOption = "euclidean"

    def settings(self) -> dict[str, Any]:
        """The arguments of `GeoManCER`."""
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
class PartsOptions(ClusterOptions):
    """How points larger than memory are fitted on a sample and mapped in parts."""

    sample: int | None = option(
        None,
        "Fit this many rows, and map all rows into parts in --out: for points larger than memory. "
        "The same command continues after a stop.",
        min=2,
    )
    part_rows: int = option(250_000, "Rows per part.", min=1)
    resample: bool = option(
        False, "Fit again with rows that are far from all fitted ones.", "--resample"
    )
    no_axes: bool = option(False, "Write coordinates and distances without axes.", "--no-axes")
    as_float64: bool = option(False, "Write parts in float64 instead of float32.", "--float64")


@dataclass(frozen=True)
class FactoriseFiles:
    """What is read and written."""

    file: FileArgument
    out: Path | None = option(None, "Folder for arrays, summary and figures.")


def factorise_command(
    files: FactoriseFiles, fit: FactoriseOptions, parts: PartsOptions, common: CommonOptions
) -> None:
    """Split points into independent factors, with the directions of each (GeoManCER).

    With --out the maps of the factors are computed, too. This takes longer, but only maps show
    whether local factors exist globally, so a result that is certain without them may become
    uncertain.

    Examples: `geodis factorise latents.npy --out factors`, `geodis factorise run.npz:z --dim 5`,
    `geodis factorise big.npy --sample 100000 --out parts`
    """
    if parts.sample is not None:
        _factorise_in_parts(files, fit, parts, common)
        return
    for name in ("resample", "cluster", "workers"):
        if getattr(parts, name):
            raise InputError(f"--{name} needs --sample; got it without.")
    folder = None if files.out is None else OutputFolder(files.out, FILES)
    points = load_points(files.file)
    est, notes = fit_and_note(points, fit, common)
    maps = {} if folder is None else {"maps": maps_or_note(est)}  # first, as it may add a doubt
    values = {"file": files.file, **factorisation_summary(est, notes), **maps}
    say(est.summary(), values, common.as_json)
    if folder is not None:
        with folder:
            write_factorisation(folder, points, est, values)
            if values["maps"]:
                write_maps(folder, est)
        folder.list_files(common.as_json)


def _factorise_in_parts(
    files: FactoriseFiles, fit: FactoriseOptions, parts: PartsOptions, common: CommonOptions
) -> None:
    """Fit a sample, map all rows, and print the result."""
    from geodis.parts import factorise_parts

    if files.out is None:
        raise InputError("--sample needs --out, a folder for the parts; got none.")
    assert parts.sample is not None
    made = factorise_parts(
        files.file,
        files.out,
        sample=parts.sample,
        part_rows=parts.part_rows,
        dtype="float64" if parts.as_float64 else "float32",
        axes=not parts.no_axes,
        resample=parts.resample,
        settings=fit.settings(),
        random_state=common.seed,
        cluster=parts.cluster,
        n_workers=parts.workers,
        verbose=int(common.verbose),
    )
    say(made, {"file": files.file, "out": str(files.out), **made.manifest}, common.as_json)


def fit_and_note(
    points: Any, options: FactoriseOptions, common: CommonOptions
) -> tuple[GeoManCER, list[str]]:
    """Fit, and print the warnings of the fit to standard error."""
    from geodis.manifold.geomancer import GeoManCER

    est = GeoManCER(**options.settings(), random_state=common.seed, verbose=int(common.verbose))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        est.fit(points)
    notes = [str(warning.message) for warning in caught]
    for note in notes:
        tell(f"note: {note}", error=True)
    return est, notes


def maps_or_note(est: GeoManCER) -> list[dict[str, Any]]:
    """Describe the maps of the factors; print a note if there are none."""
    from geodis.manifold.doubts import with_sentences
    from geodis.report.sections.maps import describe_maps

    try:
        return [with_sentences(one) for one in describe_maps(est)]
    except InputError as problem:
        tell(f"note: no maps of the factors: {problem}", error=True)
        return []


def factorisation_summary(est: GeoManCER, notes: list[str]) -> dict[str, Any]:
    """Collect all results except arrays with a row per point, as plain values."""
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
        **{name: getattr(est, f"{name}_") for name in PLAIN},
        "doubt_codes": [doubt.code for doubt in est.doubts_],
        "departure": est.departure_ and asdict(est.departure_),
        "outliers": np.flatnonzero(est.outliers_),
        "refined": est.split_.refined,
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
    """Write arrays, summary and figures, each file atomically."""
    from geodis import plots

    folder.write_array("axes.npy", est.axes_)
    folder.write_array("factor_dims.npy", est.factor_dims_)
    folder.write_array("flat_coordinates.npy", est.flat_coordinates_)
    folder.write_array("spectrum.npy", est.eigenvalues_)
    folder.write_json("summary.json", values)
    folder.save_figure("spectrum.png", plots.plot_eigenvalue_spectrum(est))
    folder.save_figure("separation.png", plots.plot_field_separation(est.evidence_))
    folder.save_figure("directions.png", plots.plot_directions_by_factor(points, est))
    folder.save_figure("holonomy.png", plots.plot_holonomy(est.holonomy_, est.factor_dims_))


def write_maps(folder: OutputFolder, est: GeoManCER) -> None:
    """Write the coordinates of all points on the maps of the factors, and draw the maps."""
    import numpy as np
    import pandas as pd

    from geodis import plots

    coordinates = np.hstack([est.coordinates(j) for j in range(est.n_factors_)])
    folder.write_array("coordinates.npy", coordinates)
    named = pd.DataFrame(coordinates, columns=est.get_feature_names_out())
    with whole_file(folder.path("coordinates.csv")) as temporary:
        named.to_csv(temporary, index=False)
    folder.save_figure("maps.png", plots.plot_maps(est))


# `geodis walk`

WALK_FILES = {
    "walk.png": "what changes along the walk",
    "points.npy": "the positions, as points: (steps, columns)",
    "walk.json": "lengths, nearest rows and their distances",
}
# Results of a walk besides its points.
FOUND = ("asked", "stopped", "reason", "lengths", "nearest", "gap", "spacing")


@dataclass(frozen=True, kw_only=True)
class WalkOptions:
    """Where the walk leads."""

    file: FileArgument
    factor: int = option(..., "Factor to move along.", min=0)
    start: int = option(0, "Row to start from.", min=0)
    to: int | None = option(None, "Row to reach, in this factor.", min=0, show_default="none")
    direction: int | None = option(
        None,
        "Axis of the factor at the start.",
        min=0,
        show_default="the first, where there is room",
    )
    length: float | None = option(
        None, "Length, in the units of the points.", show_default="to the farthest point"
    )
    steps: int = option(16, "Number of positions, including start and end.", min=2)
    out: Path = option(..., "Folder for the picture, the points and the numbers.")


@dataclass(frozen=True)
class ShownOptions:
    """What represents the positions of a walk."""

    images: str | None = option(
        None, "Images of the same rows (n, h, w, c): the nearest ones are shown."
    )
    model: Path | None = option(
        None, "Folder that `geodis train` wrote, if the points are its latents."
    )
    device: DeviceOption = "auto"


def walk_command(
    given: WalkOptions, shown: ShownOptions, fit: FactoriseOptions, common: CommonOptions
) -> None:
    """Move along one factor with the others fixed, and draw what changes.

    Examples: `geodis walk codes.npy --factor 0 --images images.npy --out walk`, `geodis walk
    z.npy --factor 1 --start 5 --to 80 --model run --out walk`
    """
    from geodis import plots

    folder = OutputFolder(given.out, WALK_FILES)
    points = load_points(given.file)
    pictures = _images_of(shown, points)
    decoder = None if shown.model is None else _decoder(shown.model, shown.device)
    est, notes = fit_and_note(points, fit, common)
    walk = est.walk(
        given.start,
        given.factor,
        to=given.to,
        direction=given.direction,
        length=given.length,
        steps=given.steps,
    )
    if decoder is not None:
        decoded = walk.decode(decoder)
        pictures = decoded if decoded.ndim == 4 else None  # otherwise not images
    values = {
        "file": given.file,
        "factor": given.factor,
        "factor_dims": est.factor_dims_,
        "start": given.start,
        "to": given.to,
        "direction": given.direction,
        **{name: getattr(walk, name) for name in FOUND},
        "uncertain": est.uncertain_,
        "doubts": est.doubts_,
        "doubt_codes": [doubt.code for doubt in est.doubts_],
        "warnings": notes,
        "settings": est.get_params(),
    }
    say(walk, values, common.as_json)
    with folder:
        folder.save_figure("walk.png", plots.plot_walk(walk, pictures))
        folder.write_array("points.npy", walk.points)
        folder.write_json("walk.json", values)
    folder.list_files(common.as_json)


def _images_of(shown: ShownOptions, points: np.ndarray) -> np.ndarray | None:
    """Load the images of --images, one per row."""
    from geodis.data.files.load import load_array

    if shown.images is None:
        return None
    if shown.model is not None:
        raise InputError("A walk is shown by --images or by --model; got both.")
    images = load_array(shown.images)
    drawn = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
    if not drawn or len(images) != len(points):
        raise InputError(
            f"--images must be an image (h, w), (h, w, 1) or (h, w, 3) for each of the "
            f"{len(points):,} rows; got shape {images.shape}."
        )
    return images


def _decoder(run: Path, device: str) -> Callable[[np.ndarray], np.ndarray]:
    """Open the decoder of --model; this is done before the fit, which may take long."""
    from geodis.commands.trained_models import open_model
    from geodis.models import decode

    model = open_model(run, device)
    return lambda latents: decode(model, latents)
