"""The exact optimum of tiny problems, in rational arithmetic: the KKT system of a guessed active set, then verified.

Slow and right: nothing here calls the code that it is compared with.  With c the shares, :math:`u_i` a subgradient of
the loss of example i and :math:`w = -\\sum_i c_i u_i x_i/\\lambda`, an optimum has :math:`s_i \\in \\partial f^*(u_i)`,
and :math:`\\sum_i c_i u_i = 0` with an intercept.
"""

import math
from fractions import Fraction

import numpy as np

from slow_conic import conic_solution
from slow_reference import MARGIN, RESIDUAL

#: losses with a piecewise linear derivative, whose optimum is rational
LOSSES = (
    "hinge",
    "squared_hinge",
    "huber_hinge",
    "squared",
    "absolute",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "quantile",
)
#: distance of a score of the conic solver from a kink up to which the example counts as active
NEAR = 1e-5


def exact_optimum(loss, X, y, c, lam, intercept):
    """(w, b) as fractions, or None where the active set of the conic solver is not the right one."""
    w, b = conic_solution(loss, X, y, c, lam, intercept)
    pieces = [_pieces(loss, label) for label in y]
    states = [_state(piece, float(s)) for piece, s in zip(pieces, X @ w + b, strict=True)]
    rows = [[Fraction(float(v)) for v in row] for row in X]
    shares, lam = [Fraction(float(v)) for v in c], Fraction(float(lam))
    active = [i for i, (low, high, _, _) in enumerate(states) if low is None or low != high]
    gram = [[sum(p * q for p, q in zip(a, e, strict=True)) for e in rows] for a in rows]
    fixed = [Fraction(0) if i in active else low for i, (low, _, _, _) in enumerate(states)]
    system = []
    for j in active:
        _, _, target, slope = states[j]
        known = -sum(shares[i] * fixed[i] * gram[i][j] for i in range(len(rows))) / lam
        row = [-shares[i] * gram[i][j] / lam - (slope if i == j else 0) for i in active]
        system.append([*row, Fraction(int(intercept)), target - known])
    last = [shares[i] for i in active] if intercept else [Fraction(0)] * len(active)
    total = -sum(share * u for share, u in zip(shares, fixed, strict=True))
    system.append([*last, Fraction(0), total] if intercept else [*last, Fraction(1), Fraction(0)])
    free = [Fraction(0)] * len(active) + [Fraction(float(b))]
    found = _solved(system, free)
    if found is None:
        return None
    u, b = list(fixed), found[-1]
    for i, value in zip(active, found[:-1], strict=True):
        u[i] = value
    weights = [
        -sum(share * v * row[j] for share, v, row in zip(shares, u, rows, strict=True)) / lam for j in range(len(w))
    ]
    scores = [sum(a * v for a, v in zip(row, weights, strict=True)) + b for row in rows]
    right = all(_belongs(piece, v, s) for piece, v, s in zip(pieces, u, scores, strict=True))
    balanced = not intercept or sum(share * v for share, v in zip(shares, u, strict=True)) == 0
    return (weights, b) if right and balanced else None


def _pieces(loss, label):
    """The graph of the subdifferential of f*: (lowest u, highest u, s at u = 0, slope) from left to right."""
    label = Fraction(float(label))
    if loss in MARGIN:
        kappa, high = MARGIN[loss]
        top = Fraction(high) if math.isfinite(high) else None
        piece = (-top if top is not None else None, Fraction(0)) if label > 0 else (Fraction(0), top)
        return [(*piece, label, Fraction(kappa))]
    tube, kappa, low, high = (None if math.isinf(v) else Fraction(float(v)) for v in RESIDUAL[loss])
    low = None if low is None else -low
    if tube == 0:
        return [(low, high, label, kappa)]
    return [(low, Fraction(0), label - tube, kappa), (Fraction(0), high, label + tube, kappa)]


def _state(pieces, score):
    """The piece that a score is on, or a bound of u: (u, u, ., .)."""
    for low, high, target, slope in pieces:
        begin = -math.inf if low is None else float(target + slope * low)
        end = math.inf if high is None else float(target + slope * high)
        if score < begin - NEAR:
            return low, low, target, slope
        if score <= end + NEAR:
            return low, high, target, slope
    return high, high, target, slope


def _belongs(pieces, u, s):
    """Whether s is in the subdifferential of f* at u, exactly."""
    for place, (low, high, target, slope) in enumerate(pieces):
        if (low is None or u >= low) and (high is None or u <= high):
            if s == target + slope * u:
                return True
            if u == low and place == 0 and s <= target + slope * u:
                return True
            if u == high and place == len(pieces) - 1 and s >= target + slope * u:
                return True
            if u == high and place + 1 < len(pieces) and target + slope * u <= s <= pieces[place + 1][2] + slope * u:
                return True
    return False


def _solved(system, free):
    """The solution of a rational linear system, with unknowns that are not determined as given; or None."""
    rows, found, pivots = [list(row) for row in system], list(free), []
    for column in range(len(free)):
        place = next((i for i in range(len(pivots), len(rows)) if rows[i][column] != 0), None)
        if place is None:
            continue
        top = len(pivots)
        rows[top], rows[place] = rows[place], rows[top]
        rows[top] = [v / rows[top][column] for v in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [a - factor * e for a, e in zip(rows[i], rows[top], strict=True)]
        pivots.append(column)
    if any(row[-1] != 0 for row in rows[len(pivots) :]):
        return None
    for row, column in zip(rows, pivots, strict=False):
        others = (k for k in range(len(free)) if k != column and k not in pivots)
        found[column] = row[-1] - sum(row[k] * free[k] for k in others)
    return found


def random_problem(seed, loss, offset=0.0, weighted=False, dtype=np.float64):
    """X, y, weights or None, and lam."""
    rng = np.random.default_rng([11, seed])
    n, d = int(rng.integers(3, 13)), int(rng.integers(1, 4))
    X = (rng.normal(size=(n, d)) + offset).astype(dtype)
    y = X[:, 0].astype(np.float64) - offset + rng.normal(size=n)
    if loss in MARGIN:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    weights = rng.integers(0, 4, size=n) + (np.arange(n) < 2) if weighted else None
    return X, y, weights, 10.0 ** rng.uniform(-2, 0)


def optimal_intercepts(loss, X, y, c, weights, b):
    """The ends of the interval of optimal intercepts, exactly, for optimal weights with the intercept b."""
    pieces = []
    for row, label, share in zip(X, y, c, strict=True):
        score = sum(Fraction(float(a)) * v for a, v in zip(row, weights, strict=True))
        pieces += [(Fraction(float(share)), target - score, *rest) for *rest, target in _reordered(loss, label)]

    def derivative(b, right):
        # the pieces of an example add up, since each begins or ends at u = 0
        return sum(share * _u(b - start, low, high, slope, right) for share, start, low, high, slope in pieces)

    places = [start + slope * u for _, start, low, high, slope in pieces for u in (low, high) if u is not None]
    return (
        min([b, *(place for place in places if place < b and derivative(place, right=True) >= 0)]),
        max([b, *(place for place in places if place > b and derivative(place, right=False) <= 0)]),
    )


def _reordered(loss, label):
    return [(low, high, slope, target) for low, high, target, slope in _pieces(loss, label)]


def _u(distance, low, high, slope, right):
    """The subgradient of a piece at this distance from its score at u = 0; at a kink the right or the left one."""
    if slope == 0:
        return high if distance > 0 or (right and distance == 0) else low
    u = distance / slope
    u = u if low is None else max(u, low)
    return u if high is None else min(u, high)


def exact_slopes(loss, label, score):
    """The smallest and the largest subgradient of the loss at an exact score, and the ends of its domain (or None)."""
    pieces = _reordered(loss, label)
    left, right = (
        sum(_u(score - target, low, high, slope, right) for low, high, slope, target in pieces)
        for right in (False, True)
    )
    return left, right, (pieces[0][0], pieces[-1][1])


def exact_sparse_squares(X, y, c, lam, ratio, intercept, guess):
    """(w, X^T theta) of the elastic net with the squared loss as fractions, or None where the signs of the guess fail.

    The KKT conditions with the signs of the guess: :math:`X_S^T\\theta = \\lambda(\\rho\\,\\mathrm{sign}(w_S) +
    (1-\\rho)w_S)` with :math:`\\theta = c(y - Xw - b)`, and :math:`\\sum\\theta = 0` with an
    intercept; then all are verified.
    """
    rows = [[Fraction(float(v)) for v in row] for row in X]
    y, c = ([Fraction(float(v)) for v in values] for values in (y, c))
    lam, ratio = Fraction(float(lam)), Fraction(float(ratio))
    signs = [int(v) for v in np.sign(guess)]
    support = [j for j, sign in enumerate(signs) if sign]
    columns = [[row[j] for row in rows] for j in support] + [[Fraction(1)] * len(rows)] * intercept
    system = []
    for place, column in enumerate(columns):
        weighted = [share * v for share, v in zip(c, column, strict=True)]
        left = [sum(a * e for a, e in zip(weighted, other, strict=True)) for other in columns]
        right = sum(a * label for a, label in zip(weighted, y, strict=True))
        if place < len(support):
            left[place] += lam * (1 - ratio)
            right -= lam * ratio * signs[support[place]]
        system.append([*left, right])
    found = _solved(system, [Fraction(0)] * len(columns)) if columns else []
    if found is None:
        return None
    weights = [Fraction(0)] * len(signs)
    for j, value in zip(support, found, strict=False):
        weights[j] = value
    b = found[-1] if intercept else Fraction(0)
    scores = [b + sum(a * v for a, v in zip(row, weights, strict=True)) for row in rows]
    theta = [share * (label - s) for share, label, s in zip(c, y, scores, strict=True)]
    correlations = [sum(row[j] * t for row, t in zip(rows, theta, strict=True)) for j in range(len(signs))]
    right = all(
        v * sign > 0 if sign else abs(correlation) <= lam * ratio
        for v, sign, correlation in zip(weights, signs, correlations, strict=True)
    )
    return (weights, correlations) if right else None
