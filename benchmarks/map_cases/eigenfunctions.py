"""Manifold factorisation by eigenfunctions (Zhang, Moscovich and Singer 2021), from their idea.

On a product the Laplacian's eigenfunctions are the products of the factors' own, and eigenvalues
add. So phi_k is the product of phi_i and phi_j where lambda_i + lambda_j is near lambda_k and
phi_k points along phi_i phi_j; then i and j belong to different factors and k to none. What is
never a product is one factor's own, and the strongest pairs (i, j) tell them apart: a cut of their
graph that is as heavy as possible.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree


def eigenfunctions(
    points: np.ndarray, n_functions: int, n_neighbors: int = 48
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (q,) of a graph's Laplacian and eigenfunctions (n, q), the constant left out.

    Gaussian weights among neighbours, divided by the densities at both ends, so that the limit is
    the Laplace-Beltrami operator however the points are distributed (Coifman and Lafon 2006).
    """
    n = len(points)
    lengths, near = cKDTree(points).query(points, n_neighbors + 1)
    width = np.median(lengths[:, -1]) / 2
    weights = np.exp(-((lengths / width) ** 2) / 2).ravel()
    rows = np.repeat(np.arange(n), n_neighbors + 1)
    kernel = csr_array((weights, (rows, near.ravel())), shape=(n, n))
    kernel = kernel.maximum(kernel.T)
    density = 1 / kernel.sum(axis=1)
    kernel = diags_array(density) @ kernel @ diags_array(density)
    root = 1 / np.sqrt(kernel.sum(axis=1))
    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(
        diags_array(root) @ kernel @ diags_array(root), n_functions + 1, which="LA", v0=start
    )
    order = np.argsort(-values)[1:]
    functions = root[:, None] * vectors[:, order]
    functions *= np.sqrt(n) / np.linalg.norm(functions, axis=0)
    return -np.log(np.maximum(values[order], 1e-12)) / width**2, functions


def product_similarities(
    values: np.ndarray, functions: np.ndarray, eigenvalue_tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """For every eigenfunction the pair (q, 2) whose product it is most like, and how much (q,).

    Only pairs whose eigenvalues add up to its own within a share of it are asked.
    """
    n, q = functions.shape
    i, j = np.triu_indices(q, 1)
    products = functions[:, i] * functions[:, j]
    products /= np.linalg.norm(products, axis=0)
    similar = np.abs(functions.T @ products) / np.sqrt(n)  # (q, pairs)
    sums = values[i] + values[j]
    far = np.abs(sums - values[:, None]) > eigenvalue_tolerance * values[:, None]
    similar[far] = 0.0
    best = similar.argmax(axis=1)
    return np.column_stack([i[best], j[best]]), similar[np.arange(q), best]


def heaviest_cut(
    weights: np.ndarray, rng: np.random.Generator, sides: int = 2, rounds: int = 30
) -> np.ndarray:
    """Sides (q,) of a cut of a graph (q, q) that no single move makes heavier, the best of some."""
    q = len(weights)
    best, heaviest = np.zeros(q, dtype=int), -1.0
    for start in range(rounds):
        if start == 0 and sides == 2:  # the lowest eigenvector of the weights relaxes the problem
            side = (np.linalg.eigh(weights)[1][:, 0] > 0).astype(int)
        else:
            side = rng.integers(sides, size=q)
        for _ in range(10 * q):
            towards = weights @ np.eye(sides)[side]  # weight to the members of every side
            gain = towards[np.arange(q), side][:, None] - towards
            move, to = np.unravel_index(gain.argmax(), gain.shape)
            if gain[move, to] <= 1e-12:
                break
            side[move] = to
        cut = weights[side[:, None] != side].sum()
        if cut > heaviest:
            best, heaviest = side.copy(), cut
    return best


def factorised(
    points: np.ndarray,
    n_functions: int,
    *,
    similarity: float = 0.7,
    eigenvalue_tolerance: float = 0.15,
    n_neighbors: int = 48,
    n_factors: int = 2,
    seed: int = 0,
) -> list[np.ndarray]:
    """The eigenfunctions of every factor, each (n, q_j) with the lowest eigenvalue first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_functions : int
        How many eigenfunctions are looked at.
    similarity : float
        From here on an eigenfunction is a product.
    eigenvalue_tolerance : float
        Share of an eigenvalue by which a sum may miss it.
    n_neighbors : int
    n_factors : int
    seed : int

    Returns
    -------
    list of ndarrays
    """
    values, functions = eigenfunctions(points, n_functions, n_neighbors)
    found, similar = product_similarities(values, functions, eigenvalue_tolerance)
    made = similar >= similarity
    weights = np.zeros((n_functions, n_functions))
    for (i, j), weight in zip(found[made], similar[made], strict=True):
        weights[i, j] = weights[j, i] = max(weights[i, j], weight)
    own = np.flatnonzero(~made)
    side = heaviest_cut(weights[np.ix_(own, own)], np.random.default_rng(seed), n_factors)
    return [functions[:, own[side == s]] for s in range(n_factors)]
