"""`geodis report`: everything that applies to a file of latents, on one page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodis.base.check import InputError
from geodis.commands.shared.options import (
    CommonOptions,
    FileArgument,
    GroupOption,
    PeriodOption,
    groups_of,
    periods_of,
)
from geodis.commands.shared.output import list_files

if TYPE_CHECKING:
    from geodis.report.results import Report


@dataclass(frozen=True)
class ReportFiles:
    """What a report is on."""

    latents: FileArgument
    factors: Annotated[
        str | None,
        typer.Option(
            help="Factors of the same rows: .csv with a header, or any array file. Numbers are "
            "values with an order, words labels without one.",
            show_default=False,
        ),
    ] = None
    images: Annotated[
        str | None,
        typer.Option(
            help="Images of the same rows, (n, h, w, c) or (n, h, w): bytes, or floats in [0, 1].",
            show_default=False,
        ),
    ] = None

    def given(self) -> dict[str, str]:
        """The files by what they hold."""
        return {name: file for name, file in vars(self).items() if file is not None}


@dataclass(frozen=True)
class ReportEffort:
    """How much of the data is used, and how closely it is looked at."""

    max_points: Annotated[
        int, typer.Option(min=10, help="Of more rows, so many are drawn at random.")
    ] = 10_000
    bins: Annotated[int, typer.Option(min=2, help="Bins of continuous factors.")] = 10
    intervals: Annotated[
        int, typer.Option(min=0, help="Resamplings behind intervals of scores; 0 for none.")
    ] = 20


def report_command(
    *,
    files: ReportFiles,
    period: PeriodOption = None,
    factor_group: GroupOption = None,
    dim: Annotated[
        int | None, typer.Option(min=1, help="Intrinsic dimension.", show_default="estimated")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, results and figures.")] = Path(
        "report"
    ),
    effort: ReportEffort,
    common: CommonOptions,
) -> None:
    """Analyse latents and write one page: geometry, scores, distances, and what to doubt.

    Examples: `geodis report latents.npy --out report`,
    `geodis report run.npz:z --factors factors.csv --images images.npy`
    """
    from geodis.data.factors import as_factors
    from geodis.data.files.load import load_array, load_factors
    from geodis.report.build import report

    if period and files.factors is None:
        raise InputError("--period belongs to --factors; got it without.")
    if factor_group and files.factors is None:
        raise InputError("--factor-group belongs to --factors; got it without.")
    factors = None
    if files.factors is not None:
        loaded = load_factors(files.factors, periods=periods_of(period))
        factors = as_factors(loaded, groups=groups_of(factor_group))
    page = report(
        load_array(files.latents),
        factors,
        None if files.images is None else load_array(files.images),
        dim=dim,
        out=out,
        max_points=effort.max_points,
        bins=effort.bins,
        intervals=effort.intervals,
        title=f"Report on {Path(files.latents).name}",
        sources=files.given(),
        verbose=common.verbose,
        random_state=common.seed,
    )
    if common.as_json:
        print(json.dumps(page.to_dict(), indent=2))
        return
    print(page)
    list_files("Written", report_files(page))


def report_files(report: Report) -> dict[Path, str]:
    """What a report wrote, and what each file is."""
    assert report.path is not None
    folder = report.path.parent
    return {
        report.path: "the page: open it in a browser",
        folder / "results.json": "every number, with settings, seed and versions",
        folder / "figures": f"{len(report.figures)} figures as PNG and SVG",
    }
