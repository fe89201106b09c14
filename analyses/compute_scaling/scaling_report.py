"""Tables and figure of scores against compute, and of encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analyses.compute_scaling.encoder_files import HEADER, PUBLISHED_ENCODERS, EncoderRow
from analyses.compute_scaling.scaling_runs import (
    SCORES,
    Preset,
    change,
    operations_a_step,
    rise_power,
)
from analyses.shared.model_runs import table, write_markdown
from analyses.shared.studies.verdicts import CANNOT_TELL, REPRODUCED, mean_interval, verdict_above
from geodis import __version__, plots
from geodis.base import to_jsonable, write_json
from geodis.plots import FACTOR_COLORS, MARKERS, tidy

# The figures of the seed have no numbers in the text: power is of seeing a score rise by this.
ASSUMED_RISE = 0.05


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
    claims = scaling_claims(runs, preset)
    content = {
        "preset": name,
        "geodis": __version__,
        "settings": str(preset),
        "claims": claims,
        "encoders": [asdict(row) for row in encoders],
        "rows": runs.to_dict(orient="records"),
    }
    write_json(out / "results.json", to_jsonable(content))
    write_markdown(out, markdown(runs, encoders, preset, name, claims, cost))
    plots.save_figure(draw(runs, preset), out / "compute.png")


def scaling_claims(runs: pd.DataFrame, preset: Preset) -> list[dict[str, Any]]:
    """Whether scores rise with compute: over all of the training, and over its second half."""
    made = []
    steps = sorted(int(step) for step in runs["step"].unique())
    for beta, own in runs.groupby("beta"):
        for score in SCORES:
            for first in dict.fromkeys((steps[0], steps[-2])):
                gained = change(own, score, first, steps[-1])
                found = mean_interval(gained)
                power = rise_power(ASSUMED_RISE, float(gained.std(ddof=1)), len(gained))
                rose = int((gained > 0).sum())
                made.append(
                    {
                        "beta": beta,
                        "score": score,
                        "from": first,
                        "to": steps[-1],
                        "mean": found.value,
                        "low": found.low,
                        "high": found.high,
                        "rose": rose,
                        "seeds": found.n,
                        "power": power,
                        "verdict": verdict_above(found, 0.0),
                    }
                )
    return made


def markdown(
    runs: pd.DataFrame,
    encoders: Sequence[EncoderRow],
    preset: Preset,
    name: str,
    claims: Sequence[dict[str, Any]],
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
        "counts sixteenfold, so that beta weighs as much as on the published images. "
        f"{cost}".rstrip(),
        "",
        "## Does a score rise with compute?",
        "",
        f"The difference of the same seed at two steps, with Student's interval. Power: of seeing "
        f"a rise of {ASSUMED_RISE} with differences that spread as these, simulated.",
        "",
    ]
    header = ["model", "score", "steps", "published", "rise", "seeds that rose", "power", "verdict"]
    lines += table(header, [_claim_cells(claim) for claim in claims])
    lines += ["", "![compute](compute.png)", "", "## Means at every step", ""]
    rows = []
    for (beta, step), own in runs.groupby(["beta", "step"]):
        means = [mean_interval(own[f"score {score}"]) for score in SCORES]
        text = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in means]
        rows.append(
            [_name(beta), f"{int(step):,}", f"{step * operations:.2g}", *text, str(len(own))]
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
        *table(HEADER, [row.cells() for row in encoders]),
        "",
        f"Published: 'scale seems to increase disentanglement'. Over the five published rows "
        f"parameters and MIG have a rank correlation of {rho:.2f}; of all orders of five rows "
        f"{chance:.1%} have as much, so that the table cannot tell.",
    ]
    if said:
        lines += ["", f"Of the published values the untrained codes exceed: {said}."]
    return lines


def exact_rank_test(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """Rank correlation, and the share of all orders that have as large a one.

    Examples
    --------
    >>> exact_rank_test([1, 2, 3], [10, 20, 30])
    (1.0, 0.16666666666666666)
    """
    first, second = stats.rankdata(a), stats.rankdata(b)
    seen = float(np.corrcoef(first, second)[0, 1])
    others = [np.corrcoef(first, order)[0, 1] for order in permutations(second)]
    return round(seen, 12), float(np.mean(np.array(others) >= seen - 1e-12))


def _name(beta: float) -> str:
    return "VAE" if beta == 1 else f"beta = {beta:g}"


def _claim_cells(claim: dict[str, Any]) -> list[str]:
    published = "rises" if claim["beta"] == 4 and claim["score"] == "mig" else "no claim"
    verdict = claim["verdict"]
    if published == "no claim":
        verdict = {REPRODUCED: "rises", CANNOT_TELL: CANNOT_TELL}.get(verdict, "falls")
    return [
        _name(claim["beta"]),
        claim["score"].upper(),
        f"{claim['from']:,} to {claim['to']:,}",
        published,
        f"{claim['mean']:+.3f} ({claim['low']:+.3f} to {claim['high']:+.3f})",
        f"{claim['rose']} of {claim['seeds']}",
        f"{claim['power']:.2f}",
        verdict,
    ]


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
            axis.plot(mean.index * cost, mean, color=color, marker=marker, label=_name(beta))
        axis.set_xscale("log")
        axis.set(xlabel="floating point operations", ylabel=score.upper())
        axis.set_title(f"{score.upper()}: thin lines are seeds", loc="left", fontsize=10)
        tidy(axis)
    axes[0].legend(frameon=False)
    return axes[0]
