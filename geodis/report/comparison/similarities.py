"""How alike the representations of several runs are, beside what unrelated ones would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.distances.representations.alignment import cka, procrustes, rsa

MEASURES: dict[str, Callable[..., float]] = {"CKA": cka, "Procrustes": procrustes, "RSA": rsa}


@dataclass(frozen=True, eq=False)
class Similarity:
    """One measure between all runs.

    Attributes
    ----------
    name : str
    matrix : ndarray of shape (r, r)
    chance : float
        The mean over pairs of runs whose rows are shuffled against each other.
    """

    name: str
    matrix: np.ndarray
    chance: float

    def to_dict(self) -> dict[str, Any]:
        """Every number."""
        return {"name": self.name, "matrix": self.matrix, "chance": self.chance}


def similarities(latents: Sequence[np.ndarray], random_state: Any = 0) -> list[Similarity]:
    """Every measure between all runs.

    Examples
    --------
    >>> a = np.random.default_rng(0).standard_normal((300, 2))
    >>> alike = similarities([a, 2 * a[:, ::-1], a[::-1]])
    >>> [(one.name, one.matrix[0].round(1).tolist()) for one in alike][:1]
    [('CKA', [1.0, 1.0, 0.0])]
    """
    rng = check_random_state(random_state)
    count = len(latents)
    shuffled = [rows[rng.permutation(len(rows))] for rows in latents]
    made = []
    for name, measure in MEASURES.items():
        matrix, by_chance = np.eye(count), []
        for i in range(count):
            for j in range(i + 1, count):
                matrix[i, j] = matrix[j, i] = measure(latents[i], latents[j])
                by_chance.append(measure(latents[i], shuffled[j]))
        made.append(Similarity(name, matrix, round(float(np.mean(by_chance)), 3) + 0.0))
    return made
