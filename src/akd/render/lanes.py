"""Eight numbers at once, as a numba type: what the compiled rasteriser's inner loops are written in.

A loop that numba must vectorise on its own leaves short rows of pixels to its scalar remainder, and most splats are a
few pixels wide. ``Lanes`` is an LLVM vector ``<8 x float>`` (or double), so the machine code is vector code by
construction: one AVX register, two of SSE or NEON. Comparisons give a mask of eight bits. Everything is inlined.
"""

import operator

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

WIDTH = 8
FUSED = ("contract", "nsz")  # may use fused multiply–add; nothing that changes results beyond rounding


class Lanes(types.Type):
    """Eight floats of one precision."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


class Mask(types.Type):
    """Eight truth values."""

    def __init__(self) -> None:
        super().__init__(name="Mask")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes) -> None:
        super().__init__(manager, lanes, ir.VectorType(manager.lookup(lanes.dtype).get_value_type(), WIDTH))


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    def __init__(self, manager, mask) -> None:
        super().__init__(manager, mask, ir.VectorType(ir.IntType(1), WIDTH))


MASK = Mask()


@intrinsic
def load(typing_context, array, start):
    """Eight consecutive entries of a one-dimensional contiguous array."""
    lanes = Lanes(array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _vector_pointer(context, builder, signature, arguments)
        return builder.load(pointer, align=signature.return_type.dtype.bitwidth // 8)

    return lanes(array, start), generate


@intrinsic
def store(typing_context, array, start, lanes):
    """Write eight consecutive entries."""

    def generate(context, builder, signature, arguments):
        pointer = _vector_pointer(context, builder, signature, arguments)
        builder.store(arguments[2], pointer, align=signature.args[2].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, start, lanes), generate


@intrinsic
def gather(typing_context, array, index, start, stride, offset):
    """``array[stride · index[start + lane] + offset]`` for the eight lanes; ``stride`` and ``offset`` may be literals."""
    lanes = Lanes(array.dtype)

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args[:2]
        data = context.make_array(array_type)(context, builder, arguments[0]).data
        indices = context.make_array(index_type)(context, builder, arguments[1]).data
        start, stride, offset = (
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments[2:], signature.args[2:], strict=True)
        )
        vector = ir.Constant(context.get_value_type(lanes), ir.Undefined)
        for lane in range(WIDTH):
            here = builder.load(builder.gep(indices, [builder.add(start, ir.Constant(start.type, lane))]))
            place = builder.add(builder.mul(context.cast(builder, here, index_type.dtype, types.intp), stride), offset)
            vector = builder.insert_element(vector, builder.load(builder.gep(data, [place])), ir.Constant(ir.IntType(32), lane))
        return vector

    return lanes(array, index, start, stride, offset), generate


@intrinsic
def fill(typing_context, value):
    """The same number in all lanes."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, arguments[0])

    return Lanes(value)(value), generate


@intrinsic
def count_from(typing_context, first):
    """first, first + 1, …, first + 7."""

    def generate(context, builder, signature, arguments):
        steps = ir.Constant(ir.VectorType(arguments[0].type, WIDTH), [float(i) for i in range(WIDTH)])
        return builder.fadd(_splat(builder, arguments[0]), steps, flags=FUSED)

    return Lanes(first)(first), generate


@intrinsic
def choose(typing_context, mask, yes, no):
    """Lane by lane, ``yes`` where the mask holds and ``no`` elsewhere."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return yes(mask, yes, no), generate


@intrinsic
def any_lane(typing_context, mask):
    """Whether the mask holds anywhere."""

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(mask), generate


@intrinsic
def total(typing_context, lanes):
    """The sum of all lanes, pairwise."""

    def generate(context, builder, signature, arguments):
        value = arguments[0]
        for half in (4, 2, 1):
            order = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [(i + half) % WIDTH for i in range(WIDTH)])
            value = builder.fadd(value, builder.shuffle_vector(value, value, order), flags=FUSED)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return lanes.dtype(lanes), generate


@intrinsic
def power_of_two(typing_context, lanes):
    """2^n of whole float32 numbers n from −126 to 127, by writing n into the exponent bits."""

    def generate(context, builder, signature, arguments):
        integers = ir.VectorType(ir.IntType(32), WIDTH)
        exponent = builder.add(builder.fptosi(arguments[0], integers), ir.Constant(integers, [127] * WIDTH))
        return builder.bitcast(builder.shl(exponent, ir.Constant(integers, [23] * WIDTH)), arguments[0].type)

    return lanes(lanes), generate


def _unary(name):
    """An intrinsic LLVM already has, for every lane."""

    @intrinsic
    def operation(typing_context, lanes):
        def generate(context, builder, signature, arguments):
            vector = arguments[0].type
            suffix = f"v{WIDTH}f{signature.return_type.dtype.bitwidth}"
            function = builder.module.declare_intrinsic(f"llvm.{name}.{suffix}", fnty=ir.FunctionType(vector, [vector]))
            return builder.call(function, arguments)

        return lanes(lanes), generate

    return operation


sqrt, log, _round, _library_exp = _unary("sqrt"), _unary("log"), _unary("rint"), _unary("exp")


@njit(inline="always")
def _float_exp(x):
    # 2^(n + f) with |f| ≤ 1/2; the polynomial is the minimax one of 2^f, 9e-8 off at most, and exact at zero.
    exponent = higher(x * 1.4426950408889634, -126.0)
    whole = _round(exponent)
    f = exponent - whole
    p = f * 0.00132647269 + 0.00967151266
    p = p * f + 0.0555073374
    p = p * f + 0.240222421
    p = p * f + 0.693146978
    p = p * f + 1.0
    return p * power_of_two(whole)


def exp(lanes):
    """e^x for x ≤ 88, to two units in the last place; far below zero it ends at 2⁻¹²⁶ instead of zero."""


@overload(exp, inline="always")
def _exp(lanes):
    if lanes.dtype == types.float32:
        return lambda lanes: _float_exp(lanes)
    return lambda lanes: _library_exp(lanes)


def lower(a, b):
    """Lane by lane, the smaller."""


def higher(a, b):
    """Lane by lane, the larger."""


def both(a, b):
    """Lane by lane, whether both masks hold."""


def _binary(emit, returns_mask=False):
    """An intrinsic of two operands, either of which may be a plain number that is then meant for every lane."""

    @intrinsic
    def operation(typing_context, a, b):
        lanes = a if isinstance(a, Lanes | Mask) else b
        result = MASK if returns_mask else lanes

        def generate(context, builder, signature, arguments):
            vectors = []
            for argument, kind in zip(arguments, signature.args, strict=True):
                if not isinstance(kind, Lanes | Mask):
                    argument = _splat(builder, context.cast(builder, argument, kind, lanes.dtype))
                vectors.append(argument)
            return emit(builder, *vectors)

        return result(a, b), generate

    return operation


def _register(function, emit, returns_mask=False):
    operation = _binary(emit, returns_mask)

    @overload(function, inline="always")
    def _overload(a, b):
        if isinstance(a, Lanes | Mask) or isinstance(b, Lanes | Mask):
            return lambda a, b: operation(a, b)
        return None


@intrinsic
def _negative(typing_context, lanes):
    def generate(context, builder, signature, arguments):
        return builder.fneg(arguments[0])

    return lanes(lanes), generate


@overload(operator.neg)
def _neg(lanes):
    return (lambda lanes: _negative(lanes)) if isinstance(lanes, Lanes) else None


def _compare(sign):
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


def _extreme(sign):
    # Written as compare and select, which is one instruction on every target.
    return lambda builder, a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b)


_register(operator.add, lambda builder, a, b: builder.fadd(a, b, flags=FUSED))
_register(operator.sub, lambda builder, a, b: builder.fsub(a, b, flags=FUSED))
_register(operator.mul, lambda builder, a, b: builder.fmul(a, b, flags=FUSED))
_register(operator.truediv, lambda builder, a, b: builder.fdiv(a, b, flags=FUSED))
_register(operator.le, _compare("<="), returns_mask=True)
_register(operator.ge, _compare(">="), returns_mask=True)
_register(operator.gt, _compare(">"), returns_mask=True)
_register(lower, _extreme("<"))
_register(higher, _extreme(">"))
_register(both, lambda builder, a, b: builder.and_(a, b), returns_mask=True)


def _splat(builder, scalar):
    vector = ir.VectorType(scalar.type, WIDTH)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def _vector_pointer(context, builder, signature, arguments):
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    pointer = cgutils.gep_inbounds(builder, array.data, arguments[1])
    return builder.bitcast(pointer, context.get_value_type(Lanes(array_type.dtype)).as_pointer())

