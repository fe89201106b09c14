"""Options of training with their checks; early stopping, callbacks and schedules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.models.model import Model, Plan


class EarlyStopping:
    """Stop a run when a value has not improved for some steps.

    For `TrainOptions.stop_when`, which takes any function of the history.

    Parameters
    ----------
    name : str
        A term, such as "reconstruction", or the result of a callback, such as "score mig".
    patience : int
        Number of steps without improvement.
    least : float
        Smallest change that counts as an improvement.
    better : {"lower", "higher"}
    average : int
        Number of rows whose mean is compared, because the value of one batch is noisy. Terms have
        a row every tenth step. Results of callbacks have one every ``callback_every`` steps; for
        these 1 is usually right.

    Examples
    --------
    >>> stop = EarlyStopping("kl", patience=20, average=1)
    >>> history = [{"step": step, "kl": value} for step, value in [(0, 3.0), (10, 2.0), (20, 2.5)]]
    >>> stop(history), stop([*history, {"step": 30, "kl": 2.1}])
    (False, True)
    """

    def __init__(
        self,
        name: str,
        patience: int,
        *,
        least: float = 0.0,
        better: str = "lower",
        average: int = 10,
    ) -> None:
        self.name = name
        self.patience = check_int(patience, "patience", low=1)
        self.least = check_real(least, "least", low=0)
        self.better = check_choice(better, "better", ("lower", "higher"))
        self.average = check_int(average, "average", low=1)
        self._callbacks: tuple[str, ...] = ()

    def with_callbacks(self, callbacks: Collection[str]) -> EarlyStopping:
        """Return a copy for a run with callbacks of these names."""
        known = copy(self)
        known._callbacks = tuple(callbacks)
        return known

    def __call__(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Return whether to stop the run."""
        rows = [row for row in history if self.name in row]
        if not rows:
            if history and history[-1]["step"] >= self.patience:
                self._refuse_unknown({name for row in history for name in row} - {"step"})
            return False
        steps = np.array([row["step"] for row in rows])
        values = np.array([row[self.name] for row in rows], dtype=float)
        if self.better == "higher":
            values = -values
        if len(values) < self.average:
            return False
        means = np.convolve(values, np.full(self.average, 1 / self.average), mode="valid")
        steps = steps[self.average - 1 :]
        best, since = np.inf, steps[0]
        for step, mean in zip(steps.tolist(), means.tolist(), strict=True):
            if mean < best - self.least:
                best, since = mean, step
        return bool(steps[-1] - since >= self.patience)

    def _refuse_unknown(self, known: set[str]) -> None:
        """Refuse the name, unless a callback that was not yet called may return it."""
        uncalled = {
            each for each in self._callbacks if not any(_is_of(name, each) for name in known)
        }
        if any(_is_of(self.name, each) for each in uncalled):
            return
        names = ", ".join(sorted(known | uncalled))
        raise InputError(f"EarlyStopping needs a name in the history, {names}; got {self.name!r}.")


def _is_of(name: str, callback: str) -> bool:
    """Whether a name in the history comes from a callback."""
    return name == callback or name.startswith(f"{callback} ")


Supervision = Literal["scaled", "factors", "perceived", "differing", "category"]
Precision = Literal["auto", "float32", "bfloat16"]
RowsOn = Literal["auto", "device", "host"]
Prefetch = Literal["auto", "always", "never"]
Callback: TypeAlias = Callable[[Any], Any] | Callable[[Any, Mapping[str, float]], Any]


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of `train`.

    Parameters
    ----------
    adversary_learning_rate : float
        Learning rate of the adversary of adversarial models.
    prior_learning_rate : float
        Learning rate of the prior, such as of the exponents of `LpNested`: half the rate of the
        networks, as in the reference code of ISA-VAE. Schedules of the learning rate do not
        affect it.
    supervision : {"scaled", "factors", "perceived", "differing", "category"}
        How triplets are ordered, see `batches.stream_of`.
    category : int or str, optional
        The factor of a grid that is the category, for supervision "category".
    schedules : mapping of str to (start, end) or callable, optional
        How settings, or "learning_rate", change with the fraction of training that is done, 0 to
        1: linearly from start to end (None for the value of the setting), or by a function. They
        replace the schedules of the model with the same names.
    horizon : int, optional
        Number of steps of the schedules, which are constant afterwards; by default the number of
        steps of the training. Set it if the run will be extended later: otherwise the schedules
        for another number of steps differ from the first step on, and `train` starts again.
    precision : {"auto", "float32", "bfloat16"}
        "auto" is bfloat16 for convolutions if the device supports it; a resumed run keeps its
        precision. Objectives are always computed in float32.
    rows_on : {"auto", "device", "host"}
        Where the rows of a grid or of arrays are stored. "device" draws all rows once and keeps
        them on the device of the model (bytes as bytes); "host" reads and copies the rows of every
        batch. "auto" keeps them on a GPU with enough memory, if training draws at least as many.
        Results are the same.
    prefetch : {"auto", "always", "never"}
        Whether a thread draws the next batch of a grid or of arrays during a step; perceived
        triplets are never prefetched. "auto" prefetches for a CUDA GPU unless it stores the rows,
        "always" also for the CPU; other devices never do. Results are the same, but your own grid
        needs "never" if its images use the random numbers of torch.
    version : int or str
        Version of your own code: the class of the model, its loss, encoder, decoder and prior, or
        a Dataset with its transforms. A run identifies these by their qualified names and
        arguments, not by their source. Change the version when you change the code, and older
        checkpoints are refused.
    checkpoint_every : float
        Seconds between checkpoints.
    callbacks : mapping of str to callable, optional
        Called with the model every `callback_every` steps and at the end. The result, a number or
        a mapping of names to numbers, is added to the history. A callback with two required
        arguments also gets the terms of the last step: "step", as in the history, and the value of
        every term. See `score_during`.
    callback_every : int
    callback_at : sequence of int
        Call after these steps and at the end, instead of at regular intervals.
    loggers : sequence of callable
        Called with every new row of the history: "step" with every term, every tenth step, or with
        the results of callbacks. See `CSVLogger` and `TensorBoardLogger`.
    stop_when : callable, optional
        Maps the history to whether training should end; called after every new row. See
        `EarlyStopping`.

    Examples
    --------
    >>> TrainOptions(schedules={"beta": (0.0, 4.0)}).supervision
    'scaled'
    """

    adversary_learning_rate: float = 1e-4
    prior_learning_rate: float = 5e-4
    supervision: Supervision = "scaled"
    category: int | str | None = None
    schedules: Mapping[str, Plan] | None = None
    horizon: int | None = None
    precision: Precision = "auto"
    rows_on: RowsOn = "auto"
    prefetch: Prefetch = "auto"
    version: int | str = 0
    checkpoint_every: float = 60.0
    callbacks: Mapping[str, Callback] | None = None
    callback_every: int = 500
    callback_at: Sequence[int] = ()
    loggers: Sequence[Callable[[Mapping[str, float]], Any]] = ()
    stop_when: Callable[[Sequence[Mapping[str, float]]], bool] | None = None

    def __post_init__(self) -> None:
        check_rate(self.adversary_learning_rate, "adversary_learning_rate")
        check_rate(self.prior_learning_rate, "prior_learning_rate")
        check_choice(self.supervision, "supervision", get_args(Supervision))
        if (self.supervision == "category") != (self.category is not None):
            raise InputError(
                "category must be given with supervision='category', and only there; got "
                f"{self.category!r} with {self.supervision!r}."
            )
        check_choice(self.precision, "precision", get_args(Precision))
        check_choice(self.rows_on, "rows_on", get_args(RowsOn))
        check_choice(self.prefetch, "prefetch", get_args(Prefetch))
        if self.horizon is not None:
            check_int(self.horizon, "horizon", low=1)
        if not isinstance(self.version, int | str):
            raise InputError(f"version must be a number or a text; got {self.version!r}.")
        check_real(self.checkpoint_every, "checkpoint_every", low=0)
        if not isinstance(self.callbacks, Mapping | None):
            raise InputError(
                'callbacks must be callables by name, such as {"score": score_during(grid)}; got '
                f"{self.callbacks!r}."
            )
        with_terms(self.callbacks)
        check_int(self.callback_every, "callback_every", low=1)
        for step in _listed(self.callback_at, "callback_at", "steps, such as [100, 1000]"):
            check_int(step, "A step of callback_at", low=1)
        for logger in _listed(self.loggers, "loggers", 'loggers, such as [CSVLogger("run.csv")]'):
            if not callable(logger):
                raise InputError(f"A logger must be a callable that takes a row; got {logger!r}.")
        if self.stop_when is not None and not callable(self.stop_when):
            raise InputError(
                "stop_when must be a callable that takes the history, such as "
                f'EarlyStopping("reconstruction", 1000); got {self.stop_when!r}.'
            )
        if isinstance(self.stop_when, EarlyStopping):
            known = self.stop_when.with_callbacks(self.callbacks or {})
            object.__setattr__(self, "stop_when", known)  # the dataclass is frozen


def _listed(values: Any, name: str, needed: str) -> list[Any]:
    """Check that an option is a sequence, and return it as a list."""
    if isinstance(values, str | Mapping):
        raise InputError(f"{name} must be a list of {needed}; got {values!r}.")
    try:
        return list(values)
    except TypeError:
        raise InputError(f"{name} must be a list of {needed}; got {values!r}.") from None


def check_rate(rate: Any, name: str) -> float:
    """Check that a learning rate is positive."""
    if check_real(rate, name) <= 0:
        raise InputError(f"{name} must be positive; got {rate}.")
    return float(rate)


def with_terms(callbacks: Mapping[str, Callback] | None) -> dict[str, Callable[[Any, Any], Any]]:
    """Wrap the callbacks so that all take the model and the terms."""
    given: Mapping[str, Any] = callbacks or {}
    return {
        name: callback if takes_terms(callback, name) else partial(_without_terms, callback)
        for name, callback in given.items()
    }


def takes_terms(callback: Any, name: str) -> bool:
    """Whether a callback needs the terms of a step in addition to the model."""
    needed = "A callback must take the model, or the model and the terms of the step"
    if not callable(callback):
        raise InputError(f"{needed}; got {callback!r} as {name!r}.")
    try:
        signature = inspect.signature(callback)
    except ValueError:  # some functions written in C have none
        return False
    for count in (1, 2):  # optional arguments are not filled
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 2
    raise InputError(f"{needed}; got {name!r}, which takes {signature}.")


def _without_terms(callback: Callable[[Any], Any], model: Any, terms: Any) -> Any:
    return callback(model)


def callback_answers(
    callbacks: Mapping[str, Callable[[Any, Any], Any]], model: Any, terms: Mapping[str, float]
) -> dict[str, float]:
    """Call the callbacks and return their results as numbers by name."""
    answers: dict[str, float] = {}
    for name, callback in callbacks.items():
        value = callback(model, terms)
        if isinstance(value, Mapping):
            answers |= {f"{name} {key}": float(number) for key, number in value.items()}
        elif value is not None:
            answers[name] = float(value)
    return answers


# Key of parameter groups with a constant learning rate.
OWN_RATE = "own_rate"


def plans_of(
    model: Model, schedules: Mapping[str, Plan] | None, learning_rate: float | None
) -> dict[str, Callable[[float], float]]:
    """Make functions of the fraction done from the schedules of the model and the given ones.

    Given schedules replace those of the model. A given learning rate is constant, unless
    `schedules` names it.
    """
    planned: dict[str, Plan] = dict(model.schedules)
    if learning_rate is not None:
        planned.pop("learning_rate", None)
    planned |= schedules or {}
    known = [*model.defaults, "learning_rate"]
    if unknown := sorted(set(planned) - set(known)):
        raise InputError(
            f"schedules must name settings of {type(model).__name__} ({', '.join(known)}); "
            f"got {', '.join(unknown)}."
        )
    own = {**model.chosen, "learning_rate": learning_rate or model.learning_rate}
    return {name: _as_function(name, plan, own[name]) for name, plan in planned.items()}


def _as_function(name: str, plan: Plan, own: float) -> Callable[[float], float]:
    if callable(plan):
        return plan
    if not isinstance(plan, tuple | list) or len(plan) != 2:
        raise InputError(
            f"The schedule of {name} must be (start, end) or a function; got {plan!r}."
        )
    start, end = (check_real(own if value is None else value, name) for value in plan)
    return lambda part: start + (end - start) * part


def follow(
    model: Model,
    optimiser: torch.optim.Optimizer,
    planned: Mapping[str, Callable[[float], float]],
    part: float,
) -> None:
    """Set scheduled values for this fraction, 0 to 1, of the training."""
    for name, plan in planned.items():
        value = plan(part)
        if name == "learning_rate":
            for group in optimiser.param_groups:
                if not group[OWN_RATE]:
                    group["lr"] = value
        else:
            setattr(model.settings, name, value)
