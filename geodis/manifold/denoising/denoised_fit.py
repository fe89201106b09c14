"""What a fitted estimator says of its points without the noise across the fitted surface."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from geodis.manifold.denoising.surface_points import SurfacePoints, surface_points
from geodis.manifold.local.batched_fits import tangent_terms
from geodis.manifold.split_result import Split
from geodis.manifold.task import Settings


class DenoisedFit:
    """The points of a fitted `GeoManCER` on its surface, found when first asked for, and kept."""

    dim_: int
    axes_: np.ndarray
    split_: Split
    _points: np.ndarray
    _basis: np.ndarray
    _denoising: list[SurfacePoints]

    @abstractmethod
    def _check_fitted(self) -> None: ...

    @abstractmethod
    def _settings(self) -> Settings: ...

    @property
    def denoised_(self) -> np.ndarray:
        """Points on the fitted surface where what fits leave is noise; see `surface_points`."""
        return self.denoising_.points

    @property
    def denoising_(self) -> SurfacePoints:
        """The same with the noise across the surface, and a sentence that says what was done."""
        self._check_fitted()
        if not self._denoising:
            axes = self.axes_ @ self._basis.T
            count = max(self.split_.tangent_neighbors, 4 * tangent_terms(self.dim_))
            found = surface_points(
                self._points @ self._basis.T, axes, count, n_jobs=self._settings().n_jobs
            )
            # In the directions that are all noise the points are at their mean.
            mean = self._points.mean(axis=0)
            mean -= mean @ self._basis.T @ self._basis
            self._denoising.append(replace(found, points=found.points @ self._basis + mean))
        return self._denoising[0]
