"""Risks that are the maximum of listed planes, and inner problems by a conic solver: slow and right."""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from fenchel.projections.zero_sum import zero_sum_columns
from fenchel.risks import Risk


class ListedPlanes(Risk):
    """R(s) = max_j A_j . s + c_j, with planes alone: no conjugate."""

    name = "listed_planes"
    conjugate_at_zero = 0.0

    def __init__(self, A, c):
        self.A, self.c = np.asarray(A, dtype=float), np.asarray(c, dtype=float)
        self.examples = self.A.shape[1]

    def intercepts(self):
        return self if np.any(self.A.sum(axis=1)) else None

    def best_intercept(self, scores):
        """As a linear program: the least t >= A_j . s + c_j + b sum A_j."""
        rows = np.column_stack([self.A.sum(axis=1), -np.ones(len(self.c))])
        found = linprog([0.0, 1.0], A_ub=rows, b_ub=-(self.A @ scores + self.c), bounds=(None, None))
        return float(found.x[0])

    def balance(self, theta, *, overwrite=False):
        return zero_sum_columns(theta)

    def cutting_plane(self, scores):
        values = self.A @ scores + self.c
        j = int(np.argmax(values))
        return self.A[j].copy(), float(self.c[j]), float(values[j])

    def value(self, scores):
        return self.cutting_plane(scores)[2]

    def subgradient(self, scores):
        return self.cutting_plane(scores)[0]

    @property
    def value_at_zero(self):
        return float(np.max(self.c))

    def subgradient_norm_bound(self):
        return float(np.max(np.sum(np.abs(self.A), axis=1)))

    def intercept_bound(self, level, reach):
        """From b sum A_j <= level - c_j + |A_j| . reach for every j."""
        sums, room = self.A.sum(axis=1), level - self.c + np.abs(self.A) @ reach
        return np.array([max(np.min(room[sums > 0] / sums[sums > 0]), np.min(room[sums < 0] / -sums[sums < 0]))])

    def exact_conjugate(self, theta):
        """R*(-theta) as a linear program: the least -c . alpha over mixtures of planes with slope -theta."""
        rows, right = np.vstack([self.A.T, np.ones(len(self.c))]), np.append(-theta, 1.0)
        found = linprog(-self.c, A_eq=rows, b_eq=right, bounds=(0, None))
        assert found.status == 0, found.message
        return found.fun


class Opaque(Risk):
    """A user's own risk: value and subgradient of another one, and the infimum zero, but no way to its conjugate."""

    name = "opaque"
    conjugate_at_zero = 0.0

    def __init__(self, risk):
        self.risk, self.examples = risk, risk.examples

    def value(self, scores):
        return self.risk.value(scores)

    def subgradient(self, scores):
        return self.risk.subgradient(scores)

    def cutting_plane(self, scores):
        return self.risk.cutting_plane(scores)

    def subgradient_norm_bound(self):
        return self.risk.subgradient_norm_bound()


def listed_hinge(y):
    """The mean hinge as the maximum over all sets of examples."""
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=len(y))))
    return ListedPlanes(-sets * y / len(y), sets.mean(axis=1))


def conic_inner(G, c, curvature, threshold, pull):
    """(value, w) of min curvature/2 |w|^2 + threshold |w|_1 - pull . w + max_j (G_j . w + c_j) from Clarabel."""
    m, d = G.shape
    quadratic = sp.diags(np.concatenate([np.full(d, curvature), np.zeros(d + 1)])).tocsc()
    cost = np.concatenate([-np.broadcast_to(pull, d), [1.0], np.full(d, threshold)])
    eye, none = sp.identity(d), sp.csc_matrix((d, 1))
    rows = sp.vstack(
        [
            sp.hstack([sp.csc_matrix(G), -np.ones((m, 1)), sp.csc_matrix((m, d))]),
            sp.hstack([eye, none, -eye]),
            sp.hstack([-eye, none, -eye]),
        ]
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    right, cones = np.concatenate([-c, np.zeros(2 * d)]), [clarabel.NonnegativeConeT(m + 2 * d)]
    found = clarabel.DefaultSolver(quadratic, cost, sp.csc_matrix(rows), right, cones, settings).solve()
    return found.obj_val, np.array(found.x)[:d]
