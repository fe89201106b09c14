"""Neighbourhoods -> weighted quadratic fits in batched products, one step after another.

What `curved_fits` does in one go for small fits: here in the form of the equations, and fast where
fits have many terms or columns.
"""

from __future__ import annotations

import numpy as np

from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.curved_fits import RIDGE

# Of so many times as many columns as neighbours the products of the neighbours are diagonalised.
WIDE = 1.5
# Their leading directions by iteration in so many times as many, so often: what is left of the
# largest eigenvalue is then 1e-10 in pictures, and must be less than this. Else, and where products
# are less than so many times as many, they are diagonalised whole.
SPAN, ITERATIONS, LEFT, MANY_TIMES = 4, 6, 1e-8, 2


def gaussian_weights(distances: np.ndarray) -> np.ndarray:
    """exp(-2 d^2 / d_max^2), shape (b, nt)."""
    return np.exp(-2.0 * (distances / distances[:, -1:]) ** 2)


def principal_frame(displacements: np.ndarray, weights: np.ndarray | None, dim: int) -> np.ndarray:
    """Leading principal directions of each neighbourhood, shape (b, k, d).

    Weighted and centred; as published, neither, without weights.
    """
    if displacements.shape[2] > WIDE * displacements.shape[1]:
        return _principal_frame_of_few(displacements, weights, dim)
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        weighted = share * displacements
        mean = weighted.sum(axis=1, keepdims=True)
        covariance = np.swapaxes(weighted, 1, 2) @ (displacements - mean)
    else:
        covariance = np.swapaxes(displacements, 1, 2) @ displacements
    directions = np.linalg.eigh(covariance)[1]
    return np.swapaxes(directions[..., : -dim - 1 : -1], 1, 2)


def _principal_frame_of_few(
    displacements: np.ndarray, weights: np.ndarray | None, dim: int
) -> np.ndarray:
    """The same from fewer neighbours than columns: their products have the same eigenvalues."""
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        mean = (share * displacements).sum(axis=1, keepdims=True)
        displacements = np.sqrt(share) * (displacements - mean)
    gram = displacements @ np.swapaxes(displacements, 1, 2)
    return polar_rows(np.swapaxes(largest_eigenvectors(gram, dim), 1, 2) @ displacements)


def largest_eigenvectors(matrices: np.ndarray, count: int) -> np.ndarray:
    """Eigenvectors (b, m, count) of the largest eigenvalues of matrices (b, m, m), largest first.

    The matrices are symmetric and their eigenvalues not negative. A few of many are found by
    subspace iteration, in a quarter of the time of all.

    Examples
    --------
    >>> np.abs(largest_eigenvectors(np.diag([1.0, 3.0, 2.0])[None], 1)).round(6).ravel()
    array([0., 1., 0.])
    """
    size, width = matrices.shape[-1], SPAN * count
    if size < MANY_TIMES * width:
        return _all_directions(matrices)[..., :count]
    # The same start for every matrix: what comes out of one does not depend on the others.
    basis = matrices @ np.random.default_rng(0).standard_normal((size, width))
    for _ in range(ITERATIONS):
        basis = matrices @ np.linalg.qr(basis)[0]
    basis = np.linalg.qr(basis)[0]
    image = matrices @ basis
    values, turn = np.linalg.eigh(np.swapaxes(basis, 1, 2) @ image)
    turn, values = turn[..., : -count - 1 : -1], values[:, None, : -count - 1 : -1]
    leading = basis @ turn
    left = np.abs(image @ turn - values * leading).max(axis=(1, 2))
    slow = np.flatnonzero(~(left <= LEFT * values[:, 0, 0]))
    if len(slow):
        leading[slow] = _all_directions(matrices[slow])[..., :count]
    return leading


def _all_directions(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(matrices)[1][..., ::-1]


def quadratic_fit(
    displacements: np.ndarray,
    weights: np.ndarray,
    frame: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares of the displacements on [1, t, t_a t_b] at each point of a block.

    Returns the new frames (b, k, d) and the root mean square misfit (b,).
    """
    b, count, _ = displacements.shape
    dim = frame.shape[1]
    coordinates = frame @ np.swapaxes(displacements, 1, 2)  # (b, k, nt)
    # In units of the neighbourhood's radius all terms are of order one: a sound system.
    radius = np.sqrt((coordinates**2).sum(axis=1).max(axis=1))
    coordinates /= np.maximum(radius, np.finfo(float).tiny)[:, None, None]
    root = np.sqrt(weights)[:, None]  # (b, 1, nt)
    design = np.empty((b, 1 + dim + len(pairs[0]), count))  # one row a term
    design[:, :1] = root
    linear = design[:, 1 : 1 + dim]
    np.multiply(coordinates, root, out=linear)
    for term, (first, second) in enumerate(zip(*pairs, strict=True), start=1 + dim):
        np.multiply(linear[:, first], coordinates[:, second], out=design[:, term])
    target = displacements * np.swapaxes(root, 1, 2)
    transposed = np.swapaxes(design, 1, 2)
    normal = design @ transposed
    # Neighbours on a grid may not determine every term: a trace of ridge keeps the rest sound.
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] += RIDGE * normal[:, diagonal, diagonal].mean(axis=1)[:, None]
    coefficients = np.linalg.solve(normal, design @ target)  # (b, p, d)
    target -= transposed @ coefficients
    # Each fitted term takes up one neighbour's worth of misfit.
    freedom = max(1.0 - design.shape[1] / count, 1.0 / count)
    squared = np.einsum("bnd,bnd->b", target, target)
    residual = np.sqrt(squared / (weights.sum(axis=1) * freedom))
    return polar_rows(coefficients[:, 1 : 1 + dim]), residual
