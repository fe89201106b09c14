"""The analysis that sections read: settings, rows and results of the sections."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.check import InputError, check_int
from geodis.base.jobs import check_jobs
from geodis.manifold.preparation.row_measure import Metric, Preparation, RowMeasure
from geodis.report.material import BINS, MAX_POINTS, Material

if TYPE_CHECKING:
    from geodis.inspection import Inspection
    from geodis.manifold.geomancer import GeoManCER
    from geodis.report.sections.distances import DistanceComparison
    from geodis.report.sections.manifold import Factorisation
    from geodis.scores.score_table import ScoreTable

INTERVALS = 30


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a report.

    Attributes
    ----------
    title : str
    about : str
        Text under the title.
    sources : mapping of str to str
        File names of "latents", "factors" and "images".
    groups : list of list of int, or None
        Groups of latents.
    dim, n_factors : int or None
        Estimated if None.
    prepare, metric : as in `GeoManCER`
        For the inspection and the fit; scores and distances use the latents as given.
    max_points, bins, intervals : int
    scores : tuple of str, or None
        Names of scores or families; None selects all that are not slow for so many latents.
    random_state : int or None
    n_jobs : int or None
        Processes for the scores.
    docs : str
        Address of the documentation, for links to the cards of scores; that of the project by
        default. It starts with http: or https:, or is a relative path.
    has_factors, has_images, has_times : bool
        Whether they were given.
    """

    title: str = "Report"
    about: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    groups: Sequence[Sequence[int]] | None = None
    dim: int | None = None
    n_factors: int | None = None
    prepare: Preparation | None = None
    metric: Metric = "euclidean"
    max_points: int = MAX_POINTS
    bins: int = BINS
    intervals: int = INTERVALS
    scores: tuple[str, ...] | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    docs: str = ""
    has_factors: bool = False
    has_images: bool = False
    has_pixels: bool = False
    has_times: bool = False

    def __post_init__(self) -> None:
        RowMeasure(self.prepare, self.metric)  # raises for unknown ones
        for name in ("dim", "n_factors"):
            if (value := getattr(self, name)) is not None:
                check_int(value, name, low=1)
        check_int(self.intervals, "intervals", low=0)
        check_jobs(self.n_jobs)
        if self.random_state is not None:
            check_int(self.random_state, "random_state", low=0)
        # Browsers ignore spaces and control characters in a scheme: "java\tscript:" is executed.
        scheme = re.match(r"([^/?#]*):", re.sub(r"[\x00-\x20]", "", self.docs))
        if scheme and scheme[1].lower() not in ("http", "https"):
            raise InputError(
                "docs must be an address with http: or https:, or a relative path; got "
                f"{self.docs!r}."
            )

    @property
    def compared(self) -> dict[str, Any]:
        """Arguments `prepare` and `metric` of the inspection and the fit.

        Given distances were already converted to coordinates.
        """
        metric = "euclidean" if self.metric == "precomputed" else self.metric
        return {"prepare": self.prepare, "metric": metric}


@dataclass
class Part:
    """The outcome of a section's `compute`.

    Attributes
    ----------
    name : str
        Name of the section.
    value : object
        The result; None if it failed or did not apply.
    failure : str
        Why there is no result.
    applies : bool
        False if a required input was not given.
    notes : list of str
        Warnings raised while it ran.
    seconds : float
    """

    name: str
    value: Any = None
    failure: str = ""
    applies: bool = True
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Results of all sections.

    Attributes
    ----------
    parts : dict of str to Part
        "inspection", "manifold", "scores", "distances" and those of registered sections: the
        result of each, or why there is none.
    material : Material
        The used rows: `material.latents`, `material.factors`.
    settings : ReportSettings
    """

    parts: Mapping[str, Part]
    material: Material
    settings: ReportSettings

    @property
    def inspection(self) -> Inspection | None:
        """The inspection of the points."""
        return self.parts["inspection"].value

    @property
    def manifold(self) -> GeoManCER | None:
        """The fitted estimator."""
        factorisation: Factorisation | None = self.parts["manifold"].value
        return None if factorisation is None else factorisation.est

    @property
    def factorised(self) -> Material | None:
        """The rows to which it was fitted."""
        factorisation: Factorisation | None = self.parts["manifold"].value
        return None if factorisation is None else factorisation.rows

    @property
    def scores(self) -> ScoreTable | None:
        """The scores, with chance levels and intervals."""
        return self.parts["scores"].value

    @property
    def distances(self) -> DistanceComparison | None:
        """The comparison of distances."""
        return self.parts["distances"].value


def versions() -> dict[str, str]:
    """Return the versions of geodis, Python and the main dependencies."""
    import numpy
    import pandas
    import scipy
    import sklearn

    return {
        "geodis": __version__,
        "python": platform.python_version(),
        **{m.__name__: m.__version__ for m in (numpy, scipy, sklearn, pandas)},
    }
