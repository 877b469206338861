"""Rankings by looking at every pair and at every permutation, with optima from a conic solver: slow and right."""

import itertools
from decimal import Decimal, localcontext

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment, linprog

import slow_ordinal


def query_shares(y, queries, weights=None):
    """The share of each query with two different labels among its rows of positive weight, and those rows."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    rows = {q: [i for i in range(len(y)) if queries[i] == q and weights[i] > 0] for q in dict.fromkeys(queries)}
    rows = {q: own for q, own in rows.items() if len({y[i] for i in own}) > 1}
    total = sum(weights[own[0]] for own in rows.values())
    return [(weights[own[0]] / total, own) for own in rows.values()]


def pairs(y, queries, weights=None):
    """(pairs, n) differences D, the group of each pair, and its price c_q / M_q: as of ``slow_ordinal``."""
    found, prices = [], []
    for share, own in query_shares(y, queries, weights):
        here = [(j, i) for i, j in itertools.product(own, repeat=2) if y[i] > y[j]]
        found += here
        prices += [share / len(here)] * len(here)
    return slow_ordinal._differences(found, len(y)), np.arange(len(found)), np.array(prices)


LOSSES = {
    "pairwise_hinge": lambda t: np.maximum(1 - t, 0.0),
    "pairwise_squared_hinge": lambda t: np.maximum(1 - t, 0.0) ** 2,
    "pairwise_logistic": lambda t: np.logaddexp(0.0, -t),
}


def pairwise_value(name, listed, scores):
    D, _, prices = listed
    return float(prices @ LOSSES[name](D @ scores))


def pairwise_conjugate(name, listed, theta):
    """R*(-theta): the least sum of price . f*(-flow / price) over flows of pairs that make theta, by Clarabel."""
    D, _, prices = listed
    if name == "pairwise_hinge":
        return slow_ordinal.conjugate(listed, theta)
    m = len(D)
    equal = sp.csc_matrix(D.T)
    if name == "pairwise_squared_hinge":
        # f*(-b) = b^2 / 4 - b for b >= 0
        P, q = sp.diags(0.5 / prices).tocsc(), -np.ones(m)
        A = sp.vstack([equal, -sp.identity(m)]).tocsc()
        cones = [clarabel.ZeroConeT(len(theta)), clarabel.NonnegativeConeT(m)]
        return _solve(P, q, A, np.concatenate([theta, np.zeros(m)]), cones)[1]
    # f*(-b) = b log b + (1 - b) log(1 - b), b = flow / price: (-u, b, 1) and (-v, 1 - b, 1) in the exponential cone
    blocks, rhs = [], []
    for k in range(m):
        for sign, column in ((1.0, 1), (-1.0, 2)):
            rows = np.zeros((3, 3 * m))
            rows[0, column * m + k] = 1.0
            rows[1, k] = -sign
            blocks.append(rows)
            rhs += [0.0, 0.0 if sign > 0 else 1.0, 1.0]
    A = sp.vstack(
        [sp.hstack([sp.csc_matrix(D.T * prices), sp.csc_matrix((len(theta), 2 * m))]), *map(sp.csc_matrix, blocks)]
    )
    cones = [clarabel.ZeroConeT(len(theta)), *[clarabel.ExponentialConeT()] * (2 * m)]
    q = np.concatenate([np.zeros(m), prices, prices])
    return _solve(sp.csc_matrix((3 * m, 3 * m)), q, A.tocsc(), np.concatenate([theta, rhs]), cones)[1]


def pairwise_optimum(name, listed, X, lam):
    """P* of lam/2 |w|^2 + R(X w), by Clarabel."""
    D, _, prices = listed
    Z, (m, d) = D @ X, (len(D), X.shape[1])
    if name == "pairwise_logistic":
        # log(1 + e^-t) <= u: e^(-t - u) + e^-u <= 1
        blocks, rhs = [], []
        for k in range(m):
            first, second = np.zeros((3, d + 3 * m)), np.zeros((3, d + 3 * m))
            first[0, :d], first[0, d + k], first[2, d + m + k] = Z[k], 1.0, -1.0
            second[0, d + k], second[2, d + 2 * m + k] = 1.0, -1.0
            sums = np.zeros((1, d + 3 * m))
            sums[0, [d + m + k, d + 2 * m + k]] = 1.0
            blocks += [first, second, sums]
            rhs += [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
        cones = [clarabel.ExponentialConeT(), clarabel.ExponentialConeT(), clarabel.NonnegativeConeT(1)] * m
        P = sp.diags(np.concatenate([np.full(d, lam), np.zeros(3 * m)])).tocsc()
        q = np.concatenate([np.zeros(d), prices, np.zeros(2 * m)])
        return _solve(P, q, sp.csc_matrix(np.vstack(blocks)), np.array(rhs), cones)[1]
    square = name == "pairwise_squared_hinge"
    # u >= 1 - Z w, u >= 0
    A = sp.bmat([[sp.csc_matrix(-Z), -sp.identity(m)], [None, -sp.identity(m)]]).tocsc()
    P = sp.diags(np.concatenate([np.full(d, lam), 2.0 * prices if square else np.zeros(m)])).tocsc()
    q = np.concatenate([np.zeros(d), np.zeros(m) if square else prices])
    return _solve(P, q, A, np.concatenate([-np.ones(m), np.zeros(m)]), [clarabel.NonnegativeConeT(2 * m)])[1]


def _solve(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    if "Solved" not in str(found.status):
        return None, np.inf
    x = np.array(found.x)
    return x, float(0.5 * x @ (P @ x) + q @ x)


# --- NDCG


def gain(name, y):
    return 2.0 ** np.asarray(y, dtype=float) - 1.0 if name == "exponential" else np.asarray(y, dtype=float)


def discounts(n, k=None):
    return np.array([1.0 / np.log2(1 + r) if k is None or r <= k else 0.0 for r in range(1, n + 1)])


def ndcg_parts(y, name="exponential", k=None):
    """(d, a*, g) of one query: the mean of all ideal rankings, by enumeration."""
    d, gains = discounts(len(y), k), gain(name, y)
    rankings = [np.array(order) for order in itertools.permutations(d)]
    best = max(float(gains @ a) for a in rankings)
    ideal = [a for a in rankings if gains @ a >= best * (1 - 1e-12) and _sorts(a, y)]
    return d, np.mean(ideal, axis=0), gains / best


def _sorts(a, y):
    """Whether rows with higher labels have discounts at least as large."""
    return all(a[i] >= a[j] for i in range(len(y)) for j in range(len(y)) if y[i] > y[j])


def ndcg_value(y, queries, scores, weights=None, name="exponential", k=None):
    """R(s) by all permutations."""
    total = 0.0
    for share, own in query_shares(y, queries, weights):
        d, ideal, g = ndcg_parts([y[i] for i in own], name, k)
        total += share * max(float((np.array(a) - ideal) @ (scores[own] - g)) for a in itertools.permutations(d))
    return total


def ndcg_by_assignment(y, queries, scores, weights=None, name="exponential", k=None):
    """The same for queries that are too long for enumeration, by linear assignment; a* by sorting."""
    total = 0.0
    for share, own in query_shares(y, queries, weights):
        labels = np.array([y[i] for i in own])
        d, gains = discounts(len(own), k), gain(name, labels)
        ideal = np.array([d[np.flatnonzero(np.sort(labels)[::-1] == label)].mean() for label in labels])
        z = scores[own] - gains / (ideal @ gains)
        rows, columns = linear_sum_assignment(-np.outer(z, d))
        total += share * (float(z[rows] @ d[columns]) - float(ideal @ z))
    return total


def in_permutahedron(a, d):
    """Whether a is a convex combination of the orders of d, by a linear program over all of them."""
    corners = np.array(list(dict.fromkeys(itertools.permutations(d))))
    A = np.vstack([corners.T, np.ones(len(corners))])
    return linprog(np.zeros(len(corners)), A_eq=A, b_eq=np.append(a, 1.0), bounds=(0.0, None)).status == 0


def nearest_in_permutahedron(y, d):
    """The nearest convex combination of the orders of d, by Clarabel."""
    corners = np.array(list(dict.fromkeys(itertools.permutations(d)))).T
    m = corners.shape[1]
    P, q = sp.csc_matrix(np.triu(corners.T @ corners)), -corners.T @ y
    A = sp.vstack([sp.csc_matrix(np.ones((1, m))), -sp.identity(m)]).tocsc()
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(P, q, A, np.append(1.0, np.zeros(m)), cones, settings).solve()
    return corners @ np.array(found.x)


# --- exactly


def exact_pairwise(name, y, queries, scores, weights=None):
    """R(s), theta = -gradient and R*(-theta) with 60 digits, for these very floats."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**9), 10**9
        s = [Decimal(float(one)) for one in scores]
        weight = [Decimal(float(one)) for one in (np.ones(len(y)) if weights is None else weights)]
        value, conjugate, theta = Decimal(0), Decimal(0), [Decimal(0)] * len(y)
        queried = query_shares(y, queries, weights)
        total = sum(weight[own[0]] for _, own in queried)
        for _, own in queried:
            here = [(i, j) for i, j in itertools.product(own, repeat=2) if y[i] > y[j]]
            price = weight[own[0]] / total / len(here)
            for i, j in here:
                t = s[i] - s[j]
                if name == "pairwise_logistic":
                    f, slope = (1 + (-t).exp()).ln(), -1 / (1 + t.exp())
                else:
                    x = max(1 - t, Decimal(0))
                    f, slope = x**2, -2 * x
                value += price * f
                conjugate += price * (t * slope - f)
                theta[i] -= price * slope
                theta[j] += price * slope
        return value, theta, conjugate
