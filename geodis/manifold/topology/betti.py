"""Betti numbers over two fields by persistent homology of distances along a neighbour graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from geodis.base.check import MissingExtraError, require
from geodis.manifold.flat.differences import Edges
from geodis.manifold.topology.scalar_curvature import LocalFits

# Limits of the death in spacings of the landmarks, and of the ratio of death to birth, for each
# dimension and degree. Bars beyond both limits of `REAL` are holes of the space, and bars within
# those of `CHANCE` are due to sampling. Bars in between may be either.
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
# Largest scale in spacings; bars that survive to this scale are real.
FARTHEST = {1: 4.0, 2: 2.6}
# Number of bars kept for figures, of each degree.
SHOWN = 6


@dataclass(frozen=True, eq=False)
class Betti:
    """Betti numbers b1, b2, ... over the fields of two and three elements.

    Attributes
    ----------
    over_two, over_three : tuple of (int or None)
        From degree one on; None if a bar is neither clearly short nor clearly long.
    bars_two, bars_three : tuple of ndarray of shape (b, 2)
        Birth and death of the longest bars of every degree; deaths are censored at `reach`.
    spacing : float
        Median nearest-neighbour distance of the landmarks.
    reach : tuple of float
        Largest scale of each degree.
    """

    over_two: tuple[int | None, ...]
    over_three: tuple[int | None, ...]
    bars_two: tuple[np.ndarray, ...]
    bars_three: tuple[np.ndarray, ...]
    spacing: float
    reach: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether every number is known."""
        return None not in (*self.over_two, *self.over_three)

    def __str__(self) -> str:
        """Describe the numbers in words."""
        parts = []
        for q, (two, three) in enumerate(zip(self.over_two, self.over_three, strict=True)):
            bar = max((b[1] / b[0] for b in self.bars_two[q]), default=0.0)
            numbers = " and ".join("unknown" if b is None else str(b) for b in (two, three))
            parts.append(
                f"b{q + 1} = {numbers} over Z2 and Z3 (longest bar {bar:.1f} times its birth)"
            )
        return ", ".join(parts)


def betti_numbers(distances: np.ndarray, degree: int, dim: int) -> Betti | None:
    """Count the persistent holes of every degree; None without ripser.

    Parameters
    ----------
    distances : ndarray of shape (l, l)
        Distances between evenly spread landmarks.
    degree : int
        The highest degree.
    dim : int
        Dimension of the space.
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
    """Compute the bars of one degree in decreasing order of the ratio of death to birth."""
    found = ripser(distances, distance_matrix=True, maxdim=q, coeff=field, thresh=reach)["dgms"][q]
    found = np.minimum(np.asarray(found, dtype=float).reshape(-1, 2), reach)
    return found[np.argsort(-found[:, 1] / np.maximum(found[:, 0], 1e-300), kind="stable")]


def _count(bars: np.ndarray, q: tuple[int, int]) -> int | None:
    """Count bars that are longer than sampling explains; None if a bar is ambiguous."""
    death, ratio = bars[:, 1], bars[:, 1] / np.maximum(bars[:, 0], 1e-300)
    open_ = (death > CHANCE[q][0]) & (ratio > CHANCE[q][1])
    real = (death > REAL[q][0]) & (ratio > REAL[q][1])
    return None if (open_ & ~real).any() else int(real.sum())


# A neighbour graph of places without shortcuts, and distances along it.

# The number of neighbours is this fraction of those in a local fit, within bounds by dimension. On
# a line they must not all lie on one side of a random gap, which has probability 2^-24.
PART_OF_FIT, MOST = 5, 30
LEAST = {1: 24, 2: 14, 3: 18, 4: 20}
# Smallest cosine between an edge and the tangent spaces at its ends; edges below are shortcuts
# between sheets.
ALONG = 0.6


@dataclass(frozen=True)
class PlaceGraph:
    """The largest piece of the graph of neighbouring places.

    Attributes
    ----------
    rows : ndarray of shape (p,)
        Its places, as rows of the fits.
    edges : Edges
        Between the p places.
    lengths : ndarray of shape (e,)
    """

    rows: np.ndarray
    edges: Edges
    lengths: np.ndarray

    @cached_property
    def adjacency(self) -> csr_array:
        """The symmetric matrix (p, p) of the lengths."""
        return self.edges.symmetric(self.lengths)


def place_graph(fits: LocalFits) -> PlaceGraph:
    """Link every place to the nearest places along its tangent space."""
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
    edges = Edges(at[first[inside]], at[second[inside]], len(rows))
    return PlaceGraph(rows, edges, length[inside])


def pieces_of(first: np.ndarray, second: np.ndarray, n: int) -> np.ndarray:
    """Label the connected component of each of n places, given the ends of the links."""
    links = csr_array((np.ones(len(first)), (first, second)), (n, n))
    label: np.ndarray = connected_components(links, directed=False)[1]
    return label


def farthest_distances(graph: PlaceGraph, count: int, rng: np.random.Generator) -> np.ndarray:
    """Compute distances along the graph between landmarks chosen by farthest-point sampling.

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
    # Every landmark depends on the earlier ones, so the searches are sequential.
    for step in range(count):
        rows[step] = dijkstra(graph.adjacency, directed=False, indices=chosen[step])
        nearest = np.minimum(nearest, rows[step])
        chosen.append(int(nearest.argmax()))
    between = rows[:, chosen[:count]]
    return (between + between.T) / 2
