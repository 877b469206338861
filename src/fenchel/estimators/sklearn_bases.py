"""scikit-learn's base classes, with types: for a class with a base of unknown type, mypy accepts any argument."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Self

from fenchel.arrays import ArrayLike, MatrixLike

if TYPE_CHECKING:

    class BaseEstimator:
        """An estimator, whose fitted attributes may have any name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        """An estimator with the accuracy for score."""

        def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

    class RegressorMixin:
        """An estimator with R² for score."""

        def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...

else:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassifierMixin as ClassifierMixin
    from sklearn.base import RegressorMixin as RegressorMixin


class _Available:
    """A method that some settings of an estimator do not have."""

    def __init__(self, why_not: Callable[[Any], str | None], method: Callable[..., Any]) -> None:
        self._why_not, self._method, self.__doc__ = why_not, method, method.__doc__

    def __get__(self, owner: Any, cls: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self._method
        reason = self._why_not(owner)
        if reason is not None:
            raise AttributeError(f"{type(owner).__name__}: {reason}")
        return MethodType(self._method, owner)


def available_unless(why_not: Callable[[Any], str | None]) -> Callable[[Callable[..., Any]], Any]:
    """As scikit-learn's ``available_if``, with the reason in the error itself instead of the one that caused it."""
    return lambda method: _Available(why_not, method)
