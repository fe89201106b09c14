"""The section on maps: the position of every row on the map of each factor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.doubts import Doubt, with_sentences
from geodis.plots.figure.sprite_sheet import are_pictures
from geodis.plots.geometry.maps import maps_figure
from geodis.plots.geometry.shown_rows import factor_titles
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.score_cards import render_template
from geodis.report.section import Section, SectionFigure

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER
    from geodis.scores.match_given_factors import MatchedFactor


@dataclass(frozen=True)
class MapOfFactor:
    """Summary of the map of a factor.

    Attributes
    ----------
    title : str
    name : str
        Name of its space; "unknown" if it is undetermined.
    dim, n_coordinates : int
        Dimension of the factor, and number of coordinates of its map.
    residual : float
        Root mean square difference between steps on the map and in the factor, relative to that of
        the steps.
    evidence : tuple of str
        Evidence for the name.
    doubts : tuple of Doubt
        Doubts about the name.
    """

    title: str
    name: str
    dim: int
    n_coordinates: int
    residual: float
    evidence: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class MapsOfFactors:
    """Summary of the maps of all factors, or why there are none.

    Attributes
    ----------
    of : tuple of MapOfFactor
    why_not : str
    given : tuple of MatchedFactor
        The map that matches each given factor.
    n_outliers, n_elsewhere : int
        Rows without a map: outliers, and rows in connected components that are too small or have
        other factors than the largest.
    n_pieces : int
        Number of connected components with maps.
    """

    of: tuple[MapOfFactor, ...]
    why_not: str = ""
    given: tuple[MatchedFactor, ...] = ()
    n_outliers: int = 0
    n_elsewhere: int = 0
    n_pieces: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the summaries, without the coordinates of the rows."""
        return {
            "of": [with_sentences(one) for one in self.of],
            "given": [asdict(one) for one in self.given],
            "n_outliers": self.n_outliers,
            "n_elsewhere": self.n_elsewhere,
            "n_pieces": self.n_pieces,
        }


def describe_maps(est: GeoManCER) -> list[MapOfFactor]:
    """Compute the maps and names of a fitted estimator if necessary, and summarise them."""
    every = zip(factor_titles(est), est.maps_, est.topology_, strict=True)
    return [
        MapOfFactor(
            title,
            topology.name,
            own.dim,
            own.n_coordinates,
            float(own.residual),
            topology.evidence,
            topology.doubts,
        )
        for title, own, topology in every
    ]


class MapsSection(Section):
    """Maps of the factors: coordinates, figures and names."""

    name = "maps"
    title = "A map of each factor"
    about = (
        "A factor is one way in which the data vary independently of the others. Each factor has a "
        "map, on which every row has a position."
    )
    source = (
        "Scaling from landmarks: de Silva and Tenenbaum (2004); maps as rigid as possible: "
        "Sorkine and Alexa (2007)."
    )
    cites = ("desilva2004", "sorkine2007")
    reads = ("manifold",)

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Constant: maps are computed from a limited number of points."""
        return 8.0

    def compute(self, analysis: Analysis) -> MapsOfFactors:
        """Compute the maps, which the estimator stores."""
        if analysis.manifold is None:
            return MapsOfFactors((), "the points were not split into factors.")
        try:
            made = tuple(describe_maps(analysis.manifold))
        except InputError as problem:
            return MapsOfFactors((), str(problem))
        est = analysis.manifold
        known = np.logical_and.reduce([own.known for own in est.maps_])
        return MapsOfFactors(
            made,
            given=_matched(analysis),
            n_outliers=int(est.outliers_.sum()),
            n_elsewhere=int((~known & ~est.outliers_).sum()),
            n_pieces=max(own.n_pieces for own in est.maps_),
        )

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """Linked maps of all factors."""
        if not _made(analysis):
            return []
        est, rows = analysis.manifold, analysis.factorised
        assert est is not None and rows is not None
        images = rows.images_of if are_pictures(rows.images) else None
        walks = analysis.parts.get("walks")
        walked = [] if walks is None or walks.value is None else walks.value.of
        also = sorted({int(row) for walk in walked for row in walk.nearest})
        return [
            SectionFigure(
                "maps",
                lambda: maps_figure(
                    est, images=images, factors=rows.factors, also=also, numbers=rows.rows
                ),
            )
        ]

    def body(self, analysis: Analysis) -> str:
        """Explain how to read the maps and how accurate they are, or why there are none."""
        made, est = analysis.parts[self.name].value, analysis.manifold
        thing = "image" if analysis.settings.has_images else "row"
        if made is None:
            return ""
        opening = "" if est is None else _opening(est, f"{thing}s")
        return render_template("maps.html", maps=made, thing=thing, opening=opening)

    def code(self, analysis: Analysis) -> str:
        """Code for the coordinates and the figure."""
        if not _made(analysis):
            return ""
        return (
            "gd.plots.plot_maps(est)  # est as in the next section\n"
            "est.coordinates(0)  # positions on the map of factor 0; for others est.transform(new)"
        )


def _matched(analysis: Analysis) -> tuple[MatchedFactor, ...]:
    """Match the given factors to the found ones."""
    from geodis.scores.match_given_factors import match_given_factors

    est, rows = analysis.manifold, analysis.factorised
    if est is None or rows is None or rows.factors is None:
        return ()
    try:
        return match_given_factors(est, rows.factors)
    except InputError:  # none of them varies, or too few rows have maps
        return ()


def _opening(est: GeoManCER, things: str) -> str:
    """State the number of maps."""
    if est.n_factors_ == 1:
        return f"No split into independent factors was found: one map shows how the {things} vary."
    return f"{est.n_factors_} factors were found. Each has a map below."


def _made(analysis: Analysis) -> bool:
    part = analysis.parts.get("maps")
    return part is not None and part.value is not None and bool(part.value.of)
