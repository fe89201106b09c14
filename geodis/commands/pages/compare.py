"""`geodis compare`: several runs, seeds or layers of the same rows on one page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.base.write import with_formulas
from geodis.commands.pages.compared_models import encode_runs, trained_runs
from geodis.commands.pages.report import nothing_written
from geodis.commands.shared.options import (
    CommonOptions,
    DocsOption,
    GroupOption,
    PeriodOption,
    groups_of,
    periods_of,
)
from geodis.commands.shared.output import list_files, tell

ARRAY_FILES = (".npy", ".npz", ".csv", ".parquet", ".safetensors", ".pt", ".h5", ".mat")


@dataclass(frozen=True)
class ComparedWith:
    """What the runs are compared by, and how closely."""

    factors: Annotated[
        str | None,
        typer.Option(help="Factors of the same rows, as of `geodis report`.", show_default=False),
    ] = None
    images: Annotated[
        str | None, typer.Option(help="Images of the same rows.", show_default=False)
    ] = None
    max_points: Annotated[
        int, typer.Option(min=10, help="Of more rows, so many are drawn, the same of all runs.")
    ] = 5_000
    bins: Annotated[int, typer.Option(min=2, help="Bins of continuous factors.")] = 10
    resamples: Annotated[
        int, typer.Option(min=0, help="Halves of the rows that scores are computed again on.")
    ] = 40
    jobs: Annotated[int, typer.Option(help="Processes for the scores; -1 for all cores.")] = 1


def compare_command(
    *,
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Latents of the same rows: a file a run, or a folder a model with a file for "
            "every seed; trained models in the same way. Or the table of a sweep, or of "
            "scores-many.",
            show_default=False,
        ),
    ],
    period: PeriodOption = None,
    factor_group: GroupOption = None,
    chosen: ComparedWith,
    out: Annotated[Path, typer.Option(help="Folder for the page, results and figures.")] = Path(
        "comparison"
    ),
    title: Annotated[str, typer.Option(help="Of the page.")] = "Comparison",
    docs: DocsOption = "",
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser when it is done.")
    ] = False,
    common: CommonOptions,
) -> None:
    """Rank runs by every score, say what differs beyond noise, and show their maps side by side.

    Examples: `geodis compare a.npy b.npy --factors factors.csv`, `geodis compare vae/ beta-vae/
    --factors factors.csv --out comparison`, `geodis compare table.parquet`
    """
    from geodis.data.factors import as_factors
    from geodis.data.files.load import load_array, load_factors
    from geodis.report.build import check_out
    from geodis.report.comparison.compare import compare

    if (period or factor_group) and chosen.factors is None:
        raise InputError("--period and --factor-group belong to --factors; got them without.")
    check_out(out)
    table = scored_runs(runs)
    trained = {} if table is not None else trained_runs(runs)
    files = {} if table is not None or trained else runs_of(runs)
    factors = images = None
    if chosen.factors is not None:
        loaded = load_factors(chosen.factors, periods=periods_of(period))
        factors = as_factors(loaded, groups=groups_of(factor_group))
    sources = {name: file for name, (file, _) in files.items()}
    models = [model for _, model in files.values()] or None
    with nothing_written(out):
        if trained:
            encoded = encode_runs(trained, chosen.images, max_points=chosen.max_points,
                                  seed=common.seed, quiet=common.quiet)  # fmt: skip
            arrays, models, images = encoded.latents, encoded.models, encoded.images
            sources = {name: str(folder) for name, (folder, _) in trained.items()}
            factors = encoded.factors if factors is None else factors
        elif table is None:
            arrays = {name: load_array(file) for name, file in sources.items()}
            images = None if chosen.images is None else load_array(chosen.images)
        made = compare(
            arrays if table is None else table,
            factors,
            images,
            models=models,
            out=out,
            title=title,
            max_points=chosen.max_points,
            bins=chosen.bins,
            n_resamples=chosen.resamples,
            sources=sources,
            docs=docs,
            verbose=common.verbose,
            random_state=common.seed,
            n_jobs=chosen.jobs,
        )
    assert made.path is not None
    if open_page:
        typer.launch(made.path.resolve().as_uri())
    if common.as_json:
        tell(json.dumps(made.to_dict(), indent=2))
        return
    tell(made)
    meanings: dict[Path, str] = {
        made.path: "the page: open it in a browser",
        out / "results.json": "every number",
        out / "figures": "figures as SVG",
    }
    list_files("Written", meanings)


def scored_runs(given: list[str]) -> Any:
    """The table of a sweep or of scores-many, where that alone is given.

    Its file, or the folder of a sweep that has it; None of anything else.
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
    """Name of every run -> its file and its model.

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
    for parts in (1, 2, 3):  # say no more of each than tells them apart
        if len({name for name, *_ in found}) == len(found):
            break
        found = [
            (longer, text, model if model != name else longer)
            for name, text, model in found
            for longer in ["/".join(Path(text).with_suffix("").parts[-parts - 1 :])]
        ]
    return {name: (file, model) for name, file, model in found}
