"""Results of a traversal along one factor, and of an analogy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy


class Decodable:
    """Points in the space of the fitted ones, which may be latents of a model.

    Attributes
    ----------
    points : ndarray of shape (s, d)
    nearest : ndarray of int, shape (s,)
        Rows of the nearest samples.
    n_samples : int
        n, of the fit.
    """

    points: np.ndarray
    nearest: np.ndarray
    n_samples: int

    def decode(self, decoder: Callable[[np.ndarray], Any]) -> np.ndarray:
        """What a model makes of the points, where these are its latents.

        Parameters
        ----------
        decoder : callable
            Latents (s, d) -> images, such as ``lambda z: geodis.models.decode(model, z)``.
        """
        if not callable(decoder):
            raise InputError(
                "decoder must be a function of latents (s, d) that returns as many images; "
                f"got {type(decoder).__name__}."
            )
        decoded = to_numpy(decoder(self.points), "decoded images")
        if len(decoded) != len(self.points):
            raise InputError(
                f"decoder must return an image for each of the {len(self.points)} points; "
                f"got {len(decoded)}."
            )
        return decoded

    def nearest_images(self, images: Any) -> np.ndarray:
        """The images of the nearest samples.

        Parameters
        ----------
        images : array-like of shape (n, ...)
            Those of the fitted points, in their order.
        """
        pictures = to_numpy(images, "images")
        if len(pictures) != self.n_samples:
            raise InputError(
                f"images must be those of the {self.n_samples:,} fitted points; "
                f"got {len(pictures):,}."
            )
        return pictures[self.nearest]


@dataclass(frozen=True, eq=False)
class Walk(Decodable):
    """Places along one factor, while the others stay, and the points that belong there.

    Attributes
    ----------
    factor : int
    points : ndarray of shape (s, d)
        In the space of the fitted points.
    lengths : ndarray of shape (s,)
        How far each place is from the start along the factor.
    targets : ndarray of shape (s, r)
        Coordinates of the places, as `GeoManCER.transform` gives them.
    nearest : ndarray of int, shape (s,)
        Rows of the nearest samples.
    gap : ndarray of shape (s,)
        How far these are, in all factors together.
    spacing : ndarray of shape (s,)
        Mean distance to the nearest sample there; a place with a `gap` of many spacings
        is a guess.
    stopped : float or None
        The length at which the walk left the data, where it did.
    asked : float
        The requested length.
    n_samples : int
        n, of the fit.
    """

    factor: int
    points: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray
    nearest: np.ndarray
    gap: np.ndarray
    spacing: np.ndarray
    stopped: float | None
    asked: float
    n_samples: int

    @property
    def reason(self) -> str:
        """Why the walk stopped before its end; empty where it did not."""
        if self.stopped is None:
            return ""
        return (
            f"The walk left the data after {self.stopped:.3g} of {self.asked:.3g}: "
            "no sample lies further on."
        )

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        lines = [
            f"{len(self)} places along factor {self.factor}, over a length of "
            f"{self.lengths[-1]:.3g}",
            "length   nearest sample   distance to it   in spacings",
        ]
        for length, row, gap, spacing in zip(
            self.lengths, self.nearest, self.gap, self.spacing, strict=True
        ):
            lines.append(f"{length:>6.3g}   {row:>14}   {gap:>14.3g}   {gap / spacing:>11.2g}")
        return "\n".join(lines + [self.reason] * bool(self.reason))


@dataclass(frozen=True, eq=False)
class Analogy(Decodable):
    """The point d with a : b :: c : d, factor by factor.

    Attributes
    ----------
    points : ndarray of shape (1, d)
    factors : tuple of int
        Those in which the step from a to b was made.
    lengths : ndarray of shape (f,)
        Of the step, in each of these.
    targets : ndarray of shape (1, r)
        Coordinates of d, as `GeoManCER.transform` gives them.
    nearest : ndarray of int, shape (1,)
        Row of the nearest sample.
    gap : ndarray of shape (1,)
        How far it is, in all factors together.
    spacing : ndarray of shape (1,)
        Mean distance to the nearest sample there.
    outside : bool
        d lies outside the data, and is a guess.
    n_samples : int
        n, of the fit.
    """

    points: np.ndarray
    factors: tuple[int, ...]
    lengths: np.ndarray
    targets: np.ndarray
    nearest: np.ndarray
    gap: np.ndarray
    spacing: np.ndarray
    outside: bool
    n_samples: int

    @property
    def point(self) -> np.ndarray:
        """The point d, shape (d,)."""
        return self.points[0]

    def __str__(self) -> str:
        steps = ", ".join(
            f"{length:.3g} in factor {factor}"
            for factor, length in zip(self.factors, self.lengths, strict=True)
        )
        text = (
            f"moved by {steps}; the nearest sample is row {self.nearest[0]}, {self.gap[0]:.3g} "
            f"away ({self.gap[0] / self.spacing[0]:.2g} spacings)"
        )
        return text + "; outside the data" * self.outside
