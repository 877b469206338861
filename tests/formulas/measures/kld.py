"""The Kullback-Leibler divergence of the estimated from the true prevalence, smoothed as in QuaPy."""

import math

from formulas.measures.rae import shares


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """KLD(p || q) of the shares p of both classes and their estimates q."""
    true, estimated = shares(n_pos, n_neg), shares(n_pos - fn + fp, n_neg - fp + fn)
    return 0.0 if fn == fp else sum(p * math.log(p / q) for p, q in zip(true, estimated, strict=True))


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
