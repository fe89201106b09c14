"""The data, pairs and options from which losses are learnt."""

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

Strategy = PairsBy | Sequence[PairsBy] | Callable[[FactorGrid, int, np.random.Generator], Any]
Symmetry = Literal["d4", "flip", "none"]
LearntSupport = Literal["auto", "full", "same"]
# Options that are noted by the names of factors, or that only decide when learning stops.
NOT_NOTED = ("only", "kinds", "patience", "tolerance")


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """Options that `learn_kernel` and `learn_features` share.

    Parameters
    ----------
    only : int, str or sequence of them, optional
        Factors that count in ground-truth distances. The others still vary, so that the loss
        learns to ignore them.
    kinds : {"numbers", "ordered", "cyclic", "labels"}, or sequence of them, optional
        Kinds of the factors in these distances, as for `ground_truth`; by default the kinds of the
        data: all labels are equally far apart, and cyclic factors wrap around. "numbers" for all
        factors is the published choice.
    by : "random", "factor", "differing", several of them, or callable
        Strategy of `geodis.distances.sample_pairs`, or a function (grid, n, rng) -> (n, 2).
    self_pairs : bool
        Allow pairs of an image with itself, as published.
    alpha : float
        Weight of the augmented term.
    adversarial : bool
        Minimise the correlation, to learn distances that contradict the ground truth.
    patience, tolerance : int, float
        Learning, or a phase of it, stops after this many rounds of 50 steps with a gain below the
        tolerance.
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
        """Return the options that affect learning as plain values, except stopping criteria."""
        names = [field.name for field in fields(self) if field.name not in NOT_NOTED]
        return {**{name: getattr(self, name) for name in names}, "by": strategy_name(self.by)}


@dataclass(frozen=True, kw_only=True)
class KernelOptions(LossOptions):
    """Options of `learn_kernel`.

    Parameters
    ----------
    only, by, self_pairs, alpha, adversarial, patience, tolerance
        As for `LossOptions`.
    kernels : int
        Number of kernels in the bank; the maps of all are compared.
    per_channel : bool
        Learn a kernel for each channel instead of one for all.
    support : {"auto", "full", "same"}
        Support of the convolution, see `LossKernel`. "auto" is "full", or "same" if the kernel
        spans the image, so that pixels of the result can encode their position in the image.
    symmetry : {"d4", "flip", "none"}
        Average the kernel over the eight symmetries of the square, over both flips, or not.
    nonnegative : bool
        Take the absolute value of the learnt weights.
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
    """Options of `learn_features`.

    Parameters
    ----------
    only, kinds, by, self_pairs, alpha, adversarial, patience, tolerance
        As for `LossOptions`.
    images : int
        Number of images per step; held-out pairs are among four times as many.
    learning_rate : float
        Learning rate of Adam.

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


def strategy_name(by: Strategy) -> str | list[str]:
    """Return the name of a strategy."""
    if callable(by):
        return getattr(by, "__name__", type(by).__name__)
    return by if isinstance(by, str) else list(by)


def as_grid(grid: Any, factors: Any) -> FactorGrid:
    """Return a grid unchanged, or make one of images and their factors."""
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
    """Return the numbers of the factors that count in distances."""
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
    """Compute scaled ground-truth distances of pairs over some factors (5.11): float64 (n,).

    `kinds` has the kind of each of these factors.
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
    """Draw pairs (n, 2) by a strategy, several strategies in equal shares, or a function."""
    if callable(by):
        pairs = to_numpy(by(grid, n, rng), "pairs")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2:
            raise InputError(f"by must return pairs of shape (n, 2); got shape {pairs.shape}.")
        for side in pairs.T:
            grid.factors(side)  # raises an error for invalid indices
        return pairs.astype(np.int64)
    ways = [by] if isinstance(by, str) else list(by)
    if not ways:
        raise InputError("by must name a strategy, or several; got none.")
    shares = [len(part) for part in np.array_split(np.empty(n), len(ways))]
    drawn = [
        # Pairs that differ in k factors cannot include pairs of an image with itself.
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
    """Draw at most n pairs of at most this many different images."""
    check_int(images, "images", low=2)
    if by != "random":
        return draw_pairs(grid, min(n, images // 2), by, self_pairs, rng)
    few = rng.choice(len(grid), size=min(images, len(grid)), replace=False)
    count = min(n, len(few) * (len(few) - 1) // 2)
    first, second = np.triu_indices(len(few), 0 if self_pairs else 1)
    chosen = rng.choice(len(first), size=count, replace=False)
    return few[np.stack([first[chosen], second[chosen]], axis=1)]


# The rank correlation of held-out pairs decides when learning stops, and is too noisy for fewer: of
# two pairs it is 1 or -1.
FEWEST_HELD_OUT = 10


Options = TypeVar("Options", bound=LossOptions)


@dataclass(frozen=True)
class LearningTask(Generic[Options]):
    """The data, pairs and options from which a loss is learnt.

    Attributes
    ----------
    grid : FactorGrid
        A grid with images.
    columns : list of int
        Numbers of the factors that count.
    kinds : tuple of str
        The kinds of these factors.
    pairs, held_out : int
        Number of pairs to learn from and to evaluate on.
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
        """Check the arguments; without a random state the seed is that of the checkpoint."""
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
        """Return (h, w, c) of the images."""
        assert self.grid.image_shape is not None
        return self.grid.image_shape

    def distances(self, pairs: np.ndarray) -> np.ndarray:
        """Compute the ground-truth distances of pairs of images: float64 (n,)."""
        return target_distances(self.grid, pairs, self.columns, self.kinds)

    def to_note(self) -> dict[str, Any]:
        """Return everything that affects learning, as plain values."""
        # Notes written before factors had kinds are the same as those for numbers.
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
