"""Proximal steps over dual points from a conic solver: the problems of ``solvers.dual_sets``, written down again."""

import numpy as np
import scipy.sparse as sp

from slow_smoothing import _minimum

TUBE = {"epsilon_insensitive": 0.1}


def mean_step(loss, labels, shares, centre, scores, curvature, balanced):
    """Over theta = theta+ - theta-, both between zero and their bounds, sum theta = 0 if balanced."""
    n, tube = len(labels), TUBE.get(loss, 0.0)
    up = shares * (labels > 0) if loss == "hinge" else shares
    down = shares * (labels < 0) if loss == "hinge" else shares
    quadratic = sp.diags(curvature / shares)
    P = sp.bmat([[quadratic, -quadratic], [-quadratic, quadratic]])
    linear = scores - labels - curvature * centre / shares
    q = np.concatenate([linear + tube, -linear + tube])
    row = np.concatenate([np.ones(n), -np.ones(n)])[None] * float(balanced)
    x = _minimum(P, q, row, np.zeros(1), np.zeros(2 * n), np.concatenate([up, down]))
    return x[:n] - x[n:]


def class_step(kind, classes, outputs, shares, centre, scores, curvature):
    """Over beta of each example for itself: theta_j = -c beta_j, theta_y = c sum beta."""
    theta = np.zeros_like(centre)
    for i, y in enumerate(classes):
        others = [j for j in range(outputs) if j != y]
        # alpha = M beta
        M = np.zeros((outputs, len(others)))
        M[others, range(len(others))] = -1.0
        M[y] = 1.0
        q = M.T @ (scores[i] - curvature * centre[i] / shares[i]) - 1.0
        P = curvature * M.T @ M
        size = len(others)
        if kind == "weston_watkins":
            beta = _minimum(sp.csc_matrix(P), q, np.zeros((1, size)), np.zeros(1), np.zeros(size), np.ones(size))
        else:
            # one more variable takes what is left of one
            P, q = np.pad(P, (0, 1)), np.append(q, 0.0)
            ones = np.ones((1, size + 1))
            beta = _minimum(sp.csc_matrix(P), q, ones, np.ones(1), np.zeros(size + 1), np.ones(size + 1))[:-1]
        theta[i] = shares[i] * (M @ beta)
    return theta
