"""Tangent fits repeated at a few points, from a part of the other points.

Most of the time of a whole fit goes into deciding which direction in a tangent space belongs to
which factor, and this hardly errs. The tangent fits do err, and they can be repeated at a few
points alone, from any part of the points and with neighbourhoods of any size.
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

# At most one in so many points is chosen: the others must stand for all of them.
MOST_CHOSEN = 5
# With fewer chosen points their errors say too little about all points.
FEWEST_CHOSEN = 10


@dataclass(frozen=True)
class Leaf:
    """A part of a split that was split no further: where its tangents are fitted.

    Attributes
    ----------
    split : Split
    basis : ndarray of shape (d_l, d)
        Orthonormal rows: its ambient subspace.
    rows : ndarray of int
        Its rows among the axes of the whole split.
    """

    split: Split
    basis: np.ndarray
    rows: np.ndarray

    @property
    def dim(self) -> int:
        """Its intrinsic dimension."""
        return len(self.rows)

    @property
    def fills_its_space(self) -> bool:
        """Whether every direction is tangent."""
        return len(self.basis) == self.dim

    @property
    def fewest(self) -> int:
        """Neighbours below which its tangent fits are no longer sound."""
        split = self.split
        fewest = neighbors_for_tangents(self.dim)
        if split.refined == "tangents":
            fewest = 2 * (1 + self.dim + len(quadratic_pairs(self.dim, split.dims)[0]))
        return min(split.tangent_neighbors, fewest)


def leaves(split: Split, d: int) -> list[Leaf]:
    """The innermost parts of a split of points in d columns.

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
    # Where each factor of the parts, one part after the other, has its rows in the whole.
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
    """The fit, ready to be repeated at a few of its points.

    Only the largest piece of the graph counts, and copies of a row count once.

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
        The leaf that each factor lies in; the first, where a flat one lies in several.
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
        """The leaf of each factor's first row."""
        owner = np.empty(fit.dim, dtype=int)
        for number, leaf in enumerate(self.leaves):
            owner[leaf.rows] = number
        own = fit.flat.own
        if own.any():
            owner = np.concatenate([owner[~own], owner[own]])[fit.flat.order]
        return [int(owner[first]) for first in np.cumsum((0, *self.dims[:-1]))]

    def lacking(self) -> tuple[str, ...]:
        """Why the fit cannot be repeated on halves; empty if it can."""
        half = len(self.others) // 2
        needed = max((2 * leaf.fewest + 1 for leaf in self.leaves), default=0)
        if len(self.chosen) >= FEWEST_CHOSEN and half >= needed:
            return ()
        return (
            f"Errors of the directions were not estimated: halves of {len(self.points):,} points "
            f"are too few for tangent fits of twice {needed // 2} neighbours.",
        )

    def by_factor(self, axes: np.ndarray) -> list[np.ndarray]:
        """Axes (e, k, d) as those of every factor, (e, k_j, d)."""
        return np.split(axes, np.cumsum(self.dims)[:-1], axis=1)

    def count(self, leaf: Leaf, share: float, growth: float = 1.0) -> int:
        """Neighbours of a tangent fit among a share of the points: the same radius if it can be.

        Below the fewest that a sound fit takes, the radius grows instead.
        """
        same = max(round(leaf.split.tangent_neighbors * share), leaf.fewest)
        return int(min(growth * same, share * len(self.points) - 1))

    def from_part(
        self, part: np.ndarray, growth: float = 1.0, targets: np.ndarray | None = None
    ) -> np.ndarray:
        """Axes at the chosen points, or moved to as many targets, from a part of the others.

        Parameters
        ----------
        part : ndarray of int
            Rows of `points`.
        growth : float
            By how much more neighbours than `count` gives.
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
    """A split whose innermost parts use so many neighbours, in the order of `leaves`."""
    if not split.parts:
        return replace(split, tangent_neighbors=next(counts))
    return replace(split, parts=tuple(_resized(part, counts) for part in split.parts))


# The error that is common to all points: how far the factors' ambient subspaces are rotated.
#
# Factors that are refined in their own ambient subspaces V_l share one error at all points: V_l may
# be rotated. Then the other factors leak in: with X_l the rotation, y_l the coordinates in V_l and
# y_o those in all the others, ``y_l = f_l + X_l y_o`` where f_l lies on the factor's own manifold.
# A local quadratic fit in V_l is a linear smoother H. The distance of a point from its own fit,
# ``(1 - H) y_l``, is ``X_l (1 - H) y_o`` in normal directions, up to noise and the third order, so
# that all points together determine X.

# Equations for each unknown of the rotation; with fewer it is taken for zero.
PER_UNKNOWN = 2
# Share of the fit's own neighbours in the smaller of the two fits: noise is most of its misfit.
SMALLER = 0.5
# Share of the points by which the noise is estimated: the others may lie at an edge.
TRIMMED = 0.9
# Noise below this share of the squared misfit cannot be separated from curvature.
LEAST_NOISE = 0.2
# Points nearer than this part of the whole extent differ by rounding.
ONE_PLACE = 1e-9
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Deviations:
    """How far the chosen points lie off local fits to the others, in one leaf.

    Attributes
    ----------
    normal : ndarray of shape (e, d_l, d_l)
        Projectors on the directions normal to the leaf.
    off : ndarray of shape (e, d)
        The points without what their neighbours' smoother makes of them, in all directions.
    spread : ndarray of shape (e,)
        Variance of the smoother's value for unit noise.
    radius : float
        Median distance of the farthest neighbour.
    """

    normal: np.ndarray
    off: np.ndarray
    spread: np.ndarray
    radius: float


def deviations(local: LocalAxes, growth: float) -> dict[int, Deviations]:
    """Deviations in every leaf that has normal directions, by its number.

    Parameters
    ----------
    local : LocalAxes
    growth : float
        Neighbours in multiples of the `SMALLER` share of the fit's own.
    """
    found = {}
    for number, leaf in enumerate(local.leaves):
        if leaf.fills_its_space:
            continue
        inside = local.points @ leaf.basis.T
        near = neighbors_at(inside, local.chosen, local.count(leaf, SMALLER, growth))
        if near.distances[:, -1].min() < ONE_PLACE * np.ptp(inside, axis=0).max():
            raise InputError("Whole neighbourhoods are one place, as on a grid of factors.")
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
    """Weights (e, c) with which a quadratic fit in tangent steps (e, c, k) gives its constant."""
    e, count, dim = steps.shape
    radius = near.distances[:, -1:]
    steps = steps / radius[..., None]
    first, second = quadratic_pairs(dim)
    design = np.concatenate(
        [np.ones((e, count, 1)), steps, steps[..., first] * steps[..., second]], axis=2
    )
    weighted = design * np.exp(-2 * (near.distances / radius) ** 2)[..., None]
    system = np.swapaxes(weighted, 1, 2) @ design
    # As in the tangent fits: a trace of ridge where neighbours do not determine every term.
    diagonal = np.arange(system.shape[1])
    system[:, diagonal, diagonal] += 1e-9 * system[:, diagonal, diagonal].mean(axis=1)[:, None]
    constant = np.zeros((e, system.shape[1], 1))
    constant[:, 0] = 1
    return (weighted @ np.linalg.solve(system, constant))[..., 0]


def subspace_rotation(leaves: Sequence[Leaf], found: dict[int, Deviations]) -> np.ndarray:
    """The skew matrix O that turns the ambient subspaces into better ones, B into ``B (1 - O)``.

    Its unknowns are the entries between two leaves, by least squares over all points, shrunk by
    what noise alone would give.

    Parameters
    ----------
    leaves : sequence of Leaf
    found : dict of int to Deviations

    Returns
    -------
    ndarray of shape (d, d)
        Zero where there is one leaf, or more unknowns than the points determine.
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
        # Entry (a, b) brings direction b into a, and a into b with the other sign.
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
    # The positive part of James and Stein's factor: what noise alone would give is taken off.
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
    """Standard deviation of the noise in each direction, from deviations at two radii.

    Their variance is ``sigma^2 + beta r^6``, as where the neighbourhoods were chosen: two radii
    determine both. Where leaves disagree, those with small deviations count more.

    Parameters
    ----------
    leaves : sequence of Leaf
    small, large : dict of int to Deviations
    rotation : ndarray of shape (d, d)
        Of the subspaces, whose leakage looks like noise.
    """
    variances, weights = [], []
    for number in small:
        near, far = (_variance(leaves[number], fits[number], rotation) for fits in (small, large))
        growth = (large[number].radius / small[number].radius) ** 6
        noise = (near * growth - far) / max(growth - 1, TINY)
        variances.append(noise if noise > LEAST_NOISE * near else 0.0)
        # One over the variance of a variance over so many normal directions.
        weights.append((len(leaves[number].basis) - leaves[number].dim) / max(near, TINY) ** 2)
    if not variances:
        return 0.0
    return float(np.sqrt(np.average(variances, weights=np.array(weights) / max(weights))))


def _variance(leaf: Leaf, fits: Deviations, rotation: np.ndarray) -> float:
    """Variance of normal deviations in each direction, without the largest of them."""
    free = len(leaf.basis) - leaf.dim
    off = (fits.off - fits.off @ rotation.T) @ leaf.basis.T
    off = np.einsum("epq,eq->ep", fits.normal, off)
    squares = (off**2).sum(axis=1) / (1 + fits.spread)
    kept = squares[squares <= np.quantile(squares, TRIMMED)].mean()
    # The mean of a chi-square variable below its quantile, for one of unit variance.
    expected = free * chi2.cdf(chi2.ppf(TRIMMED, free), free + 2) / TRIMMED
    return float(kept / expected)
