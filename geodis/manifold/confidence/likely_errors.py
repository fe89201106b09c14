"""Estimated errors of the axes of a fit, and repeated fits.

The error of a subspace is a graph over it, and so a vector. It is drawn as a sum of four
components::

    error = tilt + curvature + sampling + noise

*Tilt* is a rotation of the factors' ambient subspaces that is common to all points and is measured
by `subspace_rotation`. *Curvature* is the bias of neighbourhoods, which grows with their size and
is the same in two halves of the points. *Sampling* is the difference between the halves. *Noise*
has shifted every point along the surface; its effect is estimated by shifting the points once more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from geodis.base.check import InputError
from geodis.manifold.confidence.subspace_error import (
    LocalAxes,
    deviations,
    noise_level,
    subspace_rotation,
)
from geodis.manifold.fitted import Fit
from geodis.manifold.local.angles import principal_angles
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.tangents import neighbors_for_tangents

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


PARTS = ("tilt", "curvature", "sampling", "noise")
# Largest slope of a graph, 45 degrees; beyond, its direction is arbitrary.
STEEPEST = 1.0
# The bias of tangents from quadratic fits grows with this power of the radius.
CURVATURE_POWER = 2
# Number of nearby points whose draws are pooled for a local scale of the errors, which is then
# accurate to a tenth.
POOLED = 24


@dataclass(frozen=True)
class LikelyErrors:
    """Draws of the error of every factor, and the size of its components.

    Attributes
    ----------
    draws : list of ndarray of shape (r, e, k_j, d)
        For every factor, errors as graphs over its axes.
    parts : ndarray of shape (m, 4)
        Root mean square of each of the components in `PARTS`, in radians.
    noise : float
        Standard deviation of the noise in each direction.
    """

    draws: list[np.ndarray]
    parts: np.ndarray
    noise: float


def graphs_over(axes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Represent subspaces as graphs over others of the same dimension: ``(B A^T)^-1 B - A``.

    Their singular values are the tangents of the principal angles.

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
    # Orthogonal subspaces have no graph; a small ridge keeps it finite.
    graphs = np.linalg.solve(overlap + 1e-9 * np.eye(axes.shape[1]), others)
    graphs -= graphs @ np.swapaxes(axes, 1, 2) @ axes
    steep = np.linalg.norm(graphs, ord=2, axis=(1, 2))
    return graphs * (STEEPEST / np.maximum(steep, STEEPEST))[:, None, None]


def graph_angles(graphs: np.ndarray) -> np.ndarray:
    """Return the largest principal angle of every graph (..., k_j, d)."""
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
        Standard deviation of the noise; estimated if None.
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
        # Sampling errors may have either sign.
        signed = np.concatenate([sampling, -sampling])[:, None]
        draws.append(
            (tilt[factor] + curvature + signed + moved[factor]).reshape(-1, *tilt[factor].shape)
        )
    return LikelyErrors(draws, np.array(parts), noise)


def upper_bounds(local: LocalAxes, errors: LikelyErrors, level: float) -> np.ndarray:
    """Bound the angle of the error at each point at a confidence level, shape (p, m).

    The scale comes from the draws at the nearest of the chosen points. The ratio of the bound to
    this scale is a quantile over the draws at all chosen points.
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
    """Represent other axes as graphs over those of the fit, for every factor."""
    pairs = zip(local.by_factor(local.axes), local.by_factor(axes), strict=True)
    return [graphs_over(own, other) for own, other in pairs]


def _tilts(local: LocalAxes, rotation: np.ndarray, base: list[np.ndarray]) -> list[np.ndarray]:
    """Compute the effect of a rotation of the subspaces on the axes and positions."""
    factors = local.by_factor(local.axes)
    if not rotation.any():
        return [np.zeros_like(axes) for axes in factors]
    # The mean of the other factors shifts all points equally and has no effect.
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
    """Compute the effect of shifting points by noise, (shifts, e, k_j, d) for every factor."""
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
    """Measure sampling errors of fits to halves, and their change with twice the neighbours.

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
    """Scale errors of halves to those of the fit, which has other neighbourhoods.

    The bias due to curvature is proportional to the square of the radius r, so that
    ``b = slope r^2 / (r_2^2 - r_1^2)``. Sampling errors are as well, and also to one over the root
    of the degrees of freedom. Only the part of the slopes that both halves have in common is bias;
    its size is estimated from products of slopes of different halves.
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


# Repeated fits: on halves of the points, on noisier points, with other neighbourhoods.

HALF = "half of the points"
# Smallest number of groups for halves of whole groups; with fewer, each may cover its own region.
FEWEST_GROUPS = 4


@dataclass(frozen=True)
class RepeatedFit:
    """Result of one repetition of a fit.

    Attributes
    ----------
    what : str
        What was different.
    n : int
        Number of points of the fit.
    dims : tuple of int
        Dimensions of the factors; empty if there were too few points.
    angles : ndarray of shape (m,) or None
        Mean angle between each factor and its partner in the fit; None if the dimensions differ or
        no points were given.
    axes : ndarray of shape (e, k, d) or None
        Axes at the given points, in the order of the fit's factors; None like the angles.
    """

    what: str
    n: int
    dims: tuple[int, ...]
    angles: np.ndarray | None = None
    axes: np.ndarray | None = None


@dataclass(frozen=True)
class Variant:
    """Points and settings of a repeated fit."""

    what: str
    points: np.ndarray
    settings: dict[str, Any]
    groups: np.ndarray | None = None
    times: np.ndarray | None = None


def half_fits(
    fit: Fit, pairs: int, most: int | None, rng: np.random.Generator
) -> Iterator[Variant]:
    """Yield both random halves for every pair, or `most` points of one half if that is given.

    In the latter case factors are not refined either, which saves half of the time and changes
    their number only if a factor was split recursively.
    """
    first = distinct_rows(fit.places)[1]  # no copy of a row in the other half
    points = fit.points[first]
    groups, times = (None if of is None else of[first] for of in (fit.groups, fit.times))
    in_turn = any(len(part.dims) > 1 for part in fit.split.parts)
    settings = {} if most is None or in_turn else {"refinements": 0}
    for _ in range(pairs):
        halves = _fits_of_halves(len(points), groups, rng)
        for half in halves if most is None else halves[:1]:
            rows = np.sort(half[:most])
            own = (None if of is None else of[rows] for of in (groups, times))
            yield Variant(HALF, points[rows], settings, *own)


def _fits_of_halves(
    n: int, groups: np.ndarray | None, rng: np.random.Generator
) -> list[np.ndarray]:
    """Split rows into two random halves, of whole groups if there are enough of these.

    Rows of a group are not independent, so a group in both halves would make them agree.
    """
    if groups is None:
        return np.array_split(rng.permutation(n), 2)
    names, code = np.unique(groups, return_inverse=True)
    if len(names) < FEWEST_GROUPS:
        return np.array_split(rng.permutation(n), 2)
    turn = rng.permutation(len(names))
    before = np.cumsum(np.bincount(code)[turn])
    inside = np.isin(code, turn[before <= before[-1] / 2])
    # In random order, so that a truncated half is a sample of all its groups.
    return [rng.permutation(np.flatnonzero(half)) for half in (inside, ~inside)]


def changed_fits(
    fit: Fit, noise: float, repeats: int, rng: np.random.Generator
) -> Iterator[Variant]:
    """Yield fits to all points with additional noise, fewer neighbours and more neighbours."""
    points, recorded = fit.points, (fit.groups, fit.times)
    for _ in range(repeats if noise > 0 else 0):
        # Noise outside the reduced space would add dimensions to it.
        moved = noise * rng.standard_normal((len(points), len(fit.basis))) @ fit.basis
        yield Variant("noise once more", points + moved, {}, *recorded)
    own = fit.split.tangent_neighbors
    least = neighbors_for_tangents(fit.dim) if fit.settings.tangents == "curved" else fit.dim
    for what, count in (("half of the neighbours", own // 2), ("twice the neighbours", 2 * own)):
        if least <= count < len(points):
            yield Variant(what, points, {"tangent_neighbors": count}, *recorded)


def repeat_fit(
    est: GeoManCER, variant: Variant, rows: np.ndarray | None, n_jobs: int, seed: int
) -> RepeatedFit:
    """Repeat a fit, and compare the factors at given rows of the points.

    Parameters
    ----------
    est : GeoManCER
        Fitted.
    variant : Variant
    rows : ndarray of int, shape (e,), or None
        Points of the fit at which factors are compared; None skips the comparison.
    n_jobs, seed : int

    Returns
    -------
    RepeatedFit
    """
    other = clone(est).set_params(
        prepare=None,  # the points are already prepared
        metric="euclidean",
        dim=est.dim_,
        verbose=0,
        n_jobs=n_jobs,
        random_state=seed,
        **variant.settings,
    )
    n = len(variant.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself has given its warnings
        try:
            other.fit(variant.points, groups=variant.groups, times=variant.times)
            dims = tuple(int(dim) for dim in other.factor_dims_)
            if dims != tuple(est.factor_dims_) or rows is None or len(rows) == 0:
                return RepeatedFit(variant.what, n, dims)
            axes = other.at(est.points_[rows])
        except (InputError, np.linalg.LinAlgError):
            return RepeatedFit(variant.what, n, ())
    matched, angles = match_factors(est.axes_[rows], axes, dims)
    return RepeatedFit(variant.what, n, dims, angles, matched)


def match_factors(
    axes: np.ndarray, others: np.ndarray, dims: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Match the factors of two fits by the smallest mean angles.

    Parameters
    ----------
    axes, others : ndarray of shape (e, k, d)
    dims : tuple of int

    Returns
    -------
    axes : ndarray of shape (e, k, d)
    angles : ndarray of shape (m,)

    Examples
    --------
    >>> axes = np.eye(2)[None]
    >>> match_factors(axes, axes[:, ::-1], (1, 1))[0][0]
    array([[1., 0.],
           [0., 1.]])
    """
    stops = np.cumsum(dims)[:-1]
    own, found = np.split(axes, stops, axis=1), np.split(others, stops, axis=1)
    angles = np.array([[principal_angles(a, b).mean() for b in found] for a in own])
    partners = linear_sum_assignment(angles)[1]
    matched = np.concatenate([found[j] for j in partners], axis=1)
    return matched, angles[np.arange(len(dims)), partners]
