"""The ambient subspaces of a split -> by how much they are tilted, and the noise of the points.

Factors that are refined in their own ambient subspaces V_l share one error at all points: V_l may
be tilted. A tilt lets the other factors leak in: with X_l the tilt, y_l the coordinates in V_l and
y_o those in all the others, ``y_l = f_l + X_l y_o`` where f_l lies on the factor's own manifold. A
local quadratic fit in V_l is a linear smoother H, so that what a point lies off its own fit,
``(1 - H) y_l``, is ``X_l (1 - H) y_o`` in normal directions but for noise and the third order: all
points together tell X to a small part of either.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from geodis.base.check import InputError
from geodis.manifold.confidence.local_axes import Leaf, LocalAxes
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.tangents import quadratic_pairs, tangent_frames

# Equations for each unknown of the tilt; with fewer it is not asked.
PER_UNKNOWN = 2
# Share of the fit's own neighbours in the smaller of the two fits: noise is most of its misfit.
SMALLER = 0.5
# Share of the points whose deviations tell the noise: the others may lie at an edge.
TRIMMED = 0.9
# Noise that makes up less than this share of the squared misfit is not told from curvature.
LEAST_NOISE = 0.2
# Points nearer than this part of the whole extent differ by rounding.
ONE_PLACE = 1e-9
TINY = np.finfo(float).tiny


class Deviations:
    """How far the chosen points lie off local fits to the others, leaf by leaf.

    Parameters
    ----------
    local : LocalAxes
    growth : float
        Neighbours in multiples of the `SMALLER` share of the fit's own.

    Attributes
    ----------
    leaves : list of Leaf
    normal : list of ndarray of shape (e, d_l, d_l)
        Projectors on the directions normal to each leaf; zero where all are tangent.
    off : list of ndarray of shape (e, d)
        The points without what their neighbours' smoother makes of them, in all directions.
    spread : list of ndarray of shape (e,)
        Variance of the smoother's value for unit noise.
    radius : list of float
        Median distance of the farthest neighbour.
    """

    def __init__(self, local: LocalAxes, growth: float) -> None:
        self.leaves = local.leaves
        self.normal: list[np.ndarray] = []
        self.off: list[np.ndarray] = []
        self.spread: list[np.ndarray] = []
        self.radius: list[float] = []
        for leaf in local.leaves:
            self._look_at(local, leaf, growth)

    def _look_at(self, local: LocalAxes, leaf: Leaf, growth: float) -> None:
        inside, e = local.points @ leaf.basis.T, len(local.chosen)
        d = inside.shape[1]
        if leaf.fills_its_space:
            self.normal.append(np.zeros((e, d, d)))
            self.off.append(np.zeros((e, local.points.shape[1])))
            self.spread.append(np.zeros(e))
            self.radius.append(1.0)
            return
        near = neighbors_at(inside, local.chosen, local.count(leaf, SMALLER, growth))
        if near.distances[:, -1].min() < ONE_PLACE * np.ptp(inside, axis=0).max():
            raise InputError("Whole neighbourhoods are one place, as on a grid of factors.")
        frames = tangent_frames(inside, near, leaf.dim, centres=inside[local.chosen]).frames
        steps = inside[near.indices] - inside[local.chosen, None]
        smoother = _smoother(steps @ np.swapaxes(frames, 1, 2), near)
        fitted = np.einsum("ec,ecd->ed", smoother, local.points[near.indices])
        self.normal.append(np.eye(d) - np.swapaxes(frames, 1, 2) @ frames)
        self.off.append(local.points[local.chosen] - fitted)
        self.spread.append((smoother**2).sum(axis=1))
        self.radius.append(float(np.median(near.distances[:, -1])))


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


def tilt_of(deviations: Deviations) -> np.ndarray:
    """The skew matrix O that turns the ambient subspaces into better ones, B into ``B (1 - O)``.

    Its unknowns are the entries between two leaves, by least squares over all of the points; what
    noise alone would give is taken off.

    Parameters
    ----------
    deviations : Deviations

    Returns
    -------
    ndarray of shape (d, d)
        Zero where there is one leaf, or more unknowns than the points can tell.
    """
    parts = deviations.leaves
    joint = np.concatenate([leaf.basis for leaf in parts])
    owner = np.repeat(np.arange(len(parts)), [len(leaf.basis) for leaf in parts])
    first, second = np.nonzero(np.triu(owner[:, None] != owner))
    turn = np.zeros((len(owner), len(owner)))
    free = len(owner) - sum(leaf.dim for leaf in parts)
    equations = len(deviations.off[0]) * free
    if len(first) == 0 or equations < PER_UNKNOWN * len(first):
        return turn
    systems, answers = [], []
    for number, leaf in enumerate(parts):
        if leaf.fills_its_space:
            continue
        own = np.flatnonzero(owner == number)
        normal, off = deviations.normal[number], deviations.off[number] @ joint.T
        answer = np.einsum("epq,eq->ep", normal, off[:, own])
        # Entry (a, b) brings direction b into a, and a into b with the other sign.
        system = np.zeros((len(off), len(own), len(first)))
        for sign, into, source in ((1, first, second), (-1, second, first)):
            mine = np.flatnonzero(owner[into] == number)
            system[:, :, mine] = (
                sign * normal[:, :, into[mine] - own[0]] * off[:, None, source[mine]]
            )
        scale = max(np.sqrt(np.median((answer**2).sum(axis=1))), TINY)
        systems.append(system.reshape(-1, len(first)) / scale)
        answers.append(answer.ravel() / scale)
    system, answer = np.concatenate(systems), np.concatenate(answers)
    values = np.linalg.lstsq(system, answer, rcond=None)[0]
    values *= _shrinkage(system @ values, answer, len(first), equations)
    turn[first, second] = values
    return joint.T @ (turn - turn.T) @ joint


def _shrinkage(fitted: np.ndarray, answer: np.ndarray, unknowns: int, equations: int) -> float:
    """The positive part of James and Stein's factor: what noise alone would give is taken off."""
    misfit = ((answer - fitted) ** 2).sum() / (equations - unknowns)
    return float(max(0.0, 1.0 - unknowns * misfit / max((fitted**2).sum(), TINY)))


def noise_of(small: Deviations, large: Deviations, turn: np.ndarray) -> float:
    """Standard deviation of the noise in each direction, from deviations at two radii.

    Their variance is ``sigma^2 + beta r^6``, as where the neighbourhoods were chosen: two radii
    tell both. Where leaves disagree, those with small deviations count more.

    Parameters
    ----------
    small, large : Deviations
    turn : ndarray of shape (d, d)
        The tilt, whose leakage looks like noise.

    Returns
    -------
    float
    """
    variances, weights = [], []
    for number, leaf in enumerate(small.leaves):
        if leaf.fills_its_space:
            continue
        free = len(leaf.basis) - leaf.dim
        near, far = (_variance(fits, number, turn, free) for fits in (small, large))
        growth = (large.radius[number] / small.radius[number]) ** 6
        noise = (near * growth - far) / max(growth - 1, TINY)
        variances.append(noise if noise > LEAST_NOISE * near else 0.0)
        # One over the variance of a variance that so many normal directions tell.
        weights.append(free / max(near, TINY) ** 2)
    if not variances:
        return 0.0
    return float(np.sqrt(np.average(variances, weights=np.array(weights) / max(weights))))


def _variance(fits: Deviations, number: int, turn: np.ndarray, free: int) -> float:
    """Variance of normal deviations in each direction, without the largest of them."""
    off = fits.off[number]
    off = (off - off @ turn.T) @ fits.leaves[number].basis.T
    off = np.einsum("epq,eq->ep", fits.normal[number], off)
    squares = (off**2).sum(axis=1) / (1 + fits.spread[number])
    kept = squares[squares <= np.quantile(squares, TRIMMED)].mean()
    # The mean of a chi-square variable below its quantile, for one of unit variance.
    expected = free * chi2.cdf(chi2.ppf(TRIMMED, free), free + 2) / TRIMMED
    return float(kept / expected)
