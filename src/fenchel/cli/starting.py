"""A quicker start: scikit-learn without two packages that it imports and that no command uses.

``sklearn.utils.fixes`` imports ``scipy.stats`` for one function, and pandas for a question about data frames.  Both
take a third of the processor time of a small ``fenchel train``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

#: what is loaded when something of it is used, and what scikit-learn does without
_LATER, _WITHOUT = "scipy.stats", "pandas"


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


def load_scikit_learn() -> None:
    """Import scikit-learn, unless it is there; pandas can be imported as ever afterwards."""
    if "sklearn" in sys.modules:
        return
    from fenchel.loading import no_collection

    if _LATER not in sys.modules:
        sys.modules[_LATER] = _OnFirstUse(_LATER)
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
