"""How one loop serves every loss and every storage.

A loop calls ``dual_step(loss, ...)`` or ``row_dot(rows, ...)`` with a NamedTuple.  In plain Python these call the
tuple's method; in compiled code numba replaces them by the method itself, compiled for scalars and inlined.  What is
chosen depends on the tuple's class alone, so it can be cached on disk, unlike closures, jitted arguments or jitclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from fenchel.designs.rows import prefetch

#: sums over a row may be reordered, so that they vectorize; nothing else is relaxed
_ROW_OPTIONS = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
_LOSS_OPTIONS = {"error_model": "numpy"}


def _method(name: str, owner: Any) -> Callable[..., Any] | None:
    """The method of a NamedTuple, from the Python class that its numba type remembers."""
    return getattr(getattr(owner, "instance_class", None), name, None)


def dual_step(loss: Any, label: float, alpha: float, score: float, curvature: float) -> float:
    """The new dual variable of one example, see ``Loss.dual_step``."""
    return loss.dual_step(label, alpha, score, curvature)


@overload(dual_step, strict=False, jit_options=_LOSS_OPTIONS)
def _dual_step(loss: Any, label: Any, alpha: Any, score: Any, curvature: Any) -> Any:
    return _method("dual_step", loss)


def slack(loss: Any, label: float, alpha: float, score: float) -> float:
    """How firmly a dual variable rests on a bound, see ``LossKernel.slack``."""
    return loss.slack(label, alpha, score)


@overload(slack, strict=False, jit_options=_LOSS_OPTIONS)
def _slack(loss: Any, label: Any, alpha: Any, score: Any) -> Any:
    return _method("slack", loss)


def row_dot(rows: Any, i: Any, w: Any) -> float:
    """x_i . w"""
    return rows.row_dot(i, w)


@overload(row_dot, strict=False, jit_options=_ROW_OPTIONS)
def _row_dot(rows: Any, i: Any, w: Any) -> Any:
    return _method("row_dot", rows)


def row_add(rows: Any, i: Any, scale: float, w: Any) -> None:
    """w += scale x_i"""
    rows.row_add(i, scale, w)


@overload(row_add, strict=False, jit_options=_ROW_OPTIONS)
def _row_add(rows: Any, i: Any, scale: Any, w: Any) -> Any:
    return _method("row_add", rows)


def row_prefetch(rows: Any, i: Any) -> None:
    """Start to load row i."""
    rows.row_prefetch(i)


@overload(row_prefetch, strict=False, jit_options=_ROW_OPTIONS)
def _row_prefetch(rows: Any, i: Any) -> Any:
    return _method("row_prefetch", rows)


def rows_prefetch(rows: Any, i: Any) -> None:
    """Start to load where row i begins."""
    rows.rows_prefetch(i)


@overload(rows_prefetch, strict=False, jit_options=_ROW_OPTIONS)
def _rows_prefetch(rows: Any, i: Any) -> Any:
    return _method("rows_prefetch", rows)


@intrinsic
def _prefetch_entry(typing_context: Any, array: Any, position: Any) -> Any:
    """Emit llvm.prefetch(address, read, keep in all caches, data)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        view = context.make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = cgutils.get_item_pointer(context, builder, array_type, view, [position], wraparound=False)
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
