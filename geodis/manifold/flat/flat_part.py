"""The flat part of a manifold -> its factors one by one, or a refusal with the reason.

Holonomy says nothing about flat factors. They are unrolled to isometric coordinates; what closes
is found by its periods, and what is left is split by statistical independence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state, to_numpy
from geodis.base.jobs import check_jobs
from geodis.manifold.flat.independence import (
    ContrastResult,
    independent_rotation,
    information_between,
)
from geodis.manifold.flat.periods import Periods, find_periods
from geodis.manifold.flat.ties import without_ties
from geodis.manifold.flat.unroll import Unrolling, parallel_frame, unrolled_coordinates
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import NeighborGraph, graph_of_neighbors, neighbor_graph
from geodis.manifold.local.neighbors import distinct_rows, nearest_neighbors

# When the unrolling is refused: turn of the parallel frame from end to end, in radians, and share
# of the squared steps that no coordinates explain. Spheres and tori turn by 1 and more, flat boxes
# under noise of a tenth of their side by up to .2.
MAX_TURN, MAX_REL = 0.25, 0.12
DOUBTED_TURN = 0.1
MIN_DEGREE, CURVE_DEGREE, MAX_DEGREE = 10, 20, 400
POINTS_A_DIMENSION = 50
# Of the points in the largest piece of the graph: enough to unroll it alone, and to leave the
# others rather than to join them by long edges.
MIN_SHARE, NEARLY_ALL = 0.5, 0.95
NEARLY_ORTHONORMAL = 1e-3


@dataclass(frozen=True)
class FlatEvidence:
    """Why the flat part was split as it was.

    Attributes
    ----------
    dim : int
        Dimension f of the flat part.
    factor_dims : tuple of int
        Into what it was split; ``(f,)`` where it was left whole.
    hol, turn : float
        Turn of the parallel frame in radians between neighbours, and from end to end.
    rel : float
        Share of the squared steps that the coordinates leave.
    instability : float
        Degrees by which the factors turn between halves of the points.
    contrast : str
        The contrast that told them apart.
    contrasts : tuple of ContrastResult
        The result of every contrast.
    information : ndarray of shape (m, m)
        Largest mutual information between directions of two factors, in nats.
    reasons : tuple of str
        Why directions stayed together, or all of them.
    doubts : tuple of str
        Why the split may be wrong.
    notes : tuple of str
        What was done, a sentence each.
    """

    dim: int
    factor_dims: tuple[int, ...]
    hol: float
    turn: float
    rel: float
    instability: float = 0.0
    contrast: str = "none"
    contrasts: tuple[ContrastResult, ...] = ()
    information: np.ndarray | None = None
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether several dimensions were left as one factor."""
        return self.dim > 1 and len(self.factor_dims) == 1

    def __str__(self) -> str:
        """A sentence for every split, merge, refusal and doubt."""
        said = [f"flat part of dimension {self.dim}: {'; '.join(self.notes)}"]
        split = " + ".join(map(str, self.factor_dims))
        if self.refused:
            said.append("not split")
        elif self.dim > 1:
            by = f" by {self.contrast}" if self.contrast != "none" else ""
            said.append(f"split into {split}{by}, stable to {self.instability:.1f} degrees")
        if self.reasons:
            said.append("; ".join(self.reasons))
        text = ": ".join(said[:1]) + "".join(f". {part[0].upper()}{part[1:]}" for part in said[1:])
        return text + (f". Uncertain: {'; '.join(self.doubts)}" if self.doubts else "")


@dataclass(frozen=True)
class FlatPart:
    """Factors of a flat part.

    Attributes
    ----------
    frames : ndarray of shape (n, f, d)
        Orthonormal rows along the factors; derivatives of the points along the coordinates.
    coordinates : ndarray of shape (n, f)
        Isometric coordinates in the order of the factors, of median zero; NaN at points that
        could not be unrolled with the others, and everywhere where the unrolling was refused.
    dims : tuple of int
    periods : tuple of ndarray of shape (b_j, f_j)
        Periods of every factor in its own coordinates; no rows where it does not close.
    evidence : FlatEvidence
    """

    frames: np.ndarray
    coordinates: np.ndarray
    dims: tuple[int, ...]
    periods: tuple[np.ndarray, ...]
    evidence: FlatEvidence


def split_flat_part(
    points: Any,
    subspaces: Any,
    *,
    graph: Any = None,
    n_neighbors: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> FlatPart:
    """Unroll the flat part of a manifold and split it into independent factors.

    Parameters
    ----------
    points : array-like of shape (n, d)
    subspaces : array-like of shape (n, f, d)
        Orthonormal rows spanning the flat part of the tangent space at every point: all of it
        where the manifold is wholly flat.
    graph : NeighborGraph, or what `neighbor_graph` takes for one, optional
        True neighbours, when they are known.
    n_neighbors : int, optional
        Neighbours in the graph; 2f, at least 10, by default, and more where the graph would
        be in pieces.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None

    Returns
    -------
    FlatPart

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> from geodis.data.manifolds.flat_products import flat_sample
    >>> from geodis.manifold import tangent_frames
    >>> sample = flat_sample("rectangle", 1000, random_state=0)  # 1 x 3, bent
    >>> near = nearest_neighbors(sample.points, 18)
    >>> flat = split_flat_part(sample.points, tangent_frames(sample.points, near, 2).frames)
    >>> flat.dims, np.ptp(flat.coordinates, axis=0).round(1).tolist()
    ((1, 1), [3.0, 1.0])
    """
    points = check_points(points)
    subspaces = _check_subspaces(subspaces, points)
    workers = check_jobs(n_jobs)
    f = subspaces.shape[1]
    if n_neighbors is not None:
        n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
    if graph is not None and not isinstance(graph, NeighborGraph):
        graph = neighbor_graph(graph=graph)
    rng = check_random_state(random_state)
    # Only the directions in which the flat part ever points: other factors would only put
    # distance between points that are neighbours on the flat part.
    basis = _span(subspaces)
    where, own, tangents = points @ basis.T, subspaces @ basis.T, basis
    places, representative, place = distinct_rows(where) if graph is None else (where, None, None)
    rows = np.arange(len(where)) if representative is None else representative
    if len(rows) < POINTS_A_DIMENSION:
        return _refusal(subspaces, f"{len(rows)} points are too few to unroll")
    graph = graph or _connected_graph(places, f, n_neighbors, workers, rng)
    inside, note = np.arange(len(rows)), ""
    if graph.n_pieces > 1:
        sizes = np.bincount(graph.piece)
        inside = np.flatnonzero(graph.piece == sizes.argmax())
        if len(inside) < MIN_SHARE * len(rows):
            return _refusal(
                subspaces,
                f"its neighbour graph is in {graph.n_pieces} pieces, the largest with "
                f"{len(inside)} of {len(rows)} points",
            )
        graph = neighbor_graph(graph=graph.adjacency[inside][:, inside])
        note = f"only the largest piece of its graph, {len(inside)} of {len(rows)} points"
    frame = parallel_frame(own[rows[inside]], graph)
    periods = find_periods(unrolled_coordinates(places[inside], frame, graph))
    part = _split(periods, rng, note)
    frames = np.full((len(rows), f, points.shape[1]), np.nan)
    frames[inside] = part.frames @ tangents
    coordinates = np.full((len(rows), f), np.nan)
    coordinates[inside] = part.coordinates
    back = slice(None) if place is None else place
    return replace(part, frames=frames[back], coordinates=coordinates[back])


def _check_subspaces(subspaces: Any, points: np.ndarray) -> np.ndarray:
    subspaces = np.asarray(to_numpy(subspaces, "subspaces"), dtype=float)
    if subspaces.ndim != 3 or (len(subspaces), subspaces.shape[2]) != points.shape:
        raise InputError(
            f"subspaces must have shape (n, f, d) for points of shape {points.shape}; "
            f"got shape {subspaces.shape}."
        )
    if not subspaces.shape[1]:
        raise InputError("subspaces must have a direction; got shape (n, 0, d).")
    off = np.abs(subspaces @ np.swapaxes(subspaces, 1, 2) - np.eye(subspaces.shape[1]))
    off = off.max(axis=(1, 2))
    if not (off < NEARLY_ORTHONORMAL).all():  # NaN too
        raise InputError(
            f"subspaces must have finite, orthonormal rows at every point; those of "
            f"{int((~(off < NEARLY_ORTHONORMAL)).sum())} points are not."
        )
    return subspaces


def _split(periods: Periods, rng: np.random.Generator, note: str) -> FlatPart:
    """Judge the unrolling; closed directions by their periods, the others by independence."""
    unrolled = periods.unrolling
    n, f = unrolled.coordinates.shape
    notes = [
        f"unrolled (its frame turns by {unrolled.turn:.1g} radian from end to end, "
        f"{unrolled.rel:.1g} of the squared steps left)"
    ]
    notes += [note] if note else []
    doubts: list[str] = []
    why = _why_not_unrolled(unrolled)
    if why:
        return _refusal(unrolled.frames, why, unrolled, notes=())
    if unrolled.turn > DOUBTED_TURN:
        doubts.append(f"its frame turns by {unrolled.turn:.2f} radian: noise, or not quite flat")
    closed = [np.linalg.qr(periods.vectors[list(g)].T)[0].T for g in periods.groups]
    dims = [len(group) for group in closed]
    rows = list(closed)
    for group in periods.groups:
        lengths = ", ".join(f"{np.linalg.norm(periods.vectors[g]):.3g}" for g in group)
        notes.append(
            f"a direction closes after {lengths}"
            if len(group) == 1
            else f"{len(group)} directions close together, with periods {lengths}: as one factor"
        )
    outside = np.linalg.svd(periods.vectors)[2][len(periods) :] if len(periods) else np.eye(f)
    instability, contrast = 0.0, "none"
    contrasts: tuple[ContrastResult, ...] = ()
    reasons: tuple[str, ...] = ()
    if len(outside) and n < POINTS_A_DIMENSION * len(outside) and len(outside) > 1:
        rows.append(outside)
        dims.append(len(outside))
        reasons = (f"{n} points are too few to judge {len(outside)} directions",)
    elif len(outside):
        told = independent_rotation(unrolled.coordinates @ outside.T, random_state=rng)
        rows += np.split(told.rotation @ outside, np.cumsum(told.dims)[:-1])
        dims += told.dims
        instability, contrast, contrasts = told.instability, told.contrast, told.contrasts
        reasons = told.reasons
        doubts += [d for d in told.doubts if "share" not in d]  # said below for all factors
    order = np.argsort([-dim for dim in dims], kind="stable")
    dims, rows = [dims[j] for j in order], [rows[j] for j in order]
    rotation = polar_rows(np.concatenate(rows))  # closed directions are only nearly orthogonal
    coordinates = unrolled.coordinates @ rotation.T
    coordinates -= np.median(coordinates, axis=0)
    information, shared = information_between(without_ties(coordinates, rng)[0], tuple(dims))
    bounds = np.cumsum((0, *dims))
    vectors = periods.vectors @ rotation.T
    own = []
    for start, stop in pairwise(bounds):
        share = (vectors[:, start:stop] ** 2).sum(axis=1) / np.maximum(
            (vectors**2).sum(axis=1), 1e-300
        )
        own.append(vectors[share > 0.5, start:stop])
    evidence = FlatEvidence(
        f,
        tuple(dims),
        unrolled.hol,
        unrolled.turn,
        unrolled.rel,
        instability,
        contrast,
        contrasts,
        information,
        reasons,
        (*doubts, *shared),
        tuple(notes),
    )
    return FlatPart(rotation @ unrolled.frames, coordinates, tuple(dims), tuple(own), evidence)


def _why_not_unrolled(unrolled: Unrolling) -> str:
    if unrolled.turn > MAX_TURN:
        return (
            f"its parallel frame turns by {unrolled.turn:.2f} radian from end to end: it is "
            "curved, too noisy or too coarsely sampled"
        )
    if unrolled.rel > MAX_REL:
        return f"no coordinates explain {unrolled.rel:.0%} of the squared steps"
    return ""


def _refusal(
    frames: np.ndarray,
    reason: str,
    unrolled: Unrolling | None = None,
    notes: tuple[str, ...] = (),
) -> FlatPart:
    n, f, _ = frames.shape
    hol, turn, rel = (
        (unrolled.hol, unrolled.turn, unrolled.rel) if unrolled else (np.nan, np.nan, np.nan)
    )
    evidence = FlatEvidence(f, (f,), hol, turn, rel, reasons=(reason,), notes=("left as it was",))
    return FlatPart(frames, np.full((n, f), np.nan), (f,), (np.zeros((0, f)),), evidence)


def _span(subspaces: np.ndarray) -> np.ndarray:
    """Orthonormal rows spanning the directions of all frames, shape (c, d)."""
    rows = subspaces.reshape(-1, subspaces.shape[2])
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return vectors[:, values > 1e-9 * values[-1]].T


def _connected_graph(
    points: np.ndarray, f: int, n_neighbors: int | None, n_jobs: int, rng: np.random.Generator
) -> NeighborGraph:
    """Nearest neighbours, more where layers of a grid leave pieces of many points each."""
    most = len(points) - 1
    degree = n_neighbors or (CURVE_DEGREE if f == 1 else max(2 * f, MIN_DEGREE))
    while True:
        degree = min(degree, most)
        near = nearest_neighbors(points, degree, n_jobs=n_jobs, random_state=rng)
        graph = graph_of_neighbors(near, degree)
        largest = np.bincount(graph.piece).max()
        if largest > NEARLY_ALL * len(points) or degree >= min(MAX_DEGREE, most):
            return graph
        degree *= 2
