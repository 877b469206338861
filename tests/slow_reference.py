"""Slow, obviously right answers: textbook formulas, brute force and plain loops; ``slow_conic`` has a conic solver.

Nothing here calls the code that it is compared with, except where a docstring says so.  A regularizer is named by its
``l1_ratio``: zero is the square regularizer.
"""

import math

import numpy as np

import formulas

#: the losses with a file of their own, where a new loss adds one; families share the tables below
SINGLE = formulas.found("losses")

#: f(s, y) from the textbook
FORMULAS = {
    **{name: loss.value for name, loss in SINGLE.items()},
    "hinge": lambda s, y: np.maximum(0, 1 - y * s),
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

#: [z]_+^p / p for z = 1 - m ("hinge^p"), or for the distance of the residual from a tube of 0.1 ("tube^p")
TUBE = 0.1
POWERS = {f"{kind}^{p}": p for kind in ("hinge", "tube") for p in (1.0, 1.25, 1.5, 2.0, 3.0, 8.0)}
#: exp of the score minus a line, for counts and for classes
EXPONENTIAL = ("poisson", "exponential")
#: infinite for some scores
INFINITE = ("hard_margin", "interpolation", "negative_log")
TOLERANCE = 1e-9


def _rounded(z, width):
    """The hinge of z, quadratic up to width."""
    return np.where(z <= 0, 0, np.where(z <= width, z**2 / (2 * width), z - width / 2))


#: f*(u, y) for u inside the domain, from the textbook
CONJUGATES = {
    **{name: loss.conjugate for name, loss in SINGLE.items()},
    **{name: lambda u, y, k=bend: k * u**2 / 2 + u * y for name, (bend, _) in MARGIN.items()},
    **{
        name: lambda u, y, e=tube, k=bend: u * y + e * np.abs(u) + k * u**2 / 2
        for name, (tube, bend, _, _) in RESIDUAL.items()
    },
}


def _plogp(v):
    """v ln v, zero at zero."""
    return np.where(np.asarray(v) > 0, v * np.log(np.where(np.asarray(v) > 0, v, 1)), 0)


FORMULAS |= {
    **{f"hinge^{p}": lambda s, y, p=p: np.maximum(0, 1 - y * s) ** p / p for p in POWERS.values()},
    **{f"tube^{p}": lambda s, y, p=p: np.maximum(0, np.abs(s - y) - TUBE) ** p / p for p in POWERS.values()},
    "poisson": lambda s, y: np.exp(s) - y * s + _plogp(y) - y,
    "exponential": lambda s, y: np.exp(-y * s),
    "hard_margin": lambda s, y: np.where(y * s >= 1, 0.0, np.inf),
    "interpolation": lambda s, y: np.where(np.abs(s - y) <= TOLERANCE, 0.0, np.inf),
    "negative_log": lambda s, y: np.where(y * s > 0, -np.log(np.where(y * s > 0, y * s, 1)), np.inf),
}
CONJUGATES |= {
    **{f"hinge^{p}": lambda u, y, p=p: _conjugate_power(np.abs(u), p) + u * y for p in POWERS.values()},
    **{
        f"tube^{p}": lambda u, y, p=p: _conjugate_power(np.abs(u), p) + u * y + TUBE * np.abs(u)
        for p in POWERS.values()
    },
    "poisson": lambda u, y: _plogp(u + y) - (u + y) - _plogp(y) + y,
    "exponential": lambda u, y: _plogp(-y * u) + y * u,
    "hard_margin": lambda u, y: u * y,
    "interpolation": lambda u, y: u * y + TOLERANCE * np.abs(u),
    "negative_log": lambda u, y: -1 - np.log(np.abs(u)),
}


def _conjugate_power(size, p):
    """size^q / q with 1/p + 1/q = 1; nothing up to 1 for p = 1."""
    return np.zeros_like(size) if p == 1 else size ** (p / (p - 1)) * (p - 1) / p


def slopes_of(loss_name, y):
    """The interval of slopes where the conjugate is finite."""
    if loss_name in SINGLE:
        return SINGLE[loss_name].slopes(y)
    if loss_name in RESIDUAL:
        return -RESIDUAL[loss_name][2] + 0 * y, RESIDUAL[loss_name][3] + 0 * y
    if loss_name == "poisson":
        return -y, math.inf + 0 * y
    unbounded = loss_name in POWERS or loss_name in EXPONENTIAL or loss_name in INFINITE
    high = 1.0 if POWERS.get(loss_name) == 1 else math.inf if unbounded else None
    if loss_name.startswith("tube") or loss_name == "interpolation":
        return -high + 0 * y, high + 0 * y
    high = MARGIN[loss_name][1] if high is None else high
    return np.where(y > 0, -high, 0), np.where(y > 0, 0, high)


def shares(n, weights=None):
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    return weights / math.fsum(weights)


def omega(w, l1_ratio=0.0):
    """(1 - rho)/2 |w|^2 + rho |w|_1 in extended precision."""
    w, rho = np.asarray(w, dtype=np.longdouble), np.longdouble(l1_ratio)
    return (1 - rho) / 2 * np.sum(w * w) + rho * np.sum(np.abs(w))


def omega_conjugate(v, l1_ratio=0.0):
    """Sum of [|v| - rho]_+^2 / (2 (1 - rho)) in extended precision."""
    v, rho = np.asarray(v, dtype=np.longdouble), np.longdouble(l1_ratio)
    return np.sum(np.maximum(0, np.abs(v) - rho) ** 2) / (2 * (1 - rho))


def primal(loss_name, X, y, c, lam, w, b=0.0, l1_ratio=0.0):
    """P(w, b) in extended precision; sums over outputs if there are several."""
    X, w, y, c = (np.asarray(array, dtype=np.longdouble) for array in (X, w, y, c))
    scores = X @ w.T + np.asarray(b, dtype=np.longdouble)
    losses = FORMULAS[loss_name](scores, y)
    return lam * omega(w, l1_ratio) + np.sum(c @ losses)


def dual(loss_name, X, y, c, lam, theta, l1_ratio=0.0):
    """D(theta) in extended precision for theta in the domain."""
    X, theta, y, c = (np.asarray(array, dtype=np.longdouble) for array in (X, theta, y, c))
    v = theta.T @ X
    columns = np.reshape(c, (-1, *(1,) * (theta.ndim - 1)))
    slopes = np.where(columns > 0, -theta / np.where(columns > 0, columns, 1), 0)
    # theta / c may leave the domain by one rounding
    slopes = np.clip(slopes, *slopes_of(loss_name, y))
    return -lam * omega_conjugate(v / lam, l1_ratio) - np.sum(c @ CONJUGATES[loss_name](slopes, y))


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

    tube, bend = RESIDUAL.get(loss_name, (0.0, *MARGIN.get(loss_name, (1.0,))))[:2]
    if bend == 0.0:
        kinks = np.unique(np.concatenate([(y - s - tube)[c > 0], (y - s + tube)[c > 0]]))
        values = np.array([risk(b) for b in kinks])
        best = kinks[values <= values.min() + 1e-13]
        return best.min(), best.max()
    b = minimize_convex(risk, -reach, reach, rounds=100)
    return b, b
