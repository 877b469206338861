"""Joint risks of several classes, slow and right: plain loops, linear programs, a conic solver, exact fractions.

Nothing here calls the code that it is compared with.  ``risk`` is "weston_watkins", "crammer_singer", or "costs":
Weston-Watkins with costs of the pairs.
"""

import itertools
from fractions import Fraction

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def loss(risk, s, y, costs=None):
    """f(s) of one example, from the definition."""
    margins = [(j, 1 - s[y] + s[j]) for j in range(len(s)) if j != y]
    if risk == "crammer_singer":
        return max(0, *(z for _, z in margins))
    return sum((1 if costs is None else costs[y][j]) * max(0, z) for j, z in margins)


def value(risk, scores, y, c, costs=None):
    """R(s) in extended precision."""
    scores = np.asarray(scores, dtype=np.longdouble)
    return sum(np.longdouble(c[i]) * loss(risk, scores[i], y[i], costs) for i in range(len(y)))


def primal(risk, X, y, c, lam, W, b, costs=None):
    """P(W, b) in extended precision."""
    X, W, b = (np.asarray(array, dtype=np.longdouble) for array in (X, W, b))
    return np.longdouble(lam) / 2 * np.sum(W * W) + value(risk, X @ W.T + b, y, c, costs)


def dual(X, y, lam, theta):
    """D(theta) in extended precision for theta in the domain, whatever stands at the labels."""
    X, theta = np.asarray(X, dtype=np.longdouble), np.array(theta, dtype=np.longdouble)
    rows = np.arange(len(y))
    theta[rows, y] = 0
    theta[rows, y] = -theta.sum(axis=1)
    v = theta.T @ X
    return -np.sum(v * v) / (2 * np.longdouble(lam)) + np.sum(theta[rows, y])


def conjugate(risk, alpha, y, costs=None):
    """f*(-alpha) of one example as a linear program: minus the smallest alpha . s + f(s), or infinity."""
    k = len(alpha)
    pairs = [j for j in range(k) if j != y]
    slacks = 1 if risk == "crammer_singer" else k - 1
    prices = [1.0] if risk == "crammer_singer" else [1.0 if costs is None else costs[y][j] for j in pairs]
    A, rhs = np.zeros((k - 1, k + slacks)), np.full(k - 1, -1.0)
    for r, j in enumerate(pairs):
        # 1 - s_y + s_j <= slack
        A[r, j], A[r, y], A[r, k + min(r, slacks - 1)] = 1.0, -1.0, -1.0
    found = linprog([*alpha, *prices], A, rhs, bounds=[(None, None)] * k + [(0, None)] * slacks)
    assert found.status in (0, 2, 3, 4), found.message
    return -found.fun if found.status == 0 else np.inf


def optimum(risk, X, y, k, c, lam, intercept, costs=None):
    """(W, b, P(W, b)) from Clarabel; the intercepts add up to zero."""
    n, d = X.shape
    pairs = [(i, j) for i, j in itertools.product(range(n), range(k)) if j != y[i]]
    slacks = n if risk == "crammer_singer" else len(pairs)
    free, width = k * d, k * d + k
    A = sp.lil_matrix((k + len(pairs) + slacks, width + slacks))
    rhs = np.zeros(A.shape[0])
    # zero cone: without intercepts each is zero, else their sum is
    for j in range(k):
        if intercept:
            A[0, free + j] = 1.0
        else:
            A[j, free + j] = 1.0
    for r, (i, j) in enumerate(pairs):
        row = k + r
        A[row, j * d : (j + 1) * d] = X[i]
        A[row, y[i] * d : (y[i] + 1) * d] = -X[i]
        A[row, free + j], A[row, free + y[i]], rhs[row] = 1.0, -1.0, -1.0
        A[row, width + (i if risk == "crammer_singer" else r)] = -1.0
    for m in range(slacks):
        A[k + len(pairs) + m, width + m] = -1.0
    if risk == "crammer_singer":
        prices = np.asarray(c)
    else:
        prices = np.array([c[i] * (1.0 if costs is None else costs[y[i]][j]) for i, j in pairs])
    A = sp.csc_matrix(A)
    if intercept:
        keep = np.r_[0, k : A.shape[0]]
        A, rhs = A[keep], rhs[keep]
    zeros = 1 if intercept else k
    cones = [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(A.shape[0] - zeros)]
    quadratic = sp.diags(np.r_[np.full(free, lam), np.zeros(k + slacks)]).tocsc()
    x = _solution(quadratic, np.r_[np.zeros(width), prices], A, rhs, cones)
    W, b = x[:free].reshape(k, d), x[free:width]
    b = b if intercept else np.zeros(k)
    return W, b, float(primal(risk, X, y, c, lam, W, b, costs))


def block_objective(v, b):
    """Eq. (4) of Wang and Scott in extended precision."""
    v, b = np.asarray(v, dtype=np.longdouble), np.asarray(b, dtype=np.longdouble)
    return (b @ b + b.sum() ** 2) / 2 - v @ b


def conic_block(v, bounds, most=np.inf):
    """The minimizer of eq. (4) over 0 <= b <= bounds, sum b <= most, from Clarabel."""
    k = len(v)
    A, rhs = [np.eye(k), -np.eye(k)], [np.asarray(bounds, dtype=float), np.zeros(k)]
    if np.isfinite(most):
        A, rhs = [*A, np.ones((1, k))], [*rhs, [most]]
    A, rhs = np.vstack(A), np.concatenate(rhs)
    theta = sp.csc_matrix(np.triu(np.eye(k) + np.ones((k, k))))
    cones = [clarabel.NonnegativeConeT(len(rhs))]
    return _solution(theta, -np.asarray(v, dtype=float), sp.csc_matrix(A), rhs, cones, 1e-13)


def every_block(v, most):
    """The minimizer of eq. (4) over b >= 0, sum b <= most by trying every support, with and without the bound."""
    k, best, least = len(v), np.zeros(len(v)), 0.0
    for size in range(1, k + 1):
        for support in map(list, itertools.combinations(range(k), size)):
            for tight in (False, True):
                t = v[support].sum() / (size + 1) if not tight else (v[support].sum() - most) / size
                b = np.zeros(k)
                b[support] = v[support] - t
                if np.all(b >= 0) and b.sum() <= most * (1 + 1e-12) and block_objective(v, b) < least:
                    best, least = b, block_objective(v, b)
    return best


def _solution(quadratic, cost, A, rhs, cones, accuracy=1e-11):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    return np.array(clarabel.DefaultSolver(quadratic, cost, A, np.asarray(rhs, dtype=float), cones, settings).solve().x)


def exact_gap(risk, X, y, c, lam, W, b, theta, costs=None):
    """P - D with every operation exact; what stands at the labels of theta is completed exactly."""
    rows, c, theta = ([_exact(row) for row in X], _exact(c), [_exact(row) for row in theta])
    W, b, lam = [_exact(row) for row in W], _exact(b), Fraction(float(lam))
    costs = None if costs is None else [_exact(row) for row in costs]
    k, d = len(W), len(W[0])
    gap = lam * sum(w * w for row in W for w in row) / 2
    for i, row in enumerate(rows):
        scores = [sum(x * w for x, w in zip(row, W[j], strict=True)) + b[j] for j in range(k)]
        gap += c[i] * loss(risk, scores, y[i], costs)
        theta[i][y[i]] = -sum(theta[i][j] for j in range(k) if j != y[i])
        gap -= theta[i][y[i]]
    for j, f in itertools.product(range(k), range(d)):
        gap += sum(t[j] * row[f] for t, row in zip(theta, rows, strict=True)) ** 2 / (2 * lam)
    return gap


def _exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]
