"""Where every row lies on the map of each factor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.doubts import Doubt, with_sentences
from geodis.plots.figure.sprite_sheet import CHANNELS
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
    """What is said of the map of a factor.

    Attributes
    ----------
    title : str
    name : str
        Of its space; "unknown" where the evidence does not tell.
    dim, n_coordinates : int
        Of the factor, and of the space of its map.
    residual : float
        Root mean square of what steps on the map and in the factor differ by, over that of the
        steps.
    evidence : tuple of str
        For the name.
    doubts : tuple of Doubt
        Against it.
    """

    title: str
    name: str
    dim: int
    n_coordinates: int
    residual: float
    evidence: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return with_sentences(self)


@dataclass(frozen=True)
class MapsOfFactors:
    """The maps of all factors, or why there are none.

    Attributes
    ----------
    of : tuple of MapOfFactor
    why_not : str
    given : tuple of MatchedFactor
        Which of them each given factor is.
    n_outliers, n_elsewhere : int
        Rows that are on no map: those far from all others, and those in parts of the data that
        are too small, or differ otherwise than the largest.
    n_pieces : int
        Separate parts that have maps.
    """

    of: tuple[MapOfFactor, ...]
    why_not: str = ""
    given: tuple[MatchedFactor, ...] = ()
    n_outliers: int = 0
    n_elsewhere: int = 0
    n_pieces: int = 1

    def to_dict(self) -> dict[str, Any]:
        """What is said of every map; where the rows lie on it is not repeated."""
        return {
            "of": [one.to_dict() for one in self.of],
            "given": [asdict(one) for one in self.given],
            "n_outliers": self.n_outliers,
            "n_elsewhere": self.n_elsewhere,
            "n_pieces": self.n_pieces,
        }


def describe_maps(est: GeoManCER) -> list[MapOfFactor]:
    """Make the maps and names of a fitted estimator, if they are not yet, and say what they are."""
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
    """Coordinates, pictures and names of factors."""

    name = "maps"
    title = "A map of each factor"
    about = (
        "A factor is one way in which the data vary independently of the others. Each factor has a "
        "map, on which every row has a place."
    )
    source = (
        "Scaling from landmarks: de Silva and Tenenbaum (2004); maps as rigid as possible: "
        "Sorkine and Alexa (2007)."
    )
    cites = ("desilva2004", "sorkine2007")
    reads = ("manifold",)

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Maps are made from at most so many points, whatever there are."""
        return 8.0

    def compute(self, analysis: Analysis) -> MapsOfFactors:
        """Make the maps; the estimator keeps them."""
        if analysis.manifold is None:
            return MapsOfFactors((), "Maps are of factors, and the points were not split into any.")
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
        """The maps, linked."""
        if not _made(analysis):
            return []
        est, rows = analysis.manifold, analysis.factorised
        assert est is not None and rows is not None
        images = rows.images_of if _can_be_seen(rows.images) else None
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
        """How to read the maps and how exact they are, or why there are none."""
        made, est = analysis.parts[self.name].value, analysis.manifold
        thing = "image" if analysis.settings.has_images else "row"
        if made is None:
            return ""
        opening = "" if est is None else _opening(est, f"{thing}s")
        return render_template("maps.html", maps=made, thing=thing, opening=opening)

    def code(self, analysis: Analysis) -> str:
        """Coordinates, and the picture."""
        if not _made(analysis):
            return ""
        return (
            "gd.plots.plot_maps(est)  # est as in the next section\n"
            "est.coordinates(0)  # places on the map of factor 0; est.transform(new) for others"
        )


def _matched(analysis: Analysis) -> tuple[MatchedFactor, ...]:
    """Which found factor each given one is, where there are any that vary."""
    from geodis.scores.match_given_factors import match_given_factors

    est, rows = analysis.manifold, analysis.factorised
    if est is None or rows is None or rows.factors is None:
        return ()
    try:
        return match_given_factors(est, rows.factors)
    except InputError:  # none of them varies, or too few rows have maps
        return ()


def _opening(est: GeoManCER, things: str) -> str:
    """How many maps there are, and what they are of."""
    if est.n_factors_ == 1:
        return f"No split into independent factors was found: one map shows how the {things} vary."
    return f"{est.n_factors_} factors were found. Each has a map below."


def _can_be_seen(images: Any) -> bool:
    """Whether there are images, grey or in colours."""
    return images is not None and (len(images.shape) == 3 or images.shape[3] in CHANNELS)


def _made(analysis: Analysis) -> bool:
    part = analysis.parts.get("maps")
    return part is not None and part.value is not None and bool(part.value.of)
