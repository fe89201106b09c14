"""Latents along the traversals of a grid, or of a plain sample, for the scores that need them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.base.jobs import blocks
from geodis.base.rounding import rounding_of
from geodis.data.factors import as_factors
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.latents import latents_of
from geodis.distances.grid_distances import code_of_rows
from geodis.distances.grid_traversals import Traversals, grid_traversals
from geodis.scores.inputs import check_latents, check_scored

# In a sample, fewer traversals than this along a factor say nothing of the others; and traversals
# of two points would all lie on a line.
MIN_TRAVERSALS, MIN_VALUES = 5, 3

# Entries of latents that are worked on at once: 32 MB.
CHUNK = 2**22

# Traversals that are looked at by default: of a table of latents, and by an encoder.
MAX_TRAVERSALS, MAX_ENCODED = 2**16, 512


@dataclass(frozen=True)
class Traversed:
    """Latents of traversals along the factors that have more than one value.

    Attributes
    ----------
    grid : FactorGrid
        The given one, or the rows of a sample as an incomplete one.
    code : array or callable
        Of that grid.
    encode : callable
        Indices -> latents.
    traversals : dict of int to Traversals
        By number of the factor.
    n_latents : int
    names : tuple of str
        Empty when the factors have none.
    note : str
        What was found among rows, and what was left out.
    """

    grid: FactorGrid
    code: Any
    encode: Callable[[Any], np.ndarray]
    traversals: dict[int, Traversals]
    n_latents: int
    names: tuple[str, ...]
    note: str

    @property
    def used(self) -> list[int]:
        """Factors that were not left out."""
        return list(self.traversals)

    @property
    def n_factors(self) -> int:
        """All factors, those that were left out too."""
        return len(self.grid.sizes)

    @property
    def counts(self) -> dict[str, int]:
        """Traversals along each factor."""
        return {self.grid.names[j]: len(along) for j, along in self.traversals.items()}

    def latents(
        self, factor: int, once: bool = False, *, from_first: bool = True
    ) -> list[np.ndarray]:
        """How latents move (t, s, z) along the traversals of each length, from their first point.

        Each value once if asked for; from zero, where they are, if not `from_first`. A latent that
        moves by no more than the rounding of its values stands still.
        """
        along = self.traversals[factor]
        if once and not self.grid.complete:
            moves, starts, rounding = self._means_of_values(along, factor)
        else:
            moves, starts, rounding = self._moves(along)
        still = 4 * rounding  # two points, each with errors of its own
        for part in moves:
            np.copyto(part, 0.0, where=(np.abs(part).max(axis=1) <= still)[:, None, :])
        return moves if from_first else [part + at for part, at in zip(moves, starts, strict=True)]

    def _moves(self, along: Traversals) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Moves from the first points, these points (t, 1, z), and what of a value is rounding."""
        parts, starts, rounding = [], [], np.zeros(self.n_latents)
        for _, index in along.by_length():
            for rows in blocks(len(index), max(1, CHUNK // (index.shape[1] * self.n_latents))):
                latents = self.encode(index[rows].ravel())
                rounding = np.maximum(rounding, rounding_of(latents))
                latents = latents.astype(float).reshape(-1, index.shape[1], self.n_latents)
                starts.append(latents[:, :1].copy())
                parts.append(latents - starts[-1])
        return parts, starts, rounding

    def _means_of_values(
        self, along: Traversals, factor: int
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """The same with the rows of a traversal that share a value of the factor averaged."""
        values = self.grid.factors(along.index)[:, factor]
        group = np.repeat(np.arange(len(along)), along.lengths)
        new = np.ones(len(values), bool)
        new[1:] = (np.diff(group) != 0) | (np.diff(values) != 0)
        first = np.flatnonzero(new)
        latents = self.encode(along.index)
        rounding = rounding_of(latents)
        # From the first row of the traversal: sums of what stands still are exactly zero then.
        latents = latents.astype(float)
        origin = latents[along.start[:-1]]
        latents -= origin[group]
        sums = np.add.reduceat(latents, first, axis=0)
        means = sums / np.diff([*first, len(values)])[:, None]
        lengths = np.bincount(group[first])
        start = np.concatenate([[0], np.cumsum(lengths)])
        merged = Traversals(np.arange(len(first)), start, len(along))
        moves, starts = [], []
        for which, index in merged.by_length():
            part = means[index]
            moves.append(part - part[:, :1])
            starts.append(part[:, :1] + origin[which][:, None])
        return moves, starts, rounding


def open_traversals(
    latents: Any, factors: Any, name: str, n_traversals: int | None, random_state: Any
) -> Traversed:
    """The traversals of a grid, or of a sample, which is made into an incomplete grid."""
    rng = check_random_state(random_state)
    if isinstance(factors, FactorGrid):
        grid, code = factors, latents
        names: tuple[str, ...] = grid.names
    else:
        checked = check_latents(latents, dtype=None)
        _, coded = check_scored(checked, factors)
        names = coded.names
        grid = FactorGrid.from_arrays(None, as_factors(factors))  # with their kinds
        code = code_of_rows(grid, checked)
    if n_traversals is not None:
        check_int(n_traversals, "n_traversals", low=1)
    most = n_traversals or (MAX_ENCODED if callable(code) else MAX_TRAVERSALS)
    used = [j for j, size in enumerate(grid.sizes) if size > 1]
    if not used:
        raise InputError(f"{name} needs a factor with at least two values; got none.")
    traversals = {
        j: grid_traversals(grid, j, most, rng, min_values=min(MIN_VALUES, grid.sizes[j]))
        for j in used
    }
    notes: list[str] = []
    if not grid.complete:
        traversals, notes = _without_rare(grid, traversals, name)
    constant = [grid.names[j] for j, size in enumerate(grid.sizes) if size == 1]
    if constant:
        notes.append(f"Left out, for there is one value: {', '.join(constant)}.")
    encode = latents_of(grid, code)
    n_latents = encode(next(iter(traversals.values())).index[:1]).shape[1]
    return Traversed(grid, code, encode, traversals, n_latents, names, " ".join(notes))


def _without_rare(
    grid: FactorGrid, traversals: dict[int, Traversals], name: str
) -> tuple[dict[int, Traversals], list[str]]:
    """Factors with traversals enough among the rows of a sample, and notes on what there is."""
    counts = ", ".join(f"{grid.names[j]} {len(along)}" for j, along in traversals.items())
    # There may be fewer in all: a single factor has one traversal.
    possible = {j: math.prod(grid.sizes) // grid.sizes[j] for j in traversals}
    lost = [j for j in traversals if len(traversals[j]) < min(MIN_TRAVERSALS, possible[j])]
    if len(lost) == len(traversals):
        raise InputError(
            f"{name} needs at least {MIN_TRAVERSALS} sets of rows along a factor that agree "
            f"in all others and have {MIN_VALUES} of its values; got {len(grid)} rows with so "
            f"many: {counts}. Give more rows, or a FactorGrid and a code of it."
        )
    notes = [f"Traversals found among {len(grid)} rows: {counts}."]
    if lost:
        named = ", ".join(grid.names[j] for j in lost)
        notes.append(f"Left out, for they need {MIN_TRAVERSALS} of them: {named}.")
    return {j: along for j, along in traversals.items() if j not in lost}, notes
