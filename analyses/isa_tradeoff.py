"""Disentanglement against reconstruction with independent subspaces as prior (seed 002, Fig. 5, 6).

MIG and the expected log-likelihood log p(x | z) of a VAE with several beta, a beta-TCVAE, an
ISA-VAE and an ISA-TCVAE with the published exponents, and an ISA-VAE that learns its own. With
beta = 1 the parts of the divergence add up to the whole: an ISA-TCVAE is then the ISA-VAE. The
quick preset has binary sprites of 32 x 32 pixels, all of them, and the squares of one orientation,
whose three factors a small network learns in its few steps; ranges over seeds still overlap
there, so that it orders no two models.

Run `python -m analyses.isa_tradeoff --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analyses.shared.model_runs import Row, run_preset, summarise, table, write_markdown
from analyses.shared.run import main_of
from geodis import FactorGrid, Sprites, models, plots, scores
from geodis.models.model_inputs import to_input
from geodis.models.objectives import reconstruction_rows
from geodis.plots import FACTOR_COLORS, MARKERS

OUT = Path(__file__).parent / "results" / "isa_tradeoff"
VAE, TC, ISA, ISA_TC, LEARNT = "VAE", "beta-TCVAE", "ISA-VAE", "ISA-TCVAE", "ISA-VAE, learnt"
SPRITES, SQUARES = "sprites", "squares of one orientation"


@dataclass(frozen=True)
class Preset:
    """Published (seed 002, table 1): 20 latents, batch 2,048, 20 epochs of dSprites."""

    betas: tuple[float, ...]
    seeds: tuple[int, ...]
    steps: int
    batch_size: int
    image_size: int
    network: str
    subspaces: tuple[int, int]
    n_rows: int
    data: tuple[str, ...] = (SPRITES,)


PRESETS = {
    "quick": Preset(
        (1.0, 4.0), (1, 2, 3, 4, 5), 1500, 128, 32, "vector", (5, 2), 3000, (SQUARES, SPRITES)
    ),
    "paper": Preset(
        (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0),
        tuple(range(10)),
        7200,
        2048,
        64,
        "mlp",
        (5, 4),
        10_000,
    ),
    "tiny-for-tests": Preset((1.0,), (0,), 4, 16, 32, "vector", (2, 2), 200),
}


@cache
def dataset(name: str, size: int) -> FactorGrid:
    """Binary sprites, or the squares of one orientation among them: scale, x and y vary."""
    sprites = Sprites(size, binary=True)
    if name == SPRITES:
        return sprites
    factors = sprites.factors(np.arange(len(sprites)))
    kept = np.flatnonzero((factors[:, 0] == 0) & (factors[:, 2] == 0))
    varying = [1, 3, 4]
    names = [sprites.names[j] for j in varying]
    return FactorGrid.from_arrays(sprites.images(kept), factors[kept][:, varying], names=names)


def build(name: str, beta: float, grid: Any, preset: Preset, seed: int) -> models.Model:
    count, size = preset.subspaces
    common: dict[str, Any] = {
        "network": preset.network,
        "loss": "bernoulli",
        "beta": beta,
        "random_state": seed,
    }
    if name in (VAE, TC):
        kind: Any = models.BetaVAE if name == VAE else models.BetaTCVAE
        return kind(grid, count * size, **common)
    learn = "subspaces" if name == LEARNT else "none"
    exponent = 2.0 if name == LEARNT else 2.2
    make: Any = models.ISATCVAE if name == ISA_TC else models.ISAVAE
    return make(grid, subspaces=[(exponent, size)] * count, learn=learn, **common)


def run_case(case: Mapping[str, Any], preset: Preset) -> Row:
    grid = dataset(case["data"], preset.image_size)
    seed = case["seed"]
    model = build(case["model"], case["beta"], grid, preset, seed)
    done = models.train(
        model, grid, preset.steps, batch_size=preset.batch_size, random_state=seed, verbose=0
    )
    index = np.random.default_rng(seed).choice(len(grid), preset.n_rows, replace=False)
    images = grid.images(index)
    latents = models.encode(model, images)
    row: Row = {
        "mig": float(scores.mig(latents, grid.factors(index))),
        "likelihood": expected_log_likelihood(model, images[:2000], seed),
        "trained": str(done),
    }
    if hasattr(model.prior, "exponents"):
        row["exponents"] = sorted(model.prior.exponents[:-1].tolist())
    return row


def expected_log_likelihood(model: models.Model, images: np.ndarray, seed: int) -> float:
    """E log p(x | z) a image, z drawn from q(z|x)."""
    z = models.encode(model, images, sample=True, random_state=seed)
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(images), 500):
            x = to_input(images[start : start + 500], model.shape)
            decoded = model.decode(torch.from_numpy(z[start : start + 500]))
            total -= float(reconstruction_rows(x, decoded, "bernoulli").sum())
    return total / len(images)


def plan(preset: Preset) -> list[Row]:
    return [
        {"data": data, "model": model, "beta": beta, "seed": seed}
        for data in preset.data
        for seed in preset.seeds
        for beta in preset.betas
        for model in (VAE, ISA, LEARNT, TC, ISA_TC)
    ]


def write(rows: list[Row], out: Path, preset: str) -> None:
    lines = [
        "# Independent subspaces as prior",
        "",
        *(__doc__ or "").split("\n\n")[1:2],
        "",
        f"Preset {preset}: {PRESETS[preset]}; sprites rendered here.",
        "",
    ]
    for data in PRESETS[preset].data:
        own = [row for row in rows if row["case"]["data"] == data]
        cells = summarise(own, ["model", "beta"], ["mig", "likelihood"])
        header = ["model", "beta", "seeds", "MIG", "E log p(x given z) an image (nats)"]
        lines += [f"## {data.capitalize()}", "", *table(header, cells), ""]
        learnt = [row for row in own if row["case"]["model"] == LEARNT]
        if learnt:
            lines += [
                "Learnt exponents, sorted: "
                + "; ".join(
                    f"beta {row['case']['beta']:g}, seed {row['case']['seed']}: "
                    + ", ".join(f"{p:.3f}" for p in row["exponents"])
                    for row in learnt
                )
                + ".",
                "",
            ]
    write_markdown(out, lines[:-1])
    plots.save_figure(draw(rows, preset), out / "tradeoff.png")


def draw(rows: Sequence[Row], preset: str) -> Any:
    """MIG against likelihood, a panel a set: means with standard errors, joined over beta."""
    shown = list(dict.fromkeys(row["case"]["data"] for row in rows))
    axes = plots.new_axes(1, len(shown), 5.4 * len(shown), 4.2)[0]
    for axis, data in zip(axes, shown, strict=True):
        for j, name in enumerate((VAE, TC, ISA, ISA_TC, LEARNT)):
            own = [
                row for row in rows if (row["case"]["data"], row["case"]["model"]) == (data, name)
            ]
            if own:
                draw_line(axis, own, name, MARKERS[j], FACTOR_COLORS[j])
        axis.set(xlabel="E log p(x | z) an image (nats); numbers: beta", ylabel="MIG")
        axis.set_title(f"{data.capitalize()}, preset {preset}", loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    return axes[0]


def draw_line(axis: Any, rows: Sequence[Row], name: str, marker: str, color: str) -> None:
    """One model: means over seeds with their standard errors, a point for each beta."""
    points = []
    for beta in sorted({row["case"]["beta"] for row in rows}):
        some = [row for row in rows if row["case"]["beta"] == beta]
        values = np.array([(row["likelihood"], row["mig"]) for row in some])
        error = values.std(axis=0) / np.sqrt(max(len(values) - 1, 1))
        points.append((*values.mean(axis=0), *error, beta))
    x, y, dx, dy, betas = np.array(points).T
    axis.errorbar(x, y, dy, dx, marker=marker, color=color, label=name, ms=6, lw=1, capsize=2)
    for a, b, beta in zip(x, y, betas, strict=True):
        axis.annotate(
            f"{beta:g}", (a, b), xytext=(4, 4), textcoords="offset points", fontsize=7, color=color
        )


def run(preset: str, out: Path) -> bool:
    return run_preset(preset, out, PRESETS, plan, run_case, write)


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
