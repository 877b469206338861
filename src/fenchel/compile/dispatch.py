"""How one loop serves every loss and every storage.

A loop calls ``dual_step(loss, ...)`` or ``row_dot(rows, ...)`` with a NamedTuple.  In plain Python these call the
tuple's method; in compiled code numba replaces them by the method itself, compiled for scalars and inlined.  What is
chosen depends on the tuple's class alone, so it can be cached on disk, unlike closures, jitted arguments or jitclass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from fenchel.compile.registration import at_first_call
from fenchel.designs.generated_rows import PAIR_HELPERS
from fenchel.designs.kmer_rows import ROW_HELPERS

#: rows whose sums may be reordered, so that they vectorize; nothing else is relaxed
_REORDERED = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy", "no_cfunc_wrapper": True}
_IN_ORDER = {"error_model": "numpy", "no_cfunc_wrapper": True}


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


def dispatched(name: str) -> Callable[..., Any]:
    """A function that calls the method of this name of its first argument; numba puts the method in its place."""

    def generic(owner: Any, *arguments: Any) -> Any:
        return method_of(type(owner), name)(owner, *arguments)

    at_first_call(partial(_overload, generic, name))
    return generic


def _overload(generic: Callable[..., Any], name: str) -> None:
    """Tell numba which methods stand for a generic function."""
    from numba.extending import overload

    for reorder, options in ((True, _REORDERED), (False, _IN_ORDER)):

        def choose(owner: Any, *arguments: Any, reorder: bool = reorder) -> Callable[..., Any] | None:
            cls = getattr(owner, "instance_class", None)
            reorders = getattr(cls, "reorders_sums", lambda: False)()
            return None if cls is None or reorders != reorder else method_of(cls, name)

        overload(generic, strict=False, jit_options=options)(choose)


# methods of ``CompiledLoss``
#: (loss, label, score): the derivative of the loss, for losses that give nothing else
derivative = dispatched("derivative")
#: (loss, label, alpha, score, curvature): the new dual variable of one example, see ``Loss.dual_step``
dual_step = dispatched("dual_step")
#: (loss, label, alpha, score): by how much a dual variable satisfies the KKT conditions at a bound
kkt_margin = dispatched("kkt_margin")
#: (loss, label, alpha, score): what an example adds to the duality gap
fenchel_young_gap = dispatched("fenchel_young_gap")
#: (loss, label, alpha): the second derivative of the conjugate
hess_conjugate = dispatched("hess_conjugate")

# methods of ``CompiledRegularizer``, of which the conjugate is a sum over the components of v
#: (regularizer): whether the weights are the dual vector v itself
linear = dispatched("linear")
#: (regularizer, v): one component of the mirror map grad Omega*(v)
weight = dispatched("weight")
#: (regularizer, v, radius): the largest second derivative of the conjugate within ``radius`` of v
hess_bound = dispatched("hess_bound")

# methods of ``CompiledMirrorMap``
#: (regularizer): whether a sum over all features enters every weight
coupled = dispatched("coupled")
#: (regularizer, top, bottom): frame and floor for components within these bounds
rescale = dispatched("rescale")
#: (regularizer, v, prior, frame, floor): h'(v) and h(v)
grad_and_value = dispatched("grad_and_value")
#: (regularizer, v, shift): whether ``update`` is accurate
can_update = dispatched("can_update")
#: (regularizer, grad, value, v, shift, frame): the grad_and_value at v + shift from the one at v
update = dispatched("update")
#: (regularizer, total, frame): G'(z)
outer_grad = dispatched("outer_grad")

# methods of the rows of a design
#: (rows, i, w): x_i . w
row_dot = dispatched("row_dot")
#: (rows, i): |x_i|^2, or a negative number for a row that needs care
row_square = dispatched("row_square")
#: (rows, i, scale, w): w += scale x_i
row_add = dispatched("row_add")
#: (rows, i): where the entries of row i begin
row_begin = dispatched("row_begin")
#: (rows, i): where the entries of row i end
row_end = dispatched("row_end")
#: (rows, i, k): the column of entry k of row i
row_column = dispatched("row_column")
#: (rows, i, k): the value of entry k of row i
row_entry = dispatched("row_entry")
#: (rows, i): start to load row i
row_prefetch = dispatched("row_prefetch")
#: (rows, i): start to load where row i begins
index_prefetch = dispatched("index_prefetch")

#: the methods of the rows of a design
ROW_METHODS = (
    *("row_dot", "row_add", "row_square", "row_begin", "row_end", "row_column", "row_entry"),
    *("row_prefetch", "index_prefetch", "reorders_sums"),
)


def _register_helpers() -> None:
    from numba.extending import register_jitable

    for one in (*ROW_HELPERS, *PAIR_HELPERS):
        register_jitable(**_IN_ORDER)(one)


at_first_call(_register_helpers)
at_first_call(lambda: import_module("fenchel.compile.prefetching"))
