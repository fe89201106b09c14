"""What is learnt from: images, the factors that count, how many pairs, the choices, the seed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from geodis.base.check import (
    InputError,
    check_choice,
    check_int,
    check_random_state,
    check_real,
    to_numpy,
)
from geodis.base.notes import note_entry
from geodis.base.safetensors_files import read_note
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid
from geodis.distances.factor_distances import FactorKinds, ground_truth, kinds_of_each
from geodis.distances.sampling import PairsBy, sample_pairs

# How losses are learnt, beside the data and how long: the choices, their defaults and checks.

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


# Which pairs of images a loss learns from, and over which factors their distances count.


def as_grid(grid: Any, factors: Any) -> FactorGrid:
    """A grid as it is, or arrays of images with their factors as one."""
    if isinstance(grid, FactorGrid):
        if factors is not None:
            raise InputError("factors belong to an array of images; a grid knows its own.")
    elif factors is None:
        raise InputError("An array of images needs factors, one row an image; got none.")
    else:
        grid = FactorGrid.from_arrays(grid, factors)
    if grid.image_shape is None:
        raise InputError("Images are needed here; got factors without images.")
    if max(grid.image_shape[:2]) < 2:
        raise InputError(
            "A loss is learnt from pixels beside each other, and needs images of more than one; "
            "got images of 1 x 1."
        )
    if len(grid) < 2:
        raise InputError(f"Learning distances needs at least 2 images; got {len(grid)}.")
    return grid


def counted_factors(grid: FactorGrid, only: int | str | Sequence[int | str] | None) -> list[int]:
    """Numbers of the factors that distances are counted over."""
    if isinstance(only, (int, str)):
        only = [only]
    chosen = (
        list(range(len(grid.sizes)))
        if only is None
        else sorted({grid.factor_number(factor) for factor in only})
    )
    if not any(grid.sizes[j] > 1 for j in chosen):
        names = ", ".join(grid.names[j] for j in chosen) or "none"
        raise InputError(f"Distances need a factor with two values or more; got {names}.")
    return chosen


def target_distances(
    grid: FactorGrid, pairs: np.ndarray, columns: list[int], kinds: Sequence[FactorKind]
) -> np.ndarray:
    """Scaled ground-truth distances of pairs over some factors (5.11): float64 (n,).

    Each factor counts as the kind that is given for it.
    """
    left, right = (grid.factors(side)[:, columns] for side in pairs.T)
    sizes, periods = np.array([grid.sizes, grid.periods])[:, columns]
    target = ground_truth(left, right, sizes, kinds=kinds, periods=periods)
    if np.ptp(target) == 0:
        raise InputError(
            f"Ranks need pairs at different distances; all {len(pairs)} pairs have the "
            f"ground-truth distance {target[0]:g}."
        )
    return np.asarray(target, float)


def draw_pairs(
    grid: FactorGrid, n: int, by: Strategy, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """Pairs (n, 2) by a strategy of `sample_pairs`, several in equal shares, or a function."""
    if callable(by):
        pairs = to_numpy(by(grid, n, rng), "pairs")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2:
            raise InputError(f"by must return pairs of shape (n, 2); got shape {pairs.shape}.")
        for side in pairs.T:
            grid.factors(side)  # refuses what is no index of the grid
        return pairs.astype(np.int64)
    ways = [by] if isinstance(by, str) else list(by)
    if not ways:
        raise InputError("by must name a strategy, or several; got none.")
    shares = [len(part) for part in np.array_split(np.empty(n), len(ways))]
    drawn = [
        # A pair of an image with itself has no place among pairs that differ in k factors.
        sample_pairs(
            grid, share, way, self_pairs=self_pairs and way != "differing", random_state=rng
        )
        for way, share in zip(ways, shares, strict=True)
        if share
    ]
    return rng.permutation(np.concatenate(drawn))


def pairs_among_few(
    grid: FactorGrid, n: int, images: int, by: Strategy, self_pairs: bool, rng: np.random.Generator
) -> np.ndarray:
    """At most n pairs that share at most so many images."""
    check_int(images, "images", low=2)
    if by != "random":
        return draw_pairs(grid, min(n, images // 2), by, self_pairs, rng)
    few = rng.choice(len(grid), size=min(images, len(grid)), replace=False)
    count = min(n, len(few) * (len(few) - 1) // 2)
    first, second = np.triu_indices(len(few), 0 if self_pairs else 1)
    chosen = rng.choice(len(first), size=count, replace=False)
    return few[np.stack([first[chosen], second[chosen]], axis=1)]


# The rank correlation of fewer pairs is the luck of the draw: of two pairs it is 1 or -1, and it
# decides when learning stops.
FEWEST_HELD_OUT = 10


@dataclass(frozen=True)
class LearningTask(Generic[Options]):
    """What a loss is learnt from.

    Attributes
    ----------
    grid : FactorGrid
        It has images.
    columns : list of int
        Numbers of the factors that count.
    kinds : tuple of str
        What each of these counts as.
    pairs, held_out : int
        Pairs to learn from and to measure on.
    seed : int
    options : LossOptions
    """

    grid: FactorGrid
    columns: list[int]
    kinds: tuple[FactorKind, ...]
    pairs: int
    held_out: int
    seed: int
    options: Options

    @classmethod
    def of(
        cls,
        grid: FactorGrid,
        options: Options,
        *,
        pairs: int,
        held_out: int,
        random_state: Any,
        checkpoint: str | os.PathLike[str] | None,
    ) -> LearningTask[Options]:
        """Check what was asked for; the seed is that of the checkpoint where none was given."""
        columns = counted_factors(grid, options.only)
        kinds = kinds_of_each(options.kinds or grid.kinds, len(grid.sizes))
        seed = int(check_random_state(random_state).integers(2**31))
        if random_state is None and checkpoint is not None and Path(checkpoint).exists():
            settings = read_note(checkpoint).get("settings")
            seed = note_entry(settings, "seed", int, checkpoint, low=0)
        return cls(
            grid,
            columns,
            tuple(kinds[j] for j in columns),
            check_int(pairs, "pairs", low=2),
            check_int(held_out, "held_out", low=FEWEST_HELD_OUT),
            seed,
            options,
        )

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(h, w, c) of the images."""
        assert self.grid.image_shape is not None
        return self.grid.image_shape

    def distances(self, pairs: np.ndarray) -> np.ndarray:
        """Ground-truth distances that pairs of images should have: float64 (n,)."""
        return target_distances(self.grid, pairs, self.columns, self.kinds)

    def to_note(self) -> dict[str, Any]:
        """What makes learning the same learning, as plain values."""
        # Notes of what was learnt before factors had kinds say the same as those of numbers.
        kinds: dict[str, Any] = {"kinds": list(self.kinds)} if set(self.kinds) - {"numbers"} else {}
        if self.grid.periods != self.grid.sizes:
            kinds["periods"] = [self.grid.periods[j] for j in self.columns]
        return {
            "data": repr(self.grid),
            "only": [self.grid.names[j] for j in self.columns],
            **kinds,
            "pairs": self.pairs,
            "held_out": self.held_out,
            **self.options.to_note(),
            "seed": self.seed,
        }
