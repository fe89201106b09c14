"""Confidence in a fit: stability of its factors in refits, and bounds on errors of directions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.base.jobs import check_jobs, one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.confidence.likely_errors import (
    HALF,
    PARTS,
    LikelyErrors,
    RepeatedFit,
    changed_fits,
    graphs_over,
    half_fits,
    likely_errors,
    repeat_fit,
    upper_bounds,
)
from geodis.manifold.confidence.subspace_error import LocalAxes
from geodis.manifold.fitted import Fit
from geodis.manifold.local.neighbors import distinct_rows

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


# Number of random subspaces, which determines their median angle to about a hundredth.
DRAWS = 4_000


def chance_angle(dim: int, space: int) -> float:
    """Estimate the median largest principal angle between two random subspaces, in radians.

    Both are uniform. By symmetry one may be fixed, and the other spanned by normal vectors.

    Parameters
    ----------
    dim : int
        Dimension of both subspaces.
    space : int
        Dimension of the space.

    Examples
    --------
    >>> bool(abs(chance_angle(1, 2) - np.pi / 4) < 0.03)
    True
    >>> chance_angle(2, 2)
    0.0
    """
    if dim >= space:
        return 0.0
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((DRAWS, space, dim)))[0]
    cosines = np.linalg.svd(bases[:, :dim], compute_uv=False)[:, -1]
    return float(np.median(np.arccos(np.clip(cosines, 0.0, 1.0))))


@dataclass(frozen=True)
class Effort:
    """Numbers of repetitions.

    Attributes
    ----------
    repeats : int
        Pairs of halves, and draws of noise, for whole fits.
    points : int
        Points at which errors of the axes are estimated.
    pairs : int
        Pairs of halves for these errors.
    shifts : int
        Draws of the noise for these errors.
    most : int or None
        Largest number of points of one half for a whole fit; None uses both halves completely.
    """

    repeats: int
    points: int
    pairs: int
    shifts: int
    most: int | None


# The quick form takes less than half of the time of the fit, the full form several times as long.
QUICK = Effort(repeats=1, points=200, pairs=1, shifts=2, most=1_000)
FULL = Effort(repeats=3, points=600, pairs=3, shifts=4, most=None)
UNSOUND = (
    "Errors of the directions were not estimated: tangent fits to halves of the points are "
    "ill-conditioned, as on a grid."
)


@dataclass(frozen=True)
class FitConfidence:
    """Confidence in a fit.

    Attributes
    ----------
    level : float
        Confidence level of the bounds.
    dims : tuple of int
        Dimensions of the fit's factors.
    found : dict of tuple of int to int
        Number of repeated fits with factors of these dimensions, most frequent first.
    fits : tuple of RepeatedFit
    angles : ndarray of shape (n, m)
        Upper bound in radians on the error of each factor's subspace at every point; NaN for points
        without axes and if there were too few points.
    parts : dict of str to ndarray of shape (m,)
        Root mean square components of the errors in radians: "tilt" of the ambient subspaces,
        "curvature" of the neighbourhoods, "sampling", and the shift of each point by its own
        "noise".
    noise : float
        Standard deviation of the noise in each direction; NaN where it could not be estimated.
    chance : ndarray of shape (m,)
        Median angle between a factor and a random subspace of the tangent space.
    chance_in_space : ndarray of shape (m,)
        The same with random subspaces of the reduced space.
    notes : tuple of str
        What could not be estimated, with reasons.
    quick : bool
    seconds : dict of str to float
    """

    level: float
    dims: tuple[int, ...]
    found: dict[tuple[int, ...], int]
    fits: tuple[RepeatedFit, ...]
    angles: np.ndarray
    parts: dict[str, np.ndarray]
    noise: float
    chance: np.ndarray
    chance_in_space: np.ndarray
    notes: tuple[str, ...]
    quick: bool
    seconds: dict[str, float]

    @property
    def agreeing(self) -> int:
        """Number of repeated fits with factors of the same dimensions."""
        return self.found.get(self.dims, 0)

    @property
    def typical(self) -> np.ndarray:
        """Median over points of each factor's bound, shape (m,), in radians."""
        known = self.angles[np.isfinite(self.angles).all(axis=1)]
        return np.median(known, axis=0) if len(known) else np.full(len(self.dims), np.nan)

    @property
    def tally(self) -> str:
        """How often refits gave the same factors, in a sentence.

        Agreement does not imply that the factors are right: refits use the dimension of the fit and
        share its systematic errors.
        """
        total = sum(self.found.values())
        dim = sum(self.dims)
        if total == 0:
            return "No fit could be repeated." if self.fits else "No fit was repeated."
        if dim == 1:
            return "One dimension does not split, so refits say nothing about the factors."
        n = next(fit.n for fit in self.fits if fit.dims)
        alone = total == 1
        refits = (
            f"a refit on {n:,} of the points" if alone else f"{self.agreeing} of {total} refits"
        )
        given = f"with the dimension held at {dim}"
        others = [f"{_joined(dims)} in {m}" for dims, m in self.found.items() if dims != self.dims]
        if others and alone:
            other = _joined(*self.found)
            return f"A refit on {n:,} of the points, {given}, gave dimensions {other} instead."
        found = "No split was found in" if len(self.dims) == 1 else "The same factors came out of"
        if others:
            end = f" (dimensions {', '.join(others)})"
        elif len(self.dims) == 1:
            end = ", which does not show that there is none"
        else:
            end = ": the answer is repeatable, which does not make it right"
        return f"{found} {refits}, {given}{end}."

    @property
    def sentence(self) -> str:
        """The result of the refits, and for a split a bound on the errors of its directions."""
        if len(self.dims) == 1 or not np.isfinite(self.typical).all():
            return " ".join([self.tally, *self.notes])
        angles = " and ".join(_degrees(angle) for angle in self.typical)
        return (
            f"{self.tally} If these are the factors, their directions err by less than {angles} at "
            f"the median point, with {self.level:.0%} confidence."
        )

    def bounds(self) -> list[str]:
        """Describe the bounds on the errors of each factor's directions.

        Empty if they were not estimated, and for a single factor, which has all directions.
        """
        if len(self.dims) == 1:
            return [""]
        said = []
        for angle, chance in zip(self.typical, self.chance, strict=True):
            by_chance = f" (chance {_degrees(chance)})" if chance > 0 else ""
            known = f"directions err by less than {_degrees(angle)} at {self.level:.0%}{by_chance}"
            said.append(known if np.isfinite(angle) else "")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return all results except those of single points and the times."""
        return {
            "level": self.level,
            "quick": self.quick,
            "found": {_joined(dims): count for dims, count in self.found.items()},
            "repeated_fits": [{"what": f.what, "n": f.n, "dims": f.dims} for f in self.fits],
            "median_bound": self.typical,
            "parts": self.parts,
            "noise": self.noise,
            "chance": self.chance,
            "chance_in_space": self.chance_in_space,
            "notes": self.notes,
        }

    def __str__(self) -> str:
        """Return a line for the number of factors, and one for each factor."""
        lines = [f"Confidence: {self.tally}"]
        for factor, (dim, bound) in enumerate(zip(self.dims, self.bounds(), strict=True)):
            if bound:
                parts = [f"{name} {_degrees(rms[factor])}" for name, rms in self.parts.items()]
                lines.append(f"  factor {factor}, dimension {dim}: {bound}; {', '.join(parts)}")
        lines += [f"  {note}" for note in self.notes]
        seconds = ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items())
        noise = f"noise {self.noise:.3g}; " if np.isfinite(self.noise) else ""
        return "\n".join([*lines, f"  {noise}seconds: {seconds}"])


def fit_confidence(
    est: GeoManCER,
    *,
    level: float = 0.9,
    repeats: int | None = None,
    quick: bool = False,
    noise: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 1,
) -> FitConfidence:
    """Assess the confidence in a fit by repeating it.

    Whole fits are repeated on random halves of the points, on points with additional noise of the
    estimated level, and with fewer and more neighbours, to see how often they find the same
    factors. They use the dimension of the fit and share its systematic errors, so agreement does
    not imply that the factors are right.

    Errors of the axes are larger than the spread of such fits, which share each point's own noise
    and the bias due to curvature. Therefore tangent fits are repeated at some of the points, and
    four components of the error are estimated; see `likely_errors`. The assignment of tangent
    directions to factors is not repeated, except for flat factors that were separated by their
    coordinates. The bounds do not apply if refits gave other factors.

    Parameters
    ----------
    est : GeoManCER
        Fitted.
    level : float
        Probability with which an error lies below its bound.
    repeats : int, optional
        Pairs of halves, and draws of noise, of whole fits; three, or one with `quick`.
    quick : bool
        Repeat one whole fit on a part of a half, and estimate errors at fewer points. This takes at
        most half of the time of the fit.
    noise : float, optional
        Standard deviation of the noise in each direction; estimated by default.
    n_jobs : int, optional
        Threads; those of the fit by default.
    random_state : int, Generator or None
    verbose : int
        1 shows progress on a terminal; 0 is silent.

    Returns
    -------
    FitConfidence

    Examples
    --------
    >>> import geodis as gd
    >>> sample = gd.product_manifold("S^2 x S^1", n=600, random_state=0)
    >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
    >>> confidence = fit_confidence(est, quick=True, verbose=0)
    >>> confidence.found
    {(2, 1): 1}
    >>> confidence.angles.shape
    (600, 2)
    """
    fit = est.fitted_
    level = check_real(level, "level", low=0, high=1)
    effort = QUICK if quick else FULL
    repeats = check_int(effort.repeats if repeats is None else repeats, "repeats", low=0)
    noise = None if noise is None else check_real(noise, "noise", low=0)
    jobs = check_jobs(est.n_jobs if n_jobs is None else n_jobs, default=2)
    rng = check_random_state(random_state)
    local = LocalAxes(fit, effort.points, rng, jobs)
    angles = np.full((len(fit.axes), len(local.dims)), np.nan)
    with Stages("Confidence", verbose) as stages, one_blas_thread():
        with stages.stage("angles"):
            errors, notes = _errors_or_reason(local, effort, noise, rng)
        found_noise = errors.noise if errors is not None else noise
        with stages.stage("repeated fits"):
            variants = list(half_fits(fit, repeats, effort.most, rng))
            if not quick:
                variants += changed_fits(fit, found_noise or 0.0, repeats, rng)
            rows = local.rows[local.chosen] if not quick or _split_flat(fit) else None
            fits = []
            for number, variant in enumerate(variants):
                stages.advance(number / len(variants), variant.what)
                fits.append(repeat_fit(est, variant, rows, jobs, int(rng.integers(2**31))))
        if errors is not None:
            with stages.stage("angles"):
                errors, added = _with_flat_turns(fit, local, errors, fits)
                angles[local.rows] = upper_bounds(local, errors, level)
                angles = _to_copies(fit, local, angles)
            notes += added
            if lost := int((~np.isfinite(angles).all(axis=1)).sum()):
                lacking = "points without axes, or outside the largest piece, have no bounds."
                notes += (f"{lost:,} {lacking}",)
    if failed := sum(not fit.dims for fit in fits):
        notes += (f"{failed} of {len(fits)} whole fits could not be repeated: too few points.",)
    tally = Counter(fit.dims for fit in fits if fit.dims)
    return FitConfidence(
        level=level,
        dims=local.dims,
        found=dict(tally.most_common()),
        fits=tuple(fits),
        angles=angles,
        parts={} if errors is None else dict(zip(PARTS, errors.parts.T, strict=True)),
        noise=np.nan if found_noise is None else found_noise,
        chance=np.array([chance_angle(dim, fit.dim) for dim in local.dims]),
        chance_in_space=np.array([chance_angle(dim, len(fit.basis)) for dim in local.dims]),
        notes=notes,
        quick=bool(quick),
        seconds=dict(stages.seconds),
    )


def _errors_or_reason(
    local: LocalAxes, effort: Effort, noise: float | None, rng: np.random.Generator
) -> tuple[LikelyErrors | None, tuple[str, ...]]:
    """Estimate the errors, or say why that is not possible."""
    if lacking := local.lacking():
        return None, lacking
    pairs, shifts = effort.pairs, effort.shifts
    # On grids, whole neighbourhoods coincide in the subspace of a factor.
    with np.errstate(all="ignore"):
        try:
            errors = likely_errors(local, pairs=pairs, shifts=shifts, noise=noise, rng=rng)
        except (InputError, np.linalg.LinAlgError):
            return None, (UNSOUND,)
    sound = np.isfinite(errors.noise) and all(np.isfinite(draws).all() for draws in errors.draws)
    return (errors, ()) if sound else (None, (UNSOUND,))


def _split_flat(fit: Fit) -> list[int]:
    """Return the flat factors that were separated from other flat factors."""
    own = int(fit.flat.own.sum())
    return [
        factor for factor, dim in enumerate(fit.flat.dims) if fit.flat.flat[factor] and dim < own
    ]


def _with_flat_turns(
    fit: Fit, local: LocalAxes, errors: LikelyErrors, fits: list[RepeatedFit]
) -> tuple[LikelyErrors, tuple[str, ...]]:
    """Add the rotation of flat factors within the flat part from fit to fit, if it was split.

    The difference between the fit to a half and the whole fit is about as large as the error of the
    whole fit.
    """
    split = _split_flat(fit)
    if not split:
        return errors, ()
    halves = [fit.axes for fit in fits if fit.axes is not None and fit.what == HALF]
    if not halves:
        note = (
            "Bounds of the flat factors do not include rotations among these: no fit to a half "
            "found them again."
        )
        return errors, (note,)
    within = local.axes[:, fit.flat.rows]
    own = local.by_factor(local.axes)
    others = [local.by_factor(axes @ fit.basis.T) for axes in halves]
    draws = list(errors.draws)
    for factor in split:
        turns = np.array([graphs_over(own[factor], axes[factor]) for axes in others])
        turns = turns @ np.swapaxes(within, 1, 2) @ within
        draws[factor] = draws[factor] + turns[np.arange(len(draws[factor])) % len(turns)]
    return LikelyErrors(draws, errors.parts, errors.noise), ()


def _to_copies(fit: Fit, local: LocalAxes, angles: np.ndarray) -> np.ndarray:
    """Assign the bounds of a row to its copies."""
    first, place = distinct_rows(fit.places)[1:]
    if place is None:
        return angles
    known = np.full((len(first), angles.shape[1]), np.nan)
    known[place[local.rows]] = angles[local.rows]
    return known[place]


def _joined(dims: tuple[int, ...]) -> str:
    return " + ".join(map(str, dims))


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.2g}°"
