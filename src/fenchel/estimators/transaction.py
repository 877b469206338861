"""A fit that is refused or fails leaves the estimator as it was: never new classes with old weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """``fit``, after whose failure every attribute is what it was before.

    A fit that has stored its solutions is not undone: by Ctrl-C, after which it raises, or by a warning that a filter
    turns into an error.
    """

    @wraps(fit)
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *arguments, **named)
        except BaseException as error:
            found = vars(self).get("theta_")
            stored = found is not None and found is not before.get("theta_")
            if not (stored and isinstance(error, (KeyboardInterrupt, Warning))):
                vars(self).clear()
                vars(self).update(before)
            raise

    return guarded  # type: ignore[return-value]
