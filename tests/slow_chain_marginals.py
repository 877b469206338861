"""Projections onto the edge marginals of a chain by other methods: a conic solver, and the paper's printed scheme."""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp


def equalities(edges, m):
    """The matrix and the right-hand side of: each edge has the sum 1, and neighbours agree on their node."""
    rows, right = [], []
    for t in range(edges):
        row = np.zeros((edges, m, m))
        row[t] = 1.0
        rows.append(row.ravel())
        right.append(1.0)
    for t, j in itertools.product(range(edges - 1), range(m)):
        row = np.zeros((edges, m, m))
        row[t, :, j], row[t + 1, j, :] = 1.0, -1.0
        rows.append(row.ravel())
        right.append(0.0)
    return np.array(rows), np.array(right)


def by_conic_solver(target, scales):
    """Clarabel on the problem of App. E.3.1 as it is written."""
    edges, m, _ = target.shape
    E, right = equalities(edges, m)
    squares = np.repeat(scales**2, m * m)
    A = sp.vstack([sp.csr_matrix(E), -sp.identity(len(squares), format="csr")]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    cones = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(len(squares))]
    b = np.concatenate([right, np.zeros(len(squares))])
    answer = clarabel.DefaultSolver(sp.diags(squares).tocsc(), -squares * target.ravel(), A, b, cones, settings).solve()
    return np.array(answer.x).reshape(target.shape)


def by_alternation(target, scales, rounds, tolerance=1e-12):
    """Alg. 3 for a chain: conjugate gradients in (lambda, mu) for fixed xi, then (36), in turn.

    The corrections: (37) with d^-2 throughout, and in the derivative in mu_t a minus before the sum of edge t + 1.
    """
    edges, m, _ = target.shape
    squares = (scales**2)[:, None, None]
    xi = np.zeros_like(target)
    x = np.zeros(edges + (edges - 1) * m)

    def potentials(x):
        """lambda_t + mu_t(j) - mu_{t-1}(i)."""
        mu = np.vstack([np.zeros(m), x[edges:].reshape(-1, m), np.zeros(m)])
        return x[:edges, None, None] + mu[1:, None, :] - mu[:-1, :, None]

    def transposed(alpha):
        """The sums of which the derivatives in lambda and mu consist."""
        return np.concatenate([alpha.sum(axis=(1, 2)), (alpha[:-1].sum(axis=1) - alpha[1:].sum(axis=2)).ravel()])

    ones = np.concatenate([np.ones(edges), np.zeros((edges - 1) * m)])
    used = 0
    while used < rounds:
        used += 1
        # 3. the quadratic form of (34) in lambda and mu
        residual = ones - transposed(target + (xi + potentials(x)) / squares)
        direction = residual.copy()
        for _ in range(4 * len(x)):
            size = residual @ residual
            if size <= 1e-28:
                break
            image = transposed(potentials(direction) / squares)
            length = size / (direction @ image)
            x, residual = x + length * direction, residual - length * image
            direction = residual + (residual @ residual) / size * direction
        # 4.
        moved = np.maximum(-squares * target - potentials(x), 0.0)
        change = np.max(np.abs(moved - xi))
        xi = moved
        if change <= tolerance:
            break
    # 6. (33)
    return target + (potentials(x) + xi) / squares, used
