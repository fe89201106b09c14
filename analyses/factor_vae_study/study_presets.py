"""Strengths, seeds and lengths of the study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from analyses.shared.studies.swept_study import StudyPart
from analyses.unsupervised_study.narrow_models import COMMON

# Columns of codes of InfoWGAN-GP, as published: four continuous ones and a category of three.
CONTINUOUS, CATEGORIES = 4, 3


@dataclass(frozen=True)
class Preset:
    """Published: 64 x 64 pixels, convolutions, 300,000 steps of 64 at a rate of 1e-4, 10 seeds.

    The paper's text names betas 1, 4, 5 and 9, gammas 35 and 40, and weights of InfoWGAN-GP from 0
    to 1, .2 and .6 the best.
    """

    betas: tuple[float, ...]
    gammas: tuple[float, ...]
    seeds: int
    steps: int
    looks: tuple[int, ...]  # steps at which the total correlation of FactorVAEs is looked at
    stack: int
    gan_weights: tuple[float, ...]
    gan_seeds: int
    gan_steps: int
    data: str = "thinned sprites"
    image_size: int = 16
    latents: int = COMMON["latents"]
    batch_size: int = 64
    discriminator_width: int = 200
    # Of the models and of the discriminator, alike as published, for a fiftieth of the steps.
    rate: float = 1e-3
    drawn: int = 1000  # latents at which total correlations are computed

    @property
    def common(self) -> dict[str, Any]:
        """What all autoencoders have."""
        return {**COMMON, "latents": self.latents}

    @property
    def planned_factor_vaes(self) -> list[tuple[float, int]]:
        """Gamma and seed of every FactorVAE, all gammas of the first seed before the next."""
        return [(gamma, seed) for seed in range(self.seeds) for gamma in self.gammas]

    def sweeps(self) -> list[StudyPart]:
        """Runs that are measured at their end: beta-VAEs, and InfoWGAN-GPs."""
        training = {
            "steps": self.steps,
            "batch_size": self.batch_size,
            "learning_rate": self.rate,
            "precision": "bfloat16",
        }
        plain = {"model": "NarrowBetaVAE", "beta": list(self.betas), **self.common}
        gan = {
            "model": "InfoWGANGP",
            "information": list(self.gan_weights),
            "latents": CONTINUOUS,
            "categories": CATEGORIES,
        }
        # The highest rates of the published search: generator 1e-3, critic 1e-4.
        gan_training = {
            **training,
            "steps": self.gan_steps,
            "learning_rate": 1e-3,
            "adversary_learning_rate": 1e-4,
            "precision": "float32",
        }
        return [
            StudyPart([plain], self.seeds, training),
            StudyPart([gan], self.gan_seeds, gan_training),
        ]


QUICK = Preset(
    (0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 9.0),
    (10.0, 35.0, 40.0),
    seeds=10,
    steps=6000,
    looks=(500, 1000, 2000, 3000, 4500),
    stack=24,
    gan_weights=(0.2,),
    gan_seeds=6,
    gan_steps=6000,
)

PRESETS = {
    "quick": QUICK,
    "longer": replace(QUICK, seeds=16),
    "paper": Preset(
        (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 16.0),
        (5.0, 10.0, 20.0, 35.0, 40.0, 80.0),
        seeds=20,
        steps=16_000,
        looks=(500, 1000, 2000, 4000, 8000, 12_000),
        stack=30,
        gan_weights=(0.0, 0.2, 0.6, 1.0),
        gan_seeds=10,
        gan_steps=16_000,
    ),
    "tiny-for-tests": Preset(
        (1.0, 4.0),
        (10.0, 40.0),
        seeds=2,
        steps=4,
        looks=(2,),
        stack=4,
        gan_weights=(0.2,),
        gan_seeds=2,
        gan_steps=2,
        data="hearts",
        latents=3,
        discriminator_width=8,
        drawn=50,
    ),
}
