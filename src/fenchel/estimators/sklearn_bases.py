"""scikit-learn's base classes, with types: for a class with a base of unknown type, mypy accepts any argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fenchel.arrays import ArrayLike, MatrixLike
from fenchel.validation import did_you_mean

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
    from sklearn.base import BaseEstimator as _BaseEstimator
    from sklearn.base import ClassifierMixin as ClassifierMixin
    from sklearn.base import RegressorMixin as RegressorMixin

    class BaseEstimator(_BaseEstimator):
        """scikit-learn's class, with a suggestion for a misspelt argument of the constructor."""

        def __new__(cls, *args, **kwargs):
            _check_names(cls, kwargs)
            return super().__new__(cls)


class WithReasons:
    """An estimator that lacks what others have: the error of an attribute says why, and what to use."""

    #: the reasons, by the name of the attribute
    _reasons: ClassVar[Mapping[str, str]]

    if not TYPE_CHECKING:
        # hidden from type checkers, for which it would make every name valid
        def __getattr__(self, name):
            if name in type(self)._reasons:
                raise AttributeError(f"{type(self).__name__}: {self._reasons[name]}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@lru_cache
def _parameters(cls: type) -> Sequence[str]:
    """The names of the constructor's parameters; none if it takes any."""
    found = inspect.signature(cls).parameters
    return () if any(one.kind is one.VAR_KEYWORD for one in found.values()) else sorted(found)


def _check_names(cls: type, given: Iterable[str]) -> None:
    """Raise a TypeError for arguments that the constructor does not take."""
    known = _parameters(cls)
    for name in given:
        if known and name not in known:
            raise TypeError(
                f"{cls.__name__}() has no parameter {name!r}{did_you_mean(name, known)}. "
                f"Valid parameters are: {known!r}"
            )


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
