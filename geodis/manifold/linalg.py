"""Small dense linear algebra over many points at once."""

from __future__ import annotations

import numpy as np


def polar_rows(matrices: np.ndarray) -> np.ndarray:
    """Nearest matrices with orthonormal rows: (A A^T)^(-1/2) A, for A of shape (..., k, d), k <= d.

    Directions that A does not determine (singular values near zero) come out shorter than one.
    """
    gram = matrices @ np.swapaxes(matrices, -1, -2)
    values, vectors = np.linalg.eigh(gram)
    floor = 1e-12 * np.maximum(values[..., -1:], np.finfo(values.dtype).tiny)
    inverse_root = (vectors / np.sqrt(np.maximum(values, floor))[..., None, :]) @ np.swapaxes(
        vectors, -1, -2
    )
    return inverse_root @ matrices
