"""How models are trained, beside the data and how long: the choices, their defaults and checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.models.model import Plan
from geodis.models.training.early_stopping import EarlyStopping

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
