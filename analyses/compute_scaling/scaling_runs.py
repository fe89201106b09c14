"""A VAE and a beta-VAE of many seeds, scored while they train: scores against compute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from analyses.shared.studies.kept_runs import costed
from analyses.shared.studies.verdicts import LEVEL
from analyses.unsupervised_study.narrow_models import COMMON, NarrowBetaVAE
from analyses.unsupervised_study.study_sets import PLAIN, opened, study_set
from geodis import models


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
                "precision": "bfloat16",
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


def change(table: pd.DataFrame, score: str, first: int, last: int) -> np.ndarray:
    """Of every seed, a score at one step less that at another, shape (seeds,)."""
    wide = table.pivot(index="seed", columns="step", values=f"score {score}")
    gained: np.ndarray = (wide[last] - wide[first]).dropna().to_numpy(float)
    return gained


def rise_power(rise: float, deviation: float, n: int, draws: int = 4000) -> float:
    """How often Student's interval of n normal differences is above 0, for a true mean.

    Examples
    --------
    >>> rise_power(1.0, 0.1, 10, draws=200), rise_power(0.0, 0.1, 10) < 0.05
    (1.0, True)
    """
    if n < 2:
        return 0.0
    drawn = np.random.default_rng(0).normal(rise, deviation, (draws, n))
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(n)
    return float((drawn.mean(axis=1) - half > 0).mean())
