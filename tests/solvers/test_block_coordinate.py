"""Block coordinate descent: right answers for every kind of problem, descent in every pass, and bounded steps."""

import functools
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import slow_multiclass as slow
from agreement import assert_same_optimum, distance_bound
from catalog import JOINT_CASES, JOINT_RISKS, PLAIN_JOINT_CASES, JointCase, joint_risk
from fenchel import FenchelError, Model, Problem, Status, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.compile.lanes import CACHE_LINE
from fenchel.regularizers import ElasticNet
from fenchel.risks import CrammerSinger, MeanRisk, WestonWatkins
from fenchel.solvers import STALLED, BlockCoordinate, Hint
from fenchel.solvers.base import Start
from fenchel.solvers.block_coordinate import solver as module
from fenchel.solvers.block_coordinate.loop import workspace

every_case = pytest.mark.parametrize("case", JOINT_CASES, ids=str)
plain_cases = pytest.mark.parametrize("case", PLAIN_JOINT_CASES, ids=str)
every_risk = pytest.mark.parametrize("risk", JOINT_RISKS)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
LONG = {"max_iter": 20_000}


@functools.cache
def conic_answer(case):
    X, y, _, costs = case.data()
    return slow.optimum(case.risk, X, y, case.k, case.problem().risk.shares, case.lam, case.intercept, costs)


def hint():
    return Hint(None, 0.0, lambda: False)


@pytest.mark.meetings(1)
@every_case
def test_the_conic_solvers_optimum(case, request):
    # the loops of every inner solver are compiled in every run for one storage, those of one for both
    if case.inner != "root" and case.storage == "sparse":
        request.getfixturevalue("rarely_compiled")
    problem = case.problem()
    W, _, best = conic_answer(replace(case, inner="root"))
    solution = solve(problem, case.solver(), tol=1e-9, **LONG)
    certificate = solution.certificate
    assert solution.status is Status.CONVERGED
    assert solution.solver == "block_coordinate"
    assert certificate.primal == pytest.approx(best, rel=1e-8)
    assert certificate.dual <= best * (1 + 1e-9)
    apart = distance_bound(problem, certificate.gap + 1e-8 * best)
    assert np.linalg.norm(solution.model.weights - W) <= 2 * apart
    assert np.sum(solution.model.intercept) == pytest.approx(0.0, abs=1e-12)
    X, y, _, costs = case.data()
    primal = slow.primal(
        case.risk, X, y, problem.risk.shares, case.lam, solution.model.weights, solution.model.intercept, costs
    )
    assert abs(certificate.primal - float(primal)) <= certificate.rounding_floor


@pytest.mark.meetings(1)
@pytest.mark.parametrize("k", [2, 3, 30])
@every_risk
@with_and_without
def test_few_and_many_classes(k, risk, intercept):
    case = JointCase(risk, intercept=intercept, k=k, n=60, d=8, lam=0.02)
    X, y, _, costs = case.data()
    *_, best = slow.optimum(risk, X, y, k, np.full(60, 1 / 60), case.lam, intercept, costs)
    solution = solve(case.problem(), tol=1e-8, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=1e-7)
    assert solution.certificate.dual <= best * (1 + 1e-8)


@pytest.mark.meetings(1)
@plain_cases
@pytest.mark.parametrize("lam", [1e-3, 10.0, 1e4])
def test_weak_and_strong_regularization(case, lam):
    X, y, _, costs = case.data()
    *_, best = slow.optimum(case.risk, X, y, case.k, np.full(case.n, 1 / case.n), lam, case.intercept, costs)
    solution = solve(case.problem(lam=lam), tol=1e-4, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=2e-4)


@pytest.mark.meetings(1)
@plain_cases
def test_tol_zero_ends_at_the_floor(case):
    solution = solve(case.problem(), tol=0.0, max_iter=100_000)
    assert solution.status in (Status.FLOOR, Status.STALLED, Status.CONVERGED)
    assert solution.certificate.at_floor or solution.certificate.relative_gap <= 1e-12
    assert solution.certificate.rounding_floor <= 1e-10 * solution.certificate.primal


@pytest.mark.meetings(1)
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("shrinking", [False, True], ids=["all", "shrinking"])
@pytest.mark.parametrize("inner", ["root", "walrus", "greedy"])
def test_no_pass_makes_the_dual_smaller(inner, shrinking, single, rarely_compiled):
    case = JointCase("weston_watkins", inner, lam=0.005)
    assert_every_pass_ascends(case, BlockCoordinate(inner=inner, shrinking=shrinking, single=single))


@pytest.mark.parametrize("risk", ["crammer_singer", "costs"])
@pytest.mark.parametrize("shrinking", [False, True], ids=["all", "shrinking"])
def test_no_pass_makes_the_dual_smaller_for_other_risks(risk, shrinking):
    assert_every_pass_ascends(JointCase(risk, lam=0.005), BlockCoordinate(shrinking=shrinking))


def assert_every_pass_ascends(case, solver):
    X, y, _, _ = case.data()
    state, duals = solver.start(case.problem(), None), [0.0]
    for _ in range(60):
        if solver.step(state, hint()) is STALLED:
            break
        duals.append(float(slow.dual(X, y, case.lam, solver.propose(state)[1].theta)))
    rounding = 1e-7 if solver.single else 1e-14
    assert all(after >= before - rounding * duals[-1] for before, after in itertools.pairwise(duals))
    assert duals[-1] == pytest.approx(conic_answer(replace(case, inner="root"))[2], rel=5e-2)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("d", [1, 5])
@plain_cases
def test_the_state_is_valid_after_any_step_and_proposals_are_copies(case, d, monkeypatch):
    """With one feature too: the transpose of a column is contiguous already."""
    monkeypatch.setattr(module, "_STEP_ENTRIES", 100)
    case = replace(case, d=d)
    problem, solver = case.problem(), case.solver()
    state = solver.start(problem, None)
    # the present weights are those of theta, averages of them are not
    state.average = None
    for _ in range(40):
        used = solver.step(state, hint())
        assert 0 < used * case.n <= 100 // (case.d * case.k)
        assert sorted(state.active_set.order) == list(range(case.n))
        model, witness = solver.propose(state)
        kept = model.weights.copy(), witness.theta.copy()
        # of centred rows, if intercepts are free
        X = case.data()[0]
        X = X - X.mean(axis=0) if case.intercept else X
        np.testing.assert_allclose(model.weights, witness.theta.T @ X / case.lam, atol=1e-12)
        np.testing.assert_allclose(problem.risk.project(witness.theta), witness.theta, rtol=1e-14, atol=1e-17)
        solver.step(state, hint())
        np.testing.assert_array_equal(model.weights, kept[0])
        np.testing.assert_array_equal(witness.theta, kept[1])


def test_a_step_is_bounded_with_rows_that_are_nearly_empty(monkeypatch, rarely_compiled):
    """The work of a visit is k times the entries of a row, and k where it has none."""
    monkeypatch.setattr(module, "_STEP_ENTRIES", 1000)
    X = sp.csr_array(([1.0], ([0], [0])), shape=(500, 3))
    solver = BlockCoordinate()
    state = solver.start(Problem(X, WestonWatkins(np.arange(500) % 100), 0.1), None)
    assert solver.step(state, hint()) * 500 <= 10


@pytest.mark.meetings(1)
@plain_cases
@pytest.mark.parametrize("inner", ["root", "walrus", "greedy"])
def test_shrinking_does_not_change_the_optimum(case, inner):
    if inner != "root" and case.risk != "weston_watkins":
        pytest.skip("one bound for all classes only")
    problem = case.problem()
    one, other = (
        solve(problem, BlockCoordinate(inner=inner, shrinking=shrinking), tol=1e-10, **LONG)
        for shrinking in (False, True)
    )
    assert one.converged
    assert other.converged
    assert_same_optimum(problem, one, other)


@plain_cases
@pytest.mark.thorough
def test_single_precision_of_the_dual_variables(case, portion):
    problem, solver = case.problem(), BlockCoordinate(single=True)
    assert solver.start(problem, None).blocks.alpha.dtype == np.float32
    solution = solve(problem, solver, tol=1e-5, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=1e-4)
    # floats between two single ones stay out of reach: the solver ends all the same
    end = solve(problem, solver, tol=0.0, max_iter=portion(3000))
    assert end.certificate.relative_gap <= 1e-5
    assert end.certificate.dual <= conic_answer(case)[2] * (1 + 1e-9)


def test_weights_in_single_precision_until_that_is_not_enough(monkeypatch):
    problem = JointCase("weston_watkins").problem()
    plain = solve(problem, "block_coordinate", tol=1e-9, **LONG)
    assert BlockCoordinate().start(problem, None).blocks.v.dtype == np.float64
    monkeypatch.setattr(module, "_FEW_ENTRIES", 0)
    # so few weights fit the nearest cache
    assert BlockCoordinate().start(problem, None).blocks.v.dtype == np.float64
    monkeypatch.setattr(module, "_FEW_WEIGHTS", 0)
    assert BlockCoordinate().start(problem, None).blocks.v.dtype == np.float32
    solution = solve(problem, "block_coordinate", tol=1e-9, **LONG)
    assert solution.converged
    assert_same_optimum(problem, plain, solution)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_lanes_of_blocks_and_weights_lie_within_cache_lines(single):
    state = BlockCoordinate(single=single).start(JointCase("weston_watkins").problem(), None)
    state.in_double_precision(alpha=True)
    arrays = [state.blocks.alpha, state.blocks.v, state.blocks.bounds, state.intercepts.state]
    arrays += [array for array in workspace(state.blocks, state.lists) if array.size]
    assert all(array.ctypes.data % CACHE_LINE == 0 for array in arrays)
    assert all(array.dtype == np.float64 and array.strides[0] % CACHE_LINE == 0 for array in arrays[:4])


@pytest.mark.meetings(1)
@plain_cases
def test_the_same_seed_gives_the_same_bits(case):
    one, same, other = (solve(case.problem(), tol=1e-6, seed=seed, **LONG) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.model.weights, same.model.weights)
    np.testing.assert_array_equal(one.witness.theta, same.witness.theta)
    assert one.passes == same.passes
    assert not np.array_equal(one.witness.theta, other.witness.theta)
    own = solve(case.problem(), BlockCoordinate(seed=3), tol=1e-6, seed=4, **LONG)
    np.testing.assert_array_equal(own.witness.theta, one.witness.theta)


@pytest.mark.meetings(1)
@every_case
def test_inputs_are_not_modified(case, request):
    if case.inner != "root" and case.storage == "sparse":
        request.getfixturevalue("rarely_compiled")
    X, y, weights, costs = case.data()
    X = sp.csr_array(X) if case.storage == "sparse" else X
    arrays = [X.data, X.indices, X.indptr] if case.storage == "sparse" else [X]
    arrays += [array for array in (y, weights, costs) if array is not None]
    before = [array.tobytes() for array in arrays]
    problem = Problem(X, joint_risk(case.risk, y, case.k, weights, costs), case.lam, intercept=case.intercept)
    warm = solve(problem, case.solver(), tol=1e-2)
    theta, w = warm.witness.theta.copy(), warm.model.weights.copy()
    solve(problem, case.solver(), tol=1e-6, warm_start=warm)
    assert [array.tobytes() for array in arrays] == before
    np.testing.assert_array_equal(warm.witness.theta, theta)
    np.testing.assert_array_equal(warm.model.weights, w)


@pytest.mark.meetings(1)
@plain_cases
def test_a_warm_start_from_a_solution_stops_at_once(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-6, **LONG)
    again = solve(problem, tol=1e-6, warm_start=solution)
    assert again.passes == 0
    assert again.converged
    assert solve(problem, tol=1e-9, warm_start=solution, **LONG).converged


@pytest.mark.meetings(1)
@plain_cases
def test_a_warm_start_after_a_change(case):
    problem = case.problem()
    cold = solve(problem, tol=1e-10, **LONG)
    starts = [solve(case.problem(lam=case.lam * factor), tol=1e-6, **LONG) for factor in (0.2, 5.0)]
    starts += [solve(replace(case, n=rows).problem(), tol=1e-3) for rows in (25, 60)]
    starts += [solve(replace(case, d=3).problem(), tol=1e-3), solve(replace(case, k=3).problem(), tol=1e-3)]
    starts += [solve(replace(case, intercept=not case.intercept).problem(), tol=1e-6, **LONG)]
    starts += [Start(Model(np.ones((case.k, case.d)), None), Witness(np.full((case.n, case.k), 1e3)))]
    starts += [Start(cold.model, Witness(np.full((case.n, case.k), np.nan)))]
    for start in starts:
        warm = solve(problem, tol=1e-10, warm_start=start, **LONG)
        assert warm.converged
        assert_same_optimum(problem, warm, cold)


@pytest.mark.meetings(1)
@plain_cases
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_zero_weight_is_a_removed_row_and_integer_weight_a_repeated_one(case, storage):
    X, y, _, costs = case.data()
    weights = np.random.default_rng(12).integers(0, 4, case.n)
    build, rows = (sp.csr_array if storage == "sparse" else np.asarray), np.repeat(np.arange(case.n), weights)
    one, other = (
        solve(Problem(*parts, case.lam, intercept=case.intercept), tol=1e-11, max_iter=100_000)
        for parts in (
            (build(X), joint_risk(case.risk, y, case.k, weights, costs)),
            (build(X[rows]), joint_risk(case.risk, y[rows], case.k, None, costs)),
        )
    )
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-10)
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=1e-4)
    assert np.all(one.witness.theta[weights == 0] == 0)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csr64"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_every_storage_gives_the_answer_of_its_values_in_float64(
    risk, dtype, layout, own_storage, rarely_compiled, full_products
):
    tol = 1e-9 if full_products else 1e-5
    case = JointCase(risk, intercept=True, n=20 if full_products else 12)
    X, y, _, _ = case.data()
    X = np.round(2 * X).astype(dtype)
    stored = np.array(X, order=layout) if layout in "CF" else sp.csr_array(X)
    if layout == "csr64":
        stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
    problems = [
        Problem(data, joint_risk(risk, y, case.k), case.lam, intercept=True) for data in (stored, X.astype(np.float64))
    ]
    solutions = [solve(problem, tol=tol, **LONG) for problem in problems]
    assert all(solution.converged for solution in solutions)
    assert_same_optimum(problems[0], *solutions, tol=10 * tol)


@pytest.mark.meetings(1)
@every_risk
@with_and_without
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_rows_without_features(risk, intercept, storage):
    """Without intercepts their scores are zero, whatever the weights: beta = C for all; they may outnumber the rest."""
    case = JointCase(risk, storage=storage, intercept=intercept)
    X, y, _, costs = case.data()
    X[::2] = 0.0
    c = np.full(case.n, 1 / case.n)
    *_, best = slow.optimum(risk, X, y, case.k, c, case.lam, intercept, costs)
    problem = Problem(
        sp.csr_array(X) if storage == "sparse" else X,
        joint_risk(risk, y, case.k, None, costs),
        case.lam,
        intercept=intercept,
    )
    solution = solve(problem, tol=1e-9, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=1e-8)
    if not intercept:
        empty = solution.witness.theta[::2]
        full = case.k - 1 if costs is None else costs[y[::2]].sum(axis=1) - np.diag(costs)[y[::2]]
        full = 1.0 if risk == "crammer_singer" else full
        np.testing.assert_allclose(empty[np.arange(len(empty)), y[::2]], full / case.n, rtol=1e-9)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
@with_and_without
def test_no_features_at_all(risk, intercept):
    y = np.arange(12) % 3
    solution = solve(Problem(np.zeros((12, 2)), joint_risk(risk, y, 3), 0.1, intercept=intercept), tol=1e-9)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(2.0 if risk == "weston_watkins" else 1.0)


@pytest.mark.meetings(1)
@every_risk
@with_and_without
@pytest.mark.parametrize("how", ["absent", "weightless"])
def test_a_class_without_weight(risk, intercept, how):
    """It costs the others, whose examples must not be taken for it, and its own intercept is free to fall."""
    case = JointCase(risk, intercept=intercept)
    X, y, _, costs = case.data()
    keep = y != 2
    if how == "absent":
        X, y, weights = X[keep], y[keep], None
    else:
        weights = keep.astype(float)
    problem = Problem(X, joint_risk(risk, y, case.k, weights, costs), case.lam, intercept=intercept)
    solution = solve(problem, tol=1e-7, **LONG)
    assert solution.converged
    *_, best = slow.optimum(risk, X, y, case.k, problem.risk.shares, case.lam, intercept, costs)
    assert solution.certificate.primal == pytest.approx(best, rel=1e-6)


@with_and_without
def test_pairs_that_cost_nothing(intercept):
    case = JointCase("costs", intercept=intercept)
    X, y, _, costs = case.data()
    costs[0, 2] = costs[3, 1] = 0.0
    problem = Problem(X, WestonWatkins(y, costs=costs), case.lam, intercept=intercept)
    *_, best = slow.optimum("costs", X, y, case.k, problem.risk.shares, case.lam, intercept, costs)
    solution = solve(problem, tol=1e-8, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=1e-7)


@with_and_without
def test_no_costs_at_all(intercept):
    case = JointCase("costs", intercept=intercept)
    X, y, _, _ = case.data()
    solution = solve(Problem(X, WestonWatkins(y, costs=np.zeros((4, 4))), case.lam, intercept=intercept))
    assert solution.converged
    assert solution.certificate.primal == 0.0


def test_equal_costs_are_the_risk_without_costs():
    case = JointCase("weston_watkins", intercept=True)
    X, y, _, _ = case.data()
    plain = solve(case.problem(), tol=1e-10, **LONG)
    same = solve(Problem(X, WestonWatkins(y, costs=np.ones((4, 4))), case.lam, intercept=True), tol=1e-10, **LONG)
    assert_same_optimum(case.problem(), plain, same)
    # three times the costs are a third of lam
    triple = solve(
        Problem(X, WestonWatkins(y, costs=np.full((4, 4), 3.0)), 3 * case.lam, intercept=True), tol=1e-10, **LONG
    )
    assert triple.certificate.primal == pytest.approx(3 * plain.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("shift", [3.0, 30.0, 1000.0])
@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_with_free_intercepts_it_does_not_matter_where_the_data_lie(risk, shift):
    case = JointCase(risk, intercept=True)
    X, y, _, _ = case.data()
    problem = Problem(X + shift, joint_risk(risk, y, case.k), case.lam, intercept=True)
    solution = solve(problem, tol=1e-4, max_iter=1000)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=2e-4)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_intercepts_where_distant_classes_never_meet(risk):
    """Classes along an arc: each meets its neighbours only."""
    rng = np.random.default_rng(0)
    position = rng.uniform(0, 6, 300)
    angle, y = position / 6 * np.pi, position.astype(int)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((300, 2))
    solution = solve(Problem(X, joint_risk(risk, y, 6), 1e-2, intercept=True), tol=1e-3, max_iter=1000)
    assert solution.converged


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-20, 1e-9, 1e-5])
def test_features_that_are_hardly_there(risk, scale):
    case = JointCase(risk)
    X, y, _, _ = case.data()
    solution = solve(Problem(X * scale, joint_risk(risk, y, case.k), case.lam), tol=1e-9)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(3.0 if risk == "weston_watkins" else 1.0, rel=1e-3)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e4])
def test_the_size_of_features_and_lam_belong_together(risk, scale):
    case = JointCase(risk)
    X, y, _, _ = case.data()
    solution = solve(Problem(X * scale, joint_risk(risk, y, case.k), case.lam * scale**2), tol=1e-8, **LONG)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=1e-7)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_strong_regularization_leaves_nothing_but_the_loss_at_zero(risk):
    case = JointCase(risk, k=10)
    solution = solve(case.problem(lam=1e12), tol=1e-12)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(9.0 if risk == "weston_watkins" else 1.0)


# certificates in exact arithmetic


@pytest.mark.meetings(1)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@every_risk
@with_and_without
def test_certificates_are_not_below_the_exact_gap(risk, intercept, offset):
    for seed in range(6):
        rng = np.random.default_rng([8, seed])
        n, d, k = int(rng.integers(3, 15)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
        X, y = rng.standard_normal((n, d)) + offset, rng.integers(0, k, n)
        costs = rng.uniform(0.2, 2.0, (k, k)) if risk == "costs" else None
        problem = Problem(X, joint_risk(risk, y, k, None, costs), 10.0 ** rng.uniform(-3, 1), intercept=intercept)
        solution = solve(problem, tol=[1e-13, 1e-3][seed % 2], max_iter=300)
        again = judge(problem, solution.model, solution.witness)
        for found in (solution, again):
            assert_not_below_the_exact_gap(risk, problem, X, y, costs, found)


@every_risk
def test_a_margin_that_rounds_to_a_kink_is_not_taken_to_be_on_it(risk, portion):
    for seed in range(portion(300)):
        rng = np.random.default_rng([9, seed])
        n, k = int(rng.integers(1, 4)), 3
        X, y = rng.normal(size=(n, 4)), rng.integers(0, k, n)
        costs = rng.uniform(0.2, 2.0, (k, k)) if risk == "costs" else None
        problem = Problem(X, joint_risk(risk, y, k, None, costs), 0.1)
        solution = solve(problem, tol=1e-12)
        found = judge(problem, solution.model, solution.witness)
        assert_not_below_the_exact_gap(risk, problem, X, y, costs, found)


def assert_not_below_the_exact_gap(risk, problem, X, y, costs, found):
    model, theta, c = found.model, found.witness.theta, problem.risk.shares
    gap = slow.exact_gap(risk, X, y, c, problem.lam, model.weights, model.intercept, theta, costs)
    assert Fraction(found.certificate.gap) + Fraction(found.certificate.rounding_floor) >= gap


# what else speaks of a problem


@pytest.mark.meetings(1)
@plain_cases
def test_anybodys_weights_can_be_certified(case):
    problem = case.problem()
    W, _, best = conic_answer(case)
    found = certify(problem, W)
    assert found.dual <= best * (1 + 1e-9)
    # the best intercepts of given weights are found class by class, which is not always the best of all
    assert found.relative_gap <= (0.2 if case.intercept else 1e-6)
    bad = certify(problem, W + 0.3)
    assert bad.gap >= bad.primal - best - 1e-9


# errors


def test_inner_solvers_have_names():
    with pytest.raises(FenchelError, match="inner='shark' is unknown; choose one of"):
        BlockCoordinate(inner="shark")


@pytest.mark.parametrize("stretch", [0.0, 2.0, np.nan])
def test_over_relaxation_is_below_two(stretch):
    with pytest.raises(FenchelError, match="stretch must be"):
        BlockCoordinate(stretch=stretch)


@pytest.mark.parametrize("inner", ["walrus", "greedy"])
def test_inner_solvers_say_what_they_take(inner):
    for risk in ("crammer_singer", "costs"):
        with pytest.raises(FenchelError, match="use inner='root'"):
            solve(JointCase(risk).problem(), BlockCoordinate(inner=inner))


@pytest.mark.parametrize("solver", ["block_coordinate", "dual_coordinate", "newton"])
def test_descent_takes_no_joint_risk_with_absolute_values(solver):
    with pytest.raises(FenchelError, match="does not support this problem"):
        solve(JointCase("weston_watkins").problem(regularizer=ElasticNet(0.5)), solver)


def test_absolute_values_are_left_to_planes():
    solution = solve(JointCase("weston_watkins").problem(regularizer=ElasticNet(0.5)), tol=1e-4)
    assert solution.converged
    assert solution.solver == "bundle"


@pytest.mark.parametrize("solver", ["dual_coordinate", "newton"])
def test_solvers_of_single_scores_refuse_joint_risks(solver):
    with pytest.raises(FenchelError, match="does not support this problem"):
        solve(JointCase("weston_watkins").problem(), solver)


def test_block_coordinate_refuses_single_scores():
    with pytest.raises(FenchelError, match="requires the Weston-Watkins, the Crammer-Singer or the multinomial risk"):
        solve(Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0), "block_coordinate")


@pytest.mark.parametrize("risk", [WestonWatkins, CrammerSinger])
def test_numbers_that_no_step_can_handle_are_refused(risk):
    X, y = np.eye(3), [0, 1, 2]
    bad = X.copy()
    bad[0, 0] = np.nan
    for data, lam in ((bad, 0.1), (X * 1e200, 0.1), (X, 1e-300)):
        with pytest.raises(FenchelError, match=r"NaN or infinity|too weak|overflow|not finite"):
            solve(Problem(data, risk(y), lam))


def test_the_rows_of_x_and_the_classes_must_agree():
    with pytest.raises(FenchelError, match="X has 3 rows but there are 2 labels"):
        Problem(np.eye(3), WestonWatkins([0, 1]), 1.0)
