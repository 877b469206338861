"""Small problems of labelled sequences, their matrices, and their optima by a conic solver."""

import clarabel
import numpy as np
import scipy.sparse as sp

import slow_chains as slow
from fenchel import Problem
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic

CASES = [
    # (labels, lengths, features, lam, transitions, ends, sparse)
    (2, [3, 1, 2, 4], 3, 0.3, True, True, False),
    (3, [1, 1, 1], 2, 0.1, True, True, False),
    (3, [4, 3, 2, 3], 6, 0.05, True, False, True),
    (4, [2, 3, 1, 2, 3], 8, 1.0, False, False, False),
]


def problem_of(case, kind, seed=0, weighted=False):
    count, lengths, features, lam, transitions, ends, sparse = case
    rng = np.random.default_rng(seed)
    tokens = sum(lengths)
    labels = rng.integers(0, count, size=tokens)
    X = rng.standard_normal((tokens, features)) * (rng.random((tokens, features)) < 0.7)
    weights = rng.integers(0, 3, size=len(lengths)) + np.eye(len(lengths))[0] if weighted else None
    risk = {"hinge": ChainHinge, "logistic": ChainLogistic}[kind](labels, lengths, count, weights)
    X = sp.csr_array(X) if sparse else X
    return Problem(ChainDesign(X, count, transitions=transitions, ends=ends), risk, lam)


def matrix_of(problem):
    """The design as a dense matrix, column by column of its definition s = (X W, T, a, z)."""
    design = problem.design
    X = design.tokens.scores(np.eye(design.tokens.shape[1]))
    m = design.labels
    tail = np.eye((m + 2) * m)
    keep = np.r_[[design.has_transitions] * (m * m), [design.has_ends] * (2 * m)].astype(bool)
    return np.block(
        [
            [np.kron(X, np.eye(m)), np.zeros((len(X) * m, int(keep.sum())))],
            [np.zeros((len(tail), X.shape[1] * m)), tail[:, keep]],
        ]
    )


def conic_optimum(problem):
    """The optimum by Clarabel, without features of pairs."""
    A, risk = matrix_of(problem), problem.risk
    m, n = risk.sequences.labels, risk.sequences.tokens
    found = []
    for q, (begin, own) in enumerate(slow.sequences_of(risk.labels, risk.sequences.lengths)):
        for y in slow.labellings(len(own), m):
            difference = np.zeros(A.shape[0])
            for sign, labels in ((1.0, y), (-1.0, own)):
                nodes, tail = slow.features(labels, m)
                difference[begin * m : (begin + len(own)) * m] += sign * nodes.ravel()
                difference[n * m :] += sign * tail
            found.append((q, A.T @ difference, slow.hamming(y, own)))
    return conic_optimum_of(problem, found)


def conic_optimum_of(problem, labellings):
    """Clarabel: min lam/2 |w|^2 + sum c_q xi_q, xi_q >= Hamming(y, y_q) + (phi(y) - phi(y_q)) . A w for every y.

    ``labellings`` are (q, A^T (phi(y) - phi(y_q)), Hamming(y, y_q)) of all of them.
    """
    risk = problem.risk
    d, Q = problem.design.shape[1], len(risk.sequences)
    rows = [np.concatenate([difference, -np.eye(Q)[q]]) for q, difference, _ in labellings]
    right = [-distance for _, _, distance in labellings]
    P = sp.diags_array(np.r_[np.full(d, problem.lam), np.zeros(Q)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    G = sp.csc_matrix(np.array(rows))
    cost = np.r_[np.zeros(d), risk.shares]
    found = clarabel.DefaultSolver(
        sp.csc_matrix(P), cost, G, np.array(right, dtype=float), [clarabel.NonnegativeConeT(len(rows))], settings
    ).solve()
    return found.obj_val
