"""Specifications of features: how raw data become the rows of a design, at fit and at predict alike."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from fenchel.arrays import Array
from fenchel.designs.computed import ComputedDesign
from fenchel.errors import FenchelError

#: the specifications that model files may name
FEATURES: dict[str, type[Features]] = {}


class Features(abc.ABC):
    """Base class of specifications of features, for the parameter ``features`` of estimators.

    A subclass implements ``design``, and ``learned`` if there is something to be learned from the training data.  The
    specifications that ship are dataclasses, of which a model file stores the fields: numbers, text and arrays.

    See Also
    --------
    KmerFeatures : Substrings of byte strings.
    HashedTextFeatures : Hashed words of texts.
    PolynomialFeatures : Products of two features.

    Examples
    --------
    >>> from fenchel import LinearClassifier
    >>> from fenchel.features import Features, KmerFeatures
    >>> isinstance(KmerFeatures(k=2), Features)
    True
    >>> model = LinearClassifier(features=KmerFeatures(k=2)).fit(["ACAC", "CACA", "GTGT", "TGTG"], [0, 0, 1, 1])
    >>> model.predict(["ACACAC", "TGTGTG"])
    array([0, 1])
    """

    #: whether a model file can store it
    stored: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.stored:
            FEATURES[cls.__name__] = cls

    @abc.abstractmethod
    def design(self, X: Any) -> ComputedDesign:
        """The design of raw data."""

    def learned(self, X: Any) -> tuple[Self, ComputedDesign]:
        """The specification with what it learns from the training data, and their design."""
        return self, self.design(X)

    def specification(self) -> dict[str, Any]:
        """The fields that are no arrays, and the kind, for a model file."""
        if not self.stored:
            raise FenchelError(f"a model file can't store the features {type(self).__name__}, which are your own")
        return {"kind": type(self).__name__, **{name: value for name, value in self._fields() if not _is_array(value)}}

    def arrays(self) -> dict[str, Array]:
        """The fields that are arrays."""
        return {name: value for name, value in self._fields() if _is_array(value)}

    def _fields(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def features_of(specification: Mapping[str, Any], arrays: Mapping[str, Array]) -> Features:
    """The features of what a model file stores; ValueError if they are damaged."""
    values = dict(specification)
    kind = FEATURES.get(values.pop("kind", ""))
    if kind is None:
        raise ValueError("the features are unknown")
    return kind(**values, **arrays)
