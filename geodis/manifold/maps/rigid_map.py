"""A first map -> one that is as rigid as possible: every step keeps its length and direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.flat.differences import Edges, solve_differences
from geodis.manifold.linalg import polar_rows
from geodis.manifold.maps.edge_steps import MOST_TURNING, Steps, edge_moments

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


class RigidFit:
    """Maps whose differences along all edges are the steps of a factor.

    In turn, every point's frame J_i is fitted to its steps by regression and made orthonormal,
    and the coordinates are the least-squares solution of ``y_j - y_i = t_ij``, where
    ``t_ij = (J_i c_ij + J_j c_ji) tan(psi / 2) / psi`` is the chord in the map of an arc that
    turns by psi in it, from the directions at both ends. Long steps and those along a steep arc
    count less.

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
        """Refine a first map (c, r) for so many rounds at most."""
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
        """One damped step towards frames whose mean at both ends of an edge is the difference.

        The regression of differences on steps would tilt frames where neighbours are on one side,
        at boundaries and where the density falls. The regression of what the other end leaves of
        the difference does not.
        """
        first = np.einsum("erk,ek->er", frames[self.edges.i], self.steps.out)
        last = np.einsum("erk,ek->er", frames[self.edges.j], self.steps.back)
        twice = self.edges.difference(coordinates) / _stretch(first, last)[:, None]
        return orthonormal_columns((frames + self._regression(twice - last, twice - first)) / 2)

    def _regression(self, at_i: np.ndarray, at_j: np.ndarray) -> np.ndarray:
        """At every point, the regression on its steps of values (e, r) seen along them."""
        return np.swapaxes(self._inverse @ self._moments(at_i, at_j), 1, 2)

    def _moments(self, at_i: np.ndarray, at_j: np.ndarray) -> np.ndarray:
        """Sums over the edges of every point of w c t^T, for values t at both ends: (n, k, r)."""
        weights = self._weights[:, None]
        return edge_moments(
            self.edges.i,
            self.edges.j,
            self.edges.n,
            (self.steps.out, weights * at_i),
            (self.steps.back, weights * at_j),
        )

    def _misfit(self, coordinates: np.ndarray, chords: np.ndarray) -> float:
        left = ((self.edges.difference(coordinates) - chords) ** 2).sum(axis=1) @ self._weights
        return float(np.sqrt(left / ((chords**2).sum(axis=1) @ self._weights)))


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


def orthonormal_columns(frames: np.ndarray) -> np.ndarray:
    """The nearest frames (..., r, k) with orthonormal columns."""
    return np.swapaxes(polar_rows(np.swapaxes(frames, -1, -2)), -1, -2)


def _stretch(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Chord of an arc over the sum of its directions at both ends: tan(psi / 2) / psi."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1)
    cosine = (first * last).sum(axis=1) / np.maximum(norms, np.finfo(float).tiny)
    psi = np.minimum(np.arccos(np.clip(cosine, -1, 1)), MOST_TURNING)
    return np.where(psi > 1e-6, np.tan(psi / 2) / np.maximum(psi, 1e-6), 0.5)
