"""How models are trained, beside the data and how long: the choices, their defaults and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.models.model import Plan

Supervision = Literal["scaled", "factors", "perceived"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Choices of `train`.

    Parameters
    ----------
    adversary_learning_rate : float
        Of the second player of adversarial models.
    supervision : {"scaled", "factors", "perceived"}
        What orders triplets, see `batches.stream_of`.
    schedules : mapping of str to (start, end) or callable, optional
        How settings, and "learning_rate", change with the part of the training that is done, 0 to
        1: in a straight line from start to end (None for the setting's own value), or by a
        function. The model's own schedules hold unless named.
    precision : {"auto", "float32", "bfloat16"}
        "auto" takes bfloat16 for convolutions where the device computes in it. Objectives are
        computed in float32 in either case.
    checkpoint_every : float
        Seconds between checkpoints.
    callbacks : mapping of str to callable, optional
        Called with the model every `callback_every` steps, and at the end; a number, or a mapping
        of names to numbers, goes into the history. See `score_during`.
    callback_every : int

    Examples
    --------
    >>> TrainOptions(schedules={"beta": (0.0, 4.0)}).supervision
    'scaled'
    """

    adversary_learning_rate: float = 1e-4
    supervision: Supervision = "scaled"
    schedules: Mapping[str, Plan] | None = None
    precision: Precision = "auto"
    checkpoint_every: float = 60.0
    callbacks: Mapping[str, Callable[[Any], Any]] | None = None
    callback_every: int = 500

    def __post_init__(self) -> None:
        check_rate(self.adversary_learning_rate, "adversary_learning_rate")
        check_choice(self.supervision, "supervision", get_args(Supervision))
        check_choice(self.precision, "precision", get_args(Precision))
        check_real(self.checkpoint_every, "checkpoint_every", low=0)
        check_int(self.callback_every, "callback_every", low=1)


def check_rate(rate: Any, name: str) -> float:
    """Return a learning rate, which is positive."""
    if check_real(rate, name) <= 0:
        raise InputError(f"{name} must be positive; got {rate}.")
    return float(rate)
