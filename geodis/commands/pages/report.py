"""`geodis report`: everything that applies to a file of latents, on one page."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.commands.shared.options import (
    CommonOptions,
    CountsOption,
    DocsOption,
    FileArgument,
    GroupOption,
    LatentGroupOption,
    MetricOption,
    OnlyOption,
    PeriodOption,
    groups_of,
    numbers_of,
    periods_of,
)
from geodis.commands.shared.output import list_files, tell

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
    times: Annotated[
        str | None, typer.Option(help="When each row was recorded.", show_default=False)
    ] = None

    def given(self) -> dict[str, str]:
        """The files by what they hold."""
        return {name: file for name, file in vars(self).items() if file is not None}


@dataclass(frozen=True)
class ReportEffort:
    """How much of the data is used, and how closely it is looked at."""

    jobs: Annotated[int, typer.Option(help="Processes for the scores; -1 for all cores.")] = 1

    max_points: Annotated[
        int, typer.Option(min=10, help="Larger inputs are subsampled to this many rows.")
    ] = 10_000
    bins: Annotated[int, typer.Option(min=2, help="Bins of continuous factors.")] = 10
    intervals: Annotated[
        int,
        typer.Option(
            min=0,
            help="Resamplings behind intervals of scores, one fifth for slow ones; 0 for none.",
        ),
    ] = 30
    only: OnlyOption = None


def report_command(
    *,
    files: ReportFiles,
    period: PeriodOption = None,
    factor_group: GroupOption = None,
    latent_group: LatentGroupOption = None,
    dim: Annotated[
        int | None, typer.Option(min=1, help="Intrinsic dimension.", show_default="estimated")
    ] = None,
    n_factors: Annotated[
        int | None,
        typer.Option(min=1, help="Factors of the manifold.", show_default="counted"),
    ] = None,
    counts: CountsOption = False,
    metric: MetricOption = "euclidean",
    out: Annotated[Path, typer.Option(help="Folder for the page, results and figures.")] = Path(
        "report"
    ),
    title: Annotated[
        str | None, typer.Option(help="Of the page.", show_default="names the file")
    ] = None,
    docs: DocsOption = "",
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser when it is done.")
    ] = False,
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

    if files.factors is None:
        for option, given in (
            ("--period", period),
            ("--factor-group", factor_group),
            ("--latent-group", latent_group),
            ("--only", effort.only),
        ):
            if given:
                raise InputError(f"{option} belongs to --factors; got it without.")
    factors = None
    if files.factors is not None:
        loaded = load_factors(files.factors, periods=periods_of(period))
        factors = as_factors(loaded, groups=groups_of(factor_group))
    with nothing_written(out):
        page = report(
            load_array(files.latents),
            factors,
            None if files.images is None else load_array(files.images),
            groups=numbers_of(latent_group),
            dim=dim,
            n_factors=n_factors,
            prepare="sqrt" if counts else None,
            metric=cast(Any, metric),
            times=None if files.times is None else load_array(files.times).reshape(-1),
            out=out,
            max_points=effort.max_points,
            bins=effort.bins,
            intervals=effort.intervals,
            scores=effort.only or None,
            title=title or f"Report on {name_on_page(files.latents)}",
            sources=files.given(),
            docs=docs,
            verbose=common.verbose,
            random_state=common.seed,
            n_jobs=effort.jobs,
            tell=None if common.quiet or common.as_json else tell_at_once,
        )
    if open_page and page.path is not None:
        typer.launch(page.path.resolve().as_uri())
    if common.as_json:
        tell(json.dumps(page.to_dict(), indent=2))
        return
    tell(page)
    list_files("Written", report_files(page))


def name_on_page(file: str) -> str:
    """What a page calls a file.

    Examples
    --------
    >>> name_on_page("deep/z.npy"), name_on_page("-")
    ('z.npy', 'what was piped in')
    """
    return "what was piped in" if file == "-" else Path(file).name


@contextmanager
def nothing_written(out: Path) -> Iterator[None]:
    """Say of an interrupt that it left the folder as it was."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"\nNothing was written to {out}.", error=True)
        raise


def tell_at_once(text: str) -> None:
    """Tell people at a terminal what is known so far; the whole follows on standard output."""
    if sys.stderr.isatty():
        tell(f"  {text}", error=True)


def report_files(report: Report) -> dict[Path, str]:
    """What a report wrote, and what each file is."""
    assert report.path is not None
    folder = report.path.parent
    return {
        report.path: "the page: open it in a browser",
        folder / "results.json": "every number, with settings, seed and versions",
        folder / "figures": f"{counted(len(report.figures), 'figure')} as SVG",
    }
