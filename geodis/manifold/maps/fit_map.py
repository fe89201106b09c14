"""Steps along edges -> a map in a space of as few dimensions as it needs."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.rigid_map import RigidFit, RigidMap, Steps

# Lengths of edges within a factor -> a first map: shortest paths and landmark scaling.

LANDMARKS = 150
# Edges that do not move in the factor are free, but not absent from a sparse matrix: a share of
# the mean length.
FREE = 1e-9


def landmark_scaling(
    lengths: np.ndarray, edges: Edges, *, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose distances are those along edges, by classical scaling of few points.

    Moving in the other factors costs nothing, so that shortest paths have all points near the
    geodesic to go over. Landmarks are farthest points; classical scaling of their squared
    distances, ``B = -H D^2 H / 2``, gives theirs coordinates, and all others theirs by distances
    to the landmarks.

    Parameters
    ----------
    lengths : ndarray of shape (e,)
        Of the edges, within one factor.
    edges : Edges
        Connected.
    most : int
        Number of coordinates.

    Returns
    -------
    coordinates : ndarray of shape (c, q)
        With positive eigenvalues only, at most `most` of them.
    eigenvalues : ndarray of shape (q,)
        Decreasing.

    Examples
    --------
    >>> path = Edges(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    >>> coordinates, _ = landmark_scaling(np.array([1.0, 2.0, 1.0]), path, most=1)
    >>> np.abs(np.diff(coordinates.ravel())).round(9).tolist()
    [1.0, 2.0, 1.0]
    """
    weights = edges.symmetric(np.maximum(lengths, FREE * lengths.mean()))
    landmarks, distances = _farthest(weights, min(LANDMARKS, edges.n))
    squared = distances**2
    own = squared[:, landmarks]
    own = (own + own.T) / 2
    mean = own.mean(axis=0)
    centred = -(own - mean[:, None] - mean + own.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    kept = np.flatnonzero(values[::-1][:most] > 1e-9 * values[-1])
    values, vectors = values[::-1][kept], vectors[:, ::-1][:, kept]
    return -((squared - mean[:, None]).T @ vectors) / (2 * np.sqrt(values)), values


def _farthest(weights: sparse.csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Farthest-point sampling: points far from one another, and the distances (count, c) there."""
    chosen = [int(np.random.default_rng(0).integers(weights.shape[0]))]
    distances = np.empty((count, weights.shape[0]))
    least = np.full(weights.shape[0], np.inf)
    for s in range(count):
        distances[s] = dijkstra(weights, indices=chosen[s])
        least = np.minimum(least, distances[s])
        chosen.append(int(least.argmax()))
    return np.array(chosen[:count]), distances


# Coordinates of the scaling whose eigenvalue is above this share of the first: the sphere has
# three equal ones, SO(3) nine, a circle two.
KEPT = 0.1
# One coordinate more, where it lowers the misfit by so much; one less, where it raises it by less.
WORTH = 0.1
# A map whose misfit is below needs no more coordinates, and one that stays below needs fewer.
GOOD, AS_GOOD = 0.01, 0.004
# And only a direction in which a map extends by this share of the largest, in squares, may be one
# that it does not need.
SMALL = 0.3
MOST_COORDINATES = 16
TRIED_ROUNDS = 3
# Of the places, as polynomials of degree two in so many coordinates of the scaling at least (two
# sides of a tube lie on one another in the first); directions in which they vary by this share of
# the first.
WIDE = 6
SHOWN = 1e-3


def fit_map(steps: Steps, edges: Edges, places: np.ndarray) -> RigidMap:
    """Fit a map to the steps within one factor.

    It starts from scaling of shortest paths, which shows closed factors as they are and flattens
    those with a boundary; there, from how the points lie in the ambient space on average over the
    other factors; and takes whichever fits better.

    Parameters
    ----------
    steps : Steps
    edges : Edges
        Connected.
    places : ndarray of shape (c, d)

    Returns
    -------
    RigidMap

    Examples
    --------
    >>> from geodis import neighbor_graph, product_manifold
    >>> from geodis.manifold.flat.differences import edges_of
    >>> from geodis.manifold.maps.rigid_map import steps_within
    >>> sample = product_manifold("S^2", 500, random_state=0)
    >>> edges = edges_of(neighbor_graph(sample.points, 12))
    >>> steps = steps_within(sample.points, sample.tangents[0], edges.i, edges.j)
    >>> fitted = fit_map(steps, edges, sample.points)
    >>> radii = np.linalg.norm(fitted.coordinates, axis=1)
    >>> fitted.coordinates.shape, bool(abs(radii.mean() - 1) < 0.01)
    ((500, 3), True)
    """
    fit = RigidFit(steps, edges)
    scaled, values = landmark_scaling(steps.lengths, edges, most=MOST_COORDINATES)
    scaled = np.pad(scaled, ((0, 0), (0, max(0, fit.dim - scaled.shape[1]))))
    r = max(fit.dim, int((values > KEPT * values[0]).sum()))
    fitted = _narrowed(fit, scaled[:, :r])
    if fitted.misfit > GOOD:
        average = _on_average(places, scaled[:, : max(r, WIDE)])
        if average.shape[1] > fit.dim:
            fitted = _better(fitted, _narrowed(fit, average))
    while fitted.misfit > GOOD and r < scaled.shape[1]:
        start = np.hstack([fitted.coordinates, scaled[:, r : r + 1]])
        wider = fit.refine(start, TRIED_ROUNDS)
        if _better(fitted, wider) is fitted:
            break
        fitted, r = wider, r + 1
    return fit.refine(fitted.coordinates)


def _better(fitted: RigidMap, wider: RigidMap) -> RigidMap:
    """The one with more coordinates, where they are worth it."""
    return wider if wider.misfit < (1 - WORTH) * fitted.misfit else fitted


def _narrowed(fit: RigidFit, start: np.ndarray) -> RigidMap:
    """The refined map, without coordinates that it does not need."""
    fitted = fit.refine(start, TRIED_ROUNDS)
    while fitted.coordinates.shape[1] > fit.dim:
        extents, vectors = np.linalg.eigh(fitted.coordinates.T @ fitted.coordinates)
        if extents[0] > SMALL * extents[-1]:
            break
        narrower = fit.refine(fitted.coordinates @ vectors[:, 1:], TRIED_ROUNDS)
        if narrower.misfit > max((1 + WORTH) * fitted.misfit, AS_GOOD):
            break
        fitted = narrower
    return fitted


def _on_average(places: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Where points lie on average over the other factors, along the directions that it shows.

    The average is a quadratic polynomial in the coordinates of a first map; the columns of the
    result are its principal components, at most `MOST_COORDINATES` of them.
    """
    unit = coordinates / coordinates.std(axis=0).max()
    columns = range(coordinates.shape[1])
    powers = [c for degree in (1, 2) for c in combinations_with_replacement(columns, degree)]
    terms = np.stack([unit[:, list(power)].prod(axis=1) for power in powers], axis=1)
    terms -= terms.mean(axis=0)
    average = terms @ np.linalg.lstsq(terms, places - places.mean(axis=0), rcond=None)[0]
    u, s, _ = np.linalg.svd(average, full_matrices=False)
    kept = min(int((s**2 > SHOWN * s[0] ** 2).sum()), MOST_COORDINATES)
    return u[:, :kept] * s[:kept]


# Orienting a map, which is known only up to rotation, in the same way every time.

# A column of the points is believed to show a direction of the map where it shows half as much as
# the column that shows most: so the choice does not change with every draw of the points.
CLEAR = 0.5


def orientation_of(coordinates: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Orthonormal rows: directions in a map, in the order in which the points' columns show them.

    The first is that in which the first clear column grows; the second that in which the next
    one grows, apart from the first; and so on. A fit to other draws of the same points is turned
    the same way.

    Parameters
    ----------
    coordinates : ndarray of shape (c, r)
        Centred.
    points : ndarray of shape (c, d)

    Returns
    -------
    ndarray of shape (r, r)
        Coordinates times its transpose are the turned ones.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((500, 2))
    >>> quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> turned = points @ quarter
    >>> bool(np.abs(turned @ orientation_of(turned, points).T - points).max() < 0.2)
    True
    """
    r = coordinates.shape[1]
    seen = coordinates.T @ (points - points.mean(axis=0)) / len(points)  # (r, d)
    directions = np.zeros((r, r))
    for row in range(r):
        left = seen - directions[:row].T @ (directions[:row] @ seen)
        shown = np.linalg.norm(left, axis=0)
        if shown.max() <= 1e-9 * np.linalg.norm(seen):
            directions[row:] = _complement(directions[:row], coordinates)
            break
        clear = int(np.argmax(shown >= CLEAR * shown.max()))
        directions[row] = left[:, clear] / shown[clear]
    q, r_factor = np.linalg.qr(directions.T)
    return q.T * np.sign(np.diag(r_factor))[:, None]


def _complement(known: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """The directions that no column shows, by how far the map extends in them."""
    r = coordinates.shape[1]
    others = np.linalg.svd(np.vstack([known, np.zeros((1, r))]))[2][len(known) :]
    within = coordinates @ others.T
    turned = np.linalg.eigh(within.T @ within)[1][:, ::-1].T @ others
    largest = np.abs(turned).argmax(axis=1)
    return turned * np.sign(turned[np.arange(len(turned)), largest])[:, None]
