"""Factors of the flat part of a manifold, with evidence and doubts.

Holonomy cannot separate flat factors. They are unrolled to isometric coordinates. Closed
directions are separated by their periods, and the others by statistical independence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state, to_numpy
from geodis.base.jobs import check_jobs
from geodis.manifold.doubts import FLAT, Doubt, doubt
from geodis.manifold.flat.contrasts import jitter_grid
from geodis.manifold.flat.curvature import Curvature, measure_curvature
from geodis.manifold.flat.flat_evidence import FlatEvidence, strain_of
from geodis.manifold.flat.flat_graph import (
    MANY_ON_CURVE,
    connected_graph,
    curve_graph,
    mended_curve,
    unrolled_with_periods,
)
from geodis.manifold.flat.independent_rotation import (
    MAX_INSTABILITY,
    ContrastResult,
    independent_rotation,
    information_between,
)
from geodis.manifold.flat.periods import Periods
from geodis.manifold.flat.unroll import Unrolling
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.graph import NeighborGraph, neighbor_graph
from geodis.manifold.local.neighbors import distinct_rows

# Above this strain a part is refused coordinates. Closed curved manifolds have .21 to .7 (S^2 .30
# to .38, S^3 .31 to .35, tori of revolution .38, SO(3) .7), half a sphere .11, photographs of a
# face in all poses .05 to .11. Flat parts have at most .003; under noise of a tenth of their side,
# up to .18 next to a circle of that size.
MAX_STRAIN = 0.2
# Coordinates are doubted above this strain, rotation of the frame from end to end (radians), or
# share of squared steps that no coordinates explain. Flat boxes under noise of a hundredth of their
# side have .01, .02 and .0002.
DOUBTED_STRAIN, DOUBTED_TURN, DOUBTED_REL = 0.05, 0.1, 0.12
# Lengths of several factors are also doubted above this strain if it is so many times what noise
# explains: clean flat parts have at most .004, and noisy ones less than noise explains.
FLAT_STRAIN, EXPLAINED = 0.01, 1.5
# Z score above which curvature is significant, even if it is a small part of the bending.
SEEN = 5.0
POINTS_A_DIMENSION = 50
# Smallest share of the points in the largest piece of the graph for unrolling that piece alone.
MIN_SHARE = 0.5
NEARLY_ORTHONORMAL = 1e-3


@dataclass(frozen=True)
class FlatPart:
    """Factors of a flat part.

    Attributes
    ----------
    frames : ndarray of shape (n, f, d)
        Orthonormal rows along the factors: derivatives of the points along the coordinates.
    coordinates : ndarray of shape (n, f)
        Isometric coordinates in the order of the factors, with median zero; see
        `FlatEvidence.quality`. NaN at points that could not be unrolled with the others, and
        everywhere if the part was refused, as a closed curved manifold is.
    dims : tuple of int
    periods : tuple of ndarray of shape (b_j, f_j)
        Periods of every factor in its own coordinates; no rows if it does not close.
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
    tangent_neighbors: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> FlatPart:
    """Unroll the flat part of a manifold and split it into independent factors.

    Parameters
    ----------
    points : array-like of shape (n, d)
    subspaces : array-like of shape (n, f, d)
        Orthonormal rows spanning the flat part of the tangent space at every point; the whole
        tangent space if the manifold is flat.
    graph : NeighborGraph, or what `neighbor_graph` takes for one, optional
        True neighbours, if they are known.
    n_neighbors : int, optional
        Number of neighbours in the graph. By default 2f, at least 10, and more if the graph would
        be disconnected; on a curve, the number from 2 to 20 with which it unrolls best.
    tangent_neighbors : int, optional
        Number of neighbours that is best for the tangents; used to measure the curvature.
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
    # Project on the span of the flat part: distances along other factors would separate points that
    # are neighbours on the flat part.
    basis = _span(subspaces)
    where, own, tangents = points @ basis.T, subspaces @ basis.T, basis
    places, representative, place = distinct_rows(where) if graph is None else (where, None, None)
    rows = np.arange(len(where)) if representative is None else representative
    if len(rows) < POINTS_A_DIMENSION:
        return _refusal(subspaces, f"{len(rows)} points are too few to unroll")
    given = graph is not None
    own = own[rows]
    if graph is None and f == 1 and n_neighbors is None and len(rows) < MANY_ON_CURVE:
        graph = curve_graph(places, own, workers, rng)
    graph = graph or connected_graph(places, f, n_neighbors, workers, rng)
    inside, note = np.arange(len(rows)), ""
    if graph.n_pieces > 1:
        sizes = np.bincount(graph.piece)
        inside = np.flatnonzero(graph.piece == sizes.argmax())
        if len(inside) < MIN_SHARE * len(rows):
            return _refusal(
                subspaces,
                f"its neighbour graph is in {graph.n_pieces} pieces, the largest with "
                f"{len(inside)} of {len(rows)} points (unroll each on its own, or give a graph)",
            )
        graph = neighbor_graph(graph=graph.adjacency[inside][:, inside])
        note = f"only the largest piece of its graph, {len(inside)} of {len(rows)} points, was used"
    periods = unrolled_with_periods(places[inside], own[inside], graph)
    if f == 1 and not given and n_neighbors is None:
        periods = mended_curve(places[inside], own[inside], periods, tangent_neighbors, workers)
    unrolled = periods.unrolling
    strain = strain_of(unrolled, periods.vectors)
    # If neighbours are given, nearby points need not be neighbours on the manifold.
    curvature = None if given else measure_curvature(
        places[inside],
        unrolled.frames,
        unrolled.coordinates,
        tangent_neighbors=tangent_neighbors,
        n_jobs=workers,
        random_state=np.random.default_rng(0),  # leaves the random stream of the split unchanged
    )  # fmt: skip
    part = _split(periods, strain, curvature, rng, note)
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


def _split(
    periods: Periods,
    strain: float,
    curvature: Curvature | None,
    rng: np.random.Generator,
    note: str,
) -> FlatPart:
    """Split closed directions by their periods and the others by independence, with doubts."""
    unrolled = periods.unrolling
    n, f = unrolled.coordinates.shape
    notes = [
        f"unrolled (its frame rotates by {unrolled.turn:.1g} radian from end to end, "
        f"{unrolled.rel:.1g} of the squared steps unexplained)"
    ]
    notes += [note] if note else []
    # A curve has no intrinsic curvature, so its coordinate is always isometric.
    if f > 1 and strain > MAX_STRAIN:
        why = (
            f"lengths along any coordinates would be wrong by {strain:.0%}, which noise does not "
            "explain; it is curved, or too sparsely sampled for its noise"
        )
        return _refusal(unrolled.frames, why, unrolled, strain, curvature)
    doubts: list[Doubt] = []
    closed = [np.linalg.qr(periods.vectors[list(g)].T)[0].T for g in periods.groups]
    dims = [len(group) for group in closed]
    rows = list(closed)
    for group in periods.groups:
        lengths = ", ".join(f"{np.linalg.norm(periods.vectors[g]):.3g}" for g in group)
        notes.append(
            f"a direction closes after {lengths}"
            if len(group) == 1
            else f"{len(group)} directions close as one factor, with periods {lengths}"
        )
    outside = np.linalg.svd(periods.vectors)[2][len(periods) :] if len(periods) else np.eye(f)
    instability, contrast = 0.0, "none"
    contrasts: tuple[ContrastResult, ...] = ()
    reasons: tuple[str, ...] = ()
    if len(outside) and n < POINTS_A_DIMENSION * len(outside) and len(outside) > 1:
        rows.append(outside)
        dims.append(len(outside))
        reasons = (f"{n} points are too few to judge {len(outside)} directions",)
        doubts.append(doubt("few-for-directions", FLAT, n=n, directions=len(outside)))
    elif len(outside):
        found = independent_rotation(unrolled.coordinates @ outside.T, random_state=rng)
        rows += np.split(found.rotation @ outside, np.cumsum(found.dims)[:-1])
        dims += found.dims
        instability, contrast, contrasts = found.instability, found.contrast, found.contrasts
        reasons = found.reasons
        # Shared information is measured below for all factors.
        doubts += [one for one in found.doubts if one.code != "shared-information"]
        if instability > MAX_INSTABILITY:
            doubts.append(doubt("unstable-directions", FLAT, angle=instability))
    several = len(dims) > 1
    doubts = [*_doubts_of_unrolling(unrolled, strain, curvature, several), *doubts]
    if curvature is not None and curvature.curved:
        if several and curvature.matters:
            doubts.append(doubt("curved-part", FLAT, curvature=str(curvature)))
        else:  # negligible, or a single factor, which may be curved
            notes.append(f"it curves ({curvature})")
    order = np.argsort([-dim for dim in dims], kind="stable")
    dims, rows = [dims[j] for j in order], [rows[j] for j in order]
    rotation = polar_rows(np.concatenate(rows))  # closed directions are only nearly orthogonal
    coordinates = unrolled.coordinates @ rotation.T
    coordinates -= np.median(coordinates, axis=0)
    information, shared = information_between(jitter_grid(coordinates, rng)[0], tuple(dims))
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
        strain,
        curvature,
        instability,
        contrast,
        contrasts,
        information,
        reasons,
        (*doubts, *shared),
        tuple(notes),
    )
    return FlatPart(rotation @ unrolled.frames, coordinates, tuple(dims), tuple(own), evidence)


def _doubts_of_unrolling(
    unrolled: Unrolling, strain: float, curvature: Curvature | None, several: bool
) -> list[Doubt]:
    """List doubts about whether the coordinates are the latent variables.

    A rotation of the frame and wrong lengths may be due to noise or curvature; if curvature was
    measured and is not significant, they are due to noise. A single factor may be curved, whereas
    for several factors less curvature is evidence against them.
    """
    doubts = []
    f = unrolled.coordinates.shape[1]
    if f > 1 and strain > DOUBTED_STRAIN:
        doubts.append(doubt("wrong-lengths", FLAT, strain=strain))
    elif (
        several
        and curvature is not None
        and strain > max(FLAT_STRAIN, EXPLAINED * curvature.noise_strain)
    ):
        doubts.append(doubt("not-flat", FLAT, strain=strain, noise=curvature.noise_strain))
    seen = several and curvature is not None and curvature.z > SEEN
    known_flat = curvature is not None and not curvature.curved and not seen
    if f > 1 and unrolled.turn > DOUBTED_TURN and not known_flat:
        doubts.append(doubt("turning-frame", FLAT, turn=unrolled.turn))
    if unrolled.rel > DOUBTED_REL:
        doubts.append(doubt("unexplained-steps", FLAT, rel=unrolled.rel))
    return doubts


def _refusal(
    frames: np.ndarray,
    reason: str,
    unrolled: Unrolling | None = None,
    strain: float = np.nan,
    curvature: Curvature | None = None,
) -> FlatPart:
    """Return a part without coordinates; in several dimensions, that raises a doubt."""
    n, f, _ = frames.shape
    measured = (unrolled.hol, unrolled.turn, unrolled.rel) if unrolled else (np.nan,) * 3
    doubts = (doubt("not-unrolled", FLAT, reason=reason),) if f > 1 else ()
    evidence = FlatEvidence(
        f,
        (f,),
        *measured,
        strain,
        curvature,
        reasons=(reason,),
        doubts=doubts,
        notes=("left whole",),
    )
    return FlatPart(frames, np.full((n, f), np.nan), (f,), (np.zeros((0, f)),), evidence)


def _span(subspaces: np.ndarray) -> np.ndarray:
    """Return orthonormal rows (c, d) that span the directions of all frames."""
    rows = subspaces.reshape(-1, subspaces.shape[2])
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return vectors[:, values > 1e-9 * values[-1]].T
