"""Latents along the traversals of a grid or of a sample, and their spreads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, rounding_of
from geodis.base.jobs import blocks
from geodis.data.factors import as_factors
from geodis.data.grids.grid import FactorGrid, latents_of
from geodis.distances.correlations import geometric_mean
from geodis.distances.grid_distances import Traversals, code_of_rows, grid_traversals
from geodis.scores.card import Score
from geodis.scores.inputs import check_latents, check_scored

# Fewest traversals along a factor in a sample, and fewest values of the factor in a traversal.
MIN_TRAVERSALS, MIN_VALUES = 5, 3

# Entries of latents processed at a time: 32 MB.
CHUNK = 2**22

# Default numbers of traversals for a table of latents, and for an encoder.
MAX_TRAVERSALS, MAX_ENCODED = 2**16, 512


@dataclass(frozen=True)
class Traversed:
    """Latents along traversals of the factors with more than one value.

    Attributes
    ----------
    grid : FactorGrid
        The given grid, or the rows of a sample as an incomplete grid.
    code : array or callable
        The code of that grid.
    encode : callable
        Indices -> latents.
    traversals : dict of int to Traversals
        By number of the factor.
    n_latents : int
    names : tuple of str
        Empty if the factors have none.
    note : str
        Numbers of traversals in a sample, and what was left out.
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
        """Number of all factors, including those left out."""
        return len(self.grid.sizes)

    @property
    def counts(self) -> dict[str, int]:
        """Number of traversals along each factor."""
        return {self.grid.names[j]: len(along) for j, along in self.traversals.items()}

    def latents(
        self, factor: int, once: bool = False, *, from_first: bool = True
    ) -> list[np.ndarray]:
        """Return latents (t, s, z) along the traversals of each length, minus the first point.

        With `once`, rows with the same value of the factor are averaged. Without `from_first`, the
        first point is not subtracted. Changes below rounding errors are set to zero.
        """
        along = self.traversals[factor]
        if once and not self.grid.complete:
            moves, starts, rounding = self._means_of_values(along, factor)
        else:
            moves, starts, rounding = self._moves(along)
        still = 4 * rounding  # difference of two rounded values
        for part in moves:
            np.copyto(part, 0.0, where=(np.abs(part).max(axis=1) <= still)[:, None, :])
        return moves if from_first else [part + at for part, at in zip(moves, starts, strict=True)]

    def _moves(self, along: Traversals) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Return differences from the first points, these points (t, 1, z), and rounding errors."""
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
        """As `_moves`, averaged over rows of a traversal with the same value of the factor."""
        values = self.grid.factors(along.index)[:, factor]
        group = np.repeat(np.arange(len(along)), along.lengths)
        new = np.ones(len(values), bool)
        new[1:] = (np.diff(group) != 0) | (np.diff(values) != 0)
        first = np.flatnonzero(new)
        latents = self.encode(along.index)
        rounding = rounding_of(latents)
        # Relative to the first row, which makes sums of constant latents exactly zero.
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
    """Find the traversals of a grid, or of a sample, which becomes an incomplete grid."""
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
    """Drop factors with too few traversals in a sample, and return notes."""
    counts = ", ".join(f"{grid.names[j]} {len(along)}" for j, along in traversals.items())
    # Fewer may be possible: a single factor has one traversal.
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


# Variances of latents along traversals, and their ratios.


def axis_variances(latents: np.ndarray) -> np.ndarray:
    """Return the variance (ddof 1) of every latent over each traversal.

    Parameters
    ----------
    latents : ndarray of float64, shape (t, s, z)
        t traversals of s points.

    Returns
    -------
    ndarray of shape (t, z)
    """
    centred = _centred(latents)
    return np.einsum("tsz,tsz->tz", centred, centred) / max(latents.shape[1] - 1, 1)


def linear_variances(latents: np.ndarray) -> np.ndarray:
    """Return variances along the principal directions of each traversal, descending, (t, z)."""
    t, s, z = latents.shape
    variances = np.zeros((t, z))
    rows = max(1, CHUNK // (s * z + min(s, z) ** 2))
    for start in range(0, t, rows):
        centred = _centred(latents[start : start + rows])
        # The s x s products of points have the same non-zero eigenvalues as the covariance.
        wide = s < z
        products = (
            centred @ centred.transpose(0, 2, 1) if wide else (centred.transpose(0, 2, 1) @ centred)
        )
        values = np.linalg.eigvalsh(products)[:, ::-1]
        # Zero eigenvalues have rounding errors of either sign.
        values[values < values[:, :1] * (np.finfo(float).eps * max(s, z))] = 0
        variances[start : start + rows, : values.shape[1]] = values / max(s - 1, 1)
    return variances


def largest_share(
    spreads: np.ndarray, top: int | None = None, normalise: bool = True
) -> np.ndarray:
    """Return the share of the largest spread in the sum, ``max_k s_k / sum_k s_k`` (4.4, 4.7).

    For constant latents all shares are equal.

    Parameters
    ----------
    spreads : ndarray of shape (t, z)
    top : int, optional
        Keep only the largest spreads; 2 makes the ratio independent of the number of latents.
    normalise : bool
        Map the range [1/z, 1] to [0, 1] (4.5, 4.8). A single latent has the share 1 if it varies.

    Returns
    -------
    ndarray of shape (t,)
    """
    if top is not None and top < spreads.shape[1]:
        spreads = np.sort(spreads, axis=1)[:, -top:]
    n = spreads.shape[1]
    total = spreads.sum(axis=1)
    moves = total > 0
    share = np.full(len(spreads), 1 / n)
    share[moves] = spreads.max(axis=1)[moves] / total[moves]
    if not normalise:
        return share
    if n == 1:
        return moves.astype(float)
    return np.clip((share - 1 / n) / (1 - 1 / n), 0.0, 1.0)


def widths_and_lengths(
    latents: np.ndarray, width_norm: int, length_norm: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the diameter of each traversal, and the length of its path without the largest step.

    The path is closed, so that a cyclic factor may start anywhere: the s - 1 shortest of its s
    steps count.

    Parameters
    ----------
    latents : ndarray of shape (t, s, z)
        Points in order of the factor.

    Returns
    -------
    widths, lengths : ndarray of shape (t,)
    """
    t, s, z = latents.shape
    widths = np.zeros(t)
    rows = max(1, CHUNK // (s * z))
    for shift in range(1, s):  # pairs of points `shift` steps apart
        for start in range(0, t, rows):
            part = latents[start : start + rows]
            far = _norm(part[:, shift:] - part[:, :-shift], width_norm).max(axis=1)
            np.maximum(widths[start : start + rows], far, out=widths[start : start + rows])
    steps = _norm(latents - np.roll(latents, -1, axis=1), length_norm)
    return widths, steps.sum(axis=1) - steps.max(axis=1)


def _centred(latents: np.ndarray) -> np.ndarray:
    # The first point is subtracted before the mean, so that constant latents are exactly zero.
    moved = latents - latents[:, :1]
    return moved - moved.mean(axis=1, keepdims=True)


def _norm(steps: np.ndarray, order: int) -> np.ndarray:
    if order == 1:
        return np.abs(steps).sum(axis=-1)
    return np.sqrt(np.einsum("...z,...z->...", steps, steps))


SpreadKind = Literal["variance", "std"]


def spreads_of(
    parts: list[np.ndarray], variances: Callable[[np.ndarray], np.ndarray], spread: SpreadKind
) -> np.ndarray:
    """Return the spreads (t, z) of all traversals, up to a common factor."""
    check_choice(spread, "spread", get_args(SpreadKind))
    values = np.concatenate([variances(part) for part in in_range(parts)[0]])
    return np.sqrt(values) if spread == "std" else values


def in_range(parts: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Divide latents by a common scale, and return the scale.

    This prevents overflow of squares. The scale is a power of two, so that nothing is rounded.
    """
    largest = max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)
    scale = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    return [part / scale for part in parts], scale


def shares_of(spreads: np.ndarray, top: int | None, normalise: bool = True) -> np.ndarray:
    """Return the `largest_share` of every traversal."""
    if top is not None:
        check_int(top, "top", low=2)
    return largest_share(spreads, top, normalise)


def traversal_score(
    name: str,
    source: Traversed,
    per_factor: np.ndarray,
    *,
    value: float | None = None,
    matrix: np.ndarray | None = None,
    details: Mapping[str, Any] | None = None,
    note: str = "",
) -> Score:
    """Make a score of traversals, by default the geometric mean over factors."""
    return Score(
        name,
        geometric_mean(per_factor[source.used]) if value is None else value,
        per_factor=per_factor,
        matrix=matrix,
        details={**(details or {}), "n_traversals": source.counts},
        note=" ".join(filter(None, [source.note, note])),
        factor_names=source.names,
    )


def ratio_or_zero(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, with 0 where the denominator is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
