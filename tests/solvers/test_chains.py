"""Solvers of labelled sequences: optima against a conic solver and SciPy's L-BFGS on enumerated labellings."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import slow_chains as slow
from fenchel import FenchelError, Problem, solve
from fenchel.certificate.rounding import adjoint_spread
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic, MeanRisk
from fenchel.solvers import FrankWolfe
from fenchel.solvers.choose import choose

CASES = [
    # (labels, lengths, features, lam, transitions, ends, sparse)
    (2, [3, 1, 2, 4], 3, 0.3, True, True, False),
    (3, [1, 1, 1], 2, 0.1, True, True, False),
    (3, [4, 3, 2, 3], 6, 0.05, True, False, True),
    (4, [2, 3, 1, 2, 3], 8, 1.0, False, False, False),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


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


@every_case
def test_design_is_its_definition(case):
    problem, rng = problem_of(case, "hinge"), np.random.default_rng(1)
    A, design = matrix_of(problem), problem.design
    assert design.shape == A.shape
    w, theta = rng.standard_normal(A.shape[1]), rng.standard_normal(A.shape[0])
    np.testing.assert_allclose(design.scores(w), A @ w, atol=1e-13)
    np.testing.assert_allclose(design.adjoint(theta), A.T @ theta, atol=1e-13)
    np.testing.assert_allclose(design.joined(*design.split(w)), w, atol=0)
    norms = np.linalg.norm(A, axis=1)
    assert np.all(design.row_magnitudes >= norms * (1 - 1e-12))
    # pairs and ends without weights count nowhere
    assert not np.any(design.row_magnitudes[norms == 0.0])
    assert design.largest_row_norm >= np.max(np.linalg.norm(A, axis=1))
    assert design.largest_entry >= np.max(np.abs(A))
    np.testing.assert_allclose(design.squared_row_norms, np.sum(A**2, axis=1), atol=1e-12)


def test_rounding_bounds_do_not_count_transitions_that_do_not_exist():
    rng = np.random.default_rng(0)
    risk = ChainHinge(rng.integers(0, 3, 40), [4] * 10, 3)
    bounds = {}
    for transitions in (True, False):
        # tokens far smaller than 1, the size of a transition
        design = ChainDesign(1e-3 * rng.standard_normal((40, 5)), 3, transitions=transitions, ends=transitions)
        problem = Problem(design, risk, 1e-3)
        scores = np.zeros(problem.theta_shape)
        bounds[transitions] = adjoint_spread(problem, -risk.subgradient(scores), fine=True).norm
    assert bounds[False] <= 0.02 * bounds[True]


def conic_optimum(problem):
    """Clarabel: min lam/2 |w|^2 + sum c_q xi_q, xi_q >= Hamming(y, y_q) + (phi(y) - phi(y_q)) . A w for every y."""
    A, risk = matrix_of(problem), problem.risk
    m, n = risk.sequences.labels, risk.sequences.tokens
    d, Q = A.shape[1], len(risk.sequences)
    rows, right = [], []
    for q, (begin, own) in enumerate(slow.sequences_of(risk.labels, risk.sequences.lengths)):
        for y in slow.labellings(len(own), m):
            difference = np.zeros(A.shape[0])
            for sign, labels in ((1.0, y), (-1.0, own)):
                nodes, tail = slow.features(labels, m)
                difference[begin * m : (begin + len(own)) * m] += sign * nodes.ravel()
                difference[n * m :] += sign * tail
            rows.append(np.concatenate([A.T @ difference, -np.eye(Q)[q]]))
            right.append(-slow.hamming(y, own))
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


@every_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["frank_wolfe", "bundle", "auto"])
@pytest.mark.meetings(1)
def test_max_margin_optimum_is_that_of_a_conic_solver(case, weighted, solver):
    problem = problem_of(case, "hinge", weighted=weighted)
    solution = solve(problem, solver, tol=1e-6, max_iter=20000)
    assert solution.converged
    assert solution.certificate.recomputed
    expected = conic_optimum(problem)
    assert solution.certificate.primal == pytest.approx(expected, rel=2e-6)
    assert solution.certificate.dual <= expected * (1 + 1e-8) + solution.certificate.rounding_floor


@every_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["smoothing", "bundle", "auto"])
def test_log_loss_optimum_is_that_of_another_lbfgs(case, weighted, solver):
    problem = problem_of(case, "logistic", weighted=weighted)
    A, risk = matrix_of(problem), problem.risk
    own = (risk.labels, risk.sequences.lengths, risk.sequences.labels)
    gold = slow.mean_features(lambda q, y: risk.shares[q] * (y == _own(risk, q)), *own)

    def objective(w):
        scores, p = A @ w, None
        p = slow.gibbs(scores, *own)
        mean = slow.mean_features(lambda q, y: risk.shares[q] * p[q][y], *own)
        value = 0.5 * problem.lam * w @ w + risk.shares @ slow.losses("logistic", scores, *own)
        return value, problem.lam * w + A.T @ (mean - gold)

    found = minimize(objective, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0})
    solution = solve(problem, solver, tol=1e-7, max_iter=5000)
    assert solution.converged
    assert solution.certificate.recomputed
    assert solution.certificate.primal == pytest.approx(found.fun, rel=1e-6)
    assert solution.certificate.dual <= found.fun * (1 + 1e-9) + solution.certificate.rounding_floor


def _own(risk, q):
    begin = risk.sequences.begins[q]
    return tuple(risk.labels[begin : begin + risk.sequences.lengths[q]].tolist())


@pytest.mark.parametrize("options", [{"repeats": 1}, {"gap_sampling": False}, {"repeats": 8}], ids=str)
def test_options_of_frank_wolfe_find_the_same_optimum(options):
    problem = problem_of(CASES[0], "hinge")
    solution = solve(problem, FrankWolfe(**options), tol=1e-6, max_iter=20000)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_optimum(problem), rel=2e-6)


def test_frank_wolfe_starts_from_the_labellings_of_another_lam():
    problem = problem_of(CASES[0], "hinge")
    first = solve(problem, "frank_wolfe", tol=1e-6, max_iter=20000)
    again = solve(problem, "frank_wolfe", tol=1e-6, warm_start=first)
    assert again.passes == 0
    near = Problem(problem.design, problem.risk, 1.02 * problem.lam)
    cold, warm = (solve(near, "frank_wolfe", tol=1e-6, max_iter=20000, warm_start=start) for start in (None, first))
    assert warm.converged
    assert warm.passes < cold.passes
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-6)


def test_the_same_seed_gives_the_same_bits():
    problem = problem_of(CASES[0], "hinge")
    one, other = (solve(problem, "frank_wolfe", seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.model.weights, other.model.weights)


def test_more_labellings_than_there_is_room_for(monkeypatch):
    from fenchel.solvers.frank_wolfe import solver

    problem = problem_of((3, [5, 4], 2, 0.01, True, True, False), "hinge")
    monkeypatch.setattr(solver, "_FEW_LABELLINGS", 1)
    grown = solve(problem, "frank_wolfe", tol=1e-3, max_iter=5000)
    assert grown.converged
    monkeypatch.setattr(solver, "_MOST_LABELLINGS", 2)
    limited = solve(problem, "frank_wolfe", tol=1e-3, max_iter=200)
    # too few for this tol, but a valid bound
    assert limited.certificate.dual <= grown.certificate.primal


def test_auto_and_refusals():
    few, many = problem_of(CASES[0], "hinge"), problem_of((4, [3, 2], 100, 1.0, True, True, False), "hinge")
    assert choose(few, "auto")[0].solver.name == "bundle"
    assert choose(many, "auto")[0].solver.name == "frank_wolfe"
    assert choose(problem_of(CASES[0], "logistic"), "auto")[0].solver.name == "smoothing"
    with pytest.raises(FenchelError, match="ChainHinge"):
        solve(Problem(np.eye(2), MeanRisk("hinge", [1.0, -1.0]), 1.0), "frank_wolfe")
    with pytest.raises(FenchelError, match="ChainDesign"):
        solve(Problem(matrix_of(few), few.risk, 1.0), "frank_wolfe")
    with pytest.raises(FenchelError, match="intercept"):
        Problem(few.design, few.risk, 1.0, intercept=True)


def test_any_matrix_can_be_the_design():
    problem = problem_of(CASES[0], "hinge")
    other = solve(Problem(matrix_of(problem), problem.risk, problem.lam), "bundle", tol=1e-6)
    assert other.certificate.primal == pytest.approx(conic_optimum(problem), rel=2e-6)


def test_lasso_of_chains():
    problem = problem_of(CASES[0], "logistic")
    solution = solve(Problem(problem.design, problem.risk, 0.2, "l1"), "bundle", tol=1e-4)
    assert solution.converged
    assert solution.certificate.recomputed
