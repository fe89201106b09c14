"""How a fitted estimator moves along one factor while the others stay."""

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
from geodis.manifold.maps.mapped_factors import MappedFactors
from geodis.manifold.maps.nearest_fitted import nearest_fitted
from geodis.manifold.walks.standpoint import Standpoint
from geodis.manifold.walks.terrain import Terrain, terrain_of
from geodis.manifold.walks.walk_results import Analogy, Walk

# What a point without axes is.
NO_AXES = (
    "which is an outlier, or in a piece of the graph that does not split like the largest or is "
    "too small"
)


class MovingFactors(MappedFactors):
    """Walks along the factors of a fitted `GeoManCER`, and analogies between points."""

    def walk(
        self,
        start: Any,
        factor: int,
        *,
        to: Any = None,
        direction: Any = None,
        length: float | None = None,
        steps: int = 16,
    ) -> Walk:
        """Move along a geodesic of one factor, with the other factors held still.

        Places lie on a geodesic of the factor's map; each is turned into a point by a local
        quadratic regression of the fitted points on their coordinates in all maps. A walk that
        leaves the data stops there, and says where.

        Parameters
        ----------
        start : int or array-like of shape (d,)
            Row of a fitted point, or a new point among them.
        factor : int
        to : int or array-like of shape (d,), optional
            Where to go, in this factor; otherwise `direction` says where.
        direction : int or array-like of shape (k_j,)
            One of the factor's axes at the start, or a combination of them; by default the
            first, or against it where there is more room.
        length : float, optional
            How far, in the units of the points; as far as the farthest point in the factor by
            default.
        steps : int
            Places, with the start and the end; they cover what could be walked.

        Returns
        -------
        Walk

        Examples
        --------
        >>> import geodis as gd
        >>> sample = gd.product_manifold("S^2 x S^1", n=2000, random_state=0)
        >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
        >>> walk = est.walk(0, factor=0, length=3.0, steps=7)
        >>> still = walk.points[:, 3:] - sample.points[0, 3:]
        >>> bool(np.abs(still).max() < 0.05)
        True
        """
        chosen = self._check_factor(factor)
        steps = check_int(steps, "steps", low=2)
        if to is not None and length is not None:
            raise InputError("A walk goes to a point or for a length; got both.")
        if to is not None and direction is not None:
            raise InputError("A walk goes to a point or in a direction; got both.")
        if length is not None and check_real(length, "length") <= 0:
            raise InputError(f"length must be more than 0; got {length}.")
        along = self._check_direction(0 if direction is None else direction, chosen)
        row, new = self._check_place(start, "start")
        with one_blas_thread():
            terrain = terrain_of(self._points, self.maps_, self.graph_.piece, row)
            stand = self._stand(terrain, row, new)
            if to is None:
                length = terrain.farthest(row, chosen) if length is None else float(length)
                ways = [along] if direction is not None else [along, -along]
                walks = []
                for way in ways:
                    track = terrain.ahead(stand, chosen, way, length)
                    walks.append(terrain.walk(stand, chosen, track, length, steps))
                    if walks[-1].stopped is None:
                        break
                return max(walks, key=lambda walk: float(walk.lengths[-1]))
            end = self._stand(terrain, *self._check_place(to, "to", piece_of=row))
            between = terrain.between(stand, end, chosen)
            if between is None:
                raise InputError(
                    f"to must be at another place than the start in factor {chosen}; got the same."
                )
            return terrain.walk(stand, chosen, between, np.inf, steps)

    def analogy(self, a: Any, b: Any, c: Any, factors: Sequence[int] | None = None) -> Analogy:
        """The point d with a : b :: c : d, factor by factor.

        In every chosen factor, d is where the step from a to b leads from c:
        ``d_f = exp_c(P log_a(b))``, with the step carried along the geodesic from a to c by
        parallel transport P; in the other factors, d is c. Where a and b differ in some factors
        and a and c in others, as when an object is moved and then painted, no step is carried,
        and d is the only answer. Otherwise it depends on how the step is carried: on a rotation
        group parallel transport lies half way between turning before and turning after.

        Parameters
        ----------
        a, b, c : int or array-like of shape (d,)
            Rows of fitted points, or new points among them; all in one piece of the graph.
        factors : sequence of int, optional
            All of them by default.

        Returns
        -------
        Analogy

        Examples
        --------
        >>> import geodis as gd
        >>> angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (1500, 2))
        >>> angles[:3] = [0, 0], [1, 0.5], [3, 3]
        >>> torus = np.hstack([np.cos(angles), np.sin(angles)])[:, [0, 2, 1, 3]]
        >>> est = gd.GeoManCER(verbose=0).fit(torus)
        >>> d = est.analogy(0, 1, 2).point
        >>> bool(np.allclose(np.arctan2(d[[1, 3]], d[[0, 2]]) % 6.28318, [4, 3.5], atol=0.05))
        True
        """
        self._check_fitted()
        asked = range(self.n_factors_) if factors is None else np.atleast_1d(to_numpy(factors))
        chosen = sorted({self._check_factor(factor) for factor in list(asked)})
        if not chosen:
            raise InputError("factors must name at least one factor; got none.")
        places = [self._check_place(a, "a")]
        for asked, name in ((b, "b"), (c, "c")):
            places.append(self._check_place(asked, name, piece_of=places[0][0]))
        with one_blas_thread():
            terrain = terrain_of(self._points, self.maps_, self.graph_.piece, places[0][0])
            at_a, at_b, at_c = (self._stand(terrain, row, new) for row, new in places)
            return terrain.analogy(at_a, at_b, at_c, chosen)

    def _check_direction(self, direction: Any, factor: int) -> np.ndarray:
        k = int(self.factor_dims_[factor])
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
        self, asked: Any, name: str, *, piece_of: int | None = None
    ) -> tuple[int, np.ndarray | None]:
        """Row of a fitted point; or of the one nearest to a new one, and the new one (1, d)."""
        new = None
        if np.ndim(asked) == 0:
            row = int(self._check_rows(asked, name))
            if not self._with_axes[row]:
                raise InputError(f"{name} must be a point with axes; got row {row}, {NO_AXES}.")
        else:
            vector = check_numeric(to_numpy(asked, name), name)
            if vector.shape != (self.n_features_in_,):
                raise InputError(
                    f"{name} must be a row of the fitted points or a point of "
                    f"{self.n_features_in_} columns; got shape {vector.shape}."
                )
            new = self._measure.new_points(vector[None], self.n_features_in_, name=name)
            row = self._nearest_row(new, name)
        if piece_of is not None and self.graph_.piece[row] != self.graph_.piece[piece_of]:
            raise InputError(
                f"{name} must be in the same piece of the graph as the start; got a point in "
                "another one, to which no way leads."
            )
        return row, new

    def _nearest_row(self, new: np.ndarray, name: str) -> int:
        """Row of the fitted point next to a new one, which must be among them."""
        near = nearest_fitted(self._places, new @ self._basis.T, n_jobs=1)
        row = int(near.rows[0])
        if near.beyond[0]:
            raise InputError(
                f"{name} must lie among the fitted points; got one {near.distances[0]:.3g} from "
                f"the nearest, which has {near.count} others within {near.reach[0]:.3g}."
            )
        if not self._with_axes[row]:
            raise InputError(
                f"{name} must lie beside a point with axes; got one beside row {row}, {NO_AXES}."
            )
        return row

    def _stand(self, terrain: Terrain, row: int, new: np.ndarray | None) -> Standpoint:
        """Stand at a fitted point, or at a new one (1, d)."""
        if new is None:
            told = [own.coordinates[row] for own in self.maps_]
            return terrain.stand(self._places[row], self._flat.axes[row], told)
        place, axes = new @ self._basis.T, self._axes_at(new) @ self._basis.T
        told = [own[0] for own in self._coordinates_at(place, axes, 1)]
        return terrain.stand(place[0], axes[0], told)
