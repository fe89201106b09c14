"""Several dimensions, fitted one by one -> the fit against which least speaks."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Literal

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.doubts import doubt
from geodis.manifold.fit import fit_rows
from geodis.manifold.fitted import Fit
from geodis.manifold.local.dimension_estimate import DimensionEstimate
from geodis.manifold.preparation.sampled import Rows
from geodis.manifold.task import Settings
from geodis.manifold.verdict.doubts import late_doubts

# Dimensions with a ratio of curved fits from here on at any scale may be meant; this many are
# fitted at most.
POSSIBLE, MOST_FITS = 1.6, 4
# Below this ratio something long is left at every scale, so that the dimension is too small; what
# is too small has often least to doubt.
LEAVES_NOTHING = 2.0


def scan_dimensions(rows: Rows, settings: Settings) -> Fit:
    """Fit with every dimension that may be meant, and keep the cleanest of these fits.

    A fit is clean if its curved fits leave nothing long at some scale; among these the doubts with
    the least total weight decide, and then how little the fits leave. Doubts about the dimension
    itself weigh nothing. A dimension that is clear is not scanned.

    Parameters
    ----------
    rows : Rows
    settings : Settings
        Its `dim` is "scan".

    Returns
    -------
    Fit
    """
    first = _fit_with("auto", rows, settings)
    estimate, fits = first.dimension, {first.dim: first}
    for dim in [] if estimate.verdict == "clear" else candidates(estimate, first.dim):
        try:
            fits[dim] = _fit_with(dim, rows, settings)
        except InputError:  # too few points or directions for it
            continue
    kept = min(fits.values(), key=lambda fit: _blemishes(fit, estimate))
    doubts = kept.doubts
    if len(fits) > 1:
        weights = ", ".join(f"{dim} ({_weight(fits[dim]):g})" for dim in sorted(fits))
        account = estimate.account
        late = late_doubts(kept.flat.dims, kept.dimension, False, kept.evidence, kept.order)
        doubts = (
            doubt("scanned-dimension", "dimension", estimate=account, fits=weights, kept=kept.dim),
            *(one for one in doubts if one.about != "dimension" and one not in kept.late_doubts),
            *late,
        )
    return replace(kept, settings=settings, doubts=doubts)


def _fit_with(dim: int | Literal["auto"], rows: Rows, settings: Settings) -> Fit:
    """Fit with a dimension; a generator starts every fit in the same state."""
    random_state = deepcopy(settings.random_state)
    return fit_rows(rows, replace(settings, dim=dim, random_state=random_state))


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


def _weight(fit: Fit) -> float:
    """How much speaks against a fit."""
    return sum(one.weight for one in fit.doubts)


def _blemishes(fit: Fit, estimate: DimensionEstimate) -> tuple[bool, float, float]:
    """What speaks against a fit, in the order in which it counts."""
    ratio = _best_ratio(estimate, fit.dim)
    filled = fit.dim >= estimate.n_directions
    return ratio < LEAVES_NOTHING and not filled, _weight(fit), -ratio


def _best_ratio(estimate: DimensionEstimate, dim: int) -> float:
    return max((row[dim - 1] for row in estimate.ratios if len(row) >= dim), default=0.0)
