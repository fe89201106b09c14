"""Check a sweep before training: build every kind of run and pass it one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import torch

from geodis.base.engines.journal import plain_digest
from geodis.models.randomness import kept_generators
from geodis.models.stacking.model_stack import why_alone
from geodis.models.sweeps.held_grids import GridSource, open_grid
from geodis.models.sweeps.planned_run_folder import planned_model
from geodis.models.sweeps.stacks import kind_of
from geodis.models.sweeps.sweep_plan import PlannedRun, options_of_training
from geodis.models.training.training_run import Run


def look_at_runs(
    runs: Sequence[PlannedRun], data: Mapping[str, tuple[GridSource, str]], device: Any
) -> dict[str, bool]:
    """Build the model, the schedules and a batch of every kind of run, so that errors come early.

    Parameters
    ----------
    runs : sequence of PlannedRun
    data : mapping of str to (source, fingerprint)
    device : as for `train`

    Returns
    -------
    dict of str to bool
        Whether runs cannot be stacked, by `kind_of`.
    """
    alone: dict[str, bool] = {}
    looked: set[str] = set()
    # One data set at a time, the first one last: it is then open when training starts.
    for name in reversed(list(data)):
        for run in runs:
            whole = plain_digest(
                {"model": run.model, "options": dict(run.options), "training": dict(run.training)}
            )
            if run.data == name and f"{name} {whole}" not in looked:
                looked.add(f"{name} {whole}")
                alone[kind_of(run)] = _must_be_alone(run, *data[name], device)
    return alone


def _must_be_alone(run: PlannedRun, source: GridSource, fingerprint: str, device: Any) -> bool:
    grid = open_grid(source, fingerprint, run.data)
    model, training = planned_model(run, grid), run.training
    with kept_generators():
        begun = Run(
            model,
            grid,
            training["steps"],
            batch_size=training["batch_size"],
            learning_rate=training["learning_rate"],
            device=device,
            options=options_of_training(training, rows_on="host", prefetch="never"),
            folder=None,
            seed=run.seed,
        )
        with closing(begun), torch.no_grad():
            drawn = begun.begin_step()
            if callable(
                getattr(model.settings, "loss", None)
            ):  # a blur may be wider than the images
                model.terms(model(drawn.x, begun.size, drawn.labels))
    return bool(why_alone(model))
