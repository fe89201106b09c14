"""The training loop, with progress, loggers, interrupts and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from geodis.base.check import check_int, checked_options
from geodis.base.progress import Stages
from geodis.base.write import FolderLock
from geodis.models.model import Model
from geodis.models.randomness import kept_generators
from geodis.models.training.checkpoints import checkpoint_folder
from geodis.models.training.during import RunLogger
from geodis.models.training.step import Device, Interrupts
from geodis.models.training.train_options import TrainOptions
from geodis.models.training.training_run import Run, Training


def train(
    model: Model,
    data: Any,
    steps: int = 5000,
    *,
    batch_size: int = 256,
    learning_rate: float | None = None,
    device: Device = "auto",
    options: TrainOptions | None = None,
    checkpoint: str | Path | None = None,
    random_state: int = 0,
    verbose: bool | int = True,
) -> Training:
    """Train a model with Adam.

    Parameters
    ----------
    model : Model
        Trained in place.
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        See `batches.stream_of`.
    steps : int
        Total number of steps, including those before a resume. A resumed run has the same results
        as an uninterrupted one, unless its batches have no known number and start again, which
        `Training.note` reports.
    batch_size : int
        Rows, pairs or triplets in a batch.
    learning_rate : float, optional
        1e-3 by default, unless the model has its own schedule.
    device : {"auto", "cpu", "cuda"} or torch.device
        "auto" uses a GPU if there is one.
    options : TrainOptions, optional
        All other options: supervision, schedules, precision, callbacks.
    checkpoint : path, optional
        Folder for checkpoints, which are written regularly, at Ctrl-C or SIGTERM, and at an error
        of the data, a callback or a logger. If there is a checkpoint, the run resumes from it. The
        finished model is written as by `save_model`. Resuming with anything that would change the
        results is refused: settings, data, initial weights, learning rates, schedules with their
        horizon, precision, device and versions of packages. Your own code is identified by its
        name, its settings and ``TrainOptions.version``: change the version when you change the
        code. Only one process at a time can use a folder.
    random_state : int
        Seed of batches and noise.
    verbose : bool or int
        Show progress with the terms of the loss.

    Returns
    -------
    Training

    Examples
    --------
    >>> import torch
    >>> from geodis.models import AE, VAE, TrainOptions
    >>> model = AE((3,), latents=2)
    >>> done = train(model, torch.rand(64, 3), steps=20, verbose=0)
    >>> done.history[-1]["reconstruction"] < done.history[0]["reconstruction"]
    True
    >>> warm_up = TrainOptions(schedules={"beta": (0.0, 1.0)})
    >>> train(VAE((3,), 2), torch.rand(64, 3), 5, options=warm_up, verbose=0).steps
    5
    """
    options = checked_options(options, TrainOptions)
    check_int(steps, "steps", low=1)
    seed = check_int(random_state, "random_state", low=0)
    folder = None if checkpoint is None else checkpoint_folder(checkpoint)
    with nullcontext() if folder is None else FolderLock(folder):
        run = Run(
            model,
            data,
            steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            device=device,
            options=options,
            folder=folder,
            seed=seed,
        )
        start = time.monotonic()
        # The state of the user's random numbers is restored at the end.
        with (
            closing(run),
            kept_generators(),
            Stages(type(model).__name__, verbose) as stages,
            stages.stage("training"),
            Interrupts() as interrupts,
            _logging(run),
        ):
            model.train()
            try:
                run.catch_up()
                while not run.finished:
                    run.step(stages)
                    run.call_back()
                    run.stop_early()
                    run.save_if_due(interrupts.asked)
                    if interrupts.asked:
                        raise KeyboardInterrupt
            except Exception as error:
                run.keep(error)
                # The same signal may have ended the workers of a DataLoader first.
                if interrupts.asked and run.whole:
                    raise KeyboardInterrupt from error
                raise
        run.done.seconds = time.monotonic() - start
        run.finish()
    return run.done


@contextmanager
def _logging(run: Run) -> Iterator[None]:
    """Start the loggers, and end them even after an error."""
    loggers = [each for each in run.options.loggers if isinstance(each, RunLogger)]
    for logger in loggers:
        logger.begin(run.done.history)
    try:
        yield
    finally:
        for logger in loggers:
            logger.end()
