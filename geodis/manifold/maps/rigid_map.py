"""A first map -> one that is as rigid as possible: every step keeps its length and direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.compiled import njit
from geodis.manifold.flat.differences import Edges, solve_differences
from geodis.manifold.linalg import polar_rows
from geodis.manifold.maps.edge_steps import MOST_TURNING, Steps

ROUNDS = 10
# Rounds end when they lower the misfit by less than this share.
IMPROVED = 0.01
TOLERANCE = 1e-4
# Steps that turn by more than so many radians, and those longer than the root mean square by more
# than this share of it, count less: their arcs are known less well.
STEEP, LONG = 0.6, 0.1


@dataclass(frozen=True)
class RigidMap:
    """Coordinates, and how directions of the factor lie in them.

    Attributes
    ----------
    coordinates : ndarray of shape (c, r)
        Centred.
    frames : ndarray of shape (c, r, k_j)
        Orthonormal columns: where the map takes the factor's axes at every point.
    misfit : float
        Root mean square of what steps and differences of coordinates differ by, over that of the
        steps.
    """

    coordinates: np.ndarray
    frames: np.ndarray
    misfit: float


def step_weights(steps: Steps) -> np.ndarray:
    """How much every step counts: long ones and those along a steep arc less."""
    squared = steps.lengths**2
    return 1 / (1 + (steps.turning / STEEP) ** 4) / (squared / squared.mean() + LONG)


def refine_map(
    start: np.ndarray,
    steps: Steps,
    edges: Edges,
    weights: np.ndarray,
    *,
    rounds: int = ROUNDS,
) -> RigidMap:
    """Turn a map into one whose differences along all edges are the factor's steps.

    In turn, every point's frame J_i is fitted to its steps by regression and made orthonormal,
    and the coordinates are the least-squares solution of ``y_j - y_i = t_ij``, where
    ``t_ij = (J_i c_ij + J_j c_ji) tan(psi / 2) / psi`` is the chord in the map of an arc that
    turns by psi in it, from the directions at both ends.

    Parameters
    ----------
    start : ndarray of shape (c, r)
    steps : Steps
        Along the edges.
    edges : Edges
    weights : ndarray of shape (e,)
    rounds : int

    Returns
    -------
    RigidMap
    """
    gram = _gram(steps.out, steps.back, edges.i, edges.j, weights, edges.n)
    k = gram.shape[1]
    ridge = 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] + np.finfo(float).tiny
    inverse = np.linalg.inv(gram + ridge * np.eye(k))
    coordinates = start - start.mean(axis=0)
    differences = edges.difference(coordinates)
    frames = _fitted_frames(differences, differences, steps, edges, weights, inverse)
    misfit = np.inf
    for _ in range(rounds):
        frames = _better_frames(frames, coordinates, steps, edges, weights, inverse)
        chords = chords_of(frames[edges.i], frames[edges.j], steps.out, steps.back)
        coordinates = solve_differences(edges, chords, weights, coordinates, tolerance=TOLERANCE)
        before, misfit = misfit, _misfit(coordinates, chords, edges, weights)
        if misfit > (1 - IMPROVED) * before:
            break
    return RigidMap(coordinates, frames, misfit)


def chords_of(
    from_frames: np.ndarray, to_frames: np.ndarray, out: np.ndarray, back: np.ndarray
) -> np.ndarray:
    """Chords in a map of steps whose directions at both ends are known, shape (e, r).

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


def _better_frames(
    frames: np.ndarray,
    coordinates: np.ndarray,
    steps: Steps,
    edges: Edges,
    weights: np.ndarray,
    inverse: np.ndarray,
) -> np.ndarray:
    """One damped step towards the frames of which half the sum at both ends is the difference.

    The regression of differences on steps would tilt frames where neighbours are on one side, at
    boundaries and where the density falls; what is left when the other end's half is taken away
    does not.
    """
    first = np.einsum("erk,ek->er", frames[edges.i], steps.out)
    last = np.einsum("erk,ek->er", frames[edges.j], steps.back)
    twice = edges.difference(coordinates) / _stretch(first, last)[:, None]
    left = _fitted_frames(twice - last, twice - first, steps, edges, weights, inverse, raw=True)
    return _orthonormal((frames + left) / 2)


def _fitted_frames(
    at_i: np.ndarray,
    at_j: np.ndarray,
    steps: Steps,
    edges: Edges,
    weights: np.ndarray,
    inverse: np.ndarray,
    *,
    raw: bool = False,
) -> np.ndarray:
    """At every point the regression on its steps of what is seen along them, orthonormal or raw."""
    seen = _moments(at_i, at_j, steps.out, steps.back, edges.i, edges.j, weights, edges.n)
    fitted = np.swapaxes(inverse @ seen, 1, 2)
    return fitted if raw else _orthonormal(fitted)


def _orthonormal(frames: np.ndarray) -> np.ndarray:
    return np.swapaxes(polar_rows(np.swapaxes(frames, 1, 2)), 1, 2)


def _stretch(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Chord of an arc over the sum of its directions at both ends: tan(psi / 2) / psi."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1)
    cosine = (first * last).sum(axis=1) / np.maximum(norms, np.finfo(float).tiny)
    psi = np.minimum(np.arccos(np.clip(cosine, -1, 1)), MOST_TURNING)
    return np.where(psi > 1e-6, np.tan(psi / 2) / np.maximum(psi, 1e-6), 0.5)


def _misfit(
    coordinates: np.ndarray, chords: np.ndarray, edges: Edges, weights: np.ndarray
) -> float:
    left = ((edges.difference(coordinates) - chords) ** 2).sum(axis=1) @ weights
    return float(np.sqrt(left / ((chords**2).sum(axis=1) @ weights)))


@njit(nogil=True, cache=True)
def _gram(
    out: np.ndarray, back: np.ndarray, i: np.ndarray, j: np.ndarray, weights: np.ndarray, n: int
) -> np.ndarray:  # pragma: no cover
    """Sum over the edges of every point of c c^T, shape (n, k, k)."""
    k = out.shape[1]
    gram = np.zeros((n, k, k))
    for e in range(len(i)):
        for a in range(k):
            for b in range(k):
                gram[i[e], a, b] += weights[e] * out[e, a] * out[e, b]
                gram[j[e], a, b] += weights[e] * back[e, a] * back[e, b]
    return gram


@njit(nogil=True, cache=True)
def _moments(
    at_i: np.ndarray,
    at_j: np.ndarray,
    out: np.ndarray,
    back: np.ndarray,
    i: np.ndarray,
    j: np.ndarray,
    weights: np.ndarray,
    n: int,
) -> np.ndarray:  # pragma: no cover
    """Sum over the edges of every point of c t^T, shape (n, k, r), t what is seen at its end."""
    r, k = at_i.shape[1], out.shape[1]
    seen = np.zeros((n, k, r))
    for e in range(len(i)):
        p, q = i[e], j[e]
        for a in range(k):
            for c in range(r):
                seen[p, a, c] += weights[e] * at_i[e, c] * out[e, a]
                seen[q, a, c] += weights[e] * at_j[e, c] * back[e, a]
    return seen
