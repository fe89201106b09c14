"""Coordinates without a seam from unrolled coordinates and their periods."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

# Periods are orthogonal circles if their inner product is below this share of their squared length.
ORTHOGONAL = 0.03
REDUCTIONS = 100


@dataclass(frozen=True)
class ClosedCoordinates:
    """The map from flat coordinates to coordinates without a seam.

    Attributes
    ----------
    periods : ndarray of shape (b, f)
    open_directions : ndarray of shape (f - b, f)
        Orthonormal rows, orthogonal to all periods.
    forms : ndarray of int, shape (q, b)
        Integer combinations of the phases, one for each circle.
    radii : ndarray of shape (q,)
    turn : ndarray of shape (r, 2 q + f - b)
        Orientation of the coordinates: two for every circle, then the open ones. Rows of zeros pad
        the coordinates if other pieces of a map close in more directions.
    """

    periods: np.ndarray
    open_directions: np.ndarray
    forms: np.ndarray
    radii: np.ndarray
    turn: np.ndarray

    @property
    def n_coordinates(self) -> int:
        """Number r of coordinates without a seam."""
        return len(self.turn)

    def close(self, flat: np.ndarray) -> np.ndarray:
        """Compute the coordinates without a seam, shape (n, r)."""
        angles = 2 * np.pi * (self._phases(flat) @ self.forms.T)
        circles = np.stack([np.cos(angles), np.sin(angles)], axis=2) * self.radii[:, None]
        open_ = flat @ self.open_directions.T
        return np.hstack([circles.reshape(len(flat), -1), open_]) @ self.turn.T

    def slopes(self, flat: np.ndarray) -> np.ndarray:
        """Differentiate the coordinates without a seam along the flat ones, shape (n, r, f)."""
        per_step = 2 * np.pi * np.linalg.pinv(self.periods) @ self.forms.T  # (f, q)
        angles = 2 * np.pi * (self._phases(flat) @ self.forms.T)
        around = np.stack([-np.sin(angles), np.cos(angles)], axis=2) * self.radii[:, None]
        circles = around[..., None] * per_step.T[:, None]  # (n, q, 2, f)
        straight = np.broadcast_to(self.open_directions, (len(flat), *self.open_directions.shape))
        slopes = np.concatenate([circles.reshape(len(flat), -1, flat.shape[1]), straight], axis=1)
        return self.turn @ slopes

    def shortest(self, differences: np.ndarray) -> np.ndarray:
        """Reduce differences (p, f) of flat coordinates modulo the periods to the shortest ones."""
        if not len(self.periods):
            return differences
        rest = differences - np.rint(self._phases(differences)) @ self.periods
        around = np.array(list(product((-1, 0, 1), repeat=len(self.periods)))) @ self.periods
        ways = rest[None] + around[:, None]
        least = np.linalg.norm(ways, axis=2).argmin(axis=0)
        return ways[least, np.arange(len(rest))]

    def distances(self, differences: np.ndarray) -> np.ndarray:
        """Return the lengths of differences (p, f) of flat coordinates modulo the periods."""
        return np.linalg.norm(self.shortest(differences), axis=1)

    def _phases(self, flat: np.ndarray) -> np.ndarray:
        return flat @ np.linalg.pinv(self.periods)


def closed_coordinates(periods: np.ndarray, dim: int) -> ClosedCoordinates:
    """Find circles whose product embeds a flat torus isometrically, and the open directions.

    With an obtuse superbase of the lattice, ``v_0 + v_1 + ... + v_b = 0`` and
    ``p_ij = -v_i . v_j >= 0``, the flat metric is ``sum_{i<j} p_ij (dc_i - dc_j)^2`` in the
    coordinates c of ``sum c_i v_i`` (Selling 1874). Every pair is a circle of radius
    ``sqrt(p_ij) / 2 pi`` in the angle ``2 pi (c_i - c_j)``, so that coordinates are isometric even
    for a hexagonal torus. Such bases exist for up to three periods. With more, each period is a
    circle, which is isometric if the periods are orthogonal.

    Parameters
    ----------
    periods : ndarray of shape (b, f)
    dim : int
        f.

    Returns
    -------
    ClosedCoordinates

    Examples
    --------
    >>> closed_coordinates(np.array([[2 * np.pi]]), 1).close(np.array([[0.0], [np.pi]])).round(9)
    array([[ 1.,  0.],
           [-1.,  0.]])
    >>> hexagonal = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])
    >>> (2 * np.pi * closed_coordinates(hexagonal, 2).radii).round(6).tolist()
    [0.707107, 0.707107, 0.707107]
    """
    periods = np.asarray(periods, float).reshape(-1, dim)
    b = len(periods)
    open_directions = np.linalg.svd(np.vstack([periods, np.zeros((1, dim))]))[2][b:]
    lengths = np.linalg.norm(periods, axis=1)
    slant = np.abs(periods @ periods.T - np.diag(lengths**2))
    slant /= np.minimum.outer(lengths, lengths) ** 2
    if b <= 1 or b > 3 or slant.max() < ORTHOGONAL:
        turn = np.eye(b + dim)
        return ClosedCoordinates(
            periods, open_directions, np.eye(b, dtype=int), lengths / 2 / np.pi, turn
        )
    combined = _obtuse(periods)  # (b + 1, b) whole combinations of the periods
    vectors = combined @ periods
    # c of a vector sum_i t_i v_i with c_0 = 0: t in the basis v_1 ... v_b, from the phases.
    to_basis = np.rint(np.linalg.inv(combined[1:].T)).astype(int)  # phases -> t
    forms = np.vstack([np.zeros((1, b), int), to_basis])
    pairs = [(i, j) for i in range(b + 1) for j in range(i)]
    weights = np.array([max(-vectors[i] @ vectors[j], 0.0) for i, j in pairs])
    used = weights > ORTHOGONAL * (vectors**2).sum(axis=1).min()
    differences = np.array([forms[i] - forms[j] for i, j in pairs])
    radii = np.sqrt(weights[used]) / 2 / np.pi
    turn = np.eye(2 * len(radii) + len(open_directions))
    return ClosedCoordinates(periods, open_directions, differences[used], radii, turn)


def _obtuse(periods: np.ndarray) -> np.ndarray:
    """Find integer combinations of the periods that are an obtuse superbase (Selling)."""
    b = len(periods)
    combined = np.vstack([-np.ones((1, b), int), np.eye(b, dtype=int)])
    for _ in range(REDUCTIONS):
        vectors = combined @ periods
        products = vectors @ vectors.T
        np.fill_diagonal(products, -np.inf)
        i, j = np.unravel_index(products.argmax(), products.shape)
        if products[i, j] <= 1e-9 * np.abs(np.diag(vectors @ vectors.T)).max():
            break
        # v_i becomes -v_i, v_j is unchanged, and v_i is added to the others (twice for b = 2).
        others = [o for o in range(b + 1) if o not in (i, j)]
        moved = combined[i].copy()
        if b == 2:
            combined[others[0]] = combined[others[0]] + 2 * moved
        else:
            for other in others:
                combined[other] = combined[other] + moved
        combined[i] = -moved
    return combined
