"""The logistic loss from the textbook; every function is written without the code that it is compared with."""

import clarabel
import numpy as np
import scipy.sparse as sp


def value(s, y):
    """f(s, y)."""
    return np.logaddexp(0, -y * s)


def conjugate(u, y):
    """f*(u, y) inside its domain: beta ln beta + (1 - beta) ln(1 - beta), zero at both ends."""
    beta = -y * u
    inside = (beta > 0) & (beta < 1)
    safe = np.where(inside, beta, np.asarray(beta) * 0 + 0.5)
    return np.where(inside, safe * np.log(safe) + (1 - safe) * np.log1p(-safe), 0)


def slopes(y):
    """The interval of u where f*(u, y) is finite."""
    return np.where(y > 0, -1, 0), np.where(y > 0, 0, 1)


def score_at(u, y):
    """A score s with u in the subdifferential of f(., y), near a bound of the slopes if there is none."""
    beta = np.clip(-y * u, 1e-300, 1 - 1e-12)
    return y * np.log((1 - beta) / beta)


def conic_rows(X1, y, c):
    """Rows A x + slack = rhs, cones of the slack, linear and quadratic costs of the variables t, u, v added to z.

    The sum of c_i f(x_i . z, y_i) is c . t with u + v <= 1, (-m - t, 1, u) and (-t, 1, v) in the exponential cone.
    """
    n = len(y)
    eye, none = sp.identity(n, format="csr"), sp.csr_matrix((n, n))
    rows, rhs = [sp.hstack([sp.csr_matrix(X1.shape), none, eye, eye])], [np.ones(n)]
    margin = sp.csr_matrix(y[:, None] * X1)
    zero = sp.csr_matrix((1, X1.shape[1]))
    for i in range(n):
        e, o = eye[[i]], none[[i]]
        for linear, u, v in ((margin[[i]], -e, o), (zero, o, -e)):
            rows += [sp.hstack([linear, e, o, o]), sp.csr_matrix((1, X1.shape[1] + 3 * n)), sp.hstack([zero, o, u, v])]
            rhs += [[0.0, 1.0, 0.0]]
    cones = [clarabel.NonnegativeConeT(n), *[clarabel.ExponentialConeT()] * (2 * n)]
    return sp.vstack(rows), np.concatenate(rhs), cones, np.concatenate([c, np.zeros(2 * n)]), np.zeros(3 * n)
