"""Slow, obviously right answers: textbook formulas, brute force, plain loops and a conic solver.

Nothing here calls the code that it is compared with, except where a docstring says so.
"""

import math

import clarabel
import numpy as np
import scipy.sparse as sp

#: f(s, y) from the textbook; a new loss adds its formula here and its cone in ``conic_rows``
FORMULAS = {
    "hinge": lambda s, y: np.maximum(0, 1 - y * s),
    "logistic": lambda s, y: np.logaddexp(0, -y * s),
    "squared": lambda s, y: (s - y) ** 2 / 2,
    "squared_hinge": lambda s, y: np.maximum(0, 1 - y * s) ** 2,
    "huber_hinge": lambda s, y: _rounded(1 - y * s, 0.5),
    "absolute": lambda s, y: np.abs(s - y),
    "epsilon_insensitive": lambda s, y: np.maximum(0, np.abs(s - y) - 0.1),
    "squared_epsilon_insensitive": lambda s, y: np.maximum(0, np.abs(s - y) - 0.1) ** 2,
    "huber": lambda s, y: np.where(np.abs(s - y) <= 1.35, (s - y) ** 2 / 2, 1.35 * np.abs(s - y) - 1.35**2 / 2),
    "quantile": lambda s, y: np.where(s < y, 0.5 * (y - s), 0.5 * (s - y)),
}

#: piecewise linear-quadratic losses: f(z) = max of a z - bend/2 a^2 over 0 <= a <= high, for z = 1 - m (margin), or
#: for the distance of the residual from the tube (residual), with the highest slope below and above the label
MARGIN = {"hinge": (0.0, 1.0), "squared_hinge": (0.5, math.inf), "huber_hinge": (0.5, 1.0)}
RESIDUAL = {
    "squared": (0.0, 1.0, math.inf, math.inf),
    "absolute": (0.0, 0.0, 1.0, 1.0),
    "epsilon_insensitive": (0.1, 0.0, 1.0, 1.0),
    "squared_epsilon_insensitive": (0.1, 0.5, math.inf, math.inf),
    "huber": (0.0, 1.0, 1.35, 1.35),
    "quantile": (0.0, 0.0, 0.5, 0.5),
}


def _rounded(z, width):
    """The hinge of z, quadratic up to width."""
    return np.where(z <= 0, 0, np.where(z <= width, z**2 / (2 * width), z - width / 2))


def _entropy(beta):
    """beta ln beta + (1 - beta) ln(1 - beta), zero at both ends."""
    inside = (beta > 0) & (beta < 1)
    safe = np.where(inside, beta, np.asarray(beta) * 0 + 0.5)
    return np.where(inside, safe * np.log(safe) + (1 - safe) * np.log1p(-safe), 0)


#: f*(u, y) for u inside the domain, from the textbook
CONJUGATES = {
    "logistic": lambda u, y: _entropy(-y * u),
    **{name: lambda u, y, k=bend: k * u**2 / 2 + u * y for name, (bend, _) in MARGIN.items()},
    **{
        name: lambda u, y, e=tube, k=bend: u * y + e * np.abs(u) + k * u**2 / 2
        for name, (tube, bend, _, _) in RESIDUAL.items()
    },
}


def shares(n, weights=None):
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    return weights / math.fsum(weights)


def primal(loss_name, X, y, c, lam, w, b=0.0):
    """P(w, b) in extended precision; sums over outputs if there are several."""
    X, w, y, c = (np.asarray(array, dtype=np.longdouble) for array in (X, w, y, c))
    scores = X @ w.T + np.asarray(b, dtype=np.longdouble)
    losses = FORMULAS[loss_name](scores, y)
    return lam * np.sum(w * w) / 2 + np.sum(c @ losses)


def dual(loss_name, X, y, c, lam, theta):
    """D(theta) in extended precision for theta in the domain."""
    X, theta, y, c = (np.asarray(array, dtype=np.longdouble) for array in (X, theta, y, c))
    v = theta.T @ X
    columns = np.reshape(c, (-1, *(1,) * (theta.ndim - 1)))
    slopes = np.where(columns > 0, -theta / np.where(columns > 0, columns, 1), 0)
    # theta / c may leave the domain by one rounding
    if loss_name in RESIDUAL:
        slopes = np.clip(slopes, -RESIDUAL[loss_name][2], RESIDUAL[loss_name][3])
    else:
        slopes = -y * np.clip(-y * slopes, 0, MARGIN.get(loss_name, (0, 1))[1])
    return -np.sum(v * v) / (2 * lam) - np.sum(c @ CONJUGATES[loss_name](slopes, y))


def minimize_convex(function, low, high, rounds=200):
    """A minimizer of a convex function of one variable by ternary search."""
    for _ in range(rounds):
        third = (high - low) / 3
        left, right = low + third, high - third
        if function(left) <= function(right):
            high = right
        else:
            low = left
    middle = (low + high) / 2
    return min((low, middle, high), key=function)


def conjugate(loss_name, u, y, reach=200.0):
    """sup_s u s - f(s, y) by search over |s| <= reach."""
    best = minimize_convex(lambda s: FORMULAS[loss_name](s, y) - u * s, -reach, reach)
    return u * best - float(FORMULAS[loss_name](best, y))


def step_objective(loss_name, y, alpha, score, curvature, a):
    """Eq. (13) of Zhang (2002), in extended precision."""
    a, alpha, score, y = (np.longdouble(number) for number in (a, alpha, score, y))
    return CONJUGATES[loss_name](-a, y) + score * (a - alpha) + np.longdouble(curvature) / 2 * (a - alpha) ** 2


def dual_step(loss_name, y, alpha, score, curvature, low, high):
    """The minimizer of eq. (13) over [low, high] by ternary search."""
    return minimize_convex(lambda a: step_objective(loss_name, y, alpha, score, curvature, a), low, high)


def coordinate_pass(X, y, loss, c, lam, gain, order, alpha, w, b):
    """Algorithm 1 of Zhang (2002), one pass in this order, with the vectorized ``loss.dual_step`` for the step (*).

    Also returns the examples' shares in the duality gap as they were met.
    """
    alpha, w, gap = alpha.copy(), w.copy(), 0.0
    for i in order:
        score = math.fsum(X[i] * w) + b
        value = float(FORMULAS[loss.name](np.float64(score), y[i]))
        gap += c[i] * (value + float(loss.conjugate(np.float64(-alpha[i]), np.float64(y[i]))) + alpha[i] * score)
        curvature = c[i] * (math.fsum(X[i] * X[i]) + gain) / lam
        new = float(loss.dual_step(*(np.float64(number) for number in (y[i], alpha[i], score, curvature))))
        step = c[i] * (new - alpha[i]) / lam
        w += step * X[i]
        b += gain * step
        alpha[i] = new
    return alpha, w, b, gap


def shuffled(order, state):
    """Fisher-Yates with Marsaglia's xorshift64, in Python integers; returns the order and the new state."""
    order, count, mask = list(order), len(order), 2**64 - 1
    for t in range(count):
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        j = t + state % (count - t)
        order[t], order[j] = order[j], order[t]
    return order, state


def intercept_minimizers(loss_name, s, y, c, reach=1e3):
    """The interval of b in [-reach, reach] that minimize sum c f(s + b, y)."""

    def risk(b):
        return float(c @ FORMULAS[loss_name](s + b, y))

    if loss_name in ("hinge", "absolute", "epsilon_insensitive", "quantile"):
        tube = RESIDUAL.get(loss_name, (0.0,))[0]
        kinks = np.unique(np.concatenate([(y - s - tube)[c > 0], (y - s + tube)[c > 0]]))
        values = np.array([risk(b) for b in kinks])
        best = kinks[values <= values.min() + 1e-13]
        return best.min(), best.max()
    b = minimize_convex(risk, -reach, reach, rounds=100)
    return b, b


def best_objective(loss_name, X, y, lam, intercept):
    """The optimal objective from above and its accuracy: Newton's method where the loss is smooth, else Clarabel."""
    n, d = X.shape
    X, c = (X.toarray() if sp.issparse(X) else X), shares(n)
    if loss_name not in ("logistic", "squared"):
        w, b = conic_solution(loss_name, X, y, c, lam, intercept)
        value = float(primal(loss_name, X, y, c, lam, w, b))
        return value, 1e-9 * value
    A = np.hstack([X, np.ones((n, 1))]) if intercept else X
    ridge = np.diag(np.append(np.full(d, lam), 0.0)[: A.shape[1]])
    z, best = np.zeros(A.shape[1]), math.inf
    for _ in range(100):
        s = A @ z
        if loss_name == "squared":
            slope, bend = s - y, np.ones(n)
        else:
            assert loss_name == "logistic", f"add the derivatives of {loss_name!r} here"
            sigma = 1 / (1 + np.exp(y * s))
            slope, bend = -y * sigma, sigma * (1 - sigma)
        step = np.linalg.solve(ridge + A.T @ (A * (c * bend)[:, None]), ridge @ z + A.T @ (c * slope))
        size = 1.0
        for _ in range(30):
            w, b = (z - size * step)[:d], (z - size * step)[d:].sum()
            value = float(primal(loss_name, X, y, c, lam, w, b))
            if value <= best:
                break
            size /= 2
        if not value < best:
            break
        z, best = z - size * step, value
    return best, 1e-13 * best


def conic_solution(loss_name, X, y, c, lam, intercept):
    """(w, b) from Clarabel, an interior-point method for cones."""
    n, d = X.shape
    bias = np.full((n, 1), 1.0 if intercept else 0.0)
    A, rhs, cones, extra_cost, extra_quadratic = conic_rows(loss_name, np.hstack([X, bias]), y, c)
    if not intercept:
        # fix the unused intercept at zero
        fixed = sp.csc_matrix(([1.0], ([0], [d])), shape=(1, A.shape[1]))
        A, rhs, cones = sp.vstack([fixed, A]), np.append(0.0, rhs), [clarabel.ZeroConeT(1), *cones]
    quadratic = np.concatenate([np.full(d, lam), [0.0], extra_quadratic])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cost = np.concatenate([np.zeros(d + 1), extra_cost])
    solver = clarabel.DefaultSolver(sp.diags(quadratic).tocsc(), cost, sp.csc_matrix(A), rhs, cones, settings)
    x = np.array(solver.solve().x)
    return x[:d], x[d]


def conic_rows(loss_name, X1, y, c):
    """Rows A z + slack = rhs, cones of the slack, and costs of the extra variables for sum c_i f(x_i . z, y_i)."""
    n = len(y)
    eye, none = sp.identity(n, format="csr"), sp.csr_matrix((n, n))
    if loss_name in MARGIN or loss_name in RESIDUAL:
        return _quadratic_rows(loss_name, X1, y, c)
    assert loss_name == "logistic", f"add the cone of {loss_name!r} here"
    # u + v <= 1, (-m - t, 1, u) and (-t, 1, v) in the exponential cone; variables z, t, u, v
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


def _quadratic_rows(loss_name, X1, y, c):
    """A loss split into a quadratic part p, which costs p^2/(2 bend), linear parts t1, t2 >= 0, and e in the tube."""
    n = len(y)
    eye, zero = sp.identity(n, format="csr"), sp.csr_matrix((n, n))
    if loss_name in MARGIN:
        # p + t1 >= 1 - y x z
        (bend, high), low, tube = MARGIN[loss_name], math.inf, 0.0
        first = (sp.hstack([-y[:, None] * X1, -eye, -eye, zero, zero]), -np.ones(n), clarabel.NonnegativeConeT(n))
    else:
        # x z - y = e + p + t1 - t2
        tube, bend, low, high = RESIDUAL[loss_name]
        first = (sp.hstack([X1, -eye, -eye, eye, -eye]), y, clarabel.ZeroConeT(n))
    none = sp.csr_matrix(X1.shape)
    parts = [
        first,
        (sp.hstack([none, eye, zero, zero, zero]), None if bend else 0.0, None),
        (sp.hstack([none, zero, -eye, zero, zero]), 0.0, math.isfinite(high)),
        (sp.hstack([none, zero, zero, -eye, zero]), 0.0, math.isfinite(low)),
    ]
    A, rhs, cones = [first[0]], [first[1]], [first[2]]
    for rows, value, inequality in parts[1:]:
        if value is None:
            continue
        A, rhs = [*A, rows], [*rhs, np.zeros(n)]
        cones.append(clarabel.NonnegativeConeT(n) if inequality else clarabel.ZeroConeT(n))
    for sign in (1.0, -1.0):
        A, rhs = [*A, sp.hstack([none, zero, zero, zero, sign * eye])], [*rhs, np.full(n, tube)]
        cones.append(clarabel.NonnegativeConeT(n))
    cost = np.concatenate(
        [np.zeros(n), c * (high if math.isfinite(high) else 0), c * (low if math.isfinite(low) else 0), np.zeros(n)]
    )
    quadratic = np.concatenate([c / bend if bend else np.zeros(n), np.zeros(3 * n)])
    return sp.vstack(A), np.concatenate(rhs), cones, cost, quadratic
