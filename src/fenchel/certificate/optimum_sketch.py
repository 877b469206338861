"""The ball of a solved problem before its intercept is bracketed."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate.optimum import OptimumBall
from fenchel.errors import FenchelError

#: of all sketches, since a lock of each would have to stay out of its pickle
_completing = threading.RLock()


class OptimumSketch:
    """The ball of a solved problem but for the bracket of its intercept and its norm, which are computed on demand.

    Until then it holds vectors of the length of the training data, or a copy of few data.  Pickling computes them.
    """

    def __init__(self, ball: OptimumBall | None, pending: Callable[[OptimumBall], OptimumBall] | None = None) -> None:
        self._ball, self._pending, self._refusal = ball, pending, ""
        #: the whole sketch, where nothing of it is computed yet
        self._whole: Callable[[], OptimumSketch] | None = None
        self._zero_weights: Array | None = None

    @classmethod
    def refused(cls, reason: str) -> OptimumSketch:
        """A problem without a ball."""
        found = cls(None)
        found._refusal = reason
        return found

    @classmethod
    def on_demand(cls, whole: Callable[[], OptimumSketch]) -> OptimumSketch:
        """The sketch that a function returns, which is called on demand."""
        found = cls(None)
        found._whole = whole
        return found

    @property
    def zero_weights(self) -> Array | None:
        """Whether each weight is proved to be zero, where that is a by-product of the fit."""
        self._complete()
        return self._zero_weights

    @zero_weights.setter
    def zero_weights(self, known: Array | None) -> None:
        self._zero_weights = known

    def _complete(self) -> None:
        """Compute the sketch, where nothing of it is computed yet."""
        if self._whole is not None:
            with _completing:
                # another thread may have computed it meanwhile
                if self._whole is not None:
                    vars(self).update(vars(self._whole()))

    def mapped(self, change: Callable[[OptimumBall], OptimumBall]) -> OptimumSketch:
        """The same with a changed ball, for a kernel model: of others the norm may be pending."""
        if self._ball is None:
            return self
        try:
            found = OptimumSketch(change(self._ball), self._pending)
        except FenchelError as error:
            return OptimumSketch.refused(str(error))
        found._refusal = self._refusal
        return found

    def omit_bracket(self) -> None:
        """Drop a pending bracket: the intercept is then unbounded."""
        if self._pending is not None:
            assert self._ball is not None
            far = np.full_like(self._ball.intercept_lower, np.inf)
            spread = None if self._ball.intercept_spread is None else math.inf
            ball = replace(self._ball, intercept_lower=-far, intercept_upper=far, intercept_spread=spread)
            self._ball, self._pending = ball, None

    def ball(self) -> OptimumBall:
        """The ball with the bracket of its intercept; raise if there is none."""
        self._complete()
        if self._pending is not None:
            with _completing:
                self._bracket()
        if self._ball is None or self._refusal:
            raise FenchelError(self._refusal)
        return self._ball

    def _bracket(self) -> None:
        """Bracket the intercept, unless another thread has done so."""
        if self._pending is not None:
            assert self._ball is not None
            try:
                self._ball = self._pending(self._ball)
            except FenchelError as error:
                self._refusal = str(error)
            self._pending = None

    def __getstate__(self) -> dict[str, Any]:
        with suppress(FenchelError):
            # a refusal is kept
            self.ball()
        return vars(self).copy()
