"""Eigenfields of a split -> why so many factors were found, and what leaves doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.holonomy.departure import Departure
from geodis.manifold.holonomy.eigenfields import UNCERTAIN_VARIATION, Eigenfields, count_by_gap
from geodis.manifold.local.dimension_estimate import SPLITTABLE
from geodis.manifold.local.tangent_error import TangentError
from geodis.manifold.split_result import Split

# An eigenvalue below this part of the bulk is one that noisy tangents may give a parallel field.
SMALL_VALUE = 0.1
# Above this part of the bulk no field is parallel, however even its norm.
NOT_SMALL = 0.3
# Where no field is parallel but the lowest stands this far below the next, the rest may be errors
# of the tangents: on manifolds of one factor the lowest eigenvalues come in clusters.
ISOLATED = 1.5
# Tangents that err by more, in radians, may hide that one factor is several; and factors that were
# told apart may have the wrong number where they err by more than the second.
MERGING_ERROR, MIXING_ERROR = 0.15, 0.19
# A slow field of a long factor has a small eigenvalue too, and a norm that varies by more.
SLOW_VARIATION = 0.35


@dataclass(frozen=True)
class Evidence:
    """Why so many factors were found: the two tests on the bottom eigenfields of one problem.

    Attributes
    ----------
    dim : int
        Dimension of the points that were split.
    eigenvalues : ndarray of shape (q,)
        Zero for a parallel field but for errors in the tangents.
    variation : ndarray of shape (q,)
        Variation over points of each field's norm: zero for a parallel field.
    n_parallel : int
        Leading fields taken as parallel.
    factor_dims : tuple of int
        Into what the points were split at this level.
    gap_rule : int
        Factors that the largest gap between eigenvalues, the published rule, would give.
    doubts : tuple of Doubt
        Why the number is uncertain; empty where it is not.
    departure : Departure or None
        How far the metric is from that of a product of these factors.
    tangent_error : TangentError or None
        How far the tangents err.
    """

    dim: int
    eigenvalues: np.ndarray
    variation: np.ndarray
    n_parallel: int
    factor_dims: tuple[int, ...]
    gap_rule: int
    doubts: tuple[Doubt, ...]
    departure: Departure | None = None
    tangent_error: TangentError | None = None

    def __str__(self) -> str:
        """One line for people."""
        count = min(self.n_parallel + 1, len(self.variation))
        values = " ".join(f"{value:.2g}" for value in self.eigenvalues[:count])
        varies = " ".join(f"{value:.3f}" for value in self.variation[:count])
        uncertain = f"; uncertain: {'; '.join(self.doubts)}" if self.doubts else ""
        fields = (
            "1 parallel field" if self.n_parallel == 1 else f"{self.n_parallel} parallel fields"
        )
        departure = f"; {self.departure}" if self.departure else ""
        error = f"; {self.tangent_error}" if self.tangent_error else ""
        return (
            f"dimension {self.dim} -> {' + '.join(map(str, self.factor_dims))}: {fields}, "
            f"eigenvalues {values}, norms vary by {varies}{departure}{error}{uncertain}"
        )


def collect_evidence(split: Split) -> list[Evidence]:
    """The evidence of a split and of all its parts, outermost first."""
    own = [] if split.fields is None else [_weigh(split)]
    return own + [item for part in split.parts for item in collect_evidence(part)]


def _weigh(split: Split) -> Evidence:
    fields = split.fields
    assert fields is not None
    dim = split.axes.shape[1]
    # Where the factors were split in turn, those found here are the ones of the first round.
    dims = split.history[0]["factor_dims"] if split.parts else split.dims
    gap_rule = count_by_gap(fields.values) + 1 if len(fields.values) > 1 else 1
    doubts = doubts_of(fields, dim)
    told, found = split.told_apart, len(split.dims)
    if told not in (None, found):
        doubts += (doubt("given-factors", "split", given=found, found=told),)
    if split.tangent_error is None and found > 1:
        doubts += (doubt("unmeasured-departure", "split"),)
    if not split.parts:  # else what the parts say counts
        doubts += doubts_of_tangents(split)
    if split.departure and not split.departure.is_product:
        doubts += (doubt("departure", "split", departure=str(split.departure)),)
    return Evidence(
        dim,
        fields.values,
        fields.variation,
        fields.n_parallel,
        dims,
        gap_rule,
        doubts,
        split.departure,
        split.tangent_error,
    )


def doubts_of_tangents(split: Split) -> tuple[Doubt, ...]:
    """Whether the tangents err by so much that factors may be merged, or their axes mean little."""
    error = split.tangent_error
    limit = MERGING_ERROR if len(split.dims) == 1 else MIXING_ERROR
    if error is None or error.angle <= limit or split.axes.shape[1] < SPLITTABLE:
        return ()
    more = f", more than {limit}," if np.isfinite(error.noise) else ", which"
    return (doubt("noisy-tangents", "split", error=str(error), limit=more),)


def doubts_of(fields: Eigenfields, dim: int = SPLITTABLE) -> tuple[Doubt, ...]:
    """What in the fields leaves the number of parallel ones uncertain."""
    low, high = UNCERTAIN_VARIATION
    counted, values = fields.n_parallel, fields.values
    doubts = []
    for r, varies in enumerate(fields.variation[: counted + 1]):
        if r == counted and values[r] > NOT_SMALL * values[-1]:
            continue  # its norm may be even, as on a torus, but it is not parallel
        if low < varies and (varies < high or r < counted):
            doubts.append(doubt("uneven-field", "split", field=r + 1, variation=varies))
    after = fields.variation[counted] if counted < len(values) - 1 else np.inf
    if after < SLOW_VARIATION and values[counted] < SMALL_VALUE * values[-1]:
        doubts.append(doubt("small-eigenvalue", "split", field=counted + 1))
    elif counted == 0 and dim >= SPLITTABLE and values[1] > ISOLATED * values[0]:
        doubts.append(doubt("lone-eigenvalue", "split", ratio=values[1] / values[0]))
    if not fields.converged:
        doubts.append(doubt("not-converged", "split"))
    return tuple(doubts)
