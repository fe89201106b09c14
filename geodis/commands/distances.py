"""`geodis distances`: whether distances in data, latents and ground truth agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.progress import Stages
from geodis.base.write import to_jsonable, whole_file, write_json
from geodis.commands._data import BUILT_IN, PUBLISHED, named_grid, refuse_options_of_data
from geodis.commands._shared import AsJson, Quiet, Seed, list_files

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid

DISTANCE_FILES = {
    "distances.json": "every number of the tables, with settings, seed and versions",
    "distances.txt": "the tables",
    "correlations.png": "how far kinds of distances agree, by factor",
    "matrices.png": "average distances along every factor",
    "distribution.png": "cumulative distribution of perceived distances",
}

RATIOS = ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness")
# Factors with more values than this are left out of the figure of matrices.
MAX_MATRIX = 200
MATRIX_TRAVERSALS = 128


def distances(
    data: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(BUILT_IN)}; or, with --path, {', '.join(PUBLISHED)}."),
    ] = None,
    spacing: Annotated[
        int | None,
        typer.Option(min=1, help="Of xysquares.", show_default="8"),
    ] = None,
    path: Annotated[
        Path | None, typer.Option(help="File or folder of a published data set.")
    ] = None,
    images: Annotated[
        str | None, typer.Option(help="Images of your own (n, h, w, c), such as X.npy.")
    ] = None,
    factors: Annotated[
        str | None, typer.Option(help="Factors of the same rows: .csv with a header, ...")
    ] = None,
    latents: Annotated[
        str | None, typer.Option(help="Latents of the same rows, or of every index of --data.")
    ] = None,
    loss: Annotated[
        str,
        typer.Option(help="mse, mae, bce, box:31, gaussian:31, or a learnt kernel.safetensors."),
    ] = "mse",
    pairs: Annotated[int, typer.Option(min=2, help="About how many pairs a factor.")] = 50_000,
    scaled: Annotated[
        bool, typer.Option("--scaled", help="Scale factors to [0, 1] in the ground truth.")
    ] = False,
    self_pairs: Annotated[
        bool,
        typer.Option("--self-pairs", help="Pairs of a point with itself too, as published tables."),
    ] = False,
    confidence: Annotated[
        float | None, typer.Option(help="Such as 0.95: bootstrap intervals.", show_default="none")
    ] = None,
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Folder for JSON, tables and figures.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compare distances of ground-truth factors, images (as a loss sees them) and latents.

    Examples: `geodis distances --data xysquares --spacing 8 --out out`,
    `geodis distances --images X.npy --factors F.csv --latents Z.npy --loss box:31`
    """
    grid, code = _open(data, spacing, path, images, factors, latents, quiet)
    chosen = _loss(loss)
    options: dict[str, Any] = {"n_pairs": pairs, "random_state": seed, "verbose": not quiet}
    from geodis import distances as room

    correlations = room.distance_correlations(
        grid, code, chosen, scaled=scaled, self_pairs=self_pairs, confidence=confidence, **options
    )
    results: dict[str, Any] = {"correlations": correlations}
    refused: dict[str, str] = {}
    if grid.image_shape is not None:
        results["importance"] = room.factor_importance(grid, chosen, **options)
        try:
            results["overlap"] = room.overlap(grid, chosen, **{**options, "n_pairs": pairs // 2})
        except InputError as problem:  # no three values on a traversal: the rest stands without
            refused["overlap"] = str(problem)
    texts = [*map(str, results.values()), *refused.values()]
    content: dict[str, Any] = {name: item.to_dict() for name, item in results.items()}
    content |= {name: {"refused": problem} for name, problem in refused.items()}
    if code is not None:
        content["ratios"], lines = _ratios(grid, code, seed)
        texts.append("\n".join(lines))
    content = {
        "data": data or images or factors,
        "latents": latents,
        "loss": loss,
        "seed": seed,
        "geodis": __version__,
        **content,
    }
    text = "\n\n".join([str(grid), *texts])
    print(json.dumps(to_jsonable(content), indent=2) if as_json else text)
    if out is not None:
        written = write_distances(out, grid, code, chosen, results, content, text, seed, quiet)
        if not as_json:
            list_files("Written", {out / name: DISTANCE_FILES[name] for name in written})


def write_distances(
    out: Path,
    grid: FactorGrid,
    code: Any,
    loss: Any,
    results: dict[str, Any],
    content: dict[str, Any],
    text: str,
    seed: int,
    quiet: bool,
) -> list[str]:
    """Write what `DISTANCE_FILES` lists, as far as there are images; return the names."""
    from geodis import plots

    write_json(out / "distances.json", content)
    with whole_file(out / "distances.txt") as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    correlations = results["correlations"]
    axis = plots.plot_distance_correlations(correlations)
    plots.save_figure(axis, out / "correlations.png")
    matrices = _matrices(grid, code, loss, seed, quiet)
    written = ["distances.json", "distances.txt", "correlations.png"]
    if any(matrices.values()):
        plots.save_figure(plots.plot_traversal_matrices(matrices), out / "matrices.png")
        written.append("matrices.png")
    if "importance" in results:
        axis = plots.plot_distance_distribution(results["importance"])
        plots.save_figure(axis, out / "distribution.png")
        written.append("distribution.png")
    return written


def _open(
    data: str | None,
    spacing: int | None,
    path: Path | None,
    images: str | None,
    factors: str | None,
    latents: str | None,
    quiet: bool,
) -> tuple[FactorGrid, Any]:
    """The grid, and latents in order of its index."""
    from geodis.data.files.load import load_array, load_factors
    from geodis.data.grids.grid import FactorGrid
    from geodis.distances import code_of_rows

    if data is not None and images is not None:
        raise InputError("--images go with --factors; --data brings its own.")
    if (data is None) == (factors is None):
        alone = [f"--{name}" for name, value in (("images", images), ("latents", latents)) if value]
        came = "both came" if data else f"only {' and '.join(alone)} came" if alone else "none came"
        raise InputError(
            f"geodis distances needs --data, or --factors with --images, --latents or both; {came}."
        )
    if data is None:
        refuse_options_of_data(spacing, path, "--factors")
    if data is not None:
        grid = named_grid(data, spacing, path, quiet)
    else:
        if images is None and latents is None:
            raise InputError("--factors need --images, --latents or both; neither came.")
        held = None if images is None else load_array(images)
        grid = FactorGrid.from_arrays(held, load_factors(str(factors)))
    code = None if latents is None else code_of_rows(grid, load_array(latents))
    return grid, code


def _loss(loss: str) -> Any:
    """A loss by name, or a learnt kernel from its file."""
    if not loss.endswith(".safetensors"):
        from geodis.distances import resolve_loss

        return resolve_loss(loss)
    from geodis import kernels

    return kernels.load_kernel(loss)


def _ratios(grid: FactorGrid, code: Any, seed: int) -> tuple[dict[str, Any], list[str]]:
    from geodis import scores

    found, lines = {}, ["Ratios of the latents along traversals"]
    for name in RATIOS:
        try:
            score = getattr(scores, name)(code, grid, random_state=seed)
        except InputError as problem:  # too few traversals: the distances stand without ratios
            found[name] = {"refused": str(problem)}
            lines.append(f"{name}: {problem}")
            continue
        found[name] = score.to_dict()
        lines.append(str(score))
    return found, lines


def _matrices(
    grid: FactorGrid, code: Any, loss: Any, seed: int, quiet: bool
) -> dict[str, dict[str, Any]]:
    """Average matrices by kind of distance and factor, as far as they can be shown."""
    from geodis.distances import GridDistances, traversal_matrix

    names = [
        name for name, size in zip(grid.names, grid.sizes, strict=True) if 1 < size <= MAX_MATRIX
    ]
    found: dict[str, dict[str, Any]] = {}
    with Stages("distances", not quiet) as stages:
        for source in GridDistances(grid, code, loss).sources:
            with stages.stage(f"matrices, {source}"):
                found[source] = {
                    name: traversal_matrix(
                        grid,
                        name,
                        source,
                        code=code,
                        loss=loss,
                        n_traversals=MATRIX_TRAVERSALS,
                        random_state=seed,
                    )
                    for name in names
                }
    return found
