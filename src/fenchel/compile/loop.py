"""The one decorator behind which loops are compiled.

A loop called with a loss from outside the package runs in an uncached twin, so that neither an edited nor a missing
user module can ever meet a stored entry; there is one for each class, since numba's dispatchers take two classes of
the same name (a module that was edited and reloaded) for one.  ``compile.cache`` has the rules of the cache on disk.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import threading
import time
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeGuard

from fenchel.compile.dispatch import LOSS_METHODS, ROW_METHODS
from fenchel.compile.registration import at_first_call, register_all
from fenchel.compile.stopwatch import stopwatch
from fenchel.errors import FenchelError
from fenchel.stopping import stop_point

if TYPE_CHECKING:
    from numba.core.errors import NumbaError


class Loop:
    """A compiled loop: cached on disk for what the package defines, compiled per process for what users define."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        #: by the users' classes among the arguments, () for none: numba itself takes classes of the same name for one
        self._dispatchers: dict[tuple[type, ...], Callable[..., Any]] = {}
        #: the same by the types of all arguments, so that the usual call looks them up once
        self._by_types: dict[tuple[type, ...], Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        begin, types = time.perf_counter(), tuple(map(type, arguments))
        dispatcher = self._by_types.get(types) or self._dispatcher(types)
        stop_point()
        known = _signatures(dispatcher)
        try:
            return dispatcher(*arguments)
        except Exception as error:
            stopwatch.stop()  # compiling may have failed
            theirs = [one for one in arguments if not _is_ours(type(one))]
            if theirs and _is_of_numba(error):
                raise FenchelError(_culprit(theirs, error)) from error
            raise
        finally:
            if _signatures(dispatcher) > known:
                stopwatch.first_call(begin)

    def _dispatcher(self, types: tuple[type, ...]) -> Callable[..., Any]:
        """The function to call with arguments of these types."""
        theirs = tuple(cls for cls in types if not _is_ours(cls))
        register_all()
        with self._lock:
            if theirs not in self._dispatchers:
                for cls in theirs:
                    _check_names(cls)
                self._dispatchers[theirs] = _compiled(self._function, self._options, cached=not theirs)
            self._by_types[types] = self._dispatchers[theirs]
        return self._by_types[types]


def _signatures(dispatcher: Any) -> int:
    """The number of argument types that a dispatcher is compiled for; none for a plain function."""
    return 0 if isinstance(dispatcher, FunctionType) else len(dispatcher.overloads)


def _is_of_numba(error: Exception) -> TypeGuard[NumbaError]:
    from numba.core.errors import NumbaError

    return isinstance(error, NumbaError)


def _methods(cls: type) -> dict[str, Callable[..., Any]]:
    return {name: one for name, one in vars(cls).items() if inspect.isfunction(one) and not name.startswith("_")}


def _check_names(cls: type) -> None:
    """Refuse a user's compiled loss without a derivative, or with a misspelt method that a default would replace."""
    if "row_dot" in _methods(cls):
        missing = set(ROW_METHODS) - {"reorders_sums"} - set(_methods(cls))
        if missing:
            raise FenchelError(f"{cls.__name__} lacks the method {min(missing)!r}, which loops call for rows of X")
        return
    if not {"derivative", "dual_step"} & set(_methods(cls)):
        raise FenchelError(f"{cls.__name__} needs the method derivative(self, label, score), which compiled loops call")
    for name in _methods(cls):
        if name not in LOSS_METHODS:
            near = difflib.get_close_matches(name, LOSS_METHODS, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"compiled losses have {', '.join(LOSS_METHODS)}"
            raise FenchelError(f"{cls.__name__} has an unknown method {name!r}: {advice}")


def _culprit(theirs: list[Any], error: NumbaError) -> str:
    """Which method of a user's tuple can't be compiled, found by compiling each by itself."""
    import numba
    from numba.core.errors import NumbaError

    for owner in theirs:
        cls = type(owner)
        if "row_dot" in _methods(cls):
            # its methods take arrays too
            continue
        for name, method in _methods(cls).items():
            numbers = (numba.float64,) * (method.__code__.co_argcount - 1)
            try:
                numba.njit(error_model="numpy")(method).compile((numba.typeof(owner), *numbers))
            except NumbaError as found:
                why = next((line for line in str(found).splitlines()[1:] if line.strip()), str(found))
                return (
                    f"the method {name} of {cls.__name__} can't be compiled: it may use floats, its own fields and the "
                    f"module math only, no NumPy or SciPy functions of arrays ({why.strip()})"
                )
    return f"a loop can't be compiled for {', '.join(type(owner).__name__ for owner in theirs)}: {error}"


def _compiled(function: Callable[..., Any], options: dict[str, Any], *, cached: bool) -> Callable[..., Any]:
    import numba

    from fenchel.compile.cache import cache_for

    # nogil lets threads run loops side by side
    dispatcher = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._cache = cache_for(function, on_disk=cached)
    return dispatcher


def _is_ours(cls: type) -> bool:
    return not issubclass(cls, tuple) or cls.__module__.partition(".")[0] == "fenchel"


def loop(function: Callable[..., Any]) -> Loop:
    """Compile a module-level function over arrays on its first call."""
    return Loop(function)


def uncounted_loop(function: Callable[..., Any]) -> Loop:
    """The same for a function that makes no array, whose helpers return none: references to arrays are not counted.

    The arguments keep all arrays alive.  numba counts a reference for each array that is sliced or passed to a helper,
    an atomic addition of 7 ns or more, which was half of the time of a turn in block coordinate descent.  Helpers are
    inlined: a call passes each array as seven numbers on the stack, which was a quarter of what remained.
    """
    return Loop(function, _nrt=False, forceinline=True)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that loops call: compiled as a part of them, plain Python otherwise."""
    # without a wrapper for C, which would compile it twice
    at_first_call(lambda: _register(function, no_cfunc_wrapper=True))
    return function


def inlined_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, written into each loop that calls it: a call with an array counts references, 10 ns each time."""
    at_first_call(lambda: _register(function, inline="always", no_cfunc_wrapper=True))
    return function


def summing_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with sums that may be reordered, so that they vectorize; nothing else is relaxed."""
    options = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
    at_first_call(lambda: _register(function, no_cfunc_wrapper=True, **options))
    return function


def _register(function: Callable[..., Any], **options: Any) -> None:
    from numba.extending import register_jitable

    register_jitable(**options)(function)
