"""How one loop serves every loss and every storage.

A loop calls ``dual_step(loss, ...)`` or ``row_dot(rows, ...)`` with a NamedTuple.  In plain Python these call the
tuple's method; in compiled code numba replaces them by the method itself, compiled for scalars and inlined.  What is
chosen depends on the tuple's class alone, so it can be cached on disk, unlike closures, jitted arguments or jitclass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from fenchel.designs.rows import prefetch

#: rows whose sums may be reordered, so that they vectorize; nothing else is relaxed
_REORDERED = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
_IN_ORDER = {"error_model": "numpy"}


def _unknown(loss: Any, label: float, alpha: float, score: float) -> float:
    return math.nan


def _never(loss: Any, label: float, alpha: float, score: float) -> float:
    return 0.0


def step_by_derivative(loss: Any, label: float, alpha: float, score: float, curvature: float) -> float:
    """The dual step (13) from the derivative of the loss alone.

    With the score r that the step leads to, a = -f'(r) and r = score + curvature (a - alpha), so that
    g(r) = r + curvature f'(r) - (score - curvature alpha) is zero.  Its derivative is at least one, hence the bracket;
    the bisection takes every other step as false position.  At a kink a lies between the derivatives of both sides.
    """
    at = curvature * (derivative(loss, label, score) + alpha)
    if curvature == 0.0:
        return -derivative(loss, label, score)
    if at == 0.0:
        return alpha
    target = score - curvature * alpha
    low, high = score - max(at, 0.0), score + max(-at, 0.0)
    below = low + curvature * derivative(loss, label, low) - target
    above = high + curvature * derivative(loss, label, high) - target
    for step in range(200):
        if not high - low > 2.3e-16 * (abs(low) + abs(high)):
            break
        middle = 0.5 * (low + high)
        if step % 2 == 1 and above > below:
            middle = high - above * (high - low) / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        value = middle + curvature * derivative(loss, label, middle) - target
        if value > 0.0:
            high, above = middle, value
        else:
            low, below = middle, value
    new = alpha + (0.5 * (low + high) - score) / curvature
    return min(max(new, -derivative(loss, label, high)), -derivative(loss, label, low))


#: what a user's compiled loss takes for a method that it does not define: without ``fenchel_young_gap`` it is certified
#: on a schedule only, without ``kkt_margin`` its examples are never shrunk, ``dual_step`` is made from ``derivative``
_DEFAULTS: dict[str, Callable[..., Any]] = {
    "dual_step": step_by_derivative,
    "fenchel_young_gap": _unknown,
    "kkt_margin": _never,
}
#: the methods that a compiled loss may define
LOSS_METHODS = ("derivative", *_DEFAULTS, "hess_conjugate")


def method_of(cls: type, name: str) -> Callable[..., Any]:
    """The method of a compiled tuple, or its default, which only users' losses take."""
    found = getattr(cls, name, None)
    if found is not None:
        return found
    if cls.__module__.partition(".")[0] == "fenchel" or name not in _DEFAULTS:
        raise TypeError(f"{cls.__name__} has no method {name!r}")
    return _DEFAULTS[name]


def dispatch(generic: Callable[..., Any]) -> Callable[..., Any]:
    """Tell numba to replace a generic function by the method of the same name of its first argument."""
    for reorder, options in ((True, _REORDERED), (False, _IN_ORDER)):

        def choose(owner: Any, *arguments: Any, reorder: bool = reorder) -> Callable[..., Any] | None:
            cls = getattr(owner, "instance_class", None)
            reorders = getattr(cls, "reorders_sums", lambda: False)()
            if cls is None or reorders != reorder:
                return None
            return method_of(cls, generic.__name__)

        overload(generic, strict=False, jit_options=options)(choose)
    return generic


@dispatch
def derivative(loss: Any, label: float, score: float) -> float:
    """The derivative of the loss, for losses that give nothing else."""
    return loss.derivative(label, score)


@dispatch
def dual_step(loss: Any, label: float, alpha: float, score: float, curvature: float) -> float:
    """The new dual variable of one example, see ``Loss.dual_step``."""
    return method_of(type(loss), "dual_step")(loss, label, alpha, score, curvature)


@dispatch
def kkt_margin(loss: Any, label: float, alpha: float, score: float) -> float:
    """By how much a dual variable satisfies the KKT conditions at a bound, see ``CompiledLoss.kkt_margin``."""
    return method_of(type(loss), "kkt_margin")(loss, label, alpha, score)


@dispatch
def fenchel_young_gap(loss: Any, label: float, alpha: float, score: float) -> float:
    """What an example adds to the duality gap, see ``CompiledLoss.fenchel_young_gap``."""
    return method_of(type(loss), "fenchel_young_gap")(loss, label, alpha, score)


@dispatch
def hess_conjugate(loss: Any, label: float, alpha: float) -> float:
    """The second derivative of the conjugate, see ``CompiledLoss.hess_conjugate``."""
    return loss.hess_conjugate(label, alpha)


@dispatch
def linear(regularizer: Any) -> bool:
    """Whether the weights are the dual vector v itself."""
    return regularizer.linear()


@dispatch
def weight(regularizer: Any, v: float) -> float:
    """One component of the mirror map grad Omega*(v)."""
    return regularizer.weight(v)


@dispatch
def hess_bound(regularizer: Any, v: float, radius: float) -> float:
    """The largest second derivative of the conjugate within ``radius`` of v."""
    return regularizer.hess_bound(v, radius)


@dispatch
def coupled(regularizer: Any) -> bool:
    """Whether a sum over all features enters every weight."""
    return regularizer.coupled()


@dispatch
def rescale(regularizer: Any, top: float, bottom: float) -> Any:
    """Frame and floor of a regularizer for components within these bounds, see ``CompiledMirrorMap``."""
    return regularizer.rescale(top, bottom)


@dispatch
def grad_and_value(regularizer: Any, v: float, prior: float, frame: float, floor: float) -> Any:
    """h'(v) and h(v), see ``CompiledMirrorMap``."""
    return regularizer.grad_and_value(v, prior, frame, floor)


@dispatch
def can_update(regularizer: Any, v: float, shift: float) -> bool:
    """Whether ``update`` is accurate, see ``CompiledMirrorMap``."""
    return regularizer.can_update(v, shift)


@dispatch
def update(regularizer: Any, grad: float, value: float, v: float, shift: float, frame: float) -> Any:
    """The grad_and_value at v + shift from the one at v, see ``CompiledMirrorMap``."""
    return regularizer.update(grad, value, v, shift, frame)


@dispatch
def outer_grad(regularizer: Any, total: float, frame: float) -> float:
    """G'(z), see ``CompiledMirrorMap``."""
    return regularizer.outer_grad(total, frame)


@dispatch
def row_dot(rows: Any, i: Any, w: Any) -> float:
    """x_i . w"""
    return rows.row_dot(i, w)


@dispatch
def row_square(rows: Any, i: Any) -> float:
    """|x_i|^2, or a negative number for a row that needs care."""
    return rows.row_square(i)


@dispatch
def row_add(rows: Any, i: Any, scale: float, w: Any) -> None:
    """w += scale x_i"""
    rows.row_add(i, scale, w)


@dispatch
def row_begin(rows: Any, i: Any) -> Any:
    """Where the entries of row i begin."""
    return rows.row_begin(i)


@dispatch
def row_end(rows: Any, i: Any) -> Any:
    """Where the entries of row i end."""
    return rows.row_end(i)


@dispatch
def row_column(rows: Any, i: Any, k: Any) -> Any:
    """The column of entry k of row i."""
    return rows.row_column(i, k)


@dispatch
def row_entry(rows: Any, i: Any, k: Any) -> float:
    """The value of entry k of row i."""
    return rows.row_entry(i, k)


@dispatch
def row_prefetch(rows: Any, i: Any) -> None:
    """Start to load row i."""
    rows.row_prefetch(i)


@dispatch
def index_prefetch(rows: Any, i: Any) -> None:
    """Start to load where row i begins."""
    rows.index_prefetch(i)


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
