"""Points on a closed surface -> the ellipsoid through them, and its meridians."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Around points on one side alone no ellipsoid is believed.
ONE_SIDED = 0.5
MERIDIANS, PARALLELS, STEPS = 6, 5, 48


@dataclass(frozen=True)
class FittedEllipsoid:
    """Where |x A| = 1, x from the centre.

    Attributes
    ----------
    centre : ndarray of shape (3,)
    to_ball : ndarray of shape (3, 3)
        A, symmetric.
    misfit : float
        Root mean square of |x A| - 1 over the points.
    one_sided : float
        Length of the mean direction of the points: 0 all around, 1 in one direction.
    """

    centre: np.ndarray
    to_ball: np.ndarray
    misfit: float
    one_sided: float

    @property
    def radii(self) -> np.ndarray:
        """Half the axes, largest first."""
        return 1 / np.linalg.eigvalsh(self.to_ball)

    def grid(self) -> list[np.ndarray]:
        """Circles on it: meridians from pole to pole, and parallels, each of shape (p, 3)."""
        around = np.linspace(0, 2 * np.pi, STEPS + 1)
        ring = np.stack([np.cos(around), np.sin(around), np.zeros_like(around)], axis=1)
        lines = []
        for turn in np.pi * np.arange(MERIDIANS) / MERIDIANS:
            side = np.array([np.cos(turn), np.sin(turn), 0.0])
            lines.append(ring[:, :1] * side + ring[:, 1:2] * np.array([0.0, 0.0, 1.0]))
        for height in np.sin(np.pi * (np.arange(1, PARALLELS + 1) / (PARALLELS + 1) - 0.5)):
            lines.append(ring * np.sqrt(1 - height**2) + np.array([0.0, 0.0, height]))
        back = np.linalg.inv(self.to_ball)
        return [self.centre + line @ back for line in lines]


def fit_ellipsoid(places: np.ndarray) -> FittedEllipsoid | None:
    """Fit an ellipsoid by least squares; None where the quadric is none.

    Parameters
    ----------
    places : ndarray of shape (s, 3)

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((500, 3))
    >>> sphere = 2 * draws / np.linalg.norm(draws, axis=1, keepdims=True) + [5, 0, 0]
    >>> found = fit_ellipsoid(sphere)
    >>> found.centre.round(6) + 0.0, found.radii.round(6), found.misfit < 1e-9
    (array([5., 0., 0.]), array([2., 2., 2.]), True)
    """
    if len(places) < 10:
        return None
    middle, scale = places.mean(axis=0), max(float(places.std()), np.finfo(float).tiny)
    x = (places - middle) / scale
    first, second = np.triu_indices(3)
    design = np.hstack([x[:, first] * x[:, second], x])
    found = np.linalg.lstsq(design, np.ones(len(x)), rcond=None)[0]
    quadric = np.zeros((3, 3))
    quadric[first, second] += found[:6] / 2
    quadric[second, first] += found[:6] / 2
    if np.linalg.eigvalsh(quadric)[0] <= 1e-6:
        return None
    centre = -np.linalg.solve(quadric, found[6:]) / 2
    sizes, axes = np.linalg.eigh(quadric / (1 + centre @ quadric @ centre))
    to_ball = (axes * np.sqrt(np.maximum(sizes, 1e-12))) @ axes.T
    unit = (x - centre) @ to_ball
    length = np.linalg.norm(unit, axis=1)
    sided = np.linalg.norm((unit / np.maximum(length, 1e-12)[:, None]).mean(axis=0))
    return FittedEllipsoid(
        middle + scale * centre,
        to_ball / scale,
        float(np.sqrt(((length - 1) ** 2).mean())),
        float(sided),
    )
