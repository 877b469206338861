"""Every measure with every kind of parameter, for the tests of measures."""

import numpy as np

from fenchel.risks import MEASURES, CustomMeasure
from slow_measures import SINGLE


def jagged(fn, fp):
    """A Delta that is linear on no diagonal."""
    return (fn * fn + 2 * fp) / 50 + 0.3 * ((fn + fp) % 2)


def wavy(fn, fp):
    """Linear on every diagonal, with slopes that rise and fall, and two diagonals that are forbidden."""
    p = fp - fn
    return -np.inf if p in (-2, 3) else ((p * p) % 3 / 5 + fn * (1 + p % 2) / 7 if p else fn / 5)


def numbers_for(name, y):
    """Every kind of parameter of a measure."""
    if name in SINGLE:
        return SINGLE[name].parameters(y)
    n_pos, n = int(np.sum(y > 0)), len(y)
    return {
        "fbeta": [0.0, 0.5, 2.0],
        "precision_at_k": sorted({1, n_pos, (n_pos + 1) // 2}),
        "recall_at_k": sorted({n_pos, n, (n_pos + n) // 2}),
        "own": [jagged, wavy],
    }.get(name, [None])


def risk_of(name, y, parameter):
    kind = MEASURES.get(name, CustomMeasure)
    return kind(y) if parameter is None else kind(y, parameter)


def every_risk(y):
    for name in (*MEASURES, "own"):
        for parameter in numbers_for(name, y):
            yield name, parameter, risk_of(name, y, parameter)


def labels_of(bits):
    return np.where(np.array(bits), 1.0, -1.0)
