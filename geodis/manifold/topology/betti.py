"""Distances between places -> Betti numbers over two fields, by persistent homology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import MissingExtraError, require

# Holes that the sampling leaves close soon: by so many spacings of the places, and by so many times
# their birth, for each dimension and degree. What lives beyond the second pair is a hole of the
# space; what is beyond the first pair but not the second may be either.
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
# Longer scales are not looked at: what lives until here is real.
FARTHEST = {1: 4.0, 2: 2.6}
# Bars that are kept to be shown, of each degree.
SHOWN = 6


@dataclass(frozen=True, eq=False)
class Betti:
    """Betti numbers b1, b2, ... over the fields of two and three elements.

    Attributes
    ----------
    over_two, over_three : tuple of (int or None)
        From degree one on; None where a bar is neither short nor long.
    bars_two, bars_three : tuple of ndarray of shape (b, 2)
        Birth and death of the longest bars of every degree; a death at `reach` is that or later.
    spacing : float
        Median distance of a place used to the nearest other.
    reach : tuple of float
        The scale up to which each degree was followed.
    """

    over_two: tuple[int | None, ...]
    over_three: tuple[int | None, ...]
    bars_two: tuple[np.ndarray, ...]
    bars_three: tuple[np.ndarray, ...]
    spacing: float
    reach: tuple[float, ...]

    @property
    def told(self) -> bool:
        """Whether every number is known."""
        return None not in (*self.over_two, *self.over_three)

    def __str__(self) -> str:
        """In words."""
        parts = []
        for q, (two, three) in enumerate(zip(self.over_two, self.over_three, strict=True)):
            bar = max((b[1] / b[0] for b in self.bars_two[q]), default=0.0)
            numbers = " and ".join("unknown" if b is None else str(b) for b in (two, three))
            parts.append(
                f"b{q + 1} = {numbers} over Z2 and Z3 (longest bar {bar:.1f} times its birth)"
            )
        return ", ".join(parts)


def betti_numbers(distances: np.ndarray, degree: int, dim: int) -> Betti | None:
    """Count the holes of every degree that live long; None without ripser.

    Parameters
    ----------
    distances : ndarray of shape (l, l)
        Between places that are spread evenly.
    degree : int
        The highest degree.
    dim : int
        Of the space.
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
    """Bars of one degree, longest first in proportion to their birth."""
    found = ripser(distances, distance_matrix=True, maxdim=q, coeff=field, thresh=reach)["dgms"][q]
    found = np.minimum(np.asarray(found, dtype=float).reshape(-1, 2), reach)
    return found[np.argsort(-found[:, 1] / np.maximum(found[:, 0], 1e-300), kind="stable")]


def _count(bars: np.ndarray, q: tuple[int, int]) -> int | None:
    """Bars that live beyond what sampling leaves open; None if one is between."""
    death, ratio = bars[:, 1], bars[:, 1] / np.maximum(bars[:, 0], 1e-300)
    open_ = (death > CHANCE[q][0]) & (ratio > CHANCE[q][1])
    real = (death > REAL[q][0]) & (ratio > REAL[q][1])
    return None if (open_ & ~real).any() else int(real.sum())
