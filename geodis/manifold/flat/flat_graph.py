"""Neighbour graphs for unrolling flat parts, and checks and repairs of the order along curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components

from geodis.base.jobs import blocks
from geodis.manifold.flat.periods import Periods, find_periods
from geodis.manifold.flat.unroll import parallel_frame, unrolled_coordinates
from geodis.manifold.local.graph import NeighborGraph, graph_of_neighbors, neighbor_graph
from geodis.manifold.local.neighbors import nearest_neighbors, nearest_targets
from geodis.manifold.local.quadratic_fits import principal_frame

MIN_DEGREE, MAX_DEGREE = 10, 400
# Degrees tried on a curve, where many neighbours are shortcuts and few disconnect it.
CURVE_DEGREES = (2, 3, 4, 6, 8, 12, 20)
# With this many points, twenty neighbours span a short piece of the curve, so that fewer need not
# be tried.
MANY_ON_CURVE = 1000
# The search over degrees stops when residuals grow by this factor and are not negligible.
WORSE, NEGLIGIBLE = 2.0, 1e-3
# With this share of the points in the largest piece, the other points are left out instead of being
# joined by long edges.
NEARLY_ALL = 0.95
# Smallest cosine between an edge of a curve and the tangents at its ends; edges below are shortcuts
# to another turn.
ALONG = 0.6
# Number of rows at which a curve is checked, and the smallest number of neighbours: two more than
# twice the three unknowns.
CHECKED_ROWS, LEAST_CHECKED = 500, 8
# Number of entries in a block of displacements (8 MB).
BLOCK_ENTRIES = 2**20
# Squared errors below this share of the variance of the rows are negligible: 3 % in length.
NO_ERROR = 1e-3
# Upper limit of `order_error`. Curves in the right order had .02 to 1.2, wrong ones 1.8 to 1,400.
# In bands nearly as thick as the ring is wide, right orders reach 2.0 as well and cannot be
# recognised.
WRONG_ORDER = 1.6
# Upper limit of `order_error` for a repaired curve: those in the right order had at most 1.1, and
# a star with its arms on one another 1.8. Errors within the second factor are equally good.
MENDED, AS_GOOD = 1.3, 1.2
# Number of centres around which arms are counted, of neighbours of each, and of links per point.
BRANCH_CENTRES, BRANCH_NEIGHBORS, LINKS = 200, 60, 4
# Smallest number of points in an arm, and smallest share of the points in the shell.
SMALLEST_ARM, SMALL_ARM = 3, 0.05
# Largest number of neighbours of all points held in memory.
HELD_NEIGHBORS = 2**23


def unrolled_with_periods(
    points: np.ndarray, subspaces: np.ndarray, graph: NeighborGraph
) -> Periods:
    """Unroll all points of a connected graph and find the closed directions."""
    return find_periods(unrolled_coordinates(points, parallel_frame(subspaces, graph), graph))


def curve_graph(
    points: np.ndarray, tangents: np.ndarray, n_jobs: int, rng: np.random.Generator
) -> NeighborGraph | None:
    """Choose the number of neighbours with which a curve is connected and unrolls best.

    A neighbour across a bend is a shortcut whose step no coordinate explains, so the residual
    grows with the number of neighbours. Under noise it decreases, because noise is a smaller part
    of longer steps. None if no number of neighbours connects the curve.
    """
    most = min(CURVE_DEGREES[-1], len(points) - 1)
    near = nearest_neighbors(points, most, n_jobs=n_jobs, random_state=rng)
    best, least = None, (True, np.inf)
    for degree in CURVE_DEGREES:
        graph = graph_of_neighbors(near, min(degree, most))
        if graph.n_pieces > 1:
            continue
        periods = unrolled_with_periods(points, tangents, graph)
        rel = periods.unrolling.rel
        if rel > max(WORSE * least[1], NEGLIGIBLE):
            break
        # Closed curves come first: a circle with a gap that few neighbours do not bridge also
        # unrolls, as an interval.
        if (found := (not len(periods), rel)) < least:
            best, least = graph, found
    return best


def order_error(
    points: np.ndarray, coordinates: np.ndarray, periods: np.ndarray, n_neighbors: int
) -> float:
    r"""Measure how badly the order along a curve predicts its points; about 1 for a right order.

    A point x is predicted from its c nearest neighbours along the curve by a quadratic in the
    coordinate, and from its c nearest neighbours in space by a quadratic along their first
    principal direction::

        (mean |x - x_along|^2 + v) / (mean |x - x_local|^2 + v),      v = .001 of the variance

    Noise across the curve is in both errors, so a thick band has a ratio near 1. An order that
    runs back and forth or superimposes two branches has a large ratio.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    coordinates : ndarray of shape (n,)
    periods : ndarray of shape (b, 1)
        No rows if the curve is open.
    n_neighbors : int
        Number c of neighbours that averages over the noise: that of the tangent fits.

    Returns
    -------
    float
        NaN for fewer than 16 points.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> band = rng.uniform(0, 5, 400) + 1j * rng.uniform(0.9, 1.1, 400)  # angle and radius
    >>> arc = np.column_stack([np.cos(band.real), np.sin(band.real)]) * band.imag[:, None]
    >>> none = np.zeros((0, 1))
    >>> round(order_error(arc, band.real, none, 40), 1), order_error(arc, arc[:, 0], none, 40) > 9
    (0.9, True)
    """
    n = len(points)
    if n < 2 * LEAST_CHECKED:
        return np.nan
    count = int(np.clip(n_neighbors, LEAST_CHECKED, n // 2))
    rows = np.unique(np.linspace(0, n - 1, CHECKED_ROWS).astype(np.intp))
    place = coordinates[:, None]
    if len(periods):
        turn = 2 * np.pi * coordinates / periods[0, 0]
        place = np.column_stack([np.cos(turn), np.sin(turn)])
    on_curve = local = 0.0
    for some in blocks(len(rows), max(1, BLOCK_ENTRIES // (count * points.shape[1]))):
        own = rows[some]
        near = nearest_targets(place, own, count)
        along = coordinates[near] - coordinates[own, None]
        if len(periods):
            along -= periods[0, 0] * np.rint(along / periods[0, 0])
        on_curve += _squared_error(points, own, near, along)
        near = nearest_targets(points, own, count)
        chords = points[near] - points[own, None]
        first = principal_frame(chords, np.ones(near.shape), 1)[:, 0]
        local += _squared_error(points, own, near, np.einsum("rcd,rd->rc", chords, first))
    none = NO_ERROR * len(rows) * points.var(axis=0).sum()
    return float((on_curve + none) / max(local + none, np.finfo(float).tiny))


def _squared_error(
    points: np.ndarray, rows: np.ndarray, near: np.ndarray, along: np.ndarray
) -> float:
    """Sum the squared errors of rows predicted by quadratics in the neighbours' coordinates."""
    unit = along / np.maximum(np.abs(along).max(axis=1, keepdims=True), np.finfo(float).tiny)
    design = np.stack([np.ones_like(unit), unit, unit**2], axis=2)
    weights = np.linalg.pinv(design)[:, :1]  # of the constant term
    return float(((points[rows] - (weights @ points[near])[:, 0]) ** 2).sum())


@dataclass(frozen=True)
class CurveOrder:
    """Result of checking the order of points along a fitted curve.

    Attributes
    ----------
    error : float
        See `order_error`.
    row : int
        A point where more than two arms meet; -1 if there is none or the order is right.
    """

    error: float
    row: int = -1

    @property
    def is_wrong(self) -> bool:
        """Whether the order along the curve is wrong."""
        return self.error > WRONG_ORDER


def curve_order(
    points: np.ndarray, coordinates: np.ndarray, periods: np.ndarray, n_neighbors: int
) -> CurveOrder:
    """Check the order along a curve, and look for branch points if it is wrong.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    coordinates : ndarray of shape (n,)
    periods : ndarray of shape (b, 1)
    n_neighbors : int
        As in `order_error`.

    Returns
    -------
    CurveOrder

    Examples
    --------
    >>> arm = np.random.default_rng(0).uniform(size=(300, 1))
    >>> angle = np.arange(300) % 3 * 2 * np.pi / 3
    >>> star = arm * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> found = curve_order(star, arm[:, 0], np.zeros((0, 1)), 8)
    >>> found.is_wrong, bool(arm[found.row] < 0.3)
    (True, True)
    """
    error = order_error(points, coordinates, periods, n_neighbors)
    if not error > WRONG_ORDER:
        return CurveOrder(error)
    n = len(points)
    rows = np.unique(np.linspace(0, n - 1, BRANCH_CENTRES).astype(np.intp))
    count = min(max(BRANCH_NEIGHBORS, 3 * n_neighbors), n // 3)
    near = nearest_targets(points, rows, count)
    linked = graph_of_neighbors(nearest_neighbors(points, LINKS), LINKS).adjacency
    inner = count // 3
    third = [
        _third_arm(linked, np.append(own[:inner], row), own[inner:])
        for row, own in zip(rows, near, strict=True)
    ]
    most = int(np.argmax(third))
    least = max(SMALLEST_ARM, SMALL_ARM * (count - inner))
    return CurveOrder(error, int(rows[most]) if third[most] >= least else -1)


def _third_arm(linked: csr_array, ball: np.ndarray, shell: np.ndarray) -> int:
    """Return the size of the third largest piece of a shell that is linked to the enclosed ball."""
    piece = connected_components(linked[shell][:, shell], directed=False)[1]
    touching = np.diff(linked[shell][:, ball].indptr) > 0
    sizes = np.sort(np.bincount(piece)[np.unique(piece[touching])])
    return int(sizes[-3]) if len(sizes) > 2 else 0


def mended_curve(
    points: np.ndarray, tangents: np.ndarray, periods: Periods, n_neighbors: int | None, n_jobs: int
) -> Periods:
    """Unroll a curve again without shortcuts if the order along it is wrong.

    If two turns of a curve are as close as neighbours along it, some edges lead across; edges that
    are not along the tangents are left out. If the noise is wider than the distance of neighbours,
    loops of the graph err by more than a period; then edges must be as long as the noise is wide,
    and lead to a subset of the neighbours of the tangent fits. Of these unrollings with the right
    order, closed ones come first, and then the one with the smallest error.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    tangents : ndarray of shape (n, 1, d)
    periods : Periods
        The present unrolling, which is returned if its order is right.
    n_neighbors : int or None
        Number of neighbours of the tangent fits.
    n_jobs : int
    """
    count = n_neighbors or LEAST_CHECKED

    def error(found: Periods) -> float:
        return order_error(points, found.unrolling.coordinates[:, 0], found.vectors, count)

    if not error(periods) > WRONG_ORDER:
        return periods
    n, most = len(points), CURVE_DEGREES[-1]
    right: list[tuple[float, Periods]] = []
    held = min(max(most, min(count, HELD_NEIGHBORS // n)), n - 1)
    # A separate seed leaves the random stream of the split unchanged.
    near = nearest_neighbors(points, held, n_jobs=n_jobs, random_state=0).indices
    nearest = [near[:, : min(degree, held)] for degree in CURVE_DEGREES]
    for some in [*nearest, near[:, np.linspace(0, held - 1, min(most, held)).astype(np.intp)]]:
        edges = _along_tangents(points, tangents[:, 0], some)
        if connected_components(edges, directed=False, return_labels=False) > 1:
            continue
        found = unrolled_with_periods(points, tangents, neighbor_graph(graph=edges))
        if (own := error(found)) < MENDED:
            right.append((own, found))
    if not right:
        return periods
    least = min(own for own, _ in right)
    # As in `curve_graph`, closed curves come first.
    good = [
        (not len(found), own, j) for j, (own, found) in enumerate(right) if own < AS_GOOD * least
    ]
    return right[min(good)[2]][1]


def _along_tangents(points: np.ndarray, tangents: np.ndarray, near: np.ndarray) -> csr_matrix:
    """Return the edges to neighbours (n, c) that lie along the tangents (n, d) at both ends.

    Small disconnected pieces keep their shortest edge to the largest one, which closes no loop.
    """
    n, count = near.shape
    first, second = np.repeat(np.arange(n), count), near.ravel()
    chord = points[second] - points[first]
    length = np.linalg.norm(chord, axis=1)
    kept = np.ones(len(chord), bool)
    for end in (first, second):
        kept &= np.abs((chord * tangents[end]).sum(axis=1)) > ALONG * length

    def graph(some: np.ndarray) -> csr_matrix:
        one_way = csr_matrix((length[some], (first[some], second[some])), shape=(n, n))
        return one_way.maximum(one_way.T)

    piece = connected_components(graph(kept), directed=False)[1]
    outside = piece != np.bincount(piece).argmax()
    if 0 < outside.mean() < 1 - NEARLY_ALL:
        to_largest = np.flatnonzero(outside[first] & ~outside[second])
        to_largest = to_largest[np.argsort(length[to_largest], kind="stable")]
        kept[to_largest[np.unique(piece[first[to_largest]], return_index=True)[1]]] = True
    return graph(kept)


def connected_graph(
    points: np.ndarray, f: int, n_neighbors: int | None, n_jobs: int, rng: np.random.Generator
) -> NeighborGraph:
    """Build a neighbour graph, with more neighbours if large pieces are disconnected."""
    most = len(points) - 1
    degree = n_neighbors or (CURVE_DEGREES[-1] if f == 1 else max(2 * f, MIN_DEGREE))
    while True:
        degree = min(degree, most)
        near = nearest_neighbors(points, degree, n_jobs=n_jobs, random_state=rng)
        graph = graph_of_neighbors(near, degree)
        largest = np.bincount(graph.piece).max()
        if largest > NEARLY_ALL * len(points) or degree >= min(MAX_DEGREE, most):
            return graph
        degree *= 2
