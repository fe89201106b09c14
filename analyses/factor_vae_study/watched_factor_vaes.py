"""FactorVAEs, trained in stacks and looked at on the way: every run has its course (Fig. 7)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from analyses.factor_vae_study.run_measures import measure
from analyses.factor_vae_study.study_presets import Preset
from analyses.factor_vae_study.total_correlation import total_correlations
from analyses.shared.studies.kept_runs import costed
from analyses.unsupervised_study.narrow_models import NarrowBetaVAE, NarrowFactorVAE
from geodis import FactorGrid, models
from geodis.base import write_json
from geodis.base.journal import plain_digest
from geodis.models.training.run_identity import FORMAT, data_fingerprint

MEASURED, STACKS, LOOK = "measured", "watched", "look"
PRECISION: Literal["bfloat16"] = "bfloat16"


def watched_runs(
    preset: Preset, grid: FactorGrid, folder: Path, train: bool
) -> list[dict[str, Any]]:
    """Train what is not finished, or leave it, and return what was found of all that is.

    Parameters
    ----------
    preset : Preset
    grid : FactorGrid
    folder : Path
        A checkpoint a stack, from which it goes on after any end, and a file of what was found.
    train : bool

    Returns
    -------
    list of dict
        "gamma" and "seed" of a run, "found": what `measure` says of it at its end, and "course":
        "step" and total correlations, a dict a look; nothing of a run that became no number.
    """
    planned, found = preset.planned_factor_vaes, []
    for start in range(0, len(planned), preset.stack):
        runs = planned[start : start + preset.stack]
        identity = _identity(preset, grid, runs)
        path = folder / MEASURED / f"{identity}.json"
        if not path.exists():
            if not train:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with costed(folder):
                write_json(path, _train(preset, grid, runs, folder / STACKS / identity))
        found += json.loads(path.read_text(encoding="utf-8"))
    return found


def factor_vae(preset: Preset, grid: FactorGrid, gamma: float, seed: int) -> NarrowFactorVAE:
    """An untrained FactorVAE with the initial weights of the beta-VAEs of its seed.

    Trained from the same seed it sees their batches and noise too: at gamma 0 it becomes the VAE.
    """
    model = NarrowFactorVAE(grid, gamma=gamma, random_state=seed, **_options(preset))
    plain = NarrowBetaVAE(grid, random_state=seed, **preset.common)
    model.load_state_dict(plain.state_dict(), strict=False)  # all but the discriminator
    return model


def _options(preset: Preset) -> dict[str, Any]:
    return {**preset.common, "discriminator_width": preset.discriminator_width}


def _identity(preset: Preset, grid: FactorGrid, runs: Sequence[tuple[float, int]]) -> str:
    """Name of a stack by all that changes its numbers."""
    return plain_digest(
        {
            "format": FORMAT,
            "revision": NarrowFactorVAE.revision,
            "classes": [kind.__qualname__ for kind in (NarrowFactorVAE, NarrowBetaVAE)],
            "options": {**NarrowFactorVAE.defaults, **_options(preset)},
            "training": [preset.steps, preset.batch_size, preset.rate, PRECISION],
            "looks": [*preset.looks, preset.drawn],
            "data": str(data_fingerprint(grid)),
            "runs": runs,
        }
    )


def _train(
    preset: Preset, grid: FactorGrid, runs: Sequence[tuple[float, int]], checkpoint: Path
) -> list[dict[str, Any]]:
    def look(model: models.Model) -> dict[str, float]:
        return total_correlations(model, grid, preset.drawn)

    stacked = [factor_vae(preset, grid, gamma, seed) for gamma, seed in runs]
    done = models.train_stacked(
        stacked,
        grid,
        preset.steps,
        batch_size=preset.batch_size,
        learning_rate=preset.rate,
        device="cpu",
        options=models.TrainOptions(
            precision=PRECISION,
            adversary_learning_rate=preset.rate,
            callbacks={LOOK: look},
            callback_at=preset.looks,
        ),
        checkpoint=checkpoint,
        random_states=[seed for _, seed in runs],
        verbose=0,
    )
    return [
        {
            "gamma": gamma,
            "seed": seed,
            "found": {} if each.note else measure(model, grid, preset.drawn),
            "course": [] if each.note else _course(each.history),
        }
        for (gamma, seed), model, each in zip(runs, stacked, done, strict=True)
    ]


def _course(history: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Rows of a history that looks made, under their own names."""
    looks = [row for row in history if any(name.startswith(LOOK) for name in row)]
    return [{name.removeprefix(LOOK).strip(): row[name] for name in row} for row in looks]
