"""Uniform samples of directions and rotations, tangent frames, and steps along tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

SQRT_HALF = np.sqrt(0.5)


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Divide rows by their length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def unit_vectors(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n uniform points (n, d) of the unit sphere."""
    return normalised(rng.standard_normal((n, d)))


def circle_points(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points (cos t, sin t) and unit tangents (-sin t, cos t) of the unit circle."""
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)


def accept(
    n: int,
    rng: np.random.Generator,
    propose: Callable[[int], np.ndarray],
    probability: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Draw n points by rejection sampling from candidates with acceptance probabilities."""
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
    """Draw n angles in [0, 2 pi) by rejection sampling with acceptance probabilities."""
    return accept(n, rng, lambda size: rng.uniform(0, 2 * np.pi, size), probability)


def random_rotations(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform (Haar) rotations (n, k, k) of SO(k)."""
    q, r = np.linalg.qr(rng.standard_normal((n, k, k)))
    # LAPACK chooses the signs of q by its own convention, which is not uniform. The QR
    # decomposition with a positive diagonal of r is unique, and its q is uniform on O(k).
    q *= np.where(np.diagonal(r, axis1=1, axis2=2) < 0, -1.0, 1.0)[:, None, :]
    # Changing the sign of the first column maps reflections to rotations and preserves the measure.
    q[:, :, 0] *= np.where(np.linalg.det(q) < 0, -1.0, 1.0)[:, None]
    return q


def orthogonal_complement(normals: np.ndarray) -> np.ndarray:
    """Return orthonormal rows (n, d - 1, d) orthogonal to unit vectors (n, d).

    The Householder reflection I - v v^T / (1 + |x_0|) with v = x + sign(x_0) e_0 maps e_0 to
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
    """Return orthonormal rows (n, k, d) with the same span."""
    return np.linalg.qr(rows.swapaxes(1, 2))[0].swapaxes(1, 2)


def skew_frames(q: np.ndarray) -> np.ndarray:
    """Return the tangents q (e_i e_j^T - e_j e_i^T) / sqrt(2), i < j, of matrices q (n, m, p).

    If the columns of q are orthonormal, so are these (n, p (p - 1) / 2, m, p) matrices.
    """
    n, m, p = q.shape
    i, j = np.triu_indices(p, 1)
    pair = np.arange(len(i))
    columns = SQRT_HALF * q.transpose(2, 0, 1)  # (p, n, m)
    frames = np.zeros((n, len(i), m, p))
    frames[:, pair, :, j] = columns[i]
    frames[:, pair, :, i] = -columns[j]
    return frames


# Rotations of space and directions: checks, quaternions, and steps along tangents.

ORTHOGONAL = 1e-4  # largest |R R^T - I|: accepts float32, and rejects typing errors


def quaternions(rotations: Any) -> np.ndarray:
    """Return unit quaternions (n, 4) of rotations (n, 3, 3), with a non-negative real part first.

    If the real part is zero, the first nonzero imaginary part is positive. Every rotation thus has
    one quaternion, but quaternions jump at half turns: distances should be taken between matrices.

    Examples
    --------
    >>> quaternions([[[0, -1, 0], [1, 0, 0], [0, 0, 1]]]).round(4)
    array([[0.7071, 0.    , 0.    , 0.7071]])
    """
    from scipy.spatial.transform import Rotation

    real_last = Rotation.from_matrix(check_rotations(rotations)).as_quat(canonical=True)
    return np.roll(real_last, 1, axis=1)


def check_rotations(rotations: Any) -> np.ndarray:
    """Return rotation matrices (n, 3, 3) from matrices, flattened matrices or quaternions."""
    array = check_finite(check_numeric(to_numpy(rotations, "rotations"), "rotations"), "rotations")
    array = array.astype(float, copy=False)
    if array.ndim == 2 and array.shape[1] == 4:
        from scipy.spatial.transform import Rotation

        if not np.linalg.norm(array, axis=1).all():
            raise InputError("A quaternion must be nonzero; got zero.")
        return Rotation.from_quat(np.roll(array, -1, axis=1)).as_matrix().reshape(-1, 3, 3)
    if array.shape[1:] not in ((3, 3), (9,)):
        raise InputError(
            "rotations must be matrices (n, 3, 3) or (n, 9), or quaternions (n, 4); got shape "
            f"{array.shape}."
        )
    array = array.reshape(-1, 3, 3)
    off = np.abs(array @ array.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    wrong = (off > ORTHOGONAL) | (np.linalg.det(array) < 0)
    if wrong.any():
        raise InputError(
            f"rotations must be orthogonal with determinant 1; got {wrong.sum()} of {len(array)} "
            "that are not."
        )
    return array


def check_directions(directions: Any) -> np.ndarray:
    """Return directions (n, 3) normalised to unit vectors."""
    array = check_finite(check_numeric(to_numpy(directions, "lights"), "lights"), "lights")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"lights must have shape (n, 3); got shape {array.shape}.")
    length = np.linalg.norm(array.astype(float, copy=False), axis=1, keepdims=True)
    if not length.all():
        raise InputError("A light must have a direction; got zero.")
    return array / length


def turns_about(vectors: np.ndarray) -> np.ndarray:
    """Return rotations (n, 3, 3) about vectors (n, 3) by their lengths."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(vectors).as_matrix()


def step_along(
    turns: np.ndarray, lights: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Follow tangents (n, k, 12) of rotations and directions from each of n points.

    A tangent (dR, dl) leads to ``R exp(R^T dR)``, and along the great circle by the length of dl.

    Returns
    -------
    ndarrays of shape (n k, 3, 3) and (n k, 3)
    """
    k = moves.shape[1]
    turns, lights = np.repeat(turns, k, axis=0), np.repeat(lights, k, axis=0)
    moves = moves.reshape(-1, 12)
    skew = turns.swapaxes(1, 2) @ moves[:, :9].reshape(-1, 3, 3)  # R^T dR
    skew = 0.5 * (skew - skew.swapaxes(1, 2))
    turned = turns @ turns_about(np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1))
    return turned, great_circle(lights, moves[:, 9:])


def great_circle(starts: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Follow tangents (n, 3) of the unit sphere from unit vectors (n, 3) by their lengths."""
    angle = np.linalg.norm(moves, axis=1, keepdims=True)
    # numpy's sinc is sin(pi x) / (pi x), and 1 at 0.
    ends = np.cos(angle) * starts + np.sinc(angle / np.pi) * moves
    return ends / np.linalg.norm(ends, axis=1, keepdims=True)


def turned(turns: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return R u (n, 3) for rotations (n, 3, 3) and vectors (n, 3) or (3,)."""
    return (turns @ np.broadcast_to(vectors, (len(turns), 3))[:, :, None])[:, :, 0]
