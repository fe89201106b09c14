"""`geodis report`: everything that applies to a file of latents, on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodis.commands._shared import AsJson, FileArgument, Quiet, Seed, list_files

if TYPE_CHECKING:
    from geodis.report.results import Report


def report(
    latents: FileArgument,
    factors: Annotated[
        str | None,
        typer.Option(
            help="Factors of the same rows: .csv with a header, or any array file. Numbers are "
            "values with an order, words labels without one.",
            show_default=False,
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            help="Images of the same rows, (n, h, w, c) or (n, h, w): bytes, or floats in [0, 1].",
            show_default=False,
        ),
    ] = None,
    dim: Annotated[
        int | None, typer.Option(min=1, help="Intrinsic dimension.", show_default="estimated")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, results and figures.")] = Path(
        "report"
    ),
    max_points: Annotated[
        int, typer.Option(min=10, help="Of more rows, so many are drawn at random.")
    ] = 10_000,
    bins: Annotated[int, typer.Option(min=2, help="Bins of continuous factors.")] = 10,
    intervals: Annotated[
        int, typer.Option(min=0, help="Resamplings behind intervals of scores; 0 for none.")
    ] = 20,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Analyse latents and write one page: geometry, scores, distances, and what to doubt.

    Examples: `geodis report latents.npy --out report`,
    `geodis report run.npz:z --factors factors.csv --images images.npy`
    """
    from geodis.data.files.load import load_array, load_factors
    from geodis.report.build import report as make_report

    named = {"latents": latents, "factors": factors, "images": images}
    found = make_report(
        load_array(latents),
        None if factors is None else load_factors(factors),
        None if images is None else load_array(images),
        dim=dim,
        out=out,
        max_points=max_points,
        bins=bins,
        intervals=intervals,
        title=f"Report on {Path(latents).name}",
        sources={name: file for name, file in named.items() if file is not None},
        verbose=not quiet,
        random_state=seed,
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=2))
        return
    print(found)
    list_files("Written", report_files(found))


def report_files(found: Report) -> dict[Path, str]:
    """What a report wrote, and what each file is."""
    assert found.path is not None
    folder = found.path.parent
    return {
        found.path: "the page: open it in a browser",
        folder / "results.json": "every number, with settings, seed and versions",
        folder / "figures": f"{len(found.figures)} figures as PNG and SVG",
    }
