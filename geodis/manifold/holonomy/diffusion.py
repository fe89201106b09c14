"""The one hot loop: averages of matrix fields over neighbours, carried by the transports.

A field is kept as the lower triangle of a symmetric matrix at every point, off-diagonal entries
times sqrt 2, and R fields lie side by side: shape (n, k (k + 1) / 2, R). One pass reads every
transport once for all R fields, eight fields in one vector. Arrays are indexed whole: a slice of an
array counts a reference, which costs more than the arithmetic on a small matrix.

The loops run over the rows start <= i < stop, for threads that take a range each: numba's own
parallel loops take three times as long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.compiled import njit
from geodis.base.jobs import over_ranges
from geodis.manifold.holonomy.carried_sums import MOST_AXES, WIDTH, sum_carried, sum_eights

# Reordering sums is not allowed (no "reassoc"): results do not depend on the vector length.
FAST = {"contract", "nsz"}


def diffuse(
    indptr: np.ndarray,
    indices: np.ndarray,
    transports: np.ndarray,
    fields: np.ndarray,
    *,
    scales: tuple[np.ndarray, np.ndarray],
    weight: float = 1.0,
    own: tuple[np.ndarray, np.ndarray] | None = None,
    older: tuple[float, np.ndarray] | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return p s_i sum_j Q_ij (s'_j S_j) Q_ij^T + q_i Y_i + r Z_i, with its trace removed.

    Parameters
    ----------
    indptr, indices : ndarray of int
        CSR pattern of the entries (i, j).
    transports : ndarray of float32, shape (e, k, k)
        Q of every entry.
    fields : ndarray of float32, shape (n_from, k (k + 1) / 2, R)
        S, at the far ends.
    scales : pair of ndarray of float32
        s of shape (n_to,) and s' of shape (n_from,).
    weight : float
        p.
    own : pair of ndarray, optional
        q of shape (n_to,) and Y of shape (n_to, k (k + 1) / 2, R); left out by default.
    older : float and ndarray, optional
        r and Z of the shape of Y; left out by default.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of float32, shape (n_to, k (k + 1) / 2, R)
    """
    n, k = len(indptr) - 1, transports.shape[1]
    to_scale, from_scale = scales
    filled = WIDTH * -(-fields.shape[2] // WIDTH)
    full = np.zeros((len(fields), k, k, filled), np.float32)
    over_ranges(
        lambda start, stop: _fill(start, stop, fields, from_scale, full), len(fields), n_jobs
    )
    out = np.zeros((n, *fields.shape[1:]), np.float32)
    q, y = own or (np.zeros(n, np.float32), out)
    r, z = older or (0.0, out)
    given = np.float32(weight) * to_scale, q, y, np.float32(r), z, out
    rest: tuple[Any, ...] = (indptr, indices, transports, full, *given)
    run: Any = _diffuse_large
    if k <= MOST_AXES:
        run, rest = _diffuse, (*rest, (0,) * k)
    over_ranges(lambda start, stop: run(start, stop, *rest), n, n_jobs)
    return out


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _fill(start, stop, fields, scale, full):  # type: ignore[no-untyped-def]
    """Both triangles of s_i S_i, matrices (k, k) of as many fields as fill whole vectors."""
    width = fields.shape[2]
    half_root = np.float32(np.sqrt(0.5))
    for i in range(start, stop):
        on = scale[i]
        off = on * half_root
        t = 0
        for a in range(full.shape[1]):
            for b in range(a):
                for f in range(width):
                    value = fields[i, t, f] * off
                    full[i, a, b, f] = value
                    full[i, b, a, f] = value
                t += 1
            for f in range(width):
                full[i, a, a, f] = fields[i, t, f] * on
            t += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _diffuse(start, stop, indptr, indices, Q, full, p, q, own, r, older, out, axes):  # type: ignore[no-untyped-def]
    """In the dimension that is the number of axes, known when this is compiled."""
    width, filled = out.shape[2], full.shape[3]
    k = len(axes)
    total = np.empty((k, k, filled), np.float32)
    trace = np.empty(width, np.float32)
    for i in range(start, stop):
        for x in range(0, filled, WIDTH):
            sum_carried(total, Q, full, indices, indptr[i], indptr[i + 1], x, filled, axes)
        _write(i, total, trace, p, q, own, r, older, out)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _diffuse_large(start, stop, indptr, indices, Q, full, p, q, own, r, older, out):  # type: ignore[no-untyped-def]
    """In any dimension."""
    width, filled = out.shape[2], full.shape[3]
    k = Q.shape[1]
    row = k * filled
    left = np.empty((k, k, filled), np.float32)  # Q S_j
    total = np.empty((k, k, filled), np.float32)  # lower triangle of sum_j Q S_j Q^T
    trace = np.empty(width, np.float32)
    for i in range(start, stop):
        total[:] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            begin = indices[e] * (k * row)
            for a in range(k):
                weights = (e * k + a) * k
                for x in range(0, row, WIDTH):
                    sum_eights(left, a * row + x, False, Q, weights, full, begin + x, row, k)
            for a in range(k):
                for b in range(a + 1):
                    weights = (e * k + b) * k
                    at = a * row + b * filled
                    for x in range(0, filled, WIDTH):
                        sum_eights(total, at + x, True, Q, weights, left, a * row + x, filled, k)
        _write(i, total, trace, p, q, own, r, older, out)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _write(i, total, trace, p, q, own, r, older, out):  # type: ignore[no-untyped-def]
    """Row i of the result, from the lower triangle of its sum."""
    k, width = len(total), out.shape[2]
    on = p[i]
    off = on * np.float32(np.sqrt(2.0))
    t = 0
    trace[:] = 0.0
    for a in range(k):
        for b in range(a + 1):
            scale = on if a == b else off
            for f in range(width):
                out[i, t, f] = scale * total[a, b, f] + q[i] * own[i, t, f] + r * older[i, t, f]
            t += 1
        for f in range(width):
            trace[f] += out[i, t - 1, f]
    t = -1
    for a in range(k):
        t += a + 1
        for f in range(width):
            out[i, t, f] -= trace[f] / np.float32(k)
