"""A quicker start of programs: packages without the parts of others that they import and that no command uses.

SciPy imports all of NumPy, with its compiler of Fortran and its tools for tests; ``sklearn.utils.fixes`` imports
``scipy.stats`` for one function, and pandas for a question about data frames.  Together they take half of the processor
time of a small ``fenchel train``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

#: what is loaded when something of it is used, and what scikit-learn does without
_LATER, _WITHOUT = ("numpy.f2py", "numpy.testing", "scipy.stats"), "pandas"


class _OnFirstUse(ModuleType):
    """A module that is imported when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def load_scipy() -> None:
    """Import NumPy and SciPy's sparse matrices, unless they are there."""
    from fenchel.loading import no_collection

    if "scipy.sparse" in sys.modules:
        return
    with no_collection():
        numpy = import_module("numpy")
        for name in _LATER:
            if name not in sys.modules:
                sys.modules[name] = _OnFirstUse(name)
                if name.startswith("numpy."):
                    # NumPy's own way of loading it on first use looks here first
                    setattr(numpy, name.removeprefix("numpy."), sys.modules[name])
        import_module("scipy.sparse")


def load_scikit_learn() -> None:
    """Import scikit-learn, unless it is there; pandas can be imported as ever afterwards."""
    if "sklearn" in sys.modules:
        return
    from fenchel.loading import no_collection

    load_scipy()
    hidden = _WITHOUT not in sys.modules
    if hidden:
        # an import of it raises ImportError, as if it were not installed
        sys.modules[_WITHOUT] = None  # type: ignore[assignment]
    try:
        with no_collection():
            import_module("sklearn.utils.fixes")
    finally:
        if hidden:
            del sys.modules[_WITHOUT]
