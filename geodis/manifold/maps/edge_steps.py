"""Displacements between neighbours -> steps within one factor, as long as arcs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import over_ranges

# Beyond so much turning, in radians, a chord says little about its arc.
MOST_TURNING = 2.0


@dataclass(frozen=True)
class Steps:
    """Steps within a factor along pairs of points, in the frames of both ends.

    Attributes
    ----------
    out, back : ndarray of shape (e, k_j)
        From i to j, in the axes of i and in those of j; as long as the arc.
    turning : ndarray of shape (e,)
        Angle between both in the ambient space.
    """

    out: np.ndarray
    back: np.ndarray
    turning: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Mean length of the step in both frames, shape (e,)."""
        squared = (self.out**2).sum(axis=1), (self.back**2).sum(axis=1)
        return (np.sqrt(squared[0]) + np.sqrt(squared[1])) / 2


def steps_within(
    points: np.ndarray,
    axes: np.ndarray,
    i: np.ndarray,
    j: np.ndarray,
    *,
    to_points: np.ndarray | None = None,
    to_axes: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Steps:
    """Steps within one factor from points i to points j.

    With ``c = A_i (x_j - x_i)`` the displacement's components along the factor's axes at one end
    and ``phi`` the angle in the ambient space between those at both ends, the step is
    ``c phi / sin(phi)``: exact on a circle, whose chord of arc ``r phi`` has the component
    ``r sin(phi)``.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k_j, d)
        Orthonormal rows: those of the factor.
    i, j : ndarray of int, shape (e,)
    to_points, to_axes : ndarray, optional
        What j counts in, where it is not the same.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    Steps

    Examples
    --------
    >>> angle = np.array([0.0, 0.5])
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> axes = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[:, None]
    >>> steps = steps_within(circle, axes, np.array([0]), np.array([1]))
    >>> steps.out.round(9).tolist(), steps.turning.round(9).tolist()
    ([[0.5]], [0.5])
    """
    out = np.empty((len(i), axes.shape[1]))
    back, turning = np.empty_like(out), np.empty(len(i))
    to_points = points if to_points is None else to_points
    to_axes = axes if to_axes is None else to_axes
    points, axes, to_points, to_axes = (
        np.ascontiguousarray(values, dtype=float) for values in (points, axes, to_points, to_axes)
    )
    i, j = np.asarray(i, np.int64), np.asarray(j, np.int64)

    def work(start: int, stop: int) -> None:
        _steps(points, axes, to_points, to_axes, i, j, out, back, turning, start, stop)

    over_ranges(work, len(i), n_jobs)
    return Steps(out, back, turning)


def edge_moments(
    i: np.ndarray,
    j: np.ndarray,
    n: int,
    at_i: tuple[np.ndarray, np.ndarray],
    at_j: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Sums over the edges of every point of the outer products of two vectors, shape (n, p, q).

    Parameters
    ----------
    i, j : ndarray of int, shape (e,)
        Ends of the edges, among n points.
    n : int
    at_i, at_j : tuple of ndarray of shape (e, p), (e, q)
        The vectors at both ends; weights are part of one of them.

    Examples
    --------
    >>> one, two = np.ones((1, 1)), np.array([[2.0, 3.0]])
    >>> edge_moments(np.array([0]), np.array([1]), 2, (one, two), (one, -two))
    array([[[ 2.,  3.]],
    <BLANKLINE>
           [[-2., -3.]]])
    """
    total = np.zeros((n, at_i[0].shape[1], at_i[1].shape[1]))
    _add_moments(i, j, *at_i, *at_j, total)
    return total


@njit(nogil=True, cache=True)
def _add_moments(  # type: ignore[no-untyped-def]
    i, j, left_i, right_i, left_j, right_j, total
):  # pragma: no cover
    for e in range(len(i)):
        for a in range(total.shape[1]):
            for b in range(total.shape[2]):
                total[i[e], a, b] += left_i[e, a] * right_i[e, b]
                total[j[e], a, b] += left_j[e, a] * right_j[e, b]


@njit(nogil=True, cache=True, error_model="numpy")
def _steps(  # type: ignore[no-untyped-def]
    points, axes, to_points, to_axes, i, j, out, back, turning, start, stop
):  # pragma: no cover
    k, d = axes.shape[1:]
    chord = np.empty(d)
    for e in range(start, stop):
        p, q = i[e], j[e]
        for c in range(d):
            chord[c] = to_points[q, c] - points[p, c]
        norm_p = norm_q = 0.0
        for a in range(k):
            along_p = along_q = 0.0
            for c in range(d):
                along_p += axes[p, a, c] * chord[c]
                along_q += to_axes[q, a, c] * chord[c]
            out[e, a], back[e, a] = along_p, along_q
            norm_p += along_p * along_p
            norm_q += along_q * along_q
        both = 0.0
        for c in range(d):
            at_p = at_q = 0.0
            for a in range(k):
                at_p += axes[p, a, c] * out[e, a]
                at_q += to_axes[q, a, c] * back[e, a]
            both += at_p * at_q
        turning[e] = 0.0
        if norm_p > 0 and norm_q > 0:
            cosine = min(1.0, max(-1.0, both / np.sqrt(norm_p * norm_q)))
            phi = min(np.arccos(cosine), MOST_TURNING)
            # Of a short step under noise the angle is noise: it is at most that of the subspaces.
            common = 0.0
            for a in range(k):
                for b in range(k):
                    product = 0.0
                    for c in range(d):
                        product += axes[p, a, c] * to_axes[q, b, c]
                    common += product * product
            if k - common < 1.0:
                phi = min(phi, np.arcsin(np.sqrt(max(k - common, 0.0))))
            turning[e] = phi
            if phi > 1e-6:
                stretch = phi / np.sin(phi)
                for a in range(k):
                    out[e, a] *= stretch
                    back[e, a] *= stretch
