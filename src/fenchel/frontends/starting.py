"""A quicker start of programs: packages without the parts of others that they import and that no command uses.

SciPy imports all of NumPy, with masked arrays, a compiler of Fortran and tools for tests, and parses and rewrites the
docstrings of its functions; ``sklearn.utils.fixes`` imports ``scipy.stats`` for one function, and pandas for a question
about data frames.  Together they take half of the processor time of a small ``fenchel train``.
"""

from __future__ import annotations

import atexit
import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

#: what is loaded when something of it is used, and what scikit-learn does without
_LATER, _WITHOUT = ("numpy.f2py", "numpy.ma", "numpy.testing", "scipy.stats"), "pandas"
#: SciPy's parser of docstrings
_DOCSTRINGS = "scipy._lib._docscrape"


class _OnFirstUse(ModuleType):
    """A module that is imported when a name is asked for that it does not have yet."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


class _NoMaskedArray:
    """What numba asks every array whether it is one; there are none before ``numpy.ma`` is imported."""


class _Docstring:
    """A docstring that stays as it is: SciPy's decorators add paragraphs to the sections of a parsed one."""

    def __init__(self, function: Any) -> None:
        self._text = function.__doc__ or ""

    def __getitem__(self, section: str) -> list[Any]:
        return []

    def __setitem__(self, section: str, lines: list[Any]) -> None:
        pass

    def __str__(self) -> str:
        # SciPy removes the first line, a signature
        return f"\n{self._text}"


class _Parameter(NamedTuple):
    """A parameter in a docstring."""

    name: str
    type: str
    desc: list[str]


def load_scipy() -> None:
    """Import NumPy and SciPy's sparse matrices, unless they are there."""
    from fenchel.loading import no_collection

    if "scipy.sparse" in sys.modules:
        return
    with no_collection():
        numpy = import_module("numpy")
        for name in _LATER:
            if name not in sys.modules:
                known = {"MaskedArray": _NoMaskedArray} if name == "numpy.ma" else {}
                sys.modules[name] = _OnFirstUse(name, **known)
                if name.startswith("numpy."):
                    # NumPy's own way of loading it on first use looks here first
                    setattr(numpy, name.removeprefix("numpy."), sys.modules[name])
        if _DOCSTRINGS not in sys.modules:
            sys.modules[_DOCSTRINGS] = _OnFirstUse(_DOCSTRINGS, FunctionDoc=_Docstring, Parameter=_Parameter)
        import_module("scipy.sparse")
    # what is loaded now lives until the process ends: later collections need not look at it, nor the last one, when
    # Python ends, at anything, which takes a tenth of a second
    gc.freeze()
    atexit.register(gc.freeze)


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
        gc.freeze()
    finally:
        if hidden:
            del sys.modules[_WITHOUT]
