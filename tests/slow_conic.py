"""The optimum from other methods: an interior-point method for cones, and Newton's method for smooth losses.

Slow and right; nothing here calls the code that it is compared with.
"""

import math

import clarabel
import numpy as np
import scipy.sparse as sp

from slow_reference import MARGIN, POWERS, RESIDUAL, SINGLE, TUBE, primal, shares


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


def conic_optimum(loss_name, X, y, c, lam, intercept, l1_ratio=0.0):
    """(w, b, P(w, b)) from the conic solver; several outputs are separate problems whose objectives are added."""
    if y.ndim == 1:
        w, b = conic_solution(loss_name, X, y, c, lam, intercept, l1_ratio)
    else:
        solutions = [conic_solution(loss_name, X, column, c, lam, intercept, l1_ratio) for column in y.T]
        w, b = (np.array(part) for part in zip(*solutions, strict=True))
    return w, b, float(primal(loss_name, X, y, c, lam, w, b, l1_ratio))


def conic_solution(loss_name, X, y, c, lam, intercept, l1_ratio=0.0, free=()):
    """(w, b) from Clarabel, an interior-point method for cones; the weights of the features ``free`` cost nothing."""
    n, d = X.shape
    bias = np.full((n, 1), 1.0 if intercept else 0.0)
    A, rhs, cones, extra_cost, extra_quadratic = conic_rows(loss_name, np.hstack([X, bias]), y, c)
    cost = np.concatenate([np.zeros(d + 1), extra_cost])
    quadratic = np.concatenate([np.full(d, lam * (1 - l1_ratio)), [0.0], extra_quadratic])
    quadratic[list(free)] = 0.0
    if not intercept:
        # fix the unused intercept at zero
        fixed = sp.csc_matrix(([1.0], ([0], [d])), shape=(1, A.shape[1]))
        A, rhs, cones = sp.vstack([fixed, A]), np.append(0.0, rhs), [clarabel.ZeroConeT(1), *cones]
    if l1_ratio > 0:
        # variables t >= |w| at the end, which cost lam rho each: w - t <= 0 and -w - t <= 0
        w, t = sp.eye(d, A.shape[1]), sp.identity(d)
        A = sp.vstack([sp.hstack([A, sp.csc_matrix((A.shape[0], d))]), sp.hstack([w, -t]), sp.hstack([-w, -t])])
        rhs, cones = np.append(rhs, np.zeros(2 * d)), [*cones, clarabel.NonnegativeConeT(2 * d)]
        prices = np.full(d, lam * l1_ratio)
        prices[list(free)] = 0.0
        cost, quadratic = np.append(cost, prices), np.append(quadratic, np.zeros(d))
    x = _solved(quadratic, cost, A, rhs, cones)
    return x[:d], x[d]


def _solved(quadratic, cost, A, rhs, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(sp.diags(quadratic).tocsc(), cost, sp.csc_matrix(A), rhs, cones, settings)
    return np.array(solver.solve().x)


def conic_free(loss_name, X, y, c, lam, directions, prices, intercept):
    """(w, b, P(w, b)) with free directions, in coordinates in which they are the first ones."""
    n, (m, d) = len(y), directions.shape
    Q = np.linalg.qr(np.hstack([directions.T, np.eye(d)]))[0]
    bias = np.full((n, 1), 1.0 if intercept else 0.0)
    A, rhs, cones, extra_cost, extra_quadratic = conic_rows(loss_name, np.hstack([X @ Q, bias]), y, c)
    if not intercept:
        fixed = sp.csc_matrix(([1.0], ([0], [d])), shape=(1, A.shape[1]))
        A, rhs, cones = sp.vstack([fixed, A]), np.append(0.0, rhs), [clarabel.ZeroConeT(1), *cones]
    # b . sigma is linear in the free coordinates: C^T sigma is the part of w in them
    price = lam * (np.linalg.pinv(directions) @ prices) @ Q
    quadratic = np.concatenate([np.zeros(m), np.full(d - m, lam), [0.0], extra_quadratic])
    x = _solved(quadratic, np.concatenate([price, [0.0], extra_cost]), A, rhs, cones)
    w, b = Q @ x[:d], x[d]
    # the infimum over sigma by its own linear system
    sigma = np.linalg.solve(directions @ directions.T, directions @ w - prices)
    omega = 0.5 * np.sum((w - directions.T @ sigma) ** 2) + prices @ sigma
    return w, b, lam * omega + float(primal(loss_name, X, y, c, 0.0, w, b))


def conic_with(loss_name, X, y, c, lam, intercept, add_regularizer):
    """(w, b) with a regularizer given by its rows: ``add_regularizer(d, before)`` adds variables at the end.

    Variables are w, b, those of the loss, and then those of the regularizer, whose cost is in units of lam.
    """
    n, d = X.shape
    bias = np.full((n, 1), 1.0 if intercept else 0.0)
    A, rhs, cones, extra_cost, extra_quadratic = conic_rows(loss_name, np.hstack([X, bias]), y, c)
    fixed = sp.csc_matrix(([1.0], ([0], [d])), shape=(1, A.shape[1]))
    if not intercept:
        A, rhs, cones = sp.vstack([fixed, A]), np.append(0.0, rhs), [clarabel.ZeroConeT(1), *cones]
    cost, quadratic = np.concatenate([np.zeros(d + 1), extra_cost]), np.append(np.zeros(d + 1), extra_quadratic)
    rows, more_rhs, more_cones, more_cost = add_regularizer(d, A.shape[1])
    extra = len(more_cost)
    A = sp.vstack([sp.hstack([A, sp.csc_matrix((A.shape[0], extra))]), rows])
    rhs, cones = np.append(rhs, more_rhs), [*cones, *more_cones]
    cost, quadratic = np.append(cost, lam * more_cost), np.append(quadratic, np.zeros(extra))
    x = _solved(quadratic, cost, A, rhs, cones)
    return x[:d], x[d]


def entropy_cone(prior, mass, balanced):
    """sum w ln(w/mu) - w + mu over the parts, which add up to ``mass`` unless that is None; (-t, w, mu) in the cone."""

    def add(d, before):
        parts = 2 * d if balanced else d
        size = before + 2 * parts
        place = {"part": before, "t": before + parts}
        rows, rhs, cones = [], [], []
        # w = w+ - w-
        link = sp.lil_matrix((d, size))
        for j in range(d):
            link[j, j] = 1.0
            link[j, place["part"] + j] = -1.0
            if balanced:
                link[j, place["part"] + d + j] = 1.0
        rows, rhs, cones = [link], [np.zeros(d)], [clarabel.ZeroConeT(d)]
        if mass is not None:
            total = sp.lil_matrix((1, size))
            total[0, place["part"] : place["part"] + parts] = 1.0
            rows, rhs, cones = [*rows, total], [*rhs, [mass]], [*cones, clarabel.ZeroConeT(1)]
        for j in range(parts):
            # w exp(-t/w) <= mu is t >= w ln(w/mu)
            triple = sp.lil_matrix((3, size))
            triple[0, place["t"] + j], triple[1, place["part"] + j] = 1.0, -1.0
            rows, rhs = [*rows, triple], [*rhs, [0.0, 0.0, prior[j % d]]]
            cones = [*cones, clarabel.ExponentialConeT()]
        cost = np.concatenate([-np.ones(parts), np.ones(parts)])
        return sp.vstack(rows), np.concatenate(rhs), cones, cost

    return add


def norm_cone(q, power):
    """(1/power) N^power with N >= |w|_q: |w_j| <= r_j^(1/q) N^(1 - 1/q), sum r = N, and N <= t^(1/power)."""

    def add(d, before):
        # variables r (d), N, t
        size, norm, top = before + d + 2, before + d, before + d + 1
        total = sp.lil_matrix((1, size))
        total[0, before : before + d], total[0, norm] = 1.0, -1.0
        rows, rhs, cones = [total], [np.zeros(1)], [clarabel.ZeroConeT(1)]
        for j in range(d):
            triple = sp.lil_matrix((3, size))
            triple[0, before + j], triple[1, norm], triple[2, j] = -1.0, -1.0, -1.0
            rows, rhs, cones = [*rows, triple], [*rhs, np.zeros(3)], [*cones, clarabel.PowerConeT(1.0 / q)]
        last = sp.lil_matrix((3, size))
        last[0, top], last[2, norm] = -1.0, -1.0
        rows, rhs = [*rows, last], [*rhs, [0.0, 1.0, 0.0]]
        return (
            sp.vstack(rows),
            np.concatenate(rhs),
            [*cones, clarabel.PowerConeT(1.0 / power)],
            np.append(np.zeros(d + 1), 1.0 / power),
        )

    return add


def conic_rows(loss_name, X1, y, c):
    """Rows A z + slack = rhs, cones of the slack, and costs of the extra variables for sum c_i f(x_i . z, y_i)."""
    if loss_name in SINGLE:
        return SINGLE[loss_name].conic_rows(X1, y, c)
    if loss_name in MARGIN or loss_name in RESIDUAL:
        return _quadratic_rows(loss_name, X1, y, c)
    if loss_name in POWERS:
        return _power_rows(loss_name, X1, y, c)
    if loss_name in ("poisson", "exponential", "negative_log"):
        return _exponential_rows(loss_name, X1, y, c)
    assert loss_name in ("hard_margin", "interpolation")
    side = -y[:, None] * X1 if loss_name == "hard_margin" else X1
    cone = (clarabel.NonnegativeConeT if loss_name == "hard_margin" else clarabel.ZeroConeT)(len(y))
    return sp.csr_matrix(side), -np.ones(len(y)) if loss_name == "hard_margin" else y, [cone], np.zeros(0), np.zeros(0)


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


def _power_rows(loss_name, X1, y, c):
    """z >= 1 - m, or z >= |r| - tube, and t >= z^p by the power cone: t^(1/p) 1^(1 - 1/p) >= |z|; variables z, t."""
    n, p = len(y), POWERS[loss_name]
    eye, zero, none = sp.identity(n, format="csr"), sp.csr_matrix((n, n)), sp.csr_matrix((1, X1.shape[1] + 2 * n))
    if loss_name.startswith("hinge"):
        rows, rhs = [sp.hstack([-y[:, None] * X1, -eye, zero])], [-np.ones(n)]
    else:
        rows, rhs = [sp.hstack([sign * X1, -eye, zero]) for sign in (1.0, -1.0)], [TUBE + y, TUBE - y]
    cones = [clarabel.NonnegativeConeT(n * len(rows))]
    if p == 1.0:
        rows, rhs = [*rows, sp.hstack([sp.csr_matrix(X1.shape), -eye, zero])], [*rhs, np.zeros(n)]
        cost = np.concatenate([c, np.zeros(n)])
        return sp.vstack(rows), np.concatenate(rhs), [*cones, clarabel.NonnegativeConeT(n)], cost, np.zeros(2 * n)
    zeros = sp.csr_matrix((1, X1.shape[1]))
    for i in range(n):
        rows += [sp.hstack([zeros, zero[[i]], -eye[[i]]]), none, sp.hstack([zeros, -eye[[i]], zero[[i]]])]
        rhs += [[0.0, 1.0, 0.0]]
    cones += [clarabel.PowerConeT(1 / p)] * n
    return sp.vstack(rows), np.concatenate(rhs), cones, np.concatenate([np.zeros(n), c / p]), np.zeros(2 * n)


def _exponential_rows(loss_name, X1, y, c):
    """(s, 1, t) or (-m, 1, t) in the exponential cone, t at least its exponential; counts also cost -y s."""
    n = len(y)
    eye, none = sp.identity(n, format="csr"), sp.csr_matrix((1, X1.shape[1] + 2 * n))
    zeros, o = sp.csr_matrix((1, X1.shape[1])), sp.csr_matrix((1, n))
    # the scores are variables of their own, so that they can be given a cost
    rows, rhs = [sp.hstack([X1, -eye, sp.csr_matrix((n, n))])], [np.zeros(n)]
    for i in range(n):
        sign = -1.0 if loss_name == "poisson" else y[i]
        if loss_name == "negative_log":
            # e^(-t) <= y s
            rows += [sp.hstack([zeros, o, eye[[i]]]), none, sp.hstack([zeros, -sign * eye[[i]], o])]
        else:
            rows += [sp.hstack([zeros, sign * eye[[i]], o]), none, sp.hstack([zeros, o, -eye[[i]]])]
        rhs += [[0.0, 1.0, 0.0]]
    cones = [clarabel.ZeroConeT(n), *[clarabel.ExponentialConeT()] * n]
    linear = -c * y if loss_name == "poisson" else np.zeros(n)
    return sp.vstack(rows), np.concatenate(rhs), cones, np.concatenate([linear, c]), np.zeros(2 * n)
