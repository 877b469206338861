"""The normalized Kullback-Leibler divergence of the prevalence."""

import math

from formulas.measures import kld


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """2 e^KLD / (1 + e^KLD) - 1."""
    e = math.exp(kld.delta(fn, fp, n_pos, n_neg))
    return 2 * e / (1 + e) - 1


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
