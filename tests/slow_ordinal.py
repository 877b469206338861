"""Ordered classes and several labels by looking at every pair, with optima from a conic solver: slow and right.

Both risks are sums over groups of pairs of price . [max over the group of 1 - D s]_+, with one pair in a group for
ordered classes and all pairs of an example for several labels.
"""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def ordinal_pairs(y, weights=None):
    """(pairs, n) differences D, the group of each pair, and the price of each group."""
    c = np.ones(len(y)) if weights is None else weights
    pairs = [(i, j) for i, j in itertools.product(range(len(y)), repeat=2) if y[i] < y[j]]
    prices = np.array([c[i] * c[j] for i, j in pairs])
    return _differences(pairs, len(y)), np.arange(len(pairs)), prices / prices.sum()


def multilabel_pairs(labels, weights=None):
    """The same for (n, k) scores in one row."""
    n, k = labels.shape
    c = np.ones(n) if weights is None else weights
    pairs, groups = [], []
    for i, p, q in itertools.product(range(n), range(k), range(k)):
        if labels[i, p] > 0 and labels[i, q] <= 0:
            pairs.append((i * k + q, i * k + p))
            groups.append(i)
    return _differences(pairs, n * k), np.array(groups), c / c.sum()


def _differences(pairs, count):
    D = np.zeros((len(pairs), count))
    for row, (low, high) in enumerate(pairs):
        D[row, high], D[row, low] = 1.0, -1.0
    return D


def value(pairs, scores):
    """R(s)."""
    D, groups, prices = pairs
    losses = np.zeros(len(prices))
    np.maximum.at(losses, groups, 1.0 - D @ scores.ravel())
    return float(prices @ losses)


def conjugate(pairs, theta):
    """R*(-theta): minus the largest sum of masses of pairs that make theta; infinity if there are none."""
    D, groups, prices = pairs
    within = np.zeros((len(prices), len(D)))
    within[groups, np.arange(len(D))] = 1.0
    found = linprog(-np.ones(len(D)), A_ub=within, b_ub=prices, A_eq=D.T, b_eq=theta.ravel(), bounds=(0.0, None))
    return found.fun if found.status == 0 else np.inf


def optimum(pairs, Z, lam, regularized=None):
    """(w, P(w)) of lam/2 |w|^2 + R(Z w) from Clarabel; Z makes all scores in one row.

    ``regularized``: 1 for the entries of w that are in the norm, 0 for others.
    """
    D, groups, prices = pairs
    d, m, g = Z.shape[1], len(D), len(prices)
    # t_group >= 1 - D Z w, t >= 0
    own = sp.csc_matrix((np.ones(m), (np.arange(m), groups)), shape=(m, g))
    A = sp.bmat([[sp.csc_matrix(-D @ Z), -own], [None, -sp.identity(g)]]).tocsc()
    rhs, cost = np.concatenate([-np.ones(m), np.zeros(g)]), np.concatenate([np.zeros(d), prices])
    own_lam = np.full(d, lam) if regularized is None else lam * regularized
    quadratic = sp.diags(np.concatenate([own_lam, np.zeros(g)])).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(m + g)]
    w = np.array(clarabel.DefaultSolver(quadratic, cost, A, rhs, cones, settings).solve().x)[:d]
    return w, 0.5 * float(own_lam @ w**2) + value(pairs, Z @ w)


def least_absolute_error(scores, codes, classes, weights=None):
    """The least weighted absolute error of any rising thresholds, by trying all."""
    c = np.ones(len(scores)) if weights is None else weights
    places = [np.min(scores) - 1.0, *scores]
    return min(
        float(c @ np.abs(codes - np.sum(scores[:, None] > np.array(cuts), axis=1)))
        for cuts in itertools.combinations_with_replacement(sorted(places), classes - 1)
    )
