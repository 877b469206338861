"""The errors and warnings that users of Fenchel can catch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

    class GapWarning(ConvergenceWarning):
        """A fit stopped before the duality gap reached ``tol``; the message states the gap it proved."""


class FenchelError(ValueError):
    """An argument can't be used; the message names it and says what to do."""


class CacheWarning(UserWarning):
    """Compiled loops can't be kept on disk, so each process compiles them again."""


def __getattr__(name: str) -> Any:
    """Make ``GapWarning``, a subclass of scikit-learn's ConvergenceWarning, on first use: importing it takes long."""
    if name != "GapWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning

    doc = "A fit stopped before the duality gap reached ``tol``; the message states the gap it proved."
    made = type(name, (ConvergenceWarning,), {"__doc__": doc, "__module__": __name__})
    globals()[name] = made
    return made
