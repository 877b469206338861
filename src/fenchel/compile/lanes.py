"""Eight neighbouring numbers of an array in vector registers, for loops over the classes of an example.

numba leaves the sums of a short inner loop in memory, where each addition waits for the last one, and compiles a
remainder loop for lengths that it does not know.  Arrays whose length is a multiple of ``LANES`` need neither: a loop
takes eight numbers at a time and keeps them in registers.  In plain Python the lanes are NumPy arrays of eight numbers.

Lanes are of float32 or float64, as the array that they are loaded from; sums, products and so on are of two lanes of
the same kind, or of lanes and a number.  Sums over the eight lanes are added in pairs, in the same order everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.core.types.misc import VarArg
from numba.extending import type_callable

from fenchel.arrays import Array

#: numbers that are taken at a time
LANES = 8
#: bytes of a cache line
CACHE_LINE = 64


def padded(count: int) -> int:
    """The smallest multiple of ``LANES`` that is at least ``count``."""
    return -(-count // LANES) * LANES


def aligned_zeros(shape: tuple[int, ...], kind: Any = np.float64) -> Array:
    """Zeros from the start of a cache line on: lanes that lie across two lines take twice the time."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    whole = np.zeros(size + CACHE_LINE, np.uint8)
    begin = -whole.__array_interface__["data"][0] % CACHE_LINE
    return whole[begin : begin + size].view(kind).reshape(shape)


def load(array: Array, position: Any) -> Array:
    """The lanes at ``array[position : position + LANES]``, of an array in C order."""
    return array[int(position) : int(position) + LANES].copy()


def store(array: Array, position: Any, lanes: Array) -> None:
    """Write the lanes to an array in C order, rounded to its kind."""
    array[int(position) : int(position) + LANES] = lanes


def zeros(array: Array) -> Array:
    """Zero in all lanes, of the kind of the array."""
    return np.zeros(LANES, array.dtype)


def spread(value: float) -> Array:
    """The same float64 in all lanes."""
    return np.full(LANES, value)


def widen(lanes: Array) -> Array:
    """The lanes as float64."""
    return lanes.astype(np.float64)


def narrow(lanes: Array) -> Array:
    """The lanes as float32."""
    return lanes.astype(np.float32)


def add(x: Any, y: Any) -> Array:
    """x + y"""
    return x + y


def subtract(x: Any, y: Any) -> Array:
    """x - y"""
    return x - y


def multiply(x: Any, y: Any) -> Array:
    """x * y"""
    return x * y


def divide(x: Any, y: Any) -> Array:
    """x / y"""
    return x / y


def smaller(x: Any, y: Any) -> Array:
    """The smaller of the two in each lane."""
    return np.minimum(x, y)


def larger(x: Any, y: Any) -> Array:
    """The larger of the two in each lane."""
    return np.maximum(x, y)


def multiply_add(total: Array, scale: float, x: Array) -> Array:
    """total + scale * x, rounded once where the processor can; the number ``scale`` takes the kind of the lanes."""
    return total + total.dtype.type(scale) * x


def where_positive(x: Array, yes: Any, no: Any) -> Array:
    """``yes`` in the lanes where x > 0, ``no`` in the others."""
    return np.where(x > 0.0, yes, no)


def sum_of(lanes: Array) -> float:
    """The sum of the lanes, as a float64."""
    four = lanes[:4] + lanes[4:]
    return float((four[0] + four[2]) + (four[1] + four[3]))


def least_of(lanes: Array) -> float:
    """The smallest of the lanes, as a float64."""
    return float(np.min(lanes))


def largest_of(lanes: Array) -> float:
    """The largest of the lanes, as a float64."""
    return float(np.max(lanes))


def any_nonzero(lanes: Array) -> bool:
    """Whether a lane is neither zero nor NaN."""
    return bool(np.any((lanes < 0.0) | (lanes > 0.0)))


class LanesType(types.Type):
    """The type of lanes in compiled loops."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"lanes({dtype})")


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    """Lanes are one vector register, or several."""

    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, _vector(kind))


_FLOAT32, _FLOAT64 = LanesType(types.float32), LanesType(types.float64)
_ELEMENTS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}


def _vector(kind: LanesType) -> ir.VectorType:
    return ir.VectorType(_ELEMENTS[kind.dtype], LANES)


def _is_number(kind: Any) -> bool:
    return isinstance(kind, (types.Float, types.Integer))


def _is_line(kind: Any) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C" and kind.dtype in _ELEMENTS


def _common(kinds: Any) -> LanesType | None:
    """The kind of the lanes among the arguments, if the others are numbers or lanes of that kind."""
    found = {kind for kind in kinds if isinstance(kind, LanesType)}
    fits = len(found) == 1 and all(kind in found or _is_number(kind) for kind in kinds)
    return found.pop() if fits else None


def _define(function: Callable[..., Any], typing: Callable[..., Any], lowering: Callable[..., Any]) -> None:
    """Compile ``function``: its result from the types of its arguments (None refuses them), and its instructions."""
    type_callable(function)(lambda context: typing)
    lower_builtin(function, VarArg(types.Any))(lowering)


def _as(context: Any, builder: Any, value: Any, kind: Any, wanted: LanesType) -> Any:
    """A number in all lanes, or lanes of another kind."""
    vector = _vector(wanted)
    if isinstance(kind, LanesType):
        if kind.dtype == wanted.dtype:
            return value
        return (builder.fpext if wanted.dtype == types.float64 else builder.fptrunc)(value, vector)
    number = context.cast(builder, value, kind, wanted.dtype)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _elementwise(instruction: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of a function of two arguments."""

    def lowering(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        pairs = zip(arguments, sig.args, strict=True)
        return instruction(builder, *[_as(context, builder, value, kind, sig.return_type) for value, kind in pairs])

    return lowering


def _chosen(sign: str) -> Callable[..., Any]:
    def instruction(builder: Any, x: Any, y: Any) -> Any:
        return builder.select(builder.fcmp_ordered(sign, x, y), x, y)

    return instruction


def _lower_multiply_add(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    pairs = zip(arguments, sig.args, strict=True)
    sum_, scale, x = (_as(context, builder, value, kind, sig.return_type) for value, kind in pairs)
    vector = _vector(sig.return_type)
    name = f"llvm.fmuladd.v{LANES}f{sig.return_type.dtype.bitwidth}"
    fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
    return builder.call(fma, [scale, x, sum_])


def _lower_where_positive(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    pairs = zip(arguments, sig.args, strict=True)
    x, yes, no = (_as(context, builder, value, kind, sig.return_type) for value, kind in pairs)
    return builder.select(builder.fcmp_ordered(">", x, ir.Constant(x.type, [0.0] * LANES)), yes, no)


def _address(context: Any, builder: Any, sig: Any, arguments: Any) -> tuple[Any, LanesType]:
    kind = sig.args[0]
    view = context.make_array(kind)(context, builder, arguments[0])
    position = context.cast(builder, arguments[1], sig.args[1], types.uintp)
    lanes = LanesType(kind.dtype)
    return builder.bitcast(builder.gep(view.data, [position]), _vector(lanes).as_pointer()), lanes


def _lower_load(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    pointer, lanes = _address(context, builder, sig, arguments)
    return builder.load(pointer, align=context.get_abi_sizeof(_ELEMENTS[lanes.dtype]), typ=_vector(lanes))


def _lower_store(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    pointer, lanes = _address(context, builder, sig, arguments)
    value = _as(context, builder, arguments[2], sig.args[2], lanes)
    builder.store(value, pointer, align=context.get_abi_sizeof(_ELEMENTS[lanes.dtype]))
    return context.get_dummy_value()


def _lower_zeros(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return ir.Constant(_vector(sig.return_type), [0.0] * LANES)


def _lower_convert(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return _as(context, builder, arguments[0], sig.args[0], sig.return_type)


def _reduction(instruction: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of a function of all lanes: halves, then pairs, then the two that are left."""

    def lowering(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        value = _as(context, builder, arguments[0], sig.args[0], _FLOAT64)
        for half in (4, 2, 1):
            mask = ir.VectorType(ir.IntType(32), half)
            parts = [
                builder.shuffle_vector(value, value, ir.Constant(mask, list(range(begin, begin + half))))
                for begin in (0, half)
            ]
            value = instruction(builder, *parts)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return lowering


def _lower_any_nonzero(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    (value,) = arguments
    found = builder.fcmp_ordered("!=", value, ir.Constant(value.type, [0.0] * LANES))
    bits = builder.bitcast(found, ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def _one_lanes(lanes: Any) -> Any:
    return types.float64 if isinstance(lanes, LanesType) else None


_SMALLER, _LARGER = _chosen("<"), _chosen(">")
_define(load, lambda array, position: LanesType(array.dtype) if _is_line(array) else None, _lower_load)
_define(store, lambda array, position, lanes: types.void if _is_line(array) else None, _lower_store)
_define(zeros, lambda array: LanesType(array.dtype) if array.dtype in _ELEMENTS else None, _lower_zeros)
_define(spread, lambda value: _FLOAT64 if _is_number(value) else None, _lower_convert)
_define(widen, lambda lanes: _FLOAT64 if isinstance(lanes, LanesType) else None, _lower_convert)
_define(narrow, lambda lanes: _FLOAT32 if isinstance(lanes, LanesType) else None, _lower_convert)
_define(multiply_add, lambda total, scale, x: _common((total, scale, x)), _lower_multiply_add)
_define(where_positive, lambda x, yes, no: _common((x, yes, no)), _lower_where_positive)
_define(any_nonzero, lambda lanes: types.boolean if isinstance(lanes, LanesType) else None, _lower_any_nonzero)
_TWO: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (add, ir.IRBuilder.fadd),
    (subtract, ir.IRBuilder.fsub),
    (multiply, ir.IRBuilder.fmul),
    (divide, ir.IRBuilder.fdiv),
    (smaller, _SMALLER),
    (larger, _LARGER),
)
_ALL: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (sum_of, ir.IRBuilder.fadd),
    (least_of, _SMALLER),
    (largest_of, _LARGER),
)
for _function, _instruction in _TWO:
    _define(_function, lambda x, y: _common((x, y)), _elementwise(_instruction))
for _function, _instruction in _ALL:
    _define(_function, _one_lanes, _reduction(_instruction))
