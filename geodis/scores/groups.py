"""Groups of latents that belong together: given, or found by GeoManCER."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.data.factors import FactorKind, Factors, as_factors
from geodis.scores.inputs import ScoredFactors, check_latents, of_order_one, scored_factors

# Relative difference below which latents count as equal, for fits in single precision.
SAME_POINTS = 1e-5


@dataclass(frozen=True)
class FoundGeometry:
    """Points and the tangent subspace of every factor found by a fit.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    subspaces : tuple of ndarray of shape (n, k_j, d)
        Orthonormal rows; NaN at outliers.
    """

    points: np.ndarray
    subspaces: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class LatentGroups:
    """Groups of latents that a score treats as one.

    Attributes
    ----------
    names : tuple of str
    blocks : tuple of ndarray of shape (n, r_j)
        Values of each group.
    found : FoundGeometry or None
        The geometry of a fit whose factors are the groups.
    note : str
    """

    names: tuple[str, ...]
    blocks: tuple[np.ndarray, ...]
    found: FoundGeometry | None = None
    note: str = ""

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def complete(self) -> np.ndarray:
        """Rows (n,) at which all groups are finite."""
        return np.logical_and.reduce([np.isfinite(block).all(axis=1) for block in self.blocks])

    def take(self, rows: np.ndarray) -> LatentGroups:
        """Return the groups at some rows."""
        found = self.found and FoundGeometry(
            self.found.points[rows], tuple(axes[rows] for axes in self.found.subspaces)
        )
        blocks = tuple(block[rows] for block in self.blocks)
        return LatentGroups(self.names, blocks, found, self.note)


def read_latent_groups(latents: Any, groups: Any = None) -> LatentGroups:
    """Read groups of latents.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    groups : sequence of sequences of int or str, GeoManCER, or LatentGroups, optional
        Columns of the latents, by number or, for a frame, by name; every latent not listed is its
        own group. Or a fit to the same rows, whose factors, as coordinates, are the groups. By
        default every latent is its own group.

    Returns
    -------
    LatentGroups

    Examples
    --------
    >>> code = np.arange(6.0).reshape(2, 3)
    >>> read_latent_groups(code, [[0, 2]]).names
    ('0, 2', '1')
    """
    if isinstance(groups, LatentGroups):
        return groups
    z = check_latents(latents)
    if groups is None:
        return LatentGroups(tuple(map(str, range(z.shape[1]))), tuple(z.T[:, :, None]))
    if hasattr(groups, "subspace"):
        return _of_fit(z, groups)
    names = [str(name) for name in getattr(latents, "columns", range(z.shape[1]))]
    chosen = group_columns(groups, names)
    taken = {j for group in chosen for j in group}
    chosen += [[j] for j in range(z.shape[1]) if j not in taken]
    return LatentGroups(
        tuple(", ".join(names[j] for j in group) for group in chosen),
        tuple(z[:, group] for group in chosen),
    )


def group_columns(groups: Any, names: Sequence[str]) -> list[list[int]]:
    """Convert lists of latents, given by number or name, to column numbers.

    Examples
    --------
    >>> group_columns([["y", 0], [2]], ["x", "y", "z"])
    [[1, 0], [2]]
    """
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(f"groups must be lists of latents, or a fitted GeoManCER; got {groups!r}.")
    chosen: list[list[int]] = []
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise InputError(f"A group must be a list of latents; got {group!r}.")
        chosen.append([_column_number(one, names) for one in group])
        if not chosen[-1]:
            raise InputError("A group must have a latent; got none.")
    every = [j for group in chosen for j in group]
    if len(set(every)) < len(every):
        again = next(j for j in every if every.count(j) > 1)
        raise InputError(f"A latent must be in one group, once; got {names[again]} again.")
    return chosen


def _column_number(one: Any, names: Sequence[str]) -> int:
    if isinstance(one, str) and one in names:
        return names.index(one)
    if not isinstance(one, str | bool) and hasattr(one, "__index__"):
        j = int(one.__index__())
        if 0 <= j < len(names):
            return j
    raise InputError(
        f"groups must name latents, or number them from 0 to {len(names) - 1}; got {one!r}."
    )


def _check_same_points(z: np.ndarray, fit: Any) -> None:
    """Refuse a fit to other latents or rows."""
    fitted = getattr(fit, "points_", None)
    is_plain = getattr(fit, "prepare", None) is None and getattr(fit, "metric", "") == "euclidean"
    if fitted is None or not is_plain or fitted.shape != z.shape:
        return
    apart = np.abs(z - fitted) > SAME_POINTS * np.abs(z).max(axis=0)
    if rows := int(apart.any(axis=1).sum()):
        raise InputError(
            f"groups must be fitted to these latents; got a fit of points that differ in {rows} of "
            f"{len(z)} rows."
        )


def _of_fit(z: np.ndarray, fit: Any) -> LatentGroups:
    if not hasattr(fit, "axes_"):
        raise InputError("groups must be fitted; got a GeoManCER that is not: call its fit first.")
    n, d = len(fit.axes_), fit.axes_.shape[2]
    if z.shape != (n, d):
        raise InputError(
            f"groups must be fitted to these latents, of shape {z.shape}; got a fit of ({n}, {d})."
        )
    if not callable(getattr(fit, "coordinates", None)):
        raise InputError(
            "groups must be a GeoManCER with coordinates of its factors; got one of an older "
            "version."
        )
    _check_same_points(z, fit)
    count = int(fit.n_factors_)
    subspaces = tuple(fit.subspace(j) for j in range(count))
    sizes = ", ".join(str(axes.shape[1]) for axes in subspaces)
    return LatentGroups(
        tuple(f"factor {j} found" for j in range(count)),
        tuple(np.asarray(fit.coordinates(j), dtype=float) for j in range(count)),
        FoundGeometry(z, subspaces),
        f"groups found: {count}, of dimensions {sizes}",
    )


# Factors of any kind, embedded as one block of numbers each.


@dataclass(frozen=True)
class FactorBlock:
    """The values of one factor, embedded in Euclidean space.

    Attributes
    ----------
    name : str
    columns : tuple of int
        Column numbers in the table of factors.
    values : ndarray of shape (n, c)
        Centred, with total variance one; zeros if constant. Numbers and ordered labels are
        unchanged, a cyclic number becomes the cosine and sine of its angle, and labels are one-hot
        encoded. Numeric columns of one factor share a unit.
    numeric : bool
        Whether no column has labels without an order.
    cyclic : bool
        Whether it is a single number with a period.
    """

    name: str
    columns: tuple[int, ...]
    values: np.ndarray
    numeric: bool
    cyclic: bool

    @property
    def varies(self) -> bool:
        """Return whether the factor has more than one value."""
        return bool(self.values.any())


def factor_blocks(factors: Any) -> list[FactorBlock]:
    """Embed every factor, of one column or several, in the order of their first columns.

    Parameters
    ----------
    factors : array-like of shape (n, f), Factors
        The columns of each of its ``groups`` form one factor.

    Returns
    -------
    list of FactorBlock

    Examples
    --------
    >>> from geodis.data.factors import as_factors
    >>> known = as_factors({"x": [0.0, 2.0], "angle": [0.0, 180.0]}, periods={"angle": 360.0})
    >>> [block.values.tolist() for block in factor_blocks(known)]
    [[[-1.0], [1.0]], [[1.0, 0.0], [-1.0, 0.0]]]
    """
    known = as_factors(factors).refuse_missing()
    group_of = {name: group for group, names in known.groups.items() for name in names}
    place = {name: j for j, name in enumerate(known.names)}
    kinds = known.kinds
    blocks, done = [], set()
    for j, name in enumerate(known.names):
        group = group_of.get(name, name)
        if group in done:
            continue
        done.add(group)
        members = known.groups[group] if name in group_of else (name,)
        columns = tuple(place[member] for member in members) or (j,)
        blocks.append(_block(known, group, columns, [kinds[column] for column in columns]))
    return blocks


def varying_blocks(factors: Any, n: int) -> tuple[list[FactorBlock], ScoredFactors]:
    """Return the blocks of all factors of n rows, and which of them vary."""
    blocks = factor_blocks(factors)
    if len(blocks[0].values) != n:
        raise InputError(
            f"latents and factors must have as many rows; got {n} and {len(blocks[0].values)}."
        )
    names = tuple(block.name for block in blocks)
    return blocks, scored_factors(np.array([block.varies for block in blocks]), names, names)


def _block(
    known: Factors, group: str, columns: tuple[int, ...], kinds: list[FactorKind]
) -> FactorBlock:
    if set(kinds) == {"numbers"}:
        # A common scale: the columns keep their unit, and squares cannot overflow.
        together = known.values[:, list(columns)].astype(float)
        scale = np.abs(together).max() or 1.0
        parts = [_unit(of_order_one(together / scale) if len(columns) == 1 else together / scale)]
    else:
        parts = [_unit(_embedded(known, j, kind)) for j, kind in zip(columns, kinds, strict=True)]
    return FactorBlock(
        group,
        columns,
        _unit(np.column_stack(parts)),
        numeric="labels" not in kinds,
        cyclic=kinds == ["cyclic"],
    )


def _embedded(known: Factors, j: int, kind: FactorKind) -> np.ndarray:
    """Embed one column such that squared differences are dissimilarities of values."""
    column = known.values[:, j].astype(float)
    if kind == "cyclic":
        angle = 2 * np.pi * np.remainder(column / known.periods[known.names[j]], 1.0)
        # Rounded so that half and quarter turns are exact.
        return np.round(np.column_stack([np.cos(angle), np.sin(angle)]), 15)
    if kind == "labels":
        present, codes = np.unique(column, return_inverse=True)
        return (codes.reshape(-1, 1) == np.arange(len(present))).astype(float)
    return column[:, None]


def _unit(values: np.ndarray) -> np.ndarray:
    """Centre values and scale them to a total variance of one."""
    constant = values.max(axis=0) == values.min(axis=0)
    centred = np.where(constant, 0.0, values - values.mean(axis=0))
    total = np.sqrt((centred**2).sum(axis=1).mean())
    return centred / total if total > 0 else centred
