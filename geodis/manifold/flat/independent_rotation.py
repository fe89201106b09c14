"""The rotation of isometric flat coordinates to independent factors.

If the latent variables are independent, a rotation of the unrolled coordinates makes these
independent, too. Where the data do not determine it, directions stay in one group, with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from geodis.base.check import check_points, check_random_state
from geodis.manifold.doubts import FLAT, Doubt, doubt
from geodis.manifold.flat.contrasts import (
    COARSE_POINTS,
    CONTRASTS,
    Contrast,
    group_angles,
    halves,
    jitter_grid,
    minimise_contrast,
    rank_information,
    split_by_spread_alone,
    why_together,
    with_floor,
)

# Maximum-likelihood rotation under an Lp-nested prior, for factors of several dimensions.
#
# Pairs of directions say little about groups that are rotationally symmetric; a prior on whole
# groups uses all of their directions together.

START_OUTER, START_INNER = 4.0, 2.0
# From sharp peaks to a nearly uniform density; beyond, the likelihood hardly changes.
OUTER_LIMITS, INNER_LIMITS = (0.5, 40.0), (0.5, 20.0)
MAX_POINTS = 5000
MAX_STEPS = 100


def negative_log_likelihood(
    values: np.ndarray, dims: tuple[int, ...], outer: float, inner: np.ndarray
) -> float:
    r"""Return the mean negative log-density under an Lp-nested independent-subspace prior.

    With r_g the L_{p_g} norm of group g of size n_g, the function ``f^{p_0} = sum_g r_g^{p_0}``
    gives a density that is a product over groups. The scale of each group has the maximum
    likelihood value ``s_g = p_0 / n_g mean(r_g^{p_0})``::

        log p = log p_0 - n_g / p_0 log s_g - log Gamma(n_g / p_0) - r_g^{p_0} / s_g - log S_g
        S_g = 2^{n_g} Gamma(1 / p_g)^{n_g} / (p_g^{n_g - 1} Gamma(n_g / p_g))

    Parameters
    ----------
    values : ndarray of shape (n, f)
        Centred, with columns ordered by group.
    dims : tuple of int
    outer : float
        The exponent p_0.
    inner : ndarray of shape (m,)
        The exponents p_g.

    Examples
    --------
    >>> normal = np.random.default_rng(0).standard_normal((100_000, 3))
    >>> entropy = negative_log_likelihood(normal, (2, 1), 2.0, np.array([2.0, 2.0]))
    >>> bool(abs(entropy - 1.5 * np.log(2 * np.pi * np.e)) < 0.01)
    True
    """
    total, start = 0.0, 0
    for size, p in zip(dims, inner, strict=True):
        group = np.abs(values[:, start : start + size])
        start += size
        largest = max(float(group.max()), 1e-300)
        if size == 1:
            norm, surface = group[:, 0] / largest, np.log(2.0)
        else:
            norm = ((group / largest) ** p).sum(axis=1) ** (1 / p)
            surface = (
                size * (np.log(2.0) + gammaln(1 / p)) - (size - 1) * np.log(p) - gammaln(size / p)
            )
        scale = np.log(outer / size * (norm**outer).mean()) + outer * np.log(largest)
        total += size / outer * (scale + 1) + gammaln(size / outer) + surface - np.log(outer)
    return float(total)


def lp_nested_rotation(
    points: np.ndarray, rotation: np.ndarray, dims: tuple[int, ...]
) -> np.ndarray:
    """Maximise the likelihood over rotations of grouped directions and the exponents.

    Parameters
    ----------
    points : ndarray of shape (n, f)
        In random order; the first 5,000 are used.
    rotation : ndarray of shape (f, f)
        Orthonormal rows to start from, ordered by group.
    dims : tuple of int

    Returns
    -------
    ndarray of shape (f, f)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> box = rng.uniform(-1, 1, (2000, 2))
    >>> tilted = np.array([[0.995, 0.0998], [-0.0998, 0.995]])
    >>> rotation = lp_nested_rotation(box, tilted, (1, 1))
    >>> bool(np.abs(np.diag(rotation)).min() > 0.9999)
    True
    """
    few = points[:MAX_POINTS] - points[:MAX_POINTS].mean(axis=0)
    f = few.shape[1]
    above = np.triu_indices(f, 1)
    count = len(above[0])

    def turned(unknowns: np.ndarray) -> np.ndarray:
        skew = np.zeros((f, f))
        skew[above] = unknowns[:count]
        return expm(skew - skew.T) @ rotation

    def objective(unknowns: np.ndarray) -> float:
        exponents = np.exp(unknowns[count:])
        return negative_log_likelihood(
            few @ turned(unknowns).T, dims, float(exponents[0]), exponents[1:]
        )

    start = np.zeros(count + 1 + len(dims))
    start[count:] = np.log([START_OUTER] + [START_INNER] * len(dims))
    limits = [(-np.pi, np.pi)] * count + [tuple(np.log(OUTER_LIMITS))]
    limits += [tuple(np.log(INNER_LIMITS))] * len(dims)
    best = minimize(
        objective, start, method="L-BFGS-B", bounds=limits, options={"maxiter": MAX_STEPS}
    )
    return turned(best.x)


STARTS = 3
# A result is doubted above these angles in degrees and this mutual information in nats.
MAX_INSTABILITY, MAX_DISAGREEMENT = 8.0, 10.0
FLAGGED_INFORMATION = 0.015


@dataclass(frozen=True)
class ContrastResult:
    """The result of one contrast.

    Attributes
    ----------
    name : str
    rotation : ndarray of shape (f, f)
        Rows are directions in the coordinates, ordered by group.
    dims : tuple of int
        Sizes of the groups of directions that could not be separated, largest first.
    instability : float
        Degrees by which the groups rotate between halves of the points.
    reasons : tuple of str
        Why directions stayed in one group.
    """

    name: str
    rotation: np.ndarray
    dims: tuple[int, ...]
    instability: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Independence:
    """Directions of independent factors in flat coordinates.

    Attributes
    ----------
    rotation : ndarray of shape (f, f)
        Orthonormal rows grouped by factor: ``coordinates @ rotation.T`` are the factors.
    dims : tuple of int
        Dimension of every factor, largest first; ``(f,)`` if nothing could be split.
    contrast : str
        The selected contrast.
    instability : float
        Degrees by which the factors rotate between halves of the points.
    information : ndarray of shape (m, m)
        Largest bias-corrected mutual information between directions of two factors, in nats.
    contrasts : tuple of ContrastResult
        The result of every contrast.
    reasons : tuple of str
        Why directions stayed in one group.
    doubts : tuple of Doubt
        Why the split may be wrong.
    """

    rotation: np.ndarray
    dims: tuple[int, ...]
    contrast: str
    instability: float
    information: np.ndarray
    contrasts: tuple[ContrastResult, ...]
    reasons: tuple[str, ...]
    doubts: tuple[Doubt, ...]

    @property
    def refused(self) -> bool:
        """Whether several dimensions remain one factor."""
        return len(self.dims) == 1 and self.dims[0] > 1


def independent_rotation(coordinates: Any, *, random_state: Any = 0) -> Independence:
    r"""Rotate isometric coordinates into independent groups.

    Over orthonormal rows R, each of three contrasts c is minimised by rotating pairs of directions
    (Jacobi), from three starts::

        sum_a c(coordinates R_a^T),      c = spacing entropy, log support width, moment entropy

    There is no whitening: the coordinates are isometric, so their scale is informative. Two
    directions stay in one group if the contrast hardly depends on the angle in their plane (a range
    below .025 nat, or less than 6 standard deviations above data with random angles), or if they
    are dependent and part of the product of their supports is empty. Of the contrasts with the most
    groups, the most stable one is selected. If groups have several dimensions, the
    maximum-likelihood rotation under an Lp-nested prior with fitted exponents replaces it if that
    is more stable.

    Parameters
    ----------
    coordinates : array-like of shape (n, f)
    random_state : int, Generator or None

    Returns
    -------
    Independence

    Notes
    -----
    Independence is assumed, and only pairs of directions are tested: a purely three-way dependence
    raises no doubt. Two Gaussians of equal variance are rotationally symmetric and stay in one
    group. Gaussians of unequal variance are split along their principal axes, which are the factors
    only if these are uncorrelated. The data cannot decide this, so a doubt is raised.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> found = independent_rotation(rng.uniform(size=(2000, 2)) @ turn)
    >>> found.dims, bool(np.abs(found.rotation @ turn.T).max(axis=1).min() > 0.99)
    ((1, 1), True)
    """
    points = check_points(coordinates, name="coordinates")
    rng = check_random_state(random_state)
    n, f = points.shape
    if f == 1:
        return Independence(np.eye(1), (1,), "none", 0.0, np.zeros((1, 1)), (), (), ())
    points = points - points.mean(axis=0)
    points, floor = jitter_grid(points, rng)
    points = points[rng.permutation(n)]
    results = tuple(
        _one_contrast(name, with_floor(contrast, floor), points, rng)
        for name, contrast in CONTRASTS.items()
    )
    stable = [result for result in results if result.instability <= MAX_INSTABILITY]
    best = min(stable or results, key=_most_groups)
    if stable and 1 < len(best.dims) < f:
        results = (*results, _by_likelihood(points, best))
        best = min((best, results[-1]), key=_most_groups)
    found = best.name, best.instability
    if not stable:
        turn = f"directions rotate by {best.instability:.0f} degrees between halves of the points"
        reasons = (*best.reasons, turn)
        return Independence(np.eye(f), (f,), *found, np.zeros((1, 1)), results, reasons, ())
    doubts = _disagreement(results, best)
    values = points @ best.rotation.T
    if len(best.dims) > 1 and split_by_spread_alone(values, best.dims, floor, rng):
        doubts.append(doubt("spread-alone", FLAT))
    information, flagged = information_between(values, best.dims)
    doubts += flagged
    return Independence(
        best.rotation, best.dims, *found, information, results, best.reasons, tuple(doubts)
    )


def _one_contrast(
    name: str, contrast: Contrast, points: np.ndarray, rng: np.random.Generator
) -> ContrastResult:
    """Minimise one contrast, and group the directions that it does not separate."""
    f = points.shape[1]
    starts = [np.linalg.svd(points, full_matrices=False)[2]]
    starts += [np.linalg.qr(rng.standard_normal((f, f)))[0] for _ in range(STARTS - 1)]
    few = points[:COARSE_POINTS]
    first = min((minimise_contrast(few, contrast, start) for start in starts), key=lambda r: r[1])
    rotation, _ = minimise_contrast(points, contrast, first[0])
    together = np.eye(f, dtype=bool)
    reasons = []
    values = points @ rotation.T
    for a, b in combinations(range(f), 2):
        if reason := why_together(values[:, a], values[:, b], contrast, rng):
            together[a, b] = True
            reasons.append(reason)
    count, label = connected_components(together, directed=False)
    members = sorted(
        (np.flatnonzero(label == g) for g in range(count)),
        # The largest groups come first; among groups of one size, the widest.
        key=lambda rows: (-len(rows), -values[:, rows].std(axis=0).max()),
    )
    rotation = rotation[np.concatenate(members)]
    dims = tuple(len(rows) for rows in members)
    unstable = 0.0
    if len(dims) > 1:
        refits = [
            minimise_contrast(half - half.mean(axis=0), contrast, rotation)[0]
            for half in halves(points)
        ]
        unstable = _instability(refits, rotation, dims)
    # One reason of each kind, which is the text before the numbers.
    kinds = {reason.split(" (")[0]: reason for reason in reversed(reasons)}
    return ContrastResult(name, rotation, dims, unstable, tuple(kinds.values()))


def _most_groups(result: ContrastResult) -> tuple[int, float]:
    return -len(result.dims), result.instability


def _by_likelihood(points: np.ndarray, result: ContrastResult) -> ContrastResult:
    """Rotate the same groups to the maximum likelihood under an Lp-nested prior.

    For groups of several dimensions, such as a disc, this uses all directions of a group rather
    than pairs, and up to halves the error.
    """
    rotation = lp_nested_rotation(points, result.rotation, result.dims)
    refits = [
        lp_nested_rotation(part, rotation, result.dims)
        for part in islice(halves(points), 2)  # a fit here costs more than a search over pairs
    ]
    unstable = _instability(refits, rotation, result.dims)
    return ContrastResult("Lp-nested likelihood", rotation, result.dims, unstable, result.reasons)


def _instability(refits: list[np.ndarray], rotation: np.ndarray, dims: tuple[int, ...]) -> float:
    """Return the root mean square angle in degrees of the group that rotates most in refits."""
    angles = np.array([group_angles(refit, rotation, dims) for refit in refits])
    return float(np.sqrt((angles**2).mean(axis=0)).max())


def _disagreement(results: tuple[ContrastResult, ...], best: ContrastResult) -> list[Doubt]:
    """Compare the directions of the entropy with those of the support."""
    by_name = {result.name: result for result in results}
    entropy, support = by_name["entropy"], by_name["support"]
    if entropy.dims != support.dims or len(best.dims) == 1:
        return []
    if max(entropy.instability, support.instability) > MAX_INSTABILITY:
        return []
    angle = float(group_angles(support.rotation, entropy.rotation, entropy.dims).max())
    if angle <= MAX_DISAGREEMENT:
        return []
    return [doubt("contrasts-disagree", FLAT, angle=angle)]


def information_between(
    values: np.ndarray, dims: tuple[int, ...]
) -> tuple[np.ndarray, list[Doubt]]:
    """Measure the mutual information between groups, and doubt those that share too much.

    Parameters
    ----------
    values : ndarray of shape (n, f)
        Columns ordered by group.
    dims : tuple of int

    Returns
    -------
    information : ndarray of shape (m, m)
        Largest mutual information between directions of two groups, in nats.
    doubts : list of Doubt
        One for every two groups whose information exceeds .015 nat and chance.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=2000)
    >>> information_between(np.column_stack([x, x]), (1, 1))[1][0].statement
    'flat factors 0 and 1 share 2.597 nat of information'
    """
    m = len(dims)
    group = np.repeat(np.arange(m), dims)
    shared = np.zeros((m, m))
    pairs = []
    for a, b in combinations(range(values.shape[1]), 2):
        g, h = group[a], group[b]
        if g == h:
            continue
        information, error, _ = rank_information(values[:, a], values[:, b])
        if information > FLAGGED_INFORMATION + 2 * error and information > shared[g, h]:
            pairs.append((g, h))
        shared[g, h] = shared[h, g] = max(shared[g, h], information)
    doubts = [
        doubt("shared-information", FLAT, one=g, other=h, information=shared[g, h])
        for g, h in dict.fromkeys(pairs)
    ]
    return shared, doubts
