"""Two frameworks on sets that are easy or hard to perceive (seed 001, Fig. 3.7 to 7.6).

MIG and DCI disentanglement of a beta-VAE and of an Ada-GVAE, which is told pairs of images that
share factors: on squares whose places overlap or do not (Fig. 3.7, 3.10), with a squared error,
one of blurred images, and one of a kernel that was learnt for the set (Fig. 3.12, 6.4), on an
object whose shades are values of its colour or a factor of their own (Fig. 7.3), and on sprites
before noise (Fig. 7.6; published with photographs). "Error" is beside that of the mean image,
which a model that learnt nothing has. The published figures show the best of many settings; here
each has one, the published strength of the divergence.

Run `python -m analyses.vae_frameworks --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.model_runs import Row, run_preset
from analyses.shared.run import main_of
from analyses.shared.studies.framework_sets import (
    APART,
    MASKED,
    OBJECT,
    OVERLAP,
    SHADES,
    SPRITES,
    PixelSizes,
    framework_set,
)
from analyses.vae_frameworks.framework_report import BOX, FRAMEWORKS, LEARNT, MSE, write_report
from geodis import models, scores
from geodis.kernels import LossKernel, learn_kernel

OUT = Path(__file__).parents[1] / "results" / "vae_frameworks"
# Set, loss and the published strength of the divergence on standardised data (tables A.3 to A.6);
# images that overlap, or that the loss makes overlap, take a heavier one.
RUNS = (
    (APART, MSE, 0.000316),
    (OVERLAP, MSE, 0.00316),
    (APART, BOX, 0.0316),
    (APART, LEARNT, 0.0316),
    (OBJECT, MSE, 0.00316),
    (SHADES, MSE, 0.00316),
    (SPRITES, MSE, 0.00316),
    (MASKED[50], MSE, 0.00316),
    (MASKED[100], MSE, 0.00316),
)

PRESETS = {
    "quick": PixelSizes(
        steps=600,
        seeds=(0, 1, 2, 3, 4, 5),
        batch_size=64,
        network="vector",
        n_rows=2000,
        precision="float32",
        image_size=16,
    ),
    "paper": PixelSizes(steps=57_600, seeds=(0, 1, 2, 3, 4, 5), latents=9, network="conv"),
    "tiny-for-tests": PixelSizes(
        steps=4, seeds=(0, 1), batch_size=16, latents=3, network="vector", n_rows=200, image_size=16
    ),
}


@cache
def loss_of(name: str, image_size: int, steps: int) -> Any:
    """The reconstruction loss: a box of half the image, or a kernel that is learnt here."""
    if name == MSE:
        return "mse"
    radius = image_size // 2 - 1
    if name == BOX:
        return LossKernel.box(radius)
    grid = framework_set(APART, image_size)
    return learn_kernel(grid, radius=radius, steps=steps, random_state=0, verbose=0)


def run_case(case: Mapping[str, Any], sizes: PixelSizes) -> Row:
    grid, seed = framework_set(case["data"], sizes.image_size), case["seed"]
    make: Any = models.model_named(case["model"])
    model = make(
        grid,
        sizes.latents,
        network=sizes.network,
        loss=loss_of(case["loss"], sizes.image_size, min(sizes.steps // 2, 2000)),
        normalise="mean",
        beta=case["beta"],
        standardise=models.channel_moments(grid),
        random_state=seed,
    )
    done = models.train(
        model,
        grid,
        sizes.steps,
        batch_size=sizes.batch_size // model.groups,  # as many images a step
        options=models.TrainOptions(precision=sizes.precision),
        random_state=seed,
        verbose=0,
    )
    index = np.random.default_rng(seed).choice(len(grid), min(sizes.n_rows, len(grid)), False)
    images, factors = grid.images(index), grid.factors(index)
    latents = models.encode(model, images)
    decoded = models.reconstruct(model, images[:1000])
    return {
        "trained": str(done),
        "mig": float(scores.mig(latents, factors)),
        "dci": float(scores.dci(latents, factors, random_state=seed)),
        "error": float(((decoded - images[:1000] / 255.0) ** 2).mean()),
        "error of the mean image": float((images / 255.0).var(axis=0).mean()),
    }


def plan(sizes: PixelSizes) -> list[Row]:
    return [
        {"data": data, "loss": loss, "model": model, "beta": beta, "seed": seed}
        for seed in sizes.seeds
        for data, loss, beta in RUNS
        for model in FRAMEWORKS
    ]


def write(rows: list[Row], out: Path, preset: str) -> None:
    words, sizes = (__doc__ or "").split("\n\n")[1], PRESETS[preset]
    write_report(rows, out, preset, sizes, words, len(plan(sizes)))


def run(preset: str, out: Path) -> bool:
    return run_preset(preset, out, PRESETS, plan, run_case, write)


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
