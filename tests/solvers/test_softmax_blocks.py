"""Block coordinate descent for the multinomial risk: blocks, ascent in every visit, the conic solver's optimum."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import slow_multinomial as slow
from catalog import JointCase
from fenchel import Model, Problem, Status, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.kernels import GramDesign, GramNorm
from fenchel.risks import Multinomial
from fenchel.solvers import BlockCoordinate, Hint
from fenchel.solvers.base import Start
from fenchel.solvers.block_coordinate import solver as module
from fenchel.solvers.block_coordinate.loop_softmax import UNSEEN, first_step, solve_softmax_block
from fenchel.solvers.choose import choose

CASES = [
    JointCase("multinomial", storage=storage, intercept=intercept, weighted=weighted)
    for storage, intercept, weighted in itertools.product(("dense", "sparse"), (False, True), (False, True))
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def hint():
    return Hint(None, 0.0, lambda: False)


def instances(count):
    """Scores, probabilities before, and curvatures: far from the solution and near it, moderate and extreme."""
    rng = np.random.default_rng(5)
    for turn in range(count):
        k, q = int(rng.integers(2, 12)), 10.0 ** rng.uniform(-6, 6)
        s = rng.standard_normal(k) * 10.0 ** rng.uniform(-3, 2.5)
        u = rng.standard_normal(k) * 10.0 ** rng.uniform(-3, 2)
        u -= np.max(u) + np.log(np.sum(np.exp(u - np.max(u))))
        if turn % 4 == 1:
            s = u + 0.1 * s / np.max(np.abs(s))
        if turn % 4 == 2:
            s[:] = s[0]
        yield s, u, q, turn % 4 == 3


def started(s, u, q, new):
    """What a visit begins with: (before, p, u)."""
    if not new:
        return np.exp(u), np.exp(u), u.copy()
    before, p, found = np.eye(len(s))[0], np.zeros(len(s)), np.zeros(len(s))
    first_step(s, 0, q, p, found)
    assert np.sum(p) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(np.exp(found), p, rtol=1e-10, atol=1e-12)
    return before, p, found


def test_a_block_is_solved():
    """One call gains nearly all there is, and more calls from there lead to the minimizer."""
    for s, start, q, new in instances(60):
        before, p, u = started(s, start, q, new)
        expected = slow.block(s, before, q)
        best, first = (slow.block_value(s, before, q, point) for point in (expected, before))
        noise = 1e-13 * (1.0 + abs(first) + np.max(np.abs(s)))
        solve_softmax_block(s, before, q, p, u)
        assert np.sum(p) == pytest.approx(1.0, abs=1e-13)
        assert slow.block_value(s, before, q, p) <= best + 0.1 * (first - best) + noise
        for _ in range(8):
            solve_softmax_block(s, before, q, p, u)
        np.testing.assert_allclose(p, expected.astype(float), atol=1e-10 * (1.0 + np.max(np.abs(s)) / (1.0 + q)))
        np.testing.assert_allclose(np.exp(u), p, rtol=1e-9, atol=1e-300)


@every_case
def test_the_conic_solvers_optimum(case):
    problem = case.problem()
    X, y, _, _ = case.data()
    W, _, best = slow.optimum(X, y, case.k, problem.risk.shares, case.lam, case.intercept)
    solution = solve(problem, "block_coordinate", tol=1e-9, max_iter=5000)
    certificate = solution.certificate
    assert solution.status is Status.CONVERGED
    assert certificate.primal == pytest.approx(best, rel=1e-8)
    assert certificate.dual <= best * (1 + 1e-9)
    reach = np.sqrt(2 * (certificate.gap + 1e-8 * best) / case.lam)
    assert np.linalg.norm(solution.model.weights - W) <= 2 * reach
    # the witness is a proof by itself
    assert certify(problem, solution.model, solution.witness).gap == pytest.approx(certificate.gap, abs=1e-12)


@pytest.mark.parametrize("kernel", [False, True], ids=["linear", "kernel"])
def test_every_visit_ascends(kernel, monkeypatch, rarely_compiled):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    case = JointCase("multinomial", lam=0.01)
    X, y, _, _ = case.data()
    problem, shares, solver = case.problem(), np.full(case.n, 1 / case.n), BlockCoordinate()
    if kernel:
        design = GramDesign(X @ X.T)
        problem = Problem(design, problem.risk, case.lam, GramNorm(design))
    state, before, values = solver.start(problem, None), np.zeros((case.n, case.k)), [0.0]
    for _ in range(8 * case.n):
        solver.step(state, hint())
        theta = solver.propose(state)[1].theta
        assert np.count_nonzero(np.any(theta != before, axis=1)) <= 1
        before = theta
        values.append(float(slow.dual(X, y, shares, case.lam, theta)))
        assert state.objective() == pytest.approx(values[-1], rel=1e-10)
    assert all(after >= previous - 1e-14 * values[-1] for previous, after in itertools.pairwise(values))
    assert values[-1] > 2 * values[case.n // 4] > 0
    best = solve(case.problem(), "newton_cg", tol=1e-10).certificate.primal
    assert 0.95 * best < values[-1] <= best


@with_and_without
def test_the_gap_that_is_expected_is_that_of_the_certificate(intercept):
    problem, solver = JointCase("multinomial", intercept=intercept).problem(), BlockCoordinate()
    state = solver.start(problem, None)
    for _ in range(60):
        solver.step(state, hint())
    certificate = judge(problem, *solver.propose(state)).certificate
    assert -certificate.rounding_floor <= certificate.gap <= 1e-6
    assert certificate.gap <= 10.0 * state.active_set.expected_gap + certificate.rounding_floor
    assert state.objective() == pytest.approx(certificate.dual, rel=1e-6)


@with_and_without
def test_a_warm_start_goes_on_where_it_was(intercept):
    case = JointCase("multinomial", intercept=intercept)
    solution = solve(case.problem(), "block_coordinate", tol=1e-8)
    assert solve(case.problem(), "block_coordinate", tol=1e-8, warm_start=solution).passes == 0
    state = BlockCoordinate().start(case.problem(), solution)
    BlockCoordinate().step(state, hint())
    assert state.active_set.expected_gap <= 1e-7
    # for another strength too, and from a point where some examples have no dual variables yet
    theta = solution.witness.theta.copy()
    theta[::3] = 0.0
    partly = Start(Model(solution.model.weights, solution.model.intercept), Witness(theta), solution.path_certificate)
    for lam in (0.005, 0.5):
        moved = solve(case.problem(lam=lam), "block_coordinate", tol=1e-8, warm_start=partly, max_iter=3000)
        known = solve(case.problem(lam=lam), "newton_cg", tol=1e-10)
        assert moved.certificate.primal == pytest.approx(known.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("lam", [1e-8, 1e-3, 1e8])
@with_and_without
def test_any_strength(lam, intercept):
    """Including rows without features, which have the softmax of the intercepts, and a class without examples."""
    X, y, _, _ = JointCase("multinomial").data()
    X[3], X[17] = 0.0, 0.0
    risk = Multinomial(y, 5)
    problem = Problem(X, risk, lam, intercept=intercept)
    if lam < 1e-6:
        # too steep to get there by passes over the examples, but never wrong
        found = solve(problem, "block_coordinate", tol=1e-3, max_iter=20).certificate
        assert 0.0 < found.dual < found.primal <= risk.value_at_zero
        return
    solution = solve(problem, "block_coordinate", tol=1e-7, max_iter=5000)
    assert solution.converged
    if not intercept:
        p = -solution.witness.theta[3] / risk.shares[3]
        p[y[3]] += 1.0
        np.testing.assert_allclose(p, 0.2, rtol=1e-6)


def test_who_takes_what():
    X, y, _, _ = JointCase("multinomial").data()
    problem = Problem(sp.csr_array(X), Multinomial(y), 0.1)
    assert BlockCoordinate().supports(problem) is None
    assert "inner" in BlockCoordinate(inner="walrus").supports(problem)
    # single precision has no place here: what is kept are logarithms beside the probabilities
    state = BlockCoordinate(single=True).start(problem, None)
    assert state.blocks.alpha.dtype == np.float64
    assert np.all((state.logs == UNSEEN) == (np.eye(problem.risk.outputs)[y] == 0))


def test_auto_takes_blocks_where_rows_have_little_in_common():
    rng = np.random.default_rng(2)
    X, y = sp.random_array((60, 400), density=0.02, random_state=rng, format="csr"), rng.integers(0, 5, 60)
    wide = solve(Problem(X, Multinomial(y, 5), 0.01, intercept=True), tol=1e-6)
    assert wide.solver == "block_coordinate"
    tall, labels = rng.standard_normal((300, 4)), rng.integers(0, 3, 300)
    steep = solve(Problem(tall, Multinomial(labels, 3), 1e-4, intercept=True), tol=1e-6)
    assert steep.solver == "newton_cg"
    assert choose(Problem(tall, Multinomial(labels, 3), 1.0, intercept=True), "auto", tol=1e-13)[0].solver.name == (
        "block_coordinate"
    )
    # more numbers than Newton's method takes at once in NumPy
    tall, labels = rng.standard_normal((3000, 30)), rng.integers(0, 5, 3000)
    flat = solve(Problem(tall, Multinomial(labels, 5), 1.0, intercept=True), tol=1e-6)
    assert flat.solver == "block_coordinate"
