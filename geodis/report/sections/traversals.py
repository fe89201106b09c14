"""The section on traversals: walks along each factor, shown by images."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.plots.figure.sprite_sheet import are_pictures, as_pictures
from geodis.plots.geometry.shown_rows import factor_titles
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.score_cards import render_template
from geodis.report.section import Section

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER
    from geodis.manifold.maps.walk_results import Walk


STEPS, LARGEST = 9, 72  # positions per walk, and pixels per image
FAR = 3.0  # spacings from all samples, beyond which an image is marked
QUALITY = 85


@dataclass(frozen=True, eq=False)
class FactorWalks:
    """Walks along every factor from the same row.

    Attributes
    ----------
    start : int
        Index of the starting row among the fitted rows.
    of : tuple of Walk
    why_not : str
    """

    start: int
    of: tuple[Walk, ...]
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the walks as plain values, without the points."""
        names = ("factor", "lengths", "nearest", "gap", "spacing", "stopped")
        walks = [{name: getattr(walk, name) for name in names} for walk in self.of]
        return {"start": self.start, "walks": walks}


class WalksSection(Section):
    """Traversals, with a strip of images per factor."""

    name = "walks"
    title = "Traversals: one factor varies, the others are fixed"
    about = (
        "Each strip starts at the same image and moves along a straight line on one map, with the "
        "positions on the other maps fixed. Shown are the images nearest to these positions."
    )
    source = "Positions are decoded by local regression of the points on their map coordinates."
    reads = ("manifold", "maps")

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Needs images with 1, 3 or 4 channels."""
        if are_pictures(material.images):
            return ""
        return "Traversals are shown by images with 1, 3 or 4 channels, and none were given."

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Constant."""
        return 2.0

    def compute(self, analysis: Analysis) -> FactorWalks:
        """Walk along every factor from a row near the centre of all maps."""
        est = analysis.manifold
        if est is None or est.n_factors_ < 2:
            return FactorWalks(0, (), "traversals need at least two factors.")
        try:
            start = _middle_row(est)
            walks = [est.walk(start, j, steps=STEPS) for j in range(est.n_factors_)]
        except InputError as problem:
            return FactorWalks(0, (), str(problem))
        return FactorWalks(start, tuple(walks))

    def body(self, analysis: Analysis) -> str:
        """Strips of images, or why there are none."""
        made, rows, est = analysis.parts[self.name].value, analysis.factorised, analysis.manifold
        if made is None or rows is None or est is None:
            return ""
        strips = [
            {"title": title, "reason": walk.reason, "places": _places(walk, rows)}
            for title, walk in zip(factor_titles(est), made.of, strict=False)
        ]
        return render_template("walks.html", strips=strips, why_not=made.why_not)

    def code(self, analysis: Analysis) -> str:
        """Code for a walk and its figure."""
        made = analysis.parts[self.name].value
        if made is None or not made.of:
            return ""
        return (
            f"walk = est.walk({made.start}, factor=0, steps={STEPS})\n"
            "gd.plots.plot_walk(walk, images)  # images of the fitted rows"
        )


def _middle_row(est: GeoManCER) -> int:
    """Return the row that is closest to the centre of all maps."""
    away = np.zeros(len(est.axes_))
    for j in range(est.n_factors_):
        places = np.asarray(est.coordinates(j), dtype=float)
        centred = places - np.nanmedian(places, axis=0)
        away += (centred**2).sum(axis=1) / max(float(np.nanvar(places, axis=0).sum()), 1e-300)
    if not np.isfinite(away).any():
        raise InputError("Walks start at a point with a position on all maps; got none.")
    return int(np.nanargmin(away))


def _places(walk: Walk, rows: Material) -> list[dict[str, Any]]:
    """Return the images of a walk, with their labels and rows."""
    pictures = as_pictures(rows.images_of(walk.nearest))
    far = walk.gap > FAR * walk.spacing
    return [
        {
            "uri": picture_uri(picture),
            "length": f"{length:.2g}" + "*" * bool(out),
            "told": f"{length:.2g} along factor {walk.factor}",
            "row": int(row),
        }
        for picture, length, out, row in zip(pictures, walk.lengths, far, walk.nearest, strict=True)
    ]


def picture_uri(picture: np.ndarray) -> str:
    """Encode an image of shape (h, w, 3) as a data URI."""
    from PIL import Image

    image, file = Image.fromarray(picture), BytesIO()
    image.thumbnail((LARGEST, LARGEST))
    image.save(file, "JPEG", quality=QUALITY, subsampling=0)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
