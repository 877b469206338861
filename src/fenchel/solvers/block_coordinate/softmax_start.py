"""Where block coordinate descent on the dual of the multinomial risk begins."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks import MulticlassRisk
from fenchel.solvers.block_coordinate.loop_softmax import UNSEEN

#: a class without examples begins with a probability below exp(-this)
_NEVER = 40.0


def logarithms(alpha: Array, classes: Array) -> Floats:
    """Of the probabilities e_y - alpha; zero has a finite one."""
    places = np.arange(len(alpha)), classes[: len(alpha)]
    with np.errstate(divide="ignore"):
        found = np.log(-alpha, out=np.full(alpha.shape, UNSEEN), where=alpha < 0.0)
        found[places] = np.log1p(-np.minimum(alpha[places], 1.0))
    return np.maximum(found, UNSEEN)


def first_intercept(risk: MulticlassRisk) -> Floats:
    """The best intercepts without weights: those of the frequencies of the classes."""
    frequencies = np.bincount(risk.classes, risk.shares, risk.outputs)
    found = np.log(frequencies, out=np.full(risk.outputs, -_NEVER), where=frequencies > 0.0)
    found[frequencies == 0.0] += np.min(found)
    return found - np.mean(found)
