"""Bundle methods: every bound is below the optimum and rises, and the upper bound on the number of steps holds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import hadamard

from agreement import assert_same_optimum, conic_answer
from catalog import Case
from fenchel import FenchelError, Problem, Status, solve
from fenchel.certificate import judge
from fenchel.regularizers import ElasticNet
from fenchel.risks import MeanRisk, WestonWatkins
from fenchel.solvers import Bundle
from fenchel.solvers.base import STALLED, Hint, Start
from slow_conic import conic_optimum
from slow_planes import ListedPlanes, listed_hinge
from slow_reference import shares

VARIANTS = [Bundle(inner, kind) for inner in ("qp", "line_search") for kind in ("none", "segment", "level")]
every_variant = pytest.mark.parametrize("solver", VARIANTS, ids=lambda solver: f"{solver.inner}-{solver.stabilisation}")
CASES = [
    Case(loss, intercept=intercept, l1_ratio=ratio, lam=0.02)
    for loss, intercept, ratio in itertools.product(("hinge", "logistic", "squared"), (False, True), (0.0, 0.5))
]
CASES += [Case("hinge", outputs=3, intercept=True, weighted=True), Case("hinge", n=60, d=1), Case("hinge", n=6, d=20)]


def hint(target=1e-9):
    return Hint(None, target, lambda: False)


def steps(solver, problem, count, warm=None):
    """The bound and the best value at the start and after each step."""
    state = solver.start(problem, warm)
    yield state.model.value, state.best.value, state
    for _ in range(count):
        if solver.step(state, hint()) == STALLED:
            return
        yield state.model.value, state.best.value, state


@pytest.mark.meetings(1)
@every_variant
@pytest.mark.parametrize("case", CASES, ids=str)
def test_bounds_rise_to_the_optimum_from_below_and_values_fall_to_it(case, solver):
    optimum = conic_answer(case)[2]
    found = [(bound, best) for bound, best, _ in steps(solver, case.problem(), 40)]
    for (bound, best), (following, better) in itertools.pairwise(found):
        assert following >= bound - 1e-13
        assert better <= best + 1e-13
    assert all(bound <= optimum + 1e-9 and best >= optimum - 1e-9 for bound, best in found)
    assert found[-1][1] - found[-1][0] <= 0.5 * (found[0][1] - found[0][0])


@every_variant
def test_what_it_believes_is_what_a_judge_says(solver):
    problem = Case("hinge", intercept=True, l1_ratio=0.3, lam=0.01).problem()
    for bound, best, state in steps(solver, problem, 12):
        certificate = judge(problem, *solver.propose(state)).certificate
        # a judge finds the best intercept, and knows the conjugate of a mixture
        assert certificate.primal <= best + 1e-12
        assert certificate.dual >= bound - 1e-12
        assert certificate.recomputed


@pytest.mark.meetings(1)
@pytest.mark.parametrize("most", [2, 3, 8])
@pytest.mark.parametrize("stabilisation", ["none", "segment", "level"])
def test_few_planes_lower_no_bound_and_are_enough(most, stabilisation):
    problem, solver = Case("hinge", lam=0.05).problem(), Bundle("qp", stabilisation, most_planes=most)
    found = [(bound, state.planes.count) for bound, _, state in steps(solver, problem, 60)]
    assert all(count <= most for _, count in found[1:])
    assert all(other >= one - 1e-14 for (one, _), (other, _) in itertools.pairwise(found))
    solution = solve(problem, solver, tol=1e-2, max_iter=20000)
    assert solution.converged


@pytest.mark.parametrize("inner", ["qp", "line_search"])
@pytest.mark.parametrize("lam", [1.0, 0.3, 0.1])
def test_the_upper_bound_on_the_number_of_steps_holds(inner, lam):
    """Paper 001, Theorem 3: at most log2(lam J(0)/G^2) + 8 G^2/(lam eps) - 1 steps for eps < 4 G^2/lam."""
    for seed, loss in itertools.product(range(3), ("hinge", "absolute")):
        problem = Case(loss, n=100, d=3, lam=lam, seed=seed).problem()
        # |X^T a| for slopes of size 1/n
        G = float(np.mean(np.sqrt(problem.design.squared_row_norms)))
        for eps in (1.0, 0.3, 0.1, 0.03):
            assert eps < 4 * G**2 / lam
            most = math.log2(lam * problem.risk.value_at_zero / G**2) + 8 * G**2 / (lam * eps) - 1
            track = steps(Bundle(inner, "none"), problem, min(math.ceil(most), 500))
            assert any(best - bound <= eps for bound, best, _ in track)


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_the_lower_bound_of_an_orthonormal_design_is_met_exactly(lam):
    """Paper 000, Theorem 6 with H/sqrt(d): J(w_t) = 1/(2 lam t) above J_t(w_t) = -1/(2 lam t), until t = d."""
    d = 16
    problem = Problem(np.eye(d), ListedPlanes(hadamard(d) / np.sqrt(d), np.zeros(d)), lam)
    bounds = [bound for bound, _, _ in steps(Bundle("qp", "none"), problem, 40)]
    # the inner problem is solved to a thousandth of the gap at worst
    np.testing.assert_allclose(bounds[:d], [-1 / (2 * lam * t) for t in range(1, d + 1)], rtol=1e-8)
    assert bounds[-1] == pytest.approx(-1 / (2 * lam * d), rel=1e-8)


@pytest.mark.meetings(1)
@every_variant
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_hinge_by_bundle_by_descent_and_by_a_conic_solver(solver, intercept):
    case = Case("hinge", intercept=intercept, weighted=True, lam=0.05)
    problem, tol = case.problem(), 1e-9 if solver.inner == "qp" else 1e-2
    found = solve(problem, solver, tol=tol, max_iter=20000)
    assert found.status in (Status.CONVERGED, Status.FLOOR)
    assert_same_optimum(problem, found, solve(problem, "dual_coordinate", tol=1e-9), tol=2 * tol)
    assert found.certificate.primal == pytest.approx(conic_answer(case)[2], rel=2 * tol)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
@every_variant
def test_planes_alone_make_a_bound_that_is_taken_on_trust(solver, l1_ratio, intercept):
    X, y, _ = Case("hinge", n=8, d=3, seed=2).data()
    regularizer, lam = ElasticNet(l1_ratio), 0.1
    listed = Problem(X, listed_hinge(y), lam, regularizer, intercept=intercept)
    known = replace(listed, risk=MeanRisk("hinge", y))
    tol = 1e-8 if solver.inner == "qp" else 1e-2
    on_trust, recomputed = (solve(problem, solver, tol=tol, max_iter=20000) for problem in (listed, known))
    assert on_trust.converged
    assert not on_trust.certificate.recomputed
    assert "taken on trust" in str(on_trust)
    assert recomputed.certificate.recomputed
    optimum = conic_optimum("hinge", X, y, shares(8), lam, intercept, l1_ratio)[2]
    for certificate in (on_trust.certificate, recomputed.certificate):
        assert certificate.dual - 1e-8 <= optimum <= certificate.primal + 1e-8
        assert certificate.primal <= optimum + 2 * tol
    # what is trusted is above the conjugate, which a linear program and the hinge itself know
    theta, bound = on_trust.witness.theta, on_trust.witness.conjugate_bound
    assert bound >= listed.risk.exact_conjugate(theta) - 1e-9
    assert bound >= known.risk.conjugate(theta) - 1e-9


def test_auto_takes_it_where_planes_are_all_there_is():
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    problem = Problem(np.random.default_rng(0).normal(size=(5, 2)), listed_hinge(y), 0.1)
    assert solve(problem).solver == "bundle"
    X = np.random.default_rng(1).normal(size=(12, 3))
    joint = Problem(X, WestonWatkins(np.arange(12) % 3), 0.05, "elastic_net")
    solution = solve(joint, tol=1e-7)
    assert (solution.solver, solution.converged) == ("bundle", True)
    assert solution.certificate.recomputed


DEGENERATE = {
    "separable": (np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0], [-2.0, -1.5]]), [1, 1, -1, -1]),
    "constant": (np.ones((6, 2)), [1, 1, -1, 1, -1, -1]),
    "zero": (np.zeros((4, 3)), [1, -1, 1, 1]),
    "repeated_rows": (np.repeat([[1.0, -1.0], [0.5, 2.0]], 5, axis=0), [1, 1, -1, 1, 1, -1, -1, 1, -1, -1]),
    "one_row": (np.array([[3.0, 4.0]]), [1]),
    "one_feature": (np.arange(9.0)[:, None] - 4.0, [-1, -1, -1, 1, -1, 1, 1, 1, 1]),
    "huge": (1e8 * np.array([[1.0, 0.2], [0.3, -1.0], [-1.0, 0.4]]), [1, 1, -1]),
    "tiny": (1e-8 * np.array([[1.0, 0.2], [0.3, -1.0], [-1.0, 0.4]]), [1, 1, -1]),
}


@pytest.mark.meetings(1)
@pytest.mark.parametrize("lam", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("kind", list(DEGENERATE))
@pytest.mark.parametrize("stabilisation", ["none", "segment", "level"])
def test_degenerate_data_at_every_scale(kind, stabilisation, intercept, lam):
    X, y = DEGENERATE[kind]
    problem = Problem(X, MeanRisk("hinge", np.array(y, dtype=float)), lam, intercept=intercept)
    solution = solve(problem, Bundle("qp", stabilisation), tol=1e-6, max_iter=500)
    # planes tell the risk up to the rounding of R(0): with huge rows and little regularization the optimum is far below
    assert solution.converged or solution.certificate.gap <= 1e-15 * problem.risk.value_at_zero, str(solution)


@every_variant
def test_an_interrupt_at_any_product_leaves_a_state_to_propose_from(solver, monkeypatch):
    problem = Case("hinge", lam=0.01).problem()
    state = solver.start(problem, None)
    for k in range(12):
        name = ("scores", "adjoint")[k % 2]
        with monkeypatch.context() as patch:
            patch.setattr(type(problem.design), name, lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                solver.step(state, hint())
        assert np.isfinite(judge(problem, *solver.propose(state)).certificate.gap)
        solver.step(state, hint())


def test_a_warm_start_keeps_its_bound_and_its_value():
    problem = Case("hinge", n=200, intercept=True, lam=1e-3).problem()
    first = solve(problem, "bundle", tol=1e-3)
    state = Bundle().start(problem, first)
    assert state.best.value <= first.certificate.primal + 1e-12
    assert state.model.value >= first.certificate.dual - 1e-12
    assert solve(problem, "bundle", tol=1e-5, warm_start=first).passes < solve(problem, "bundle", tol=1e-5).passes
    # a bound on trust counts for the same data only
    X, y, _ = Case("hinge", n=8, d=3).data()
    listed = Problem(X, listed_hinge(y), 0.1)
    trusted = solve(listed, "bundle", tol=1e-3)
    assert Bundle().start(listed, trusted).model.value >= trusted.certificate.dual - 1e-12
    assert Bundle().start(replace(listed, risk=listed_hinge(-y)), trusted).planes.count == 1
    assert Bundle().start(listed, Start(trusted.model, trusted.witness)).planes.count == 1


def test_what_it_refuses_is_named():
    with pytest.raises(FenchelError, match="inner='newton' is unknown"):
        Bundle(inner="newton")
    with pytest.raises(FenchelError, match="stabilisation='much' is unknown"):
        Bundle(stabilisation="much")
    for most in (1, 2.5, True):
        with pytest.raises(FenchelError, match="most_planes must be an integer >= 2, or None"):
            Bundle(most_planes=most)
    joint = Problem(np.eye(3), WestonWatkins([0, 1, 2]), 1.0, intercept=True)
    assert "intercepts of several classes" in Bundle().supports(joint)
    assert Bundle().supports(replace(joint, intercept=False)) is None
