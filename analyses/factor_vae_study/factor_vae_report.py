"""What `factor_vae_study` found, beside what was published, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.factor_vae_study.batch_estimates import estimate_lines
from analyses.factor_vae_study.claims.correlation_claims import correlation_lines
from analyses.factor_vae_study.claims.info_gan_claims import gan_lines
from analyses.factor_vae_study.claims.paired_claims import NOTE
from analyses.factor_vae_study.claims.score_claims import score_lines
from analyses.factor_vae_study.claims.score_correlations import correlation_table
from analyses.factor_vae_study.named_runs import BETA
from analyses.factor_vae_study.run_measures import ERROR, OLDER, SCORE
from analyses.factor_vae_study.strength_figures import draw_course, draw_scores, draw_strengths
from analyses.factor_vae_study.total_correlation import ESTIMATE, INFORMATION, NORMAL, TRUE
from analyses.shared.model_runs import table, write_markdown
from geodis import plots

if TYPE_CHECKING:
    import pandas as pd

# With their digits.
COLUMNS = {SCORE: 3, OLDER: 3, ERROR: 1, TRUE: 2, ESTIMATE: 2, NORMAL: 2, INFORMATION: 2}


def write_report(
    rows: pd.DataFrame,
    course: pd.DataFrame,
    preset: Any,
    name: str,
    planned: int,
    words: str,
    out: Path,
) -> None:
    """Write tables and figures of all finished runs.

    Parameters
    ----------
    rows : DataFrame
        "name", "strength", "seed" and what `measure` found.
    course : DataFrame
        "gamma", "seed", "step" and total correlations, a row a look at a FactorVAE.
    preset, name
        The preset, and what it is called.
    planned : int
        Runs in all.
    words : str
        What stands above the tables.
    out : Path
    """
    lines = ["# FactorVAE against beta-VAE", "", words, ""]
    lines += [f"Preset {name}: {preset}; {len(rows)} of {planned} runs are finished.", ""]
    lines += [*_all_strengths(rows), "## How claims are told", "", NOTE, ""]
    lines += score_lines(rows)
    lines += correlation_lines(rows, course)
    lines += gan_lines(rows, preset)
    lines += correlation_table(rows)
    lines += estimate_lines(rows[rows["name"] == BETA])
    write_markdown(out, lines[:-1])
    plots.save_figure(draw_strengths(rows), out / "strengths.png")
    plots.save_figure(draw_scores(rows), out / "scores.png")
    if not course.empty:
        plots.save_figure(draw_course(course), out / "total_correlation.png")


def _all_strengths(rows: pd.DataFrame) -> list[str]:
    cells = []
    for (name, strength), own in rows.groupby(["name", "strength"]):
        spans = [_span(own, column, digits) for column, digits in COLUMNS.items()]
        cells.append([name, f"{strength:g}", str(len(own)), *spans])
    header = ["model", "beta, gamma or weight", "runs", *COLUMNS]
    note = (
        "Means with the smallest and largest; errors, total correlations (TC) and the information "
        "that latents have on images in nats. Published "
        "(2D Shapes: 64 x 64 pixels, 737,280 images, convolutions, 300,000 steps at a rate of "
        "1e-4, 10 seeds a strength): at reconstruction errors of about 45 FactorVAE (gamma 40) has "
        "a score of .82 and beta-VAE (beta 4) of .73; of the rest there are figures without "
        "numbers. Pictures: by strength as Fig. 4, against each other as Fig. 5."
    )
    return [
        "## All strengths",
        "",
        note,
        "",
        *table(header, cells),
        "",
        "![Reconstruction and scores by strength](strengths.png)",
        "",
        "![Score against reconstruction, and score against score](scores.png)",
        "",
    ]


def _span(own: pd.DataFrame, column: str, digits: int) -> str:
    values = own[column].dropna() if column in own else own["seed"][:0]
    if values.empty:
        return ""
    mean = f"{values.mean():.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({values.min():.{digits}f} to {values.max():.{digits}f})"
