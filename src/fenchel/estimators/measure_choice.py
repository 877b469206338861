"""The measure that the parameters of a MeasureClassifier ask for, and its risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.risks import MEASURES, CustomMeasure, Risk
from fenchel.risks.measures.custom import takes_counts
from fenchel.validation import check_bool, check_number, did_you_mean, is_integer

#: measures that take weights of examples: they add up losses of examples or of pairs
_WEIGHTED = ("roc_auc", "accuracy")


@dataclass(frozen=True, eq=False)
class MeasureChoice:
    """A named measure with its parameters, or a custom one: a function of (fn, fp) or an array."""

    measure: Any
    beta: Any
    k: Any
    linear: Any

    @property
    def name(self) -> str | None:
        """The name of the measure; None for a custom one."""
        return self.measure if isinstance(self.measure, str) else None

    @property
    def weighted(self) -> bool:
        """Whether the measure takes weights of examples."""
        return self.name in _WEIGHTED

    @property
    def has_plug_in(self) -> bool:
        """Whether a threshold of the probability is best for the measure, as for all but the ROC area."""
        return self.name != "roc_auc"

    @property
    def scales(self) -> bool:
        """Whether the measure is defined for any number of examples; a table is for one."""
        return self.name is not None or callable(self.measure)

    @property
    def counts_to_k(self) -> bool:
        """Whether the measure is one of the k examples with the largest scores."""
        return self.name in ("precision_at_k", "recall_at_k")

    def __str__(self) -> str:
        return "a custom measure" if self.name is None else f"measure={self.name!r}"

    def check(self) -> None:
        """Raise for a parameter that is wrong for any data."""
        if self.name is not None and self.name not in MEASURES:
            names, near = ", ".join(map(repr, MEASURES)), did_you_mean(self.name, MEASURES)
            raise FenchelError(f"measure must be one of {names}, a function or an array, got {self.name!r}{near}")
        if callable(self.measure):
            self._check_function()
        elif self.name is None and np.ndim(self.measure) != 2:
            raise FenchelError(
                f"measure must be a name, a function of (fn, fp) or an array [fn, fp], got {self.measure!r}"
            )
        check_number("beta", self.beta, least=0.0)
        check_bool("linear", self.linear, optional=True)
        if self.counts_to_k and not is_integer(self.k):
            raise FenchelError(f"{self} needs k, a whole number of examples, got k={self.k!r}")

    def for_part(self, share: float, positives: Sequence[int]) -> MeasureChoice:
        """The measure of a share of the examples, with k in its range for these numbers of positives."""
        if not self.counts_to_k:
            return self
        k = max(1, round(share * self.k))
        return replace(self, k=min(k, *positives) if self.name == "precision_at_k" else max(k, *positives))

    def risk(self, labels: Array, weights: Array | None) -> Risk:
        """The risk of labels -1 and 1."""
        if self.name is None:
            return CustomMeasure(labels, self.measure, self.linear)
        more = {"fbeta": (self.beta,), "precision_at_k": (self.k,), "recall_at_k": (self.k,)}.get(self.name, ())
        return MEASURES[self.name](labels, *more, weights=weights if self.weighted else None)

    def _check_function(self) -> None:
        try:
            # one example of each class, so that shares are defined
            float(self.measure(0, 0, 1, 1) if takes_counts(self.measure) else self.measure(0, 0))
        except Exception as error:
            raise FenchelError(
                f"measure must be a function of (fn, fp) that returns a number, but measure(0, 0) gives "
                f"{type(error).__name__}: {error}"
            ) from error
