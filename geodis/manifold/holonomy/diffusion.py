"""Diffusion of matrix fields along a graph: the innermost loop of the eigenproblem.

A field is stored as the lower triangle of a symmetric matrix at every point, with off-diagonal
entries times sqrt 2. R fields are stored together: shape (n, k (k + 1) / 2, R). One pass reads
every transport once for all fields, eight fields per vector. Compiled code indexes whole arrays,
because a slice counts a reference, which costs more than the arithmetic on a small matrix.

Compiled loops run over rows start <= i < stop, one range per thread; numba's parallel loops take
three times as long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from geodis.base.jobs import njit, over_ranges

# Vector code for sums of transported matrices over the edges of a point, and weighted sums of rows.
#
# Compilers vectorise loops only after a check that input and output do not overlap. For eight
# numbers this check costs more than the sum, so vector instructions are generated explicitly. A
# processor with shorter vectors needs two or four instructions.
#
# Up to dimension `MOST_AXES`, known at compile time, all sums stay in registers, which takes a
# quarter of the time of loops in dimensions 2 to 7, and half in dimension 8. Above, `sum_eights`
# adds rows; plain loops took 1.1 to 3.5 times as long (dimensions 9 to 16, 8 to 32 fields).

WIDTH = 8
VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
# Sums are not reordered ("reassoc"), so results do not depend on the processor's vector length.
FLAGS = ("contract", "nsz")
# Above, registers do not suffice, and code size grows with the cube of the dimension.
MOST_AXES = 8


def _vector_at(builder: Any, base: Any, position: Any) -> Any:
    """Return a pointer to the eight numbers from a position."""
    return builder.bitcast(builder.gep(base, [position]), VECTOR.as_pointer())


def _broadcast(builder: Any, scalar: Any) -> Any:
    """Return a vector of eight equal numbers."""
    lane = ir.IntType(32)
    nothing = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, scalar, ir.Constant(lane, 0))
    everywhere = ir.Constant(ir.VectorType(lane, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, nothing, everywhere)


def _data_of(
    context: Any, builder: Any, signature: Any, arguments: Any, which: tuple[int, ...]
) -> list[Any]:
    """Return pointers to the data of some array arguments."""
    return [
        context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in which
    ]


@intrinsic  # type: ignore[untyped-decorator]
def _sum_carried(
    typingctx: Any,
    out: Any,
    transports: Any,
    full: Any,
    indices: Any,
    first: Any,
    last: Any,
    field: Any,
    filled: Any,
    axes: Any,
) -> Any:
    """out[a, b, field + f] = sum_e Q_e S_j Q_e^T [a, b] for first <= e < last, b <= a and f < 8.

    For compiled code only. Arrays are contiguous: transports (e, k, k), full (n, k, k, filled) and
    out (k, k, filled) of float32, indices (e,) of integers j. `axes` is any tuple of k numbers,
    whose length is the dimension.
    """
    k = len(axes)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, _, _, first, last, field, filled, _ = arguments
        target, turn, matrix, near = _data_of(context, builder, signature, arguments, (0, 1, 2, 3))
        place = first.type

        def number(value: int) -> Any:
            return ir.Constant(place, value)

        def spread(position: Any) -> Any:
            return _broadcast(builder, builder.load(builder.gep(turn, [position])))

        def added(total: Any, weight: Any, row: Any) -> Any:
            product = builder.fmul(weight, row, flags=FLAGS)
            return product if total is None else builder.fadd(total, product, flags=FLAGS)

        zero = ir.Constant(VECTOR, [0.0] * WIDTH)
        sums = {
            (a, b): cgutils.alloca_once_value(builder, zero) for a in range(k) for b in range(a + 1)
        }
        for kept in sums.values():
            builder.store(zero, kept)
        size = builder.mul(filled, number(k * k))
        with cgutils.for_range_slice(builder, first, last, number(1), place) as (edge, _):
            index = builder.load(builder.gep(near, [edge]))
            other = context.cast(builder, index, signature.args[3].dtype, types.intp)
            begin = builder.add(builder.mul(other, size), field)
            weights = builder.mul(edge, number(k * k))
            for a in range(k):
                left: list[Any] = [None] * k  # row a of Q S_j
                for c in range(k):
                    weight = spread(builder.add(weights, number(a * k + c)))
                    for b in range(k):
                        at = builder.add(begin, builder.mul(filled, number(c * k + b)))
                        row = builder.load(_vector_at(builder, matrix, at), align=4)
                        left[b] = added(left[b], weight, row)
                for b in range(a + 1):
                    total = None
                    for c in range(k):
                        weight = spread(builder.add(weights, number(b * k + c)))
                        total = added(total, weight, left[c])
                    # The running sum is added last, which loses fewer digits over many edges.
                    old = builder.load(sums[a, b])
                    builder.store(builder.fadd(total, old, flags=FLAGS), sums[a, b])
        for (a, b), kept in sums.items():
            at = builder.add(field, builder.mul(filled, number(a * k + b)))
            builder.store(builder.load(kept), _vector_at(builder, target, at), align=4)
        return context.get_dummy_value()

    p = types.intp
    return types.void(out, transports, full, indices, p, p, p, p, axes), code


@intrinsic  # type: ignore[untyped-decorator]
def _sum_eights(
    typingctx: Any,
    out: Any,
    at: Any,
    keep: Any,
    weights: Any,
    first: Any,
    rows: Any,
    begin: Any,
    step: Any,
    count: Any,
) -> Any:
    """out[at + f] = keep out[at + f] + sum_c weights[first + c] rows[begin + c step + f], f < 8.

    For compiled code only. Arrays are contiguous, of float32; positions are those in memory,
    whatever the shapes. c runs to `count`, and `keep` is boolean.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, keep, _, first, _, begin, step, count = arguments
        target, weight, row = _data_of(context, builder, signature, arguments, (0, 3, 5))

        def add(position: Any, several: int) -> None:
            """Add several weighted rows from a position."""
            value = builder.load(total)
            place = builder.add(begin, builder.mul(position, step))
            for c in range(several):
                index = builder.add(position, ir.Constant(position.type, c))
                scalar = builder.load(builder.gep(weight, [builder.add(first, index)]))
                numbers = builder.load(_vector_at(builder, row, place), align=4)
                product = builder.fmul(_broadcast(builder, scalar), numbers, flags=FLAGS)
                value = builder.fadd(value, product, flags=FLAGS)
                place = builder.add(place, step)
            builder.store(value, total)

        total = cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * WIDTH))
        fours = builder.ashr(count, ir.Constant(count.type, 2))
        with cgutils.for_range(builder, fours) as loop:
            add(builder.shl(loop.index, ir.Constant(count.type, 2)), 4)
        done = builder.shl(fours, ir.Constant(count.type, 2))
        for several in (2, 1):
            bit = builder.and_(count, ir.Constant(count.type, several))
            with builder.if_then(cgutils.is_not_null(builder, bit)):
                add(done, several)
            done = builder.add(done, bit)
        # The running sum is added last, which loses fewer digits over many calls.
        kept = context.cast(builder, keep, signature.args[2], types.boolean)
        with builder.if_then(kept):
            old = builder.load(_vector_at(builder, target, at), align=4)
            builder.store(builder.fadd(builder.load(total), old, flags=FLAGS), total)
        builder.store(builder.load(total), _vector_at(builder, target, at), align=4)
        return context.get_dummy_value()

    place = types.intp
    signature = types.void(out, place, types.boolean, weights, place, rows, place, place, place)
    return signature, code


# Compiled code calls these without the first argument.
sum_carried: Any = _sum_carried
sum_eights: Any = _sum_eights

FAST = set(FLAGS)


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
        S, at the points j.
    scales : pair of ndarray of float32
        s of shape (n_to,) and s' of shape (n_from,).
    weight : float
        p.
    own : pair of ndarray, optional
        q of shape (n_to,) and Y of shape (n_to, k (k + 1) / 2, R); zero by default.
    older : float and ndarray, optional
        r and Z of the shape of Y; zero by default.
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
    """Write both triangles of s_i S_i, with the number of fields padded to whole vectors."""
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
    """Diffuse in a dimension known at compile time, the number of axes."""
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
    """Diffuse in any dimension."""
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
    """Write row i of the result from the lower triangle of its sum."""
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
