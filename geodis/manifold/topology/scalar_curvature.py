"""Local quadratic fits to the points of a factor, and its curvature by the Gauss equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree

from geodis.base.jobs import blocks
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.quadratic_fits import (
    quadratic_operators,
    quadratic_pairs,
    quadratic_terms,
    tangent_terms,
)

# Local quadratic fits to noisy points: a place, a frame and second derivatives at every point.

# Number of points at which numbers of neighbours are compared.
TRIED = 240
# Neighbours that a fit needs per unknown. The numbers tried grow by a factor from a minimum by
# dimension, which suffices to detect a boundary, to a share of the points.
FOR_EACH_TERM = 2.6
FEWEST_NEAR = {1: 40, 2: 48, 3: 60, 4: 52}
GROWTH, LARGEST = 1.4, 0.09
# The largest number of neighbours whose prediction error is within this factor of the smallest is
# selected: errors of second derivatives decrease with the square of the radius.
NEARLY_BEST = 1.04
# The thickness of a neighbourhood must be below this share of its radius. In a ball of noise,
# points are predicted well by the neighbours on all sides.
THIN = 0.16
# Where points are sparse, neighbours beyond this multiple of the median radius are left out: they
# may lie on another turn.
WIDEST = 1.4
# Squared distances up to which neighbours are used, in squared radii: chords are longer than their
# projections.
MARGIN = 1.1
# A place moves by at most this share of its radius. A fit is bad if its residuals exceed this
# multiple of the median, and this share of the radius.
FARTHEST_MOVE, MISFIT, THICK = 0.3, 2.5, 0.12
# Number of rows in a block.
BLOCK = 512


@dataclass(frozen=True)
class LocalFits:
    """Quadratic fits, one per point.

    Attributes
    ----------
    places : ndarray of shape (c, r)
        Points projected on their fit, which averages over noise.
    frames : ndarray of shape (c, k, r)
        Orthonormal rows spanning the tangent space.
    forms : ndarray of shape (c, k, k, r)
        Second fundamental form.
    form_errors : ndarray of shape (c, p, p)
        Covariance of the entries a <= b of the form, in the order of `quadratic_pairs`, the same
        in every normal direction.
    near : ndarray of shape (c, m)
        Nearest points, by distance.
    bad : ndarray of bool, shape (c,)
        Places where the fit is bad, such as between two nearby turns.
    radii : ndarray of shape (c,)
        Radius of the neighbours in the fit along the tangent space.
    noise : float
        Standard deviation of the points about their fits in each normal direction.
    """

    places: np.ndarray
    frames: np.ndarray
    forms: np.ndarray
    form_errors: np.ndarray
    near: np.ndarray
    radii: np.ndarray
    bad: np.ndarray
    noise: float

    @property
    def dim(self) -> int:
        """Intrinsic dimension k."""
        return self.frames.shape[1]


def local_fits(
    points: np.ndarray,
    dim: int,
    frames: np.ndarray | None,
    rng: np.random.Generator,
    workers: int = 1,
) -> LocalFits:
    """Fit ``x = c + sum t_a l_a + sum t_a t_b h_ab / 2`` to the neighbours of every point.

    The number of neighbours is chosen by leave-one-out prediction: a few if points are exact,
    hundreds if noise is wider than their spacing.
    """
    c = len(points)
    tree = cKDTree(points)
    count = _choose_count(points, dim, frames, tree, rng)
    near = tree.query(points, count + 1, workers=workers)[1][:, 1:]
    places, frames = _start(points, near, dim, frames)
    reach = np.linalg.norm(points[near[:, [_least(dim, c) - 1, -1]]] - points[:, None], axis=2)
    radii = np.minimum(reach[:, 1], np.maximum(WIDEST * np.median(reach[:, 1]), reach[:, 0]))
    # Every other neighbour is enough in the first rounds.
    step = 2 if near.shape[1] >= 2 * FEWEST_NEAR[dim] else 1
    places, frames, forms = _fit(points, places, frames, None, near[:, ::step], radii)[:3]
    places, frames, forms = _fit(points, places, frames, forms, near[:, ::step], radii)[:3]
    places, frames, forms, errors, left = _fit(points, places, frames, forms, near, radii)
    noise = float(np.median(left))
    bad = (left > MISFIT * noise) & (left > THICK * radii)
    return LocalFits(places, frames, forms, noise**2 * errors, near, radii, bad, noise)


def _least(dim: int, c: int) -> int:
    """Return the number of neighbours that a fit needs."""
    return min(int(FOR_EACH_TERM * tangent_terms(dim)) + 2, c - 1)


def _choose_count(
    points: np.ndarray, dim: int, frames: np.ndarray | None, tree: cKDTree, rng: np.random.Generator
) -> int:
    """Select the number of neighbours by leave-one-out prediction at some of the points."""
    c = len(points)
    least = min(FEWEST_NEAR[dim], c - 1)
    most = max(least, min(int(LARGEST * c), c - 1))
    steps = int(np.log(most / least) / np.log(GROWTH)) + 1
    counts = np.unique((least * GROWTH ** np.arange(steps)).astype(int))
    rows = rng.choice(c, min(c, TRIED), replace=False)
    near = tree.query(points[rows], counts[-1] + 1)[1][:, 1:]
    errors, thin, normals = [], [], max(points.shape[1] - dim, 1)
    for count in counts:
        own = near[:, :count]
        start, axes = _start(points, own, dim, frames, rows)
        reach = np.linalg.norm(points[own[:, -1]] - points[rows], axis=1)
        coefficients = _solve(points, start, axes, own, None, reach)[0]
        squared = np.sort((_normal(coefficients[:, 0], axes) ** 2).sum(axis=1))
        errors.append(squared[: int(0.95 * len(squared))].mean())
        thin.append(np.sqrt(errors[-1] / normals) < THIN * np.median(reach))
    if not any(thin):
        return int(counts[-1])
    error = np.where(thin, errors, np.inf)
    good = error <= NEARLY_BEST * error.min() + 1e-12 * points.var()
    return int(counts[np.flatnonzero(good).max()])


def _normal(vectors: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return the components of vectors (c, r) normal to frames (c, k, r)."""
    along = np.einsum("cr,ckr->ck", vectors, frames)
    return vectors - np.einsum("ck,ckr->cr", along, frames)


def _start(
    points: np.ndarray,
    near: np.ndarray,
    dim: int,
    frames: np.ndarray | None,
    rows: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points with their frames, or with the principal axes of their neighbours."""
    rows = np.arange(len(points)) if rows is None else rows
    if frames is not None:
        return points[rows], frames[rows]
    axes = np.empty((len(rows), dim, points.shape[1]))
    for some in blocks(len(rows), BLOCK):
        patch = points[near[some]]
        patch = patch - patch.mean(axis=1, keepdims=True)
        axes[some] = np.linalg.eigh(np.swapaxes(patch, 1, 2) @ patch)[1][:, :, -dim:].swapaxes(1, 2)
    return points[rows], axes


def _solve(
    points: np.ndarray,
    places: np.ndarray,
    frames: np.ndarray,
    near: np.ndarray,
    forms: np.ndarray | None,
    radii: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regress ``x_j - place`` on 1, t_a and t_a t_b.

    Returns the coefficients, the covariance of those of t_a t_b for unit noise, and the residual
    variance.
    """
    dim = frames.shape[1]
    chord = points[near] - places[:, None]
    flat = chord @ np.swapaxes(frames, 1, 2)
    if forms is not None:
        # On a sphere the height is exactly half the squared chord rather than its projection.
        height = np.einsum("cma,cmb,cabr->cmr", flat, flat, forms, optimize=True) / 2
        long = (height**2).sum(axis=2) / np.maximum((flat**2).sum(axis=2), 1e-300)
        flat = flat * np.sqrt(1 + long)[:, :, None]
    far = (flat**2).sum(axis=2) / np.maximum(radii, 1e-300)[:, None] ** 2
    within = far <= MARGIN
    within[:, : _least(dim, len(points))] = True  # the nearest are always used
    operators = quadratic_operators(flat, np.exp(-far) * within)
    fitted = operators @ chord
    of_pairs = operators[:, 1 + dim :]
    spread = of_pairs @ np.swapaxes(of_pairs, 1, 2)
    left = chord - quadratic_terms(flat) @ fitted
    free = np.maximum(within.sum(axis=1) - operators.shape[1], 1)
    across = (left - (left @ np.swapaxes(frames, 1, 2)) @ frames) * within[:, :, None]
    variance = (across**2).sum(axis=(1, 2)) / free / max(points.shape[1] - dim, 1)
    return fitted, spread, variance


def _fit(
    points: np.ndarray,
    places: np.ndarray,
    frames: np.ndarray,
    old: np.ndarray | None,
    near: np.ndarray,
    radii: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Fit once: places, frames, forms, covariance of their entries, residual standard deviation."""
    c, dim, r = frames.shape
    first, second = quadratic_pairs(dim)
    new_places, new_frames = np.empty_like(places), np.empty_like(frames)
    forms = np.empty((c, dim, dim, r))
    errors = np.empty((c, len(first), len(first)))
    variances = np.empty(c)
    # Coefficients on t_a^2 are half the second derivatives.
    double = np.where(first == second, 2.0, 1.0)
    for some in blocks(c, BLOCK):
        known = None if old is None else old[some]
        fitted, spread, variances[some] = _solve(
            points, places[some], frames[some], near[some], known, radii[some]
        )
        moved = _normal(fitted[:, 0], frames[some])
        far = np.linalg.norm(moved, axis=1) / radii[some]
        new_places[some] = (
            places[some] + moved * np.minimum(1, FARTHEST_MOVE / np.maximum(far, 1e-300))[:, None]
        )
        new_frames[some] = polar_rows(fitted[:, 1 : 1 + dim])
        second_order = fitted[:, 1 + dim :] * double[:, None]
        axes = new_frames[some]
        second_order -= (second_order @ np.swapaxes(axes, 1, 2)) @ axes
        forms[some, first, second] = second_order
        forms[some, second, first] = second_order
        errors[some] = spread * double[:, None] * double
    return new_places, new_frames, forms, errors, np.sqrt(variances)


CurvatureSign = Literal["flat", "positive", "negative", "mixed"]

# A space is flat below these values of the mean and the spread, in units of 1 / volume^(2 / k) (a
# sphere has 4 pi in two dimensions).
FLAT_MEAN, FLAT_SPREAD = 0.8, 2.2
# It is also flat below these shares of the mean square of the second fundamental form, since errors
# of the fits are in proportion to the bending.
PART_OF_MEAN, PART_OF_SPREAD = 0.06, 0.1
# Ratio of spread to mean below which the curvature has one sign, and below which it is constant;
# above the last value it is not constant.
ONE_SIGN, ROUND, NOT_ROUND = 0.8, 0.25, 0.4
# Share of the largest and of the smallest values that is clipped.
TAIL = 0.02


@dataclass(frozen=True)
class ScalarCurvature:
    """Sectional curvature averaged over planes.

    Attributes
    ----------
    mean, spread : float
        Mean and standard deviation over the volume, corrected for noise.
    sign : {"flat", "positive", "negative", "mixed"}
    even : bool or None
        Whether it is constant; None if undetermined.
    one_sided : float or None
        In dimension 3 and 4, the squared ratio of the traceless Ricci tensor to the scalar
        curvature: 0 on isotropic spaces, 1/6 for S^2 x S^1.
    weyl : float or None
        In dimension 4, the squared ratio of the Weyl tensor to the scalar curvature: 0 for S^4,
        1/6 for CP^2, 1/3 for S^2 x S^2.
    euler : float or None
        For closed surfaces, the integral of the curvature over 2 pi, which is the Euler number.
    """

    mean: float
    spread: float
    sign: CurvatureSign
    even: bool | None
    one_sided: float | None = None
    weyl: float | None = None
    euler: float | None = None

    def __str__(self) -> str:
        """Describe the curvature in words."""
        kind = {True: "constant ", False: "varying ", None: ""}[self.even]
        text = f"{kind}{self.sign} curvature: {self.mean:.3g}, spread {self.spread:.2g}"
        if self.euler is not None:
            text += f"; its integral gives the Euler number {self.euler:.2f}"
        return text


def scalar_curvature(
    fits: LocalFits, volumes: np.ndarray, inside: np.ndarray, *, closed: bool, flat: bool = False
) -> ScalarCurvature:
    r"""Measure curvature by the Gauss equation at places with a complete neighbourhood.

    With h the second fundamental form, ``K = (|tr h|^2 - |h|^2) / (k (k - 1))``. Errors of h
    with covariance C add ``(r - k) tr(Q C)`` to it and ``4 sum h Q C Q h + 2 (r - k) tr(Q C Q C)``
    to its variance, where Q is the quadratic form of K in each normal direction. Both are
    subtracted.
    """
    dim = fits.dim
    if flat:
        return ScalarCurvature(0.0, 0.0, "flat", True, euler=0.0 if dim == 2 and closed else None)
    codim = fits.places.shape[1] - dim
    form = _quadratic(dim)
    first, second = quadratic_pairs(dim)
    entries = fits.forms[inside][:, first, second]  # (c, p, r)
    pulled = form @ fits.form_errors[inside]
    noise = codim * np.trace(pulled, axis1=1, axis2=2)
    along = np.einsum("pq,cqr->cpr", form, entries)
    values = (entries * along).sum(axis=(1, 2)) - noise
    variance = 4 * np.einsum(
        "cpr,cpq,cqr->c", along, fits.form_errors[inside], along, optimize=True
    ) + 2 * codim * np.einsum("cpq,cqp->c", pulled, pulled)
    weights = volumes[inside] / volumes[inside].sum()
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    clipped = np.clip(values, low, high)
    mean = float(clipped @ weights)
    scatter = float((clipped - mean) ** 2 @ weights)
    spread = float(np.sqrt(max(scatter - float(variance @ weights), 0.0)))
    unit = float(volumes.sum()) ** (2 / dim)
    bending = float((fits.forms[inside] ** 2).sum(axis=(1, 2, 3)) @ weights) / dim
    flat = (abs(mean) * unit < FLAT_MEAN and spread * unit < FLAT_SPREAD) or (
        abs(mean) < PART_OF_MEAN * bending and spread < PART_OF_SPREAD * bending
    )
    return ScalarCurvature(
        mean,
        spread,
        "flat" if flat else _sign(mean, spread),
        True if flat else _even(mean, spread),
        *_shape_of_tensor(fits.forms[inside], weights),
        float(values @ weights * volumes.sum() / (2 * np.pi)) if dim == 2 and closed else None,
    )


def _quadratic(dim: int) -> np.ndarray:
    """Return K as a quadratic form of the entries a <= b of a second fundamental form."""
    first, second = quadratic_pairs(dim)
    same = (first == second).astype(float)
    return (np.outer(same, same) - np.diag(2 - same)) / (dim * (dim - 1))


def _sign(mean: float, spread: float) -> CurvatureSign:
    if spread > ONE_SIGN * abs(mean):
        return "mixed"
    return "positive" if mean > 0 else "negative"


def _even(mean: float, spread: float) -> bool | None:
    ratio = spread / max(abs(mean), 1e-300)
    return True if ratio < ROUND else (False if ratio > NOT_ROUND else None)


def _shape_of_tensor(forms: np.ndarray, weights: np.ndarray) -> tuple[float | None, float | None]:
    """Return the means of ``|Ric|^2 - scal^2 / k`` and ``|Weyl|^2`` relative to that of scal^2.

    In dimension 4, ``|Weyl|^2 = |Riem|^2 - 2 |Ric|^2 + scal^2 / 3``.
    """
    dim = forms.shape[1]
    if dim < 3:
        return None, None
    gram = np.einsum("nacx,nbdx->nabcd", forms, forms, optimize=True)
    tensor = gram - np.swapaxes(gram, 3, 4)
    ricci = np.einsum("nabcb->nac", tensor)
    scalar = np.einsum("naa->n", ricci) ** 2
    whole = max(float(scalar @ weights), 1e-300)
    ricci_size = (ricci**2).sum(axis=(1, 2))
    one_sided = float((ricci_size - scalar / dim) @ weights / whole)
    if dim < 4:
        return one_sided, None
    size = (tensor**2).sum(axis=(1, 2, 3, 4)) - 2 * ricci_size + scalar / 3
    return one_sided, float(size @ weights / whole)
