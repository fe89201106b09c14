"""How models are trained, beside the data and how long: the choices, their defaults and checks."""

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

# Early stopping: end a run when a value of its history has not been better for long.


class EarlyStopping:
    """Say that a run is done once a value has not become better for some steps.

    For `TrainOptions.stop_when`, which takes any function of the history.

    Parameters
    ----------
    name : str
        A term, as "reconstruction", or what a callback returns, as "score mig": `TrainOptions` then
        says so to it, and it waits for the first call.
    patience : int
        Steps without a better value.
    least : float
        By how much a value has to be better to count.
    better : {"lower", "higher"}
    average : int
        Rows with this name whose mean is compared: the value of one batch is noisy. Terms have a
        row every tenth step, what a callback returns one every ``callback_every`` steps: mostly 1
        is right for these.

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
        """The same, for a run with callbacks of these names."""
        known = copy(self)
        known._callbacks = tuple(callbacks)
        return known

    def __call__(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Whether the run is done."""
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
        """Say which names there are, unless a callback that was not called yet may bring this."""
        uncalled = {
            each for each in self._callbacks if not any(_is_of(name, each) for name in known)
        }
        if any(_is_of(self.name, each) for each in uncalled):
            return
        names = ", ".join(sorted(known | uncalled))
        raise InputError(f"EarlyStopping needs a name in the history, {names}; got {self.name!r}.")


def _is_of(name: str, callback: str) -> bool:
    """Whether a name in the history is that of a callback, or of one of several it returns."""
    return name == callback or name.startswith(f"{callback} ")


Supervision = Literal["scaled", "factors", "perceived", "differing", "category"]
Precision = Literal["auto", "float32", "bfloat16"]
RowsOn = Literal["auto", "device", "host"]
Prefetch = Literal["auto", "always", "never"]
Callback: TypeAlias = Callable[[Any], Any] | Callable[[Any, Mapping[str, float]], Any]


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Choices of `train`.

    Parameters
    ----------
    adversary_learning_rate : float
        Of the second player of adversarial models.
    prior_learning_rate : float
        Of what a prior learns, such as the exponents of `LpNested`: half the rate of the networks,
        as the reference code of ISA-VAE has it. Schedules of the learning rate leave it as it is.
    supervision : {"scaled", "factors", "perceived", "differing", "category"}
        What orders triplets, see `batches.stream_of`.
    category : int or str, optional
        The factor of a grid that is the category, where supervision is "category".
    schedules : mapping of str to (start, end) or callable, optional
        How settings, and "learning_rate", change with the part of the training that is done, 0 to
        1: in a straight line from start to end (None for the setting's own value), or by a
        function. The model's own schedules hold unless named.
    horizon : int, optional
        Steps over which schedules go from start to end, where they stay; as many as are asked for
        unless given. A run that is to go on beyond must be given it: with another number of steps
        schedules that run over these take another course from the first step on, and `train`
        begins anew, as if that many had been asked for at once.
    precision : {"auto", "float32", "bfloat16"}
        "auto" takes bfloat16 for convolutions where the device computes in it, and in a run that
        goes on what it had. Objectives are computed in float32 in either case.
    rows_on : {"auto", "device", "host"}
        Where the rows of a grid or of arrays lie. "device" keeps all of them where the model is,
        drawn once and bytes as bytes; "host" reads the rows of every batch and sends them. "auto"
        keeps them on a GPU that has room, where the training draws as many. Numbers are the same.
    prefetch : {"auto", "always", "never"}
        Whether a thread draws the next batch while a step is taken: of a grid or of arrays, but not
        of perceived triplets. "auto" does so for a CUDA GPU unless the rows lie there, "always" for
        the CPU too; nothing is drawn ahead elsewhere. Numbers are the same; images of a grid of
        your own that come from torch's own random numbers need "never".
    version : int or str
        Of code of your own: the class of the model, its loss, encoder, decoder and prior, a
        Dataset and what it makes of its items. A run knows these by their qualified names and by
        what they were given, not by their source. Give another version when you change them, and
        checkpoints of the code before are refused.
    checkpoint_every : float
        Seconds between checkpoints.
    callbacks : mapping of str to callable, optional
        Called with the model every `callback_every` steps, and at the end; a number, or a mapping
        of names to numbers, goes into the history. One that needs two arguments gets the terms of
        the step just taken too: "step", as in the history, and the value of every term. See
        `score_during`.
    callback_every : int
    callback_at : sequence of int
        After these steps, and at the end, instead of every so many.
    loggers : sequence of callable
        Told every row of the history as it comes: "step" with every term, every tenth step, or
        with what callbacks returned. See `CSVLogger` and `TensorBoardLogger`.
    stop_when : callable, optional
        History -> whether training is to end; asked after every new row. See `EarlyStopping`.

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


def checked_options(options: TrainOptions | None) -> TrainOptions:
    """The options, or those by default."""
    if options is not None and not isinstance(options, TrainOptions):
        raise InputError(f"options must be TrainOptions; got {type(options).__name__}.")
    return TrainOptions() if options is None else options


def _listed(values: Any, name: str, needed: str) -> list[Any]:
    """Values of a choice that is a sequence."""
    if isinstance(values, str | Mapping):
        raise InputError(f"{name} must be a list of {needed}; got {values!r}.")
    try:
        return list(values)
    except TypeError:
        raise InputError(f"{name} must be a list of {needed}; got {values!r}.") from None


def check_rate(rate: Any, name: str) -> float:
    """Return a learning rate, which is positive."""
    if check_real(rate, name) <= 0:
        raise InputError(f"{name} must be positive; got {rate}.")
    return float(rate)


def with_terms(callbacks: Mapping[str, Callback] | None) -> dict[str, Callable[[Any, Any], Any]]:
    """Callbacks by name, each of them with a place for the model and one for the terms."""
    given: Mapping[str, Any] = callbacks or {}
    return {
        name: callback if takes_terms(callback, name) else partial(_without_terms, callback)
        for name, callback in given.items()
    }


def takes_terms(callback: Any, name: str) -> bool:
    """Whether a callback needs the terms of a step beside the model."""
    needed = "A callback must take the model, or the model and the terms of the step"
    if not callable(callback):
        raise InputError(f"{needed}; got {callback!r} as {name!r}.")
    try:
        signature = inspect.signature(callback)
    except ValueError:  # some that are written in C have none
        return False
    for count in (1, 2):  # a second argument that has a default is the callback's own
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
    """What callbacks return, as numbers by name."""
    answers: dict[str, float] = {}
    for name, callback in callbacks.items():
        value = callback(model, terms)
        if isinstance(value, Mapping):
            answers |= {f"{name} {key}": float(number) for key, number in value.items()}
        elif value is not None:
            answers[name] = float(value)
    return answers


# Settings that change during training: in a straight line, or by a function of the part done.

# Whether a group of parameters has a learning rate that no schedule changes.
OWN_RATE = "own_rate"


def plans_of(
    model: Model, schedules: Mapping[str, Plan] | None, learning_rate: float | None
) -> dict[str, Callable[[float], float]]:
    """The model's own schedules and the given ones, which win, as functions of the part done.

    A learning rate that was asked for stays as it is, unless `schedules` names it.
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
    """Set what is scheduled to its value at this part, 0 to 1, of the training."""
    for name, plan in planned.items():
        value = plan(part)
        if name == "learning_rate":
            for group in optimiser.param_groups:
                if not group[OWN_RATE]:
                    group["lr"] = value
        else:
            setattr(model.settings, name, value)
