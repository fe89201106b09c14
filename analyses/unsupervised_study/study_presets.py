"""Methods, strengths, seeds and lengths of the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analyses.unsupervised_study.narrow_models import COMMON
from analyses.unsupervised_study.study_sets import PLAIN, SETS


@dataclass(frozen=True)
class Method:
    """A method: its model, the strengths that it is trained with, and its settings at one."""

    model: str
    strengths: tuple[float, ...]
    settings: Callable[[float], Mapping[str, Any]]


LEARNING_RATE = 1e-3

# Strengths as published: see `narrow_models` for why they suit smaller images.
METHODS = {
    "beta-VAE": Method(
        "NarrowBetaVAE", (1.0, 2.0, 4.0, 6.0, 8.0, 16.0), lambda beta: {"beta": beta}
    ),
    "FactorVAE": Method(
        "NarrowFactorVAE",
        (10.0, 20.0, 30.0, 40.0, 50.0, 100.0),
        # The discriminator learns as fast as the autoencoder, as published.
        lambda gamma: {
            "gamma": gamma,
            "discriminator_width": 200,
            "adversary_learning_rate": LEARNING_RATE,
        },
    ),
    "beta-TCVAE": Method(
        "NarrowBetaTCVAE", (1.0, 2.0, 4.0, 6.0, 8.0, 10.0), lambda beta: {"beta": beta}
    ),
    "DIP-VAE-I": Method(
        "NarrowDIPVAE",
        (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        lambda weight: {"kind": "I", "off_diagonal": weight, "diagonal": 10 * weight},
    ),
    "DIP-VAE-II": Method(
        "NarrowDIPVAE",
        (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        lambda weight: {"kind": "II", "off_diagonal": weight, "diagonal": weight},
    ),
    "AnnealedVAE": Method(
        "NarrowAnnealedVAE",
        (5.0, 10.0, 25.0, 50.0, 75.0, 100.0),
        lambda capacity: {"gamma": 1000.0, "capacity": capacity},
    ),
}


@dataclass(frozen=True)
class Preset:
    """Published (seed 000): 6 methods x 6 strengths x 50 seeds, 300,000 steps, 64 x 64 pixels."""

    strengths: tuple[int, ...]  # places among those of a method
    seeds: int
    steps: int
    score_at: tuple[int, ...]
    sets: tuple[str, ...] = SETS
    methods: tuple[str, ...] = tuple(METHODS)
    batch_size: int = 64
    rows: int = 2000  # that are scored
    precision: str = "float32"

    def models(self) -> list[dict[str, Any]]:
        """Entries of a sweep, one a method and strength."""
        return [
            {"model": METHODS[name].model, **COMMON, **METHODS[name].settings(strength)}
            for name in self.methods
            for strength in self.strengths_of(name)
        ]

    def strengths_of(self, method: str) -> tuple[float, ...]:
        """Strengths of a method, weak to strong."""
        return tuple(METHODS[method].strengths[place] for place in self.strengths)

    @property
    def training(self) -> dict[str, Any]:
        """How all are trained."""
        return {
            "steps": self.steps,
            "batch_size": self.batch_size,
            "learning_rate": LEARNING_RATE,
            "precision": self.precision,
            # Capacities grow over a third of the steps, as published.
            "horizon": max(self.steps // 3, 1),
        }

    @property
    def planned(self) -> int:
        """How many runs there are to be."""
        return len(self.methods) * len(self.strengths) * self.seeds * len(self.sets)


PRESETS = {
    "quick": Preset((2, 4, 5), 3, 2000, (200, 500, 1000)),
    "paper": Preset(tuple(range(6)), 10, 16_000, (1000, 2000, 4000, 8000), precision="bfloat16"),
    "tiny-for-tests": Preset((2, 5), 2, 4, (2,), (PLAIN,), ("beta-VAE", "DIP-VAE-II"), rows=200),
}
