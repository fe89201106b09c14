"""Periods of the closed directions of an unrolling: circles, cylinders and flat tori.

Along a closed direction the coordinates return changed by a period. The steps around any loop sum
to a vector of the lattice of periods, which is zero for contractible loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from geodis.manifold.flat.differences import solve_differences
from geodis.manifold.flat.unroll import Unrolling, along_tree, integrate, unexplained

# Thresholds, in median steps, above which a loop vector is taken as a jump across a seam.
JUMPS = (4.0, 7.0, 12.0, 20.0, 35.0)
# Loop vectors that differ by less than this share of their length are the same lattice vector.
SAME_VECTOR = 0.2
# Clusters with a smaller share of the loop vectors are ignored.
RARE_CLUSTER = 0.02
# Largest relative change of a period by refinement, and largest share of ambiguous residuals.
NEAR_LATTICE, MANY_AMBIGUOUS = 0.3, 0.01
# Largest share of ambiguous residuals among the edges across the seam. If noise is wider than the
# distance of neighbours, wrong loops have all lengths, whereas those across a seam have one. Above
# the second share, higher thresholds are tried as well.
AMBIGUOUS_AT_SEAM, CLEAR_SEAM = 0.02, 0.002
# A period must be at least this many times the threshold.
SHORTEST_PERIOD = 1.3
# Lattice vectors at a smaller cosine are orthogonal: two circles rather than one torus.
ORTHOGONAL = 0.1
# Limit on the steps of a lattice reduction, which must stop despite rounding errors and zero
# vectors. Loops of real data take a few dozen steps.
MOST_STEPS, ROUNDING = 1_000, 1e-9


@dataclass(frozen=True)
class Periods:
    """Closed directions of a flat part.

    Attributes
    ----------
    vectors : ndarray of shape (b, f)
        Periods in the coordinates of the unrolling; no rows if no direction closes.
    groups : tuple of tuple of int
        Vectors that belong to one factor; orthogonal vectors are separate circles.
    unrolling : Unrolling
        Its coordinates jump by whole periods across seams and are wrapped into one period.
    n_jumps : int
        Number of edges that cross a seam.
    ambiguous : float
        Share of these edges for which the number of periods is ambiguous.
    """

    vectors: np.ndarray
    groups: tuple[tuple[int, ...], ...]
    unrolling: Unrolling
    n_jumps: int
    ambiguous: float = 0.0

    def __len__(self) -> int:
        return len(self.vectors)


def find_periods(unrolled: Unrolling) -> Periods:
    r"""Find the periods of the closed directions, and the coordinates modulo these periods.

    Coordinates t are summed along the tree. An edge with a long loop vector ``t_j - t_i - c_ij``
    crosses a seam. The coordinates are solved again without these edges, after which the loop
    vectors across the seam are nearly in the lattice of periods. Let B be a reduced basis of this
    lattice, ``m = round((u_j - u_i - c) B^-1)`` the integers on every edge, and h and r the
    harmonic parts of m and c, which no coordinates explain. Then the periods are
    ``P = -(h^T W h)^-1 h^T W r``, and the coordinates minimise
    ``sum w |u_j - u_i - c_ij - m_ij P|^2``.

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
    # Many edges cross a seam; a few long loop vectors are errors.
    needed = max(1.0, edges.n ** ((f - 1) / f) / 3)
    best = Periods(np.zeros((0, f)), (), unrolled, 0, ambiguous=1.0)
    for factor in JUMPS:
        tau = factor * typical
        jumps = loops > tau
        if jumps.sum() < needed:
            break  # higher thresholds have even fewer
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
    """Find the periods with the given edges as jumps across seams; None if there are none."""
    edges, steps, base = unrolled.edges, unrolled.steps, unrolled.base
    inside = np.where(jumps, 0.0, base)
    open_values = solve_differences(edges, steps, inside, tree, tolerance=1e-5)
    loops = edges.difference(open_values) - steps
    clusters = _clusters(loops[jumps])
    # Rare clusters may be wrong loops that refine the lattice. Of the lattices that explain the
    # jumps, choose one with the most directions, and of these the coarsest.
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
    """Refine the periods from a basis of the lattice; None if it does not explain the loops."""
    edges, steps, base = unrolled.edges, unrolled.steps, unrolled.base
    if not len(basis) or np.linalg.norm(basis, axis=1).min() < SHORTEST_PERIOD * tau:
        return None
    whole = np.rint(loops @ np.linalg.pinv(basis))
    if not whole.any(axis=0).all():
        return None
    # The harmonic parts of the integers and of the steps, which no coordinates explain.
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
    values = values - np.rint(values @ np.linalg.pinv(vectors)) @ vectors  # into one period
    new = replace(unrolled, coordinates=values, weights=weights, rel=rel)
    return Periods(vectors, _orthogonal_groups(vectors), new, over_seam, ambiguous / over_seam)


def _clusters(vectors: np.ndarray) -> np.ndarray:
    """Return the medians of clusters of loop vectors up to sign, largest cluster first."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    left = vectors * signs[:, None]
    left = left[np.isfinite(left).all(axis=1)]
    centres: list[np.ndarray] = []
    least = max(1, RARE_CLUSTER * len(vectors))
    while len(left) >= least:
        # The candidate with the most vectors nearby.
        tried = left[:: max(1, len(left) // 50)]
        distance = np.minimum(
            np.linalg.norm(left[:, None] - tried, axis=2),
            np.linalg.norm(left[:, None] + tried, axis=2),
        )
        # Every vector is near itself, even a zero vector, so each round removes at least one.
        near = (distance < SAME_VECTOR * np.linalg.norm(tried, axis=1)) | (distance == 0)
        best = int(near.sum(axis=0).argmax())
        members = left[near[:, best]]
        members = members * np.sign(members @ tried[best])[:, None]
        if len(members) >= least:
            centres.append(np.median(members, axis=0))
        left = left[~near[:, best]]
    return np.array(centres).reshape(len(centres), vectors.shape[1])


def _lattice_basis(vectors: np.ndarray, smallest: float) -> np.ndarray:
    """Return a reduced basis of the lattice generated by vectors with errors up to `smallest`.

    As in Euclid's algorithm, a vector that depends on the basis but is not in its lattice replaces
    a longer one. The basis is empty if the algorithm takes more than `MOST_STEPS` steps.
    """
    pool = sorted(vectors[np.isfinite(vectors).all(axis=1)], key=np.linalg.norm)
    if pool:  # relative to the longest vector, shorter ones are rounding errors
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
    """Subtract basis vectors from longer ones as long as these become shorter."""
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


def _orthogonal_groups(vectors: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Group vectors so that different groups are orthogonal."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    count, label = connected_components(np.abs(unit @ unit.T) > ORTHOGONAL, directed=False)
    return tuple(tuple(np.flatnonzero(label == g).tolist()) for g in range(count))
