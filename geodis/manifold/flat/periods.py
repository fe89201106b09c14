"""An unrolling -> its closed directions: periods of circles, cylinders and flat tori.

On a closed direction the coordinates come back changed by a period. The steps around a loop then
sum to a vector of the lattice of periods, and to zero around every other loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from geodis.manifold.flat.differences import solve_differences
from geodis.manifold.flat.unroll import Unrolling, along_tree, integrate, unexplained

# A loop vector longer than so many median steps is a jump over a seam.
JUMPS = (4.0, 7.0, 12.0, 20.0, 35.0)
# Loop vectors within this part of their length are copies of one lattice vector.
SAME_VECTOR = 0.2
RARE_CLUSTER = 0.02
# A refined period must stay near the lattice, and few residuals may be ambiguous.
NEAR_LATTICE, MANY_AMBIGUOUS = 0.3, 0.01
# Nor more than this part of the edges over the seam: where noise is wider than neighbours are far,
# loops that err have every length up to some, and a seam's have one. From the second part on,
# longer jumps are looked at too.
AMBIGUOUS_AT_SEAM, CLEAR_SEAM = 0.02, 0.002
SHORTEST_PERIOD = 1.3
# Lattice vectors at a smaller cosine are orthogonal: two circles rather than one torus.
ORTHOGONAL = 0.1
# Steps of a lattice reduction at most. Loops of real data take a few dozen: rounding errors and
# vectors of length zero must not make it run for ever.
MOST_STEPS, ROUNDING = 1_000, 1e-9


@dataclass(frozen=True)
class Periods:
    """Closed directions of a flat part.

    Attributes
    ----------
    vectors : ndarray of shape (b, f)
        Periods in the coordinates of the unrolling; none where nothing closes.
    groups : tuple of tuple of int
        Which vectors belong together: orthogonal ones are circles of their own.
    unrolling : Unrolling
        With coordinates that jump by whole periods where a seam is crossed, wrapped into one
        period.
    n_jumps : int
        Edges that cross a seam.
    ambiguous : float
        The part of these of which it is not clear how many periods they jump.
    """

    vectors: np.ndarray
    groups: tuple[tuple[int, ...], ...]
    unrolling: Unrolling
    n_jumps: int
    ambiguous: float = 0.0

    def __len__(self) -> int:
        return len(self.vectors)


def find_periods(unrolled: Unrolling) -> Periods:
    r"""Find the periods of the closed directions, and the coordinates that respect them.

    Coordinates t are summed along the tree; an edge whose loop vector ``t_j - t_i - c_ij`` is
    long crosses a seam. Without these edges the coordinates are solved anew; the loop vectors of
    the seam are then nearly in the lattice of periods. With a reduced basis B of it, the integers
    ``m = round((u_j - u_i - c) B^-1)`` on every edge, and the parts h of m and r of c that no
    coordinates explain, the periods are ``P = -(h^T W h)^-1 h^T W r``, and the coordinates
    minimise ``sum w |u_j - u_i - c_ij - m_ij P|^2``.

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> from geodis.manifold.flat.unroll import parallel_frame, unrolled_coordinates
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> tangent = np.column_stack([-circle[:, 1], circle[:, 0]])[:, None]
    >>> graph = neighbor_graph(circle, 2)
    >>> frame = parallel_frame(tangent, graph)
    >>> periods = find_periods(unrolled_coordinates(circle, frame, graph))
    >>> bool(abs(abs(periods.vectors[0, 0]) - 2 * np.pi) < 1e-3)
    True
    """
    edges, steps = unrolled.edges, unrolled.steps
    f = steps.shape[1]
    typical = float(np.median(np.sqrt((steps**2).sum(axis=1))))
    tree = along_tree(steps, unrolled.tree, edges)
    loops = np.sqrt(((edges.difference(tree) - steps) ** 2).sum(axis=1))
    # A seam is crossed by a wall of edges, not by a few that err.
    needed = max(1.0, edges.n ** ((f - 1) / f) / 3)
    best = Periods(np.zeros((0, f)), (), unrolled, 0, ambiguous=1.0)
    for factor in JUMPS:
        tau = factor * typical
        jumps = loops > tau
        if jumps.sum() < needed:
            break  # longer thresholds have fewer still
        found = _periods_at(unrolled, tree, jumps, tau)
        if found is None or len(found) < len(best) or found.ambiguous >= best.ambiguous:
            continue
        best = found
        if best.ambiguous <= CLEAR_SEAM:
            break
    return best


def _periods_at(
    unrolled: Unrolling, tree: np.ndarray, jumps: np.ndarray, tau: float
) -> Periods | None:
    edges, steps, base = unrolled.edges, unrolled.steps, unrolled.base
    inside = np.where(jumps, 0.0, base)
    open_values = solve_differences(edges, steps, inside, tree, tolerance=1e-5)
    loops = edges.difference(open_values) - steps
    clusters = _clusters(loops[jumps])
    # Rare clusters may be loops that err, and halve a lattice that the full ones have: of the
    # lattices that explain the jumps the one with most directions, and of these the coarsest.
    best: Periods | None = None
    tried: list[np.ndarray] = []
    for count in range(len(clusters), 0, -1):
        basis = _lattice_basis(clusters[:count], tau)
        if best is not None and len(basis) < len(best):
            break
        if not any(np.array_equal(basis, other) for other in tried):
            tried.append(basis)
            best = _periods_of(unrolled, open_values, loops, basis, tau) or best
    return best


def _periods_of(
    unrolled: Unrolling, open_values: np.ndarray, loops: np.ndarray, basis: np.ndarray, tau: float
) -> Periods | None:
    """The periods near a basis of the lattice; None where it is not one of these loops."""
    edges, steps, base = unrolled.edges, unrolled.steps, unrolled.base
    if not len(basis) or np.linalg.norm(basis, axis=1).min() < SHORTEST_PERIOD * tau:
        return None
    whole = np.rint(loops @ np.linalg.pinv(basis))
    if not whole.any(axis=0).all():
        return None
    # What no coordinates explain: the harmonic part of the integers and of the steps.
    start = np.hstack([np.zeros_like(whole[: edges.n]), open_values])
    potential = solve_differences(edges, np.hstack([whole, steps]), base, start, tolerance=1e-6)
    left = np.hstack([whole, steps]) - edges.difference(potential)
    b = len(basis)
    harmonic, rest = left[:, :b], left[:, b:]
    weighted = harmonic * base[:, None]
    vectors = -np.linalg.lstsq(weighted.T @ harmonic, weighted.T @ rest, rcond=None)[0]
    lengths = np.linalg.norm(basis, axis=1)
    if (np.linalg.norm(vectors - basis, axis=1) > NEAR_LATTICE * lengths).any():
        return None
    closed_steps = steps + whole @ vectors
    values, weights = integrate(edges, closed_steps, base, open_values)
    residual = edges.difference(values) - closed_steps
    ambiguous = int((np.linalg.norm(residual, axis=1) > lengths.min() / 4).sum())
    over_seam = int(whole.any(axis=1).sum())
    if ambiguous > min(MANY_AMBIGUOUS * len(steps), AMBIGUOUS_AT_SEAM * over_seam):
        return None
    rel = unexplained(residual, steps, weights)
    values = _wrapped(values, vectors)
    new = replace(unrolled, coordinates=values, weights=weights, rel=rel)
    return Periods(vectors, _orthogonal_groups(vectors), new, over_seam, ambiguous / over_seam)


def _clusters(vectors: np.ndarray) -> np.ndarray:
    """Means of the clusters of loop vectors up to sign, the fullest first."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    left = vectors * signs[:, None]
    left = left[np.isfinite(left).all(axis=1)]
    centres: list[np.ndarray] = []
    least = max(1, RARE_CLUSTER * len(vectors))
    while len(left) >= least:
        # The middle of the densest place, from a few candidates.
        tried = left[:: max(1, len(left) // 50)]
        distance = np.minimum(
            np.linalg.norm(left[:, None] - tried, axis=2),
            np.linalg.norm(left[:, None] + tried, axis=2),
        )
        # A vector is always near itself, also one of length zero: each round removes at least one.
        near = (distance < SAME_VECTOR * np.linalg.norm(tried, axis=1)) | (distance == 0)
        best = int(near.sum(axis=0).argmax())
        members = left[near[:, best]]
        members = members * np.sign(members @ tried[best])[:, None]
        if len(members) >= least:
            centres.append(np.median(members, axis=0))
        left = left[~near[:, best]]
    return np.array(centres).reshape(len(centres), vectors.shape[1])


def _lattice_basis(vectors: np.ndarray, smallest: float) -> np.ndarray:
    """A reduced basis of the lattice that some vectors generate; shorter ones are errors.

    Euclid's algorithm: a vector that depends on the basis but is not in its lattice takes the
    place of a longer one. Vectors that generate no lattice within `MOST_STEPS` give no basis.
    """
    pool = sorted(vectors[np.isfinite(vectors).all(axis=1)], key=np.linalg.norm)
    if pool:  # what is nothing beside the longest vector is rounding
        smallest = max(smallest, ROUNDING * float(np.linalg.norm(pool[-1])))
    nothing = basis = np.zeros((0, vectors.shape[1]))
    for _ in range(MOST_STEPS):
        if not pool:
            return basis
        vector = pool.pop(0)
        if len(basis):
            vector = vector - np.rint(vector @ np.linalg.pinv(basis)) @ basis
        if (length := np.linalg.norm(vector)) == 0 or length < smallest:
            continue
        outside = vector - vector @ np.linalg.pinv(basis) @ basis if len(basis) else vector
        if np.linalg.norm(outside) > smallest / 2:
            basis = _reduced(np.vstack([basis, vector]))
        else:
            pool = [vector, *basis, *pool]
            basis = nothing
            pool.sort(key=np.linalg.norm)
    return nothing


def _reduced(basis: np.ndarray) -> np.ndarray:
    """Subtract basis vectors from longer ones while that makes these shorter."""
    basis = basis.copy()
    for _ in range(MOST_STEPS):
        basis = basis[np.argsort(np.linalg.norm(basis, axis=1), kind="stable")]
        changed = False
        for a in range(len(basis)):
            for b in range(a):
                times = np.rint(basis[a] @ basis[b] / (basis[b] @ basis[b]))
                new = basis[a] - times * basis[b]
                if new @ new < (1 - 1e-9) * (basis[a] @ basis[a]):
                    basis[a], changed = new, True
        if not changed:
            break
    return basis


def _wrapped(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Values moved by whole periods into one cell of the lattice around zero."""
    turns = values @ np.linalg.pinv(vectors)
    return values - np.rint(turns) @ vectors


def _orthogonal_groups(vectors: np.ndarray) -> tuple[tuple[int, ...], ...]:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    count, label = connected_components(np.abs(unit @ unit.T) > ORTHOGONAL, directed=False)
    return tuple(tuple(np.flatnonzero(label == g).tolist()) for g in range(count))
