"""`geodis scores` and `geodis scores-many`: disentanglement scores of one or many models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.check import InputError
from geodis.commands.options import (
    ClusterOptions,
    CommonOptions,
    FactorColumns,
    LatentGroupOption,
    ScoringOptions,
    argument,
    groups_of,
    numbers_of,
    option,
    periods_of,
)
from geodis.commands.output import OutputFolder, list_files, say

if TYPE_CHECKING:
    from geodis.scores import ScoreTable


FILES = {
    "scores.json": "every score with its parts by factor and latent, settings, seed, versions",
    "scores.md": "the table",
    "scores.png": "every score with its chance level",
}


@dataclass(frozen=True)
class ScoresOptions:
    """What is scored."""

    latents: str = argument("Latents, one row per point (see `inspect`).")
    factors: str = option(
        ..., "Factors of the same rows: .csv with a header, or any array file.", show_default=False
    )
    latent_group: LatentGroupOption = None
    out: Path | None = option(None, "Folder for JSON, table and figures.", file_okay=False)
    jobs: int = option(1, "Processes; -1 for all cores.")


def scores_command(
    given: ScoresOptions, columns: FactorColumns, scoring: ScoringOptions, common: CommonOptions
) -> None:
    """Compute every disentanglement score of latents, with its chance level.

    Examples: `geodis scores z.npy --factors factors.csv`,
    `geodis scores run.npz:latents --factors run.npz:factors --only mig --only dci --json`
    """
    from geodis.data.files.load import load_array
    from geodis.scores import score_latents
    from geodis.scores.registry import entries

    captions = [entry.shown.matrix for entry in entries() if entry.shown.matrix is not None]
    files = FILES | {f"{caption.name}.png": caption.about for caption in captions}
    folder = None if given.out is None else OutputFolder(given.out, files)
    latent_groups = numbers_of(given.latent_group)
    settings: dict[str, Any] = {
        "periods": periods_of(columns.period),
        **vars(scoring),
        "factor_groups": groups_of(columns.factor_group),
        "latent_groups": latent_groups,
    }
    table = score_latents(
        load_array(given.latents),
        columns.load(given.factors),
        scoring.only or None,
        bins=scoring.bins,
        groups=latent_groups,
        chance=scoring.chance,
        intervals=scoring.intervals,
        n_jobs=given.jobs,
        **common.settings(),
    )
    if not len(table.frame):
        raise InputError(f"The requested scores must apply; got none: {'; '.join(table.remarks())}")
    values = {
        "latents": given.latents,
        "factors": given.factors,
        "geodis": __version__,
        "settings": settings,
        **table.to_dict(),
    }
    say(table, values, common.as_json)
    if folder is not None:
        with folder:
            write_scores(folder, table, values)
        folder.list_files(common.as_json)


def write_scores(folder: OutputFolder, table: ScoreTable, values: dict[str, Any]) -> None:
    """Write the table, and the figures of its scores."""
    from geodis import plots
    from geodis.scores.registry import entries

    folder.write_json("scores.json", values)
    folder.write_text("scores.md", table.to_markdown())
    if (table.frame["family"] != "unsupervised").any():
        folder.save_figure("scores.png", plots.plot_scores(table))
    for entry in entries():
        caption = entry.shown.matrix
        if caption is not None and entry.name in table.scores:
            scored = table.scores[entry.name]
            axis = plots.plot_score_matrix(
                scored, title=caption.title, unit=caption.unit, limit=1.0
            )
            folder.save_figure(f"{caption.name}.png", axis)


# `geodis scores-many`


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
        ..., "The table: .parquet or .csv; a journal is written next to it.", dir_okay=False
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
