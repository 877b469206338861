"""Ridge regression by dense matrices: the optimum in closed form, the dual system and its preconditioner."""

import numpy as np


def centred(X, y, c):
    """Rows and labels less their means under the shares c."""
    return X - c @ X, y - c @ y


def optimum(X, y, c, lam, intercept):
    """(w, b) from the normal equations (lam I + X^T C X) w = X^T C y, and the objective there."""
    Z, r = centred(X, y, c) if intercept else (X, y)
    w = np.linalg.solve(lam * np.eye(X.shape[1]) + Z.T @ (c[:, None] * Z), Z.T @ (c * r))
    b = c @ (y - X @ w) if intercept else 0.0
    return w, b, 0.5 * lam * w @ w + 0.5 * c @ (X @ w + b - y) ** 2


def matrix(X, c, lam, intercept):
    """A = I + C^1/2 Z Z^T C^1/2 / lam."""
    Z = np.sqrt(c)[:, None] * (X - c @ X if intercept else X)
    return np.eye(len(c)) + Z @ Z.T / lam


def preconditioner(A):
    """M = (G + L) G^-1 (G + L^T) for A = L + G + L^T."""
    lower = np.tril(A)
    return lower @ np.diag(1.0 / np.diagonal(A)) @ lower.T


def conjugate_gradient(A, right, M, steps):
    """The iterates of preconditioned conjugate gradients as in Golub & Van Loan, with solves in place of sweeps."""
    t, r, p, old = np.zeros(len(right)), right, np.zeros(len(right)), np.inf
    found = []
    for _ in range(steps):
        z = np.linalg.solve(M, r)
        p = z + (r @ z) / old * p
        old = r @ z
        length = old / (p @ A @ p)
        t, r = t + length * p, r - length * A @ p
        found.append(t)
    return found
