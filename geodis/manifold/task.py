"""What all steps on one set of points share: settings, progress, random numbers, what is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from geodis.base.jobs import check_jobs
from geodis.base.progress import Stages
from geodis.manifold.holonomy.eigenfields import FactorRule
from geodis.manifold.local.exact_search import Apart, Search, Searches
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.tangents import TangentMethod

FlatTreatment = Literal["split", "keep"]


@dataclass(frozen=True)
class Settings:
    """What `GeoManCER` was told, resolved; `n_jobs` from None for one, or -1 for every core."""

    tangents: TangentMethod = "curved"
    refinements: int = 2
    rule: FactorRule = "parallel"
    normalized: bool = True
    n_neighbors: int | None = None
    tangent_neighbors: int | None = None
    n_fields: int = 8
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        """Resolve the number of threads, before anything runs."""
        object.__setattr__(self, "n_jobs", check_jobs(self.n_jobs))

    @property
    def refines(self) -> bool:
        """Whether factors are refined: the published tangents have nothing to refine."""
        return self.refinements > 0 and self.tangents == "curved"


def _silent() -> Stages:
    return Stages("", verbose=0)


def _seeded() -> np.random.Generator:
    return np.random.default_rng(0)


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
    stages: Stages = field(default_factory=_silent)
    rng: np.random.Generator = field(default_factory=_seeded)
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
