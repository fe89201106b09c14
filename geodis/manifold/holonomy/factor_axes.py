"""Joint diagonalisation of the parallel fields, and the factor of every tangent axis.

A parallel field is the same combination of the factors' projectors at every point. Joint
diagonalisation and clustering at a few thousand points give the values that the commuting
combinations take on each factor, and so the combination of fields that is the projector of each
factor everywhere. Labels therefore agree at all points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, check_real
from geodis.base.jobs import check_jobs, one_thread_each, over_blocks
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.holonomy.factor_count import FactorCount, count_factors
from geodis.manifold.linalg import polar_rows

# Largest entry of a step W, because the update is first-order.
MAX_STEP = 0.5


@dataclass(frozen=True)
class Diagonalisation:
    """Joint diagonalisation of batches of sets of symmetric matrices.

    Attributes
    ----------
    rotations : ndarray of shape (n, k, k)
        V, orthogonal; its rows are the common eigenvectors.
    diagonals : ndarray of shape (n, r, k)
        Diagonals of ``D = V C V^T``.
    off_diagonal : ndarray of shape (n,)
        Share of the squared Frobenius norm of the set off the diagonal.
    converged : ndarray of bool, shape (n,)
        Whether the last step was below the tolerance.
    history : ndarray of shape (rounds + 1, n)
        `off_diagonal` before each round and at the end.
    """

    rotations: np.ndarray
    diagonals: np.ndarray
    off_diagonal: np.ndarray
    converged: np.ndarray
    history: np.ndarray


def ffdiag(
    matrices: Any,
    *,
    start: Literal["combination", "identity"] | np.ndarray = "combination",
    tolerance: float = 1e-8,
    max_rounds: int = 50,
    random_state: Any = 0,
) -> Diagonalisation:
    """Diagonalise sets of symmetric matrices jointly, by orthogonal FFDiag.

    Finds an orthogonal V such that every ``D_r = V C_r V^T`` is as diagonal as possible. Each
    round writes D_r = diag(d_r) + E_r, computes the antisymmetric W that removes E to first
    order (Ziehe, Laskov, Nolte and Mueller 2004, eq. 16, for orthogonal V)::

        W_ij = sum_r E_r,ij (d_r,i - d_r,j) / sum_r (d_r,i - d_r,j)^2

    and rotates V by its Cayley transform. Convergence is quadratic for sets that can be
    diagonalised exactly.

    Parameters
    ----------
    matrices : array-like of shape (n, r, k, k) or (r, k, k)
        n sets of r symmetric matrices.
    start : {"combination", "identity"} or ndarray of shape (n, k, k)
        Eigenvectors of a random combination of the set are near the solution. The identity is
        often a saddle point, where W is zero although the set is far from diagonal.
    tolerance : float
        Largest entry of W at which a set has converged.
    max_rounds : int
    random_state : int, Generator or None
        Draws the combination.

    Returns
    -------
    Diagonalisation
        Without the leading axis if the input has none.

    Examples
    --------
    >>> C = np.array([[[0.0, 1.0], [1.0, 0.0]], [[3.0, 1.0], [1.0, 3.0]]])
    >>> joint = ffdiag(C)
    >>> np.abs(joint.diagonals).round(6)
    array([[1., 1.],
           [4., 2.]])
    """
    sets, single = _check_sets(matrices)
    tolerance = check_real(tolerance, "tolerance", low=0.0)
    max_rounds = check_int(max_rounds, "max_rounds", low=1)
    V = _start(sets, start, check_random_state(random_state))
    k = sets.shape[-1]
    identity = np.eye(k)
    total = np.maximum((sets**2).sum(axis=(1, 2, 3)), np.finfo(float).tiny)
    D = _turn(V, sets)
    history = [_off_diagonal(D) / total]
    converged = np.zeros(len(sets), bool)
    for _ in range(max_rounds):
        active = np.flatnonzero(~converged)
        if len(active) == 0:
            break
        W = _step(D[active])
        largest = np.abs(W).max(axis=(1, 2))
        converged[active] = largest < tolerance
        W *= np.minimum(1.0, MAX_STEP / np.maximum(largest, MAX_STEP))[:, None, None]
        # The Cayley transform (I - W/2)^-1 (I + W/2) is orthogonal for antisymmetric W.
        V[active] = np.linalg.solve(identity - W / 2, (identity + W / 2) @ V[active])
        D[active] = _turn(V[active], sets[active])
        history.append(_off_diagonal(D) / total)
    result = Diagonalisation(
        V, np.diagonal(D, axis1=2, axis2=3).copy(), history[-1], converged, np.array(history)
    )
    if not single:
        return result
    return Diagonalisation(
        V[0], result.diagonals[0], history[-1][0], converged[0], result.history[:, 0]
    )


def _check_sets(matrices: Any) -> tuple[np.ndarray, bool]:
    sets = np.asarray(matrices, dtype=float)
    single = sets.ndim == 3
    if single:
        sets = sets[None]
    if sets.ndim != 4 or sets.shape[2] != sets.shape[3] or sets.shape[1] == 0:
        raise InputError(
            "matrices must have shape (n, r, k, k) or (r, k, k) with r at least 1; "
            f"got shape {np.shape(matrices)}."
        )
    if not np.isfinite(sets).all():
        raise InputError("matrices must be finite; got NaN or infinity.")
    if not np.allclose(sets, np.swapaxes(sets, 2, 3), atol=1e-6 * np.abs(sets).max(initial=0.0)):
        raise InputError("matrices must be symmetric.")
    return sets, single


def _start(sets: np.ndarray, start: Any, rng: np.random.Generator) -> np.ndarray:
    n, r, k, _ = sets.shape
    if isinstance(start, np.ndarray):
        V = np.array(start[None] if start.ndim == 2 else start, dtype=float)
        if V.shape != (n, k, k) or not np.allclose(V @ np.swapaxes(V, 1, 2), np.eye(k), atol=1e-6):
            raise InputError(
                f"start must hold {n} orthogonal {k} x {k} matrices; got shape {start.shape}."
            )
        return V
    if check_choice(start, "start", ("combination", "identity")) == "identity":
        return np.tile(np.eye(k), (n, 1, 1))
    weights = rng.standard_normal(r)
    combination = np.tensordot(sets, weights / np.linalg.norm(weights), axes=(1, 0))
    return np.swapaxes(np.linalg.eigh(combination)[1], 1, 2).copy()


def _turn(V: np.ndarray, sets: np.ndarray) -> np.ndarray:
    return V[:, None] @ sets @ np.swapaxes(V, 1, 2)[:, None]


def _step(D: np.ndarray) -> np.ndarray:
    """Return the antisymmetric W of one round, shape (n, k, k)."""
    diagonal = np.diagonal(D, axis1=2, axis2=3)
    difference = diagonal[..., :, None] - diagonal[..., None, :]  # (n, r, k, k)
    above = (D * difference).sum(axis=1)
    below = (difference**2).sum(axis=1)
    # Axes on which every matrix has equal diagonal entries are not distinguished: the denominator
    # vanishes, and they stay as they are.
    scale = np.finfo(float).eps * (D**2).sum(axis=(1, 2, 3))[:, None, None]
    return np.where(below > scale, above / np.maximum(below, np.finfo(float).tiny), 0.0)


def _off_diagonal(D: np.ndarray) -> np.ndarray:
    # The diagonal is excluded rather than subtracted, which would lose digits.
    off = np.where(np.eye(D.shape[-1], dtype=bool), 0.0, D)
    return (off**2).sum(axis=(1, 2, 3))


BLOCK_POINTS = 4096


@dataclass(frozen=True)
class FactorAxes:
    """Axes of the tangent spaces grouped by factor, in the same order at every point.

    Attributes
    ----------
    axes : ndarray of shape (n, k, k)
        Orthonormal rows in the coordinates of the frames, grouped by factor.
    dims : tuple of int
        Dimension of every factor, largest first.
    flat : int or None
        Index of the flat part of dimension two or more, which holonomy cannot split.
    commutators : ndarray of shape (w,)
        Mean squared commutator of each combination of the parallel fields with a field.
    off_diagonal : float
        Mean share of the fields' energy off the diagonal after joint diagonalisation.
    spread : float
        Root mean square distance of the diagonals from their cluster centre, relative to the
        smallest distance between centres.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: int | None
    commutators: np.ndarray
    off_diagonal: float
    spread: float


def factor_axes(
    fields: Eigenfields,
    count: FactorCount | int | None = None,
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> FactorAxes:
    """Label the tangent axes by factor from the parallel fields.

    Parameters
    ----------
    fields : Eigenfields
        The first `n_parallel` are used.
    count : FactorCount or int, optional
        Result of `count_factors`, or the known number of factors; counted by default.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None

    Returns
    -------
    FactorAxes
    """
    n_jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    if not isinstance(count, FactorCount):
        count = count_factors(fields, count, random_state=rng)
    n, width = len(fields.fields), fields.n_parallel
    k, n_central = count.matrices.shape[-1], count.n_factors - 1
    matrices, combinations = count.matrices, count.combinations
    if n_central == 0:
        axes = np.broadcast_to(np.eye(k), (n, k, k)).copy()
        return FactorAxes(axes, (k,), 0 if count.has_flat else None, count.commutators, 0.0, 0.0)
    central = np.einsum("sw,pwab->psab", combinations[:n_central], matrices)
    joint = ffdiag(central, random_state=rng)
    points = np.swapaxes(joint.diagonals, 1, 2).reshape(-1, n_central)  # one row per axis
    centres, spread = _cluster(points, n_central + 1, rng)
    # Pi_f = sum_r G_fr Omega_r + G_f0 I, with the values c_rf of field r on factor f.
    to_projectors = np.linalg.pinv(np.vstack([centres.T, np.ones(len(centres))])).astype(float)
    traces = to_projectors[:, -1] * k  # the fields are traceless
    unsorted = _whole_dims(traces, k)
    flat = (
        _flat_factor(to_projectors, combinations, matrices, n_central) if count.has_flat else None
    )
    order = np.argsort([-dim for dim in unsorted], kind="stable")  # largest first
    to_projectors, dims = to_projectors[order], tuple(unsorted[j] for j in order)
    if flat is not None:
        flat = int(np.flatnonzero(order == flat)[0])
    axes = np.empty((n, k, k))
    weights = to_projectors[:, :-1] @ combinations[:n_central]  # (m, w)

    def label(rows: slice) -> None:
        projectors = np.einsum("fw,pwab->pfab", weights, fields.matrices(width, rows=rows))
        projectors += to_projectors[None, :, -1, None, None] * np.eye(k)
        leading = [
            np.swapaxes(np.linalg.eigh(projectors[:, f])[1][..., : -dim - 1 : -1], 1, 2)
            for f, dim in enumerate(dims)
        ]
        axes[rows] = polar_rows(np.concatenate(leading, axis=1))

    over_blocks(label, n, BLOCK_POINTS, n_jobs)
    return FactorAxes(axes, dims, flat, count.commutators, float(joint.off_diagonal.mean()), spread)


def _flat_factor(
    to_projectors: np.ndarray, combinations: np.ndarray, matrices: np.ndarray, n_central: int
) -> int:
    """Return the factor that holds most energy of the combinations that do not commute."""
    central = np.einsum("sw,pwab->psab", combinations[:n_central], matrices)
    others = np.einsum("sw,pwab->psab", combinations[n_central:], matrices)
    energy = (others @ others).sum(axis=1)  # (p, k, k)
    k = matrices.shape[-1]
    shares = []
    for row in to_projectors:
        projector = np.einsum("r,prab->pab", row[:-1], central) + row[-1] * np.eye(k)
        shares.append(np.einsum("pab,pba->", projector, energy))
    return int(np.argmax(shares))


def _cluster(points: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return cluster centres of the diagonals, one per factor, and their spread."""
    from sklearn.cluster import KMeans

    seed = int(rng.integers(2**31 - 1))
    with one_thread_each():
        clusters = KMeans(count, n_init=10, random_state=seed).fit(points)
    centres = clusters.cluster_centers_
    distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    nearest = distances[np.triu_indices(count, 1)].min()
    return centres, float(np.sqrt(clusters.inertia_ / len(points)) / nearest)


def _whole_dims(traces: np.ndarray, k: int) -> list[int]:
    """Round traces to positive integers that sum to k."""
    dims = np.maximum(1, np.floor(traces)).astype(int)
    while dims.sum() < k:
        dims[np.argmax(traces - dims)] += 1
    while dims.sum() > k:
        candidates = np.where(dims > 1, traces - dims, np.inf)
        dims[np.argmin(candidates)] -= 1
    return dims.tolist()
