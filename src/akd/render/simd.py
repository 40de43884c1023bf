"""SIMD vectors of eight floats as a numba type, for the inner loops of the compiled rasteriser.

A loop that numba must vectorise on its own leaves short rows of pixels to its scalar remainder, and most splats are a
few pixels wide. ``SimdVector`` is an LLVM vector ``<8 x float>`` (or double), so the machine code is vector code by
construction: one AVX register, two of SSE or NEON. Comparisons give a mask of eight bits. Everything is inlined.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import lower_builtin, models, overload, register_model, type_callable

from akd.render.compiled import subroutine

WIDTH = 8
FMA_FLAGS = ("contract", "nsz")  # may use fused multiply–add; nothing that changes results beyond rounding
intrinsic: Any = extending.intrinsic  # called with one argument less than it is defined with, which type checkers miss


class SimdVector(types.Type):
    """Eight floats of one precision."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        super().__init__(name=f"SimdVector({dtype})")


class SimdMask(types.Type):
    """Eight booleans: the result of a comparison."""

    def __init__(self) -> None:
        super().__init__(name="SimdMask")


@register_model(SimdVector)
class SimdVectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector) -> None:
        super().__init__(manager, vector, ir.VectorType(manager.lookup(vector.dtype).get_value_type(), WIDTH))


@register_model(SimdMask)
class SimdMaskModel(models.PrimitiveModel):
    def __init__(self, manager, mask) -> None:
        super().__init__(manager, mask, ir.VectorType(ir.IntType(1), WIDTH))


SIMD_MASK = SimdMask()


@intrinsic
def load(typing_context, array, start):
    """Eight consecutive entries of a one-dimensional contiguous array."""
    vector_type = SimdVector(array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _vector_pointer(context, builder, signature, arguments)
        return builder.load(pointer, align=signature.return_type.dtype.bitwidth // 8)

    return vector_type(array, start), generate


@intrinsic
def store(typing_context, array, start, vector):
    """Write eight consecutive entries."""

    def generate(context, builder, signature, arguments):
        pointer = _vector_pointer(context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=signature.args[2].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, start, vector), generate


@intrinsic
def pointer(typing_context, array, start):
    """Where entry ``start`` of a contiguous array lies, to be indexed from there. A slice would be counted as a reference
    with every use, which in the innermost loops costs as much as the arithmetic."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return cgutils.gep_inbounds(builder, array.data, arguments[1])

    return types.CPointer(array.dtype)(array, start), generate


@intrinsic
def cast_like(typing_context, example, value):
    """A number cast to the precision of another."""

    def generate(context, builder, signature, arguments):
        return context.cast(builder, arguments[1], signature.args[1], signature.return_type)

    return example(example, value), generate


@intrinsic
def gather(typing_context, array, index, start, stride, offset):
    """``array[stride · index[start + lane] + offset]`` for the eight lanes; an index of None counts 0, 1, 2 …"""
    vector_type = SimdVector(array.dtype)

    def generate(context, builder, signature, arguments):
        vector = ir.Constant(context.get_value_type(vector_type), ir.Undefined)
        for lane, place in enumerate(_places(context, builder, signature, arguments)):
            vector = builder.insert_element(vector, builder.load(place), ir.Constant(ir.IntType(32), lane))
        return vector

    return vector_type(array, index, start, stride, offset), generate


@intrinsic
def scatter(typing_context, array, index, start, stride, offset, vector):
    """Write to where ``gather`` reads. Where lanes share a place the lowest one stays."""

    def generate(context, builder, signature, arguments):
        places = list(_places(context, builder, signature, arguments))
        for lane in reversed(range(WIDTH)):
            builder.store(builder.extract_element(arguments[5], ir.Constant(ir.IntType(32), lane)), places[lane])
        return context.get_dummy_value()

    return types.void(array, index, start, stride, offset, vector), generate


@intrinsic
def broadcast(typing_context, value):
    """The same number in all lanes."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, arguments[0])

    return SimdVector(value)(value), generate


@intrinsic
def count_from(typing_context, first):
    """first, first + 1, …, first + 7."""

    def generate(context, builder, signature, arguments):
        steps = ir.Constant(ir.VectorType(arguments[0].type, WIDTH), [float(i) for i in range(WIDTH)])
        return builder.fadd(_splat(builder, arguments[0]), steps, flags=FMA_FLAGS)

    return SimdVector(first)(first), generate


@intrinsic
def select(typing_context, mask, yes, no):
    """Lane by lane, ``yes`` where the mask holds and ``no`` elsewhere."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return yes(mask, yes, no), generate


@intrinsic
def negative_abs(typing_context, vector):
    """−|x|: the sign bit set."""

    def generate(context, builder, signature, arguments):
        bits = ir.VectorType(ir.IntType(signature.return_type.dtype.bitwidth), WIDTH)
        sign = ir.Constant(bits, [1 << (signature.return_type.dtype.bitwidth - 1)] * WIDTH)
        return builder.bitcast(builder.or_(builder.bitcast(arguments[0], bits), sign), arguments[0].type)

    return vector(vector), generate


@intrinsic
def any_true(typing_context, mask):
    """Whether the mask holds anywhere."""

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(mask), generate


@intrinsic
def horizontal_sum(typing_context, vector):
    """The sum of all lanes, pairwise."""

    def generate(context, builder, signature, arguments):
        value = arguments[0]
        for half in (4, 2, 1):
            order = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [(i + half) % WIDTH for i in range(WIDTH)])
            value = builder.fadd(value, builder.shuffle_vector(value, value, order), flags=FMA_FLAGS)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return vector.dtype(vector), generate


@intrinsic
def horizontal_sums(typing_context, a, b, c, d, e, f, g, h):
    """The sums of eight times eight lanes: neighbours are added while they are interleaved, in seven additions for all."""

    def generate(context, builder, signature, arguments):
        values, step = list(arguments), 1
        while len(values) > 1:
            low = [i + (WIDTH - step if i & step else 0) for i in range(WIDTH)]
            orders = (ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [i + far for i in low]) for far in (0, step))
            first, second = orders
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [
                builder.fadd(builder.shuffle_vector(x, y, first), builder.shuffle_vector(x, y, second), flags=FMA_FLAGS)
                for x, y in pairs
            ]
            step *= 2
        return values[0]

    return a(a, b, c, d, e, f, g, h), generate


@intrinsic
def _bits(typing_context, vector):
    """Whole numbers as integers, shifted to where a float keeps its exponent."""

    def generate(context, builder, signature, arguments):
        integers = ir.VectorType(ir.IntType(32), WIDTH)
        bits = builder.shl(builder.fptosi(arguments[0], integers), ir.Constant(integers, [23] * WIDTH))
        return builder.bitcast(bits, arguments[0].type)

    return vector(vector), generate


@intrinsic
def _add_bits(typing_context, vector, bits):
    """Multiply by a power of two, by adding to the exponent."""

    def generate(context, builder, signature, arguments):
        integers = ir.VectorType(ir.IntType(32), WIDTH)
        return builder.bitcast(builder.add(*(builder.bitcast(value, integers) for value in arguments)), arguments[0].type)

    return vector(vector, bits), generate


def _unary(name):
    """An intrinsic LLVM already has, for lanes or for one number (where numba would call a library)."""

    @intrinsic
    def operation(typing_context, value):
        suffix = f"v{WIDTH}f{value.dtype.bitwidth}" if isinstance(value, SimdVector) else f"f{value.bitwidth}"

        def generate(context, builder, signature, arguments):
            kind = arguments[0].type
            function = builder.module.declare_intrinsic(f"llvm.{name}.{suffix}", fnty=ir.FunctionType(kind, [kind]))
            return builder.call(function, arguments)

        return value(value), generate

    return operation


sqrt, log, floor, ceil, nearest = (_unary(name) for name in ("sqrt", "log", "floor", "ceil", "rint"))
_library_exp2 = _unary("exp2")


@subroutine
def _float_exp2(x):
    whole = nearest(x)
    f = x - whole
    # The minimax polynomial of 2^f for |f| ≤ 1/2, 9e-8 off at most, and exact at zero; summed as a tree, because a
    # chain of five dependent products would leave the processor waiting.
    square = f * f
    low = f * 0.693146978 + 1.0
    middle = f * 0.0555073374 + 0.240222421
    high = f * 0.00132647269 + 0.00967151266
    p = (high * square + middle) * square + low
    return _add_bits(p, _bits(whole))


def exp2(vector):
    """2^x for |x| ≤ 125, to two units in the last place; anything for other x."""


@overload(exp2)
def _exp2(vector):
    if vector.dtype == types.float32:
        return lambda vector: _float_exp2(vector)
    return lambda vector: _library_exp2(vector)


def minimum(a, b):
    """The smaller of two vectors in each lane."""


def maximum(a, b):
    """The larger of two vectors in each lane."""


def _register(function, emit, returns_mask=False):
    """Register a binary operation with numba; either operand may be a scalar, which is broadcast.

    Typing and lowering are given directly: ``overload`` would compile a function for each pair of operand types, which
    takes longer than compiling the kernels.
    """

    @type_callable(function)
    def _typing(context):
        def result(a, b):
            vector = a if isinstance(a, SimdVector | SimdMask) else b
            other = b if vector is a else a
            if isinstance(vector, SimdVector | SimdMask) and (other == vector or isinstance(other, types.Number)):
                return SIMD_MASK if returns_mask else vector
            return None

        return result

    def generate(context, builder, signature, arguments):
        vector = next(kind for kind in signature.args if isinstance(kind, SimdVector | SimdMask))
        pairs = zip(arguments, signature.args, strict=True)
        return emit(builder, *(_as_vector(context, builder, value, kind, vector) for value, kind in pairs))

    for kinds in ((SimdVector, SimdVector), (SimdVector, types.Number), (types.Number, SimdVector), (SimdMask, SimdMask)):
        lower_builtin(function, *kinds)(generate)


def _as_vector(context, builder, value, kind, vector):
    return value if kind == vector else _splat(builder, context.cast(builder, value, kind, vector.dtype))


@type_callable(operator.neg)
def _typing_of_negative(context):
    return lambda vector: vector if isinstance(vector, SimdVector) else None


@lower_builtin(operator.neg, SimdVector)
def _negative(context, builder, signature, arguments):
    return builder.fneg(arguments[0])


def _compare(sign):
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


def _extreme(sign):
    # Written as compare and select, which is one instruction on every target.
    return lambda builder, a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b)


_register(operator.add, lambda builder, a, b: builder.fadd(a, b, flags=FMA_FLAGS))
_register(operator.sub, lambda builder, a, b: builder.fsub(a, b, flags=FMA_FLAGS))
_register(operator.mul, lambda builder, a, b: builder.fmul(a, b, flags=FMA_FLAGS))
_register(operator.truediv, lambda builder, a, b: builder.fdiv(a, b, flags=FMA_FLAGS))
_register(operator.le, _compare("<="), returns_mask=True)
_register(operator.ge, _compare(">="), returns_mask=True)
_register(operator.gt, _compare(">"), returns_mask=True)
_register(minimum, _extreme("<"))
_register(maximum, _extreme(">"))
_register(operator.and_, lambda builder, a, b: builder.and_(a, b), returns_mask=True)


def _splat(builder, scalar):
    vector = ir.VectorType(scalar.type, WIDTH)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def _places(context, builder, signature, arguments):
    """Pointers to ``array[stride · index[start + lane] + offset]``, lane by lane."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    index_type = signature.args[1]
    start, stride, offset = (
        context.cast(builder, value, kind, types.intp) for value, kind in zip(arguments[2:5], signature.args[2:5], strict=True)
    )
    for lane in range(WIDTH):
        here = builder.add(start, ir.Constant(start.type, lane))
        if index_type is not types.none:
            indices = context.make_array(index_type)(context, builder, arguments[1]).data
            here = context.cast(builder, builder.load(builder.gep(indices, [here])), index_type.dtype, types.intp)
        yield builder.gep(data, [builder.add(builder.mul(here, stride), offset)])


def _vector_pointer(context, builder, signature, arguments):
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    pointer = cgutils.gep_inbounds(builder, array.data, arguments[1])
    return builder.bitcast(pointer, context.get_value_type(SimdVector(array_type.dtype)).as_pointer())
