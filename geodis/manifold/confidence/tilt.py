"""The error that is common to all points: how far the factors' ambient subspaces are rotated.

Factors that are refined in their own ambient subspaces V_l share one error at all points: V_l may
be rotated. Then the other factors leak in: with X_l the rotation, y_l the coordinates in V_l and
y_o those in all the others, ``y_l = f_l + X_l y_o`` where f_l lies on the factor's own manifold. A
local quadratic fit in V_l is a linear smoother H. The distance of a point from its own fit,
``(1 - H) y_l``, is ``X_l (1 - H) y_o`` in normal directions, up to noise and the third order, so
that all points together determine X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from geodis.base.check import InputError
from geodis.manifold.confidence.local_axes import Leaf, LocalAxes
from geodis.manifold.local.batched_fits import quadratic_pairs
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.tangents import tangent_frames

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
