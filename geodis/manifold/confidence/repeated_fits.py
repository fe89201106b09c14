"""A fit -> the same fit on halves of the points, on noisier points, with other neighbourhoods."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from geodis.base.check import InputError
from geodis.manifold.angles import principal_angles
from geodis.manifold.fitted import Fit
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.tangents import neighbors_for_tangents

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER

HALF = "half of the points"
# Groups from which on halves are of whole groups; of fewer each may have places of its own.
FEWEST_GROUPS = 4


@dataclass(frozen=True)
class RepeatedFit:
    """What one repetition of a fit found.

    Attributes
    ----------
    what : str
        What was different.
    n : int
        Points that it was fitted to.
    dims : tuple of int
        Of the factors; empty where there were too few points.
    angles : ndarray of shape (m,) or None
        Mean angle between each factor and its partner in the fit; None where the dimensions
        differ, or where no points were given.
    axes : ndarray of shape (e, k, d) or None
        At the given points, in the order of the fit's factors; None like the angles.
    """

    what: str
    n: int
    dims: tuple[int, ...]
    angles: np.ndarray | None = None
    axes: np.ndarray | None = None


@dataclass(frozen=True)
class Variant:
    """Points and settings of a fit that is to be repeated."""

    what: str
    points: np.ndarray
    settings: dict[str, Any]
    groups: np.ndarray | None = None
    times: np.ndarray | None = None


def half_fits(
    fit: Fit, pairs: int, most: int | None, rng: np.random.Generator
) -> Iterator[Variant]:
    """Both random halves, so many times; `most` points of one half where that is given.

    Then factors are not refined either, which takes half of the time and changes their number only
    where a factor was split in turn.
    """
    first = distinct_rows(fit.places)[1]  # no copy of a row in the other half
    points = fit.points[first]
    groups, times = (None if of is None else of[first] for of in (fit.groups, fit.times))
    in_turn = any(len(part.dims) > 1 for part in fit.split.parts)
    settings = {} if most is None or in_turn else {"refinements": 0}
    for _ in range(pairs):
        halves = _halves(len(points), groups, rng)
        for half in halves if most is None else halves[:1]:
            rows = np.sort(half[:most])
            own = (None if of is None else of[rows] for of in (groups, times))
            yield Variant(HALF, points[rows], settings, *own)


def _halves(n: int, groups: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
    """Random rows in two halves: whole groups where there are enough of them.

    Rows of a group are no independent samples, and those of one half would be known from the other.
    """
    if groups is None:
        return np.array_split(rng.permutation(n), 2)
    names, code = np.unique(groups, return_inverse=True)
    if len(names) < FEWEST_GROUPS:
        return np.array_split(rng.permutation(n), 2)
    turn = rng.permutation(len(names))
    before = np.cumsum(np.bincount(code)[turn])
    inside = np.isin(code, turn[before <= before[-1] / 2])
    # A half that is cut short is a sample of all its groups.
    return [rng.permutation(np.flatnonzero(half)) for half in (inside, ~inside)]


def changed_fits(
    fit: Fit, noise: float, repeats: int, rng: np.random.Generator
) -> Iterator[Variant]:
    """Fits to all points: with noise once more, with fewer and with more neighbours."""
    points, recorded = fit.points, (fit.groups, fit.times)
    for _ in range(repeats if noise > 0 else 0):
        # Noise in directions that do not vary would make them vary.
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
    """Fit again, and compare the factors at some rows of the points, if there are any.

    Parameters
    ----------
    est : GeoManCER
        Fitted.
    variant : Variant
    rows : ndarray of int, shape (e,), or None
        Points of the fit at which factors are compared; None leaves them.
    n_jobs, seed : int

    Returns
    -------
    RepeatedFit
    """
    other = clone(est).set_params(
        prepare=None,  # the points have been through both
        metric="euclidean",
        dim=est.dim_,
        verbose=0,
        n_jobs=n_jobs,
        random_state=seed,
        **variant.settings,
    )
    n = len(variant.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a part say nothing new about the whole
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
    """Other axes in the order of factors with the smallest mean angles, and those angles.

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
