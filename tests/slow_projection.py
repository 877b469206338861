"""Projections onto a box with one linear equality from other methods: a conic solver, and exact fractions."""

import itertools
from fractions import Fraction

import clarabel
import numpy as np
import scipy.sparse as sp


def by_conic_solver(target, low, high, total, weights, scales):
    """Clarabel, and then the exact answer for the entries that it says are between their bounds."""
    n = len(target)
    finite_low, finite_high = np.isfinite(low), np.isfinite(high)
    eye = sp.identity(n, format="csr")
    A = sp.vstack([sp.csr_matrix(weights[None]), -eye[finite_low], eye[finite_high]]).tocsc()
    b = np.concatenate([[total], -low[finite_low], high[finite_high]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-14
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(b) - 1)]
    P = sp.diags(scales**2).tocsc()
    answer = clarabel.DefaultSolver(P, -(scales**2) * target, A, b, cones, settings).solve()
    x, multipliers = np.array(answer.x), np.array(answer.z)[1:]
    at_low, at_high = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    split = int(np.sum(finite_low))
    slacks = np.array(answer.s)[1:]
    at_low[finite_low] = multipliers[:split] > slacks[:split]
    at_high[finite_high] = multipliers[split:] > slacks[split:]
    x = np.where(at_low, low, np.where(at_high, high, x))
    free = ~(at_low | at_high) & (weights != 0)
    x = np.where(weights == 0, np.clip(target, low, high), x)
    if np.any(free):
        rest = total - weights[~free] @ x[~free]
        speed = weights[free] / scales[free] ** 2
        shift = (weights[free] @ target[free] - rest) / (weights[free] @ speed)
        x[free] = target[free] - shift * speed
    return np.clip(x, low, high)


def by_fractions(target, low, high, total, weights, scales):
    """The sorted kinks in rational arithmetic; bounds are finite, and no weight is zero."""
    m, lows, highs, sigma, d = ([Fraction(float(a)) for a in part] for part in (target, low, high, weights, scales))
    z = Fraction(float(total))
    speed = [a / (b * b) for a, b in zip(sigma, d, strict=True)]

    def at(shift):
        return [min(max(c - shift * q, a), b) for c, q, a, b in zip(m, speed, lows, highs, strict=True)]

    def surplus(shift):
        return sum(a * b for a, b in zip(sigma, at(shift), strict=True)) - z

    kinks = sorted((c - bound) / q for ends in (lows, highs) for c, q, bound in zip(m, speed, ends, strict=True))
    if surplus(kinks[0]) <= 0:
        return np.array([float(a) for a in at(kinks[0])])
    for one, other in itertools.pairwise(kinks):
        after = surplus(other)
        if after <= 0:
            before = surplus(one)
            shift = one if before == after else one + (other - one) * before / (before - after)
            return np.array([float(a) for a in at(shift)])
    return np.array([float(a) for a in at(kinks[-1])])
