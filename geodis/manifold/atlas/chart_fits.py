"""Quadratic fits about every point of a chart: rotation of the frames, and coordinates nearby."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from geodis.base.jobs import blocks, njit, over_ranges
from geodis.manifold.linalg import FAST
from geodis.manifold.local.exact_search import Search
from geodis.manifold.local.quadratic_fits import gaussian_weights, quadratic_pairs, tangent_terms
from geodis.manifold.local.quadratic_kernels import regress

# The second fit corrects for the fourth order of arcs.
BEND_ROUNDS = 2
# No fourth order is subtracted for arcs that turn by more, in radians.
MOST_TURNED = 1.0
# Number of points in a block of the neighbour search.
SEARCHED = 2**12


@dataclass(frozen=True)
class LocalValues:
    """Values at the points, and the axes on which they depend.

    Attributes
    ----------
    values : ndarray of shape (n, r)
        Values at the fitted points.
    own : slice
        Rows of the frames on which they depend.
    """

    values: np.ndarray
    own: slice


@dataclass(frozen=True)
class ChartFits:
    """Quadratic fits about every point of a chart.

    Attributes
    ----------
    bends : ndarray of shape (n, k (k + 1) / 2, c)
        Second derivatives normal to the frames, for pairs of axes a <= b.
    radius : ndarray of shape (n,)
        Distance of the farthest neighbour of each fit.
    polynomials : tuple of ndarray of shape (n, 1 + k_o + k_o (k_o + 1) / 2, r)
        For every `LocalValues`, coefficients of 1, of every axis, and of every pair.
    """

    bends: np.ndarray
    radius: np.ndarray
    polynomials: tuple[np.ndarray, ...]


def chart_fits(
    places: np.ndarray,
    frames: np.ndarray,
    search: Search,
    count: int,
    varying: Sequence[LocalValues] = (),
    *,
    n_jobs: int | None = None,
) -> ChartFits:
    r"""Fit quadratics about every point in its frame.

    With t = A_i (x_j - x_i) and the weights of `tangent_frames`::

        x_j - x_i  ~  c + sum_a t_a l_a + sum_{a <= b} t_a t_b q_ab
        D_ab = (1 + [a = b]) q_ab (1 - A_i^T A_i)

    so that the axes at a nearby point are ``A_a + sum_b t_b D_ab`` made orthonormal, which is
    parallel transport to first order. To account for the fourth order of arcs, the fit is repeated
    for ``x_j - x_i - D(t, N(t) N(t)^T t) / 8`` with N(t) = sum_b t_b D_.b. This is exact to the
    fifth order on spheres, rotation groups and other symmetric spaces.

    Parameters
    ----------
    places : ndarray of shape (n, c)
        Distinct.
    frames : ndarray of shape (n, k, c)
        Orthonormal rows.
    search : Search
        Nearest-neighbour search among the places.
    count : int
        Neighbours of a fit including the point itself; at least the number of unknowns.
    varying : sequence of LocalValues
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ChartFits

    Examples
    --------
    >>> from geodis.manifold.local.exact_search import searcher
    >>> angle = np.linspace(0, 6, 200)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> frames = np.column_stack([-np.sin(angle), np.cos(angle)])[:, None]
    >>> fits = chart_fits(circle, frames, searcher(circle), 9)
    >>> bool(np.allclose(fits.bends[100, 0], -circle[100], atol=1e-3))
    True
    """
    n, k, c = frames.shape
    first, second = quadratic_pairs(k)
    bends = np.zeros((n, len(first), c), np.float32)
    radius = np.empty(n, np.float32)
    polynomials = tuple(
        np.empty(
            (n, tangent_terms(each.own.stop - each.own.start), each.values.shape[1]), np.float32
        )
        for each in varying
    )
    order = np.arange(n) if search.order is None else search.order
    places, frames = np.ascontiguousarray(places, float), np.ascontiguousarray(frames, float)
    for block in blocks(n, SEARCHED):
        rows = np.asarray(order[block], np.int64)
        indices, distances = search(places[rows], count)
        indices = np.asarray(indices, np.int64)
        roots = np.sqrt(gaussian_weights(distances))
        radius[rows] = distances[:, -1]
        if k < c:
            fit: Any = partial(
                _fit_bends, places, frames, rows, indices, roots, first, second, bends
            )
            over_ranges(fit, len(rows), n_jobs)
        for each, fitted in zip(varying, polynomials, strict=True):
            own = np.ascontiguousarray(frames[:, each.own])
            values = np.ascontiguousarray(each.values, float)
            pairs = quadratic_pairs(own.shape[1])
            fit = partial(_fit_values, places, own, values, rows, indices, roots, *pairs, fitted)
            over_ranges(fit, len(rows), n_jobs)
    return ChartFits(bends, radius, polynomials)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def _fit_bends(  # type: ignore[no-untyped-def]
    places, frames, rows, indices, roots, first, second, bends, start, stop
):  # pragma: no cover
    k, c = frames.shape[1:]
    count, terms = indices.shape[1], 1 + k + len(first)
    t, left, chords = np.empty((k, count)), np.empty((c, count)), np.empty((c, count))
    scaled, design = np.empty((k, count)), np.empty((terms + c, count))
    system, found = np.empty((terms + c, terms)), np.empty((terms, c))
    turned, arc = np.empty((k, c)), np.empty(k)
    for row in range(start, stop):
        i = rows[row]
        _load(places, frames, i, indices[row], chords, t)
        for x in range(c):
            for j in range(count):
                left[x, j] = chords[x, j]
        for round_ in range(BEND_ROUNDS):
            if round_:
                for j in range(count):
                    _less_fourth_order(found, t, first, second, j, turned, arc, left, chords)
            regress(t, roots[row], left, first, second, scaled, design, system, found)
            for pair in range(len(first)):
                own = found[1 + k + pair]
                if first[pair] == second[pair]:
                    for x in range(c):
                        own[x] *= 2.0
                for a in range(k):
                    inside = 0.0
                    for x in range(c):
                        inside += own[x] * frames[i, a, x]
                    for x in range(c):
                        own[x] -= inside * frames[i, a, x]
        for pair in range(len(first)):
            for x in range(c):
                bends[i, pair, x] = found[1 + k + pair, x]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def _fit_values(  # type: ignore[no-untyped-def]
    places, frames, values, rows, indices, roots, first, second, polynomials, start, stop
):  # pragma: no cover
    k, c = frames.shape[1:]
    r, count, terms = values.shape[1], indices.shape[1], 1 + k + len(first)
    t, chords, targets = np.empty((k, count)), np.empty((c, count)), np.empty((r, count))
    scaled, design = np.empty((k, count)), np.empty((terms + r, count))
    system, found = np.empty((terms + r, terms)), np.empty((terms, r))
    for row in range(start, stop):
        i = rows[row]
        _load(places, frames, i, indices[row], chords, t)
        for x in range(r):
            for j in range(count):
                targets[x, j] = values[indices[row, j], x]
        regress(t, roots[row], targets, first, second, scaled, design, system, found)
        for u in range(terms):
            for x in range(r):
                polynomials[i, u, x] = found[u, x]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def _load(places, frames, i, near, chords, t):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Fill in the chords (c, nt) to the neighbours and their components (k, nt) in the frame."""
    for x in range(len(chords)):
        for j in range(len(near)):
            chords[x, j] = places[near[j], x] - places[i, x]
    t[:] = 0.0
    for a in range(len(t)):
        for x in range(len(chords)):
            for j in range(len(near)):
                t[a, j] += frames[i, a, x] * chords[x, j]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def _less_fourth_order(  # type: ignore[no-untyped-def]
    found, t, first, second, j, turned, arc, left, chords
):  # pragma: no cover
    """Subtract D(t, N N^T t) / 8 from the chord to neighbour j."""
    k, c = turned.shape
    turned[:] = 0.0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        for x in range(c):
            turned[a, x] += t[b, j] * found[1 + k + pair, x]
            if a != b:
                turned[b, x] += t[a, j] * found[1 + k + pair, x]
    size = 0.0
    for a in range(k):
        for x in range(c):
            size += turned[a, x] * turned[a, x]
    if size > MOST_TURNED**2:
        return
    for a in range(k):
        arc[a] = 0.0
        for b in range(k):
            both = 0.0
            for x in range(c):
                both += turned[a, x] * turned[b, x]
            arc[a] += both * t[b, j]
    for x in range(c):
        beyond = 0.0
        for a in range(k):
            beyond += turned[a, x] * arc[a]
        left[x, j] = chords[x, j] - beyond / 8.0
