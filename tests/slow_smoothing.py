"""Smoothed measures from other methods: a conic solver over all labellings, and the paper's own algorithms.

Slow and right; nothing here calls the code that it is compared with.  ``mu`` is ours, a length on the scale of scores;
the paper's is mu / n for contingency measures and mu / (n+ n-) for ROC area.
"""

import clarabel
import numpy as np
import scipy.sparse as sp

import slow_measures


def _minimum(P, q, A_equal, b_equal, low, high):
    size = len(q)
    A = sp.vstack([sp.csc_matrix(A_equal), -sp.identity(size), sp.identity(size)]).tocsc()
    b = np.concatenate([b_equal, -np.broadcast_to(low, size), np.broadcast_to(high, size)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(len(b_equal)), clarabel.NonnegativeConeT(2 * size)]
    return np.array(clarabel.DefaultSolver(sp.triu(P).tocsc(), q, A, b, cones, settings).solve().x)


def smoothed(name, scores, y, mu, parameter=None, weights=None):
    """(R_mu(s), theta) from Clarabel: over mixtures of all labellings, or over all pairs."""
    n = len(y)
    if name == "roc_auc":
        D, prices = slow_measures.pair_planes(y, weights)
        z = 1 - D @ scores
        keep = prices > 0
        beta = np.zeros(len(prices))
        m = int(keep.sum())
        # divided by the prices: every pair for itself
        beta[keep] = _minimum(mu * sp.identity(m), -z[keep], np.zeros((1, m)), np.zeros(1), 0.0, 1.0)
        return float(prices @ (beta * z - mu * beta**2 / 2)), D.T @ (prices * beta)
    slopes, offsets = slow_measures.planes(name, y, parameter)
    # alpha on the simplex, -theta = alpha . slopes and d = n |theta|^2 / 2; variables alpha, n theta
    count = len(offsets)
    P = sp.block_diag([sp.csc_matrix((count, count)), mu * sp.identity(n)])
    A = np.vstack([np.hstack([n * slopes.T, np.eye(n)]), np.append(np.ones(count), np.zeros(n))])
    q = n * np.append(-(slopes @ scores + offsets), np.zeros(n))
    x = _minimum(P, q, A, np.append(np.zeros(n), 1.0), np.append(np.zeros(count), -np.full(n, 2.0)), 2.0)
    alpha, theta = x[:count], x[count:] / n
    return float(alpha @ (slopes @ scores + offsets) - mu * n * theta @ theta / 2), theta


def projection(point, low, high, total):
    """The nearest point of the box with this sum, from Clarabel."""
    n = len(point)
    return _minimum(sp.identity(n), -point, np.ones((1, n)), np.array([total]), low, high)


class Climber:
    """Algorithm 3: g+ at points that need not be sorted, from an anchor that moves."""

    def __init__(self, a, mu):
        self.mu, n = mu, len(a)
        kinks = np.concatenate([a, a - mu])
        order = np.argsort(-kinks, kind="stable")
        # tau_1 >= ... >= tau_2n between infinite ends
        self.tau = np.concatenate([[np.inf], kinks[order], [-np.inf]])
        self.head = np.concatenate([[False], order < n, [False]])
        # 1.
        self.i, self.s, self.b = 1, 1, 0.0

    def __call__(self, theta):
        if theta == np.inf:
            return 0.0
        tau = self.tau
        while True:
            if tau[self.i] >= theta:
                # 4.
                if tau[self.i + 1] < theta or self.i + 1 == len(tau) - 1:
                    return self.b + (self.s / self.mu * (theta - tau[self.i]) if self.s else 0.0)
                # 6. and 7.
                self.b += self.s / self.mu * (tau[self.i + 1] - tau[self.i])
                self.i += 1
                self.s += 1 if self.head[self.i] else -1
            else:
                # 9. to 11.
                if self.i == 1:
                    return 0.0
                self.s += -1 if self.head[self.i] else 1
                self.i -= 1
                self.b -= self.s / self.mu * (tau[self.i + 1] - tau[self.i])


def break_even_dual(scores, y, mu):
    """beta by Theorem 7 and Algorithms 2 and 3; the steps of g fall with theta, so g is minus the sum of beta."""
    n, n_pos = len(y), int(np.sum(y > 0))
    # (27), with half the score term; mu and a times n, so that -1/n+ becomes -n/n+
    a, share = -y * scores, -n / n_pos
    plus, minus = Climber(a[y > 0], mu), Climber(a[y < 0], mu)
    # 1. to 3.
    for i in range(1, len(plus.tau)):
        at = plus.tau[i]
        if np.isneginf(at) or plus(at) - minus(share - at) <= 0:
            break
    # 4. and 5.
    c, d = share - plus.tau[i - 1], share - plus.tau[i]
    inside = minus.tau[(minus.tau >= c) & (minus.tau <= d)]
    chi = np.concatenate([[d], inside[np.isfinite(inside)], [c]])
    # 6. to 8.
    for j in range(1, len(chi)):
        if np.isneginf(chi[j]) or plus(share - chi[j]) - minus(chi[j]) >= 0:
            break
    # (32): between these ends, which may be infinite, both sides are linear; g is constant beyond the last kinks
    low, high = share - chi[j - 1], share - chi[j]
    spread = 1.0 + np.ptp(a) + mu + abs(share)
    low, high = (low if np.isfinite(low) else high - spread), (high if np.isfinite(high) else low + spread)
    f_low, f_high = (plus(theta) - minus(share - theta) for theta in (low, high))
    theta = low if f_high == f_low else low - f_low * (high - low) / (f_high - f_low)
    return np.clip((a - np.where(y > 0, theta, share - theta)) / mu, 0.0, 1.0)


def roc_counts(scores, y, mu):
    """Algorithm 4: gamma, s and t for the positives, with |M+| = n- - k where the paper prints n- - 1 - k."""
    a_pos, a_neg = (np.sort(scores[y > 0]) - 0.5) / mu, (np.sort(scores[y < 0]) + 0.5) / mu
    n_neg, s, t, k, j = len(a_neg), 0.0, 0.0, 0, 0
    found = []
    for a in a_pos:
        while j < n_neg and a_neg[j] < a:
            s, t, j = s - a_neg[j], t - a_neg[j] ** 2, j + 1
        while k < n_neg and a_neg[k] <= a + 1:
            s, t, k = s + a_neg[k], t + a_neg[k] ** 2, k + 1
        found.append(((n_neg - k) - (k - j) * a + s, s, t))
    return np.array(found)
