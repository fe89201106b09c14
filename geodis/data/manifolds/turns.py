"""Rotations of space and directions in it: checks, quaternions, and steps along tangents."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy

ORTHOGONAL = 1e-4  # how far R R^T may be from the identity: float32 passes, a typing error does not


def quaternions(rotations: Any) -> np.ndarray:
    """Unit quaternions (n, 4) of rotations (n, 3, 3), real part first and never negative.

    Where the real part is zero, the first of the others that is not zero is positive. So every
    rotation has one quaternion, but half turns lie at a jump: distances are those of matrices.

    Examples
    --------
    >>> quaternions([[[0, -1, 0], [1, 0, 0], [0, 0, 1]]]).round(4)
    array([[0.7071, 0.    , 0.    , 0.7071]])
    """
    from scipy.spatial.transform import Rotation

    real_last = Rotation.from_matrix(check_rotations(rotations)).as_quat(canonical=True)
    return np.roll(real_last, 1, axis=1)


def check_rotations(rotations: Any) -> np.ndarray:
    """Return rotation matrices (n, 3, 3) of matrices, flattened matrices or quaternions."""
    array = check_finite(check_numeric(to_numpy(rotations, "rotations"), "rotations"), "rotations")
    array = array.astype(float, copy=False)
    if array.ndim == 2 and array.shape[1] == 4:
        from scipy.spatial.transform import Rotation

        if not np.linalg.norm(array, axis=1).all():
            raise InputError("A quaternion must not be zero; one is.")
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
            f"rotations must be orthogonal with determinant 1; {wrong.sum()} of {len(array)} "
            "are not."
        )
    return array


def check_directions(directions: Any) -> np.ndarray:
    """Return unit vectors (n, 3) along directions (n, 3)."""
    array = check_finite(check_numeric(to_numpy(directions, "lights"), "lights"), "lights")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"lights must have shape (n, 3); got shape {array.shape}.")
    length = np.linalg.norm(array.astype(float, copy=False), axis=1, keepdims=True)
    if not length.all():
        raise InputError("A light must have a direction; one is zero.")
    return array / length


def turns_about(vectors: np.ndarray) -> np.ndarray:
    """Rotations (n, 3, 3) about vectors (n, 3) by their lengths."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(vectors).as_matrix()


def step_along(
    turns: np.ndarray, lights: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Follow tangents (n, k, 12) of rotations and directions, from each of n points.

    A tangent (dR, dl) leads to ``R exp(R^T dR)`` and along the great circle by the length of dl.

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
    """Follow tangents (n, 3) of the unit sphere from unit vectors (n, 3), by their lengths."""
    angle = np.linalg.norm(moves, axis=1, keepdims=True)
    # numpy's sinc is sin(pi x) / (pi x), and 1 at 0.
    ends = np.cos(angle) * starts + np.sinc(angle / np.pi) * moves
    return ends / np.linalg.norm(ends, axis=1, keepdims=True)


def turned(turns: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """R u (n, 3) for rotations (n, 3, 3) and vectors (n, 3) or (3,)."""
    return (turns @ np.broadcast_to(vectors, (len(turns), 3))[:, :, None])[:, :, 0]
