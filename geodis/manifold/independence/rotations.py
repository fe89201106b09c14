"""Orthonormal directions of least contrast, and how far two sets of directions are apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from geodis.manifold.independence.contrasts import Contrast, over_angles

COARSE_ANGLES, FINE_ANGLES, FINE_ROUNDS = 32, 9, 3
COARSE_POINTS, FINE_POINTS = 1000, 10_000
# The whole range of angles is searched in the first sweeps only.
COARSE_SWEEPS, MAX_SWEEPS, TURNED_LITTLE = 2, 12, np.radians(0.05)
# One halving of the points would leave the choice of a contrast to luck.
HALVINGS = 2


def minimise_contrast(
    points: np.ndarray, contrast: Contrast, start: np.ndarray, floor: float
) -> tuple[np.ndarray, float]:
    """Turn pairs of directions to the least contrast until none turns any more.

    Parameters
    ----------
    points : ndarray of shape (n, f)
        In random order: the first of them are used for coarse searches.
    contrast : callable
    start : ndarray of shape (f, f)
        Orthonormal rows.
    floor : float

    Returns
    -------
    rotation : ndarray of shape (f, f)
    value : float
    """
    rotation = start.copy()
    coarse = np.arange(COARSE_ANGLES) * (np.pi / 2 / COARSE_ANGLES)
    few = points[:COARSE_POINTS]
    for sweep in range(MAX_SWEEPS):
        largest = 0.0
        for a, b in combinations(range(len(rotation)), 2):
            pair = rotation[[a, b]]
            angle, width = 0.0, coarse[1]
            if sweep < COARSE_SWEEPS:
                first, second = pair @ few.T
                seen = over_angles(first, second, coarse, contrast, floor)
                angle = coarse[seen.argmin()]
            first, second = pair @ points[:FINE_POINTS].T
            for _ in range(FINE_ROUNDS):
                fine = angle + np.linspace(-width, width, FINE_ANGLES)
                angle = fine[over_angles(first, second, fine, contrast, floor).argmin()]
                width *= 2 / (FINE_ANGLES - 1)
            angle = (angle + np.pi / 4) % (np.pi / 2) - np.pi / 4  # the same pair of directions
            cos, sin = np.cos(angle), np.sin(angle)
            rotation[[a, b]] = np.array([[cos, sin], [-sin, cos]]) @ pair
            largest = max(largest, abs(angle))
        if largest < TURNED_LITTLE:
            break
    value = contrast((points[:FINE_POINTS] @ rotation.T).T, floor).sum()
    return rotation, float(value)


def halves(points: np.ndarray) -> Iterator[np.ndarray]:
    """Halves of the points, which are in random order, for several halvings."""
    half = len(points) // 2
    for offset in range(0, half, -(-half // HALVINGS)):
        rolled = np.roll(points, offset, axis=0)
        yield rolled[:half]
        yield rolled[half:]


def group_angles(turned: np.ndarray, rotation: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Largest principal angle in degrees between groups of rows and their best match in another."""
    group = np.repeat(np.arange(len(dims)), dims)
    overlap = (turned @ rotation.T) ** 2
    share = np.stack([overlap[:, group == g].sum(axis=1) for g in range(len(dims))], axis=1)
    row, place = linear_sum_assignment(-np.repeat(share, dims, axis=1))
    owner = np.empty(len(turned), int)
    owner[row] = group[place]
    angles = []
    for g in range(len(dims)):
        cosines = np.linalg.svd(turned[owner == g] @ rotation[group == g].T, compute_uv=False)
        angles.append(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))
    return np.array(angles)
