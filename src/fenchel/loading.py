"""What is loaded on first use: the names of a package, and compiled code.

Both make many objects that live until the process ends.  Python's cyclic garbage collector counts them as candidates
and scans all objects several times, which took a quarter of the first fit of a process; it is switched off during
loading.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

Public = TypeVar("Public", bound=Callable[..., Any])

#: the counterparts of classes of scikit-learn that have no namesake here
_ELSEWHERE = {
    **dict.fromkeys(("Ridge", "Lasso", "ElasticNet", "QuantileRegressor", "HuberRegressor"), "LinearRegressor"),
    **dict.fromkeys(("SGDRegressor", "PoissonRegressor", "LinearRegression"), "LinearRegressor"),
    **dict.fromkeys(("SGDClassifier", "RidgeClassifier"), "LinearClassifier"),
    **dict.fromkeys(("RidgeCV", "LassoCV", "ElasticNetCV"), "LinearRegressorCV"),
    "LogisticRegressionCV": "LinearClassifierCV",
    "Perceptron": "OnlineClassifier",
    "SVC": "KernelClassifier",
    "SVR": "KernelRegressor",
    "lasso_path": "regularization_path",
}

_lock = threading.Lock()
#: how many threads and nested loads are loading now, and whether the collector was on when the first of them began
_loading, _was_on = 0, True
#: whether later collections leave out what was loaded
_keeps = False


def keep_what_loads() -> None:
    """Leave all objects that exist after a load out of later collections, for programs, which end soon.

    The first collection after a load scans what was loaded, 10 to 20 ms after an import of SciPy or numba.
    """
    global _keeps
    _keeps = True


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn the cyclic garbage collector off while something is loaded."""
    global _loading, _was_on
    with _lock:
        if not _loading:
            _was_on = gc.isenabled()
            gc.disable()
        _loading += 1
    try:
        yield
    finally:
        with _lock:
            _loading = max(0, _loading - 1)
            if not _loading:
                if _keeps:
                    gc.freeze()
                if _was_on:
                    gc.enable()


def _after_fork() -> None:
    """In a child process no other thread loads any more."""
    global _lock, _loading
    _lock = threading.Lock()
    if _loading and _was_on:
        gc.enable()
    _loading = 0


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


def on_first_use(namespace: dict[str, Any], homes: Mapping[str, str | None]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package that imports each name from its module on first use; None for a submodule."""
    package = namespace["__name__"]

    def imported(name: str) -> object:
        if name not in homes:
            # here, since an import of the package takes less time without it
            from difflib import get_close_matches

            near = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in homes else get_close_matches(name, homes, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        home = homes[name]
        with no_collection():
            module = import_module(home or f"{package}.{name}")
            namespace[name] = module if home is None else getattr(module, name)
        return namespace[name]

    return imported


def of_package(public: Public) -> Public:
    """Give a class or function its subpackage as its module, which pickles and error messages then name."""
    public.__module__ = ".".join(public.__module__.split(".")[:2])
    return public
