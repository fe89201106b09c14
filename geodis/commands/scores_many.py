"""`geodis scores-many`: scores of thousands of models in one table, resumed where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from geodis import __version__
from geodis.commands.shared.options import (
    BinsOption,
    ChanceOption,
    ClusterOption,
    CommonOptions,
    GroupOption,
    IntervalsOption,
    OnlyOption,
    PeriodOption,
    WorkersOption,
    groups_of,
    periods_of,
)
from geodis.commands.shared.output import list_files, say


@dataclass(frozen=True)
class ManyOptions:
    """Which scores of which arrays, and where they are computed."""

    key: Annotated[str | None, typer.Option(help="Name of the array in each file.")] = None
    only: OnlyOption = None
    bins: BinsOption = None
    chance: ChanceOption = 1
    intervals: IntervalsOption = 0
    factor_group: GroupOption = None
    cluster: ClusterOption = None
    workers: WorkersOption = None


def scores_many_command(
    *,
    folder: Annotated[
        str,
        typer.Argument(
            help="Folder of latents, a file a model (see `scores`).", show_default=False
        ),
    ],
    factors: Annotated[
        str,
        typer.Option(
            help="Factors of the rows of every model: .csv with a header, or any array file.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            dir_okay=False, help="The table: .parquet or .csv; a journal stands beside it."
        ),
    ],
    period: PeriodOption = None,
    chosen: ManyOptions,
    page: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for a page of the table.")
    ] = None,
    common: CommonOptions,
) -> None:
    """Score every model of a folder; started again, it goes on where it was killed.

    Examples: `geodis scores-many latents --factors factors.csv --out table.parquet`,
    `geodis scores-many runs --key latents --factors factors.csv --out table.csv --cluster local`
    """
    from geodis.data.factors import as_factors
    from geodis.data.files.load import load_factors
    from geodis.report.build import check_out
    from geodis.scores import score_many

    if page is not None:
        check_out(page)
    known = load_factors(factors, periods=periods_of(period))
    table = score_many(
        folder,
        as_factors(known, groups=groups_of(chosen.factor_group)),
        chosen.only or None,
        cluster=chosen.cluster,
        n_workers=chosen.workers,
        out=out,
        apart=[factors],
        key=chosen.key,
        bins=chosen.bins,
        chance=chosen.chance,
        intervals=chosen.intervals,
        verbose=common.verbose,
        random_state=common.seed,
    )
    meanings = {
        out: "one row a model and score",
    }
    if page is not None:
        from geodis.report import report_many

        meanings[report_many(table, page, source=folder)] = "agreement, spread, best and worst"
    values = {
        "folder": folder,
        "factors": factors,
        "geodis": __version__,
        "models": len(table.models),
        "failures": table.failures,
        "spread": table.spread.reset_index(names="score").to_dict("records"),
    }
    say(table, values, common.as_json)
    if not common.as_json:
        list_files("Written", meanings)
