"""Distances between places -> Betti numbers over two fields, by persistent homology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from geodis.base.check import MissingExtraError, require
from geodis.manifold.topology.scalar_curvature import LocalFits

# Holes that the sampling leaves close soon: by so many spacings of the places, and by so many times
# their birth, for each dimension and degree. What lives beyond the second pair is a hole of the
# space; what is beyond the first pair but not the second may be either.
CHANCE = {
    (2, 1): (2.35, 1.8),
    (3, 1): (2.1, 1.75),
    (4, 1): (2.1, 1.75),
    (3, 2): (1.9, 1.5),
    (4, 2): (1.8, 1.42),
}
REAL = {
    (2, 1): (2.6, 2.0),
    (3, 1): (2.4, 1.9),
    (4, 1): (2.4, 1.9),
    (3, 2): (2.2, 1.6),
    (4, 2): (2.1, 1.52),
}
# Longer scales are not looked at: what lives until here is real.
FARTHEST = {1: 4.0, 2: 2.6}
# Bars that are kept to be shown, of each degree.
SHOWN = 6


@dataclass(frozen=True, eq=False)
class Betti:
    """Betti numbers b1, b2, ... over the fields of two and three elements.

    Attributes
    ----------
    over_two, over_three : tuple of (int or None)
        From degree one on; None where a bar is neither short nor long.
    bars_two, bars_three : tuple of ndarray of shape (b, 2)
        Birth and death of the longest bars of every degree; a death at `reach` is that or later.
    spacing : float
        Median distance of a place used to the nearest other.
    reach : tuple of float
        The scale up to which each degree was followed.
    """

    over_two: tuple[int | None, ...]
    over_three: tuple[int | None, ...]
    bars_two: tuple[np.ndarray, ...]
    bars_three: tuple[np.ndarray, ...]
    spacing: float
    reach: tuple[float, ...]

    @property
    def told(self) -> bool:
        """Whether every number is known."""
        return None not in (*self.over_two, *self.over_three)

    def __str__(self) -> str:
        """In words."""
        parts = []
        for q, (two, three) in enumerate(zip(self.over_two, self.over_three, strict=True)):
            bar = max((b[1] / b[0] for b in self.bars_two[q]), default=0.0)
            numbers = " and ".join("unknown" if b is None else str(b) for b in (two, three))
            parts.append(
                f"b{q + 1} = {numbers} over Z2 and Z3 (longest bar {bar:.1f} times its birth)"
            )
        return ", ".join(parts)


def betti_numbers(distances: np.ndarray, degree: int, dim: int) -> Betti | None:
    """Count the holes of every degree that live long; None without ripser.

    Parameters
    ----------
    distances : ndarray of shape (l, l)
        Between places that are spread evenly.
    degree : int
        The highest degree.
    dim : int
        Of the space.
    """
    try:
        ripser = require("ripser", purpose="Betti numbers").ripser
    except MissingExtraError:
        return None
    between = np.where(np.eye(len(distances), dtype=bool), np.inf, distances)
    spacing = float(np.median(between.min(axis=1)))
    numbers: dict[int, list[int | None]] = {2: [], 3: []}
    bars: dict[int, list[np.ndarray]] = {2: [], 3: []}
    own = distances.copy()
    np.fill_diagonal(own, 0.0)
    for field in (2, 3):
        for q in range(1, degree + 1):
            found = _bars(ripser, own, q, field, FARTHEST[q] * spacing)
            bars[field].append(found[:SHOWN])
            numbers[field].append(_count(found / spacing, (dim, q)))
    return Betti(
        tuple(numbers[2]),
        tuple(numbers[3]),
        tuple(bars[2]),
        tuple(bars[3]),
        spacing,
        tuple(FARTHEST[q] * spacing for q in range(1, degree + 1)),
    )


def _bars(ripser: Any, distances: np.ndarray, q: int, field: int, reach: float) -> np.ndarray:
    """Bars of one degree, longest first in proportion to their birth."""
    found = ripser(distances, distance_matrix=True, maxdim=q, coeff=field, thresh=reach)["dgms"][q]
    found = np.minimum(np.asarray(found, dtype=float).reshape(-1, 2), reach)
    return found[np.argsort(-found[:, 1] / np.maximum(found[:, 0], 1e-300), kind="stable")]


def _count(bars: np.ndarray, q: tuple[int, int]) -> int | None:
    """Bars that live beyond what sampling leaves open; None if one is between."""
    death, ratio = bars[:, 1], bars[:, 1] / np.maximum(bars[:, 0], 1e-300)
    open_ = (death > CHANCE[q][0]) & (ratio > CHANCE[q][1])
    real = (death > REAL[q][0]) & (ratio > REAL[q][1])
    return None if (open_ & ~real).any() else int(real.sum())


# Places and frames -> a graph of neighbours that takes no short cuts, and distances along it.

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
