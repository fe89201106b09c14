"""Maps of the factors of a fit, their names, and coordinates at new points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from geodis.base.check import GeodisWarning, InputError, MissingResultError
from geodis.base.jobs import one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.fitted import Fit
from geodis.manifold.flat.differences import Edges
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.maps.factor_map import FactorMap, UnrolledFactor
from geodis.manifold.maps.map_kinds import factor_maps
from geodis.manifold.maps.samples import coarse_sample, nearest_fitted
from geodis.manifold.out_of_sample import axes_of_fit
from geodis.manifold.preparation.prepared import pieces_largest_first
from geodis.manifold.topology.space_names import UNKNOWN
from geodis.manifold.topology.topology_of import Topology, nameless

# Overlaid maps, in which different points have the same coordinates in all factors.

# Two points are apart if their distance exceeds this multiple of their longest edge. Noise
# lengthens the edges as well, and so does not separate points.
APART = 1.25
# Largest share of points at the positions of others: none on a product, also under noise, and a
# third or more if two sheets coincide in the maps.
FEW = 0.05


def share_at_same_places(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    rows: np.ndarray,
    edges: Edges,
    *,
    n_jobs: int | None = None,
) -> float:
    """Compute the share of points whose nearest neighbour in the joint map is far away in space.

    The joint map of a product is an embedding, so the share is zero. It is half or more on a space
    that is a product only locally. For tensors ``x y^T`` of unit vectors, for example, (x, y) and
    (-x, -y) are the same point, and different points have the same position in all maps.

    Parameters
    ----------
    maps : sequence of FactorMap
    places : ndarray of shape (n, d)
    rows : ndarray of int, shape (c,)
        Carriers that all maps have in common.
    edges : Edges
        Edges between these points.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    float
    """
    own = places[rows]
    lengths = np.linalg.norm(own[edges.j] - own[edges.i], axis=1)
    reach = np.zeros(len(rows))
    np.maximum.at(reach, edges.i, lengths)
    np.maximum.at(reach, edges.j, lengths)
    joint = np.hstack([own.coordinates[rows] for own in maps])
    near = searcher(joint, n_jobs=n_jobs)(joint, 2)[0]
    # Among several points at the same position, the point itself may come second.
    nearest = np.where(near[:, 1] == np.arange(len(rows)), near[:, 0], near[:, 1])
    return float((np.linalg.norm(own[nearest] - own, axis=1) > APART * reach).mean())


def common_points(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    axes: np.ndarray,
    graph: NeighborGraph,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, Edges]:
    """Return the carriers that all maps have in common, and the edges between them."""
    sample = next((own.sample for own in maps if own.sample is not None), None)
    if sample is None:  # all were unrolled, from all points
        usable = np.isfinite(axes).all(axis=(1, 2))
        largest = pieces_largest_first(graph.piece)[0]
        given = graph if graph.method == "given" else None
        sample = coarse_sample(places, largest[usable[largest]], axes, given=given, n_jobs=n_jobs)
    known = np.logical_and.reduce([np.isin(sample.rows, own.tangents()[0]) for own in maps])
    if not known.any():
        raise InputError("The maps of factors must have points in common; got none.")
    both = known[sample.edges.i] & known[sample.edges.j]
    number = np.cumsum(known) - 1
    edges = Edges(number[sample.edges.i[both]], number[sample.edges.j[both]], int(known.sum()))
    return sample.rows[known], edges


@dataclass(frozen=True)
class MadeMaps:
    """The maps of all factors, and the doubts about them."""

    maps: tuple[FactorMap, ...]
    doubts: tuple[Doubt, ...]


def maps_of(fit: Fit) -> tuple[FactorMap, ...]:
    """Return the map of every factor of a fit, computed on first use.

    If the maps superimpose different points, a doubt is then added to those of the fit.

    Raises
    ------
    MissingResultError
        If there are too few points for maps.
    """
    return fit.once("maps", lambda: _make_maps(fit)).maps


def _make_maps(fit: Fit) -> MadeMaps:
    """Make the maps of a fit, and check whether they superimpose different points."""
    evidence = fit.flat.evidence
    with Stages("maps of the factors", fit.settings.verbose) as stages, one_blas_thread():
        try:
            made = factor_maps(
                fit.points,
                fit.places,
                fit.flat.axes,
                fit.flat.dims,
                fit.graph,
                unrolled=_unrolled(fit),
                strain=np.nan if evidence is None else evidence.strain,
                stages=stages,
                n_jobs=fit.n_jobs,
            )
        except InputError as problem:
            raise MissingResultError(str(problem)) from problem
        return MadeMaps(made, (doubt("overlaid", "maps"),) if _overlaid(fit, made) else ())


def topologies_of(fit: Fit) -> tuple[Topology, ...]:
    """Identify the space that every factor of a fit is, on first use."""
    try:
        maps = maps_of(fit)
    except MissingResultError as problem:
        why = doubt("few-for-name", "maps", why=str(problem).rstrip("."))
        return tuple(nameless(dim, why) for dim in fit.flat.dims)
    return fit.once("topologies", lambda: _name(fit, maps))


def _name(fit: Fit, maps: Sequence[FactorMap]) -> tuple[Topology, ...]:
    """Identify every factor; overlaid maps give no names."""
    found = []
    with Stages("names of the factors", fit.settings.verbose) as stages, one_blas_thread():
        for own, flat in zip(maps, fit.flat.flat, strict=True):
            with stages.stage("topology"):
                named = own.topology(flat, n_jobs=fit.n_jobs)
                for one in fit.all_doubts:
                    if one.code == "overlaid":
                        named = nameless(own.dim, one, named.evidence)
                found.append(named)
    return tuple(found)


def distances_in_factor(fit: Fit, factor: int, a: Any, b: Any) -> np.ndarray:
    """Compute geodesic distances in one factor between fitted points, whose rows are broadcast."""
    chosen = maps_of(fit)[fit.check_factor(factor)]
    a, b = fit.check_rows(a, "a"), fit.check_rows(b, "b")
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError as error:
        raise InputError(
            f"a and b must have shapes that can be broadcast; got {a.shape} and {b.shape}."
        ) from error
    return chosen.distances(a.ravel(), b.ravel(), n_jobs=fit.n_jobs).reshape(a.shape)


def coordinates_at(fit: Fit, points: np.ndarray) -> np.ndarray:
    """Compute coordinates of points (p, d) on all maps, concatenated; NaN outside the maps."""
    try:
        maps_of(fit)
    except MissingResultError as problem:
        warnings.warn(f"{problem} All coordinates are NaN.", GeodisWarning, stacklevel=3)
        return np.full((len(points), fit.dim), np.nan)
    places, axes = points @ fit.basis.T, axes_of_fit(fit, points) @ fit.basis.T
    with one_blas_thread():
        coordinates = np.hstack(coordinates_by_factor(fit, places, axes))
    near = nearest_fitted(fit.places, places, n_jobs=fit.n_jobs)
    lost = near.beyond | ~fit.with_axes[near.rows]
    coordinates[lost] = np.nan
    if lost.any():
        warnings.warn(
            f"{lost.sum():,} of {len(lost):,} points lie beyond the fitted ones, or next to one "
            "without coordinates; their coordinates are NaN.",
            GeodisWarning,
            stacklevel=3,
        )
    return coordinates


def coordinates_by_factor(fit: Fit, places: np.ndarray, axes: np.ndarray) -> list[np.ndarray]:
    """Compute coordinates (p, r_j) in every factor from places (p, c) and axes (p, k, c)."""
    bounds = pairwise(np.cumsum([0, *fit.flat.dims]))
    return [
        own.at(places, axes[:, start:stop], n_jobs=fit.n_jobs)
        for own, (start, stop) in zip(maps_of(fit), bounds, strict=True)
    ]


def feature_names(fit: Fit) -> np.ndarray:
    """Name the columns of all coordinates, such as ``factor0_sphere_x``."""
    names = []
    topologies = topologies_of(fit)  # makes the maps, where there can be any
    made = fit.made("maps")
    widths = fit.flat.dims if made is None else [own.n_coordinates for own in made.maps]
    for j, (r, topology) in enumerate(zip(widths, topologies, strict=True)):
        letters = "xyz"[:r] if r <= 3 else [str(c) for c in range(r)]
        kind = "" if topology.name == UNKNOWN else f"{topology.short}_"
        names += [f"factor{j}_{kind}{letter}" for letter in letters]
    return np.array(names, dtype=object)


def _overlaid(fit: Fit, maps: Sequence[FactorMap]) -> bool:
    """Whether these maps superimpose different points."""
    try:
        rows, edges = common_points(maps, fit.places, fit.flat.axes, fit.graph, n_jobs=fit.n_jobs)
    except InputError:  # too few points that all maps share
        return False
    return share_at_same_places(maps, fit.places, rows, edges, n_jobs=fit.n_jobs) > FEW


def _unrolled(fit: Fit) -> list[UnrolledFactor | None]:
    """Return the unrolled coordinates of every factor; None for those that were not unrolled."""
    known: list[UnrolledFactor | None] = []
    column, number = 0, 0
    for dim, is_flat in zip(fit.flat.dims, fit.flat.flat, strict=True):
        if not is_flat or not fit.flat.coordinates.shape[1]:
            known.append(None)
            continue
        pieces = [(piece.rows, piece.periods[number]) for piece in fit.flat.pieces]
        own = fit.flat.coordinates[:, column : column + dim]
        known.append(UnrolledFactor(own, tuple(pieces)))
        column, number = column + dim, number + 1
    return known
