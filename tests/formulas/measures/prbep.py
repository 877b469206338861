"""The precision/recall break-even point."""

import numpy as np


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """What a labelling with these errors loses; minus infinity if it is not allowed."""
    return fn / n_pos if fn == fp else -np.inf


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
