"""`geodis report` and `geodis compare`: pages about one run or several."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.base.write import with_formulas
from geodis.commands.options import (
    CommonOptions,
    CountsOption,
    FactorColumns,
    FileArgument,
    LatentGroupOption,
    MetricOption,
    OnlyOption,
    PageOptions,
    argument,
    numbers_of,
    option,
)
from geodis.commands.output import list_files, tell

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.factors import Factors
    from geodis.report.results import Report


# Latents of the same images from several trained models.

CONFIG = "config.json"  # in every folder written by `geodis train`
TRAINED = ("model.safetensors", "checkpoint.safetensors")


class EncodedRuns(NamedTuple):
    """Latents of the same images from several models, and what is known of the images."""

    latents: dict[str, np.ndarray]
    models: list[str]
    factors: Factors | None
    images: Any


def trained_runs(given: list[str]) -> dict[str, tuple[Path, str]]:
    """Return the folder and model of every trained run, by the name of the run.

    A folder is a run, or holds one run per seed. The result is empty if other things are given.
    """
    found: list[tuple[Path, str]] = []
    others = []
    for text in given:
        path = Path(text)
        seeds = [path] if is_trained(path) else _runs_in(path)
        if not seeds:
            others.append(text)
        found += [(seed, "" if seed == path else path.resolve().name) for seed in seeds]
    if found and others:
        raise InputError(
            f"Runs to compare must be either trained models or files of latents; got "
            f"{', '.join(others)} with models."
        )
    names = short_names([seed for seed, _ in found])
    return {name: (seed, model or name) for name, (seed, model) in zip(names, found, strict=True)}


def short_names(paths: list[Path]) -> list[str]:
    """Return the shortest endings of the paths that are all different.

    Examples
    --------
    >>> short_names([Path("a/0"), Path("b/0")]), short_names([Path("a/0"), Path("a/1")])
    (['a/0', 'b/0'], ['0', '1'])
    """
    whole = [path.resolve().parts for path in paths]
    for count in range(1, 1 + max(map(len, whole), default=0)):
        names = ["/".join(parts[-count:]) for parts in whole]
        if len(set(names)) == len(names):
            break
    return names if paths else []


def is_trained(path: Path) -> bool:
    """Return whether `geodis train` wrote a folder."""
    return (path / CONFIG).is_file() and any((path / name).is_file() for name in TRAINED)


def _runs_in(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if is_trained(one)) if path.is_dir() else []


def encode_runs(
    runs: dict[str, tuple[Path, str]], images: str | None, max_points: int, common: CommonOptions
) -> EncodedRuns:
    """Encode the same images with every model: those given, or the first model's training data."""
    from dataclasses import replace

    from geodis.commands.trained_models import data_of, images_at, open_model, sampled_rows
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode

    folders = [folder for folder, _ in runs.values()]
    rows = data_of(folders[0], common.quiet) if images is None else load_array(images)
    index = sampled_rows(len(rows), max_points, common.seed)
    seen, factors = images_at(rows, index), None
    if isinstance(rows, FactorGrid):
        factors = replace(rows.known_factors(index), values=rows.factors(index))
    latents = {
        name: encode(open_model(folder), seen, verbose=common.verbose)
        for name, (folder, _) in runs.items()
    }
    return EncodedRuns(latents, [model for _, model in runs.values()], factors, seen)


# `geodis report`


@dataclass(frozen=True)
class ReportFiles:
    """What the report is about."""

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
        """The given files, by what they hold."""
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
            raise InputError(f"{name} needs --factors; got it without.")
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
    """Print the findings of a page and the files that were written; open it on request."""
    if page.open_page:
        typer.launch(made.path.resolve().as_uri())
    if common.as_json:
        tell(json.dumps(made.to_dict(), indent=2))
    else:
        tell(made)
        list_files("Written", meanings)


def name_on_page(file: str) -> str:
    """Return the name of a file for the page.

    Examples
    --------
    >>> name_on_page("deep/z.npy"), name_on_page("-")
    ('z.npy', 'standard input')
    """
    return "standard input" if file == "-" else Path(file).name


@contextmanager
def nothing_written(out: Path) -> Iterator[None]:
    """On an interrupt, print that the folder is unchanged."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"\nNothing was written to {out}.", error=True)
        raise


def tell_at_once(text: str) -> None:
    """Print preliminary findings on a terminal; all findings follow on standard output."""
    if sys.stderr.isatty():
        tell(f"  {text}", error=True)


def report_files(report: Report) -> dict[Path, str]:
    """Return the files of a report, and what each contains."""
    assert report.path is not None
    folder = report.path.parent
    return {
        report.path: "the page: open it in a browser",
        folder / "results.json": "every number, with settings, seed and versions",
        folder / "figures": f"{counted(len(report.figures), 'figure')} as SVG",
    }


ARRAY_FILES = (".npy", ".npz", ".csv", ".parquet", ".safetensors", ".pt", ".h5", ".mat")


@dataclass(frozen=True)
class CompareOptions:
    """Which runs are compared, by what, and how precisely."""

    runs: list[str] = argument(
        "Latents of the same rows: one file per run, or one folder per model with a file for every "
        "seed; or trained models in the same way. Or the table of a sweep or of scores-many."
    )
    factors: str | None = option(
        None, "Factors of the same rows, as in `geodis report`.", show_default=False
    )
    images: str | None = option(None, "Images of the same rows.", show_default=False)
    max_points: int = option(
        5_000, "Larger inputs are subsampled to this many rows, the same for all runs.", min=10
    )
    bins: int = option(10, "Bins of continuous factors.", min=2)
    resamples: int = option(40, "Half-samples of the rows on which scores are recomputed.", min=0)
    jobs: int = option(1, "Processes for the scores; -1 for all cores.")


@dataclass(frozen=True)
class ComparePage(PageOptions):
    """Where the comparison is written."""

    out: Path = option(Path("comparison"), "Folder for the page, results and figures.")
    title: str = option("Comparison", "Title of the page.")


def compare_command(
    given: CompareOptions, columns: FactorColumns, page: ComparePage, common: CommonOptions
) -> None:
    """Rank runs by every score, test their differences, and show their maps side by side.

    Examples: `geodis compare a.npy b.npy --factors factors.csv`, `geodis compare vae/ beta-vae/
    --factors factors.csv --out comparison`, `geodis compare table.parquet`
    """
    from geodis.data.files.load import load_array
    from geodis.report.build import check_out
    from geodis.report.comparison.compare import compare

    if (columns.period or columns.factor_group) and given.factors is None:
        raise InputError("--period and --factor-group need --factors; got them without.")
    check_out(page.out)
    table = scored_runs(given.runs)
    trained = {} if table is not None else trained_runs(given.runs)
    files = {} if table is not None or trained else runs_of(given.runs)
    factors = None if given.factors is None else columns.load(given.factors)
    images = None
    sources = {name: file for name, (file, _) in files.items()}
    models = [model for _, model in files.values()] or None
    with nothing_written(page.out):
        if trained:
            encoded = encode_runs(trained, given.images, given.max_points, common)
            arrays, models, images = encoded.latents, encoded.models, encoded.images
            sources = {name: str(folder) for name, (folder, _) in trained.items()}
            factors = encoded.factors if factors is None else factors
        elif table is None:
            arrays = {name: load_array(file) for name, file in sources.items()}
            images = None if given.images is None else load_array(given.images)
        made = compare(
            arrays if table is None else table,
            factors,
            images,
            models=models,
            out=page.out,
            title=page.title,
            max_points=given.max_points,
            bins=given.bins,
            n_resamples=given.resamples,
            sources=sources,
            docs=page.docs,
            n_jobs=given.jobs,
            **common.settings(),
        )
    assert made.path is not None
    meanings: dict[Path, str] = {
        made.path: "the page: open it in a browser",
        page.out / "results.json": "every number",
        page.out / "figures": "figures as SVG",
    }
    finish_page(made, meanings, page, common)


def scored_runs(given: list[str]) -> Any:
    """Load the table of a sweep or of scores-many if its file or folder is the only argument.

    Return None for anything else.
    """
    import pandas as pd

    from geodis.report.comparison.many_models import MANY_COLUMNS, is_table_of_runs
    from geodis.scores import ManyScores

    path = Path(given[0])
    path = path / "table.csv" if (path / "table.csv").is_file() else path
    if len(given) > 1 or path.suffix not in (".csv", ".parquet") or not path.is_file():
        return None
    if path.suffix == ".parquet":
        import pyarrow.parquet

        names = set(pyarrow.parquet.read_schema(path).names)
        return ManyScores.read(path) if names >= MANY_COLUMNS else None
    if set(pd.read_csv(path, nrows=0).columns) >= MANY_COLUMNS:
        return ManyScores.read(path)
    table = with_formulas(pd.read_csv(path))
    return table if is_table_of_runs(table) else None


def runs_of(given: list[str]) -> dict[str, tuple[str, str]]:
    """Return the file and model of every run, by the name of the run.

    Examples
    --------
    >>> runs_of(["a.npy", "deep/b.npy", "run.npz:z"])
    {'a': ('a.npy', 'a'), 'b': ('deep/b.npy', 'b'), 'run:z': ('run.npz:z', 'run:z')}
    """
    found: list[tuple[str, str, str]] = []
    for text in given:
        if not Path(text).is_dir() or text.rstrip("/").endswith(".zarr"):
            file, colon, key = text.partition(":")
            name = Path(file).name.split(".")[0] + (f":{key}" if colon else "")
            found.append((name, text, name))
            continue
        seeds = sorted(path for path in Path(text).iterdir() if path.suffix in ARRAY_FILES)
        if not seeds:
            raise InputError(
                f"A folder must hold one file of latents per seed; got {text} with none."
            )
        model = Path(text).resolve().name
        found += [(f"{model}/{path.stem}", str(path), model) for path in seeds]
    for parts in (1, 2, 3):  # the shortest names that differ
        if len({name for name, *_ in found}) == len(found):
            break
        found = [
            (longer, text, model if model != name else longer)
            for name, text, model in found
            for longer in ["/".join(Path(text).with_suffix("").parts[-parts - 1 :])]
        ]
    return {name: (file, model) for name, file, model in found}
