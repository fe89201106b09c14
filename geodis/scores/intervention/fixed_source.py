"""Latents by row, and rows with one factor fixed: of a grid, or of a plain sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.jobs import blocks
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.latents import latents_of
from geodis.scores.inputs import check_latents, check_scored
from geodis.scores.intervention.fixed_rows import FixedRows, GridRows, SampleRows

# What Locatello et al. (2019) trained and evaluated the classifiers with.
N_TRAIN, N_EVAL, BATCH_SIZE = 10_000, 5_000, 64
# Latents gathered at once; a few megabytes stay in the cache.
CHUNK_ENTRIES = 1 << 18
# Fewer rows with the same value show neither a spread nor what else varies.
MIN_ROWS = 10


@dataclass(frozen=True)
class FixedSource:
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
        return self.encode(rows).astype(float), tuple(
            part.reshape(d.shape) for part, d in zip(parts, draws, strict=True)
        )

    def draw_factors(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Which factor is fixed in each draw, (count,): uniform over those that can be."""
        return self.used[random.integers(len(self.used), size=count)]

    def batches(self, labels: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
        """Rows (n, size) that share the value of each draw's factor, labels (n,)."""
        rows = np.empty((len(labels), size), dtype=np.int64)
        for factor in self.used:
            own = labels == factor
            rows[own] = self.rows.batches(factor, int(own.sum()), size, random)
        return rows

    def pairs(
        self, labels: np.ndarray, size: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, size) twice, each pair with one value of its draw's factor."""
        left = np.empty((len(labels), size), dtype=np.int64)
        right = np.empty_like(left)
        for factor in self.used:
            own = labels == factor
            left[own], right[own] = self.rows.pairs(factor, int(own.sum()), size, random)
        return left, right

    def recognised(self, labels: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Share of right answers for each factor (f,), NaN where there were no questions."""
        asked = np.bincount(labels, minlength=self.n_factors)
        answered = np.bincount(labels, weights=right, minlength=self.n_factors)
        return np.divide(answered, asked, out=np.full(self.n_factors, np.nan), where=asked > 0)

    def typical(self, most: int, random: np.random.Generator) -> np.ndarray:
        """Rows that stand for all: every one, or as many as are worth encoding."""
        if self.table is not None or self.n_rows <= most:
            return np.arange(self.n_rows)
        return random.integers(self.n_rows, size=most)


def chunks(rows: np.ndarray, width: int) -> Iterator[slice]:
    """Slices of draws (n, size) whose latents, so many a row, are gathered at once."""
    return blocks(len(rows), max(1, CHUNK_ENTRIES // (rows.shape[1] * width)))


def open_source(latents: Any, factors: Any, score: str, min_rows: int = MIN_ROWS) -> FixedSource:
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
        return FixedSource(
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
    return FixedSource(rows, *chosen, table, encode, n)


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
            raise InputError(f"{score} tells factors apart and needs two that vary; got {varying}.")
        raise InputError(
            f"{score} fixes one factor at a time and needs two factors with two values of "
            f"{min_rows} rows or more; got {int(usable.sum())}, and no value has more than {most} "
            "rows."
        )
    return np.flatnonzero(usable), len(sizes), names, "; ".join(notes)
