"""How every factor changes along the tangent directions of a manifold, point by point."""

from __future__ import annotations

import numpy as np

from geodis.manifold.local.neighbors import nearest_targets
from geodis.scores.grouping.factor_blocks import FactorBlock

# A direction of a factor of several columns counts where the columns change along it, on the
# median over points, by more than this share of what they do along their first.
DIRECTION_SHARE = 0.2


def local_gradients(
    points: np.ndarray, axes: np.ndarray, targets: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Gradients of functions of the points, within their tangent spaces.

    At point i, with neighbours ``x_s`` and tangent coordinates ``t_s = A_i (x_s - x_i)``, the
    gradient is G of the least squares ``y_s = y_0 + t_s G`` over 3 k + 3 neighbours.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
    targets : ndarray of shape (n, c)
    rows : ndarray of int, shape (m,)
        Points whose gradients are wanted.

    Returns
    -------
    ndarray of shape (m, k, c)

    Examples
    --------
    >>> line = np.linspace(0, 1, 20)[:, None] * [[0.6, 0.8]]
    >>> axes = np.tile([[[0.6, 0.8]]], (20, 1, 1))
    >>> local_gradients(line, axes, 5 * line[:, :1], np.array([4])).round(6)
    array([[[3.]]])
    """
    k = axes.shape[1]
    near = nearest_targets(points, rows, min(3 * k + 3, len(points) - 1))
    steps = points[near] - points[rows, None]
    along = np.einsum("msd,mkd->msk", steps, axes[rows])
    change = targets[near]
    along = along - along.mean(axis=1, keepdims=True)
    change = change - change.mean(axis=1, keepdims=True)
    squares = np.einsum("msk,msl->mkl", along, along)
    # Neighbours that all lie in fewer directions than k say nothing of the others.
    floor = 1e-9 * np.trace(squares, axis1=1, axis2=2) + 1e-300
    squares += floor[:, None, None] * np.eye(k)
    return np.linalg.solve(squares, np.einsum("msk,msc->mkc", along, change))


def factor_directions(
    gradients: list[np.ndarray], dims: list[int]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Directions along which one factor changes and the others do not, in tangent coordinates.

    With the gradients of all factors side by side in D, those of factor j are the columns of
    ``pinv(D)^T`` that belong to it, made orthonormal.

    Parameters
    ----------
    gradients : list of ndarray of shape (m, k, c_j)
    dims : list of int
        Directions of every factor, r_j.

    Returns
    -------
    directions : list of ndarray of shape (m, k, r_j)
        Orthonormal columns.
    told : ndarray of bool, shape (m,)
        Points at which the gradients tell all of them apart.
    """
    reduced = []
    for gradient, dim in zip(gradients, dims, strict=True):
        u, s, _ = np.linalg.svd(gradient, full_matrices=False)
        reduced.append(u[:, :, :dim] * s[:, None, :dim])
    together = np.concatenate(reduced, axis=2)
    dual = np.swapaxes(np.linalg.pinv(together), 1, 2)
    sizes = np.cumsum(dims)[:-1]
    directions = [np.linalg.qr(part)[0] for part in np.split(dual, sizes, axis=2)]
    told = np.isfinite(together).all(axis=(1, 2)) & (np.abs(together).sum(axis=1) > 0).all(axis=1)
    return directions, told


def factor_dim(block: FactorBlock, gradient: np.ndarray) -> int:
    """In how many directions a factor varies: one for one column, or those that its columns show.

    Parameters
    ----------
    block : FactorBlock
    gradient : ndarray of shape (m, k, c)
        Of its columns on equal footing: their principal axes, each of variance one.
    """
    if len(block.columns) == 1:
        return 1
    strengths = np.median(np.linalg.svd(gradient, compute_uv=False), axis=0)
    return max(int((strengths > DIRECTION_SHARE * strengths[0]).sum()), 1)


def whitened(values: np.ndarray) -> np.ndarray:
    """Principal axes of a block, each of variance one; what is rounding is left out."""
    u, s, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    return u[:, s > 1e-8 * s[0]] * np.sqrt(len(values))
