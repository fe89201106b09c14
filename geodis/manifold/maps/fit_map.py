"""Fitting a map of few dimensions to steps along edges, and orienting it."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.rigid_map import RigidFit, RigidMap, Steps

# An initial map by shortest paths and landmark multidimensional scaling.

LANDMARKS = 150
# Length of edges that do not move in the factor, as a share of the mean length: zeros would be
# absent from a sparse matrix.
FREE = 1e-9


def landmark_scaling(
    lengths: np.ndarray, edges: Edges, *, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute coordinates whose distances approximate those along edges, by landmark scaling.

    Moves in the other factors have no length, so shortest paths may use all points near a geodesic.
    Landmarks are chosen by farthest-point sampling. Classical scaling of their squared distances,
    ``B = -H D^2 H / 2``, gives their coordinates; those of all other points follow from distances
    to the landmarks.

    Parameters
    ----------
    lengths : ndarray of shape (e,)
        Lengths of the edges within one factor.
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
    """Choose landmarks by farthest-point sampling; also return the distances (count, c) to them."""
    chosen = [int(np.random.default_rng(0).integers(weights.shape[0]))]
    distances = np.empty((count, weights.shape[0]))
    least = np.full(weights.shape[0], np.inf)
    for s in range(count):
        distances[s] = dijkstra(weights, indices=chosen[s])
        least = np.minimum(least, distances[s])
        chosen.append(int(least.argmax()))
    return np.array(chosen[:count]), distances


# Coordinates of the scaling are kept if their eigenvalue is above this share of the first. A sphere
# has three equal ones, SO(3) nine, a circle two.
KEPT = 0.1
# A coordinate is added if it lowers the misfit by this share, and removed if that raises it by
# less.
WORTH = 0.1
# No coordinates are added below the first misfit; removal may always raise it to the second.
GOOD, AS_GOOD = 0.01, 0.004
# A direction may be removed only if its variance is below this share of the largest.
SMALL = 0.3
MOST_COORDINATES = 16
TRIED_ROUNDS = 3
# Places are averaged by quadratic polynomials in at least this many coordinates of the scaling (in
# the first ones, two sides of a tube coincide).
WIDE = 6
# Directions of the average are kept if their variance is above this share of the largest.
SHOWN = 1e-3


def fit_map(steps: Steps, edges: Edges, places: np.ndarray) -> RigidMap:
    """Fit a map to the steps within one factor.

    There are two initial maps. Scaling of shortest paths suits closed factors, but flattens factors
    with a boundary. For these, the second map is the position of the points in the ambient space,
    averaged over the other factors. The better fit is selected.

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
    """Select the second map if its misfit is clearly smaller."""
    return wider if wider.misfit < (1 - WORTH) * fitted.misfit else fitted


def _narrowed(fit: RigidFit, start: np.ndarray) -> RigidMap:
    """Refine a map and remove coordinates that it does not need."""
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
    """Average places over the other factors.

    The average is a quadratic polynomial in the coordinates of an initial map. The columns of the
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


# A reproducible orientation of a map, which is determined only up to rotation.

# A column of the points may determine a direction of the map if its covariance is at least this
# share of the largest. So the choice does not change with every sample of the points.
CLEAR = 0.5


def orientation_of(coordinates: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Compute a reproducible orientation of a map from the columns of the points.

    The first direction is the one in which the first column with sufficient covariance increases;
    the second direction is that of the next such column, orthogonal to the first; and so on. Fits
    to other samples of the same points have the same orientation.

    Parameters
    ----------
    coordinates : ndarray of shape (c, r)
        Centred.
    points : ndarray of shape (c, d)

    Returns
    -------
    ndarray of shape (r, r)
        Orthonormal rows; the oriented coordinates are ``coordinates @ result.T``.

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
    """Return the directions without covariance with any column, in order of decreasing variance."""
    r = coordinates.shape[1]
    others = np.linalg.svd(np.vstack([known, np.zeros((1, r))]))[2][len(known) :]
    within = coordinates @ others.T
    turned = np.linalg.eigh(within.T @ within)[1][:, ::-1].T @ others
    largest = np.abs(turned).argmax(axis=1)
    return turned * np.sign(turned[np.arange(len(turned)), largest])[:, None]
