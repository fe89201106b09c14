"""The map of a factor -> places in a view, with the lines that make it a globe, square or ball."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.refined_map import RefinedMap
from geodis.manifold.maps.unrolled_map import UnrolledMap
from geodis.plots.figure.linked_views import Outline, View
from geodis.plots.map_views.fit_ellipsoid import ONE_SIDED, FittedEllipsoid, fit_ellipsoid
from geodis.plots.map_views.log_chart import log_chart

# Points farther from their ellipsoid, in parts of its radius, lie on something else; an ellipsoid
# that is so much longer than wide is no help.
NO_ELLIPSOID, LONGEST = 0.12, 5.0
# So many of the points lie within the ball; others, beyond the farthest by noise, lie on its rim.
WITHIN = 0.97
# Where points stand on a line, they are strewn beside it: otherwise they would cover one another.
STREWN = 0.12
GOLDEN = (5**0.5 - 1) / 2
CIRCLE_STEPS = 96
HOW_TO_READ = {
    "globe": "A globe: places near each other are alike in this factor. Meridians are there to "
    "guide the eye.",
    "circle": "Once around the circle leads back to where one began.",
    "line": "From one end to the other. Across the line dots are strewn to be seen, which means "
    "nothing.",
    "ball": "In the middle is one dot to start from; every other lies in the direction in which it "
    "differs from that one, and as far away as it differs.",
    "space": "Places near each other are alike in this factor.",
}


@dataclass(frozen=True, eq=False)
class FactorView:
    """A view of all fitted points, and what their colours are made of.

    Attributes
    ----------
    view : View
        Places have shape (n, 3); NaN where there are none.
    wheel : ndarray of shape (n, 3)
        Places for `place_colors`, with the same where edges are glued.
    """

    view: View
    wheel: np.ndarray


def factor_view(own: FactorMap, name: str, title: str) -> FactorView:
    """Choose how a factor is drawn, by its map and the name of its space.

    Parameters
    ----------
    own : FactorMap
    name : str
        Such as "sphere"; "unknown" leaves it to the map.
    title : str

    Returns
    -------
    FactorView
    """
    if own.n_pieces == 1:
        return _chosen_view(own, name, title)
    # Coordinates of pieces have nothing in common: laid over one another they would mislead.
    chosen = _chosen_view(_largest_alone(own), name, title)
    places = np.where((own.piece == 0)[:, None], chosen.view.places, np.nan)
    note = f"{chosen.view.note} Only the largest of {own.n_pieces} pieces is shown."
    return replace(chosen, view=replace(chosen.view, places=places, note=note))


def _largest_alone(own: FactorMap) -> FactorMap:
    """The map without coordinates in other pieces than the largest."""
    inside = (own.piece == 0)[:, None]
    coordinates = np.where(inside, own.coordinates, np.nan)
    if isinstance(own, UnrolledMap):
        return replace(own, coordinates=coordinates, flat=np.where(inside, own.flat, np.nan))
    return replace(own, coordinates=coordinates)


def _chosen_view(own: FactorMap, name: str, title: str) -> FactorView:
    if isinstance(own, UnrolledMap) and 2 <= own.dim <= 3:
        return _unrolled(own, title)
    if own.dim == 1 and own.n_coordinates == 1:
        return _line(own.coordinates[:, 0], title)
    if own.dim == 1 and own.n_coordinates == 2 and name in ("circle", "unknown"):
        return _circle(own, name, title)
    if own.dim == 2 and own.n_coordinates == 3:
        found = fit_ellipsoid(own.coordinates[own.known])
        if found is not None and _is_globe(found):
            return _globe(own.coordinates, found, title)
    folded = own.n_coordinates > 3 or name in ("SO(3)", "S^3")
    if isinstance(own, RefinedMap) and own.dim in (2, 3) and folded:
        return _chart(own, name, title)
    return _in_space(own, title)


def _is_globe(found: FittedEllipsoid) -> bool:
    return bool(
        found.misfit < NO_ELLIPSOID
        and found.one_sided < ONE_SIDED
        and found.radii[0] < LONGEST * found.radii[-1]
    )


def _globe(coordinates: np.ndarray, found: FittedEllipsoid, title: str) -> FactorView:
    size = float(found.radii[0])
    places = (coordinates - found.centre) / size
    lines = [Outline((line - found.centre) / size) for line in found.grid()]
    note = HOW_TO_READ["globe"]
    view = View(title, note, places, lines, turns=True, hides=True)
    return FactorView(view, (coordinates - found.centre) @ found.to_ball)


def _circle(own: FactorMap, name: str, title: str) -> FactorView:
    known = own.coordinates[own.known]
    equation = np.column_stack([2 * known, np.ones(len(known))])  # 2 c.x + r^2 - |c|^2 = |x|^2
    centre = np.linalg.lstsq(equation, (known**2).sum(axis=1), rcond=None)[0][:2]
    radius = float(np.median(np.linalg.norm(known - centre, axis=1)))
    flat = (own.coordinates - centre) / max(radius, np.finfo(float).tiny)
    angle = np.linspace(0, 2 * np.pi, CIRCLE_STEPS + 1)
    ring = 0.92 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    places = 0.92 * np.column_stack([flat, np.zeros(len(flat))])
    lines = [Outline(ring, "edge")] if name == "circle" or isinstance(own, UnrolledMap) else []
    note = HOW_TO_READ["circle"] if lines else HOW_TO_READ["space"]
    return FactorView(View(title, note, places, lines), places)


def _line(values: np.ndarray, title: str) -> FactorView:
    centre, half = _extent(values[:, None])
    along = (values - centre[0]) / half
    beside = STREWN * (2 * (np.arange(len(values)) * GOLDEN % 1) - 1)
    places = np.column_stack([along, beside, np.zeros(len(values))])
    places[~np.isfinite(along)] = np.nan
    line = Outline(np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), "edge")
    wheel = np.column_stack([along, -0.4 * along, 0.6 * along])
    return FactorView(View(title, HOW_TO_READ["line"], places, [line]), wheel)


def _unrolled(own: UnrolledMap, title: str) -> FactorView:
    """A sheet or block; what closes stands between edges that are the same edge."""
    closed = own.pieces[0].closed
    k, b = own.dim, len(closed.periods)
    basis = np.vstack([closed.periods, closed.open_directions])  # (k, k)
    parts = own.flat @ np.linalg.inv(basis)
    parts[:, :b] %= 1.0
    ends = np.nanmin(parts[:, b:], axis=0), np.nanmax(parts[:, b:], axis=0)
    parts[:, b:] = (parts[:, b:] - ends[0]) / np.maximum(ends[1] - ends[0], np.finfo(float).tiny)
    sides = np.vstack([basis[:b], basis[b:] * (ends[1] - ends[0])[:, None]])
    sides = np.linalg.qr(sides.T)[1].T  # the first along x, the second in the plane of x and y
    sides = sides * np.sign(np.diag(sides))
    corners = np.array(list(product((0.0, 1.0), repeat=k))) @ sides
    centre = (corners.max(axis=0) + corners.min(axis=0)) / 2
    half = max(float((corners.max(axis=0) - corners.min(axis=0)).max()) / 2, np.finfo(float).tiny)
    if k == 3:
        half = float(np.linalg.norm(corners - centre, axis=1).max())

    def placed(rows: np.ndarray) -> np.ndarray:
        flat = (rows @ sides - centre) / half
        return np.column_stack([flat, np.zeros((len(flat), 3 - k))])

    lines = []
    for axis in range(k):
        others = [other for other in range(k) if other != axis]
        for fixed in product((0.0, 1.0), repeat=k - 1):
            path = np.zeros((2, k))
            path[:, others] = fixed
            path[1, axis] = 1.0
            # In a square these two edges are what going once around the other direction glues.
            glued = k == 2 and others[0] < b
            lines.append(Outline(placed(path), "edge", 1 + others[0] if glued else 0))
    view = View(title, _unrolled_note(k, b), placed(parts), lines, turns=k == 3)
    return FactorView(view, _unrolled_wheel(parts, b))


def _unrolled_note(k: int, b: int) -> str:
    if b == 0:
        return "Laid out flat, as it is: every side is an end." if k == 2 else "Laid out flat."
    if k == 2:
        return (
            "Laid out flat. Edges with the same arrows are one and the same edge: what leaves at "
            "one comes in at the other."
        )
    ways = "one way" if b == 1 else f"{b} ways"
    return f"Laid out flat; in {ways} what leaves at one side comes in at the opposite one."


def _unrolled_wheel(parts: np.ndarray, b: int) -> np.ndarray:
    """Hues that close where the space does."""
    around, across = 2 * np.pi * parts[:, :b], 2 * parts[:, b:] - 1
    if b == 0:
        return np.pad(across, ((0, 0), (0, 3 - across.shape[1])))
    light = np.cos(around[:, 1]) if b > 1 else across[:, 0]
    return np.stack([np.cos(around[:, 0]), np.sin(around[:, 0]), light], axis=1)


def _chart(own: RefinedMap, name: str, title: str) -> FactorView:
    """A ball, or a disc, around one point."""
    piece = own.pieces[0]
    chart = log_chart(piece)
    lengths = np.linalg.norm(chart, axis=1)
    radius = max(float(np.nanquantile(lengths, WITHIN)), np.finfo(float).tiny)
    chart = chart / np.maximum(lengths, radius)[:, None]
    places = np.full((len(own.coordinates), 3), np.nan)
    places[piece.rows] = 0.0
    places[piece.rows, : own.dim] = chart
    angle = np.linspace(0, 2 * np.pi, CIRCLE_STEPS + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    rings = [ring, ring[:, [2, 0, 1]], ring[:, [1, 2, 0]]]
    note = HOW_TO_READ["ball"]
    letters: list[tuple[str, np.ndarray]] = []
    if name in ("SO(3)", "projective plane"):
        note += (
            " Opposite points of the rim are the same: what leaves at A comes in at the other A."
        )
        letters = [
            (letter, sign * axis)
            for letter, axis in zip("ABC", np.eye(3)[: own.dim], strict=False)
            for sign in (1, -1)
        ]
    elif name == "S^3":
        note += " All of the rim is one point, the farthest."
    lines = [Outline(ring, "rim")]
    lines += [Outline(line) for line in rings if own.dim == 3]
    view = View(title, note, places, lines, letters, turns=own.dim == 3)
    return FactorView(view, places)


def _in_space(own: FactorMap, title: str) -> FactorView:
    """The first three coordinates, or two."""
    shown = own.coordinates[:, :3]
    centre, half = _extent(shown)
    places = np.full((len(shown), 3), 0.0)
    places[:, : shown.shape[1]] = (shown - centre) / half
    places[~own.known] = np.nan
    turns = shown.shape[1] == 3
    if turns:  # turned about, all of it stays in the picture
        places /= max(1.0, float(np.nanmax(np.linalg.norm(places, axis=1))))
    note = HOW_TO_READ["space"]
    if own.n_coordinates > 3:
        note += f" Its first 3 of {own.n_coordinates} coordinates are shown: some of it is hidden."
    box = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, 0]], float)
    if not turns:
        box[:, :2] *= np.nanmax(np.abs(places[:, :2]), axis=0)
    view = View(title, note, places, [] if turns else [Outline(box)], turns=turns)
    return FactorView(view, places)


def _extent(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Middle of what there is, and half of how far it goes in its longest direction."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return (low + high) / 2, max(float((high - low).max()) / 2, np.finfo(float).tiny)
