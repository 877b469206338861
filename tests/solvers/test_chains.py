"""Solvers of labelled sequences: optima against a conic solver and SciPy's L-BFGS on enumerated labellings."""

import numpy as np
import pytest
from scipy.optimize import minimize

import slow_chains as slow
from chain_cases import CASES, conic_optimum, matrix_of, problem_of
from fenchel import FenchelError, Problem, solve
from fenchel.certificate.rounding import adjoint_spread
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, MeanRisk
from fenchel.solvers import FrankWolfe
from fenchel.solvers.choose import choose

every_case = pytest.mark.parametrize("case", CASES, ids=str)


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


@pytest.mark.meetings(1)
@every_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["exponentiated_gradient", "smoothing", "bundle", "auto"])
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
    few, many = problem_of(CASES[0], "hinge"), problem_of((4, [3, 2], 300, 1.0, True, True, False), "hinge")
    assert choose(few, "auto", tol=1e-6)[0].solver.name == "bundle"
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
