"""Runs that are compared: arrays of the same rows, their names, and the models they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.report.material import gather_material

MOST_RUNS = 24  # more cannot be told apart on a page


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Runs on the same rows.

    Attributes
    ----------
    names : tuple of str
    models : tuple of str
        Of which model each run is; runs of one model differ in their seed.
    latents : tuple of ndarray of shape (n, z)
    material : Material or None
        The rows that all have, their factors and images; its latents are those of all runs side
        by side. None of runs that a table tells of.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    latents: tuple[np.ndarray, ...]
    material: Any  # a Material wherever there are latents

    @property
    def seeded(self) -> bool:
        """Whether every model has as many runs, at least two: then its seeds are paired."""
        counts = {self.models.count(model) for model in self.models}
        return len(counts) == 1 and counts.pop() > 1 and len(set(self.models)) > 1

    @property
    def of_model(self) -> dict[str, list[int]]:
        """Numbers of the runs of every model, in their order."""
        numbers: dict[str, list[int]] = {}
        for number, model in enumerate(self.models):
            numbers.setdefault(model, []).append(number)
        return numbers


def gather_runs(
    runs: Any,
    factors: Any = None,
    images: Any = None,
    *,
    models: Sequence[str] | None = None,
    max_points: int,
    bins: int,
    random_state: Any = 0,
) -> ComparedRuns:
    """Check that all runs have the same rows, and take those that are finite in all.

    Parameters
    ----------
    runs : mapping of str to array-like of shape (n, z), or sequence of these
        The columns may be as many as each has.
    factors, images, max_points, bins, random_state
        As of `gather_material`.
    models : sequence of str, optional
        Of which model each run is; by default each is its own.

    Examples
    --------
    >>> runs = {"a": [[0.0], [1.0], [2.0]], "b": [[5.0, 1], [np.nan, 1], [1.0, 2]]}
    >>> gathered = gather_runs(runs, max_points=10, bins=5)
    >>> gathered.names, gathered.material.rows.tolist(), gathered.latents[1].shape
    (('a', 'b'), [0, 2], (2, 2))
    """
    named = _named(runs)
    if not 2 <= len(named) <= MOST_RUNS:
        raise InputError(f"Runs to compare must be 2 to {MOST_RUNS}; got {len(named)}.")
    names = tuple(named)
    of = names if models is None else tuple(str(model) for model in models)
    if len(of) != len(names):
        raise InputError(f"models must name one for each of the {len(names)} runs; got {len(of)}.")
    arrays = [_points(array, name) for name, array in named.items()]
    if len({len(array) for array in arrays}) > 1:
        counts = ", ".join(f"{len(a):,} of {name}" for name, a in zip(names, arrays, strict=True))
        raise InputError(f"All runs must have the same rows in the same order; got {counts}.")
    whole = np.hstack(arrays)
    material = gather_material(
        whole, factors, images, max_points=max_points, bins=bins, random_state=random_state
    )
    kept = tuple(array[material.rows].astype(float) for array in arrays)
    return ComparedRuns(names, of, kept, material)


def _named(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        return {str(name): array for name, array in runs.items()}
    if isinstance(runs, str | bytes) or not hasattr(runs, "__iter__"):
        raise InputError(
            f"runs must be a mapping of names to arrays, or a sequence of arrays; got {runs!r}."
        )
    return {f"run {number}": array for number, array in enumerate(runs)}


def _points(array: Any, name: str) -> np.ndarray:
    from geodis.base.check import check_numeric, to_numpy

    points = check_numeric(to_numpy(array, name), name)
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(f"{name} must have shape (n, z), one row a point; got {points.shape}.")
    return points
