"""Several dimensions, fitted one by one -> the fit against which least speaks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from geodis.base.check import InputError
from geodis.manifold.doubts import doubt
from geodis.manifold.local.dimension_estimate import DimensionEstimate

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER

# Dimensions with a ratio of curved fits from here on at any scale may be meant; this many are
# fitted at most.
POSSIBLE, MOST_FITS = 1.6, 4
# Below this ratio something long is left at every scale, so that the dimension is too small; what
# is too small has often least to doubt.
LEAVES_NOTHING = 2.0


def scanned_fit(est: GeoManCER, X: Any, **given: Any) -> GeoManCER:
    """Fit with every dimension that may be meant, and become the cleanest of these fits.

    A fit is clean if its curved fits leave nothing long at some scale; among these the doubts with
    the least total weight decide, and then how little the fits leave. Doubts about the dimension
    itself weigh nothing. A dimension that is clear is not scanned.

    Parameters
    ----------
    est : GeoManCER
        Its `dim` is "scan".
    X, **given
        As in `GeoManCER.fit`.

    Returns
    -------
    GeoManCER
        The same object, fitted.
    """
    fits = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said by the fit that is kept
        first = clone(est).set_params(dim="auto").fit(X, **given)
        estimate = first.dimension_
        fits[first.dim_] = first
        for dim in [] if estimate.verdict == "clear" else candidates(estimate, first.dim_):
            try:
                fits[dim] = clone(est).set_params(dim=dim).fit(X, **given)
            except InputError:  # too few points or directions for it
                continue
    kept = min(fits, key=lambda dim: _blemishes(fits[dim], estimate, dim))
    own = est.get_params()
    est.__dict__.update({k: v for k, v in vars(fits[kept]).items() if k not in own})
    if len(fits) > 1:
        weights = ", ".join(f"{dim} ({_weight(fits[dim]):g})" for dim in sorted(fits))
        given = fits[kept].dim != "auto"
        replaced = fits[kept]._late_doubts(told=given)
        est.doubts_ = (
            doubt(
                "scanned-dimension",
                "dimension",
                estimate=estimate.account,
                fits=weights,
                kept=kept,
            ),
            *(one for one in est.doubts_ if one.about != "dimension" and one not in replaced),
            *fits[kept]._late_doubts(told=False),
        )
        est.uncertain_ = True
    return est


def candidates(estimate: DimensionEstimate, fitted: int) -> list[int]:
    """Other dimensions that may be meant, the nearest to the estimate first.

    Examples
    --------
    >>> from geodis import intrinsic_dimension
    >>> rows = np.random.default_rng(0).standard_normal((400, 3)) * [9, 1, 0.3]
    >>> candidates(intrinsic_dimension(rows), 3)
    [2, 1]
    """
    possible = {
        k
        for ratios in estimate.ratios
        for k, ratio in enumerate(ratios, start=1)
        if ratio >= POSSIBLE
    }
    seen = [value for value in (estimate.mle, estimate.two_nn) if np.isfinite(value)]
    possible |= {max(1, round(value)) for value in seen} | {estimate.dim - 1, estimate.dim + 1}
    possible -= {fitted}
    nearest = sorted(possible, key=lambda dim: (abs(dim - estimate.dim), dim))
    return [dim for dim in nearest if 1 <= dim <= estimate.n_directions][: MOST_FITS - 1]


def _weight(est: GeoManCER) -> float:
    """How much speaks against a fit."""
    return sum(one.weight for one in est.doubts_)


def _blemishes(est: GeoManCER, estimate: DimensionEstimate, dim: int) -> tuple[bool, float, float]:
    """What speaks against a fit, in the order in which it counts."""
    ratio = _best_ratio(estimate, dim)
    filled = dim >= estimate.n_directions
    return ratio < LEAVES_NOTHING and not filled, _weight(est), -ratio


def _best_ratio(estimate: DimensionEstimate, dim: int) -> float:
    return max((row[dim - 1] for row in estimate.ratios if len(row) >= dim), default=0.0)
