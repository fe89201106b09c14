"""Sampling of rows with one factor fixed, from a grid or from a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.jobs import blocks
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.inputs import check_latents, check_scored, joined_notes


class GridRows:
    """Sampling from a complete grid, with independent, uniform other factors."""

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
        """Draw batches of rows (count, size) with the same value of the factor."""
        # A uniform index has independent, uniform factors.
        index = random.integers(self.n, size=(count, size))
        values = self._value(index, factor)
        return index + (values[:, :1] - values) * self.strides[factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw pairs of rows, both (count, size), with the same value of the factor."""
        first, second = random.integers(self.n, size=(2, count, size))
        change = self._value(first, factor) - self._value(second, factor)
        return first, second + change * self.strides[factor]


class SampleRows:
    """Sampling with replacement from the rows of a sample with frequent values.

    Parameters
    ----------
    codes : ndarray of int64, shape (n, f)
    min_rows : int
        Values with fewer rows are never fixed.
    """

    def __init__(self, codes: np.ndarray, min_rows: int) -> None:
        self.codes = codes
        self.order = np.argsort(codes, axis=0, kind="stable")  # (n, f): rows by value
        self.counts = [np.bincount(column) for column in codes.T]
        self.frequent = [counts >= min_rows for counts in self.counts]

    def _anchors(self, factor: int, size: tuple[int, ...], random: np.random.Generator) -> Any:
        """Draw positions, in the order by value, of rows with frequent values; and the values."""
        counts, frequent = self.counts[factor], self.frequent[factor]
        places = np.flatnonzero(np.repeat(frequent, counts))
        anchor = places[random.integers(len(places), size=size)]
        return anchor, self.codes[self.order[anchor, factor], factor]

    def batches(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> np.ndarray:
        """As of `GridRows`."""
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        _, value = self._anchors(factor, (count, 1), random)
        place = start[value] + random.integers(counts[value], size=(count, size))
        return self.order[place, factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """As of `GridRows`."""
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        anchor, value = self._anchors(factor, (count, size), random)
        # A cyclic shift within the rows of this value: a row is never paired with itself.
        step = 1 + random.integers(counts[value] - 1)
        partner = start[value] + (anchor - start[value] + step) % counts[value]
        return self.order[anchor, factor], self.order[partner, factor]


# Settings of Locatello et al. (2019).
N_TRAIN, N_EVAL, BATCH_SIZE = 10_000, 5_000, 64
# Entries of latents processed at a time; a few megabytes fit into the cache.
CHUNK_ENTRIES = 1 << 18
# Values with fewer rows are too rare to estimate a variance.
MIN_ROWS = 10


@dataclass(frozen=True)
class FixedSource:
    """Latents, and sampling of rows with one factor fixed.

    Attributes
    ----------
    rows : GridRows or SampleRows
    used : ndarray of int64, shape (k,)
        Factors that can be fixed: they have at least two frequent values.
    n_factors : int
    names : tuple of str
        Names of all factors; empty if they have none.
    note : str
        What was left out.
    table : ndarray of float64, shape (n, z), or None
        Latents of every row; None with an encoder.
    encode : callable
        Rows (m,) -> latents (m, z).
    n_rows : int
    """

    rows: GridRows | SampleRows
    used: np.ndarray
    n_factors: int
    names: tuple[str, ...]
    note: str
    table: np.ndarray | None
    encode: Callable[[Any], np.ndarray]
    n_rows: int

    def latents(self, *draws: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return a table of latents and the draws as its row numbers; encodes each row once."""
        if self.table is not None:
            return self.table, draws
        rows, where = np.unique(np.concatenate([d.ravel() for d in draws]), return_inverse=True)
        ends = np.cumsum([d.size for d in draws])[:-1]
        parts = np.split(where.reshape(-1), ends)
        return self.encode(rows).astype(float), tuple(
            part.reshape(d.shape) for part, d in zip(parts, draws, strict=True)
        )

    def draw_factors(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draw the fixed factors (count,), uniformly from those that can be fixed."""
        return self.used[random.integers(len(self.used), size=count)]

    def batches(self, labels: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
        """Draw batches of rows (n, size), with the factors given by labels (n,) fixed."""
        rows = np.empty((len(labels), size), dtype=np.int64)
        for factor in self.used:
            own = labels == factor
            rows[own] = self.rows.batches(factor, int(own.sum()), size, random)
        return rows

    def pairs(
        self, labels: np.ndarray, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw pairs of rows, both (n, size), with the factors given by labels (n,) fixed."""
        left = np.empty((len(labels), size), dtype=np.int64)
        right = np.empty_like(left)
        for factor in self.used:
            own = labels == factor
            left[own], right[own] = self.rows.pairs(factor, int(own.sum()), size, random)
        return left, right

    def recognised(self, labels: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the accuracy for each factor (f,), NaN without any draws."""
        asked = np.bincount(labels, minlength=self.n_factors)
        answered = np.bincount(labels, weights=right, minlength=self.n_factors)
        return np.divide(answered, asked, out=np.full(self.n_factors, np.nan), where=asked > 0)

    def typical(self, most: int, random: np.random.Generator) -> np.ndarray:
        """Return all rows, or at most this many random rows if they must be encoded."""
        if self.table is not None or self.n_rows <= most:
            return np.arange(self.n_rows)
        return random.integers(self.n_rows, size=most)


def chunks(rows: np.ndarray, width: int) -> Iterator[slice]:
    """Split draws (n, size) into slices whose latents, of this width, are processed at a time."""
    return blocks(len(rows), max(1, CHUNK_ENTRIES // (rows.shape[1] * width)))


def open_source(latents: Any, factors: Any, score: str, min_rows: int = MIN_ROWS) -> FixedSource:
    """Validate latents and factors, or a code and its grid, and find factors that can be fixed.

    Parameters
    ----------
    latents : array-like of shape (n, z), or a code of the grid
    factors : array-like of shape (n, f), or FactorGrid
    score : str
        Name of the score, for messages.
    min_rows : int
        Fewest rows of a value that can be fixed, in a sample.
    """
    coded = None
    if isinstance(factors, FactorGrid):
        table = None if callable(latents) else check_latents(latents)
        encode, n, names = latents_of(factors, latents), len(factors), factors.names
        if not factors.complete:
            coded = factors.factors(np.arange(n))
    else:
        table, checked = check_scored(latents, factors)
        encode, n, names, coded = table.__getitem__, len(table), checked.names, checked.codes
    if coded is None:
        rows: GridRows | SampleRows = GridRows(factors)
        sizes = frequent = np.array(factors.sizes)
        most = 0
    else:
        rows = SampleRows(coded, min_rows)
        sizes = np.array([(counts > 0).sum() for counts in rows.counts])
        frequent = np.array([often.sum() for often in rows.frequent])
        most = max(int(counts.max()) for counts in rows.counts)
    if (frequent > 1).sum() < 2:
        varying = int((sizes > 1).sum())
        if varying < 2:
            raise InputError(f"{score} tells factors apart and needs two that vary; got {varying}.")
        raise InputError(
            f"{score} fixes one factor at a time and needs two factors with two values of "
            f"{min_rows} rows or more; got {int((frequent > 1).sum())}, and no value has more than "
            f"{most} rows."
        )
    note = _left_out(sizes, frequent, names, min_rows)
    return FixedSource(
        rows, np.flatnonzero(frequent > 1), len(sizes), names, note, table, encode, n
    )


def _left_out(
    sizes: np.ndarray, frequent: np.ndarray, names: tuple[str, ...], min_rows: int
) -> str:
    """Return a note on factors and values that are never fixed."""
    called = names or tuple(str(j) for j in range(len(sizes)))
    usable = frequent > 1
    few = f"left out, with too few rows of the same value ({min_rows} are needed)"
    return joined_notes(
        *(
            f"{what}: {', '.join(called[j] for j in np.flatnonzero(which))}"
            for what, which in (
                ("left out, with one value", sizes < 2),
                (few, (sizes > 1) & ~usable),
                (
                    f"values with fewer than {min_rows} rows are never fixed, of",
                    usable & (frequent < sizes),
                ),
            )
            if which.any()
        )
    )
