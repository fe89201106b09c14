"""Views of the map of a factor: points with the outlines of a globe, square or ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from geodis.manifold.maps.factor_map import FactorMap, MapView
from geodis.plots.figure.linked_views import Outline, View

# Fit of an ellipsoid to points on a closed surface.

# Fits to points that lie mostly on one side are rejected.
ONE_SIDED = 0.5
MERIDIANS, PARALLELS, STEPS = 6, 5, 48


@dataclass(frozen=True)
class FittedEllipsoid:
    """An ellipsoid |(x - centre) A| = 1.

    Attributes
    ----------
    centre : ndarray of shape (3,)
    to_ball : ndarray of shape (3, 3)
        A, symmetric.
    misfit : float
        Root mean square of |x A| - 1 over the points.
    one_sided : float
        Length of the mean direction of the points: 0 on all sides, 1 on one side.
    """

    centre: np.ndarray
    to_ball: np.ndarray
    misfit: float
    one_sided: float

    @property
    def radii(self) -> np.ndarray:
        """Semi-axes, largest first."""
        return 1 / np.linalg.eigvalsh(self.to_ball)

    def grid(self) -> list[np.ndarray]:
        """Compute meridians and parallels, each of shape (p, 3)."""
        around = np.linspace(0, 2 * np.pi, STEPS + 1)
        ring = np.stack([np.cos(around), np.sin(around), np.zeros_like(around)], axis=1)
        lines = []
        for turn in np.pi * np.arange(MERIDIANS) / MERIDIANS:
            side = np.array([np.cos(turn), np.sin(turn), 0.0])
            lines.append(ring[:, :1] * side + ring[:, 1:2] * np.array([0.0, 0.0, 1.0]))
        for height in np.sin(np.pi * (np.arange(1, PARALLELS + 1) / (PARALLELS + 1) - 0.5)):
            lines.append(ring * np.sqrt(1 - height**2) + np.array([0.0, 0.0, height]))
        back = np.linalg.inv(self.to_ball)
        return [self.centre + line @ back for line in lines]


def fit_ellipsoid(places: np.ndarray) -> FittedEllipsoid | None:
    """Fit an ellipsoid by least squares; None if the quadric is not an ellipsoid.

    Parameters
    ----------
    places : ndarray of shape (s, 3)

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((500, 3))
    >>> sphere = 2 * draws / np.linalg.norm(draws, axis=1, keepdims=True) + [5, 0, 0]
    >>> found = fit_ellipsoid(sphere)
    >>> found.centre.round(6) + 0.0, found.radii.round(6), found.misfit < 1e-9
    (array([5., 0., 0.]), array([2., 2., 2.]), True)
    """
    if len(places) < 10:
        return None
    middle, scale = places.mean(axis=0), max(float(places.std()), np.finfo(float).tiny)
    x = (places - middle) / scale
    first, second = np.triu_indices(3)
    design = np.hstack([x[:, first] * x[:, second], x])
    found = np.linalg.lstsq(design, np.ones(len(x)), rcond=None)[0]
    quadric = np.zeros((3, 3))
    quadric[first, second] += found[:6] / 2
    quadric[second, first] += found[:6] / 2
    if np.linalg.eigvalsh(quadric)[0] <= 1e-6:
        return None
    centre = -np.linalg.solve(quadric, found[6:]) / 2
    sizes, axes = np.linalg.eigh(quadric / (1 + centre @ quadric @ centre))
    to_ball = (axes * np.sqrt(np.maximum(sizes, 1e-12))) @ axes.T
    unit = (x - centre) @ to_ball
    length = np.linalg.norm(unit, axis=1)
    sided = np.linalg.norm((unit / np.maximum(length, 1e-12)[:, None]).mean(axis=0))
    return FittedEllipsoid(
        middle + scale * centre,
        to_ball / scale,
        float(np.sqrt(((length - 1) ** 2).mean())),
        float(sided),
    )


# A globe needs a misfit below this share of the radius, and an aspect ratio below this.
NO_ELLIPSOID, LONGEST = 0.12, 5.0
# Share of the points within the ball; the others are projected on its surface.
WITHIN = 0.97
# Vertical jitter of points on a line, which reduces overlap.
JITTER = 0.12
GOLDEN = (5**0.5 - 1) / 2
CIRCLE_STEPS = 96
HOW_TO_READ = {
    "globe": "A globe. Nearby points are similar in this factor; meridians only guide the eye.",
    "circle": "A circle: going around once leads back to the start.",
    "line": "From one end to the other. Vertical jitter is for visibility only.",
    "ball": "The central point is the reference. Every other point lies in the direction, and at "
    "the distance, in which it differs from the reference.",
    "space": "Nearby points are similar in this factor.",
}


@dataclass(frozen=True, eq=False)
class FactorView:
    """A view of all fitted points, and positions for their colours.

    Attributes
    ----------
    view : View
        Its places have shape (n, 3), with NaN for points that are not on the map.
    wheel : ndarray of shape (n, 3)
        Positions for `place_colors`, equal at edges that are identified.
    """

    view: View
    wheel: np.ndarray


def factor_view(own: FactorMap, name: str, title: str) -> FactorView:
    """Make the view of a factor that its map asks for.

    Parameters
    ----------
    own : FactorMap
    name : str
        Name of the space, such as "sphere" or "unknown".
    title : str

    Returns
    -------
    FactorView
    """
    if own.n_pieces == 1:
        return VIEWS[own.view(name)](own, name, title)
    # Pieces have unrelated coordinates, and must not be overlaid.
    chosen = VIEWS[own.view(name)](own.largest_piece(), name, title)
    places = np.where((own.piece == 0)[:, None], chosen.view.places, np.nan)
    note = f"{chosen.view.note} Only the largest of {own.n_pieces} pieces is shown."
    return replace(chosen, view=replace(chosen.view, places=places, note=note))


def _globe(own: FactorMap, name: str, title: str) -> FactorView:
    """View a globe, if the points lie around an ellipsoid."""
    found = fit_ellipsoid(own.coordinates[own.known])
    if found is None or not _is_globe(found):
        return _space(own, name, title)
    size = float(found.radii[0])
    places = (own.coordinates - found.centre) / size
    lines = [Outline((line - found.centre) / size) for line in found.grid()]
    view = View(title, HOW_TO_READ["globe"], places, lines, turns=True, hides=True)
    return FactorView(view, (own.coordinates - found.centre) @ found.to_ball)


def _is_globe(found: FittedEllipsoid) -> bool:
    return bool(
        found.misfit < NO_ELLIPSOID
        and found.one_sided < ONE_SIDED
        and found.radii[0] < LONGEST * found.radii[-1]
    )


def _circle(own: FactorMap, name: str, title: str) -> FactorView:
    known = own.coordinates[own.known]
    equation = np.column_stack([2 * known, np.ones(len(known))])  # 2 c.x + r^2 - |c|^2 = |x|^2
    centre = np.linalg.lstsq(equation, (known**2).sum(axis=1), rcond=None)[0][:2]
    radius = float(np.median(np.linalg.norm(known - centre, axis=1)))
    flat = (own.coordinates - centre) / max(radius, np.finfo(float).tiny)
    places = 0.92 * np.column_stack([flat, np.zeros(len(flat))])
    lines = (
        [Outline(0.92 * _unit_circle(), "edge")]
        if name == "circle" or own.periods is not None
        else []
    )
    note = HOW_TO_READ["circle"] if lines else HOW_TO_READ["space"]
    return FactorView(View(title, note, places, lines), places)


def _line(own: FactorMap, name: str, title: str) -> FactorView:
    values = own.coordinates[:, 0]
    centre, half = _extent(values[:, None])
    along = (values - centre[0]) / half
    across = JITTER * (2 * (np.arange(len(values)) * GOLDEN % 1) - 1)
    places = np.column_stack([along, across, np.zeros(len(values))])
    places[~np.isfinite(along)] = np.nan
    line = Outline(np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), "edge")
    wheel = np.column_stack([along, -0.4 * along, 0.6 * along])
    return FactorView(View(title, HOW_TO_READ["line"], places, [line]), wheel)


def _unrolled(own: FactorMap, name: str, title: str) -> FactorView:
    """View a sheet or block; edges of periodic directions are identified."""
    unrolled = own.unrolled()
    assert unrolled is not None
    flat, closed = unrolled
    k, b = own.dim, len(closed.periods)
    basis = np.vstack([closed.periods, closed.open_directions])  # (k, k)
    parts = flat @ np.linalg.inv(basis)
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
        return np.pad((rows @ sides - centre) / half, ((0, 0), (0, 3 - k)))

    lines = []
    for axis in range(k):
        others = [other for other in range(k) if other != axis]
        for fixed in product((0.0, 1.0), repeat=k - 1):
            path = np.zeros((2, k))
            path[:, others] = fixed
            path[1, axis] = 1.0
            # In a square, going once around the other direction identifies these two edges.
            glued = k == 2 and others[0] < b
            lines.append(Outline(placed(path), "edge", 1 + others[0] if glued else 0))
    view = View(title, _unrolled_note(k, b), placed(parts), lines, turns=k == 3)
    return FactorView(view, _unrolled_wheel(parts, b))


def _unrolled_note(k: int, b: int) -> str:
    if b == 0:
        return f"Unrolled flat{': every side is an end' if k == 2 else ''}."
    if k == 2:
        return "Unrolled flat. Edges with the same arrows are the same edge."
    ways = "one direction" if b == 1 else f"{b} directions"
    return f"Unrolled flat. In {ways}, opposite sides are the same."


def _unrolled_wheel(parts: np.ndarray, b: int) -> np.ndarray:
    """Compute positions for colours that are periodic where the space is."""
    around, across = 2 * np.pi * parts[:, :b], 2 * parts[:, b:] - 1
    if b == 0:
        return np.pad(across, ((0, 0), (0, 3 - across.shape[1])))
    light = np.cos(around[:, 1]) if b > 1 else across[:, 0]
    return np.stack([np.cos(around[:, 0]), np.sin(around[:, 0]), light], axis=1)


def _ball(own: FactorMap, name: str, title: str) -> FactorView:
    """View a ball or disc around a reference point."""
    charted = own.log_chart()
    assert charted is not None
    rows, chart = charted
    lengths = np.linalg.norm(chart, axis=1)
    radius = max(float(np.nanquantile(lengths, WITHIN)), np.finfo(float).tiny)
    places = np.full((len(own.coordinates), 3), np.nan)
    places[rows] = 0.0
    places[rows, : own.dim] = chart / np.maximum(lengths, radius)[:, None]
    ring = _unit_circle()
    rings = [ring, ring[:, [2, 0, 1]], ring[:, [1, 2, 0]]]
    note = HOW_TO_READ["ball"]
    letters: list[tuple[str, np.ndarray]] = []
    if name in ("SO(3)", "projective plane"):
        note += " Opposite points of the surface, such as both A, are the same."
        letters = [
            (letter, sign * axis)
            for letter, axis in zip("ABC", np.eye(3)[: own.dim], strict=False)
            for sign in (1, -1)
        ]
    elif name == "S^3":
        note += " The whole surface is one point, the farthest."
    lines = [Outline(ring, "silhouette")]
    lines += [Outline(line) for line in rings if own.dim == 3]
    view = View(title, note, places, lines, letters, turns=own.dim == 3)
    return FactorView(view, places)


def _space(own: FactorMap, name: str, title: str) -> FactorView:
    """View the first two or three coordinates."""
    shown = own.coordinates[:, :3]
    centre, half = _extent(shown)
    places = np.full((len(shown), 3), 0.0)
    places[:, : shown.shape[1]] = (shown - centre) / half
    places[~own.known] = np.nan
    turns = shown.shape[1] == 3
    if turns:  # keep all points in the picture under rotation
        places /= max(1.0, float(np.nanmax(np.linalg.norm(places, axis=1))))
    note = HOW_TO_READ["space"]
    if own.n_coordinates > 3:
        note += f" Its first 3 of {own.n_coordinates} coordinates are shown: some of it is hidden."
    box = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, 0]], float)
    if not turns:
        box[:, :2] *= np.nanmax(np.abs(places[:, :2]), axis=0)
    view = View(title, note, places, [] if turns else [Outline(box)], turns=turns)
    return FactorView(view, places)


def _unit_circle() -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, CIRCLE_STEPS + 1)
    return np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)


def _extent(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the midrange of the columns, and half of the largest range."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return (low + high) / 2, max(float((high - low).max()) / 2, np.finfo(float).tiny)


# Functions that make the views which maps ask for.
VIEWS: dict[MapView, Callable[[FactorMap, str, str], FactorView]] = {
    "line": _line,
    "circle": _circle,
    "globe": _globe,
    "unrolled": _unrolled,
    "ball": _ball,
    "space": _space,
}
