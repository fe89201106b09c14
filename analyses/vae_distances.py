"""Autoencoders learn the distances that their reconstruction loss perceives (Fig. 3.5, 3.12, 4.4).

"data" is the rank correlation of latent with perceived distances, "truth" that of latent with
ground-truth distances, "bound" that of ground truth with what the loss perceives; along factors
(geometric mean over them) and between random pairs, without pairs of a point with itself, and with
them as published. XYSquares whose places do not overlap gives a pixel-wise loss no order along
factors; a loss that compares blurred images sees one. Published tables take every factor as a
number: the shape and the orientation of Sprites, which are none, pull the mean over factors to
zero. Taken as what they are, any two shapes are equally far apart and leave the mean along factors;
the orientation goes round, and still has no order for pixels: a square looks the same after a
quarter of a turn and an ellipse after a half, so that the mean stays zero. MIG and DCI are those of
a beta-VAE; both frameworks are compared by them in `vae_frameworks`.

`levels.png` shows distance matrices at every level of the models of the first seed, along x of a
square or the scale of a sprite, as figures 3.5 (of Cars3D, which needs a file) and 3.11 do.

Run `python -m analyses.vae_distances --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.model_runs import Row, hours_of, run_preset, summarise, table, write_markdown
from analyses.shared.run import main_of
from analyses.shared.studies.seed_claims import NOT_PUBLISHED, SeedClaim, claims_table
from analyses.shared.studies.verdicts import (
    CANNOT_TELL,
    Interval,
    above_power,
    equal_power,
    mean_interval,
    verdict_above,
    verdict_equal,
)
from analyses.shared.vae_cases import KINDS, Sizes, dataset, evaluate, train_case
from geodis import FactorGrid, models, plots
from geodis.distances import traversal_matrix
from geodis.kernels import LossKernel
from geodis.plots import FACTOR_COLORS

OUT = Path(__file__).parent / "results" / "vae_distances"
MSE, BOX, LEARNT = "MSE", "MSE + box blur", "MSE + learnt kernel"
# Weights of the divergence that models learn with, on standardised data: of table A.6 of seed 001
# for the plain loss, heavier for the others on small images;
# images that overlap, or that the loss makes overlap, take a heavier one.
BETA = {MSE: 0.000316, BOX: 0.1, LEARNT: 0.1}
HEAVIER = {"XYSquares, spacing 1": 0.01, "Sprites": 0.01}
RUNS = (
    ("XYSquares", MSE),
    ("XYSquares", BOX),
    ("XYSquares", LEARNT),
    ("XYSquares, spacing 1", MSE),
    ("Sprites", MSE),
)
# Rank correlations of ground truth with what the loss perceives, of random pairs and along factors
# (geometric mean over them), of tables 4.1, 4.2 and 6.1, which have pairs of a point with itself.
PUBLISHED: dict[tuple[str, str], tuple[float | None, float]] = {
    ("XYSquares", MSE): (0.36, 0.58),
    ("XYSquares", BOX): (0.94, 0.97),
    ("XYSquares", LEARNT): (0.96, 0.98),
    ("XYSquares, spacing 1", MSE): (None, 1.00),
    ("Sprites", MSE): (0.38, 0.58),
}
AS_PUBLISHED = ", published"
# Of these the paper shows latent with perceived distances (Fig. 4.4).
OF_FIGURE = (("XYSquares", MSE), ("Sprites", MSE))
# What is near a published correlation, and what "almost perfect" is taken to be at least.
NEAR, PERFECT = 0.1, 0.9
# The truth that the power to call a correlation almost perfect is given for.
MORE_PERFECT = 0.95
# Of the distance matrices: how many traversals they are means of, and the numbers that are kept.
N_TRAVERSED, DIGITS = 32, 4
CLAIMS = tuple(
    SeedClaim(
        f"truth along factors, XYSquares: {first} - {second}",
        "above (Fig. 3.11)" if first == BOX else f"{NOT_PUBLISHED} (table 6.1: the loss alone)",
        {"data": "XYSquares", "loss": first},
        {"data": "XYSquares", "loss": second},
        "truth along factors",
    )
    for first, second in ((BOX, MSE), (LEARNT, MSE), (LEARNT, BOX))
)
PRESETS = {
    # On small images a perceptron is further after a minute than convolutions.
    "quick": Sizes(
        steps=1500,
        seeds=(0, 1, 2),
        batch_size=128,
        network="vector",
        small=True,
        n_pairs=10_000,
        n_rows=2000,
        n_traversals=100,
    ),
    "paper": Sizes(steps=57_600, seeds=(0, 1, 2, 3, 4), latents=25, network="conv"),
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


def loss_of(name: str, sizes: Sizes, seed: int) -> Any:
    """The reconstruction loss: a box of half the image, or a kernel that is learnt here."""
    if name == MSE:
        return "mse"
    radius = 15 if sizes.small else 31
    if name == BOX:
        return LossKernel.box(radius)
    from geodis.kernels import learn_kernel

    grid = dataset("XYSquares", sizes.small)
    steps = min(sizes.steps, 300) if sizes.small else 2000
    return learn_kernel(grid, radius=radius, steps=steps, random_state=seed, verbose=0)


def run_case(case: Mapping[str, Any], sizes: Sizes, checkpoint: Path | None = None) -> Row:
    grid = dataset(case["data"], sizes.small)
    loss, seed = loss_of(case["loss"], sizes, case["seed"]), case["seed"]
    model = models.BetaVAE(
        grid,
        sizes.latents,
        network=sizes.network,
        loss=loss,
        normalise="mean",
        beta=case["beta"],
        standardise=models.channel_moments(grid),
        random_state=seed,
    )
    done = train_case(model, grid, seed, sizes, checkpoint=checkpoint)
    row = {"trained": str(done), **evaluate(model, grid, loss, seed, sizes)}
    if seed == sizes.seeds[0]:
        row["levels"] = levels(model, grid, loss)
    return row


def levels(model: models.Model, grid: FactorGrid, loss: Any) -> dict[str, Any]:
    """Average distance matrices (3.7) along a factor at every level of a model (Fig. 3.5)."""
    factor = "scale" if "scale" in grid.names else grid.names[0]
    starts = np.random.default_rng(0).choice(len(grid), N_TRAVERSED, replace=False)
    index = np.unique(grid.traversal(factor, at=starts))
    images, factors = grid.images(index), grid.factors(index)
    shown, decoded = (
        FactorGrid.from_arrays(x, factors, grid.names, sizes=grid.sizes)
        for x in (images, models.reconstruct(model, images))
    )
    means, log_variances = models.encode(model, images, log_variances=True)
    posteriors = np.concatenate([means, log_variances], axis=1)
    matrix = partial(traversal_matrix, factor=factor, loss=loss, n_traversals=None)
    found = {
        "ground truth": matrix(shown, source="ground truth"),
        "images": matrix(shown),
        "means, L2": matrix(shown, source="latent", code=means, kind="l2"),
        "posteriors, KL": matrix(shown, source="latent", code=posteriors, kind="kl"),
        "reconstructions": matrix(decoded),
    }
    return {
        level: [[float(f"{value:.{DIGITS}g}") for value in line] for line in each]
        for level, each in found.items()
    }


def plan(sizes: Sizes) -> list[Row]:
    return [
        {"data": data, "loss": loss, "beta": HEAVIER.get(data, BETA[loss]), "seed": seed}
        for seed in sizes.seeds
        for data, loss in RUNS
    ]


def write(rows: list[Row], out: Path, preset: str) -> None:
    lines = [
        "# Distances that autoencoders learn",
        "",
        *(__doc__ or "").split("\n\n")[1:2],
        "",
        f"Preset {preset}: {PRESETS[preset]}. {hours_of(rows)}",
        "",
        "Published: sets of 64 x 64 pixels, convolutions, 25 latents, 57,600 steps, as figures but "
        "for the correlations of ground truth with what a loss perceives. Here the squares of the "
        "quick preset are two of 4 pixels on 8 x 8 places of 32 x 32 pixels, and nets perceptrons.",
        "",
        *_beside_published(rows),
        *claims_table(rows, CLAIMS),
    ]
    names = [
        "data random",
        "data along factors",
        "truth random",
        "truth along factors",
        "bound random",
        "bound along factors",
    ]
    for title, suffix in [
        ("Without self pairs", ""),
        ("With self pairs, as published", AS_PUBLISHED),
        ("Without self pairs, factors as what they are", KINDS),
    ]:
        columns = [name + suffix for name in names]
        known = [row for row in rows if columns[-1] in row]
        if not known:
            continue
        cells = summarise(known, ["data", "loss"], columns)
        lines += [f"## {title}", "", *table(["data", "loss", "seeds", *names], cells), ""]
    columns = ["linearity", "axis", "mig", "dci", "error", "error of the mean image"]
    header = ["linearity", "axis", "MIG", "DCI", *columns[4:]]
    cells = summarise(rows, ["data", "loss"], columns, digits=4)
    lines += ["## Latents", "", *table(["data", "loss", "seeds", *header], cells)]
    write_markdown(out, lines)
    plots.save_figure(draw(rows, preset), out / "distances.png")
    if matrices := _matrices(rows):
        title = f"Mean distances along a factor, by level of the model; preset {preset}"
        plots.save_figure(plots.plot_traversal_matrices(matrices, title), out / "levels.png")


def _matrices(rows: Sequence[Row]) -> dict[str, dict[str, np.ndarray]]:
    """Matrices by level, and by data set and loss, of the runs that have them."""
    matrices: dict[str, dict[str, np.ndarray]] = {}
    for row in rows:
        name = f"{row['case']['data']}\n{row['case']['loss']}"
        for level, matrix in row.get("levels", {}).items():
            matrices.setdefault(level, {})[name] = np.array(matrix)
    return matrices


def _beside_published(rows: Sequence[Row]) -> list[str]:
    """Correlations of sets, and of their models, beside the published ones."""
    cells = []
    for (data, loss), published in PUBLISHED.items():
        own = [row for row in rows if (row["case"]["data"], row["case"]["loss"]) == (data, loss)]
        if not own:
            continue
        for name, value in zip(("bound random", "bound along factors"), published, strict=True):
            if value is None:
                continue
            found = mean_interval([row[name + AS_PUBLISHED] for row in own])
            said, power = verdict_equal(found, value, NEAR), equal_power(found, value, NEAR)
            cells.append(_line(data, loss, name, f"{value:.2f}", found, said, power))
        if (data, loss) not in OF_FIGURE:
            continue
        found = mean_interval([row["data along factors" + AS_PUBLISHED] for row in own])
        said, power = verdict_above(found, PERFECT), above_power(found, MORE_PERFECT, PERFECT)
        words = "data along factors", "almost perfect (Fig. 4.4)"
        cells.append(_line(data, loss, *words, found, said, power))
    return [
        "## Beside the published",
        "",
        "With self pairs, means over seeds with Student's interval of 95 %. Reproduced: the "
        f"interval lies within {NEAR:g} of the published value, or above {PERFECT:g} where that is "
        "almost perfect; not reproduced: it lies outside; cannot tell: neither, with the power, "
        "which is the chance to find it reproduced were the truth as published, or "
        f"{MORE_PERFECT:g} where that is almost perfect. Published values of sprites are the "
        "geometric mean of those by factor.",
        "",
        "No latents can follow perceived distances almost perfectly on squares that do not "
        "overlap: all but self pairs, one in eight, are equally far apart, and latents without "
        "ties have a rank correlation of sqrt(3 / 8 x 7 / 8) = .57 with such distances at most.",
        "",
        *table(["data", "loss", "correlation", "published", "seeds", "ours", "verdict"], cells),
        "",
    ]


def _line(
    data: str, loss: str, name: str, published: str, found: Interval, said: str, power: float
) -> list[str]:
    """Cells of a correlation beside the published, the verdict with its power where it fails."""
    if found.n < 2:
        said = "not finished"
    elif said == CANNOT_TELL:
        said += f" (power {power:.2f})"
    return [data, loss, name, published, str(found.n), str(found), said]


def draw(rows: Sequence[Row], preset: str) -> Any:
    """Rank correlations of random pairs and along factors, a dot a seed."""
    pairs = list(dict.fromkeys((row["case"]["data"], row["case"]["loss"]) for row in rows))
    axes = plots.new_axes(1, 2, 9.6, 1.4 + 0.5 * len(pairs))[0]
    kinds = ("data", "truth", "bound")
    labels = ("latent ~ perceived", "latent ~ ground truth", "perceived ~ ground truth")
    for axis, where in zip(axes, ("random", "along factors"), strict=True):
        for j, (kind, label) in enumerate(zip(kinds, labels, strict=True)):
            for i, pair in enumerate(pairs):
                own = [row for row in rows if (row["case"]["data"], row["case"]["loss"]) == pair]
                values = [row[f"{kind} {where}"] for row in own]
                values = [value for value in values if value is not None]
                axis.plot(
                    values,
                    [i + 0.2 * (j - 1)] * len(values),
                    "os^"[j],
                    ms=6,
                    alpha=0.8,
                    color=FACTOR_COLORS[j],
                    label=label if i == 0 else None,
                )
        axis.set_yticks(range(len(pairs)), [f"{data}\n{loss}" for data, loss in pairs])
        axis.invert_yaxis()
        axis.set_xlim(-0.2, 1.03)
        axis.axvline(0, color="#dddddd", lw=0.8, zorder=-1)
        name = "random pairs" if where == "random" else "pairs along a factor"
        axis.set_title(f"Rank correlation, {name}", loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_yticklabels([])
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        handles, labels, frameon=False, fontsize=8, loc="outside upper left", ncols=3
    )
    axes[0].set_xlabel(f"preset {preset}")
    return axes[0]


def run(preset: str, out: Path) -> bool:
    return run_preset(
        preset, out, PRESETS, plan, run_case, write, checkpoints=True, measures=["dci"]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
