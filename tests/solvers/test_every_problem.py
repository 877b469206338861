"""Every loss x regularizer x intercept x storage x weights x outputs by every solver: solved, proved, and sound.

A solver that is named here must take all of these problems; a reason why not is a failure.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import slow_reference as slow
from agreement import assert_same_optimum, assert_sound, conic_answer, distance_bound
from catalog import CASES, PLAIN_CASES, PLAIN_SPARSE_CASES, SPARSE_CASES, Case, labels_from, regularizer_of
from fenchel import Problem, Status, solve
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk
from fenchel.solvers import SOLVERS
from slow_conic import conic_optimum
from strategies import problem_data

#: the solvers that take everything
EVERY = [name for name in ("dual_coordinate", "newton", "bundle") if name in SOLVERS]
OTHER_RATIOS = [replace(case, l1_ratio=ratio) for case in PLAIN_CASES for ratio in (0.1, 0.9)]
every_solver = pytest.mark.parametrize("solver", EVERY)
every_pair = pytest.mark.parametrize(("solver", "other"), list(itertools.combinations(EVERY, 2)))
every_case = pytest.mark.parametrize("case", [*CASES, *SPARSE_CASES, *OTHER_RATIOS], ids=str)
plain_cases = pytest.mark.parametrize("case", [*PLAIN_CASES, *PLAIN_SPARSE_CASES], ids=str)
every_ratio = pytest.mark.parametrize("l1_ratio", [0.0, 0.5], ids=["l2", "elastic_net"])


@pytest.mark.meetings(1)
@every_solver
@every_case
def test_every_problem_is_solved_to_the_conic_optimum(case, solver):
    problem = case.problem()
    assert SOLVERS[solver]().supports(problem) is None
    solution = solve(problem, solver, tol=1e-9, max_iter=3000)
    certificate = solution.certificate
    assert solution.solver == solver
    assert solution.status in (Status.CONVERGED, Status.FLOOR)
    assert certificate.relative_gap <= 1e-8
    assert certificate.gap >= -certificate.rounding_floor
    w, _, optimum = conic_answer(case)
    assert certificate.primal == pytest.approx(optimum, rel=1e-8)
    assert_sound(solution, case.data(), case.loss, case.lam, case.l1_ratio, optimum)
    apart = distance_bound(problem, certificate.gap + certificate.rounding_floor)
    apart += distance_bound(problem, optimum - certificate.dual + certificate.rounding_floor)
    assert np.linalg.norm(solution.model.weights - w) <= apart


@pytest.mark.meetings(1)
@every_pair
@every_case
def test_solvers_agree_with_each_other(case, solver, other):
    problem = case.problem()
    assert_same_optimum(problem, *(solve(problem, name, tol=1e-9, max_iter=3000) for name in (solver, other)))


@pytest.mark.meetings(1)
@every_solver
@plain_cases
def test_well_conditioned_problems_reach_ten_digits(case, solver):
    solution = solve(case.problem(), solver, tol=1e-10, max_iter=3000)
    assert solution.converged
    assert solution.certificate.relative_gap <= 1e-10


@pytest.mark.meetings(1)
@every_solver
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_zeros_of_the_elastic_net_are_exact_and_where_they_belong(loss, intercept, storage, solver):
    case = Case(loss, storage, intercept, lam=0.2, d=12, l1_ratio=0.5)
    w = np.abs(conic_answer(case)[0])
    # the conic solver leaves no doubt here, and there is something to tell apart
    assert np.all((w < 1e-6) | (w > 2e-3))
    assert 0 < np.count_nonzero(w > 2e-3) < case.d
    solution = solve(case.problem(), solver, tol=1e-10, max_iter=3000)
    np.testing.assert_array_equal(solution.model.weights != 0.0, w > 2e-3)


@pytest.mark.meetings(1)
@every_solver
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_strong_elastic_net_leaves_no_weight_at_all(loss, intercept, solver):
    """|X^T theta| <= lam rho at the optimal theta of no weights: it is optimal, exactly."""
    case = Case(loss, intercept=intercept, lam=100.0, l1_ratio=0.5)
    problem = case.problem()
    solution = solve(problem, solver, tol=1e-9)
    assert solution.converged
    assert np.all(solution.model.weights == 0.0)
    best = problem.risk.best_intercept(np.zeros(case.n)) if intercept else 0.0
    optimum = problem.risk.value(np.full(case.n, best))
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-14)


def some(rng, rows, columns):
    return rng.normal(size=(rows, columns))


def with_constants(rng):
    return np.column_stack([some(rng, 20, 2), np.ones(20), np.full(20, -2.0)])


def with_zero_rows(rng):
    return some(rng, 20, 3) * (np.arange(20) % 2)[:, None]


#: X, lam, and how many of the weights are zero (None: no weights)
DEGENERATE = {
    "constant_features": (with_constants, 0.1, None),
    "only_constants": (lambda rng: np.ones((12, 2)), 0.1, None),
    "duplicate_rows": (lambda rng: some(rng, 5, 3)[rng.integers(0, 5, 25)], 0.1, None),
    "zero_rows": (with_zero_rows, 0.1, None),
    "zero_column": (lambda rng: some(rng, 20, 3) * [1.0, 0.0, 1.0], 0.1, None),
    "all_zero": (lambda rng: np.zeros((6, 2)), 0.1, None),
    "one_example_per_class": (lambda rng: some(rng, 2, 3), 0.1, None),
    "one_feature": (lambda rng: some(rng, 30, 1), 0.1, None),
    "one_example": (lambda rng: some(rng, 1, 2), 0.1, None),
    "wide": (lambda rng: some(rng, 8, 30), 0.1, None),
    "huge_lam": (lambda rng: some(rng, 20, 4), 1e6, None),
    "zero_weights": (lambda rng: some(rng, 20, 4), 0.1, 14),
    "one_weight": (lambda rng: some(rng, 20, 4), 0.1, 19),
}
#: where a certificate must be sound though it may not be good
HARD = {
    "tiny_lam": (lambda rng: some(rng, 20, 4), 1e-6, None),
    "mixed_scales": (lambda rng: some(rng, 20, 4) * [1e4, 1e-4, 1.0, 1.0], 0.1, None),
    "far_from_zero": (lambda rng: some(rng, 20, 3) + 1e6, 0.1, None),
}


@pytest.mark.meetings(2, only=["kind", "solver"])
@every_solver
@every_ratio
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("kind", [*DEGENERATE, *HARD])
def test_degenerate_inputs_have_sound_certificates(kind, loss, intercept, l1_ratio, solver, portion):
    rng = np.random.default_rng([17, len(kind)])
    build, lam, zeros = (DEGENERATE | HARD)[kind]
    X = build(rng)
    y = labels_from(LOSSES[loss].task, X @ rng.normal(size=X.shape[1]), rng)
    weights = None if zeros is None else np.where(np.arange(len(y)) < zeros, 0.0, 1.0)
    c = slow.shares(len(y), weights)
    # some model of the conic solver's, even where it had to give up, is above the optimum
    optimum = conic_optimum(loss, X, y, c, lam, intercept, l1_ratio)[2]
    for design in (X, sp.csr_array(X)):
        problem = Problem(design, MeanRisk(loss, y, weights), lam, regularizer_of(l1_ratio), intercept=intercept)
        # no convergence is required here, and a thousand planes would only make the inner problem large
        most = 1000 if kind in DEGENERATE else 50 if solver == "bundle" else portion(1000)
        solution = solve(problem, solver, tol=1e-7, max_iter=most)
        assert_sound(solution, (X, y, weights), loss, lam, l1_ratio, optimum if np.isfinite(optimum) else np.inf)
        assert np.all(np.isfinite(solution.model.weights))
        assert np.all(solution.model.weights[~X.any(axis=0)] == 0.0)
        if kind in DEGENERATE:
            assert solution.converged, str(solution)
            # 1e-9 is what the interior-point method leaves where the optimum is zero
            assert solution.certificate.primal == pytest.approx(optimum, rel=1e-6, abs=1e-9)


@every_solver
@given(data=problem_data(), sparse=st.booleans())
def test_odd_little_problems_are_solved(solver, data, sparse):
    """Empty rows and columns, constants, duplicates, n = 1, one class, zero weights."""
    X, y, weights, loss, lam, intercept, l1_ratio = data
    design = sp.csr_array(X) if sparse else X
    problem = Problem(design, MeanRisk(loss, y, weights), lam, regularizer_of(l1_ratio), intercept=intercept)
    solution = solve(problem, solver, tol=1e-6, max_iter=100_000)
    # between equal rows with different labels a dual variable moves by their difference over the curvature in a pass
    slow_pair = solver == "dual_coordinate" and len(np.unique(X, axis=0)) < len(X)
    assert solution.converged or slow_pair, str(solution)
    if not solution.converged:
        return
    conic = conic_optimum(loss.name, X, y, slow.shares(len(y), weights), lam, intercept, l1_ratio)[2]
    certificate = solution.certificate
    assert certificate.dual <= conic + certificate.rounding_floor + 1e-15 * abs(conic)
    # 1e-9 is what the interior-point method leaves where the optimum is zero
    assert certificate.primal <= conic + 2e-6 * max(abs(conic), certificate.primal) + certificate.rounding_floor + 1e-9
