"""The result of a fit, and a cache of everything that is computed from it."""

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
    """The result of a fit together with the fitted points.

    It is immutable. Maps, names, tests and searches are computed from it on demand and cached by
    `once`.

    Attributes
    ----------
    settings : Settings
    measure : RowMeasure
        How rows of the data are turned into points.
    n_columns : int
        Number of columns of the data.
    points : ndarray of shape (n, d)
        The prepared rows, or coordinates found from distances by scaling.
    places : ndarray of shape (n, c)
        The points in the directions that were kept; near copies share a place.
    directions : KeptDirections
    outliers : ndarray of bool, shape (n,)
    n_copies : int
        Number of rows that are near copies of an earlier row.
    groups, times : ndarray of shape (n,), or None
        As given, with groups as numbers.
    sample_rows : ndarray of int, shape (n,), or None
        The rows that were fitted, if a sample was requested.
    dimension : DimensionEstimate
        Estimated even if the dimension was given.
    dim : int
    graph : NeighborGraph
    split : Split
        The split by holonomy, recursively, in the directions that were kept.
    flat : FlatAxes
        The axes of all factors, with the flat part split.
    evidence : list of Evidence
    order : CurveOrder or None
        The order of the points along a curve that was unrolled.
    seconds : dict of str to float
    peak_memory : float
        In MB, at the end of the fit.
    doubts : tuple of Doubt
        Doubts raised during the fit.
    late_doubts : tuple of Doubt
        The doubts among them that were raised by checks of the finished fit.
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
        """Axes of all factors in all columns, (n, k, d); NaN at points without axes."""
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
        """Basis of the directions that were kept, (c, d)."""
        return self.directions.basis

    @property
    def piece(self) -> np.ndarray:
        """Connected component of the graph for every point, shape (n,)."""
        return self.graph.piece

    @property
    def n_factors(self) -> int:
        """Number of factors m."""
        return len(self.flat.dims)

    @property
    def n_jobs(self) -> int | None:
        """Number of threads."""
        return self.settings.n_jobs

    @property
    def dim_given(self) -> bool:
        """Whether the dimension was given."""
        return not isinstance(self.settings.dim, str)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Lowest eigenvalues of the problem on the whole manifold."""
        return self.evidence[0].eigenvalues if self.evidence else np.zeros(0)

    @property
    def converged(self) -> bool:
        """Whether all eigenfields converged."""
        return all(entry["converged"] for entry in self.split.history)

    @property
    def all_doubts(self) -> tuple[Doubt, ...]:
        """Doubts of the fit, followed by those of the results computed from it so far."""
        later = [doubt for made in self._made.values() for doubt in getattr(made, "doubts", ())]
        return each_once((*self.doubts, *later))

    @property
    def uncertain(self) -> bool:
        """Whether there are doubts."""
        return bool(self.all_doubts)

    @property
    def confidence(self) -> Any:
        """The `FitConfidence` of the fit; None if it was not requested."""
        return self.made("confidence")

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _searches(self) -> dict[str, Any]:
        return {}

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return the result with a name; compute it on the first call and cache it."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def made(self, name: str) -> Any:
        """Return the cached result with a name, or None."""
        return self._made.get(name)

    def search(self, name: str, make: Callable[[], Made]) -> Made:
        """Like `once`, for results that are fast to compute and are not pickled."""
        if name not in self._searches:
            self._searches[name] = make()
        return self._searches[name]

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the searches."""
        return {name: value for name, value in vars(self).items() if name != "_searches"}

    def new_points(self, X: Any, *, name: str = "X") -> np.ndarray:
        """Turn new rows into points (p, d) in the same way as the fitted rows."""
        return self.measure.new_points(X, self.n_columns, name=name)

    def check_factor(self, factor: Any) -> int:
        """Check and return the number of a factor."""
        return check_int(factor, "factor", low=0, high=self.n_factors - 1)

    def check_rows(self, rows: Any, name: str) -> np.ndarray:
        """Check row numbers of fitted points, and return them without negative numbers."""
        asked = np.asarray(rows)
        asked = asked if asked.size else asked.astype(int)
        n = len(self.points)
        if not np.issubdtype(asked.dtype, np.integer):
            raise InputError(f"{name} must be rows of the fitted points, integers; got {rows!r}.")
        if asked.size and not (-n <= asked.min() and asked.max() < n):
            outside = asked[(asked < -n) | (asked >= n)].ravel()
            raise InputError(f"{name} must be rows of the {n:,} fitted points; got {outside[0]}.")
        return np.where(asked < 0, asked + n, asked)
