"""Draws of rows that share the value of one factor, from a grid or from a plain sample."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from geodis.data.grids.grid import FactorGrid


class FixedRows(Protocol):
    """Draws of rows in which one factor is fixed and the others vary as they do in the data."""

    def batches(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> np.ndarray:
        """Rows (count, size) that share the factor's value within each batch."""

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows (count, size) twice, the factor equal within each pair."""


class GridRows:
    """Draws from a complete grid: the other factors are independent and uniform."""

    def __init__(self, grid: FactorGrid) -> None:
        self.n = len(grid)
        self.sizes = np.array(grid.sizes, dtype=np.int64)
        # Row-major: index = sum_j factors[j] * stride[j].
        self.strides = np.array([math.prod(grid.sizes[j + 1 :]) for j in range(len(grid.sizes))])

    def _value(self, index: np.ndarray, factor: int) -> np.ndarray:
        return index // self.strides[factor] % self.sizes[factor]

    def batches(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> np.ndarray:
        """Draw as `FixedRows` says."""
        # A uniform index has independent, uniform factors.
        index = random.integers(self.n, size=(count, size))
        values = self._value(index, factor)
        return index + (values[:, :1] - values) * self.strides[factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as `FixedRows` says."""
        first, second = random.integers(self.n, size=(2, count, size))
        change = self._value(first, factor) - self._value(second, factor)
        return first, second + change * self.strides[factor]


class SampleRows:
    """Draws, with replacement, from the rows of a sample whose value is frequent enough.

    Parameters
    ----------
    codes : ndarray of int64, shape (n, f)
    min_rows : int
        Values with fewer rows are not fixed.
    """

    def __init__(self, codes: np.ndarray, min_rows: int) -> None:
        self.codes = codes
        self.order = np.argsort(codes, axis=0, kind="stable")  # (n, f): rows by value
        self.counts = [np.bincount(column) for column in codes.T]
        self.frequent = [counts >= min_rows for counts in self.counts]

    def _anchors(self, factor: int, size: tuple[int, ...], random: np.random.Generator) -> Any:
        """Places, in the order by value, of rows whose value is frequent; and their values."""
        counts, frequent = self.counts[factor], self.frequent[factor]
        places = np.flatnonzero(np.repeat(frequent, counts))
        anchor = places[random.integers(len(places), size=size)]
        return anchor, self.codes[self.order[anchor, factor], factor]

    def batches(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> np.ndarray:
        """Draw as `FixedRows` says."""
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        _, value = self._anchors(factor, (count, 1), random)
        place = start[value] + random.integers(counts[value], size=(count, size))
        return self.order[place, factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as `FixedRows` says."""
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        anchor, value = self._anchors(factor, (count, size), random)
        # A step round the rows of this value that is never whole: a row is not its own partner.
        step = 1 + random.integers(counts[value] - 1)
        partner = start[value] + (anchor - start[value] + step) % counts[value]
        return self.order[anchor, factor], self.order[partner, factor]
