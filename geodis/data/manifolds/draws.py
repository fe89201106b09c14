"""Uniform draws of directions and rotations, and frames orthogonal to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SQRT_HALF = np.sqrt(0.5)


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Rows divided by their length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def unit_vectors(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform points (n, d) of the unit sphere."""
    return normalised(rng.standard_normal((n, d)))


def circle_points(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (cos t, sin t) and unit tangents (-sin t, cos t) of the unit circle."""
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)


def accept(
    n: int,
    rng: np.random.Generator,
    propose: Callable[[int], np.ndarray],
    probability: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Rejection sampling: n candidates, each accepted with its probability."""
    accepted: list[np.ndarray] = []
    missing = n
    while missing:
        candidates = propose(missing)
        accepted.append(candidates[rng.random(missing) < probability(candidates)])
        missing -= len(accepted[-1])
    return np.concatenate(accepted)


def accept_angles(
    n: int, rng: np.random.Generator, probability: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Rejection sampling of angles in [0, 2 pi), each accepted with its probability."""
    return accept(n, rng, lambda size: rng.uniform(0, 2 * np.pi, size), probability)


def random_rotations(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Rotations (n, k, k), uniform (Haar) on SO(k)."""
    q, r = np.linalg.qr(rng.standard_normal((n, k, k)))
    # LAPACK fixes the signs of q by its own convention, which is not uniform. The QR
    # decomposition whose r has a positive diagonal is unique, and its q is uniform on O(k).
    q *= np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]
    # Turning the first column over maps the reflections onto the rotations, measure for measure.
    q[:, :, 0] *= np.where(np.linalg.det(q) < 0, -1.0, 1.0)[:, None]
    return q


def orthogonal_complement(normals: np.ndarray) -> np.ndarray:
    """Orthonormal rows (n, d - 1, d) orthogonal to unit vectors (n, d).

    The Householder reflection I - v v^T / (1 + |x_0|) with v = x + sign(x_0) e_0 takes e_0 to
    -sign(x_0) x, so its other rows are orthogonal to x. The sign keeps v away from zero.
    """
    v = normals.copy()
    v[:, 0] += np.where(v[:, 0] < 0, -1.0, 1.0)
    scaled = -v / np.abs(v[:, :1])  # |v_0| = 1 + |x_0|
    frames = normals[:, 1:, None] * scaled[:, None, :]
    axis = np.arange(frames.shape[1])
    frames[:, axis, axis + 1] += 1
    return frames


def orthonormal_rows(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows (n, k, d) with the same span."""
    return np.linalg.qr(rows.swapaxes(1, 2))[0].swapaxes(1, 2)


def skew_frames(q: np.ndarray) -> np.ndarray:
    """Return the moves q (e_i e_j^T - e_j e_i^T) / sqrt(2), i < j, of matrices q (n, m, p).

    Where the columns of q are orthonormal, so are these (n, p (p - 1) / 2, m, p) matrices.
    """
    n, m, p = q.shape
    i, j = np.triu_indices(p, 1)
    pair = np.arange(len(i))
    columns = SQRT_HALF * q.transpose(2, 0, 1)  # (p, n, m)
    frames = np.zeros((n, len(i), m, p))
    frames[:, pair, :, j] = columns[i]
    frames[:, pair, :, i] = -columns[j]
    return frames
