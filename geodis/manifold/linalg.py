"""Small dense linear algebra over many points at once."""

from __future__ import annotations

import numpy as np

from geodis.base.jobs import njit

# Fast-math flags of compiled sums, which may be reordered.
FAST = {"contract", "nsz", "reassoc"}
# Most Newton-Schulz steps; three suffice from an error of half a per cent.
NEWTON_STEPS = 8
# Most Jacobi sweeps; five are usual.
SWEEPS = 30
TINY = np.finfo(float).tiny
# Directions with a smaller share of the largest squared length are not determined.
UNDETERMINED = 1e-12
# Rows and entries of a matrix up to which compiled loops are faster than batched products.
FEW_ROWS, SMALL = 8, 128
# Leading eigenvectors come from a subspace of SPAN times as many dimensions after ITERATIONS. The
# relative residual is then 1e-10 for images. If it exceeds LEFT, or the matrix is less than
# MANY_TIMES as large, the matrix is diagonalised fully.
SPAN, ITERATIONS, LEFT, MANY_TIMES = 4, 6, 1e-8, 2


def polar_rows(matrices: np.ndarray) -> np.ndarray:
    """Return the nearest matrices with orthonormal rows, (A A^T)^(-1/2) A, for A (..., k, d).

    Requires k <= d. Undetermined directions (singular values near zero) have length below one.
    """
    k, d = matrices.shape[-2:]
    if 1 < k <= FEW_ROWS and k * d <= SMALL and matrices.dtype == float:
        result = np.array(matrices, order="C")
        _polar_all(result.reshape(-1, k, d))
        return result
    return _polar_batched(matrices)


def _polar_batched(matrices: np.ndarray) -> np.ndarray:
    gram = matrices @ np.swapaxes(matrices, -1, -2)
    values, vectors = np.linalg.eigh(gram)
    floor = 1e-12 * np.maximum(values[..., -1:], np.finfo(values.dtype).tiny)
    inverse_root = (vectors / np.sqrt(np.maximum(values, floor))[..., None, :]) @ np.swapaxes(
        vectors, -1, -2
    )
    return inverse_root @ matrices


def products_of_pairs(frames: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Compute E_i E_j^T for pairs of frames (n, k, d), shape (p, k, k).

    Examples
    --------
    >>> products_of_pairs(np.array([[[1.0, 0.0]], [[0.6, 0.8]]]), np.array([0]), np.array([1]))
    array([[[0.6]]])
    """
    k, d = frames.shape[1:]
    if k * d > SMALL:
        return frames[i] @ np.swapaxes(frames[j], 1, 2)
    products = np.empty((len(i), k, k))
    to, origin = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    _products(np.ascontiguousarray(frames, dtype=float), to, origin, products)
    return products


@njit(nogil=True, cache=True, error_model="numpy")
def _products(frames, i, j, products):  # type: ignore[no-untyped-def]
    _, k, d = frames.shape
    for p in range(len(i)):
        for a in range(k):
            for b in range(k):
                total = 0.0
                for c in range(d):
                    total += frames[i[p], a, c] * frames[j[p], b, c]
                products[p, a, b] = total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def departure_of_rows(rows, gram):  # type: ignore[no-untyped-def]
    """Write A A^T to gram, and return its largest difference from the identity."""
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
    """Do one Newton-Schulz step A <- A - (A A^T - 1) A / 2, with gram = A A^T."""
    k, d = rows.shape
    for c in range(d):
        for a in range(k):
            total = 1.5 * rows[a, c]
            for b in range(k):
                total -= 0.5 * gram[a, b] * rows[b, c]
            column[a] = total
        for a in range(k):
            rows[a, c] = column[a]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _polar_all(matrices):  # type: ignore[no-untyped-def]
    n, k, _ = matrices.shape
    gram, axes, column = np.empty((k, k)), np.empty((k, k)), np.empty(k)
    for i in range(n):
        polar(matrices[i], gram, axes, column)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def polar(rows, gram, axes, column):  # type: ignore[no-untyped-def]
    """Replace rows A by the nearest orthonormal ones, (A A^T)^(-1/2) A.

    Rows that are nearly orthonormal up to scale need a few Newton-Schulz steps; others use the
    eigenvectors of A A^T.
    """
    k, d = rows.shape
    total = 0.0
    for a in range(k):
        for c in range(d):
            total += rows[a, c] * rows[a, c]
    scale = 1.0 / np.sqrt(max(total / k, TINY))
    for a in range(k):
        for c in range(d):
            rows[a, c] *= scale
    for step in range(NEWTON_STEPS):
        worst = departure_of_rows(rows, gram)
        if step == 0 and worst > 0.5 / k:
            break
        newton_schulz(rows, gram, column)
        if worst < 1e-8:  # convergence is quadratic
            return
    _diagonalise(gram, axes)
    largest = TINY
    for a in range(k):
        largest = max(largest, gram[a, a])
    for a in range(k):
        gram[a, a] = 1.0 / np.sqrt(max(gram[a, a], UNDETERMINED * largest))
    for c in range(d):
        for b in range(k):
            total = 0.0
            for a in range(k):
                total += axes[a, b] * rows[a, c]
            column[b] = total * gram[b, b]
        for a in range(k):
            total = 0.0
            for b in range(k):
                total += axes[a, b] * column[b]
            rows[a, c] = total


@njit(inline="always")
def _turned(cosine, sine, p, q):  # type: ignore[no-untyped-def]
    return cosine * p - sine * q, sine * p + cosine * q


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _diagonalise(gram, axes):  # type: ignore[no-untyped-def]
    """Diagonalise by Jacobi rotations: gram gets eigenvalues on its diagonal, axes the vectors."""
    k = len(gram)
    for a in range(k):
        for b in range(k):
            axes[a, b] = 1.0 if a == b else 0.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(k):
            for q in range(p + 1, k):
                off, gap = gram[p, q], gram[q, q] - gram[p, p]
                if off * off <= 1e-34 * abs(gram[p, p] * gram[q, q]):
                    continue
                turned = True
                sign = 1.0 if gap >= 0.0 else -1.0
                tangent = sign * 2.0 * off / (abs(gap) + np.sqrt(gap * gap + 4.0 * off * off))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                for a in range(k):
                    gram[a, p], gram[a, q] = _turned(cosine, sine, gram[a, p], gram[a, q])
                    axes[a, p], axes[a, q] = _turned(cosine, sine, axes[a, p], axes[a, q])
                for a in range(k):
                    gram[p, a], gram[q, a] = _turned(cosine, sine, gram[p, a], gram[q, a])
        if not turned:
            break


def largest_singular(table: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the largest singular values, squared, with their right vectors as rows.

    They come from the smaller Gram matrix, so singular values below a millionth of the largest are
    rounding errors.

    Examples
    --------
    >>> squares, rows = largest_singular(np.diag([1.0, 3.0, 2.0])[:, :3], 2)
    >>> squares.round(9).tolist(), abs(rows).round(9).tolist()
    ([9.0, 4.0], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    wide = table.shape[0] < table.shape[1]
    inner = table @ table.T if wide else table.T @ table
    squares, columns = np.linalg.eigh(inner)
    squares, columns = np.maximum(squares[::-1][:count], 0.0), columns[:, ::-1][:, :count]
    if wide:
        columns, triangle = np.linalg.qr(table.T @ columns)  # orthonormal also for small values
        columns = columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return squares, columns.T


def largest_eigenvectors(matrices: np.ndarray, count: int) -> np.ndarray:
    """Compute leading eigenvectors (b, m, count) of matrices (b, m, m), largest first.

    Matrices are symmetric positive semidefinite. For small `count` subspace iteration takes a
    quarter of the time of a full diagonalisation.

    Examples
    --------
    >>> np.abs(largest_eigenvectors(np.diag([1.0, 3.0, 2.0])[None], 1)).round(6).ravel()
    array([0., 1., 0.])
    """
    size, width = matrices.shape[-1], SPAN * count
    if size < MANY_TIMES * width:
        return _all_directions(matrices)[..., :count]
    # The same start for every matrix, so that results do not depend on the batch.
    basis = matrices @ np.random.default_rng(0).standard_normal((size, width))
    for _ in range(ITERATIONS):
        basis = matrices @ np.linalg.qr(basis)[0]
    basis = np.linalg.qr(basis)[0]
    image = matrices @ basis
    values, turn = np.linalg.eigh(np.swapaxes(basis, 1, 2) @ image)
    turn, values = turn[..., : -count - 1 : -1], values[:, None, : -count - 1 : -1]
    leading = basis @ turn
    left = np.abs(image @ turn - values * leading).max(axis=(1, 2))
    slow = np.flatnonzero(~(left <= LEFT * values[:, 0, 0]))
    if len(slow):
        leading[slow] = _all_directions(matrices[slow])[..., :count]
    return leading


def _all_directions(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(matrices)[1][..., ::-1]
