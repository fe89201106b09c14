"""Groups of latents that belong together: given, or found by GeoManCER."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.scores.inputs import check_latents

# Latents that a fit saw in single precision differ by less than this share of their size.
SAME_POINTS = 1e-5


@dataclass(frozen=True)
class FoundGeometry:
    """Points and the directions of every factor that was found, of n rows.

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
    """What a score takes as one.

    Attributes
    ----------
    names : tuple of str
    blocks : tuple of ndarray of shape (n, r_j)
        What each group says of every row.
    found : FoundGeometry or None
        Of groups that are the factors of a fit.
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
        """Rows (n,) of which every group says something."""
        return np.logical_and.reduce([np.isfinite(block).all(axis=1) for block in self.blocks])

    def take(self, rows: np.ndarray) -> LatentGroups:
        """The groups of some rows."""
        found = self.found and FoundGeometry(
            self.found.points[rows], tuple(axes[rows] for axes in self.found.subspaces)
        )
        blocks = tuple(block[rows] for block in self.blocks)
        return LatentGroups(self.names, blocks, found, self.note)


def read_latent_groups(latents: Any, groups: Any = None) -> LatentGroups:
    """Read which latents belong together.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    groups : sequence of sequences of int or str, GeoManCER, or LatentGroups, optional
        Columns of the latents, by number or, of a frame, by name; a latent in no group is one of
        its own. Or a fit of the same rows, each factor of which is a group: its coordinates. By
        default every latent is alone.

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
    """Read lists of latents, by number or name, as numbers of the latents of these names.

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
    """Refuse a fit of other latents or rows, whose groups say nothing of these."""
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
