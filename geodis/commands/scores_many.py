"""`geodis scores-many`: scores of thousands of models in one table, resumed where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geodis import __version__
from geodis.commands.shared.options import (
    ClusterOptions,
    CommonOptions,
    FactorColumns,
    ScoringOptions,
    argument,
    option,
)
from geodis.commands.shared.output import list_files, say


@dataclass(frozen=True)
class ManyOptions:
    """Which models are scored, and where the results are written."""

    folder: str = argument("Folder of latents, one file per model (see `scores`).")
    factors: str = option(
        ...,
        "Factors of the rows of every model: .csv with a header, or any array file.",
        show_default=False,
    )
    out: Path = option(
        ..., "The table: .parquet or .csv; a journal is written beside it.", dir_okay=False
    )
    key: str | None = option(None, "Name of the array in each file.")
    page: Path | None = option(None, "Folder for a page about the table.", file_okay=False)


def scores_many_command(
    given: ManyOptions,
    columns: FactorColumns,
    scoring: ScoringOptions,
    where: ClusterOptions,
    common: CommonOptions,
) -> None:
    """Score every model in a folder; if it was interrupted, the same command continues.

    Examples: `geodis scores-many latents --factors factors.csv --out table.parquet`,
    `geodis scores-many runs --key latents --factors factors.csv --out table.csv --cluster local`
    """
    from geodis.report.build import check_out
    from geodis.scores import score_many

    if given.page is not None:
        check_out(given.page)
    table = score_many(
        given.folder,
        columns.load(given.factors),
        scoring.only or None,
        cluster=where.cluster,
        n_workers=where.workers,
        out=given.out,
        apart=[given.factors],
        key=given.key,
        bins=scoring.bins,
        chance=scoring.chance,
        intervals=scoring.intervals,
        **common.settings(),
    )
    meanings = {given.out: "one row per model and score"}
    if given.page is not None:
        from geodis.report import report_many

        page = report_many(table, given.page, source=given.folder)
        meanings[page] = "agreement, spread, best and worst"
    values = {
        "folder": given.folder,
        "factors": given.factors,
        "geodis": __version__,
        "models": len(table.models),
        "failures": table.failures,
        "spread": table.spread.reset_index(names="score").to_dict("records"),
    }
    say(table, values, common.as_json)
    if not common.as_json:
        list_files("Written", meanings)
