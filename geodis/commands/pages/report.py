"""`geodis report`: everything that applies to a file of latents, on one page."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.commands.shared.options import (
    CommonOptions,
    CountsOption,
    FactorColumns,
    FileArgument,
    LatentGroupOption,
    MetricOption,
    OnlyOption,
    PageOptions,
    numbers_of,
    option,
)
from geodis.commands.shared.output import list_files, tell

if TYPE_CHECKING:
    from geodis.report.results import Report


@dataclass(frozen=True)
class ReportFiles:
    """What a report is on."""

    latents: FileArgument
    factors: str | None = option(
        None,
        "Factors of the same rows: .csv with a header, or any array file. Numbers are ordered "
        "values, words are labels.",
        show_default=False,
    )
    images: str | None = option(
        None,
        "Images of the same rows, (n, h, w, c) or (n, h, w): bytes, or floats in [0, 1].",
        show_default=False,
    )
    times: str | None = option(None, "Recording time of each row.", show_default=False)

    def given(self) -> dict[str, str]:
        """The files by what they hold."""
        return {name: file for name, file in vars(self).items() if file is not None}


@dataclass(frozen=True)
class ReportFit:
    """What is known of the latents."""

    latent_group: LatentGroupOption = None
    dim: int | None = option(None, "Intrinsic dimension.", min=1, show_default="estimated")
    n_factors: int | None = option(None, "Factors of the manifold.", min=1, show_default="counted")
    counts: CountsOption = False
    metric: MetricOption = "euclidean"


@dataclass(frozen=True)
class ReportEffort:
    """How much of the data is used, and how precisely."""

    jobs: int = option(1, "Processes for the scores; -1 for all cores.")
    max_points: int = option(10_000, "Larger inputs are subsampled to this many rows.", min=10)
    bins: int = option(10, "Bins of continuous factors.", min=2)
    intervals: int = option(
        30,
        "Resamples for intervals of scores, one fifth as many for slow scores; 0 for none.",
        min=0,
    )
    only: OnlyOption = None


@dataclass(frozen=True)
class ReportPage(PageOptions):
    """Where the report is written."""

    out: Path = option(Path("report"), "Folder for the page, results and figures.")


def report_command(
    files: ReportFiles,
    columns: FactorColumns,
    fit: ReportFit,
    page: ReportPage,
    effort: ReportEffort,
    common: CommonOptions,
) -> None:
    """Analyse latents and write one page: geometry, scores, distances, and what to doubt.

    Examples: `geodis report latents.npy --out report`,
    `geodis report run.npz:z --factors factors.csv --images images.npy`
    """
    from geodis.data.files.load import load_array
    from geodis.report.build import report

    if files.factors is None:
        needing = {
            "--period": columns.period,
            "--factor-group": columns.factor_group,
            "--latent-group": fit.latent_group,
            "--only": effort.only,
        }
        for name in (name for name, value in needing.items() if value):
            raise InputError(f"{name} belongs to --factors; got it without.")
    factors = None if files.factors is None else columns.load(files.factors)
    metric: Any = fit.metric
    with nothing_written(page.out):
        made = report(
            load_array(files.latents),
            factors,
            None if files.images is None else load_array(files.images),
            groups=numbers_of(fit.latent_group),
            dim=fit.dim,
            n_factors=fit.n_factors,
            prepare="sqrt" if fit.counts else None,
            metric=metric,
            times=None if files.times is None else load_array(files.times).reshape(-1),
            out=page.out,
            max_points=effort.max_points,
            bins=effort.bins,
            intervals=effort.intervals,
            scores=effort.only or None,
            title=page.title or f"Report on {name_on_page(files.latents)}",
            sources=files.given(),
            docs=page.docs,
            n_jobs=effort.jobs,
            tell=None if common.quiet or common.as_json else tell_at_once,
            **common.settings(),
        )
    finish_page(made, report_files(made), page, common)


def finish_page(
    made: Any, meanings: Mapping[Path, str], page: PageOptions, common: CommonOptions
) -> None:
    """Print what a page says and where it was written; open it on request."""
    if page.open_page:
        typer.launch(made.path.resolve().as_uri())
    if common.as_json:
        tell(json.dumps(made.to_dict(), indent=2))
    else:
        tell(made)
        list_files("Written", meanings)


def name_on_page(file: str) -> str:
    """The name of a file on the page.

    Examples
    --------
    >>> name_on_page("deep/z.npy"), name_on_page("-")
    ('z.npy', 'what was piped in')
    """
    return "what was piped in" if file == "-" else Path(file).name


@contextmanager
def nothing_written(out: Path) -> Iterator[None]:
    """Print that an interrupt left the folder unchanged."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"\nNothing was written to {out}.", error=True)
        raise


def tell_at_once(text: str) -> None:
    """Print what is known so far at a terminal; all of it follows on standard output."""
    if sys.stderr.isatty():
        tell(f"  {text}", error=True)


def report_files(report: Report) -> dict[Path, str]:
    """The files of a report, and what each holds."""
    assert report.path is not None
    folder = report.path.parent
    return {
        report.path: "the page: open it in a browser",
        folder / "results.json": "every number, with settings, seed and versions",
        folder / "figures": f"{counted(len(report.figures), 'figure')} as SVG",
    }
