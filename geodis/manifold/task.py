"""What all steps on one set of points share: settings, progress, random numbers, what is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_int
from geodis.base.jobs import check_jobs
from geodis.base.progress import Stages
from geodis.manifold.holonomy.eigenfields import FactorRule
from geodis.manifold.local.exact_search import Apart, Search, Searches
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.tangents import TangentMethod

FlatTreatment = Literal["split", "keep"]


@dataclass(frozen=True)
class Settings:
    """The parameters of `GeoManCER`, checked; `n_jobs` is None for one thread, -1 for every core.

    How rows are read, `prepare` and `metric`, is in `RowMeasure`.
    """

    tangents: TangentMethod = "curved"
    refinements: int = 2
    rule: FactorRule = "parallel"
    normalized: bool = True
    n_neighbors: int | None = None
    tangent_neighbors: int | None = None
    n_fields: int = 8
    n_jobs: int | None = None
    dim: int | Literal["auto", "scan"] = "auto"
    n_factors: int | Literal["auto"] = "auto"
    flat: FlatTreatment = "split"
    random_state: Any = 0
    verbose: int = 0

    def __post_init__(self) -> None:
        """Check every value before anything runs."""
        if self.n_neighbors is not None:
            check_int(self.n_neighbors, "n_neighbors", low=1)
        if self.tangent_neighbors is not None:
            check_int(self.tangent_neighbors, "tangent_neighbors", low=2)
        if isinstance(self.dim, str) and self.dim not in ("auto", "scan"):
            raise InputError(f"dim must be a positive integer, 'auto' or 'scan'; got {self.dim!r}.")
        if isinstance(self.n_factors, str):
            check_choice(self.n_factors, "n_factors", ("auto",))
        checked = {
            "tangents": check_choice(self.tangents, "tangents", ("curved", "pca")),
            "refinements": check_int(self.refinements, "refinements", low=0),
            "rule": check_choice(self.rule, "rule", ("parallel", "gap")),
            "normalized": bool(self.normalized),
            "n_jobs": check_jobs(self.n_jobs),
            "dim": self.dim if isinstance(self.dim, str) else check_int(self.dim, "dim", low=1),
            "flat": check_choice(self.flat, "flat", ("split", "keep")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def refines(self) -> bool:
        """Whether factors are refined: the published tangents have nothing to refine."""
        return self.refinements > 0 and self.tangents == "curved"


@dataclass(frozen=True)
class Task:
    """What all steps on one set of points share.

    Attributes
    ----------
    settings : Settings
    stages : Stages
        Timed and shown.
    rng : Generator
    graph : NeighborGraph or None
        The true neighbours, where the caller gave them.
    n_factors : int or None
        Factors, where their number is known.
    leave_whole : bool
        Take the points for one factor, without asking.
    searches : Searches
        The search among the points that is prepared.
    apart : Apart or None
        Rows that are no neighbours of one another.
    """

    settings: Settings = field(default_factory=Settings)
    stages: Stages = field(default_factory=lambda: Stages("", verbose=0))
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    graph: NeighborGraph | None = None
    n_factors: int | None = None
    leave_whole: bool = False
    searches: Searches = field(default_factory=Searches)
    apart: Apart | None = None

    def search(self, points: np.ndarray) -> Search:
        """Exact searches among points, prepared once."""
        return self.searches.among(points, apart=self.apart, n_jobs=self.settings.n_jobs)

    def at(self, rows: np.ndarray) -> Task:
        """The same task on some rows, in their order, of which no graph was given."""
        if self.apart is None:
            return self
        return replace(self, apart=self.apart.rows(rows), searches=Searches())
