"""The intrinsic dimension by one method alone, with what that method says for itself."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice
from geodis.manifold.doubts import doubt
from geodis.manifold.local.dimension_by_distances import mle_dimension, two_nn_dimension
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.local.neighbors import nearest_neighbors
from geodis.manifold.other_dimensions.carre_du_champ import carre_du_champ_dimension
from geodis.manifold.other_dimensions.gride import gride_dimension

DimensionMethod = Literal["fits", "mle", "two_nn", "gride", "carre_du_champ"]
METHODS = get_args(DimensionMethod)
# Neighbours of each; of gride a sixteenth of the points at most, beyond which the whole manifold
# is seen.
MLE_COUNT, GRIDE_COUNT, GRIDE_PART, KERNEL_COUNT = 15, 256, 16, 32


def dimension_by_method(
    places: np.ndarray, method: DimensionMethod, noise: float, n_jobs: int | None
) -> DimensionEstimate:
    """The dimension of distinct points by a named method, never more than doubtful."""
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
    told: Any = {"mle": mle, "two_nn": two_nn}.get(method)
    detail = ""
    if method == "gride":
        curve = gride_dimension(near.distances)
        told = curve.lowest
        listed = ", ".join(f"{value:.1f}" for value in curve.dimensions)
        detail = f" (over scales {listed})"
    elif method == "carre_du_champ":
        voted = carre_du_champ_dimension(places, near)
        told = voted.dim
        detail = f" ({voted.share:.0%} of the points say so)"
    dim = 1 if not np.isfinite(told) else int(np.clip(round(told), 1, d))
    return DimensionEstimate(
        dim=dim,
        verdict="doubtful" if np.isfinite(told) else "undecided",
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
