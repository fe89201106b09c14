"""Eigenfields of a split -> why so many factors were found, and what leaves doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    doubts : tuple of str
        Why the number is uncertain, and what to do about it; empty where it is not.
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
    doubts: tuple[str, ...]
    departure: Departure | None = None
    tangent_error: TangentError | None = None

    def __str__(self) -> str:
        """One line for people."""
        count = min(self.n_parallel + 1, len(self.variation))
        values = " ".join(f"{value:.2g}" for value in self.eigenvalues[:count])
        varies = " ".join(f"{value:.3f}" for value in self.variation[:count])
        doubt = f"; uncertain: {'; '.join(self.doubts)}" if self.doubts else ""
        fields = (
            "1 parallel field" if self.n_parallel == 1 else f"{self.n_parallel} parallel fields"
        )
        departure = f"; {self.departure}" if self.departure else ""
        error = f"; {self.tangent_error}" if self.tangent_error else ""
        return (
            f"dimension {self.dim} -> {' + '.join(map(str, self.factor_dims))}: {fields}, "
            f"eigenvalues {values}, norms vary by {varies}{departure}{error}{doubt}"
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
    if split.told_apart not in (None, len(split.dims)):
        doubts += (
            f"n_factors={len(split.dims)} was given, and the fields tell {split.told_apart} apart: "
            "leave n_factors out to see them",
        )
    if split.tangent_error is None and len(split.dims) > 1:
        doubts += (
            "how far the metric is from a product's cannot be measured with these tangents: fit "
            "without tangents='pca', or with a denser graph",
        )
    if not split.parts:  # else what the parts say counts
        doubts += doubts_of_tangents(split)
    if split.departure and not split.departure.is_product:
        doubts += (f"{split.departure}: take the factors for one, or for nearly independent",)
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


def doubts_of_tangents(split: Split) -> tuple[str, ...]:
    """Whether the tangents err by so much that factors may be merged, or their axes mean little."""
    error = split.tangent_error
    limit = MERGING_ERROR if len(split.dims) == 1 else MIXING_ERROR
    if error is None or error.angle <= limit or split.axes.shape[1] < SPLITTABLE:
        return ()
    more = f", more than {limit}," if np.isfinite(error.noise) else ", which"
    return (f"{error}{more} and may merge or mix factors: give more points",)


def doubts_of(fields: Eigenfields, dim: int = SPLITTABLE) -> tuple[str, ...]:
    """What in the fields leaves the number of parallel ones uncertain, in sentences."""
    low, high = UNCERTAIN_VARIATION
    counted, values = fields.n_parallel, fields.values
    doubts = []
    for r, varies in enumerate(fields.variation[: counted + 1]):
        if r == counted and values[r] > NOT_SMALL * values[-1]:
            continue  # its norm may be even, as on a torus, but it is not parallel
        if low < varies and (varies < high or r < counted):
            doubts.append(
                f"the norm of field {r + 1} varies by {varies:.2f}: more points would tell whether "
                "it is parallel"
            )
    after = fields.variation[counted] if counted < len(values) - 1 else np.inf
    if after < SLOW_VARIATION and values[counted] < SMALL_VALUE * values[-1]:
        doubts.append(
            f"the eigenvalue of field {counted + 1} is as small as a parallel field's: more points "
            "would tell"
        )
    elif counted == 0 and dim >= SPLITTABLE and values[1] > ISOLATED * values[0]:
        doubts.append(
            f"the lowest eigenvalue stands alone, {values[1] / values[0]:.1f} times below the "
            "next: two factors may be merged; give more points, or n_factors=2 to look at them"
        )
    if not fields.converged:
        doubts.append("the eigenfields have not converged: fit again with another random_state")
    return tuple(doubts)
