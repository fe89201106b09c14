"""A fit -> likely errors of its axes at a few points, as draws of the sum of four parts.

An error is a graph over the subspace that errs, a vector that adds up with others::

    error = tilt + curvature + sampling + noise

*Tilt*, a rotation of the factors' ambient subspaces, is common to all points, and measured (see
`tilt`). *Curvature* is the bias that neighbourhoods of one size share: it grows with them, and is
separated from chance because two halves of the points see the same. *Sampling* is where the two
halves differ. *Noise* has moved every point along the surface, by as much again where it is moved
once more; no repetition on the same points would show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.confidence.local_axes import LocalAxes
from geodis.manifold.confidence.tilt import deviations, noise_level, subspace_rotation
from geodis.manifold.local.exact_search import searcher

PARTS = ("tilt", "curvature", "sampling", "noise")
# Beyond 45 degrees a subspace says nothing of the direction in which another errs.
STEEPEST = 1.0
# Tangent fits err by what a quadratic leaves of the surface, over the radius: by its square.
CURVATURE_POWER = 2
# Points whose draws are pooled to the scale of the errors near each: few enough to be near, and
# their draws together enough for a scale within a tenth.
POOLED = 24


@dataclass(frozen=True)
class LikelyErrors:
    """Draws of the error of every factor, and of what they are made up.

    Attributes
    ----------
    draws : list of ndarray of shape (r, e, k_j, d)
        For every factor, errors as graphs over its axes.
    parts : ndarray of shape (m, 4)
        Root mean square of each of the `PARTS`, in radians.
    noise : float
        Standard deviation of the noise in each direction.
    """

    draws: list[np.ndarray]
    parts: np.ndarray
    noise: float


def graphs_over(axes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Subspaces as graphs over others of the same dimension: ``(B A^T)^-1 B - A``.

    The singular values are the tangents of the principal angles.

    Parameters
    ----------
    axes, others : ndarray of shape (e, k_j, d)
        Orthonormal rows A and B.

    Examples
    --------
    >>> x, other = np.array([[[1.0, 0.0]]]), np.array([[[0.8, 0.6]]])
    >>> graphs_over(x, other).round(4)
    array([[[0.  , 0.75]]])
    """
    overlap = others @ np.swapaxes(axes, 1, 2)
    # Subspaces at right angles have no graph; a trace of the unit matrix keeps it finite.
    graphs = np.linalg.solve(overlap + 1e-9 * np.eye(axes.shape[1]), others)
    graphs -= graphs @ np.swapaxes(axes, 1, 2) @ axes
    steep = np.linalg.norm(graphs, ord=2, axis=(1, 2))
    return graphs * (STEEPEST / np.maximum(steep, STEEPEST))[:, None, None]


def graph_angles(graphs: np.ndarray) -> np.ndarray:
    """Largest principal angle of every graph (..., k_j, d)."""
    return np.arctan(np.linalg.norm(graphs, ord=2, axis=(-2, -1)))


def likely_errors(
    local: LocalAxes, *, pairs: int, shifts: int, noise: float | None, rng: np.random.Generator
) -> LikelyErrors:
    """Draw errors at the chosen points.

    Parameters
    ----------
    local : LocalAxes
    pairs : int
        Pairs of halves of the points.
    shifts : int
        Draws of the noise.
    noise : float or None
        Its standard deviation; estimated where it is None.
    rng : Generator
    """
    small, large = deviations(local, 1.0), deviations(local, 2.0)
    rotation = subspace_rotation(local.leaves, small)
    if noise is None:
        noise = noise_level(local.leaves, small, large, rotation)
    base = _graphs(local, local.from_part(local.others))
    tilt = _tilts(local, rotation, base)
    moved = _noise_shifts(local, noise, shifts, base, rng)
    chance, slopes = _halves(local, pairs, rng)
    draws, parts = [], []
    for factor in range(len(local.dims)):
        sampling, curvature = _scaled_to_the_fit(local, factor, chance[factor], slopes[factor])
        made_of = (tilt[factor], curvature, sampling, moved[factor])
        parts.append([np.sqrt((part**2).sum(axis=(-2, -1)).mean()) for part in made_of])
        # What a fit errs by chance may have either sign.
        signed = np.concatenate([sampling, -sampling])[:, None]
        draws.append(
            (tilt[factor] + curvature + signed + moved[factor]).reshape(-1, *tilt[factor].shape)
        )
    return LikelyErrors(draws, np.array(parts), noise)


def upper_bounds(local: LocalAxes, errors: LikelyErrors, level: float) -> np.ndarray:
    """Angle that the error at each point exceeds with probability 1 - level, shape (p, m).

    The scale is that of the draws at the nearest of the chosen points; how far above it the bound
    lies, the draws at all of them say together.
    """
    chosen = local.points[local.chosen]
    near = searcher(chosen)(local.points, min(POOLED, len(chosen)))[0]
    bounds = np.empty((len(local.points), len(errors.draws)))
    for factor, draws in enumerate(errors.draws):
        angles = graph_angles(draws)
        scale = np.sqrt((angles**2).mean(axis=0)[near].mean(axis=1))
        ratios = angles / np.maximum(scale[local.chosen], np.finfo(float).tiny)
        bounds[:, factor] = np.quantile(ratios, level) * scale
    return np.minimum(bounds, np.pi / 2)


def _graphs(local: LocalAxes, axes: np.ndarray) -> list[np.ndarray]:
    """Graphs of other axes over those of the fit, factor by factor."""
    pairs = zip(local.by_factor(local.axes), local.by_factor(axes), strict=True)
    return [graphs_over(own, other) for own, other in pairs]


def _tilts(local: LocalAxes, rotation: np.ndarray, base: list[np.ndarray]) -> list[np.ndarray]:
    """What a rotation of the subspaces does to the axes, and to where the points lie."""
    factors = local.by_factor(local.axes)
    if not rotation.any():
        return [np.zeros_like(axes) for axes in factors]
    # The mean of the other factors leaks into all points alike, which moves none of them.
    chosen = local.points[local.chosen]
    leaked = (chosen - local.points.mean(axis=0)) @ rotation.T
    without = _graphs(local, local.from_part(local.others, targets=chosen - leaked))
    tilts = []
    for axes, after, before in zip(factors, without, base, strict=True):
        rotated = -axes @ rotation
        tilts.append(rotated - rotated @ np.swapaxes(axes, 1, 2) @ axes + after - before)
    return tilts


def _noise_shifts(
    local: LocalAxes, noise: float, shifts: int, base: list[np.ndarray], rng: np.random.Generator
) -> list[np.ndarray]:
    """The effect of noise that moves points along the surface, (shifts, e, k_j, d) a factor."""
    if noise <= 0:
        return [np.zeros_like(before)[None] for before in base]
    chosen = local.points[local.chosen]
    draws = []
    for _ in range(shifts):
        targets = chosen + noise * rng.standard_normal(chosen.shape)
        moved = _graphs(local, local.from_part(local.others, targets=targets))
        draws.append([after - before for after, before in zip(moved, base, strict=True)])
    return [np.array(own) for own in zip(*draws, strict=True)]


def _halves(
    local: LocalAxes, pairs: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """By factor, how fits to one half err by chance, and how they change with twice the neighbours.

    Returns
    -------
    chance : list of ndarray of shape (pairs, e, k_j, d)
    slopes : list of ndarray of shape (pairs, 2, e, k_j, d)
    """
    chance: list[list[np.ndarray]] = [[] for _ in local.dims]
    slopes: list[list[list[np.ndarray]]] = [[] for _ in local.dims]
    for _ in range(pairs):
        shuffled = rng.permutation(local.others)
        halves = [np.sort(half) for half in np.array_split(shuffled, 2)]
        near = [_graphs(local, local.from_part(half)) for half in halves]
        far = [_graphs(local, local.from_part(half, 2.0)) for half in halves]
        for factor, (one, two) in enumerate(zip(*near, strict=True)):
            chance[factor].append((one - two) / np.sqrt(2))
            slopes[factor].append([far[0][factor] - one, far[1][factor] - two])
    return [np.array(own) for own in chance], [np.array(own) for own in slopes]


def _scaled_to_the_fit(
    local: LocalAxes, factor: int, chance: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From errors of halves to those of the fit, whose neighbourhoods are smaller or fuller.

    The bias of curvature goes with the square of the radius r, so that ``b = slope r^2 / (r_2^2 -
    r_1^2)``; errors by chance go with it too, and with one over the root of the neighbours left
    after each unknown took one. Of the slopes only what both halves agree on is bias: it is
    shrunk to the size that products of one half's slopes with the other's have.
    """
    leaf = local.leaves[local.leaf_of[factor]]
    own = leaf.split.tangent_neighbors
    if leaf.fills_its_space or own == 0:
        return chance, np.zeros_like(chance[0])
    share = len(local.others) / (2 * len(local.points))
    near, far = (local.count(leaf, share, growth) for growth in (1.0, 2.0))
    near_area, far_area = (
        (count / (share * own)) ** (CURVATURE_POWER / leaf.dim) for count in (near, far)
    )
    taken = leaf.fewest / 2
    sampling = chance * np.sqrt((near - taken) / (own - taken)) / near_area
    slopes = slopes / (far_area - near_area)
    mean = slopes.mean(axis=(0, 1))
    common = (slopes[:, 0] * slopes[:, 1]).sum(axis=(-2, -1)).mean()
    size = (mean**2).sum(axis=(-2, -1)).mean()
    shrink = np.sqrt(min(max(common, 0.0) / size, 1.0)) if size > 0 else 0.0
    return sampling, -shrink * mean
