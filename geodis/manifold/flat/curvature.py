"""Quadratic fits in disjoint sets of neighbours -> whether a flat part really has no curvature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.neighborhood_size import choose_n_neighbors
from geodis.manifold.local.neighbors import neighbors_at
from geodis.manifold.local.quadratic_fits import (
    quadratic_coefficients,
    quadratic_pairs,
    tangent_terms,
)

# Disjoint sets of neighbours, and neighbours in each for every unknown of its quadratic fit.
SETS, FOR_EACH_UNKNOWN = 4, 2
# Of the neighbours that are best for tangents: second derivatives need more.
MORE_NEIGHBORS = 1.5
# The best flat picture of a saddle with K L^2 = -.55 has lengths wrong by .5 %, with -1.6 by 1.8 %.
FELT = 0.6
# Points at which curvature is measured: enough for a part, and cheap beside the unrolling.
PLACES = 400
# Curvature is the matter of surfaces and of the patches that look like three factors; the fits in
# higher dimension need more neighbours than most parts have.
MAX_DIM = 3
# Patches for the standard error: places nearby share their neighbours.
PATCHES = 20
# With more than this share of the points a neighbourhood is no longer near.
LARGEST_SHARE = 0.25
# What is called curved: certain, and no small part of the bending. Fits of wide neighbourhoods to
# noisy, tightly bent flat parts left up to .04 of the bending in the mean and .05 in size, however
# certain; spheres and saddles have .33 and .5, S^2 x S^1 .11 and .2, a torus of revolution .2 in
# size. Clean flat parts left at most .002 / L^2.
CERTAIN, PART_OF_MEAN, PART_OF_SIZE, LEAST = 5.0, 0.1, 0.18, 0.004


@dataclass(frozen=True)
class Curvature:
    """Intrinsic curvature of a flat part, in units of 1 / L^2 with L its width.

    Attributes
    ----------
    mean, mean_error : float
        Mean of the sectional curvature over planes and places, and its standard error: 1 where a
        patch as wide as the radius lies on a sphere.
    squared, squared_error : float
        Mean square of the curvature, which sees curvature of both signs.
    bending : float
        Mean square of the second fundamental form: what a part that is bent without being
        stretched has too.
    n_neighbors : int
        Of every place, in all sets.
    noise_strain : float
        Relative error of lengths that noise across the part explains. Points that lie off a bent
        surface by c lie on a parallel one, on which lengths differ by c . II: root mean square,
        by the same disjoint sets without the bias of errors in the fits.
    """

    mean: float
    mean_error: float
    squared: float
    squared_error: float
    bending: float
    n_neighbors: int
    noise_strain: float = 0.0

    @property
    def z(self) -> float:
        """Standard errors that the mean, or the square, lies from zero."""
        z = abs(self.mean) / max(self.mean_error, 1e-300)
        return max(z, self.squared / max(self.squared_error, 1e-300))

    @property
    def curved(self) -> bool:
        """Whether the part is curved, beyond what noise and bending explain."""
        bending = max(self.bending, 0.0)
        size = np.sqrt(max(self.squared, 0.0))
        in_mean = abs(self.mean) > CERTAIN * self.mean_error and abs(self.mean) > max(
            PART_OF_MEAN * bending, LEAST
        )
        sure = self.squared > CERTAIN * self.squared_error
        in_size = sure and size > max(PART_OF_SIZE * bending, LEAST)
        return bool(in_mean or in_size)

    @property
    def matters(self) -> bool:
        """Whether lengths in its best flat picture are wrong by more than half a per cent."""
        return self.curved and max(abs(self.mean), np.sqrt(max(self.squared, 0.0))) > FELT

    def __str__(self) -> str:
        """In words."""
        if not self.curved:
            return f"no curvature is seen (K L^2 = {self.mean:.2g} +- {self.mean_error:.1g})"
        if abs(self.mean) > CERTAIN * self.mean_error:
            return f"K L^2 = {self.mean:.2g} +- {self.mean_error:.1g}, z = {self.z:.0f}"
        return f"K L^2 = {np.sqrt(self.squared):.2g} of either sign, z = {self.z:.0f}"


def measure_curvature(
    points: np.ndarray,
    frames: np.ndarray,
    coordinates: np.ndarray,
    *,
    tangent_neighbors: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> Curvature | None:
    r"""Curvature by the Gauss equation, without the bias of noise.

    At a place the neighbours are dealt into four sets, and in each set the displacements are
    fitted as ``c + sum t_a l_a + sum t_a t_b q_ab`` with t = E (x_j - x_i), whose second
    derivatives, normal to the frame E, are the second fundamental form II. The Gauss equation::

        R_abcd = II_ac . II_bd - II_ad . II_bc

    takes each factor from another set: errors of different sets are independent, so the product
    is right in the mean, and so is the product of R from sets 1, 2 with R from sets 3, 4, the
    squared size of the curvature. Both are given in units of 1 / L^2 with L^2 twelve times the
    geometric mean of the variances of the coordinates: the side of a box.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    frames : ndarray of shape (n, f, d)
        Orthonormal rows spanning the part, f = 2 or 3.
    coordinates : ndarray of shape (n, f)
    tangent_neighbors : int, optional
        Neighbours that are best for tangents; chosen by default.
    n_jobs : int, optional
    random_state : int, Generator or None

    Returns
    -------
    Curvature or None
        None where the dimension is another, or where the points are too few to tell.

    Examples
    --------
    >>> u = np.random.default_rng(0).uniform(-1, 1, size=(1500, 2))
    >>> flat = np.column_stack([np.cos(u[:, 0]), np.sin(u[:, 0]), u[:, 1]])
    >>> turn = np.column_stack([-np.sin(u[:, 0]), np.cos(u[:, 0]), np.zeros(1500)])
    >>> frames = np.stack([turn, np.broadcast_to([0.0, 0, 1], (1500, 3))], axis=1)
    >>> bool(abs(measure_curvature(flat, frames, u).mean) < 1e-3)
    True
    """
    n_jobs = check_jobs(n_jobs)
    n, f = coordinates.shape
    least = int(SETS * FOR_EACH_UNKNOWN * tangent_terms(f))
    if not 2 <= f <= MAX_DIM or least > LARGEST_SHARE * n:
        return None
    rng = check_random_state(random_state)
    best = tangent_neighbors or choose_n_neighbors(points, f, n_jobs=n_jobs, random_state=rng)
    count = int(min(max(least, MORE_NEIGHBORS * best), LARGEST_SHARE * n))
    rows = np.sort(rng.choice(n, min(n, PLACES), replace=False))
    near = neighbors_at(points, rows, count, search=searcher(points, n_jobs=n_jobs))
    forms, offsets = _second_forms(points, frames, rows, near.indices, rng)
    patches = _patches(coordinates[rows])
    first, second = _curvature(forms[0], forms[1]), _curvature(forms[2], forms[3])
    side = 12 * float(np.exp(np.log(np.maximum(_variances(coordinates), 1e-300)).mean()))
    sectional = side * (_sectional(first) + _sectional(second)) / 2
    squared = side**2 * (first * second).sum(axis=(1, 2, 3, 4)) / (2 * f * (f - 1))
    bending = side * (forms[0] * forms[1] + forms[2] * forms[3]).sum(axis=(1, 2, 3)) / 2
    # The offset of one set along the form of another, twice from different sets.
    along = np.einsum("srx,srabx->srab", offsets[[0, 2]], forms[[1, 3]])
    strain = (along[0] * along[1]).sum(axis=(1, 2)) / f
    return Curvature(
        *_mean_of_patches(sectional, patches),
        *_mean_of_patches(squared, patches),
        _mean_of_patches(bending, patches)[0],
        count,
        float(np.sqrt(max(_mean_of_patches(strain, patches)[0], 0.0))),
    )


def _second_forms(
    points: np.ndarray,
    frames: np.ndarray,
    rows: np.ndarray,
    indices: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """From each set of neighbours the second fundamental form, and how far the surface lies off.

    Of shapes (SETS, r, f, f, d) and (SETS, r, d), both normal to the frame.
    """
    f, d = frames.shape[1:]
    first, second = quadratic_pairs(f)
    forms, offsets = np.empty((SETS, len(rows), f, f, d)), np.empty((SETS, len(rows), d))
    # Neighbours in turn by distance, four by four: every set reaches as far as the others.
    width = indices.shape[1] // SETS
    deal = rng.permuted(np.tile(np.arange(SETS), (width, 1)), axis=1)
    for k in range(SETS):
        own = indices[:, (np.arange(width) * SETS + np.argmax(deal == k, axis=1))]
        chord = points[own] - points[rows, None]
        flat = chord @ np.swapaxes(frames[rows], 1, 2)
        squared = (flat**2).sum(axis=2)
        # Far neighbours weigh less: the surface bends less within the part that counts.
        weights = np.exp(-squared / np.maximum(squared.max(axis=1, keepdims=True), 1e-300))
        fitted = quadratic_coefficients(flat, weights, chord)
        fitted -= (fitted @ np.swapaxes(frames[rows], 1, 2)) @ frames[rows]
        offsets[k] = fitted[:, 0]
        fitted = fitted[:, 1 + f :]
        forms[k][:, first, second] = fitted
        forms[k][:, second, first] = fitted
        forms[k][:, np.arange(f), np.arange(f)] *= 2
    return forms, offsets


def _curvature(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """R_abcd with either factor from another set, and both ways round, shape (r, f, f, f, f)."""
    product = np.einsum("racx,rbdx->rabcd", one, other)
    product = product + np.einsum("racx,rbdx->rabcd", other, one)
    return (product - np.swapaxes(product, 3, 4)) / 2


def _sectional(curvature: np.ndarray) -> np.ndarray:
    """Mean over the planes of two coordinates, shape (r,)."""
    f = curvature.shape[1]
    return np.einsum("rabab->r", curvature) / (f * (f - 1))


def _variances(coordinates: np.ndarray) -> np.ndarray:
    return np.linalg.eigvalsh(np.atleast_2d(np.cov(coordinates.T)))


def _patches(coordinates: np.ndarray) -> np.ndarray:
    """Which of twenty patches every place is in: halved again and again along the widest axis."""
    parts = [np.arange(len(coordinates))]
    while len(parts) < PATCHES:
        parts.sort(key=len)
        part = parts.pop()
        widest = int(np.argmax(np.ptp(coordinates[part], axis=0)))
        order = part[np.argsort(coordinates[part, widest], kind="stable")]
        parts += [order[: len(order) // 2], order[len(order) // 2 :]]
    label = np.empty(len(coordinates), int)
    for k, part in enumerate(parts):
        label[part] = k
    return label


def _mean_of_patches(values: np.ndarray, patches: np.ndarray) -> tuple[float, float]:
    """Mean of the patches' means, and its error from how they differ.

    True differences between patches add to the error: more caution, not less.
    """
    # A few places with hardly determined fits must not rule.
    values = np.clip(values, *np.quantile(values, [0.02, 0.98]))
    means = np.bincount(patches, values, PATCHES) / np.bincount(patches, minlength=PATCHES)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(PATCHES))
