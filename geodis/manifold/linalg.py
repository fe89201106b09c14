"""Small dense linear algebra over many points at once."""

from __future__ import annotations

import numpy as np
from numba import njit

# What compiled sums may do: take their terms in any order, several at once.
FAST = {"contract", "nsz", "reassoc"}


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


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def departure_of_rows(rows, gram):  # type: ignore[no-untyped-def]
    """Write A A^T to gram; the largest departure of its entries from those of orthonormal rows."""
    k, d = rows.shape
    worst = 0.0
    for a in range(k):
        for b in range(a + 1):
            total = 0.0
            for c in range(d):
                total += rows[a, c] * rows[b, c]
            gram[a, b] = gram[b, a] = total
            worst = max(worst, abs(total - 1.0) if a == b else abs(total))
    return worst


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def newton_schulz(rows, gram, column):  # type: ignore[no-untyped-def]
    """One step towards orthonormal rows, A <- A - (A A^T - 1) A / 2, with gram = A A^T."""
    k, d = rows.shape
    for c in range(d):
        for a in range(k):
            total = 1.5 * rows[a, c]
            for b in range(k):
                total -= 0.5 * gram[a, b] * rows[b, c]
            column[a] = total
        for a in range(k):
            rows[a, c] = column[a]
