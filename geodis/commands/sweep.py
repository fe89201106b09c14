"""`geodis sweep`: train and score all models of a grid that a file describes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geodis.base.check import InputError
from geodis.commands.options import (
    ClusterOptions,
    CommonOptions,
    DataSource,
    DeviceOption,
    argument,
    open_data,
    option,
    source_of,
)
from geodis.commands.output import OutputFolder, say, tell

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid

ENTRIES = ("models", "data", "seeds", "training", "scores", "score_at", "n", "threads", "stack")


TABLES = {
    "table.csv": "settings, loss terms and scores of every run, by step",
    "table.parquet": "the same with types",
}


@dataclass(frozen=True)
class SweepOptions:
    """What is trained, and where it is written."""

    file: Path = argument("The grid, as a .toml file.")
    out: Path = option(..., "Folder to write to, or to continue in.")
    device: DeviceOption = "auto"


def sweep_command(given: SweepOptions, where: ClusterOptions, common: CommonOptions) -> None:
    """Train and score a grid of models; if it was interrupted, the same command continues.

    The file has `seeds = 5`, `scores = ["mig", "dci"]`, `score_at = [2000]`; a table [training]
    with steps, batch_size, learning_rate, ...; a table [data.NAME] for every data set, with the
    data options of `geodis train`; and a table [[models]] for every family: `model = "beta-vae"`,
    `latents = 10`, `beta = [1, 4, 16]`, `loss = "box:31"`. A list stands for each of its entries in
    turn. Optional entries are `n = 2000`, the number of images that are scored; `threads = 1`, the
    torch threads per run; and `stack = 32`, the number of perceptrons of one shape that are trained
    together.

    Examples: `geodis sweep study.toml --out study`,
    `geodis sweep study.toml --cluster local --out study`
    """
    from geodis.models import sweep
    from geodis.models.sweeps.run_folder import RUNS
    from geodis.models.sweeps.stacks import ROW

    file, out, device = given.file, given.out, cast(Any, given.device)
    choices = read_grid(file)
    if common.seed:
        choices["seeds"] = seeds_from(common.seed, choices.get("seeds", 5), file)
    data = {
        name: partial(open_grid_of, found_from_anywhere(_table(given, f"data.{name}", file)))
        for name, given in _table(choices.pop("data"), "data", file).items()
    }
    # Tables next to finished runs are a sweep's; other sweeps may write them at the same time.
    folder = OutputFolder(out, TABLES, begun=any(out.glob(f"{RUNS}/*/{ROW}")))
    try:
        with folder:
            for name in TABLES:
                folder.path(name)
            done = sweep(
                out,
                choices.pop("models"),
                data,
                device=device,
                cluster=where.cluster,
                n_workers=where.workers,
                verbose=common.verbose,
                **choices,
            )
    except KeyboardInterrupt:
        tell(f"{out} keeps what is done; the same command continues from there.", error=True)
        raise
    values = {"out": str(out), "planned": done.planned, "trained": done.trained}
    values |= {"diverged": done.diverged, "elsewhere": done.elsewhere}
    say(done, values, common.as_json)
    runs = {out / RUNS: "the folder of every model, as `geodis train` writes it"}
    folder.list_files(common.as_json, runs)


def read_grid(file: Path) -> dict[str, Any]:
    """Read the description of a sweep, and refuse unknown or missing entries."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file} must be a .toml file; got {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"{file} cannot be read as TOML: {str(error).rstrip('.')}.") from None
    if unknown := sorted(set(entries) - set(ENTRIES)):
        raise InputError(f"{file} may have {', '.join(ENTRIES)}; got {', '.join(unknown)}.")
    if missing := [name for name in ("models", "data") if name not in entries]:
        raise InputError(f"{file} must have [[models]] and [data.NAME]; got no {missing[0]}.")
    if not isinstance(entries["models"], list):
        raise InputError(f"{file} must have its models as [[models]], a list of tables.")
    return entries


def seeds_from(first: int, seeds: Any, file: Path) -> list[int]:
    """Return as many consecutive seeds as the file asks for, from another first seed."""
    if not isinstance(seeds, int):
        raise InputError(f"--seed needs seeds = N in the file; got seeds = {seeds} in {file}.")
    return list(range(first, first + seeds))


def _table(value: Any, name: str, file: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{file} must have a table [{name}]; got {value!r}.")
    return value


def found_from_anywhere(given: Mapping[str, Any]) -> DataSource:
    """Make the paths of a source absolute, because workers have other working directories."""
    from geodis.data.files.load import STANDARD_INPUT

    paths = {
        name: str(Path(given[name]).expanduser().absolute())
        for name in ("images", "factors", "path", "picture")
        if isinstance(given.get(name), str) and given[name] != STANDARD_INPUT
    }
    return source_of({**given, **paths})


def open_grid_of(source: DataSource) -> FactorGrid:
    """Open the grid of a source; images without factors cannot be scored."""
    from geodis.data.grids.grid import FactorGrid

    grid = open_data(source, quiet=True)
    if not isinstance(grid, FactorGrid):
        raise InputError("A sweep needs factors for its images: factors = FILE; got none.")
    return grid
