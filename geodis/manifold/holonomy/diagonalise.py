"""Sets of symmetric matrices -> one rotation that makes all of them diagonal (FFDiag, batched)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state, check_real

# Longest step in an off-diagonal entry of W: the update is a first-order model.
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
        Share of the squared Frobenius norm of the set that is left off the diagonal.
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

    The contract is ``D_r = V C_r V^T`` with V orthogonal and every D_r as diagonal as possible.
    Each round writes D_r = diag(d_r) + E_r, takes the antisymmetric W that removes E to first
    order (Ziehe, Laskov, Nolte and Mueller 2004, eq. 16, for orthogonal V)::

        W_ij = sum_r E_r,ij (d_r,i - d_r,j) / sum_r (d_r,i - d_r,j)^2

    and turns V by its Cayley transform. On sets that can be diagonalised exactly convergence is
    quadratic.

    Parameters
    ----------
    matrices : array-like of shape (n, r, k, k) or (r, k, k)
        n sets of r symmetric matrices.
    start : {"combination", "identity"} or ndarray of shape (n, k, k)
        Eigenvectors of a random combination of the set are a start near the answer. The identity
        is often a saddle point, where W is zero although the set is far from diagonal.
    tolerance : float
        Largest entry of W at which a set has converged.
    max_rounds : int
    random_state : int, Generator or None
        Draws the combination.

    Returns
    -------
    Diagonalisation
        Without the leading axis where the input had none.

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
    """The antisymmetric W of one round, shape (n, k, k)."""
    diagonal = np.diagonal(D, axis1=2, axis2=3)
    difference = diagonal[..., :, None] - diagonal[..., None, :]  # (n, r, k, k)
    above = (D * difference).sum(axis=1)
    below = (difference**2).sum(axis=1)
    # Two axes on which every matrix of the set agrees may stay as they are: nothing tells them
    # apart, and a vanishing denominator says so.
    scale = np.finfo(float).eps * (D**2).sum(axis=(1, 2, 3))[:, None, None]
    return np.where(below > scale, above / np.maximum(below, np.finfo(float).tiny), 0.0)


def _off_diagonal(D: np.ndarray) -> np.ndarray:
    # Left out rather than taken off the sum, which would lose everything below its rounding.
    off = np.where(np.eye(D.shape[-1], dtype=bool), 0.0, D)
    return (off**2).sum(axis=(1, 2, 3))
