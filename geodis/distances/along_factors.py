"""Average distances along factors, and how much each factor matters to a loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.base.progress import Stages
from geodis.data.grids.grid import FactorGrid
from geodis.distances.agreement_table import RANDOM
from geodis.distances.distance_agreement import random_pairs
from geodis.distances.grid_distances import PERCEIVED, SOURCES, DistanceSource, GridDistances
from geodis.distances.grid_traversals import grid_traversals, traversal_pairs, traversals_for
from geodis.distances.images.image_losses import LossLike
from geodis.distances.pairwise import LatentKind

# Factors with more values than this have matrices that nobody could read.
MAX_VALUES = 200
# Pairs of distances that are kept of each factor for figures.
KEPT = 20_000


def traversal_matrix(
    grid: FactorGrid,
    factor: int | str,
    source: DistanceSource = PERCEIVED,
    *,
    code: Any = None,
    loss: LossLike | None = "mse",
    kind: LatentKind = "l1",
    scaled: bool = False,
    n_traversals: int | None = 256,
    random_state: Any = None,
) -> np.ndarray:
    """Average distance between any two values of a factor, the other factors held (3.7).

    ``D[u, v] = E_a [d(x_u, x_v)]`` where x_u is x_a with the factor at u.

    Parameters
    ----------
    grid : FactorGrid
        In a sample of a grid, entries that no traversal has are NaN.
    factor : int or str
    source : {"perceived", "ground truth", "latent"}
    code, loss, kind, scaled
        As for `distance_correlations`.
    n_traversals : int or None
        How many traversals, drawn at random, the average is over; None takes all.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of shape (sizes[factor], sizes[factor])

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> traversal_matrix(FactorGrid((3, 2)), 0, "ground truth")
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    check_choice(source, "source", SOURCES)
    distances = GridDistances(
        grid, code, loss if source == PERCEIVED else None, kind=kind, scaled=scaled
    )
    if source not in distances.sources:
        need = "images" if source == PERCEIVED else "a code"
        raise InputError(f"{source!r} distances need {need}; got a grid without.")
    rng = check_random_state(random_state)
    if n_traversals is not None:
        check_int(n_traversals, "n_traversals", low=1)
    j = grid.factor_number(factor)
    size = grid.sizes[j]
    traversals = grid_traversals(grid, j, n_traversals, rng)
    ordered = not distances.symmetric
    pairs = traversal_pairs(traversals, None, rng, self_pairs=True, ordered=ordered)
    u, v = grid.factors(pairs.a)[:, j], grid.factors(pairs.b)[:, j]
    once = slice(None) if ordered or not grid.complete else u <= v
    place = (u * size + v)[once]
    values = distances.between(pairs.a[once], pairs.b[once], source)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, values, size**2) / np.bincount(place, minlength=size**2)
    matrix = mean.reshape(size, size)
    if isinstance(once, slice):
        return matrix
    return np.where(np.isnan(matrix), matrix.T, matrix)


def traversal_matrices(
    grid: FactorGrid,
    code: Any = None,
    loss: LossLike | None = "mse",
    *,
    kind: LatentKind = "l1",
    scaled: bool = False,
    n_traversals: int | None = 256,
    max_values: int = MAX_VALUES,
    random_state: Any = None,
    verbose: bool | int = False,
) -> dict[str, dict[str, np.ndarray]]:
    """Average distances along every factor, by every kind of distance that there is.

    Parameters
    ----------
    grid : FactorGrid
    code, loss, kind, scaled
        As for `distance_correlations`.
    n_traversals, random_state
        As for `traversal_matrix`.
    max_values : int
        Factors with more values, whose matrices nobody could read, are left out, and those with
        one.
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    dict of str to dict of str to ndarray
        Source -> factor -> matrix, as `plot_traversal_matrices` takes them.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> traversal_matrices(FactorGrid((2, 1), names=("lamp", "wall")))
    {'ground truth': {'lamp': array([[0., 1.],
           [1., 0.]])}}
    """
    names = [
        name for name, size in zip(grid.names, grid.sizes, strict=True) if 1 < size <= max_values
    ]
    settings: dict[str, Any] = {"kind": kind, "scaled": scaled, "n_traversals": n_traversals}
    settings |= {"code": code, "loss": loss, "random_state": random_state}
    matrices: dict[str, dict[str, np.ndarray]] = {}
    with Stages("distances", verbose) as stages:
        for source in GridDistances(grid, code, loss, kind=kind, scaled=scaled).sources:
            with stages.stage(f"matrices, {source}"):
                matrices[source] = {
                    name: traversal_matrix(grid, name, source, **settings) for name in names
                }
    return matrices


@dataclass(frozen=True)
class FactorImportance:
    """Perceived distances along each factor and between random points; prints as a table.

    Attributes
    ----------
    names : tuple of str
        "random" and the factors, by decreasing mean distance.
    mean, std : dict of str to float
        Of the perceived distances (3.9, 3.10).
    n_pairs : dict of str to int
    distances : dict of str to ndarray
        Some of the distances, sorted: their cumulative distribution is
        ``(distances, arange(1, n + 1) / n)``.
    exact : dict of str to bool
        Whether all pairs were taken.
    loss : str
    note : str
    """

    names: tuple[str, ...]
    mean: Mapping[str, float]
    std: Mapping[str, float]
    n_pairs: Mapping[str, int]
    distances: Mapping[str, np.ndarray]
    exact: Mapping[str, bool]
    loss: str
    note: str = ""

    def __str__(self) -> str:
        """A table, most important factor first."""
        width = max(map(len, ("factor", *self.names)))
        lines = [
            f"Perceived distance, loss {self.loss}",
            f"{'factor':<{width}}    mean     std     pairs",
        ]
        for name in self.names:
            pairs = f"{self.n_pairs[name]:>9,}{' (all)' if self.exact[name] else ''}"
            lines.append(
                f"{name:<{width}}  {self.mean[name]:.4f}  {self.std[name]:.4f} {pairs}".rstrip()
            )
        return "\n".join([*lines, self.note] if self.note else lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the distances as plain values, for JSON."""
        rows = {
            name: {
                "mean": self.mean[name],
                "std": self.std[name],
                "n_pairs": self.n_pairs[name],
                "exact": self.exact[name],
            }
            for name in self.names
        }
        return {"loss": self.loss, "factors": rows, "note": self.note}


def factor_importance(
    grid: FactorGrid,
    loss: LossLike = "mse",
    *,
    n_pairs: int = 50_000,
    random_state: Any = None,
    verbose: bool | int = False,
) -> FactorImportance:
    """Mean and spread of perceived distances along each factor (3.9) and at random (3.10).

    A model that minimises the loss gains most from a factor with large distances, and learns it
    first.

    Parameters
    ----------
    grid : FactorGrid
    loss : name or callable
        As for `perceived`.
    n_pairs : int
        About how many pairs of different points a factor; all where those are fewer.
    random_state : int, Generator or None
    verbose : bool or int

    Returns
    -------
    FactorImportance

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> shades = np.array([0, 51, 204, 255], np.uint8).reshape(4, 1, 1)
    >>> grid = FactorGrid.from_arrays(shades, [[0, 0], [0, 1], [1, 0], [1, 1]], ["lamp", "dimmer"])
    >>> print(factor_importance(grid))
    Perceived distance, loss mse
    factor    mean     std     pairs
    lamp    0.6400  0.0000         2 (all)
    random  0.4533  0.3462         6 (all)
    dimmer  0.0400  0.0000         2 (all)
    """
    distances = GridDistances(grid, None, loss)
    if distances.loss is None:
        raise InputError("Factor importance needs images and a loss; got a grid without.")
    n_pairs = check_int(n_pairs, "n_pairs", low=1)
    rng = check_random_state(random_state)
    ordered = not distances.symmetric
    mean, std, counts, kept, exact = {}, {}, {}, {}, {}
    left_out = []
    with Stages("importance", verbose) as stages:
        for name in (RANDOM, *grid.names):
            if name == RANDOM:
                drawn, exact[name] = random_pairs(grid, n_pairs, rng, ordered=ordered)
                a, b = drawn.T
            else:
                j = grid.factor_number(name)
                traversals = traversals_for(grid, j, n_pairs, rng)
                pairs = traversal_pairs(traversals, n_pairs, rng, ordered=ordered)
                if not len(pairs.a):
                    left_out.append(name)
                    continue
                a, b, exact[name] = pairs.a, pairs.b, pairs.exact
            with stages.stage(name):
                values = distances.between(a, b, PERCEIVED).astype(float)
            mean[name], std[name] = float(values.mean()), float(values.std())
            counts[name] = len(values)
            few = values if len(values) <= KEPT else rng.choice(values, KEPT, replace=False)
            kept[name] = np.sort(few)
    names = tuple(sorted(mean, key=lambda name: -mean[name]))
    notes = [grid.note] if grid.note else []
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)} (no two points differ in it alone).")
    note = " ".join(notes)
    return FactorImportance(names, mean, std, counts, kept, exact, distances.loss.name, note)
