"""GeoManCER's maps of a sample, each beside the true factor that it belongs to."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

import geodis as gd
from benchmarks.map_cases.cases import MapSample
from benchmarks.map_cases.judge import in_true_order


@dataclass(frozen=True, eq=False)
class OwnMaps:
    """A fit and its maps in the order of the true factors.

    Attributes
    ----------
    est : GeoManCER
    found : list of m ints or None
        Which of the found factors belongs to every true one; None where there is none.
    maps : list of m ndarrays of shape (n, r_j)
        No columns where no factor was found.
    fit_seconds, map_seconds : float
        Of the processor.
    """

    est: Any
    found: list[int | None]
    maps: list[np.ndarray]
    fit_seconds: float
    map_seconds: float


def own_maps(sample: MapSample, seed: int = 0, **fit: Any) -> OwnMaps:
    """Fit with nothing told but `fit`, and match the maps to the true factors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts are not what is measured here
        begun = time.process_time()
        est = gd.GeoManCER(**fit, random_state=seed, n_jobs=1, verbose=0).fit(sample.points)
        fitted = time.process_time()
        found = [est.coordinates(j) for j in range(est.n_factors_)]
        mapped = time.process_time()
    order = in_true_order(found, sample)
    empty = np.zeros((len(sample.points), 0))
    return OwnMaps(
        est,
        [i if i < len(found) else None for i in order],
        [found[i] if i < len(found) else empty for i in order],
        fitted - begun,
        mapped - fitted,
    )


def projected(est: Any, points: np.ndarray, factor: int, width: int) -> np.ndarray:
    """Points on the ambient subspace of a factor: the directions that its axes mostly have."""
    axes = est.subspace(factor)
    axes = axes[np.isfinite(axes).all(axis=(1, 2))]
    moment = np.einsum("nkd,nke->de", axes, axes)
    return points @ np.linalg.eigh(moment)[1][:, ::-1][:, :width]


def path_lengths(columns: np.ndarray, a: np.ndarray, b: np.ndarray, k: int = 30) -> np.ndarray:
    """Shortest paths (s, t) between rows a (s,) and b (t,) through k neighbours each."""
    there = np.flatnonzero(np.isfinite(columns).all(axis=1))
    lengths, near = cKDTree(columns[there]).query(columns[there], k + 1)
    n = len(there)
    rows = np.repeat(np.arange(n), k)
    # A length of zero would be no edge.
    edges = np.maximum(lengths[:, 1:].ravel(), 1e-12)
    graph = csr_array((edges, (rows, near[:, 1:].ravel())), shape=(n, n))
    place = np.full(len(columns), -1)
    place[there] = np.arange(n)
    known_a, known_b = place[a] >= 0, place[b] >= 0
    found = np.full((len(a), len(b)), np.nan)
    paths = dijkstra(graph.maximum(graph.T), indices=place[a[known_a]])
    found[np.ix_(known_a, known_b)] = paths[:, place[b[known_b]]]
    return found
