"""The multinomial risk, slow and right: plain sums in extended precision, and a conic solver with exponential cones.

Nothing here calls the code that it is compared with.
"""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq


def loss(s, y):
    """f(s) = log sum exp(s - s_y) of one example."""
    z = np.asarray(s, dtype=np.longdouble) - np.longdouble(s[y])
    top = z.max()
    return top + np.log1p(np.sum(np.exp(np.delete(z, z.argmax()) - top)))


def value(scores, y, c):
    return sum(np.longdouble(c[i]) * loss(scores[i], y[i]) for i in range(len(y)))


def primal(X, y, c, lam, W, b):
    """P(W, b) in extended precision."""
    X, W, b = (np.asarray(array, dtype=np.longdouble) for array in (X, W, b))
    return np.longdouble(lam) / 2 * np.sum(W * W) + value(X @ W.T + b, y, c)


def entropy(p):
    """sum p log p, with 0 log 0 = 0."""
    p = np.asarray(p, dtype=np.longdouble)
    return np.sum(p[p > 0] * np.log(p[p > 0]))


def dual(X, y, c, lam, theta):
    """D(theta) in extended precision for theta in the domain, whatever stands at the labels."""
    X, theta = np.asarray(X, dtype=np.longdouble), np.array(theta, dtype=np.longdouble)
    total = np.longdouble(0)
    for i, label in enumerate(y):
        theta[i, label] = 0
        theta[i, label] = -theta[i].sum()
        if c[i] > 0:
            p = -theta[i] / np.longdouble(c[i])
            p[label] = max(1 + p[label], np.longdouble(0))
            total += np.longdouble(c[i]) * entropy(p)
    v = theta.T @ X
    return -np.sum(v * v) / (2 * np.longdouble(lam)) - total


def block(s, before, q):
    """The p on the simplex that minimizes sum p log p - s . p + q/2 |p - before|^2: a root nu, bisection for log p."""
    a = np.asarray(s, dtype=np.longdouble) + np.longdouble(q) * np.asarray(before, dtype=np.longdouble)
    a -= a.max()

    def logs(nu):
        # u + q e^u = a + nu with u <= 0
        low, high = a + nu - q, np.minimum(a + nu, 0)
        for _ in range(80):
            middle = (low + high) / 2
            above = middle + q * np.exp(middle) > a + nu
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.minimum(high, 0)

    nu = brentq(lambda nu: float(np.sum(np.exp(logs(nu))) - 1), -np.log(len(a)) - 1.0, q + 1.0, xtol=1e-14, rtol=1e-15)
    return np.exp(logs(nu))


def block_value(s, before, q, p):
    """What ``block`` minimizes."""
    s, before, p = (np.asarray(array, dtype=np.longdouble) for array in (s, before, p))
    return entropy(p) - s @ p + np.longdouble(q) / 2 * np.sum((p - before) ** 2)


def conjugate(alpha, y):
    """f*(-alpha) of one example from Clarabel: minus the smallest alpha . s + f(s) with s_y = 0."""
    k = len(alpha)
    # variables s (k), t, u (k): s_y = 0, sum u <= 1, (s_j - t, 1, u_j) in the exponential cone
    rows, rhs = [np.eye(2 * k + 1)[y], np.r_[np.zeros(k + 1), np.ones(k)]], [0.0, 1.0]
    for j in range(k):
        first, last = np.zeros(2 * k + 1), np.zeros(2 * k + 1)
        first[j], first[k], last[k + 1 + j] = -1.0, 1.0, -1.0
        rows += [first, np.zeros(2 * k + 1), last]
        rhs += [0.0, 1.0, 0.0]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(1), *[clarabel.ExponentialConeT()] * k]
    cost = np.r_[alpha, 1.0, np.zeros(k)]
    return -float(cost @ _solution(sp.csc_matrix((2 * k + 1,) * 2), cost, sp.csc_matrix(np.array(rows)), rhs, cones))


def optimum(X, y, k, c, lam, intercept):
    """(W, b, P(W, b)) from Clarabel; the intercepts add up to zero."""
    n, d = X.shape
    free, width = k * d, k * d + k
    size = width + n + n * k
    rows, rhs = [], []

    def row(entries, right):
        rows.append(entries)
        rhs.append(right)

    fixed = [{free + j: 1.0 for j in range(k)}] if intercept else [{free + j: 1.0} for j in range(k)]
    for entries in fixed:
        row(entries, 0.0)
    for i in range(n):
        row({width + n + i * k + j: 1.0 for j in range(k)}, 1.0)
    for i in range(n):
        for j in range(k):
            # s_j - s_y - t <= log u
            entries = {width + i: 1.0}
            if j != y[i]:
                for f in range(d):
                    entries[j * d + f], entries[y[i] * d + f] = -X[i, f], X[i, f]
                entries[free + j], entries[free + y[i]] = -1.0, 1.0
            row(entries, 0.0)
            row({}, 1.0)
            row({width + n + i * k + j: -1.0}, 0.0)
    places = [(r, column, entry) for r, entries in enumerate(rows) for column, entry in entries.items()]
    r, columns, entries = zip(*places, strict=True)
    A = sp.csc_matrix((entries, (r, columns)), shape=(len(rows), size))
    cones = [clarabel.ZeroConeT(len(fixed)), clarabel.NonnegativeConeT(n), *[clarabel.ExponentialConeT()] * (n * k)]
    quadratic = sp.diags(np.r_[np.full(free, lam), np.zeros(size - free)]).tocsc()
    x = _solution(quadratic, np.r_[np.zeros(width), c, np.zeros(n * k)], A, rhs, cones)
    W, b = x[:free].reshape(k, d), x[free:width] if intercept else np.zeros(k)
    return W, b, float(primal(X, y, c, lam, W, b))


def _solution(quadratic, cost, A, rhs, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return np.array(clarabel.DefaultSolver(quadratic, cost, A, np.asarray(rhs, dtype=float), cones, settings).solve().x)
