"""`geodis scores`: every disentanglement score of latents and factors in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.write import write_json
from geodis.commands.shared.options import (
    BinsOption,
    ChanceOption,
    CommonOptions,
    GroupOption,
    IntervalsOption,
    LatentGroupOption,
    OnlyOption,
    PeriodOption,
    groups_of,
    numbers_of,
    periods_of,
)
from geodis.commands.shared.output import OutputFolder, say

if TYPE_CHECKING:
    from geodis.scores import ScoreTable


NAMES = ("scores.json", "scores.md", "scores.png", "information.png", "importances.png")


@dataclass(frozen=True)
class ScoreOptions:
    """Which scores, and how they are computed."""

    only: OnlyOption = None
    bins: BinsOption = None
    chance: ChanceOption = 1
    intervals: IntervalsOption = 0
    factor_group: GroupOption = None
    latent_group: LatentGroupOption = None
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = 1


def scores_command(
    *,
    latents: Annotated[
        str,
        typer.Argument(help="Latents, one row a point (see `inspect`).", show_default=False),
    ],
    factors: Annotated[
        str,
        typer.Option(
            help="Factors of the same rows: .csv with a header, or any array file.",
            show_default=False,
        ),
    ],
    period: PeriodOption = None,
    chosen: ScoreOptions,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for JSON, table and figures.")
    ] = None,
    common: CommonOptions,
) -> None:
    """Compute every disentanglement score of latents, with the level that chance gives.

    Examples: `geodis scores z.npy --factors factors.csv`,
    `geodis scores run.npz:latents --factors run.npz:factors --only mig --only dci --json`
    """
    from geodis.data.factors import as_factors
    from geodis.data.files.load import load_array, load_factors
    from geodis.scores import score_latents

    folder = None if out is None else OutputFolder(out, NAMES)
    periods = periods_of(period)
    together, apart = groups_of(chosen.factor_group), numbers_of(chosen.latent_group)
    settings: dict[str, Any] = {
        "periods": periods,
        "only": chosen.only,
        "bins": chosen.bins,
        "chance": chosen.chance,
        "intervals": chosen.intervals,
        "factor_groups": together,
        "latent_groups": apart,
    }
    table = score_latents(
        load_array(latents),
        as_factors(load_factors(factors, periods=periods), groups=together),
        chosen.only or None,
        bins=chosen.bins,
        groups=apart,
        chance=chosen.chance,
        intervals=chosen.intervals,
        n_jobs=chosen.jobs,
        verbose=common.verbose,
        random_state=common.seed,
    )
    if not len(table.frame):
        raise InputError(f"None of the scores asked for applies: {'; '.join(table.remarks())}")
    values = {
        "latents": latents,
        "factors": factors,
        "geodis": __version__,
        "settings": settings,
        **table.to_dict(),
    }
    say(table, values, common.as_json)
    if folder is not None:
        with folder:
            write_scores(folder, table, values)
        if not common.as_json:
            folder.list_files()


def write_scores(folder: OutputFolder, table: ScoreTable, values: dict[str, Any]) -> None:
    """Write the table, and the figures of those scores that are in it."""
    from geodis import plots
    from geodis.scores.registry import entries

    meaning = "every score with its parts by factor and latent, settings, seed, versions"
    write_json(folder.path("scores.json", meaning), values)
    folder.write_text("scores.md", "the table", table.to_markdown())
    if (table.frame["family"] != "unsupervised").any():
        picture = folder.path("scores.png", "every score beside its chance level")
        plots.save_figure(plots.plot_scores(table), picture)
    for entry in entries():
        caption = entry.shown.matrix
        if caption is None or entry.name not in table.scores:
            continue
        picture = folder.path(f"{caption.name}.png", caption.about)
        axis = plots.plot_score_matrix(
            table.scores[entry.name], title=caption.title, unit=caption.unit, limit=1.0
        )
        plots.save_figure(axis, picture)
