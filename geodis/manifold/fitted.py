"""A fit as an object: what every later question about the points takes, and what was made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from geodis.base.check import InputError, check_int
from geodis.manifold.doubts import Doubt, each_once
from geodis.manifold.flat.flat_axes import FlatAxes
from geodis.manifold.flat.flat_graph import CurveOrder
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.principal import KeptDirections
from geodis.manifold.preparation.row_measure import RowMeasure
from geodis.manifold.split_result import Evidence, Settings, Split

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found, and the points that it was found in.

    It does not change. Maps, names, tests and searches are made of it when they are first asked
    for, and kept by `once`.

    Attributes
    ----------
    settings : Settings
    measure : RowMeasure
        How rows become points.
    n_columns : int
        Columns of the rows, as they were given.
    points : ndarray of shape (n, d)
        The rows, prepared, or the coordinates that distances were scaled to.
    places : ndarray of shape (n, c)
        The points along the directions that were kept; near copies share a place.
    directions : KeptDirections
    outliers : ndarray of bool, shape (n,)
    n_copies : int
        Rows that are near copies of an earlier one.
    groups, times : ndarray of shape (n,), or None
        As they were given; groups as numbers.
    sample_rows : ndarray of int, shape (n,), or None
        The rows that were fitted, where a sample was asked for.
    dimension : DimensionEstimate
        Also where the dimension was given.
    dim : int
    graph : NeighborGraph
    split : Split
        By holonomy, factor within factor, in the directions that were kept.
    flat : FlatAxes
        All factors, with the flat part split.
    evidence : list of Evidence
    order : CurveOrder or None
        Of a curve that was unrolled.
    seconds : dict of str to float
    peak_memory : float
        In MB, at the end of the fit.
    doubts : tuple of Doubt
        What the fit itself doubts.
    late_doubts : tuple of Doubt
        Those of them that checks of the finished fit found.
    """

    settings: Settings
    measure: RowMeasure
    n_columns: int
    points: np.ndarray
    places: np.ndarray
    directions: KeptDirections
    outliers: np.ndarray
    n_copies: int
    groups: np.ndarray | None
    times: np.ndarray | None
    sample_rows: np.ndarray | None
    dimension: DimensionEstimate
    dim: int
    graph: NeighborGraph
    split: Split
    flat: FlatAxes
    evidence: list[Evidence]
    order: CurveOrder | None
    seconds: dict[str, float]
    peak_memory: float
    doubts: tuple[Doubt, ...] = ()
    late_doubts: tuple[Doubt, ...] = ()

    @cached_property
    def axes(self) -> np.ndarray:
        """Axes of all factors in all columns, (n, k, d); NaN where there are none."""
        return self.directions.lift(self.flat.axes)

    @cached_property
    def factor_dims(self) -> np.ndarray:
        """Dimension of every factor, shape (m,)."""
        return np.array(self.flat.dims)

    @cached_property
    def with_axes(self) -> np.ndarray:
        """Which points have axes, shape (n,)."""
        return np.isfinite(self.flat.axes).all(axis=(1, 2))

    @cached_property
    def flat_factors(self) -> np.ndarray:
        """Which factors are flat, shape (m,)."""
        return np.array(self.flat.flat)

    @property
    def basis(self) -> np.ndarray:
        """The directions that were kept, (c, d)."""
        return self.directions.basis

    @property
    def piece(self) -> np.ndarray:
        """The piece of the graph that each point belongs to, shape (n,)."""
        return self.graph.piece

    @property
    def n_factors(self) -> int:
        """Number of factors m."""
        return len(self.flat.dims)

    @property
    def n_jobs(self) -> int | None:
        """Threads."""
        return self.settings.n_jobs

    @property
    def dim_given(self) -> bool:
        """Whether the dimension was given."""
        return not isinstance(self.settings.dim, str)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Bottom of the spectrum of the whole manifold's problem."""
        return self.evidence[0].eigenvalues if self.evidence else np.zeros(0)

    @property
    def converged(self) -> bool:
        """Whether all eigenfields converged."""
        return all(entry["converged"] for entry in self.split.history)

    @property
    def all_doubts(self) -> tuple[Doubt, ...]:
        """Doubts of the fit, then of what was made of it so far."""
        later = [doubt for made in self._made.values() for doubt in getattr(made, "doubts", ())]
        return each_once((*self.doubts, *later))

    @property
    def uncertain(self) -> bool:
        """Whether there are doubts."""
        return bool(self.all_doubts)

    @property
    def confidence(self) -> Any:
        """The `FitConfidence` that was made with the fit; None where it was not asked for."""
        return self.made("confidence")

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _searches(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What was made of the fit under a name: made now if it is not there yet, and kept."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def made(self, name: str) -> Any:
        """What was made under a name; None if nothing was."""
        return self._made.get(name)

    def search(self, name: str, make: Callable[[], Made]) -> Made:
        """Like `once`, for what is quickly made again and is left out of pickles."""
        if name not in self._searches:
            self._searches[name] = make()
        return self._searches[name]

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the searches."""
        return {name: value for name, value in vars(self).items() if name != "_searches"}

    def new_points(self, X: Any, *, name: str = "X") -> np.ndarray:
        """Points (p, d) of new rows, measured like the fitted ones."""
        return self.measure.new_points(X, self.n_columns, name=name)

    def check_factor(self, factor: Any) -> int:
        """Return the number of a factor."""
        return check_int(factor, "factor", low=0, high=self.n_factors - 1)

    def check_rows(self, rows: Any, name: str) -> np.ndarray:
        """Return rows of the fitted points, counted from the first."""
        asked = np.asarray(rows)
        asked = asked if asked.size else asked.astype(int)
        n = len(self.points)
        if not np.issubdtype(asked.dtype, np.integer):
            raise InputError(f"{name} must be rows of the fitted points, integers; got {rows!r}.")
        if asked.size and not (-n <= asked.min() and asked.max() < n):
            outside = asked[(asked < -n) | (asked >= n)].ravel()
            raise InputError(f"{name} must be rows of the {n:,} fitted points; got {outside[0]}.")
        return np.where(asked < 0, asked + n, asked)
