"""How losses are learnt, beside the data and how long: the choices, their defaults and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.data.grids.grid import FactorGrid
from geodis.distances.factor_distances import FactorKinds
from geodis.distances.sampling import PairsBy

Strategy = PairsBy | Sequence[PairsBy] | Callable[[FactorGrid, int, np.random.Generator], Any]
Symmetry = Literal["d4", "flip", "none"]
LearntSupport = Literal["auto", "full", "same"]
# Choices that are noted by the names of factors, and those of when learning ends.
NOT_NOTED = ("only", "kinds", "patience", "tolerance")


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """What learning kernels and learning features have in common.

    Parameters
    ----------
    only : int, str or sequence of them, optional
        Factors that count in ground-truth distances; the others still vary, and what is learnt
        learns to overlook them.
    kinds : {"numbers", "ordered", "cyclic", "labels"}, or sequence of them, optional
        What every factor of the data counts as in these distances, as for `ground_truth`; by
        default what it is: labels are all equally far apart, and circles go round. "numbers"
        takes all as published.
    by : "random", "factor", "differing", several of them, or callable
        Strategy of `geodis.distances.sample_pairs`, or a function (grid, n, rng) -> (n, 2).
    self_pairs : bool
        Let pairs be of an image with itself, as published.
    alpha : float
        Weight of the augmented term.
    adversarial : bool
        Learn distances that contradict the ground truth: the correlation is minimised.
    patience, tolerance : int, float
        Learning, or a phase of it, ends after so many rounds of 50 steps that gained less than
        this.
    """

    only: int | str | Sequence[int | str] | None = None
    kinds: FactorKinds | None = None
    by: Strategy = "random"
    self_pairs: bool = False
    alpha: float = 1.0
    adversarial: bool = False
    patience: int = 5
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if check_real(self.alpha, "alpha", low=0) == 0:
            raise InputError(
                "alpha must be positive for what is learnt to make a difference; got 0."
            )
        check_int(self.patience, "patience", low=1)
        check_real(self.tolerance, "tolerance")

    def to_note(self) -> dict[str, Any]:
        """What makes learning the same learning, as plain values; when it ends does not."""
        names = [field.name for field in fields(self) if field.name not in NOT_NOTED]
        return {**{name: getattr(self, name) for name in names}, "by": strategy_name(self.by)}


Options = TypeVar("Options", bound=LossOptions)


@dataclass(frozen=True, kw_only=True)
class KernelOptions(LossOptions):
    """Choices of `learn_kernel`.

    Parameters
    ----------
    only, by, self_pairs, alpha, adversarial, patience, tolerance
        As for `LossOptions`.
    kernels : int
        Size of the bank: maps under several kernels are compared together.
    per_channel : bool
        A kernel for each channel instead of one for all.
    support : {"auto", "full", "same"}
        Of the convolution, see `LossKernel`. "auto" is "full", and "same" once the kernel spans
        the image, when every pixel of the result can tell where in the image it is.
    symmetry : {"d4", "flip", "none"}
        Average the kernel over the eight symmetries of the square, over both flips, or not.
    nonnegative : bool
        Take the absolute value of what is learnt.
    l2 : float
        Weight of the kernel's mean square in the objective.

    Examples
    --------
    >>> KernelOptions(kernels=4, nonnegative=False).symmetry
    'd4'
    """

    kernels: int = 1
    per_channel: bool = False
    support: LearntSupport = "auto"
    symmetry: Symmetry = "d4"
    nonnegative: bool = True
    l2: float = 0.0
    patience: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int(self.kernels, "kernels", low=1)
        check_choice(self.support, "support", get_args(LearntSupport))
        check_choice(self.symmetry, "symmetry", get_args(Symmetry))
        check_real(self.l2, "l2", low=0)


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(LossOptions):
    """Choices of `learn_features`.

    Parameters
    ----------
    only, kinds, by, self_pairs, alpha, adversarial, patience, tolerance
        As for `LossOptions`.
    images : int
        Images drawn for each step; held-out pairs are among four times as many.
    learning_rate : float
        Of Adam.

    Examples
    --------
    >>> FeatureOptions(images=64).learning_rate
    0.002
    """

    images: int = 128
    learning_rate: float = 2e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int(self.images, "images", low=2)
        check_real(self.learning_rate, "learning_rate", low=0)


def checked_options(options: Options | None, kind: type[Options]) -> Options:
    """The options of a kind, or those by default."""
    if options is not None and not isinstance(options, kind):
        raise InputError(f"options must be {kind.__name__}; got {type(options).__name__}.")
    return kind() if options is None else options


def strategy_name(by: Strategy) -> str | list[str]:
    """What to write down of a strategy."""
    if callable(by):
        return getattr(by, "__name__", type(by).__name__)
    return by if isinstance(by, str) else list(by)
