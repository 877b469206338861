"""What every solver must do whatever its method: leave inputs alone, start warm, read weights and every storage."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from agreement import assert_same_optimum
from catalog import CASES, PLAIN_CASES, PLAIN_SPARSE_CASES, SOLVER_NAMES, SPARSE_CASES, Case, regularizer_of
from fenchel import Model, Problem, solve
from fenchel.risks import F1, CrammerSinger, MeanRisk, MultilabelHinge, Multinomial, OrdinalHinge, RocAUC, WestonWatkins
from fenchel.solvers import SOLVERS
from fenchel.solvers.base import Hint, Start

every_solver = pytest.mark.parametrize("solver", SOLVER_NAMES)
every_case = pytest.mark.parametrize("case", [*CASES, *SPARSE_CASES], ids=str)
plain_cases = pytest.mark.parametrize("case", [*PLAIN_CASES, *PLAIN_SPARSE_CASES], ids=str)


@pytest.mark.meetings(1)
@every_solver
@plain_cases
def test_the_same_seed_gives_the_same_bits(case, solver):
    one, other = (solve(case.problem(), solver, tol=1e-8, max_iter=3000, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.model.weights, other.model.weights)
    np.testing.assert_array_equal(one.witness.theta, other.witness.theta)
    assert one.passes == other.passes


@pytest.mark.meetings(1)
@every_solver
@every_case
def test_inputs_are_not_modified(case, solver):
    X, y, weights = case.data()
    X = sp.csr_array(X) if case.storage == "sparse" else X
    arrays = [X.data, X.indices, X.indptr] if case.storage == "sparse" else [X]
    arrays += [y] if weights is None else [y, weights]
    before = [array.tobytes() for array in arrays]
    risk = MeanRisk(case.loss, y, weights)
    problem = Problem(X, risk, case.lam, regularizer_of(case.l1_ratio), intercept=case.intercept)
    warm = solve(problem, solver, tol=1e-2)
    theta, w = warm.witness.theta.copy(), warm.model.weights.copy()
    solve(problem, solver, tol=1e-9, warm_start=warm)
    assert [array.tobytes() for array in arrays] == before
    np.testing.assert_array_equal(warm.witness.theta, theta)
    np.testing.assert_array_equal(warm.model.weights, w)


CLASSES = np.arange(9) % 3
SIGNS = np.where(np.arange(9) % 2, 1.0, -1.0)
RISKS = (
    MeanRisk("hinge", SIGNS),
    MeanRisk("logistic", SIGNS),
    MeanRisk("squared", SIGNS),
    MeanRisk("squared", SIGNS[:, None]),
    CrammerSinger(CLASSES),
    WestonWatkins(CLASSES),
    Multinomial(CLASSES),
    MultilabelHinge(CLASSES[:, None] == np.arange(3)),
    OrdinalHinge(CLASSES),
    F1(SIGNS),
    RocAUC(SIGNS),
)


@pytest.mark.parametrize("solver", SOLVERS)
def test_further_steps_leave_a_proposal_as_it_is(solver):
    """Of one feature too, whose transpose is contiguous as it is: a certificate is that of the model beside it."""
    rng, method = np.random.default_rng(3), SOLVERS[solver]()
    designs = [rng.normal(size=(9, features)) for features in (1, 2)]
    for X, risk, regularizer in itertools.product(designs, RISKS, ("l2", "l1", "entropy")):
        problem = Problem(X, risk, 0.05, regularizer)
        if method.supports(problem) is not None:
            continue
        state, earlier = method.start(problem, None), []
        for number in range(3):
            method.step(state, Hint(None, 1e-12, lambda: False, certificates=number, passes=3.0))
            model, witness = method.propose(state)
            earlier += [(array, array.copy()) for array in (model.weights, witness.theta)]
        for array, before in earlier:
            np.testing.assert_array_equal(array, before)


@pytest.mark.meetings(1)
@every_solver
@every_case
def test_warm_start_from_a_solution_stops_at_once(case, solver):
    problem = case.problem()
    solution = solve(problem, solver, tol=1e-6)
    again = solve(problem, solver, tol=1e-6, warm_start=solution)
    assert again.passes == 0
    assert again.converged
    assert again.certificate.gap <= solution.certificate.gap + solution.certificate.rounding_floor
    further = solve(problem, solver, tol=1e-9, max_iter=3000, warm_start=solution)
    assert further.converged


@pytest.mark.meetings(1)
@every_solver
@plain_cases
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_warm_start_after_lam_changed(case, factor, solver):
    old = solve(case.problem(), solver, tol=1e-8)
    changed = replace(case, lam=case.lam * factor).problem()
    warm, cold = (solve(changed, solver, tol=1e-10, warm_start=start, max_iter=5000) for start in (old, None))
    assert_same_optimum(changed, warm, cold)


@pytest.mark.meetings(1)
@every_solver
@plain_cases
def test_warm_start_after_the_regularizer_changed(case, solver):
    old = solve(replace(case, l1_ratio=0.5 - case.l1_ratio).problem(), solver, tol=1e-8)
    problem = case.problem()
    warm, cold = (solve(problem, solver, tol=1e-10, warm_start=start, max_iter=5000) for start in (old, None))
    assert warm.converged
    assert_same_optimum(problem, warm, cold)


@pytest.mark.meetings(1)
@every_solver
@plain_cases
@pytest.mark.parametrize("rows", [25, 60])
def test_warm_start_from_other_rows_or_a_foreign_model(case, rows, solver):
    problem = case.problem()
    cold = solve(problem, solver, tol=1e-10, max_iter=5000)
    warm = solve(replace(case, n=rows).problem(), solver, tol=1e-4)
    misfit = solve(replace(case, d=3).problem(), solver, tol=1e-4)
    for start in (warm, Start(Model(np.ones(6), None), warm.witness), misfit):
        found = solve(problem, solver, tol=1e-10, max_iter=5000, warm_start=start)
        assert found.converged
        assert_same_optimum(problem, found, cold)


@pytest.mark.meetings(1)
@every_solver
@plain_cases
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_zero_weight_is_a_removed_row_and_integer_weight_a_repeated_one(case, storage, solver):
    X, y, _ = case.data()
    weights = np.random.default_rng(12).integers(0, 4, len(y))
    build = sp.csr_array if storage == "sparse" else np.asarray
    rows, regularizer = np.repeat(np.arange(len(y)), weights), regularizer_of(case.l1_ratio)
    risks = ((build(X), MeanRisk(case.loss, y, weights)), (build(X[rows]), MeanRisk(case.loss, y[rows])))
    one, other = (
        solve(Problem(*risk, case.lam, regularizer, intercept=case.intercept), solver, tol=0.0, max_iter=3000)
        for risk in risks
    )
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-11)
    # a bundle method sees the objective alone, which tells weights apart to half of its digits
    apart = 3e-7 if solver == "bundle" else 1e-8
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=apart)
    assert one.model.intercept == pytest.approx(other.model.intercept, abs=apart)
    assert np.all(one.witness.theta[weights == 0] == 0)


@pytest.mark.meetings(2, only=["solver", "dtype"])
@every_solver
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5], ids=["l2", "elastic_net"])
@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csr64"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_every_storage_gives_the_answer_of_its_values_in_float64(
    loss, dtype, layout, l1_ratio, solver, own_storage, rarely_compiled
):
    case = Case(loss, intercept=True, l1_ratio=l1_ratio)
    X, y, _ = case.data()
    X = np.round(2 * X).astype(dtype)
    stored = np.array(X, order=layout) if layout in "CF" else sp.csr_array(X)
    if layout == "csr64":
        stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
    problems = [
        Problem(data, MeanRisk(loss, y), case.lam, regularizer_of(l1_ratio), intercept=True)
        for data in (stored, X.astype(np.float64))
    ]
    solutions = [solve(problem, solver, tol=1e-9, max_iter=5000) for problem in problems]
    assert all(solution.converged for solution in solutions)
    assert_same_optimum(problems[0], *solutions)
