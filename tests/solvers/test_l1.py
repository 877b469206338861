"""The absolute values alone: laws, certificates by the best multiple, and Newton's method on working sets."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso
from sklearn.linear_model import LogisticRegression as SklearnLogistic

import slow_reference as slow
from agreement import conic_answer
from catalog import Case
from fenchel import (
    FenchelError,
    LinearClassifier,
    LinearRegressor,
    LogisticRegression,
    Model,
    Problem,
    Witness,
    certify,
    regularization_path,
    solve,
)
from fenchel.certificate import judge
from fenchel.designs import as_design
from fenchel.losses import LOSSES, Hinge
from fenchel.regularizers import L1
from fenchel.risks import MeanRisk
from fenchel.solvers import ProxNewton, choose, facts
from fenchel.solvers.base import Hint

SMOOTH = [name for name, loss in LOSSES.items() if loss().smooth]
ROUGH = [name for name in LOSSES if name not in SMOOTH]
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def test_fenchel_young_and_the_conjugate_by_brute_force():
    rng, omega = np.random.default_rng(0), L1()
    for _ in range(100):
        w, v = 3 * rng.normal(size=5), rng.uniform(-1, 1, 5)
        assert omega.conjugate(v) == 0.0
        assert omega.value(w) == pytest.approx(np.abs(w).sum())
        assert omega.value(w) - w @ v >= 0.0
        # the subgradient is on the border, and there equality holds
        assert omega.conjugate(omega.gradient(w)) == 0.0
        assert omega.value(w) == pytest.approx(w @ omega.gradient(w), rel=1e-15)
        # outside, w . v - Omega(w) grows without end along the largest entry
        outside = v / np.abs(v).max() * 1.01
        assert omega.conjugate(outside) == omega.conjugate_derivative(outside, 1.0) == math.inf
        far = 1e6 * np.sign(outside) * (np.abs(outside) == np.abs(outside).max())
        assert far @ outside - omega.value(far) > 1e3


def test_the_largest_scale_is_the_end_of_the_domain():
    rng, omega = np.random.default_rng(1), L1()
    for _ in range(100):
        v = rng.normal(size=7) * 10.0 ** rng.uniform(-8, 8)
        end = omega.largest_scale(v)
        assert omega.conjugate(v, end) == 0.0
        assert omega.conjugate(v, end * (1 + 1e-14)) == math.inf
        assert omega.largest_scale(omega.compress(v)) == end
    assert omega.largest_scale(np.zeros(3)) == math.inf
    assert omega.radius(2.5) == 2.5


def slow_dual(case, theta):
    """D(theta) with Omega* as the indicator, up to its own rounding."""
    X, y, weights = case.data()
    c = slow.shares(len(y), weights)
    if np.max(np.abs(X.T @ theta)) > case.lam * (1 + 1e-12):
        return -math.inf
    slopes = np.divide(-theta, c, out=np.zeros_like(theta), where=c > 0)
    low, high = LOSSES[case.loss]().domain(y)
    if np.any((slopes < low - 1e-9) | (slopes > high + 1e-9)):
        return -math.inf
    return -float(np.sum(c @ slow.CONJUGATES[case.loss](slopes, y)))


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("loss", list(LOSSES))
def test_any_witness_proves_something_true_and_its_best_multiple_is_found(loss, intercept):
    case = Case(loss, intercept=intercept, weighted=True, lam=0.05, l1_ratio=1.0)
    problem, rng, optimum = case.problem(), np.random.default_rng(3), conic_answer(case)[2]
    for size in (1e-4, 1e-2, 1.0, 1e3):
        theta = rng.normal(size=case.n) * size / case.n
        if size == 1e-2:
            theta = -problem.risk.subgradient(rng.normal(size=case.n))
        certificate, _, witness, _ = judge(problem, problem.zero_model(), Witness(theta))
        assert certificate.dual <= optimum + 1e-9 * abs(optimum)
        assert certificate.dual == pytest.approx(slow_dual(case, witness.theta), rel=1e-9, abs=1e-12)
        # no multiple that is feasible in the domain of the risk is better by more than the search leaves
        feasible = judge(problem, problem.zero_model(), Witness(theta)).witness.theta
        multiples = [slow_dual(case, t * feasible) for t in np.linspace(0.0, 1.2, 61)[1:]]
        finite = [value for value in multiples if np.isfinite(value)]
        scale = max(abs(certificate.dual), abs(problem.risk.value_at_zero))
        assert max(finite, default=-math.inf) <= certificate.dual + 2e-3 * scale


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_smooth_losses_reach_the_conic_optimum_and_its_zeros(loss, storage, intercept):
    for weighted, lam in itertools.product((False, True), (0.2, 0.01)):
        case = Case(loss, storage, intercept, weighted, lam=lam, d=12, l1_ratio=1.0)
        problem, (w, _, optimum) = case.problem(), conic_answer(case)
        solution = solve(problem, tol=1e-9)
        assert solution.solver == "prox_newton"
        assert solution.converged, str(solution)
        assert solution.certificate.relative_gap <= 1e-9
        assert solution.certificate.primal == pytest.approx(optimum, rel=1e-8)
        assert solution.certificate.dual <= optimum * (1 + 1e-9)
        found = solution.model.weights != 0.0
        clear = (np.abs(w) < 1e-7) | (np.abs(w) > 1e-4)
        np.testing.assert_array_equal(found[clear], (np.abs(w) > 1e-4)[clear])


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("loss", ROUGH)
def test_other_losses_are_left_to_bundle(loss, intercept, monkeypatch):
    monkeypatch.setattr(facts, "_TINY_PROGRAM_ROWS", 0)
    case = Case(loss, intercept=intercept, lam=0.05, l1_ratio=1.0)
    solution = solve(case.problem(), tol=1e-6)
    assert solution.solver == "bundle"
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=2e-6)


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile", "epsilon_insensitive"])
def test_wide_piecewise_linear_problems_are_linear_programs(loss, storage, intercept):
    """A bundle leaves a gap of 3e-3 after a minute for 500 x 600; the program is exact."""
    case = Case(loss, storage, intercept, weighted=True, n=20, d=25, lam=0.05, l1_ratio=1.0)
    best = conic_answer(case)[2]
    for solver in ("linear_program", "auto"):
        solution = solve(case.problem(), solver, tol=1e-9)
        assert solution.converged, str(solution)
        assert solution.certificate.primal == pytest.approx(best, rel=1e-8)


def test_few_rows_are_one_linear_program():
    """A bundle takes two to eight times as long where the regularization is weak, and less only from 1,000 rows on."""
    problem = Case("absolute", n=60, d=8, lam=1e-3, l1_ratio=1.0).problem()
    assert [one.solver.name for one in choose(problem, "auto")] == ["linear_program", "bundle"]
    solution = solve(problem, tol=1e-9)
    assert (solution.solver, solution.converged) == ("linear_program", True)
    many = Case("absolute", n=600, d=8, lam=1e-3, l1_ratio=1.0).problem()
    assert next(iter(choose(many, "auto"))).solver.name == "bundle"


def test_wide_problems_are_handed_over_to_the_linear_program_with_a_point(monkeypatch):
    """The bundle is quick where the optimum has few features; where it is not, a stop keeps its best point."""
    monkeypatch.setattr(facts, "_TINY_PROGRAM_ROWS", 0)
    problem = Case("hinge", n=60, d=80, lam=1e-3, l1_ratio=1.0).problem()
    assert [one.solver.name for one in choose(problem, "auto")] == ["bundle", "linear_program", "bundle"]
    solution = solve(problem, tol=1e-9)
    assert solution.solver == "bundle, linear_program"
    assert solution.converged


@pytest.mark.parametrize("loss, storage", [("logistic", "sparse"), ("squared", "dense")])
def test_large_working_sets_are_solved_over_columns(loss, storage, monkeypatch):
    """The same optimum as with the quadratic model formed, with growing sets."""
    case = Case(loss, storage, intercept=True, n=60, d=150, lam=0.02, l1_ratio=1.0)
    whole = solve(case.problem(), tol=1e-10)
    monkeypatch.setattr("fenchel.solvers.l1.prox_newton._MOST_FORMED", 0)
    monkeypatch.setattr("fenchel.solvers.l1.prox_newton._SMALLEST_WORKING_SET", 5)
    columns = solve(case.problem(), ProxNewton(), tol=1e-10, max_iter=20000)
    assert columns.converged, str(columns)
    assert columns.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(columns.model.weights, whole.model.weights, atol=1e-6)


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("loss", SMOOTH)
def test_screening_never_removes_a_feature_with_a_weight(loss, intercept):
    case = Case(loss, intercept=intercept, n=60, d=40, lam=0.1, l1_ratio=1.0)
    problem = case.problem()
    best = solve(problem, tol=1e-12)
    active = np.flatnonzero(best.model.weights)
    solver = ProxNewton()
    state, hint = solver.start(problem, None), Hint(None, 0.0, lambda: False)
    counts = []
    for _ in range(60):
        if solver.step(state, hint) < 0:
            break
        counts.append(len(state.outputs[0].unscreened))
        assert np.isin(active, state.outputs[0].unscreened).all()
    assert counts[-1] < case.d, "nothing was screened"
    without = solve(problem, ProxNewton(screening=False), tol=1e-10)
    assert without.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-9)


@pytest.mark.parametrize(
    ("X", "y", "lam", "intercept"),
    [
        (np.full((6, 4), 1e8), [1.0, 1.0, -1.0, -1.0, -1.0, -1.0], 0.14378693966785236, False),
        (
            [
                [1000.0974061904507, 1000.8265488786088],
                [999.7478542443047, 999.3177179580351],
                [999.0845594357008, 999.8005929269797],
                [998.61036178268, 1001.2352797639746],
            ],
            [-1.0, -1.0, 1.0, -1.0],
            0.0001800555392208172,
            True,
        ),
    ],
)
def test_features_that_were_screened_may_have_weights_in_a_working_set_that_is_kept(X, y, lam, intercept):
    problem = Problem(sp.csr_array(X), MeanRisk(Hinge(power=3.0), y), lam, L1(), intercept=intercept)
    solution = solve(problem, "prox_newton", tol=0.0, max_iter=30)
    screened = replace(ProxNewton(), screening=False)
    other = solve(problem, screened, tol=0.0, max_iter=30)
    assert solution.certificate.lower <= other.certificate.upper
    assert other.certificate.lower <= solution.certificate.upper


def test_the_support_is_that_of_unscreened_features():
    problem = Problem(np.eye(5), MeanRisk("logistic", [1.0, -1.0, 1.0, 1.0, -1.0]), 0.1, L1())
    output = ProxNewton().start(problem, None).outputs[0]
    output.weights[[0, 2, 4]] = 1.0
    for unscreened in ([], [3], [2, 3], [1, 2, 4], range(5)):
        output.unscreened = np.array(unscreened, dtype=np.int64)
        np.testing.assert_array_equal(output.unscreened[output.support], [k for k in (0, 2, 4) if k in unscreened])


@intercepts
@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_strong_regularization_leaves_no_weight(loss, intercept):
    case = Case(loss, intercept=intercept, lam=100.0, l1_ratio=1.0)
    solution = solve(case.problem(), tol=1e-9)
    assert solution.converged
    assert np.all(solution.model.weights == 0.0)


def test_several_outputs_weights_and_float32():
    case = Case("squared", "sparse", intercept=True, weighted=True, outputs=3, lam=0.1, l1_ratio=1.0)
    solution = solve(case.problem(), tol=1e-9)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(conic_answer(case)[2], rel=1e-8)
    X, y, _ = Case("logistic", n=50, d=8).data()
    X = np.round(2 * X)
    answers = [
        solve(Problem(kind, MeanRisk("logistic", y), 0.05, "l1", True), tol=1e-10).model.weights
        for kind in (X, X.astype(np.float32), sp.csr_array(X.astype(np.float32)), np.asfortranarray(X), X.astype(int))
    ]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], atol=1e-9)


def test_designs_give_their_columns():
    rng = np.random.default_rng(5)
    X, shares = rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.6), rng.random(9)
    twice = sp.csr_array((np.ones(4), [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    pairs = [(as_design(kind), X) for kind in (X, sp.csr_array(X), sp.csc_array(X))]
    for design, dense in (*pairs, (as_design(twice), twice.toarray())):
        selected = np.array([0, 2])
        narrow = design.narrowed(selected)
        np.testing.assert_array_equal(narrow.scores(np.eye(2)), dense[:, selected])
        np.testing.assert_array_equal(narrow.transposed().adjoint(np.eye(2)), dense[:, selected].T)
        np.testing.assert_allclose(design.column_squares(shares[: len(dense)]), shares[: len(dense)] @ dense**2)


@pytest.mark.meetings(1)
@intercepts
@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_a_proof_holds_for_other_strengths(loss, intercept):
    case = Case(loss, intercept=intercept, lam=0.05, l1_ratio=1.0)
    solution = solve(case.problem(), tol=1e-8)
    for factor in (0.1, 0.5, 0.999, 1.0, 1.5, 10.0):
        moved = replace(case, lam=case.lam * factor)
        optimum = conic_answer(moved)[2]
        for path_certificate in (solution.path_certificate, solution.path_certificate.compress()):
            certificate = path_certificate.at(moved.lam)
            assert certificate.dual <= optimum * (1 + 1e-9)
            assert certificate.primal >= optimum * (1 - 1e-9)
            assert np.isfinite(certificate.dual)
        warm = solve(moved.problem(), tol=1e-8, warm_start=solution)
        assert warm.converged
        assert warm.certificate.primal == pytest.approx(optimum, rel=1e-7)


def test_paths_are_certified_between_their_points():
    X, y, _ = Case("logistic", n=60, d=8).data()
    path = regularization_path(X, y, (0.05, 5.0), loss="logistic", l1_ratio=1.0, accuracy=0.02)
    assert path.accuracy == 0.02
    for C in np.geomspace(0.05, 5.0, 23):
        assert path.at(C)[2].relative_gap <= 0.02
    assert np.count_nonzero(path.coefs[0]) < np.count_nonzero(path.coefs[-1])


def test_weights_of_others_are_certified():
    case = Case("logistic", lam=0.05, l1_ratio=1.0)
    problem = case.problem()
    best = solve(problem, tol=1e-10).model
    assert certify(problem, best).relative_gap <= 1e-3
    worse = certify(problem, Model(best.weights + 0.1))
    truth = conic_answer(case)[2]
    assert worse.gap >= worse.primal - truth - 1e-9


def test_agreement_with_scikit_learn():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 20))
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=80) + 0.3 > 0, 1, 0)
    ours = LinearClassifier("logistic", C=0.3, l1_ratio=1, fit_intercept=False, tol=1e-10).fit(X, y)
    peer = SklearnLogistic(l1_ratio=1, C=0.3, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(ours.coef_, peer.fit(X, y).coef_, atol=1e-5)
    ours = LogisticRegression(l1_ratio=1, C=0.3, tol=1e-10).fit(X, y)
    peer = SklearnLogistic(l1_ratio=1, C=0.3, solver="saga", tol=1e-9, max_iter=20000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)
    assert np.count_nonzero(ours.coef_) < 20
    target = X[:, :3] @ [1.0, 2.0, -1.0] + 1.0 + 0.1 * rng.normal(size=80)
    # 1/(2n) |r|^2 + alpha |w|_1 is ours over C n
    regressor = LinearRegressor(C=1 / (0.05 * 80), regularizer="l1", tol=0).fit(X, target)
    lasso = Lasso(alpha=0.05, tol=1e-14, max_iter=100000).fit(X, target)
    np.testing.assert_allclose(regressor.coef_, lasso.coef_, atol=1e-8)
    np.testing.assert_array_equal(regressor.coef_ == 0, lasso.coef_ == 0)
    assert regressor.intercept_ == pytest.approx(lasso.intercept_, abs=1e-8)


def test_parameters_of_the_estimators():
    X, y = np.eye(4), [0, 1, 0, 1]
    for model in (LinearClassifier(regularizer="l1"), LinearClassifier(regularizer=L1()), LinearClassifier(l1_ratio=1)):
        assert model._regularizer() == L1()
        assert model.fit(X, y).converged_
    assert LinearRegressor(regularizer="elastic_net", l1_ratio=0.3)._regularizer().l1_ratio == 0.3
    for model, message in (
        (LinearClassifier(regularizer="l1", l1_ratio=0.5), "both choose the regularization"),
        (LinearClassifier(regularizer="lasso"), "regularizer='lasso' is unknown"),
        (LinearRegressor(l1_ratio=1.1), "l1_ratio"),
    ):
        with pytest.raises(FenchelError, match=message):
            model.fit(X, y)
    rough = Problem(X, MeanRisk("hinge", [1, -1, 1, -1]), 0.1, "l1")
    with pytest.raises(FenchelError, match="smooth"):
        solve(rough, "prox_newton")
    with pytest.raises(FenchelError, match="'l1'"):
        solve(Problem(X, MeanRisk("squared", [1, -1, 1, -1]), 0.1), "prox_newton")


def test_sums_that_a_design_keeps_are_those_of_the_present_weights():
    """Another lam on the same design reuses the Gram matrix and the column squares; other weights of rows do not."""
    rng = np.random.default_rng(8)
    X, weights = rng.normal(size=(60, 320)), rng.uniform(0.1, 2.0, 60)
    y, design, last = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=60), as_design(X), None
    for lam, shares in ((0.3, weights), (0.2, weights), (0.2, np.ones(60)), (0.1, np.ones(60)), (0.1, weights)):
        risk = MeanRisk("squared", y, shares / shares.sum())
        last = solve(Problem(design, risk, lam, "l1", True), "prox_newton", tol=1e-9, warm_start=last)
        alone = solve(Problem(X, risk, lam, "l1", True), "prox_newton", tol=1e-9)
        assert last.converged
        np.testing.assert_allclose(last.model.weights, alone.model.weights, atol=1e-6)
    assert len(design.reusable["gram"][1]) == 320


@pytest.mark.parametrize("seed", range(6))
def test_a_loss_without_curvature_far_away_descends(seed):
    """A small derivative beyond the minimum does not imply a decrease: the objective must not rise along the way."""
    rng = np.random.default_rng(seed)
    X = sp.csr_array(rng.standard_normal((30, 50)) * (rng.random((30, 50)) < 0.3))
    scores, weights = X @ rng.standard_normal(50) + rng.standard_normal(30), rng.random(30)
    risk = MeanRisk("huber_hinge", np.where(scores > 0, 1.0, -1.0), weights)
    solution = solve(Problem(X, risk, 1e-3, "l1"), "prox_newton", tol=1e-6, max_iter=300, certify_every=1.0)
    assert solution.converged
    assert max(point.primal for point in solution.trace) <= risk.value_at_zero * (1.0 + 1e-12)


@pytest.mark.parametrize(("C", "intercept"), [(1e3, True), pytest.param(1e5, False, marks=pytest.mark.thorough)])
def test_a_wide_lasso_that_nearly_interpolates_needs_few_passes(C, intercept):
    """Thousands of iterations on the working set, whose columns are nearly dependent, are not passes over X."""
    n, d, rng = 150, 1500, np.random.default_rng(0)
    X = sp.random(n, d, 0.02, format="csr", random_state=0)
    y = X @ np.where(rng.random(d) < 0.05, 3.0 * rng.normal(size=d), 0.0) + 0.1 * rng.normal(size=n)
    solution = solve(Problem(X, MeanRisk("squared", y), 1.0 / (C * n), "l1", intercept=intercept), tol=1e-4)
    assert solution.converged
    assert solution.solver == "prox_newton"
    assert solution.passes < 1000


def test_a_working_set_has_the_features_that_violate_the_conditions_whatever_the_norms_of_others():
    """One large feature makes the feasible multiple of theta tiny; distances of the others at it are their norms."""
    n, violating, rng = 40, 501, np.random.default_rng(0)
    y = np.repeat(rng.standard_normal(n // 2), 2)
    correlated = np.outer(y, 1.0 + rng.random(violating))
    correlated[:, 0] *= 1e4
    # long columns that are orthogonal to y
    orthogonal = np.kron(rng.standard_normal((n // 2, 2500)), np.array([[100.0], [-100.0]]))
    problem = Problem(np.hstack([correlated, orthogonal]), MeanRisk("squared", y), 0.5 * float(np.mean(y**2)), "l1")
    solver = ProxNewton(screening=False)
    state = solver.start(problem, None)
    solver.step(state, Hint(None, 1e-3, lambda: False))
    assert np.isin(np.arange(violating), state.outputs[0].working_set).all()
    assert len(state.outputs[0].working_set) < problem.design.shape[1]
