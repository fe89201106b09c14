"""Average distances along factors, importance of factors for a loss, and constant overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, check_real
from geodis.base.progress import Stages
from geodis.data.grids.grid import FactorGrid
from geodis.distances.correlations import correlation
from geodis.distances.distance_agreement import RANDOM, random_pairs
from geodis.distances.factor_distances import LatentKind
from geodis.distances.grid_distances import (
    GROUND_TRUTH,
    PERCEIVED,
    SOURCES,
    DistanceSource,
    GridDistances,
    Traversals,
    grid_traversals,
    traversal_pairs,
    traversals_for,
)
from geodis.distances.image_losses import LossLike

# Matrices of factors with more values would be unreadable.
MAX_VALUES = 200
# Number of distances of each factor kept for figures.
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
    """Average distance between any two values of a factor, with the others fixed (3.7).

    ``D[u, v] = E_a [d(x_u, x_v)]`` where x_u is x_a with the factor set to u.

    Parameters
    ----------
    grid : FactorGrid
        For a sample of a grid, entries without a traversal are NaN.
    factor : int or str
    source : {"perceived", "ground truth", "latent"}
    code, loss, kind, scaled
        As for `distance_correlations`.
    n_traversals : int or None
        Number of traversals, drawn at random, for the average; None uses all.
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
    """Average distances along every factor, for all available kinds of distances.

    Parameters
    ----------
    grid : FactorGrid
    code, loss, kind, scaled
        As for `distance_correlations`.
    n_traversals, random_state
        As for `traversal_matrix`.
    max_values : int
        Factors with more values, or with a single value, are left out.
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    dict of str to dict of str to ndarray
        Source -> factor -> matrix, for `plot_traversal_matrices`.

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
        A subset of the distances, sorted: their cumulative distribution is
        ``(distances, arange(1, n + 1) / n)``.
    exact : dict of str to bool
        Whether all pairs were used.
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
        """Return a table, with the most important factor first."""
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
        """Return plain values for JSON, without the distances."""
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

    Factors with large distances reduce the loss most, and a model learns them first.

    Parameters
    ----------
    grid : FactorGrid
    loss : name or callable
        As for `perceived`.
    n_pairs : int
        Approximate number of pairs of different points per factor; all pairs if there are fewer.
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


# Overlap: a data set is adversarial to a loss if all distances along its factors are equal.

MAX_TRIPLETS_EACH = 64


@dataclass(frozen=True)
class FactorOverlap:
    """Distances along one factor, in triplets of points.

    Attributes
    ----------
    mean : float
        Average perceived distance between different points on a traversal: C_f if constant.
    variation : float
        Standard deviation of those distances divided by their mean.
    told_apart : float
        Share of triplets (anchor, near, far), at different ground-truth distances, whose two
        perceived distances differ.
    in_order : float
        Share of those triplets whose perceived distances are in the right order; 0.5 by chance if
        all distances differ.
    spearman : float
        Rank correlation of ground-truth and perceived distances along the factor; 0 if constant.
    constant : bool
        Whether all those distances are equal.
    """

    mean: float
    variation: float
    told_apart: float
    in_order: float
    spearman: float
    constant: bool


@dataclass(frozen=True)
class Overlap:
    """Result of `overlap`: whether a data set is adversarial to a loss.

    Attributes
    ----------
    factors : dict of str to FactorOverlap
    adversarial : bool
        Whether distances along all factors are equal to the same constant.
    loss : str
    note : str
    """

    factors: Mapping[str, FactorOverlap]
    adversarial: bool
    loss: str
    note: str = ""

    def __str__(self) -> str:
        """Return a table and the verdict."""
        width = max(map(len, ("factor", *self.factors)))
        lines = [
            f"Overlap along factors, loss {self.loss}",
            f"{'factor':<{width}}    mean  variation  told apart  in order  spearman",
        ]
        for name, along in self.factors.items():
            lines.append(
                f"{name:<{width}}  {along.mean:.4f}  {along.variation:9.3f}"
                f"  {along.told_apart:10.3f}  {along.in_order:8.3f}  {along.spearman:8.3f}"
            )
        return "\n".join([*lines, self.verdict, *([self.note] if self.note else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "loss": self.loss,
            "adversarial": self.adversarial,
            "verdict": self.verdict,
            "factors": {name: vars(along) for name, along in self.factors.items()},
            "note": self.note,
        }

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        constant = [name for name, along in self.factors.items() if along.constant]
        if self.adversarial:
            return (
                f"Adversarial: under {self.loss} all distances along factors are equal, so no "
                "order of their values can be learnt from it."
            )
        if constant:
            return f"Distances under {self.loss} are all equal along {', '.join(constant)}."
        return f"Not adversarial: distances along every factor vary under {self.loss}."


def overlap(
    grid: FactorGrid,
    loss: LossLike = "mse",
    *,
    n_pairs: int = 20_000,
    tolerance: float = 1e-6,
    random_state: Any = None,
    verbose: bool | int = False,
) -> Overlap:
    """Test whether a data set has constant overlap under a loss.

    A data set has constant overlap along factor f if ``d(x_a, x_b) = C_f > 0`` for any two points
    that differ only in f. It is adversarial if that holds for all factors with the same C: the loss
    then has no information on which values of a factor are neighbours.

    Parameters
    ----------
    grid : FactorGrid
    loss : name or callable
        As for `perceived`.
    n_pairs : int
        Approximate number of triplets per factor.
    tolerance : float
        Relative difference below which distances count as equal.
    random_state : int, Generator or None
    verbose : bool or int

    Returns
    -------
    Overlap
        Factors with fewer than three values are left out; see `factor_importance` for them.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid.from_arrays(np.eye(4, dtype=np.uint8).reshape(4, 2, 2) * 255,
    ...                               [[0], [1], [2], [3]], names=["place"])
    >>> print(overlap(grid, random_state=0))
    Overlap along factors, loss mse
    factor    mean  variation  told apart  in order  spearman
    place   0.5000      0.000       0.000     0.000     0.000
    Adversarial: under mse all distances along factors are equal, so no order of their values can \
be learnt from it.
    """
    distances = GridDistances(grid, None, loss)
    if distances.loss is None:
        raise InputError("The diagnosis of overlap needs images and a loss; got a grid without.")
    n_pairs = check_int(n_pairs, "n_pairs", low=1)
    tolerance = check_real(tolerance, "tolerance", low=0)
    rng = check_random_state(random_state)
    factors, low, high = {}, np.inf, 0.0
    with Stages("overlap", verbose) as stages:
        for j, name in enumerate(grid.names):
            if grid.sizes[j] < 3:
                continue
            triplets = _triplets(traversals_for(grid, j, n_pairs, rng), n_pairs, rng)
            if not len(triplets):
                continue
            with stages.stage(name):
                factors[name], least, most = _measure(distances, triplets, tolerance)
            low, high = min(low, least), max(high, most)
    if not factors:
        raise InputError(
            "The diagnosis of overlap needs a factor with three values on one traversal; got none."
        )
    adversarial = bool(high > 0 and high - low <= tolerance * high)
    return Overlap(factors, adversarial, distances.loss.name, grid.note)


def _triplets(traversals: Traversals, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw three different points of the same traversal, (n, 3)."""
    rows = [np.zeros((0, 3), np.int64)]
    each = min(MAX_TRIPLETS_EACH, -(-n // max(len(traversals), 1)))
    for _, index in traversals.by_length():
        t, length = index.shape
        if length < 3:
            continue
        order = rng.random((t, each, length)).argsort(axis=2)[:, :, :3]
        rows.append(np.take_along_axis(index[:, None, :], order, axis=2).reshape(-1, 3))
    return np.concatenate(rows)


def _measure(
    distances: GridDistances, triplets: np.ndarray, tolerance: float
) -> tuple[FactorOverlap, float, float]:
    anchor, near, far = triplets.T
    truth = [distances.between(anchor, side, GROUND_TRUTH) for side in (near, far)]
    seen = [distances.between(anchor, side, PERCEIVED).astype(float) for side in (near, far)]
    values = np.concatenate(seen)
    mean, least, most = float(values.mean()), float(values.min()), float(values.max())
    constant = most - least <= tolerance * most
    # Triplets with two different ground-truth distances, the nearer one first.
    ordered = truth[0] != truth[1]
    sign = np.sign(truth[1] - truth[0])[ordered]
    gap = (sign * (seen[1] - seen[0])[ordered]) / max(most, np.finfo(float).tiny)
    differs = np.abs(gap) > tolerance
    along = FactorOverlap(
        mean=mean,
        variation=float(values.std() / mean) if mean > 0 else 0.0,
        told_apart=float(differs.mean()) if len(differs) else 0.0,
        in_order=float((gap > tolerance).mean()) if len(differs) else 0.0,
        spearman=0.0 if constant else correlation(np.concatenate(truth), values).spearman,
        constant=constant,
    )
    return along, least, most
