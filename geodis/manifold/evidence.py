"""Eigenfields of a split -> why so many factors were found, and what leaves doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.holonomy.eigenfields import UNCERTAIN_VARIATION, Eigenfields, count_by_gap
from geodis.manifold.local.dimension import ENOUGH_PER_UNKNOWN, SPLITTABLE, tangent_terms
from geodis.manifold.split_result import Split

# An eigenvalue below this part of the bulk is one that noisy tangents may give a parallel field.
SMALL_VALUE = 0.1


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
        Why the number is uncertain; empty where it is not.
    """

    dim: int
    eigenvalues: np.ndarray
    variation: np.ndarray
    n_parallel: int
    factor_dims: tuple[int, ...]
    gap_rule: int
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        """One line for people."""
        count = min(self.n_parallel + 1, len(self.variation))
        values = " ".join(f"{value:.2g}" for value in self.eigenvalues[:count])
        varies = " ".join(f"{value:.3f}" for value in self.variation[:count])
        doubt = f"; uncertain: {'; '.join(self.doubts)}" if self.doubts else ""
        fields = (
            "1 parallel field" if self.n_parallel == 1 else f"{self.n_parallel} parallel fields"
        )
        return (
            f"dimension {self.dim} -> {' + '.join(map(str, self.factor_dims))}: {fields}, "
            f"eigenvalues {values}, norms vary by {varies}{doubt}"
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
    doubts = doubts_of(fields)
    if not split.parts and max(split.dims) >= SPLITTABLE:
        doubts += doubts_of_number(len(split.axes), dim)
    return Evidence(dim, fields.values, fields.variation, fields.n_parallel, dims, gap_rule, doubts)


def doubts_of_number(n: int, dim: int) -> tuple[str, ...]:
    """Whether n points in that dimension are so few that a factor left whole may be several."""
    unknowns = tangent_terms(dim)
    if n >= ENOUGH_PER_UNKNOWN * unknowns:
        return ()
    return (
        f"{n / unknowns:.0f} points for each unknown of the tangent fit may leave factors merged "
        f"(want {ENOUGH_PER_UNKNOWN})",
    )


def doubts_of(fields: Eigenfields) -> tuple[str, ...]:
    """What in the fields leaves the number of parallel ones uncertain, in sentences."""
    low, high = UNCERTAIN_VARIATION
    doubts = []
    for r, varies in enumerate(fields.variation[: fields.n_parallel + 1]):
        if low < varies < high:
            doubts.append(f"the norm of field {r + 1} varies by {varies:.2f}")
    after = fields.n_parallel
    if after < len(fields.values) - 1 and fields.values[after] < SMALL_VALUE * fields.values[-1]:
        doubts.append(f"the eigenvalue of field {after + 1} is as small as a parallel field's")
    if not fields.converged:
        doubts.append("the eigenfields have not converged")
    return tuple(doubts)
