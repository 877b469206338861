"""``prefetch`` of ``designs.rows`` in compiled code; imported when numba is."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from fenchel.designs.rows import prefetch


@intrinsic
def _prefetch_entry(typing_context: Any, array: Any, position: Any) -> Any:
    """Emit llvm.prefetch(address, read, keep in all caches, data)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        view = context.make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], signature.args[1], types.intp)
        corner = [position, *[context.get_constant(types.intp, 0)] * (array_type.ndim - 1)]
        pointer = cgutils.get_item_pointer(context, builder, array_type, view, corner, wraparound=False)
        byte_pointer = ir.IntType(8).as_pointer()
        i32 = ir.IntType(32)
        declaration = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte_pointer], ir.FunctionType(ir.VoidType(), [byte_pointer, i32, i32, i32])
        )
        flags = [ir.Constant(i32, flag) for flag in (0, 3, 1)]
        builder.call(declaration, [builder.bitcast(pointer, byte_pointer), *flags])
        return context.get_dummy_value()

    return types.void(array, position), generate


@overload(prefetch, inline="always")
def _prefetch(array: Any, position: Any) -> Any:
    def compiled(array: Any, position: Any) -> None:
        _prefetch_entry(array, position)

    return compiled
