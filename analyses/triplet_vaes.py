"""Triplets put ground-truth distances into latents, adaptive ones align them (Fig. 5.1, 5.4, 5.5).

A beta-VAE, an Ada-GVAE, a TVAE and an AdaTVAE, supervised by the scaled ground-truth distance, and
an AdaTVAE that orders its triplets by perceived distance. "Factor rank" is the rank correlation of
latent with ground-truth distances along factors, as published with pairs of a point with itself,
"factor rank, no self pairs" without; "global rank", of random pairs, has none. The geometric mean
over factors is 0 where one of them is not ordered at all, such as the shape of sprites. Linearity
and axis ratio of a model that learnt nothing, whose error is that of the mean image, say nothing.

Run `python -m analyses.triplet_vaes --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analyses.shared.model_runs import Row, run_preset, summarise, table, write_markdown
from analyses.shared.run import main_of
from analyses.shared.vae_cases import BY_FACTOR, Sizes, dataset, evaluate, train_case
from geodis import models, plots
from geodis.models.training.train_options import Supervision
from geodis.plots import FACTOR_COLORS, MARKERS

OUT = Path(__file__).parent / "results" / "triplet_vaes"
DATA = ("XYSquares", "Sprites")
PERCEIVED = "AdaTVAE, perceived"
MODELS = ("BetaVAE", "TVAE", "AdaTVAE", "AdaGVAE", PERCEIVED)
# Published: beta of Ada-TVAE in table A.5, of the others the best of their sweeps on XYSquares.
BETA = {"BetaVAE": 0.000316, "AdaGVAE": 0.000316, "TVAE": 0.01, "AdaTVAE": 0.01, PERCEIVED: 0.01}
COLUMNS = {
    "truth along factors, published": "factor rank",
    "truth along factors": "factor rank, no self pairs",
    "truth random": "global rank",
    "linearity": "linearity",
    "axis": "axis",
    "mig": "MIG",
}

PRESETS = {
    # Small images: a perceptron learns them in a minute, convolutions only begin to.
    "quick": Sizes(
        steps=1200,
        seeds=(0, 1, 2),
        batch_size=64,
        network="vector",
        small=True,
        n_pairs=10_000,
        n_rows=2000,
        n_traversals=100,
    ),
    "paper": Sizes(steps=86_400, seeds=(0, 1, 2), latents=25, network="conv"),
    "tiny-for-tests": Sizes(
        steps=4,
        seeds=(0,),
        batch_size=16,
        latents=3,
        network="vector",
        small=True,
        n_pairs=300,
        n_rows=200,
        n_traversals=4,
    ),
}


def run_case(case: Mapping[str, Any], sizes: Sizes) -> Row:
    grid, seed, name = dataset(case["data"], sizes.small), case["seed"], case["model"]
    kind = models.AdaTVAE if name == PERCEIVED else getattr(models, name)
    model = kind(
        grid,
        sizes.latents,
        network=sizes.network,
        normalise="mean",
        beta=BETA[name],
        standardise=models.channel_moments(grid),
        random_state=seed,
    )
    # Triplets and pairs show a model more images a step; a plain one gets as many.
    batch = sizes.batch_size * 3 // model.groups
    supervision: Supervision = "perceived" if name == PERCEIVED else "scaled"
    done = train_case(model, grid, seed, sizes, batch_size=batch, supervision=supervision)
    return {"trained": str(done), **evaluate(model, grid, "mse", seed, sizes)}


def plan(sizes: Sizes) -> list[Row]:
    return [
        {"data": data, "model": model, "seed": seed}
        for seed in sizes.seeds
        for data in DATA
        for model in MODELS
    ]


def write(rows: list[Row], out: Path, preset: str) -> None:
    lines = [
        "# Triplet autoencoders",
        "",
        *(__doc__ or "").split("\n\n")[1:2],
        "",
        f"Preset {preset}: {PRESETS[preset]}.",
        "",
    ]
    for data in DATA:
        own = [row for row in rows if row["case"]["data"] == data]
        columns = [*COLUMNS, "error", "error of the mean image"]
        header = ["model", "seeds", *COLUMNS.values(), "error", "error of the mean image"]
        lines += [f"## {data}", "", *table(header, summarise(own, ["model"], columns, 4)), ""]
        names = list(dict.fromkeys(key for row in own for key in row if key.startswith(BY_FACTOR)))
        if names:
            header = ["model", "seeds", *(name.removeprefix(BY_FACTOR) for name in names)]
            lines += ["Factor by factor, no self pairs:", ""]
            lines += [*table(header, summarise(own, ["model"], names)), ""]
    write_markdown(out, lines)
    plots.save_figure(draw(rows, preset), out / "triplets.png")


def draw(rows: Sequence[Row], preset: str) -> Any:
    """Every score of every model, a dot a seed."""
    shown = [data for data in DATA if any(row["case"]["data"] == data for row in rows)]
    axes = plots.new_axes(1, len(shown), 5.4 * len(shown), 3.8)[0]
    for axis, data in zip(axes, shown, strict=True):
        for j, model in enumerate(MODELS):
            own = [
                row for row in rows if (row["case"]["data"], row["case"]["model"]) == (data, model)
            ]
            for i, key in enumerate(COLUMNS):
                values = [row[key] for row in own if row[key] is not None]
                axis.plot(
                    [i + 0.15 * (j - 2)] * len(values),
                    values,
                    MARKERS[j],
                    ms=6,
                    alpha=0.8,
                    color=FACTOR_COLORS[j],
                    label=model if i == 0 else None,
                )
        names = [textwrap.fill(name, 11) for name in COLUMNS.values()]
        axis.set_xticks(range(len(COLUMNS)), names, fontsize=9)
        axis.axhline(0, color="#dddddd", lw=0.8, zorder=-1)
        axis.set_ylim(-0.05, 1.03)
        axis.set_title(f"{data}, preset {preset}", loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="outside upper left", ncols=5
    )
    return axes[0]


def run(preset: str, out: Path) -> bool:
    return run_preset(preset, out, PRESETS, plan, run_case, write)


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
