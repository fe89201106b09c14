"""Steps along edges -> a map in a space of as few dimensions as it needs."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from geodis.manifold.flat.differences import Edges
from geodis.manifold.maps.edge_steps import Steps
from geodis.manifold.maps.landmark_scaling import landmark_scaling
from geodis.manifold.maps.rigid_map import RigidFit, RigidMap

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
    >>> from geodis.manifold.maps.edge_steps import steps_within
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
