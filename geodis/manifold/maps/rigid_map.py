"""As-rigid-as-possible maps of a factor, whose differences along edges match its steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.jobs import njit, over_ranges
from geodis.manifold.flat.differences import Edges, solve_differences
from geodis.manifold.linalg import polar_rows

# Largest turning of an arc in radians; beyond, its chord says little about it.
MOST_TURNING = 2.0


@dataclass(frozen=True)
class Steps:
    """Steps within a factor between pairs of points, in the frames of both ends.

    Attributes
    ----------
    out, back : ndarray of shape (e, k_j)
        Step from i to j, in the axes of i and in those of j, with the length of the arc.
    turning : ndarray of shape (e,)
        Angle between the two in the ambient space.
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
    """Compute steps within one factor from points i to points j.

    Let ``c = A_i (x_j - x_i)`` be the components of the displacement along the factor's axes at one
    end, and ``phi`` the angle in the ambient space between the components at both ends. The step is
    ``c phi / sin(phi)``. This is exact on a circle, where the chord of an arc ``r phi`` has the
    component ``r sin(phi)``.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k_j, d)
        Orthonormal rows, the axes of the factor.
    i, j : ndarray of int, shape (e,)
    to_points, to_axes : ndarray, optional
        Points and axes indexed by j, by default those indexed by i.
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
    """Sum the outer products of two vectors over the edges of every point, shape (n, p, q).

    Parameters
    ----------
    i, j : ndarray of int, shape (e,)
        Ends of the edges among n points.
    n : int
    at_i, at_j : tuple of ndarray of shape (e, p), (e, q)
        The two vectors at both ends. One of them includes the weights.

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
            # For short steps under noise the angle is noise; limit it by that of the subspaces.
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


ROUNDS = 10
# Rounds stop when the misfit decreases by less than this share.
IMPROVED = 0.01
TOLERANCE = 1e-4
# Scales of the turning in radians and of the squared length (relative to its mean) in the weights
# of steps: the arcs of long and strongly turning steps are less accurate.
STEEP, LONG = 0.6, 0.1


@dataclass(frozen=True)
class RigidMap:
    """Coordinates of a factor and the frames of the map.

    Attributes
    ----------
    coordinates : ndarray of shape (c, r)
        Centred.
    frames : ndarray of shape (c, r, k_j)
        Orthonormal columns: the image of the factor's axes at every point.
    misfit : float
        Root mean square difference between steps and differences of coordinates, relative to the
        root mean square of the steps.
    """

    coordinates: np.ndarray
    frames: np.ndarray
    misfit: float


class RigidFit:
    """Alternating least squares for maps whose differences along edges are the steps of a factor.

    Two steps alternate. Every frame J_i is fitted to the steps of its point by regression and made
    orthonormal. The coordinates are the least-squares solution of ``y_j - y_i = t_ij``, where
    ``t_ij = (J_i c_ij + J_j c_ji) tan(psi / 2) / psi`` is the chord of an arc that turns by psi in
    the map, from the directions at both ends. Long and strongly turning steps have less weight.

    Parameters
    ----------
    steps : Steps
        Along the edges.
    edges : Edges
    """

    def __init__(self, steps: Steps, edges: Edges) -> None:
        squared = steps.lengths**2
        self.steps, self.edges = steps, edges
        self.dim = steps.out.shape[1]
        self._weights = 1 / (1 + (steps.turning / STEEP) ** 4) / (squared / squared.mean() + LONG)
        weights = self._weights[:, None]
        out, back = (weights * steps.out, steps.out), (weights * steps.back, steps.back)
        gram = edge_moments(edges.i, edges.j, edges.n, out, back)
        ridge = 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] + np.finfo(float).tiny
        self._inverse = np.linalg.inv(gram + ridge * np.eye(self.dim))

    def refine(self, start: np.ndarray, rounds: int = ROUNDS) -> RigidMap:
        """Refine an initial map (c, r) for at most so many rounds."""
        i, j, steps = self.edges.i, self.edges.j, self.steps
        coordinates = start - start.mean(axis=0)
        differences = self.edges.difference(coordinates)
        frames = orthonormal_columns(self._regression(differences, differences))
        misfit = np.inf
        for _ in range(rounds):
            frames = self._improved(frames, coordinates)
            chords = chords_of(frames[i], frames[j], steps.out, steps.back)
            coordinates = solve_differences(
                self.edges, chords, self._weights, coordinates, tolerance=TOLERANCE
            )
            before, misfit = misfit, self._misfit(coordinates, chords)
            if misfit > (1 - IMPROVED) * before:
                break
        return RigidMap(coordinates, frames, misfit)

    def _improved(self, frames: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        """Take a damped step towards frames that explain differences by their mean over both ends.

        A regression of differences on steps would be biased where neighbours are on one side, at
        boundaries and density gradients. Subtracting the contribution of the other end avoids this.
        """
        first = np.einsum("erk,ek->er", frames[self.edges.i], self.steps.out)
        last = np.einsum("erk,ek->er", frames[self.edges.j], self.steps.back)
        twice = self.edges.difference(coordinates) / _stretch(first, last)[:, None]
        return orthonormal_columns((frames + self._regression(twice - last, twice - first)) / 2)

    def _regression(self, at_i: np.ndarray, at_j: np.ndarray) -> np.ndarray:
        """Regress values (e, r) at both ends of the edges on the steps of every point."""
        edges, weights = self.edges, self._weights[:, None]
        out, back = (self.steps.out, weights * at_i), (self.steps.back, weights * at_j)
        moments = edge_moments(edges.i, edges.j, edges.n, out, back)  # (n, k, r)
        return np.swapaxes(self._inverse @ moments, 1, 2)

    def _misfit(self, coordinates: np.ndarray, chords: np.ndarray) -> float:
        """Return the root mean square residual relative to the chords."""
        left = ((self.edges.difference(coordinates) - chords) ** 2).sum(axis=1) @ self._weights
        return float(np.sqrt(left / ((chords**2).sum(axis=1) @ self._weights)))


def chords_of(
    from_frames: np.ndarray, to_frames: np.ndarray, out: np.ndarray, back: np.ndarray
) -> np.ndarray:
    """Compute chords (e, r) in a map from the directions of steps at both ends.

    Parameters
    ----------
    from_frames, to_frames : ndarray of shape (e, r, k_j)
    out, back : ndarray of shape (e, k_j)

    Examples
    --------
    >>> half = np.pi / 2  # a quarter of the unit circle, from (1, 0) to (0, 1)
    >>> ends = np.array([[[0.0], [1.0]]]), np.array([[[-1.0], [0.0]]])
    >>> chords_of(*ends, np.array([[half]]), np.array([[half]])).round(9).tolist()
    [[-1.0, 1.0]]
    """
    first = np.einsum("erk,ek->er", from_frames, out)
    last = np.einsum("erk,ek->er", to_frames, back)
    return (first + last) * _stretch(first, last)[:, None]


def orthonormal_columns(frames: np.ndarray) -> np.ndarray:
    """Return the nearest frames (..., r, k) with orthonormal columns."""
    return np.swapaxes(polar_rows(np.swapaxes(frames, -1, -2)), -1, -2)


def _stretch(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the chord of an arc relative to the sum of its end directions: tan(psi / 2) / psi."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1)
    cosine = (first * last).sum(axis=1) / np.maximum(norms, np.finfo(float).tiny)
    psi = np.minimum(np.arccos(np.clip(cosine, -1, 1)), MOST_TURNING)
    return np.where(psi > 1e-6, np.tan(psi / 2) / np.maximum(psi, 1e-6), 0.5)
