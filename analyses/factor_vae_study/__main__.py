"""FactorVAE against beta-VAE at equal reconstruction, and how it sees correlation (seed 003).

Both are trained over a range of strengths. The FactorVAE score of the paper prunes collapsed
latents; reconstruction is the expected log-likelihood of an image. "At equal reconstruction"
compares every FactorVAE with the beta-VAEs of its seed, in between whose strengths score and
reconstruction are joined by straight lines. The true total correlation is that of q(z), the mean of
the posteriors of the images at hand, at latents drawn from it; the discriminator's estimate is its
mean log-ratio at the same latents. The discriminator has 6 layers of 200 units, not of 1,000.

Run `python -m analyses.factor_vae_study --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analyses.factor_vae_study.batch_estimates import batch_estimates
from analyses.factor_vae_study.factor_vae_report import write_report
from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import KEPT
from analyses.shared.studies.small_sprites import small_sprites
from analyses.shared.studies.swept_study import (
    StudyPart,
    known_of,
    last_rows,
    measure_runs,
    study_options,
    study_table,
    study_words,
    write_study,
)
from geodis import FactorGrid, models, scores
from geodis.models.model_inputs import to_input
from geodis.models.objectives import reconstruction_rows

OUT = Path(__file__).parents[1] / "results" / "factor_vae_study"


@dataclass(frozen=True)
class Preset:
    """Published: 64 x 64 pixels, convolutions, 300,000 steps of 64 at a rate of 1e-4, 10 seeds."""

    betas: tuple[float, ...]
    gammas: tuple[float, ...]
    seeds: int
    steps: int
    course: tuple[int, ...]  # steps at which the estimate is compared with the truth
    stack: int
    gan_weights: tuple[float, ...]
    gan_seeds: int
    gan_steps: int
    data: str = "thinned sprites"
    image_size: int = 16
    latents: int = 10
    batch_size: int = 64
    width: int = 200
    # Of the models and of the discriminator, alike as published, for a hundredth of the steps.
    rate: float = 1e-3
    rows: int = 1000


PRESETS = {
    "quick": Preset(
        (0.5, 1.0, 2.0, 4.0),
        (5.0, 15.0, 40.0),
        seeds=16,
        steps=6000,
        course=(100, 200, 400, 800, 1600, 3200),
        stack=24,
        gan_weights=(0.2,),
        gan_seeds=3,
        gan_steps=1000,
        data="hearts",
    ),
    "paper": Preset(
        (0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
        (2.0, 5.0, 10.0, 20.0, 40.0, 80.0),
        seeds=10,
        steps=16_000,
        course=(250, 500, 1000, 2000, 4000, 8000),
        stack=30,
        gan_weights=(0.1, 0.2, 0.5, 1.0),
        gan_seeds=5,
        gan_steps=16_000,
    ),
    "tiny-for-tests": Preset(
        (0.5, 4.0), (5.0,), 2, 4, (2,), 4, (0.2,), 1, 2, "hearts", latents=3, width=8, rows=100
    ),
}


def study_parts(preset: Preset) -> list[StudyPart]:
    common = {"latents": preset.latents, "network": "vector", "loss": "bernoulli"}
    training = {
        "steps": preset.steps,
        "batch_size": preset.batch_size,
        "learning_rate": preset.rate,
        "adversary_learning_rate": preset.rate,
        "precision": "bfloat16",
    }
    factor = {
        "model": "FactorVAE",
        "gamma": list(preset.gammas),
        "discriminator_width": preset.width,
        **common,
    }
    plain = {"model": "BetaVAE", "beta": list(preset.betas), **common}
    gan = {
        "model": "InfoWGANGP",
        "information": list(preset.gan_weights),
        "latents": 4,
        "categories": 3,
    }
    # Rates of the published search: generator 1e-3, critic 1e-4.
    gan_training = {
        **training,
        "steps": preset.gan_steps,
        "adversary_learning_rate": 1e-4,
        "precision": "float32",
    }
    return [
        StudyPart([plain], preset.seeds, training),
        StudyPart([factor], preset.seeds, training),
        StudyPart([gan], preset.gan_seeds, gan_training),
    ]


def measure(model: models.Model, grid: FactorGrid, rows: int) -> dict[str, float]:
    """Both scores of the paper and, of autoencoders, reconstruction and total correlation."""
    everything = grid.images(np.arange(len(grid)), "auto")
    codes, spreads = models.encode(model, everything, log_variances=True)
    factors = grid.factors(np.arange(len(grid)))
    plain = isinstance(model, models.Autoencoder)
    pruned = {"log_variances": spreads} if plain else {}
    found = {
        "factor_vae": float(scores.factor_vae(codes, factors, random_state=0, **pruned)),
        "beta_vae": float(scores.beta_vae(codes, factors, random_state=0)),
        "mig": float(scores.mig(codes, factors)),
    }
    if plain:
        found |= {
            "log_likelihood": log_likelihood(model, grid, rows),
            **correlation(grid, rows)(model),
        }
    return found


def log_likelihood(model: models.Model, grid: FactorGrid, rows: int) -> float:
    """E log p(x | z) an image, z drawn from q(z|x)."""
    images = grid.images(_drawn(grid, rows), "auto")
    z = torch.from_numpy(models.encode(model, images, sample=True, random_state=0))
    with torch.no_grad():
        x, decoded = to_input(images, model.shape), model.decode(z)
        return -float(reconstruction_rows(x, decoded, "bernoulli").mean())


def correlation(grid: FactorGrid, rows: int) -> Callable[[models.Model], dict[str, float]]:
    """Total correlation, true and as the discriminator and a batch estimate it."""
    parts = models.divergence_during(grid, rows)
    images = grid.images(_drawn(grid, rows), "auto")

    def look(model: models.Model) -> dict[str, float]:
        found = dict(parts(model))
        if model.discriminator is not None:
            z = torch.from_numpy(models.encode(model, images, sample=True, random_state=0))
            with torch.no_grad():
                logits = model.discriminator(z)
            found["total correlation of the discriminator"] = float(
                (logits[:, 0] - logits[:, 1]).mean()
            )
        return found

    return look


def _drawn(grid: FactorGrid, rows: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).choice(len(grid), min(rows, len(grid)), replace=False))


def course_of_correlation(preset: Preset, grid: FactorGrid, folder: Path) -> list[dict[str, Any]]:
    """Estimate and truth while a FactorVAE of every strength is trained (Fig. 7)."""
    trained = [
        models.FactorVAE(
            grid,
            preset.latents,
            network="vector",
            loss="bernoulli",
            gamma=gamma,
            discriminator_width=preset.width,
            random_state=0,
        )
        for gamma in preset.gammas
    ]
    options = models.TrainOptions(
        precision="float32",
        adversary_learning_rate=preset.rate,
        callbacks={"": correlation(grid, preset.rows)},
        callback_at=preset.course,
    )
    done = models.train_stacked(
        trained,
        grid,
        preset.steps,
        batch_size=preset.batch_size,
        learning_rate=preset.rate,
        options=options,
        checkpoint=folder,
        random_states=[0] * len(trained),
        verbose=0,
    )
    return [
        {"gamma": gamma, **{name.strip(): value for name, value in row.items()}}
        for gamma, each in zip(preset.gammas, done, strict=True)
        for row in each.history
        if any("correlation of" in name for name in row)
    ]


def run(name: str, out: Path, runs: Path, parts: int | None) -> bool:
    preset = PRESETS[name]
    grid = small_sprites(preset.data, preset.image_size)
    folder = runs / f"factor_vae_study_{name}"
    table, planned = study_table(
        folder,
        study_parts(preset),
        {preset.data: grid},
        scores=("mig",),
        stack=preset.stack,
        train=parts,
        kept=out / KEPT,
    )
    course: list[dict[str, Any]] = known_of(out, preset, "course", [])
    if not course and (parts is None or parts > 1):
        course = course_of_correlation(preset, grid, folder / "course")
    known: Mapping[str, Any] = known_of(out, preset, "measured", {})
    last = last_rows(table)
    if last.empty:
        return False
    measured = measure_runs(last, folder, known, lambda model: measure(model, grid, preset.rows))
    plain = last[(last["model"] == "BetaVAE") & (last["seed"] == 0)]
    known = known_of(out, preset, "estimates", {})
    estimates = measure_runs(plain, folder, known, lambda model: batch_estimates(model, grid))
    out.mkdir(parents=True, exist_ok=True)
    write_study(out, name, preset, last, measured=measured, course=course, estimates=estimates)
    words = study_words(__doc__, preset.data, folder)
    rows = last.join(_frame(measured), on="run")
    write_report(rows, course, estimates, preset, name, planned, words, out)
    return bool(table["run"].nunique() == planned)


def _frame(measured: Mapping[str, Mapping[str, float]]) -> Any:
    import pandas as pd

    return pd.DataFrame.from_dict(measured, orient="index").add_prefix("found ")


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments, study_options)


if __name__ == "__main__":
    sys.exit(main())
