"""What is learnt from: images, the factors that count, how many pairs, the choices, the seed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import numpy as np

from geodis.base.check import check_int, check_random_state
from geodis.base.notes import note_entry
from geodis.base.tensors import read_note
from geodis.data.factors import FactorKind
from geodis.data.grids.grid import FactorGrid
from geodis.distances.factor_distances import kinds_of_each
from geodis.kernels.learning.drawing import counted_factors, target_distances
from geodis.kernels.learning.loss_options import Options

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
