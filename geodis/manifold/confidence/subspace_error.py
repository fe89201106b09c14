"""Repeated tangent fits at a few points, and the common rotation of the factors' subspaces.

Most of the time of a whole fit is spent on the assignment of tangent directions to factors, which
is accurate. The errors are in the tangent fits, which can be repeated at a few points, from any
subset of the points and with neighbourhoods of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from geodis.base.check import InputError
from geodis.manifold.fitted import Fit
from geodis.manifold.local.neighbors import Neighbors, distinct_rows, neighbors_at
from geodis.manifold.local.quadratic_fits import quadratic_pairs
from geodis.manifold.local.tangents import neighbors_for_tangents, tangent_frames
from geodis.manifold.out_of_sample import axes_at
from geodis.manifold.split_result import Split, largest_first

# At most one in so many points is chosen, because fits use the others only.
MOST_CHOSEN = 5
# Smallest number of chosen points.
FEWEST_CHOSEN = 10


@dataclass(frozen=True)
class Leaf:
    """A leaf of a recursive split, in whose ambient subspace tangents are fitted.

    Attributes
    ----------
    split : Split
    basis : ndarray of shape (d_l, d)
        Orthonormal rows that span its ambient subspace.
    rows : ndarray of int
        Its rows among the axes of the whole split.
    """

    split: Split
    basis: np.ndarray
    rows: np.ndarray

    @property
    def dim(self) -> int:
        """Intrinsic dimension."""
        return len(self.rows)

    @property
    def fills_its_space(self) -> bool:
        """Whether every direction is tangent."""
        return len(self.basis) == self.dim

    @property
    def fewest(self) -> int:
        """Smallest number of neighbours for well-conditioned tangent fits."""
        split = self.split
        fewest = neighbors_for_tangents(self.dim)
        if split.refined == "tangents":
            fewest = 2 * (1 + self.dim + len(quadratic_pairs(self.dim, split.dims)[0]))
        return min(split.tangent_neighbors, fewest)


def leaves(split: Split, d: int) -> list[Leaf]:
    """List the leaves of a split of points in d columns.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> from geodis.manifold.refine import split_factors
    >>> split = split_factors(product_manifold("S^2 x S^1", 500, random_state=0).points, 3)
    >>> [(leaf.basis.shape, leaf.rows.tolist()) for leaf in leaves(split, 5)]
    [((3, 5), [0, 1]), ((2, 5), [2])]
    """
    if not split.parts:
        return [Leaf(split, np.eye(d), np.arange(sum(split.dims)))]
    # Rows in the whole split of each factor of the parts, in the order of the parts.
    dims = [dim for part in split.parts for dim in part.dims]
    rows_of, stop = {}, 0
    for factor in largest_first(dims):
        rows_of[int(factor)] = np.arange(stop, stop := stop + dims[factor])
    found, first = [], 0
    for part, basis in zip(split.parts, split.bases, strict=True):
        rows = np.concatenate([rows_of[first + own] for own in range(len(part.dims))])
        first += len(part.dims)
        found += [
            Leaf(leaf.split, leaf.basis @ basis, rows[leaf.rows])
            for leaf in leaves(part, len(basis))
        ]
    return found


class LocalAxes:
    """A fit prepared for repetition at a few of its points.

    Only the largest piece of the graph is used, without copies of rows.

    Parameters
    ----------
    fit : Fit
    n_points : int
        Points at which it will be repeated, at most.
    rng : Generator
    n_jobs : int

    Attributes
    ----------
    points : ndarray of shape (p, d)
        Distinct points of the largest piece, in the varying directions.
    rows : ndarray of int, shape (p,)
        Their rows in the fit.
    chosen : ndarray of int, shape (e,)
        Where, among them, the fit is repeated.
    others : ndarray of int, shape (p - e,)
        From what it is repeated: no point has a say in its own repetition.
    axes : ndarray of shape (e, k, d)
        Those of the fit, at the chosen points.
    dims : tuple of int
        Of the factors.
    leaves : list of Leaf
    leaf_of : list of int
        The leaf that each factor lies in; the first leaf if a flat factor lies in several.
    """

    def __init__(self, fit: Fit, n_points: int, rng: np.random.Generator, n_jobs: int = 1) -> None:
        split, flat = fit.split, fit.flat
        rows = np.flatnonzero(fit.with_axes & (fit.piece == fit.piece[split.rows[0]]))
        self.rows = rows[np.sort(distinct_rows(fit.places[rows])[1])]
        places = fit.places[self.rows]
        self.points = places - places.mean(axis=0)  # sums of them must not cancel
        p, d = self.points.shape
        count = min(n_points, p // MOST_CHOSEN)
        self.chosen = np.sort(rng.choice(p, count, replace=False))
        self.others = np.setdiff1d(np.arange(p), self.chosen)
        self.axes = flat.axes[self.rows[self.chosen]]
        self.dims = flat.dims
        self.leaves = leaves(split, d)
        self.leaf_of = self._owners(fit)
        self._split, self._flat, self._method, self._n_jobs = (
            split,
            flat,
            fit.settings.tangents,
            n_jobs,
        )
        self._split_axes = split.axes[self.rows]

    def _owners(self, fit: Fit) -> list[int]:
        """Find the leaf of each factor's first row."""
        owner = np.empty(fit.dim, dtype=int)
        for number, leaf in enumerate(self.leaves):
            owner[leaf.rows] = number
        own = fit.flat.own
        if own.any():
            owner = np.concatenate([owner[~own], owner[own]])[fit.flat.order]
        return [int(owner[first]) for first in np.cumsum((0, *self.dims[:-1]))]

    def lacking(self) -> tuple[str, ...]:
        """Say why the fit cannot be repeated on halves; empty if it can."""
        half = len(self.others) // 2
        needed = max((2 * leaf.fewest + 1 for leaf in self.leaves), default=0)
        if len(self.chosen) >= FEWEST_CHOSEN and half >= needed:
            return ()
        return (
            f"Errors of the directions were not estimated: halves of {len(self.points):,} points "
            f"are too few for tangent fits of twice {needed // 2} neighbours.",
        )

    def by_factor(self, axes: np.ndarray) -> list[np.ndarray]:
        """Split axes (e, k, d) into those of every factor, (e, k_j, d)."""
        return np.split(axes, np.cumsum(self.dims)[:-1], axis=1)

    def count(self, leaf: Leaf, share: float, growth: float = 1.0) -> int:
        """Return the number of neighbours of a tangent fit to a share of the points.

        The radius stays the same unless this would leave too few neighbours for the fit.
        """
        same = max(round(leaf.split.tangent_neighbors * share), leaf.fewest)
        return int(min(growth * same, share * len(self.points) - 1))

    def from_part(
        self, part: np.ndarray, growth: float = 1.0, targets: np.ndarray | None = None
    ) -> np.ndarray:
        """Fit axes at the chosen points, or at as many targets, from a part of the other points.

        Parameters
        ----------
        part : ndarray of int
            Rows of `points`.
        growth : float
            Factor of the number of neighbours that `count` gives.
        targets : ndarray of shape (e, d), optional

        Returns
        -------
        ndarray of shape (e, k, d)
        """
        share = len(part) / len(self.points)
        counts = [self.count(leaf, share, growth) for leaf in self.leaves]
        axes = axes_at(
            _resized(self._split, iter(counts)),
            self.points[part],
            self._split_axes[part],
            self.points[self.chosen] if targets is None else targets,
            method=self._method,
            n_jobs=self._n_jobs,
        )
        return self._flat.axes_at(axes, self.axes)


def _resized(split: Split, counts: Iterator[int]) -> Split:
    """Set the number of neighbours of every leaf of a split, in the order of `leaves`."""
    if not split.parts:
        return replace(split, tangent_neighbors=next(counts))
    return replace(split, parts=tuple(_resized(part, counts) for part in split.parts))


# The common error of all points: a rotation of the factors' ambient subspaces.
#
# Factors that are refined in their own ambient subspaces V_l have one error in common: V_l may be
# rotated, so that the other factors leak in. With X_l the rotation, y_l the coordinates in V_l and
# y_o those in all others, ``y_l = f_l + X_l y_o``, where f_l lies on the factor's own manifold. A
# local quadratic fit in V_l is a linear smoother H. The residual of a point, ``(1 - H) y_l``, is
# ``X_l (1 - H) y_o`` in normal directions, up to noise and the third order, so that all points
# together determine X.

# Smallest number of equations per unknown of the rotation; with fewer it is set to zero.
PER_UNKNOWN = 2
# Neighbours of the smaller of the two fits, relative to the fit's own; noise dominates its
# residuals.
SMALLER = 0.5
# Share of the points by which the noise is estimated; the largest residuals may be at boundaries.
TRIMMED = 0.9
# Noise below this share of the squared residuals cannot be separated from curvature.
LEAST_NOISE = 0.2
# Points nearer than this share of the extent coincide up to rounding.
ONE_PLACE = 1e-9
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Deviations:
    """Residuals of the chosen points from local fits to the other points, in one leaf.

    Attributes
    ----------
    normal : ndarray of shape (e, d_l, d_l)
        Projectors on the directions normal to the leaf.
    off : ndarray of shape (e, d)
        Residuals of the smoother in all directions.
    spread : ndarray of shape (e,)
        Variance of the smoothed value for unit noise.
    radius : float
        Median distance of the farthest neighbour.
    """

    normal: np.ndarray
    off: np.ndarray
    spread: np.ndarray
    radius: float


def deviations(local: LocalAxes, growth: float) -> dict[int, Deviations]:
    """Compute deviations in every leaf with normal directions, by its number.

    Parameters
    ----------
    local : LocalAxes
    growth : float
        Number of neighbours in multiples of the `SMALLER` share of the fit's own.
    """
    found = {}
    for number, leaf in enumerate(local.leaves):
        if leaf.fills_its_space:
            continue
        inside = local.points @ leaf.basis.T
        near = neighbors_at(inside, local.chosen, local.count(leaf, SMALLER, growth))
        if near.distances[:, -1].min() < ONE_PLACE * np.ptp(inside, axis=0).max():
            raise InputError("Whole neighbourhoods coincide, as on a grid of factors.")
        frames = tangent_frames(inside, near, leaf.dim, centres=inside[local.chosen]).frames
        steps = inside[near.indices] - inside[local.chosen, None]
        smoother = _smoother(steps @ np.swapaxes(frames, 1, 2), near)
        fitted = np.einsum("ec,ecd->ed", smoother, local.points[near.indices])
        found[number] = Deviations(
            np.eye(inside.shape[1]) - np.swapaxes(frames, 1, 2) @ frames,
            local.points[local.chosen] - fitted,
            (smoother**2).sum(axis=1),
            float(np.median(near.distances[:, -1])),
        )
    return found


def _smoother(steps: np.ndarray, near: Neighbors) -> np.ndarray:
    """Return weights (e, c) of the constant term of a quadratic fit in tangent steps (e, c, k)."""
    e, count, dim = steps.shape
    radius = near.distances[:, -1:]
    steps = steps / radius[..., None]
    first, second = quadratic_pairs(dim)
    design = np.concatenate(
        [np.ones((e, count, 1)), steps, steps[..., first] * steps[..., second]], axis=2
    )
    weighted = design * np.exp(-2 * (near.distances / radius) ** 2)[..., None]
    system = np.swapaxes(weighted, 1, 2) @ design
    # As in the tangent fits, a small ridge in case neighbours do not determine every term.
    diagonal = np.arange(system.shape[1])
    system[:, diagonal, diagonal] += 1e-9 * system[:, diagonal, diagonal].mean(axis=1)[:, None]
    constant = np.zeros((e, system.shape[1], 1))
    constant[:, 0] = 1
    return (weighted @ np.linalg.solve(system, constant))[..., 0]


def subspace_rotation(leaves: Sequence[Leaf], found: dict[int, Deviations]) -> np.ndarray:
    """Estimate the skew matrix O of the rotation of subspaces, which corrects B to ``B (1 - O)``.

    Its unknowns are the entries between different leaves. They are estimated by least squares over
    all points with James-Stein shrinkage.

    Parameters
    ----------
    leaves : sequence of Leaf
    found : dict of int to Deviations

    Returns
    -------
    ndarray of shape (d, d)
        Zero if there is one leaf, or the points do not determine the unknowns.
    """
    joint = np.concatenate([leaf.basis for leaf in leaves])
    owner = np.repeat(np.arange(len(leaves)), [len(leaf.basis) for leaf in leaves])
    first, second = np.nonzero(np.triu(owner[:, None] != owner))
    turn = np.zeros((len(owner), len(owner)))
    free = len(owner) - sum(leaf.dim for leaf in leaves)
    equations = free * max((len(own.off) for own in found.values()), default=0)
    if len(first) == 0 or equations < PER_UNKNOWN * len(first):
        return turn
    systems, answers = [], []
    for number, fits in found.items():
        own = np.flatnonzero(owner == number)
        off = fits.off @ joint.T
        answer = np.einsum("epq,eq->ep", fits.normal, off[:, own])
        # Entry (a, b) rotates direction b into a, and a into b with the opposite sign.
        system = np.zeros((len(off), len(own), len(first)))
        for sign, into, source in ((1, first, second), (-1, second, first)):
            mine = np.flatnonzero(owner[into] == number)
            normal = fits.normal[:, :, into[mine] - own[0]]
            system[:, :, mine] = sign * normal * off[:, None, source[mine]]
        scale = max(np.sqrt(np.median((answer**2).sum(axis=1))), TINY)
        systems.append(system.reshape(-1, len(first)) / scale)
        answers.append(answer.ravel() / scale)
    system, answer = np.concatenate(systems), np.concatenate(answers)
    values = np.linalg.lstsq(system, answer, rcond=None)[0]
    fitted = system @ values
    # Positive-part James-Stein shrinkage.
    misfit = ((answer - fitted) ** 2).sum() / (equations - len(first))
    values *= float(max(0.0, 1.0 - len(first) * misfit / max((fitted**2).sum(), TINY)))
    turn[first, second] = values
    return joint.T @ (turn - turn.T) @ joint


def noise_level(
    leaves: Sequence[Leaf],
    small: dict[int, Deviations],
    large: dict[int, Deviations],
    rotation: np.ndarray,
) -> float:
    """Estimate the standard deviation of the noise in each direction from deviations at two radii.

    Their variance is ``sigma^2 + beta r^6``, so two radii determine both unknowns. Leaves with
    small deviations have more weight.

    Parameters
    ----------
    leaves : sequence of Leaf
    small, large : dict of int to Deviations
    rotation : ndarray of shape (d, d)
        Rotation of the subspaces, whose leakage is not noise.
    """
    variances, weights = [], []
    for number in small:
        near, far = (_variance(leaves[number], fits[number], rotation) for fits in (small, large))
        growth = (large[number].radius / small[number].radius) ** 6
        noise = (near * growth - far) / max(growth - 1, TINY)
        variances.append(noise if noise > LEAST_NOISE * near else 0.0)
        # The inverse variance of a variance estimate over so many normal directions.
        weights.append((len(leaves[number].basis) - leaves[number].dim) / max(near, TINY) ** 2)
    if not variances:
        return 0.0
    return float(np.sqrt(np.average(variances, weights=np.array(weights) / max(weights))))


def _variance(leaf: Leaf, fits: Deviations, rotation: np.ndarray) -> float:
    """Return the trimmed variance of normal deviations in each direction."""
    free = len(leaf.basis) - leaf.dim
    off = (fits.off - fits.off @ rotation.T) @ leaf.basis.T
    off = np.einsum("epq,eq->ep", fits.normal, off)
    squares = (off**2).sum(axis=1) / (1 + fits.spread)
    kept = squares[squares <= np.quantile(squares, TRIMMED)].mean()
    # The mean of a chi-square variable truncated at its quantile, for unit variance.
    expected = free * chi2.cdf(chi2.ppf(TRIMMED, free), free + 2) / TRIMMED
    return float(kept / expected)
