"""`geodis compare`: several runs, seeds or layers of the same rows on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodis.base.check import InputError
from geodis.base.write import with_formulas
from geodis.commands.pages.compared_models import encode_runs, trained_runs
from geodis.commands.pages.report import finish_page, nothing_written
from geodis.commands.shared.options import (
    CommonOptions,
    FactorColumns,
    PageOptions,
    argument,
    option,
)

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
        raise InputError("--period and --factor-group belong to --factors; got them without.")
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
    """The table of a sweep or of scores-many if its file or folder is all that is given.

    None for anything else.
    """
    import pandas as pd

    from geodis.report.comparison.many_table import MANY_COLUMNS, is_table_of_runs
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
    """Map the name of every run to its file and its model.

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
                f"A folder must hold a file of latents for every seed; got {text} with none."
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
