"""A fit -> walks along one factor while the others are fixed, and analogies between points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_finite,
    check_int,
    check_numeric,
    check_real,
    to_numpy,
)
from geodis.base.jobs import one_blas_thread
from geodis.manifold.fitted import Fit
from geodis.manifold.maps.mapped_factors import coordinates_by_factor, maps_of
from geodis.manifold.maps.nearest_fitted import nearest_fitted
from geodis.manifold.new_points import axes_of_fit
from geodis.manifold.walks.standpoint import Standpoint
from geodis.manifold.walks.terrain import Terrain, terrain_of
from geodis.manifold.walks.walk_results import Analogy, Walk

# What a point without axes is.
NO_AXES = (
    "which is an outlier, or in a piece of the graph that does not split like the largest or is "
    "too small"
)


def walk_in_factor(
    fit: Fit,
    start: Any,
    factor: int,
    *,
    to: Any = None,
    direction: Any = None,
    length: float | None = None,
    steps: int = 16,
) -> Walk:
    """Walk along a geodesic of one factor; see `GeoManCER.walk`."""
    chosen = fit.check_factor(factor)
    steps = check_int(steps, "steps", low=2)
    if to is not None and length is not None:
        raise InputError("A walk goes to a point or for a length; got both.")
    if to is not None and direction is not None:
        raise InputError("A walk goes to a point or in a direction; got both.")
    if length is not None and check_real(length, "length") <= 0:
        raise InputError(f"length must be more than 0; got {length}.")
    along = _check_direction(0 if direction is None else direction, chosen, fit.flat.dims[chosen])
    row, new = _check_place(fit, start, "start")
    with one_blas_thread():
        terrain = terrain_of(fit.points, maps_of(fit), fit.piece, row)
        stand = _stand(fit, terrain, row, new)
        if to is None:
            length = terrain.farthest(row, chosen) if length is None else float(length)
            walks = []
            for way in [along] if direction is not None else [along, -along]:
                track = terrain.ahead(stand, chosen, way, length)
                walks.append(terrain.walk(stand, chosen, track, length, steps))
                if walks[-1].stopped is None:
                    break
            return max(walks, key=lambda walk: float(walk.lengths[-1]))
        end = _stand(fit, terrain, *_check_place(fit, to, "to", piece_of=row))
        between = terrain.between(stand, end, chosen)
        if between is None:
            raise InputError(
                f"to must be at another place than the start in factor {chosen}; got the same."
            )
        return terrain.walk(stand, chosen, between, np.inf, steps)


def analogy_by_factor(
    fit: Fit, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None
) -> Analogy:
    """The point d with a : b :: c : d, factor by factor; see `GeoManCER.analogy`."""
    asked = range(fit.n_factors) if factors is None else np.atleast_1d(to_numpy(factors))
    chosen = sorted({fit.check_factor(factor) for factor in list(asked)})
    if not chosen:
        raise InputError("factors must name at least one factor; got none.")
    places = [_check_place(fit, a, "a")]
    for place, name in ((b, "b"), (c, "c")):
        places.append(_check_place(fit, place, name, piece_of=places[0][0]))
    with one_blas_thread():
        terrain = terrain_of(fit.points, maps_of(fit), fit.piece, places[0][0])
        at_a, at_b, at_c = (_stand(fit, terrain, row, new) for row, new in places)
        return terrain.analogy(at_a, at_b, at_c, chosen)


def _check_direction(direction: Any, factor: int, k: int) -> np.ndarray:
    """A direction among the k axes of a factor, shape (k,)."""
    if np.ndim(direction) == 0:
        return np.eye(k)[check_int(direction, "direction", low=0, high=k - 1)]
    vector = check_numeric(to_numpy(direction, "direction"), "direction").astype(float)
    if vector.shape != (k,):
        raise InputError(
            f"direction must be one of the {k} axes of factor {factor}, or a vector of {k} "
            f"numbers along them; got shape {vector.shape}."
        )
    check_finite(vector, "direction")
    if not np.linalg.norm(vector):
        raise InputError("direction must not be zero; got zeros.")
    return vector


def _check_place(
    fit: Fit, asked: Any, name: str, *, piece_of: int | None = None
) -> tuple[int, np.ndarray | None]:
    """Row of a fitted point; or of the one nearest to a new one, and the new one (1, d)."""
    new = None
    if np.ndim(asked) == 0:
        row = int(fit.check_rows(asked, name))
        if not fit.with_axes[row]:
            raise InputError(f"{name} must be a point with axes; got row {row}, {NO_AXES}.")
    else:
        vector = check_numeric(to_numpy(asked, name), name)
        if vector.shape != (fit.n_columns,):
            raise InputError(
                f"{name} must be a row of the fitted points or a point of {fit.n_columns} columns; "
                f"got shape {vector.shape}."
            )
        new = fit.new_points(vector[None], name=name)
        row = _nearest_row(fit, new, name)
    if piece_of is not None and fit.piece[row] != fit.piece[piece_of]:
        raise InputError(
            f"{name} must be in the same piece of the graph as the start; got a point in "
            "another one, to which no way leads."
        )
    return row, new


def _nearest_row(fit: Fit, new: np.ndarray, name: str) -> int:
    """Row of the fitted point next to a new one, which must be among them."""
    near = nearest_fitted(fit.places, new @ fit.basis.T, n_jobs=1)
    row = int(near.rows[0])
    if near.beyond[0]:
        raise InputError(
            f"{name} must lie among the fitted points; got one {near.distances[0]:.3g} from "
            f"the nearest, which has {near.count} others within {near.reach[0]:.3g}."
        )
    if not fit.with_axes[row]:
        raise InputError(
            f"{name} must lie beside a point with axes; got one beside row {row}, {NO_AXES}."
        )
    return row


def _stand(fit: Fit, terrain: Terrain, row: int, new: np.ndarray | None) -> Standpoint:
    """Stand at a fitted point, or at a new one (1, d)."""
    if new is None:
        positions = [own.coordinates[row] for own in maps_of(fit)]
        return terrain.stand(fit.places[row], fit.flat.axes[row], positions)
    place, axes = new @ fit.basis.T, axes_of_fit(fit, new) @ fit.basis.T
    positions = [own[0] for own in coordinates_by_factor(fit, place, axes)]
    return terrain.stand(place[0], axes[0], positions)
