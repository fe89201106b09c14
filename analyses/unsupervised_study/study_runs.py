"""The sweep of the study: trained in rounds of few seeds, so that what is finished is balanced."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

from analyses.unsupervised_study.narrow_models import COMMON
from analyses.unsupervised_study.study_presets import METHODS, Preset
from analyses.unsupervised_study.study_sets import opened, study_set
from geodis import models
from geodis.models.sweeps.run_folder import row_of
from geodis.models.sweeps.sweep_plan import PlannedRun, ScoringPlan, plan_runs, table_of
from geodis.models.training.run_identity import data_fingerprint

# Cheap enough to be measured at every step of `score_at`; all others are measured at the end.
SCORES = ("mig", "sap")
STACK = 32
SEEDS_A_ROUND = 2


def rounds_of(preset: Preset) -> list[tuple[str, tuple[int, ...]]]:
    """Sets and seeds in the order of training: all sets with the first seeds before any more.

    Examples
    --------
    >>> from analyses.unsupervised_study.study_presets import PRESETS
    >>> rounds_of(PRESETS["quick"])[:5]
    [('plain', (0, 1)), ('color', (0, 1)), ('noisy', (0, 1)), ('scream', (0, 1)), ('plain', (2,))]
    """
    starts = range(0, preset.seeds, SEEDS_A_ROUND)
    groups = [tuple(range(at, min(at + SEEDS_A_ROUND, preset.seeds))) for at in starts]
    return [(name, seeds) for seeds in groups for name in preset.sets]


def train_study(
    preset: Preset, folder: Path, seconds: float | None = None, verbose: bool = True
) -> bool:
    """Train what is not trained yet, round by round; whether all is.

    A round that has begun is finished, however many seconds there are.
    """
    begun = time.process_time()
    for name, seeds in rounds_of(preset):
        if seconds is not None and time.process_time() - begun > seconds:
            return False
        models.sweep(
            folder,
            preset.models(),
            opened((name,)),
            seeds=list(seeds),
            training=preset.training,
            scores=list(SCORES),
            score_at=list(preset.score_at),
            n=preset.rows,
            device="cpu",
            stack=STACK,
            verbose=verbose,
        )
    return True


def planned(preset: Preset, sets: tuple[str, ...] | None = None) -> list[PlannedRun]:
    """All runs of a preset, or those on some of its sets."""
    prints = {name: str(data_fingerprint(study_set(name))) for name in sets or preset.sets}
    scoring = ScoringPlan(SCORES, preset.score_at, preset.rows)
    return plan_runs(
        preset.models(),
        prints,
        range(preset.seeds),
        preset.training,
        scoring,
        device="cpu",
        stack=STACK,
    )


def finished_table(preset: Preset, folder: Path) -> pd.DataFrame:
    """What is finished of the sweep: one row a run and scored step, with method and strength.

    Returns
    -------
    DataFrame
        As `models.sweep` writes it, with "method", "strength" (its number) and "place" (0 for the
        weakest) before.
    """
    runs = planned(preset)
    rows = {run.identity: row_of(folder, run) for run in runs}
    table = table_of(runs, {name: row for name, row in rows.items() if row is not None})
    named = _named_settings(preset)
    keys = {run.identity: named[_key(run.model, dict(run.named))] for run in runs}
    whose = pd.DataFrame(
        [keys[identity] for identity in table["run"]], columns=["method", "strength", "place"]
    )
    return pd.concat([whose, table], axis=1)


def _named_settings(preset: Preset) -> dict[str, tuple[str, float, int]]:
    """Method, strength and its place by what a sweep calls them."""
    named = {}
    for method in preset.methods:
        for place, strength in enumerate(preset.strengths_of(method)):
            kind = METHODS[method]
            settings = {**COMMON, **kind.settings(strength)}
            named[_key(kind.model, settings)] = (method, strength, place)
    return named


def _key(model: str, settings: dict[str, object]) -> str:
    return repr((model, sorted(settings.items())))
