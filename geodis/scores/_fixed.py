"""Rows that share the value of one factor, drawn from a grid or found in a plain sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.scores.inputs import check_latents, check_scored

# Fewer rows with the same value show neither a spread nor what else varies.
MIN_ROWS = 10


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


@dataclass(frozen=True)
class Source:
    """Latents by row, and rows with one factor fixed.

    Attributes
    ----------
    rows : FixedRows
    used : ndarray of int64, shape (k,)
        Factors that can be fixed: two values at least, with enough rows each.
    n_factors : int
    names : tuple of str
        Of all factors; empty when they have none.
    note : str
        What was left out.
    table : ndarray of float64, shape (n, z), or None
        Latents of every row; None where an encoder makes them.
    encode : callable
        Rows (m,) -> latents (m, z).
    n_rows : int
    """

    rows: FixedRows
    used: np.ndarray
    n_factors: int
    names: tuple[str, ...]
    note: str
    table: np.ndarray | None
    encode: Callable[[Any], np.ndarray]
    n_rows: int

    def latents(self, *draws: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """A table of latents, and the draws as rows of that table; each row is encoded once."""
        if self.table is not None:
            return self.table, draws
        rows, where = np.unique(np.concatenate([d.ravel() for d in draws]), return_inverse=True)
        ends = np.cumsum([d.size for d in draws])[:-1]
        parts = np.split(where.reshape(-1), ends)
        return self.encode(rows), tuple(
            part.reshape(d.shape) for part, d in zip(parts, draws, strict=True)
        )

    def typical(self, most: int, random: np.random.Generator) -> np.ndarray:
        """Rows that stand for all: every one, or as many as are worth encoding."""
        if self.table is not None or self.n_rows <= most:
            return np.arange(self.n_rows)
        return random.integers(self.n_rows, size=most)


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
        # A uniform index has independent, uniform factors.
        index = random.integers(self.n, size=(count, size))
        values = self._value(index, factor)
        return index + (values[:, :1] - values) * self.strides[factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
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
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        _, value = self._anchors(factor, (count, 1), random)
        place = start[value] + random.integers(counts[value], size=(count, size))
        return self.order[place, factor]

    def pairs(
        self, factor: int, count: int, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        counts = self.counts[factor]
        start = np.cumsum(counts) - counts
        anchor, value = self._anchors(factor, (count, size), random)
        # A step round the rows of this value that is never whole: a row is not its own partner.
        step = 1 + random.integers(counts[value] - 1)
        partner = start[value] + (anchor - start[value] + step) % counts[value]
        return self.order[anchor, factor], self.order[partner, factor]


def open_source(latents: Any, factors: Any, score: str, min_rows: int = MIN_ROWS) -> Source:
    """Check latents and factors, or a code and its grid, and find the factors that can be fixed.

    Parameters
    ----------
    latents : array-like of shape (n, z), or a code of the grid
    factors : array-like of shape (n, f), or FactorGrid
    score : str
        Name of the score, for messages.
    min_rows : int
        How many rows a value needs to be fixed, in a plain sample.
    """
    if isinstance(factors, FactorGrid):
        grid = factors
        table = None if callable(latents) else check_latents(latents)
        encode = latents_of(grid, latents)
        n, names, coded = len(grid), grid.names, None
        if not grid.complete:
            coded = grid.factors(np.arange(n))
    else:
        table, checked = check_scored(latents, factors)
        encode, n, names, coded = table.__getitem__, len(table), checked.names, checked.codes
    if coded is None:
        sizes = np.array(grid.sizes)
        return Source(
            GridRows(grid),
            *_choose(sizes, sizes, sizes > 1, names, score, 0),
            table,
            encode,
            n,
        )
    rows = SampleRows(coded, min_rows)
    sizes = np.array([(counts > 0).sum() for counts in rows.counts])
    enough = np.array([frequent.sum() for frequent in rows.frequent])
    most = max(int(counts.max()) for counts in rows.counts)
    chosen = _choose(sizes, enough, enough > 1, names, score, most, min_rows)
    return Source(rows, *chosen, table, encode, n)


def _choose(
    sizes: np.ndarray,
    enough: np.ndarray,
    usable: np.ndarray,
    names: tuple[str, ...],
    score: str,
    most: int,
    min_rows: int = 0,
) -> tuple[np.ndarray, int, tuple[str, ...], str]:
    """Factors that can be fixed, all factors, their names, and what to say of the others."""
    called = names or tuple(str(j) for j in range(len(sizes)))
    notes = []
    for kind, left_out in (
        ("with one value", sizes < 2),
        (f"with too few rows of the same value ({min_rows} are needed)", (sizes > 1) & ~usable),
    ):
        if left_out.any():
            which = ", ".join(called[j] for j in np.flatnonzero(left_out))
            notes.append(f"left out, {kind}: {which}")
    rare = usable & (enough < sizes)
    if rare.any():
        which = ", ".join(called[j] for j in np.flatnonzero(rare))
        notes.append(f"values with fewer than {min_rows} rows are never fixed, of: {which}")
    if usable.sum() < 2:
        varying = int((sizes > 1).sum())
        if varying < 2:
            raise InputError(
                f"{score} tells factors apart and needs two that vary; {varying} came."
            )
        raise InputError(
            f"{score} fixes one factor at a time and needs two factors with two values of "
            f"{min_rows} rows or more; {int(usable.sum())} came, and no value has more than {most} "
            "rows."
        )
    return np.flatnonzero(usable), len(sizes), names, "; ".join(notes)
