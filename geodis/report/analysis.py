"""What step 2 gives: settings, rows and what became of every part; sections read it."""

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
    """What a report was called with.

    Attributes
    ----------
    title : str
    about : str
        What is said under it.
    sources : mapping of str to str
        Names of the files of "latents", "factors" and "images".
    groups : list of list of int, or None
        Latents that belong together.
    dim, n_factors : int or None
        None lets them be estimated and counted.
    prepare, metric : as of `GeoManCER`
        For the first look and the fit; the scores and the distances are of the latents as given.
    max_points, bins, intervals : int
    scores : tuple of str, or None
        Names of scores or families; None is all but what so many latents make dear.
    random_state : int or None
    n_jobs : int or None
        Processes for the scores.
    docs : str
        Address of the documentation, for links to the cards of scores; the project's by default.
        It begins with http: or https:, or is a relative path.
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
        # Browsers overlook spaces and control characters in a scheme: "java\tscript:" runs, too.
        scheme = re.match(r"([^/?#]*):", re.sub(r"[\x00-\x20]", "", self.docs))
        if scheme and scheme[1].lower() not in ("http", "https"):
            raise InputError(
                "docs must be an address with http: or https:, or a relative path; got "
                f"{self.docs!r}."
            )

    @property
    def compared(self) -> dict[str, Any]:
        """How rows are prepared and compared, for the first look and the fit.

        Of given distances the rows are coordinates already.
        """
        metric = "euclidean" if self.metric == "precomputed" else self.metric
        return {"prepare": self.prepare, "metric": metric}


@dataclass
class Part:
    """What became of what a section computes.

    Attributes
    ----------
    name : str
        Of the section.
    value : object
        What was computed; None where it failed or did not apply.
    failure : str
        Why there is none.
    applies : bool
        False where something that it needs was not given.
    notes : list of str
        Warnings while it ran.
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
    """Everything that was computed, which sections read.

    Attributes
    ----------
    parts : dict of str to Part
        "inspection", "manifold", "scores", "distances" and those of sections that were added:
        what each computed, or why it did not.
    material : Material
        The rows that were used: `material.latents`, `material.factors`.
    settings : ReportSettings
    """

    parts: Mapping[str, Part]
    material: Material
    settings: ReportSettings

    @property
    def inspection(self) -> Inspection | None:
        """First look at the points."""
        return self.parts["inspection"].value

    @property
    def manifold(self) -> GeoManCER | None:
        """The fitted estimator."""
        factorisation: Factorisation | None = self.parts["manifold"].value
        return None if factorisation is None else factorisation.est

    @property
    def factorised(self) -> Material | None:
        """The rows that it was fitted to."""
        factorisation: Factorisation | None = self.parts["manifold"].value
        return None if factorisation is None else factorisation.rows

    @property
    def scores(self) -> ScoreTable | None:
        """Every score, with chance levels and intervals."""
        return self.parts["scores"].value

    @property
    def distances(self) -> DistanceComparison | None:
        """Distances, and how far their kinds agree."""
        return self.parts["distances"].value


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    import numpy
    import pandas
    import scipy
    import sklearn

    return {
        "geodis": __version__,
        "python": platform.python_version(),
        **{m.__name__: m.__version__ for m in (numpy, scipy, sklearn, pandas)},
    }
