"""Whether a data set is adversarial to a loss: distances along its factors all equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.base.progress import Stages
from geodis.data.grids.grid import FactorGrid
from geodis.distances.correlations import correlation
from geodis.distances.grid_distances import GROUND_TRUTH, PERCEIVED, GridDistances
from geodis.distances.grid_traversals import Traversals, traversals_for
from geodis.distances.images.image_losses import LossLike

MAX_TRIPLETS_EACH = 64


@dataclass(frozen=True)
class FactorOverlap:
    """Distances along one factor, from one point to two others.

    Attributes
    ----------
    mean : float
        Average perceived distance between different points on a traversal: C_f where it is
        constant.
    variation : float
        Standard deviation of those distances over their mean.
    told_apart : float
        Share of triplets (anchor, near, far), at different ground-truth distances, whose two
        perceived distances differ: without it there is nothing to order by.
    in_order : float
        Share of those triplets whose perceived distances are in the right order; 0.5 is chance
        where all can be told apart.
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
    """Whether a data set is adversarial to a loss; prints as a table with a verdict.

    Attributes
    ----------
    factors : dict of str to FactorOverlap
    adversarial : bool
        Distances along every factor are constant, and the same constant for all.
    loss : str
    note : str
    """

    factors: Mapping[str, FactorOverlap]
    adversarial: bool
    loss: str
    note: str = ""

    def __str__(self) -> str:
        """A table and a sentence."""
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
        """Everything as plain values, for JSON."""
        return {
            "loss": self.loss,
            "adversarial": self.adversarial,
            "verdict": self.verdict,
            "factors": {name: vars(along) for name, along in self.factors.items()},
            "note": self.note,
        }

    @property
    def verdict(self) -> str:
        """One sentence."""
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
    """Find out whether a data set has constant overlap under a loss.

    A set has constant overlap along factor f when ``d(x_a, x_b) = C_f > 0`` for any two points
    that differ in f alone, and is adversarial when that holds for all factors with one C.
    Nothing then tells a model which values of a factor are neighbours.

    Parameters
    ----------
    grid : FactorGrid
    loss : name or callable
        As for `perceived`.
    n_pairs : int
        About how many triplets a factor.
    tolerance : float
        Distances whose relative differences are smaller count as equal.
    random_state : int, Generator or None
    verbose : bool or int

    Returns
    -------
    Overlap
        Factors with fewer than three values have no order to lose; they are in the table of
        `factor_importance`.

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
    """Three different points of the same traversal, (n, 3)."""
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
    # Nearer first; anchors half way between the two say nothing.
    told = truth[0] != truth[1]
    sign = np.sign(truth[1] - truth[0])[told]
    gap = (sign * (seen[1] - seen[0])[told]) / max(most, np.finfo(float).tiny)
    apart = np.abs(gap) > tolerance
    along = FactorOverlap(
        mean=mean,
        variation=float(values.std() / mean) if mean > 0 else 0.0,
        told_apart=float(apart.mean()) if len(apart) else 0.0,
        in_order=float((gap > tolerance).mean()) if len(apart) else 0.0,
        spearman=0.0 if constant else correlation(np.concatenate(truth), values).spearman,
        constant=constant,
    )
    return along, least, most
