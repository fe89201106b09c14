"""Codes of a grid of factors whose quality is known: one defect each, from none to severe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodis import FactorGrid

SPARE = 2  # latents that hold noise in every code


@dataclass(frozen=True)
class Family:
    """A defect that grows.

    Attributes
    ----------
    text : str
        What it does at level 1.
    intuition : "falls", "stays" or "depends"
        What a score of disentanglement should do; it depends where definitions differ.
    make : callable
        From values (n, f) in [-1, 1], a level in [0, 1] and a generator to latents (n, z).
    """

    text: str
    intuition: str
    make: Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


def values_of(grid: FactorGrid) -> np.ndarray:
    """Factors of every cell as numbers from -1 to 1, (n, f)."""
    return 2 * grid.factors(range(len(grid))) / (np.array(grid.sizes) - 1) - 1


def code_of(grid: FactorGrid, family: str, level: float, seed: int) -> np.ndarray:
    """The code of a grid with one defect: latents (n, z), in random order and signs."""
    random = np.random.default_rng((seed, 7))
    latents = FAMILIES[family].make(values_of(grid), level, random)
    spare = 0.3 * random.standard_normal((len(latents), SPARE))
    latents = np.column_stack([latents, spare])
    order = random.permutation(latents.shape[1])
    return latents[:, order] * random.choice([-1.0, 1.0], latents.shape[1])


def _noisy(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    return u + level * random.standard_normal(u.shape)


def _rotated(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    """Pairs of latents turn by up to 45 degrees, which shares both factors evenly."""
    angle = level * np.pi / 4
    turned = u.copy()
    for i in range(0, u.shape[1] - 1, 2):
        first, second = u[:, i], u[:, i + 1]
        turned[:, i] = np.cos(angle) * first - np.sin(angle) * second
        turned[:, i + 1] = np.sin(angle) * first + np.cos(angle) * second
    return turned


def _mixed(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    """A dense random map takes over from the identity, through a saturating nonlinearity."""
    f = u.shape[1]
    dense = np.linalg.qr(random.standard_normal((f, f)))[0]
    return np.tanh(u @ ((1 - level) * np.eye(f) + level * dense) * 1.2)


def _missing(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    """Factors are forgotten one by one; noise takes their place."""
    latents = u.copy()
    gone = round(level * u.shape[1])
    latents[:, :gone] = 0.58 * random.standard_normal((len(u), gone))
    return latents


def _duplicated(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    copies = 0.8 * u[:, : round(level * u.shape[1])]
    return np.column_stack([u, copies + 0.01 * random.standard_normal(copies.shape)])


def _circular(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    """Each factor bends from a segment to a circle in two latents of its own."""
    turn = max(level, 1e-3) * np.pi * 5 / 6
    arc = np.column_stack([np.sin(turn * u), 1 - np.cos(turn * u)]) / turn
    # Without noise the second latent would know the factor as soon as the arc bends at all.
    return arc + 0.05 * random.standard_normal(arc.shape)


def _monotone(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    """Steps between values of a factor become up to twelve times unequal."""
    bend = 3.0 * level
    return np.sinh(bend * u) / np.sinh(bend) if level else u


def _scaled(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    return u * np.logspace(-1.5 * level, 1.5 * level, u.shape[1])


def _collapsed(u: np.ndarray, level: float, random: np.random.Generator) -> np.ndarray:
    return np.column_stack([u, np.full((len(u), round(8 * level)), 0.1)])


FAMILIES = {
    "noisy": Family("noise of standard deviation 1 on every latent", "falls", _noisy),
    "rotated": Family("pairs of latents turned by 45 degrees", "falls", _rotated),
    "mixed": Family("a dense random map and a tanh", "falls", _mixed),
    "missing": Family("every factor replaced by noise", "falls", _missing),
    "duplicated": Family("a copy of every latent", "depends", _duplicated),
    "circular": Family("every factor on a circle in two latents", "depends", _circular),
    "monotone": Family("sinh of every latent, steps twelve times unequal", "stays", _monotone),
    "scaled": Family("latents on scales from 0.03 to 30", "stays", _scaled),
    "collapsed": Family("eight constant latents beside the code", "stays", _collapsed),
}
