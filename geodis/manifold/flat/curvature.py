"""Unbiased curvature of a presumably flat part, from quadratic fits to disjoint neighbours."""

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

# Number of disjoint sets of neighbours, and of neighbours in each per unknown of the quadratic fit.
SETS, FOR_EACH_UNKNOWN = 4, 2
# Second derivatives need this many times the neighbours that are best for tangents.
MORE_NEIGHBORS = 1.5
# Smallest |K L^2| that matters. The best flat map of a saddle with K L^2 = -.55 has lengths wrong
# by .5 %, and of one with -1.6 by 1.8 %.
FELT = 0.6
# Number of points at which curvature is measured; cheap compared with the unrolling.
PLACES = 400
# In higher dimensions the fits need more neighbours than most parts have.
MAX_DIM = 3
# Number of patches for the standard error, since nearby points share neighbours.
PATCHES = 20
# Largest neighbourhood as a share of the points.
LARGEST_SHARE = 0.25
# A part is curved if the mean or the root mean square of its curvature is significant (in standard
# errors), a sufficient share of the bending, and above a minimum. Fits of wide neighbourhoods to
# noisy, tightly bent flat parts left up to .04 of the bending in the mean and .05 in size, however
# significant; spheres and saddles have .33 and .5, S^2 x S^1 .11 and .2, a torus of revolution .2
# in size. Clean flat parts left at most .002 / L^2.
CERTAIN, PART_OF_MEAN, PART_OF_SIZE, LEAST = 5.0, 0.1, 0.18, 0.004


@dataclass(frozen=True)
class Curvature:
    """Intrinsic curvature of a part in units of 1 / L^2, where L is its width.

    Attributes
    ----------
    mean, mean_error : float
        Mean of the sectional curvature over planes and points, and its standard error. It is 1 for
        a patch of a sphere as wide as the radius.
    squared, squared_error : float
        Mean square of the curvature, which detects curvature of both signs, and its standard error.
    bending : float
        Mean square of the second fundamental form, which also isometrically bent parts have.
    n_neighbors : int
        Number of neighbours of every point, in all sets.
    noise_strain : float
        Relative error of lengths that noise normal to the part explains. Points at an offset c from
        a bent surface lie on a parallel surface, on which lengths differ by c . II. This is its
        root mean square, estimated from the same disjoint sets and so without bias.
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
        """The larger z score of the mean and of the mean square."""
        z = abs(self.mean) / max(self.mean_error, 1e-300)
        return max(z, self.squared / max(self.squared_error, 1e-300))

    @property
    def curved(self) -> bool:
        """Whether the part is curved beyond what noise and bending explain."""
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
        """Whether lengths in the best flat map are wrong by more than half a per cent."""
        return self.curved and max(abs(self.mean), np.sqrt(max(self.squared, 0.0))) > FELT

    def __str__(self) -> str:
        """Describe the curvature in words."""
        if not self.curved:
            return f"no curvature was detected (K L^2 = {self.mean:.2g} +- {self.mean_error:.1g})"
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
    r"""Measure curvature by the Gauss equation without the bias of noise.

    The neighbours of a point are dealt into four sets. In each set the displacements are fitted by
    ``c + sum t_a l_a + sum t_a t_b q_ab`` with t = E (x_j - x_i), whose second derivatives normal
    to the frame E are the second fundamental form II. In the Gauss equation::

        R_abcd = II_ac . II_bd - II_ad . II_bc

    each factor comes from another set. The errors of different sets are independent, so the product
    is unbiased. So is the product of R from sets 1, 2 with R from sets 3, 4, which is the squared
    curvature. Both are in units of 1 / L^2, where L^2 is twelve times the geometric mean of the
    variances of the coordinates; L is the side of a uniformly filled box.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    frames : ndarray of shape (n, f, d)
        Orthonormal rows spanning the part, f = 2 or 3.
    coordinates : ndarray of shape (n, f)
    tangent_neighbors : int, optional
        Number of neighbours that is best for tangents; selected by default.
    n_jobs : int, optional
    random_state : int, Generator or None

    Returns
    -------
    Curvature or None
        None in other dimensions, or if there are too few points.

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
    variances = np.linalg.eigvalsh(np.cov(coordinates.T))
    side = 12 * float(np.exp(np.log(np.maximum(variances, 1e-300)).mean()))
    sectional = side * (_sectional(first) + _sectional(second)) / 2
    squared = side**2 * (first * second).sum(axis=(1, 2, 3, 4)) / (2 * f * (f - 1))
    bending = side * (forms[0] * forms[1] + forms[2] * forms[3]).sum(axis=(1, 2, 3)) / 2
    # Offset of one set times the form of another, twice from different sets.
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
    """Fit the second fundamental form and the offset of the surface to each set of neighbours.

    They have shapes (SETS, r, f, f, d) and (SETS, r, d) and are normal to the frame.
    """
    f, d = frames.shape[1:]
    first, second = quadratic_pairs(f)
    forms, offsets = np.empty((SETS, len(rows), f, f, d)), np.empty((SETS, len(rows), d))
    # Every four successive neighbours are dealt to four sets, which so have the same radius.
    width = indices.shape[1] // SETS
    deal = rng.permuted(np.tile(np.arange(SETS), (width, 1)), axis=1)
    for k in range(SETS):
        own = indices[:, (np.arange(width) * SETS + np.argmax(deal == k, axis=1))]
        chord = points[own] - points[rows, None]
        flat = chord @ np.swapaxes(frames[rows], 1, 2)
        squared = (flat**2).sum(axis=2)
        # Far neighbours have less weight, which lowers the bias of the quadratic fit.
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
    """Return R_abcd from the forms of two sets, symmetrised, shape (r, f, f, f, f)."""
    product = np.einsum("racx,rbdx->rabcd", one, other)
    product = product + np.einsum("racx,rbdx->rabcd", other, one)
    return (product - np.swapaxes(product, 3, 4)) / 2


def _sectional(curvature: np.ndarray) -> np.ndarray:
    """Return the mean sectional curvature over coordinate planes, shape (r,)."""
    f = curvature.shape[1]
    return np.einsum("rabab->r", curvature) / (f * (f - 1))


def _patches(coordinates: np.ndarray) -> np.ndarray:
    """Assign points to patches by repeated halving along the widest axis."""
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
    """Return the mean over patches and its standard error.

    True differences between patches add to the error, which makes it conservative.
    """
    # Limit the effect of a few poorly determined fits.
    values = np.clip(values, *np.quantile(values, [0.02, 0.98]))
    means = np.bincount(patches, values, PATCHES) / np.bincount(patches, minlength=PATCHES)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(PATCHES))
