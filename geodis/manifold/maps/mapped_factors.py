"""A fit -> maps of its factors, their names, and coordinates at new points."""

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
from geodis.manifold.coupling.same_places import (
    FEW,
    common_points,
    share_at_same_places,
)
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.fitted import Fit
from geodis.manifold.maps.all_maps import factor_maps
from geodis.manifold.maps.factor_map import FactorMap, UnrolledFactor
from geodis.manifold.maps.nearest_fitted import nearest_fitted
from geodis.manifold.new_points import axes_of_fit
from geodis.manifold.topology.space_names import UNKNOWN
from geodis.manifold.topology.topology_of import Topology, nameless


@dataclass(frozen=True)
class MadeMaps:
    """The maps of all factors, and what speaks against them together."""

    maps: tuple[FactorMap, ...]
    doubts: tuple[Doubt, ...]


def maps_of(fit: Fit) -> tuple[FactorMap, ...]:
    """The map of every factor of a fit, made once.

    Where maps put points that lie apart at the same place, the doubts of the fit say so from then
    on.

    Raises
    ------
    MissingResultError
        If there are too few points for maps.
    """
    return fit.once("maps", lambda: _make_maps(fit)).maps


def _make_maps(fit: Fit) -> MadeMaps:
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
    """Which space every factor of a fit is, with the evidence, found once."""
    try:
        maps = maps_of(fit)
    except MissingResultError as problem:
        why = doubt("few-for-name", "maps", why=str(problem).rstrip("."))
        return tuple(nameless(dim, why) for dim in fit.flat.dims)
    return fit.once("topologies", lambda: _name(fit, maps))


def _name(fit: Fit, maps: Sequence[FactorMap]) -> tuple[Topology, ...]:
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
    """Lengths of geodesics of one factor between fitted points, whose rows are broadcast."""
    chosen = maps_of(fit)[fit.check_factor(factor)]
    a, b = fit.check_rows(a, "a"), fit.check_rows(b, "b")
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError as error:
        raise InputError(
            f"a and b must be as many rows, or one of them one; got shapes {a.shape} and {b.shape}."
        ) from error
    return chosen.distances(a.ravel(), b.ravel(), n_jobs=fit.n_jobs).reshape(a.shape)


def coordinates_at(fit: Fit, points: np.ndarray) -> np.ndarray:
    """Coordinates of points (p, d) on all maps, side by side; NaN where there are none."""
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
            f"{lost.sum():,} of {len(lost):,} points lie beyond the fitted ones, or beside one "
            "without coordinates: theirs are NaN.",
            GeodisWarning,
            stacklevel=3,
        )
    return coordinates


def coordinates_by_factor(fit: Fit, places: np.ndarray, axes: np.ndarray) -> list[np.ndarray]:
    """Coordinates (p, r_j) of other places in every factor, with the axes (p, k, c) there."""
    bounds = pairwise(np.cumsum([0, *fit.flat.dims]))
    return [
        own.at(places, axes[:, start:stop], n_jobs=fit.n_jobs)
        for own, (start, stop) in zip(maps_of(fit), bounds, strict=True)
    ]


def feature_names(fit: Fit) -> np.ndarray:
    """Names of the columns of all coordinates, such as ``factor0_sphere_x``."""
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
    """Whether these maps have points that lie apart at the same place."""
    try:
        rows, edges = common_points(maps, fit.places, fit.flat.axes, fit.graph, n_jobs=fit.n_jobs)
    except InputError:  # too few points that all maps share
        return False
    return share_at_same_places(maps, fit.places, rows, edges, n_jobs=fit.n_jobs) > FEW


def _unrolled(fit: Fit) -> list[UnrolledFactor | None]:
    """Unrolled coordinates of every factor; None of those that were not."""
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
