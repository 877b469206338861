"""Measures by looking at every labelling, and their conjugates and optima from other methods: slow and right.

Nothing here calls the code that it is compared with.  A case is (measure name, parameter).
"""

import functools
import itertools

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

import formulas

#: the measures with a file of their own, where a new measure adds one
SINGLE = formulas.found("measures")


def delta(name, fn, fp, n_pos, n_neg, parameter=None):
    """What a labelling with these errors loses; minus infinity if it is not allowed."""
    if name in SINGLE:
        return SINGLE[name].delta(fn, fp, n_pos, n_neg, parameter)
    tp, n = n_pos - fn, n_pos + n_neg
    predicted = tp + fp
    if name == "accuracy":
        return (fn + fp) / n
    if name in ("f1", "fbeta"):
        square = 1.0 if name == "f1" else parameter**2
        whole = (1 + square) * tp + square * fn + fp
        return 1 - ((1 + square) * tp / whole if whole else 0.0)
    if name == "precision_at_k":
        return 1 - tp / predicted if predicted >= parameter else -np.inf
    if name == "recall_at_k":
        return fn / n_pos if predicted <= parameter else -np.inf
    assert name == "own"
    return parameter(fn, fp)


def table(name, n_pos, n_neg, parameter=None):
    """Delta[fn, fp] of every cell."""
    return np.array([[delta(name, b, c, n_pos, n_neg, parameter) for c in range(n_neg + 1)] for b in range(n_pos + 1)])


def planes(name, y, parameter=None):
    """Every plane of a contingency measure: slopes (planes, n) and offsets."""
    return _planes(name, tuple(y), parameter)


@functools.cache
def _planes(name, y, parameter):
    n, y = len(y), np.array(y)
    pos = y > 0
    n_pos, n_neg = int(pos.sum()), int((~pos).sum())
    Z = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    losses = np.array(
        [[delta(name, b, c, n_pos, n_neg, parameter) for c in range(n_neg + 1)] for b in range(n_pos + 1)]
    )
    offsets = losses[np.sum(Z[:, pos] < 0, axis=1), np.sum(Z[:, ~pos] > 0, axis=1)]
    allowed = offsets > -np.inf
    return ((Z - y) / (2 * n))[allowed], offsets[allowed]


def pair_planes(y, weights=None):
    """ROC area as a sum of hinges: (pairs, n) matrix D and prices with R(s) = prices . [1 - D s]_+."""
    n, c = len(y), np.ones(len(y)) if weights is None else weights
    pairs = list(itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0)))
    D = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        D[row, i], D[row, j] = 1.0, -1.0
    prices = np.array([c[i] * c[j] for i, j in pairs])
    return D, prices / prices.sum()


def value(name, scores, y, parameter=None, weights=None):
    """R(s) by enumeration, or over all pairs."""
    if name == "roc_auc":
        D, prices = pair_planes(y, weights)
        return float(prices @ np.maximum(0.0, 1 - D @ scores))
    slopes, offsets = planes(name, y, parameter)
    return float(np.max(slopes @ scores + offsets))


def table_value(scores, y, table):
    """R(s) from Delta[fn, fp] by looking at all cells, in the sorted order of each class."""
    n, low, high = len(y), np.sort(scores[y > 0]), np.sort(scores[y < 0])[::-1]
    A, B = -np.cumsum([0.0, *low]) / n, np.cumsum([0.0, *high]) / n
    return float(np.max(table + A[:, None] + B[None, :]))


def conjugate(name, theta, y, parameter=None, weights=None):
    """R*(-theta) as a linear program over mixtures of planes (or shares of pairs); infinity outside the domain."""
    if name == "roc_auc":
        D, prices = pair_planes(y, weights)
        A, cost, rhs, high = (D * prices[:, None]).T, -prices, theta, 1.0
    else:
        slopes, offsets = planes(name, y, parameter)
        A, cost = np.vstack([slopes.T, np.ones(len(offsets))]), -offsets
        rhs, high = np.append(-theta, 1.0), None
    scale = len(y)
    found = linprog(cost, A_eq=scale * A, b_eq=scale * rhs, bounds=(0.0, high))
    return found.fun if found.status == 0 else np.inf


def optimum(name, X, y, lam, intercept=False, parameter=None, weights=None, l1_ratio=0.0):
    """(w, b, P(w, b)) of lam ((1 - rho)/2 |w|^2 + rho |w|_1) + R(Xw + b) from Clarabel."""
    n, d = X.shape
    Z = np.hstack([X, np.full((n, 1), 1.0 if intercept else 0.0)])
    if name == "roc_auc":
        D, prices = pair_planes(y, weights)
        m = len(prices)
        # t >= 1 - D Z x, t >= 0
        A = sp.bmat([[sp.csc_matrix(-D @ Z), -sp.identity(m)], [sp.csc_matrix((m, d + 1)), -sp.identity(m)]])
        rhs, cost = np.concatenate([-np.ones(m), np.zeros(m)]), np.concatenate([np.zeros(d + 1), prices])
    else:
        slopes, offsets = planes(name, y, parameter)
        A = sp.csc_matrix(np.hstack([slopes @ Z, -np.ones((len(offsets), 1))]))
        rhs, cost = -offsets, np.append(np.zeros(d + 1), 1.0)
    size = A.shape[1]
    # u >= |w|, priced at lam rho
    above = sp.csc_matrix(np.hstack([np.vstack([np.eye(d), -np.eye(d)]), np.zeros((2 * d, size - d))]))
    A = sp.bmat([[A, None], [above, -sp.csc_matrix(np.vstack([np.eye(d), np.eye(d)]))]])
    rhs, cost = np.concatenate([rhs, np.zeros(2 * d)]), np.concatenate([cost, np.full(d, lam * l1_ratio)])
    quadratic = sp.diags(np.concatenate([np.full(d, lam * (1 - l1_ratio)), np.zeros(size)])).tocsc()
    cones = [clarabel.NonnegativeConeT(A.shape[0])]
    if not intercept:
        fixed = sp.csc_matrix(([1.0], ([0], [d])), shape=(1, size + d))
        A, rhs, cones = sp.vstack([fixed, A]), np.append(0.0, rhs), [clarabel.ZeroConeT(1), *cones]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    x = np.array(clarabel.DefaultSolver(quadratic, cost, sp.csc_matrix(A), rhs, cones, settings).solve().x)
    w, b = x[:d], float(x[d]) * intercept
    penalty = lam * (0.5 * (1 - l1_ratio) * float(w @ w) + l1_ratio * float(np.sum(np.abs(w))))
    return w, b, penalty + value(name, X @ w + b, y, parameter, weights)
