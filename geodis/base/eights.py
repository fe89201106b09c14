"""Weighted sums of rows, eight numbers at once: vector instructions where loops are short.

Compilers turn a loop into vector instructions when it is long, and check before each that what it
writes is not what it reads. For some eight numbers the check costs more than the sum. Here the
vector is asked for by itself; a processor with shorter ones takes two or four steps.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDTH = 8
# Sums are not reordered: results do not depend on the processor's vectors.
FLAGS = ("contract", "nsz")


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

    For compiled code only. Arrays are of float32 and contiguous, and positions those in memory,
    whatever the shapes; c runs to `count`, and `keep` is true or false.
    """
    vector = ir.VectorType(ir.FloatType(), WIDTH)
    nothing = ir.Constant(vector, ir.Undefined)
    lane = ir.IntType(32)
    everywhere = ir.Constant(ir.VectorType(lane, WIDTH), [0] * WIDTH)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, keep, _, first, _, begin, step, count = arguments
        data = [
            context.make_array(signature.args[i])(context, builder, arguments[i]).data
            for i in (0, 3, 5)
        ]
        target, weight, row = data

        def eight(base: Any, position: Any) -> Any:
            return builder.bitcast(builder.gep(base, [position]), vector.as_pointer())

        def add(position: Any, several: int) -> None:
            """Add several weighted rows from a position on, in one go."""
            value = builder.load(total)
            place = builder.add(begin, builder.mul(position, step))
            for c in range(several):
                index = builder.add(position, ir.Constant(position.type, c))
                scalar = builder.load(builder.gep(weight, [builder.add(first, index)]))
                one = builder.insert_element(nothing, scalar, ir.Constant(lane, 0))
                spread = builder.shuffle_vector(one, nothing, everywhere)
                product = builder.fmul(
                    spread, builder.load(eight(row, place), align=4), flags=FLAGS
                )
                value = builder.fadd(value, product, flags=FLAGS)
                place = builder.add(place, step)
            builder.store(value, total)

        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * WIDTH))
        fours = builder.ashr(count, ir.Constant(count.type, 2))
        with cgutils.for_range(builder, fours) as loop:
            add(builder.shl(loop.index, ir.Constant(count.type, 2)), 4)
        done = builder.shl(fours, ir.Constant(count.type, 2))
        for several in (2, 1):
            bit = builder.and_(count, ir.Constant(count.type, several))
            with builder.if_then(cgutils.is_not_null(builder, bit)):
                add(done, several)
            done = builder.add(done, bit)
        # What is kept is added last: of sums over many calls fewer digits are lost.
        kept = context.cast(builder, keep, signature.args[2], types.boolean)
        with builder.if_then(kept):
            old = builder.load(eight(target, at), align=4)
            builder.store(builder.fadd(builder.load(total), old, flags=FLAGS), total)
        builder.store(builder.load(total), eight(target, at), align=4)
        return context.get_dummy_value()

    place = types.intp
    signature = types.void(out, place, types.boolean, weights, place, rows, place, place, place)
    return signature, code


# Compiled code calls it without the first argument.
sum_eights: Any = _sum_eights
