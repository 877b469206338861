"""Small data for the frozen fits: one set for each kind of labels, one matrix in every storage."""

from functools import cache

import numpy as np
import scipy.sparse as sp


def dense(X):
    return np.ascontiguousarray(X)


def csr64(X):
    """CSR with 64-bit indices, which a plain conversion would not have."""
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


STORAGES = {
    "dense": dense,
    "fortran": np.asfortranarray,
    "float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "csr32": sp.csr_array,
    "csr64": csr64,
    "csr_float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csc": sp.csc_array,
}


def _matrix(rng, n, d):
    """Normal entries of which a third are zero, rounded so that float32 holds the same numbers."""
    X = np.round(rng.standard_normal((n, d)) * 64) / 64
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


@cache
def data_of(kind):
    """X, labels and weights (zeros among them) of one kind of problem; shared, so do not write to them."""
    rng = np.random.default_rng([7, sum(map(ord, kind))])
    n, d = {"two": (80, 6), "three": (75, 5), "exact": (5, 9), "apart": (40, 8)}.get(kind, (60, 6))
    X = _matrix(rng, n, d)
    signal = X @ rng.standard_normal(d) + 0.4
    noise = rng.standard_normal(n)
    if kind == "two":
        y = np.where(signal + noise > 0, 1, -1)
    elif kind == "apart":
        X = X + np.outer(np.sign(signal), rng.random(d))
        y = np.where(signal > 0, 1, -1)
    elif kind == "three":
        y = np.argmax(X @ rng.standard_normal((d, 3)) + 0.8 * rng.standard_normal((n, 3)), axis=1)
    elif kind == "bits":
        X = (rng.random((n, d)) < 0.4).astype(float)
        y = np.where(X[:, 0] + X[:, 1] > X[:, 2], 1, -1)
    elif kind == "grades":
        y = np.digitize(signal + 0.7 * noise, [-1.5, 0.0, 1.5])
    elif kind == "counts":
        y = rng.poisson(np.exp(np.clip(0.4 * signal, -2, 2))).astype(float)
    elif kind == "targets":
        y = np.stack([signal + 0.5 * noise, rng.standard_normal(n)], axis=1)
    elif kind == "topics":
        y = np.where(X @ rng.standard_normal((d, 3)) + 0.5 * rng.standard_normal((n, 3)) > 0, 1, -1)
    elif kind == "positive":
        X, y = np.abs(X) + 0.125, np.ones(n)
    else:
        y = signal + 0.5 * noise
    weights = rng.integers(0, 4, n).astype(float)
    return X, y, weights
