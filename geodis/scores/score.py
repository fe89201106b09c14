"""What every score returns: one number, and the detail it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_WRITTEN = 100_000  # numbers of a matrix, as text


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """A score of latents against factors.

    Attributes
    ----------
    name : str
        Name of the function that made it, such as "mig".
    value : float
        The score; `float(score)` gives it.
    per_factor : ndarray of shape (f,), optional
        The score of every factor, where the score has such parts.
    per_latent : ndarray of shape (z,), optional
        The score of every latent.
    matrix : ndarray of shape (z, f), optional
        What the score was read from: mutual information, importances, accuracies.
    details : mapping
        Anything else a reader may want, by name.
    note : str
        What a reader must know to trust the number: what was left out, binned or too few.
    factor_names : tuple of str
        Names of the factors, in the order of `per_factor`; empty when they have none.

    Examples
    --------
    >>> score = Score("mig", 0.5, per_factor=np.array([0.75, 0.25]))
    >>> float(score)
    0.5
    >>> print(score)
    mig 0.500
      per factor  0.750 0.250
    """

    name: str
    value: float
    per_factor: np.ndarray | None = None
    per_latent: np.ndarray | None = None
    matrix: np.ndarray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    factor_names: tuple[str, ...] = ()

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        lines = [f"{self.name} {self.value:.3f}"]
        if self.per_factor is not None:
            names = [f"{name} " for name in self.factor_names] or [""] * len(self.per_factor)
            parts = zip(names, self.per_factor, strict=True)
            lines.append("  per factor  " + " ".join(f"{name}{x:.3f}" for name, x in parts))
        if self.per_latent is not None:
            lines.append("  per latent  " + " ".join(f"{x:.3f}" for x in self.per_latent))
        numbers = [
            f"{name} {number:.3f}"
            for name, number in self.details.items()
            if isinstance(number, float | np.floating)
        ]
        if numbers:
            lines.append("  " + ", ".join(numbers))
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; of a huge matrix the shape alone."""
        from geodis.base.write import to_jsonable

        plain = {
            "name": self.name,
            "value": self.value,
            "per_factor": self.per_factor,
            "per_latent": self.per_latent,
            **self._plain_matrix(),
            "details": dict(self.details),
            "note": self.note,
            "factor_names": list(self.factor_names),
        }
        return to_jsonable({key: part for key, part in plain.items() if part is not None})

    def _plain_matrix(self) -> dict[str, Any]:
        """Between all pairs of thousands of latents it would be hundreds of megabytes of text."""
        if self.matrix is None or self.matrix.size <= MOST_WRITTEN:
            return {"matrix": self.matrix}
        return {"matrix_shape": self.matrix.shape}
