"""Intrinsic dimension from curved fits: the smallest with small residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_points, check_random_state
from geodis.base.jobs import check_jobs
from geodis.manifold.doubts import doubt
from geodis.manifold.local.curved_fit_ratio import (
    FitRatios,
    curved_fit_ratios,
    is_normal_noise,
    largest_fit,
    shell_spread,
)
from geodis.manifold.local.dimension_estimate import (
    DimensionEstimate,
    DimensionMethod,
    dimension_by_method,
)
from geodis.manifold.local.dimension_methods import (
    EVENLY_SPACED,
    DistanceEstimates,
    dimension_by_distances,
)
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import Neighbors, distinct_rows
from geodis.manifold.local.principal import KeptDirections, kept_directions
from geodis.manifold.local.quadratic_fits import tangent_terms

# Scales: the first number of neighbours, the growth from scale to scale, the largest share of the
# points (1 / 8; larger neighbourhoods are the whole manifold and pass with too small a dimension),
# and an upper limit.
FIRST_SCALE, GROWTH, LARGEST_PART, LARGEST_SCALE = 12, 1.6, 8, 2_500
# The first scale may be a larger share (1 / 4). With fewer than three scales a finer one is added:
# for example, seventy views of a rotating object bend within twelve neighbours.
FIRST_PART = 4
FEW_SCALES, FINER_SCALE = 3, 8
# Trial points, and the unknowns of all their fits together.
TRIALS, TRIAL_ENTRIES = 80, 4_000
# Too small a dimension has ratios of 1.0 to 1.6 at every scale, the true one more. PASSES is the
# minimum, TRUSTED decides at the finest scale that reaches it, CLEAR leaves no doubt. From NEARLY
# on, a smaller dimension raises a doubt.
NEARLY, PASSES, TRUSTED, CLEAR = 1.6, 2.0, 3.0, 4.0
# A direction counts as noise below this multiple of the noise variance: at fine scales all
# directions are that long, and counts with uneven variance have fewer long ones.
WITHIN_NOISE = 3.0
# A dimension that is not clear is skipped if the next has a ratio this many times larger.
FAR_BETTER = 100.0
# If the points fill all directions, the ratio of all but one direction stays below this; if noise
# fills them, it does not.
FILLED = 1.8
# Share of the directions that distances must see before all of them are the answer.
FILLED_PART = 0.8
# A surface is thick if its residual variance is this many times that of the noise ...
THICK = 10.0
# ... and thin from this ratio on, whatever its residual.
THIN = 10.0
# Noise residuals agree in all directions within a factor of 100. From a ratio of 100 on, residuals
# cannot hide another direction.
UNEVEN, NOTHING_HIDDEN = 0.01, 100.0
# Dimensions are mixed if a smaller one is clear at this share of the points.
MIXED = 0.2
# Two estimates from distances that are both this near to one dimension leave no doubt.
CLOSE = 0.2
# The two nearest neighbours see this much more than the dimension if noise or a small factor is as
# wide as their distance. Fits with four neighbours per unknown tell which.
MORE_NEARBY, SHELL_NEIGHBORS = 0.3, 4
# Dimensions that are always tried. Distances underestimate high dimensions, so a third more than
# their estimate is tried.
FEWEST_TRIED, TRIED_BEYOND = 6, 1.3


def intrinsic_dimension(
    points: Any,
    *,
    method: DimensionMethod = "fits",
    directions: KeptDirections | None = None,
    n_neighbors: int | None = None,
    neighbors: Neighbors | None = None,
    apart: Apart | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> DimensionEstimate:
    r"""Estimate the intrinsic dimension: the smallest whose curved fits have small residuals.

    At some points and growing scales, the remaining directions are fitted by quadratics in the
    first k principal directions, k = 1, 2, ... (`curved_fit_ratios`). With

        ratio_k = variance along the k-th direction / largest residual variance

    the dimension is the smallest k with a ratio of at least 2, at the *finest* scale at which this
    ratio is at least 3, or else the largest; directions no longer than the noise do not count. The
    result is clear from a ratio of 4 on if there are no other doubts. If no fit decides, two
    estimates from distances do, if they agree and noise is low; otherwise it is undecided.

    Parameters
    ----------
    points : array-like of shape (n, d)
    method : {"fits", "mle", "two_nn", "gride", "carre_du_champ"}
        "fits" is described above. The others are for comparison and never clear: maximum
        likelihood, two nearest neighbours, generalised ratios of distances (the lowest over
        scales), and the largest gap of the carré du champ.
    directions : KeptDirections, optional
        If `points` are coordinates along kept directions: these directions. Computed by default.
    n_neighbors : int, optional
        Neighbours for the maximum-likelihood estimate. Default: 15, or 200 (at most a tenth of
        the points) if the estimate falls so fast with their number that noise is likely.
    neighbors : Neighbors, optional
        Fifty neighbours of the points, if known.
    apart : Apart, optional
        Rows to exclude from each other's neighbourhoods; see `kept_apart`.
    n_jobs : int, optional
        Threads; every core by default and for -1.
    random_state : int, Generator or None
        Draws the points at which fits and distances are evaluated.

    Returns
    -------
    DimensionEstimate

    Examples
    --------
    >>> from geodis import product_manifold
    >>> sample = product_manifold("S^2 x S^1", 2000, noise=0.05, random_state=0)
    >>> estimate = intrinsic_dimension(sample.points)
    >>> estimate.dim, estimate.verdict
    (3, 'clear')
    """
    if n_neighbors is not None:
        check_int(n_neighbors, "n_neighbors", low=3)
    n_jobs = check_jobs(n_jobs, default=-1)
    points = check_points(points)
    places, first, _ = distinct_rows(points)  # duplicates count once
    if len(places) < 4:
        raise InputError(f"The dimension needs at least 4 distinct points; got {len(places)}.")
    rng = check_random_state(random_state)
    if directions is None:
        directions = kept_directions(places, random_state=rng)
        if directions.n_directions < points.shape[1]:
            places, again, _ = distinct_rows(directions.project(places))
            neighbors, first = None, first[again]
    if len(places) < 4:
        raise InputError(f"The dimension needs at least 4 distinct points; got {len(places)}.")
    if method != "fits":
        return dimension_by_method(places, method, directions.noise, n_jobs)
    apart = None if apart is None else apart.rows(first)
    distances = dimension_by_distances(
        places,
        n_neighbors=n_neighbors,
        neighbors=neighbors,
        apart=apart,
        n_jobs=n_jobs,
        random_state=rng,
    )
    fits = above_noise(_fits(places, distances, rng, apart), directions.noise)
    estimate = _judged(fits, distances, directions.noise, *places.shape)
    if estimate.scale and estimate.agree and estimate.two_nn > estimate.dim + MORE_NEARBY:
        # At the best scale, with enough neighbours for an accurate centre.
        best = max(
            (own[estimate.dim - 1], count)
            for own, count in zip(fits.ratios, fits.counts, strict=True)
            if len(own) >= estimate.dim
        )[1]
        count = max(best, SHELL_NEIGHBORS * tangent_terms(estimate.dim))
        if count <= len(places) - (1 if apart is None else apart.most()):
            spread = shell_spread(places, estimate.dim, count, apart)
            estimate = replace(estimate, spread=spread)
    if estimate.dim < places.shape[1] or not is_normal_noise(places):
        return estimate
    return replace(
        estimate, verdict="undecided", doubts=(doubt("all-noise", "dimension", d=estimate.dim),)
    )


def _fits(
    places: np.ndarray,
    distances: DistanceEstimates,
    rng: np.random.Generator,
    apart: Apart | None = None,
) -> FitRatios:
    """Fit all plausible dimensions at all scales that the points allow."""
    n, d = places.shape
    scales = _scales(n if apart is None else n - apart.most())
    if not scales or d == 1:
        return FitRatios((), (), (), (), ())
    seen = min(max(distances.mle, distances.two_nn if distances.agreed else 0.0), EVENLY_SPACED)
    # Noise raises estimates from distances, so only fits with enough neighbours are tried.
    tried = min(max(FEWEST_TRIED, int(np.ceil(TRIED_BEYOND * seen)) + 1), largest_fit(scales[-1]))
    tried = min(tried, d - 1)
    trials = min(n, max(TRIALS // 4, min(TRIALS, TRIAL_ENTRIES // tangent_terms(tried))))
    rows = np.sort(rng.choice(n, trials, replace=False))
    return curved_fit_ratios(places, rows, scales, tried, apart)


def above_noise(fits: FitRatios, noise: float) -> FitRatios:
    """Limit ratios to one for directions no longer than the noise.

    Examples
    --------
    >>> fits = FitRatios((12,), ((9.0, 3.0),), ((1.0, 0.5),), ((1.0, 1.0),), ((0.0, 0.0),))
    >>> above_noise(fits, 1.0).ratios
    ((9.0, 1.0),)
    """
    least = WITHIN_NOISE * noise**2
    ratios = tuple(
        tuple(
            ratio if ratio * thickness >= least else min(ratio, 1.0)
            for ratio, thickness in zip(own, left, strict=True)
        )
        for own, left in zip(fits.ratios, fits.thickness, strict=True)
    )
    return replace(fits, ratios=ratios)


def _scales(n: int) -> list[int]:
    """Return the numbers of neighbours of the fits; none if there are too few points."""
    scales, count = [], float(FIRST_SCALE)
    while count <= min(n / LARGEST_PART, LARGEST_SCALE):
        scales.append(int(count))
        count *= GROWTH
    scales = scales or [FIRST_SCALE] * (n / FIRST_PART >= FIRST_SCALE)
    return [FINER_SCALE, *scales] if 0 < len(scales) < FEW_SCALES else scales


@dataclass(frozen=True)
class _Run:
    """Successive scales at which the same dimension is the smallest that passes."""

    dim: int
    scales: tuple[int, ...]
    ratios: tuple[float, ...]

    @property
    def best(self) -> float:
        return max(self.ratios)


def _runs(fits: FitRatios) -> list[_Run]:
    """Group successive scales by the smallest dimension that passes."""
    runs: list[_Run] = []
    open_run = False
    for count, ratios in zip(fits.counts, fits.ratios, strict=True):
        dim = _smallest_that_passes(ratios)
        if dim and open_run and runs[-1].dim == dim:
            last = runs[-1]
            runs[-1] = _Run(dim, (*last.scales, count), (*last.ratios, ratios[dim - 1]))
        elif dim:
            runs.append(_Run(dim, (count,), (ratios[dim - 1],)))
        open_run = dim > 0
    return runs


def _smallest_that_passes(ratios: tuple[float, ...]) -> int:
    """Return the smallest dimension that passes; 0 if none does.

    If one barely passes and the next is far better, it passes at some points only and is skipped.
    """
    for k, ratio in enumerate(ratios, start=1):
        after = ratios[k] if k < len(ratios) else 0.0
        if ratio >= CLEAR or (ratio >= PASSES and after < FAR_BETTER * ratio):
            return k
    return 0


def _chosen_run(runs: list[_Run], seen: int) -> tuple[_Run | None, bool]:
    """Return the run that decides the dimension, and whether its ratio is trusted.

    This is the finest run with a trusted ratio that has two scales or agrees with distances to few
    neighbours, or else the one with the largest ratio. If a smaller dimension passed at finer
    scales, the larger one is due to curvature and the finer run is used; likewise if the dimension
    seen by distances passed there.
    """
    firm = [run for run in runs if len(run.scales) > 1 or run.dim == seen]
    trusted = [run for run in firm if run.best >= TRUSTED]
    if not firm:
        return None, False
    run = trusted[0] if trusted else max(firm, key=lambda one: one.best)
    finer = [
        one
        for one in firm
        if one.scales[0] < run.scales[0] and (one.dim < run.dim or one.dim == seen)
    ]
    return (finer[0] if finer else run), bool(trusted)


def _judged(
    fits: FitRatios, distances: DistanceEstimates, noise: float, n: int, d: int
) -> DimensionEstimate:
    """Combine fits and distances into an estimate with verdict and doubts."""
    runs = _runs(fits)
    agreed = distances.agreed
    run, trusted = _chosen_run(runs, max(1, round(min(distances.fine, EVENLY_SPACED))))
    blank = DimensionEstimate(
        dim=min(max(1, round(min(distances.mle, EVENLY_SPACED))), d),
        verdict="undecided",
        doubts=(),
        scale=0,
        ratio=0.0,
        mle=distances.mle,
        two_nn=distances.two_nn,
        n_neighbors=distances.n_neighbors,
        n_directions=d,
        noise=noise,
        scales=fits.counts,
        ratios=fits.ratios,
    )
    if run is not None and (trusted or agreed is None or agreed >= d):
        return _by_fits(blank, run, runs, fits, agreed)
    if _fills(fits, distances, d) and run is None:
        return _by_filling(blank, fits, distances, noise, d)
    if agreed is not None and agreed < d:
        return _by_agreement(blank, agreed, fits, n)
    return _undecided(blank, distances, n)


def _by_fits(
    blank: DimensionEstimate, run: _Run, runs: list[_Run], fits: FitRatios, agreed: int | None
) -> DimensionEstimate:
    """Return the estimate of a run of scales, with its doubts."""
    longest = int(np.argmax(run.ratios))
    decisive = next((i for i, ratio in enumerate(run.ratios) if ratio >= TRUSTED), longest)
    scale, ratio = run.scales[decisive], run.ratios[decisive]
    at = fits.counts.index(scale)
    best = fits.counts.index(run.scales[longest])
    sure = agreed == run.dim
    doubts = []
    if run.best < CLEAR:
        doubts.append(doubt("nearly-as-long", "dimension", ratio=run.best))
    rows = [fits.counts.index(count) for count in run.scales]
    near = [np.median([fits.ratios[row][k] for row in rows]) for k in range(run.dim - 1)]
    if near and max(near) >= NEARLY and not sure:
        smaller = int(np.argmax(near)) + 1
        doubts.append(doubt("smaller-dimension", "dimension", dim=smaller, ratio=max(near)))
    changes = _changes(run, runs)
    if changes and not sure:
        doubts.append(doubt("changes-with-scale", "dimension", changes=changes))
    matters = blank.noise > 0 and not sure and run.best < THIN
    if matters and fits.thickness[at][run.dim - 1] > THICK * blank.noise**2:
        thick = np.sqrt(fits.thickness[at][run.dim - 1]) / blank.noise
        doubts.append(doubt("thick-surface", "dimension", times=thick))
    hidden = fits.evenness[best][run.dim - 1] < UNEVEN and run.best < NOTHING_HIDDEN
    if blank.noise == 0 and hidden and not sure and blank.n_directions - run.dim > 1:
        doubts.append(doubt("uneven-rest", "dimension"))
    if fits.below[at][run.dim - 1] > MIXED:
        doubts.append(doubt("mixed-dimensions", "dimension", share=fits.below[at][run.dim - 1]))
    if agreed is not None and not sure and agreed < blank.n_directions:  # noise fills them all
        doubts.append(doubt("distances-disagree", "dimension", dim=agreed))
    if not np.isfinite(blank.two_nn):
        doubts.append(doubt("evenly-spaced", "dimension"))
    return replace(
        blank,
        dim=run.dim,
        verdict="doubtful" if doubts else "clear",
        doubts=tuple(doubts),
        scale=scale,
        ratio=ratio,
        changes=changes,
    )


def _changes(run: _Run, runs: list[_Run]) -> str:
    """Describe how the dimension falls with the scale; a rise is due to curvature."""
    finer = [one for one in runs if one.scales[0] < run.scales[0] and one.dim > run.dim]
    coarser = [one for one in runs if one.scales[0] > run.scales[0] and one.dim < run.dim]
    first = finer[0] if finer else run
    then = run if finer else coarser[0] if coarser else None
    if then is None:
        return ""
    return f"{first.dim} up to {first.scales[-1]} neighbours, {then.dim} beyond"


def _fills(fits: FitRatios, distances: DistanceEstimates, d: int) -> bool:
    """Check whether fewer than all directions were tried and did not pass."""
    tried = [ratios for ratios in fits.ratios if len(ratios) >= d - 1]
    seen = min(distances.mle, EVENLY_SPACED)
    return d == 1 or distances.agreed == d or (bool(tried) and seen >= FILLED_PART * d)


def _by_filling(
    blank: DimensionEstimate, fits: FitRatios, distances: DistanceEstimates, noise: float, d: int
) -> DimensionEstimate:
    """Return as many dimensions as directions: a flat region of space, or noise that fills it."""
    doubts = []
    one_less = [ratios[d - 2] for ratios in fits.ratios if len(ratios) >= d - 1] if d > 1 else []
    if not np.isfinite(distances.two_nn):
        doubts.append(doubt("evenly-spaced", "dimension"))
    elif d > 1 and (noise > 0 or distances.agreed != d or max(one_less, default=0.0) >= FILLED):
        doubts.append(doubt("filled-by-noise", "dimension", d=d))
    elif d > 1:
        doubts.append(doubt("fills", "dimension"))
    return replace(blank, dim=d, verdict="doubtful" if doubts else "clear", doubts=tuple(doubts))


def _by_agreement(
    blank: DimensionEstimate, agreed: int, fits: FitRatios, n: int
) -> DimensionEstimate:
    """Return the dimension on which estimates from distances agree, if no fit decides."""
    needed = LARGEST_PART * 2 * tangent_terms(agreed)
    doubts = []
    # The second estimate has standard error k / sqrt(n): small samples agree by chance.
    known = blank.two_nn / np.sqrt(n) < CLOSE
    close = known and abs(blank.mle - agreed) < CLOSE and abs(blank.two_nn - agreed) < CLOSE
    if n < needed and not close:
        doubts.append(doubt("few-for-fits", "dimension", n=n, dim=agreed, needed=needed))
    return replace(
        blank, dim=agreed, verdict="doubtful" if doubts else "clear", doubts=tuple(doubts)
    )


def _undecided(blank: DimensionEstimate, distances: DistanceEstimates, n: int) -> DimensionEstimate:
    """Return a guess that the points can support, with a remedy."""
    most = max(FEWEST_TRIED, largest_fit(n // LARGEST_PART))
    tried = ""
    if blank.scales:
        tried = (
            f" (1 to {max(map(len, blank.ratios))} were tried with {blank.scales[0]} to "
            f"{blank.scales[-1]} neighbours)"
        )
    reason = doubt("no-dimension", "dimension", tried=tried)
    if not np.isfinite(distances.two_nn):
        reason = doubt("evenly-spaced", "dimension")
    return replace(blank, dim=min(blank.dim, most), doubts=(reason,))
