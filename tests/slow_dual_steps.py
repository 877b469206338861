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


def class_step(kind, classes, outputs, shares, centre, scores, curvature, balanced=False):
    """Over beta of all examples: theta_j = -c beta_j, theta_y = c sum beta; with columns that add up to 0 if balanced.

    For Crammer-Singer, one more variable of each example makes the sum one.
    """
    slack = int(kind == "crammer_singer")
    quadratic, linear, sums, masses, matrices = [], [], [], [], []
    for i, y in enumerate(classes):
        others = [j for j in range(outputs) if j != y]
        # alpha = M beta
        M = np.zeros((outputs, len(others) + slack))
        M[others, range(len(others))] = -1.0
        M[y, : len(others)] = 1.0
        quadratic.append(shares[i] * curvature * M.T @ M)
        linear.append(shares[i] * (M.T @ (scores[i] - curvature * centre[i] / shares[i]) - M[y]))
        sums.append(shares[i] * M * float(balanced))
        masses.append(np.full((1, M.shape[1]), float(slack)))
        matrices.append(shares[i] * M)
    # the last column is minus the sum of the others
    equal = np.vstack([sp.block_diag(masses).toarray(), np.hstack(sums)[:-1]])
    right = np.concatenate([np.full(len(classes), float(slack)), np.zeros(outputs - 1)])
    beta = _minimum(sp.block_diag(quadratic), np.concatenate(linear), equal, right, 0.0, 1.0)
    return np.stack([M @ part for M, part in zip(matrices, beta.reshape(len(classes), -1), strict=True)])
