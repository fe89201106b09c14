"""The one hot loop: averages of matrix fields over neighbours, carried by the transports.

A field is kept as the lower triangle of a symmetric matrix at every point, off-diagonal entries
times sqrt 2, and R fields lie side by side: shape (n, k (k + 1) / 2, R). One pass reads every
transport once for all R fields. Loops over k and R have lengths known only at run time on
purpose: the compiler turns the long inner ones into vector instructions, while lengths fixed at
compile time are unrolled to scalars and run slower.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

# Reordering sums is not allowed (no "reassoc"): results do not depend on the vector length.
FAST = {"contract", "nsz"}
BLOCK = 128


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_combination(weights, rows, out, length):  # type: ignore[no-untyped-def]
    """out[:length] += sum_b weights[b] rows[b, :length], four rows at a time."""
    k = weights.shape[0]
    b = 0
    while b + 4 <= k:
        w0, w1, w2, w3 = weights[b], weights[b + 1], weights[b + 2], weights[b + 3]
        r0, r1, r2, r3 = rows[b], rows[b + 1], rows[b + 2], rows[b + 3]
        for x in range(length):
            out[x] += w0 * r0[x] + w1 * r1[x] + w2 * r2[x] + w3 * r3[x]
        b += 4
    if b + 2 <= k:
        w0, w1 = weights[b], weights[b + 1]
        r0, r1 = rows[b], rows[b + 1]
        for x in range(length):
            out[x] += w0 * r0[x] + w1 * r1[x]
        b += 2
    if b < k:
        w0 = weights[b]
        r0 = rows[b]
        for x in range(length):
            out[x] += w0 * r0[x]


@njit(parallel=True, cache=True, fastmath=FAST, error_model="numpy")
def diffuse(indptr, indices, transports, to_scale, from_scale, fields, own, older, p, q, r, out):  # type: ignore[no-untyped-def]
    """out_i = p s_i sum_j Q_ij (s_j S_j) Q_ij^T + q_i S_i + r Z_i, with its trace removed.

    S is `fields` at the far ends of the edges, `own` the fields at the rows themselves (S again
    in the square case) and Z is `older`; s are the scales.
    """
    n, _, width = out.shape
    k = transports.shape[1]
    half_root = np.float32(np.sqrt(0.5))
    root = np.float32(np.sqrt(2.0))
    for chunk in prange((n + BLOCK - 1) // BLOCK):
        full = np.empty((k, k * width), np.float32)  # S_j, rows a, columns (b, field)
        left = np.empty(k * width, np.float32)  # one row of Q S_j
        turned = np.empty((k, k * width), np.float32)  # (Q S_j)^T
        total = np.empty((k, k * width), np.float32)  # lower triangle of sum_j Q S_j Q^T
        for i in range(chunk * BLOCK, min(n, (chunk + 1) * BLOCK)):
            total[:] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                scale = from_scale[j]
                scale_off = scale * half_root
                t = 0
                for a in range(k):
                    for b in range(a):
                        for f in range(width):
                            value = fields[j, t, f] * scale_off
                            full[a, b * width + f] = value
                            full[b, a * width + f] = value
                        t += 1
                    for f in range(width):
                        full[a, a * width + f] = fields[j, t, f] * scale
                    t += 1
                Q = transports[e]
                for a in range(k):
                    left[:] = 0.0
                    _add_combination(Q[a], full, left, k * width)
                    for b in range(k):
                        for f in range(width):
                            turned[b, a * width + f] = left[b * width + f]
                for b in range(k):
                    _add_combination(Q[b], turned, total[b], (b + 1) * width)
            on = p * to_scale[i]
            off = on * root
            t = 0
            left[:width] = 0.0
            for a in range(k):
                for b in range(a + 1):
                    scale = on if a == b else off
                    for f in range(width):
                        out[i, t, f] = (
                            scale * total[a, b * width + f]
                            + q[i] * own[i, t, f]
                            + r * older[i, t, f]
                        )
                    t += 1
                for f in range(width):
                    left[f] += out[i, t - 1, f]
            t = -1
            for a in range(k):
                t += a + 1
                for f in range(width):
                    out[i, t, f] -= left[f] / np.float32(k)
