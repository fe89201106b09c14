"""`geodis scores`: every disentanglement score of latents and factors in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis.base.write import whole_file, write_json
from geodis.commands._shared import AsJson, Quiet, Seed, list_files

if TYPE_CHECKING:
    from geodis.scores._score_table import ScoreTable

SCORE_FILES = {
    "scores.json": "every score with its parts by factor and latent, settings, seed, versions",
    "scores.md": "the table",
    "scores.png": "every score beside its chance level",
    "information.png": "mutual information of latents and factors",
    "importances.png": "importance of every latent for every factor",
}


def scores(
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
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A score or a family of scores; may be repeated."),
    ] = None,
    bins: Annotated[
        int | None, typer.Option(min=2, help="Cut continuous factors into as many bins.")
    ] = None,
    chance: Annotated[
        int, typer.Option(min=0, help="Permutations behind every chance level; 0 for none.")
    ] = 1,
    intervals: Annotated[
        int, typer.Option(min=0, help="Resamplings behind 95% intervals; 0 for none.")
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = 1,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for JSON, table and figures.")
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compute every disentanglement score of latents, with the level that chance gives.

    Examples: `geodis scores z.npy --factors factors.csv`,
    `geodis scores run.npz:latents --factors run.npz:factors --only mig --only dci --json`
    """
    from geodis.data.files.load import load_array, load_factors
    from geodis.scores.table import score_latents

    table = score_latents(
        load_array(latents),
        load_factors(factors),
        only or None,
        bins=bins,
        chance=chance,
        intervals=intervals,
        n_jobs=jobs,
        verbose=not quiet,
        random_state=seed,
    )
    content = {
        "latents": latents,
        "factors": factors,
        "geodis": __version__,
        "settings": {"only": only, "bins": bins, "chance": chance, "intervals": intervals},
        **table.to_dict(),
    }
    print(json.dumps(content, indent=2) if as_json else table)
    if out is not None:
        written = write_scores(out, table, content)
        if not as_json:
            list_files("Written", {out / name: SCORE_FILES[name] for name in written})


def write_scores(out: Path, table: ScoreTable, content: dict[str, Any]) -> list[str]:
    """Write what `SCORE_FILES` lists, as far as the scores are there; return the names."""
    from geodis import plots

    write_json(out / "scores.json", content)
    with whole_file(out / "scores.md") as temporary:
        temporary.write_text(table.to_markdown() + "\n", encoding="utf-8")
    written = ["scores.json", "scores.md"]
    if (table.frame["family"] != "unsupervised").any():
        plots.save_figure(plots.plot_scores(table), out / "scores.png")
        written.append("scores.png")
    for name, file, title, unit in (
        ("mig", "information.png", "Mutual information", "share of the factor's entropy"),
        ("dci", "importances.png", "Importances (DCI)", "share of a factor's importance"),
    ):
        if name in table.scores:
            axis = plots.plot_score_matrix(table.scores[name], title=title, unit=unit, limit=1.0)
            plots.save_figure(axis, out / file)
            written.append(file)
    return written
