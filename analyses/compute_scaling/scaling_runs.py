"""A VAE and a beta-VAE of many seeds, scored while they train: scores against compute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analyses.shared.studies.kept_runs import costed
from analyses.unsupervised_study.narrow_models import COMMON, NarrowBetaVAE
from analyses.unsupervised_study.study_sets import PLAIN, opened, study_set
from geodis import models
from geodis.models.training.train_options import Precision


@dataclass(frozen=True)
class Preset:
    """Published (seed 004): dSprites, MIG of a VAE and of beta = 4 while they train."""

    betas: tuple[float, ...]
    seeds: int
    steps: int
    score_at: tuple[int, ...]
    batch_size: int = 64
    rows: int = 2000
    images: int = 20_000  # of 64 x 64, for the controls of table 1


PRESETS = {
    "quick": Preset((1.0, 4.0), 10, 3000, (60, 125, 250, 500, 1000, 1500)),
    "paper": Preset((1.0, 4.0), 20, 32_000, (125, 250, 500, 1000, 2000, 4000, 8000, 16_000)),
    "tiny-for-tests": Preset((1.0, 4.0), 3, 4, (2,), rows=200, images=300),
}
SCORES = ("mig", "sap")
PRECISION: Precision = "bfloat16"


def train_scaling(preset: Preset, folder: Path, verbose: bool = True) -> models.Sweep:
    """Train what is not trained yet, all seeds of all betas in one stack."""
    with costed(folder):
        return models.sweep(
            folder,
            [{"model": NarrowBetaVAE.__name__, **COMMON, "beta": list(preset.betas)}],
            opened((PLAIN,)),
            seeds=preset.seeds,
            training={
                "steps": preset.steps,
                "batch_size": preset.batch_size,
                "learning_rate": 1e-3,
                "precision": PRECISION,
            },
            scores=list(SCORES),
            score_at=list(preset.score_at),
            n=preset.rows,
            device="cpu",
            stack=32,
            verbose=verbose,
        )


def operations_a_step(preset: Preset) -> float:
    """Floating point operations of one step: six a weight and row (seed 004's Kaplan et al.)."""
    model = NarrowBetaVAE(study_set(PLAIN), **COMMON)
    weights = sum(p.numel() for p in model.parameters() if p.ndim == 2)
    return 6.0 * weights * preset.batch_size


def at_step(table: pd.DataFrame, beta: float, score: str, step: int) -> pd.Series[float]:
    """A score of every seed of one beta at a step, by seed."""
    own = table[(table["beta"] == beta) & (table["step"] == step)]
    values: pd.Series[float] = own.set_index("seed")[f"score {score}"].dropna()
    return values


def pairs_of(first: pd.Series[float], second: pd.Series[float]) -> tuple[list[float], list[float]]:
    """Values of the seeds that both have, in the same order."""
    both = sorted(set(first.index) & set(second.index))
    return [float(first[seed]) for seed in both], [float(second[seed]) for seed in both]
