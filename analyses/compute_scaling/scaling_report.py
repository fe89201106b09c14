"""Tables and figure of scores against compute, and of encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.compute_scaling import encoder_files, scaling_claims
from analyses.compute_scaling.encoder_files import PUBLISHED_ENCODERS, EncoderRow
from analyses.compute_scaling.scaling_claims import (
    MARGIN,
    ScalingClaim,
    exact_rank_sum,
    exact_rank_test,
    margin_of,
    name_of,
)
from analyses.compute_scaling.scaling_runs import PRECISION, SCORES, Preset, operations_a_step
from analyses.shared.model_runs import table, write_markdown
from analyses.shared.studies.verdicts import mean_interval
from geodis import __version__, plots
from geodis.base import to_jsonable, write_json
from geodis.plots import FACTOR_COLORS, MARKERS, tidy


def write_scaling(
    runs: pd.DataFrame,
    encoders: Sequence[EncoderRow],
    preset: Preset,
    name: str,
    out: Path,
    cost: str,
) -> None:
    """Write results.json, results.md and the figure."""
    out.mkdir(parents=True, exist_ok=True)
    claims = scaling_claims.scaling_claims(runs)
    content = {
        "preset": name,
        "geodis": __version__,
        "settings": str(preset),
        "cost": cost,
        "claims": [asdict(claim) for claim in claims],
        "encoders": [asdict(row) for row in encoders],
        "rows": runs.to_dict(orient="records"),
    }
    write_json(out / "results.json", to_jsonable(content))
    write_markdown(out, markdown(runs, encoders, preset, name, claims, cost))
    plots.save_figure(draw(runs, preset), out / "compute.png")


def markdown(
    runs: pd.DataFrame,
    encoders: Sequence[EncoderRow],
    preset: Preset,
    name: str,
    claims: Sequence[ScalingClaim],
    cost: str,
) -> list[str]:
    """Lines of results.md."""
    operations = operations_a_step(preset)
    lines = [
        "# Scores against compute",
        "",
        f"Preset {name}: {preset.seeds} seeds of each beta, {preset.steps:,} steps of "
        f"{preset.batch_size} images, {operations / 1e6:.0f} million operations a step (six a "
        "weight and row). Published (seed 004, Figs. 6 and 7): MIG of a VAE and of a beta-VAE with "
        "beta = 4 on dSprites of 64 x 64 pixels, few runs, figures without numbers in the text: "
        "'MIG increase with scale' for beta = 4, 'results are still inconclusive'. Here: 46,080 "
        "sprites of 16 x 16 pixels, perceptrons of 128-128 units; the reconstruction of a pixel "
        f"counts sixteenfold, so that beta weighs as much as on the published images; {PRECISION}. "
        + cost,
        "",
        "## Does a score rise with compute, and does the algorithm matter?",
        "",
        "Differences of the same seed, with Student's interval, and p of the exact sign-flip test, "
        "two-sided. What would matter is a convention: of MIG "
        f"{MARGIN:g}, of SAP a third of its mean over all runs at the last step, "
        f"{margin_of(runs, 'sap'):.3g}. Reproduced where p is below .05 and the mean above zero "
        "('matters': on either side), not reproduced where p is not, and the interval leaves out "
        "what would matter; else the power to see that much. The paper says nothing of the second "
        "half of a training: its words on all of it stand there too. Not corrected for the number "
        "of differences.",
        "",
    ]
    lines += table(scaling_claims.HEADER, [claim.cells() for claim in claims])
    lines += ["", "![compute](compute.png)", "", "## Means at every step", ""]
    rows = []
    for (beta, step), own in runs.groupby(["beta", "step"]):
        means = [mean_interval(own[f"score {score}"]) for score in SCORES]
        text = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in means]
        rows.append(
            [name_of(beta), f"{int(step):,}", f"{step * operations:.2g}", *text, str(len(own))]
        )
    lines += table(["model", "step", "operations", "MIG", "SAP", "seeds"], rows)
    return [*lines, "", *encoder_lines(encoders)]


def encoder_lines(encoders: Sequence[EncoderRow]) -> list[str]:
    """Table 1 of the seed with what is known here beside."""
    sizes = [size for size, _ in PUBLISHED_ENCODERS.values()]
    migs = [mig for _, mig in PUBLISHED_ENCODERS.values()]
    rho, chance = exact_rank_test(sizes, migs)
    found = [row for row in encoders if row.rows and np.isnan(row.published)]
    above = {
        row.name: sum(row.found > mig for mig in migs) for row in found if not np.isnan(row.found)
    }
    said = "; ".join(f"{name} more than {number} of {len(migs)}" for name, number in above.items())
    lines = [
        "## Encoders that were not trained for it (Table 1)",
        "",
        "CLIP's image encoders on dSprites; their weights are not here, and a file of embeddings "
        "fills a row (see `analyses/compute_scaling/encoder_files.py`). Beside them stand codes "
        "that nobody trained, on sprites of 64 x 64 pixels. At chance: with the factors shuffled.",
        "",
        *table(encoder_files.HEADER, [row.cells() for row in encoders]),
        "",
        f"Published: 'scale seems to increase disentanglement'. Over the five published rows "
        f"parameters and MIG have a rank correlation of {rho:.2f}; of all orders of five rows "
        f"{chance:.1%} have as much, so that the table cannot tell.",
        "",
        _vision_transformers(),
    ]
    if said:
        lines += ["", f"Of the published values the untrained codes exceed: {said}."]
    return lines


def _vision_transformers() -> str:
    """What the published table says of transformers against convolutions."""
    kinds: dict[bool, list[float]] = {True: [], False: []}
    for name, (_, mig) in PUBLISHED_ENCODERS.items():
        kinds[name.startswith("ViT")].append(mig)
    chance = exact_rank_sum(kinds[True], kinds[False])
    return (
        "Published: 'ViTs also seem to have better disentanglement with scale than CNNs, yet "
        f"results are still limited'. The means of the published rows are "
        f"{np.mean(kinds[True]):.4f} of {len(kinds[True])} transformers and "
        f"{np.mean(kinds[False]):.4f} of {len(kinds[False])} convolutional nets; the highest of "
        f"all is {max(PUBLISHED_ENCODERS, key=lambda name: PUBLISHED_ENCODERS[name][1])}, a "
        f"convolutional one, and {chance:.0%} of all ways to name two rows transformers rank these "
        "as high: the table cannot tell either. Ours has no such encoders: not run."
    )


def draw(runs: pd.DataFrame, preset: Preset) -> Any:
    """Scores of every seed and their means against operations."""
    axes = plots.new_axes(1, len(SCORES), 9.0, 3.6)[0]
    cost = operations_a_step(preset)
    for axis, score in zip(axes, SCORES, strict=True):
        for number, (beta, own) in enumerate(runs.groupby("beta")):
            color, marker = FACTOR_COLORS[number], MARKERS[number]
            for _, seed in own.groupby("seed"):
                axis.plot(
                    seed["step"] * cost, seed[f"score {score}"], color=color, lw=0.6, alpha=0.4
                )
            mean = own.groupby("step")[f"score {score}"].mean()
            axis.plot(mean.index * cost, mean, color=color, marker=marker, label=name_of(beta))
        axis.set_xscale("log")
        axis.set(xlabel="floating point operations", ylabel=score.upper())
        axis.set_title(f"{score.upper()}: thin lines are seeds", loc="left", fontsize=10)
        tidy(axis)
    axes[0].legend(frameon=False)
    return axes[0]
