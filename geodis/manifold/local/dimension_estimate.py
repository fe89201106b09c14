"""Estimates of the intrinsic dimension with their certainty, and the points they require."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.dimension_methods import (
    carre_du_champ_dimension,
    gride_dimension,
    mle_dimension,
    two_nn_dimension,
)
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.local.quadratic_fits import tangent_terms

Verdict = Literal["clear", "doubtful", "undecided"]


# Points per unknown of a quadratic fit, below which factors may stay merged. This only happens from
# dimension three on, because the factors of a surface are flat.
ENOUGH_PER_UNKNOWN = 80
SPLITTABLE = 3
ENOUGH_FOR_SURFACES = 20
# Largest spread of a shell. Small spheres had .03 to .18, normal noise at least .95, uniform noise
# .59, a grid .42, and uniform noise in a ball of ten dimensions .30.
SHELL = 0.25


@dataclass(frozen=True)
class DimensionEstimate:
    """Intrinsic dimension, its certainty, and the evidence.

    Attributes
    ----------
    dim : int
        The dimension, or the best guess if undecided.
    verdict : {"clear", "doubtful", "undecided"}
    doubts : tuple of Doubt
        Reasons for doubt; empty if clear.
    scale : int
        Number of neighbours of the decisive curved fits; 0 if distances decided.
    ratio : float
        Ratio of the smallest tangent variance to the largest residual variance at this scale; 0.0
        if distances decided.
    mle, two_nn : float
        Maximum-likelihood and two-nearest-neighbour estimate, from distances.
    n_neighbors : int
        Neighbours used by the maximum-likelihood estimate: 15, or up to 200 under noise.
    n_directions : int
        Directions with more variance than noise.
    noise : float
        Standard deviation of the noise in each; 0.0 if no noise floor was found.
    scales : tuple of int
        Numbers of neighbours of the curved fits, ascending.
    ratios : tuple of tuples of float
        For every scale the ratio for k = 1, 2, ..., as far as its neighbours allow.
    changes : str
        How the dimension falls with the scale, as in "4 up to 200 neighbours, 2 beyond"; may be
        empty.
    spread : float
        Spread of distances from the fits relative to normal noise (`shell_spread`); NaN if not
        computed.
    """

    dim: int
    verdict: Verdict
    doubts: tuple[Doubt, ...]
    scale: int
    ratio: float
    mle: float
    two_nn: float
    n_neighbors: int
    n_directions: int
    noise: float
    scales: tuple[int, ...]
    ratios: tuple[tuple[float, ...], ...]
    changes: str = ""
    spread: float = float("nan")

    @property
    def may_hide(self) -> bool:
        """Whether residuals of the fits look like a small factor rather than noise."""
        return self.spread < SHELL

    @property
    def remarkable(self) -> bool:
        """Whether there are doubts with positive weight; points that fill space have none."""
        return self.verdict != "clear" and any(doubt.weight for doubt in self.doubts)

    @property
    def agree(self) -> bool:
        """Whether the dimension is clear."""
        return self.verdict == "clear"

    @property
    def account(self) -> str:
        """The dimension and the doubts, without remedies."""
        at = f" at {self.scale} neighbours" if self.scale else ""
        source = f"curved fits {self.ratio:.1f} times{at}" if self.scale else "distances"
        reasons = "".join(f"; {doubt.statement}" for doubt in self.doubts)
        if self.changes and self.changes not in reasons:
            reasons += f"; {self.changes}"
        return (
            f"dimension {self.dim}, {self.verdict} ({source}; maximum likelihood {self.mle:.2f}, "
            f"two nearest neighbours {self.two_nn:.2f}){reasons}"
        )

    def __str__(self) -> str:
        """Describe the estimate in one line, with a remedy if undecided."""
        remedy = self.doubts[-1].remedy if self.verdict == "undecided" and self.doubts else ""
        return f"{self.account}: {remedy}" if remedy else self.account


def fewest_points(dim: int) -> int:
    """Return the fewest points for curved tangents: twice the unknowns of a fit, plus one.

    Examples
    --------
    >>> fewest_points(4)
    31
    """
    return 2 * tangent_terms(check_int(dim, "dim", low=1)) + 1


def points_needed(dim: int) -> tuple[int, int]:
    """Return the fewest points that GeoManCER needs in a dimension, and a reliable number.

    The first is required by the quadratic tangent fit: neighbours of each point must be twice its
    unknowns. The second is eighty times the unknowns. With these, all of twelve products were split
    correctly in three samples each, except one: a torus of revolution times S^2 was reported as one
    factor, marked uncertain. With twenty times the unknowns SO(3) x SO(3), (S^2)^4 and S^2 x SO(3)
    also stayed merged, with forty times the first of these: more curvature within a neighbourhood
    requires more points. Twenty suffice for curves and surfaces.

    Examples
    --------
    >>> points_needed(4)
    (31, 1200)
    """
    per_unknown = ENOUGH_PER_UNKNOWN if dim >= SPLITTABLE else ENOUGH_FOR_SURFACES
    return fewest_points(dim), per_unknown * tangent_terms(dim)


DimensionMethod = Literal["fits", "mle", "two_nn", "gride", "carre_du_champ"]
METHODS = get_args(DimensionMethod)
# Neighbours used by each; for gride at most a sixteenth of the points, to stay local.
MLE_COUNT, GRIDE_COUNT, GRIDE_PART, KERNEL_COUNT = 15, 256, 16, 32


def dimension_by_method(
    places: np.ndarray, method: DimensionMethod, noise: float, n_jobs: int | None
) -> DimensionEstimate:
    """Estimate the dimension of distinct points by a single method; never clear."""
    check_choice(method, "method", METHODS)
    n, d = places.shape
    counts = {
        "mle": MLE_COUNT,
        "two_nn": 3,
        "gride": max(8, min(GRIDE_COUNT, n // GRIDE_PART)),
        "carre_du_champ": KERNEL_COUNT,
    }
    near = nearest_neighbors(places, min(max(counts[method], 3), n - 1), n_jobs=n_jobs)
    mle, two_nn = mle_dimension(near.distances[:, :MLE_COUNT]), two_nn_dimension(near.distances)
    found: Any = {"mle": mle, "two_nn": two_nn}.get(method)
    detail = ""
    if method == "gride":
        curve = gride_dimension(near.distances)
        found = curve.lowest
        listed = ", ".join(f"{value:.1f}" for value in curve.dimensions)
        detail = f" (over scales {listed})"
    elif method == "carre_du_champ":
        voted = carre_du_champ_dimension(places, near)
        found = voted.dim
        detail = f" ({voted.share:.0%} of the points say so)"
    dim = 1 if not np.isfinite(found) else int(np.clip(round(found), 1, d))
    return DimensionEstimate(
        dim=dim,
        verdict="doubtful" if np.isfinite(found) else "undecided",
        doubts=(doubt("one-method", "dimension", method=method.replace("_", " "), found=detail),),
        scale=0,
        ratio=0.0,
        mle=mle,
        two_nn=two_nn,
        n_neighbors=near.indices.shape[1],
        n_directions=d,
        noise=noise,
        scales=(),
        ratios=(),
    )
