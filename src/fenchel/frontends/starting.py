"""A quicker start of programs: packages without the parts of others that they import and that no command uses.

SciPy imports all of NumPy, with masked arrays, a compiler of Fortran and tools for tests, and parses and rewrites the
docstrings of its functions; ``sklearn.utils.fixes`` imports ``scipy.stats`` for one function, and pandas for a question
about data frames; joblib imports ``asyncio`` and ``psutil``.  Together they take half of the processor time of a small
``fenchel train``.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

#: what is loaded when something of it is used, and what scikit-learn and joblib do without
_LATER = ("asyncio", "numpy.f2py", "numpy.ma", "numpy.testing", "scipy.stats", "yaml")
_WITHOUT = ("pandas", "psutil")
#: what is known of ``numpy.ma`` before it is imported: numba and ``numpy.unique`` ask whether arrays are masked
_NO_MASKED = {"MaskedArray": type("NoMaskedArray", (), {}), "is_masked": lambda array: False}
#: SciPy's parser of docstrings
_DOCSTRINGS = "scipy._lib._docscrape"


class _OnFirstUse(ModuleType):
    """A module that is imported when a name is asked for that it does not have yet."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        # the path of a package is asked for when a module of it is imported
        if name.startswith("__") and not (name == "__path__" and self.__name__ in _LATER):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


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
    from fenchel.loading import keep_what_loads, no_collection

    if "scipy.sparse" in sys.modules:
        return
    keep_what_loads()
    with no_collection():
        numpy = import_module("numpy")
        for name in _LATER:
            if name not in sys.modules and (name.startswith(("numpy.", "scipy.")) or find_spec(name)):
                sys.modules[name] = _OnFirstUse(name, **(_NO_MASKED if name == "numpy.ma" else {}))
                if name.startswith("numpy."):
                    # NumPy's own way of loading it on first use looks here first
                    setattr(numpy, name.removeprefix("numpy."), sys.modules[name])
        if _DOCSTRINGS not in sys.modules:
            sys.modules[_DOCSTRINGS] = _OnFirstUse(_DOCSTRINGS, FunctionDoc=_Docstring, Parameter=_Parameter)
        import_module("scipy.sparse")
    # the last collection, when Python ends, takes a tenth of a second otherwise
    atexit.register(gc.freeze)


def load_scikit_learn() -> None:
    """Import scikit-learn, unless it is there; pandas can be imported as ever afterwards."""
    if "sklearn" in sys.modules:
        return
    from fenchel.loading import no_collection

    load_scipy()
    with no_collection(), _hidden():
        import_module("sklearn.utils.fixes")


@contextmanager
def _hidden() -> Iterator[None]:
    """As if some packages were not installed, unless they are imported already."""
    hidden = [name for name in _WITHOUT if name not in sys.modules]
    # an import of them raises ImportError
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
