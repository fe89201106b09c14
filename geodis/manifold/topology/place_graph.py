"""Places and frames -> a graph of neighbours that takes no short cuts, and distances along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from geodis.manifold.topology.local_fits import LocalFits

# Neighbours of a place: a part of those in its fit, within these bounds, by dimension. On a line
# they must not all lie on one side of a chance gap: 2^-24 is rare among thousands.
PART_OF_FIT, MOST = 5, 30
LEAST = {1: 24, 2: 14, 3: 18, 4: 20}
# An edge whose direction has less than this share (cosine) in the tangent space of an end is a
# short cut between sheets.
ALONG = 0.6


@dataclass(frozen=True)
class PlaceGraph:
    """The largest piece of the graph of neighbouring places.

    Attributes
    ----------
    rows : ndarray of shape (p,)
        The places in it, as rows of the fits.
    first, second : ndarrays of shape (e,)
        Ends of every edge, first < second, counted among `rows`.
    lengths : ndarray of shape (e,)
    adjacency : csr_matrix of shape (p, p)
        Symmetric, with the lengths.
    """

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    lengths: np.ndarray
    adjacency: csr_matrix


def place_graph(fits: LocalFits) -> PlaceGraph:
    """Link every place to the nearest ones that lie along its tangent space."""
    places, frames, dim = fits.places, fits.frames, fits.dim
    c = len(places)
    count = int(np.clip(fits.near.shape[1] / PART_OF_FIT, LEAST[dim], MOST))
    near = cKDTree(places).query(places, min(count + 1, c))[1][:, 1:]
    first, second = np.repeat(np.arange(c), near.shape[1]), near.ravel()
    first, second = np.minimum(first, second), np.maximum(first, second)
    code = np.unique(first * c + second)
    first, second = code // c, code % c
    chord = places[second] - places[first]
    length = np.linalg.norm(chord, axis=1)
    at_least = ALONG * np.maximum(length, 1e-300)
    kept = (length > 0) & ~fits.bad[first] & ~fits.bad[second]
    for end in (first, second):
        kept &= np.linalg.norm(np.einsum("er,ekr->ek", chord, frames[end]), axis=1) > at_least
    first, second, length = first[kept], second[kept], length[kept]
    label = pieces_of(first, second, c)
    rows = np.flatnonzero(label == np.bincount(label).argmax())
    at = np.full(c, -1)
    at[rows] = np.arange(len(rows))
    inside = at[first] >= 0
    first, second, length = at[first[inside]], at[second[inside]], length[inside]
    return PlaceGraph(rows, first, second, length, _symmetric(first, second, length, len(rows)))


def pieces_of(first: np.ndarray, second: np.ndarray, n: int) -> np.ndarray:
    """Connected piece of every one of n places, given the ends of the links."""
    links = csr_matrix((np.ones(len(first)), (first, second)), (n, n))
    label: np.ndarray = connected_components(links, directed=False)[1]
    return label


def _symmetric(first: np.ndarray, second: np.ndarray, values: np.ndarray, n: int) -> csr_matrix:
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_matrix((np.concatenate([values, values]), ends), shape=(n, n))


def farthest_distances(graph: PlaceGraph, count: int, rng: np.random.Generator) -> np.ndarray:
    """Distances along the graph between places each as far as can be from those before it.

    Returns
    -------
    ndarray of shape (count, count)
    """
    p = len(graph.rows)
    count = min(count, p)
    start = dijkstra(graph.adjacency, directed=False, indices=int(rng.integers(p)))
    chosen = [int(start.argmax())]
    rows = np.empty((count, p))
    nearest = np.full(p, np.inf)
    # One search a landmark: each depends on those before it.
    for step in range(count):
        rows[step] = dijkstra(graph.adjacency, directed=False, indices=chosen[step])
        nearest = np.minimum(nearest, rows[step])
        chosen.append(int(nearest.argmax()))
    between = rows[:, chosen[:count]]
    return (between + between.T) / 2
