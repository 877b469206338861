"""Free directions: laws of the regularizer, both algorithms against a conic solver, and certificates that hold."""

import functools
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import fenchel.solvers.dual_coordinate.state as room
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Model, Problem, Status, Witness, certify, solve
from fenchel.certificate import equalities, judge
from fenchel.regularizers import L1, L2, FreeDirections
from fenchel.risks import MeanRisk, WestonWatkins
from fenchel.solvers import SOLVERS, AugmentedLagrangian, Hint
from fenchel.solvers.dual_coordinate.loop import CENTRE
from slow_conic import conic_free

N, D, LAM = 40, 5, 0.05
RNG = np.random.default_rng(7)
MIXED = RNG.standard_normal((2, D))
#: C and b: two features, two mixed directions, and the same with prices that some dual point meets
KINDS = {
    "features": (np.eye(D)[[1, 3]], np.zeros(2)),
    "mixed": (MIXED, np.zeros(2)),
    "priced": (np.eye(D)[[1, 3]], np.array([0.4, -0.3])),
}
LOSSES = ("hinge", "squared", "absolute", "logistic")
COMPILED = room.epoch
every_kind = pytest.mark.parametrize("kind", KINDS)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


@pytest.fixture(autouse=True)
def _loops_in_python(monkeypatch):
    """The data are so small that compiling takes longer; one test runs the compiled loop."""
    monkeypatch.setattr(room, "epoch", COMPILED.__wrapped__)


def data(loss):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)) + 0.5
    X[:, 3] = 4.0 + 2.0 * X[:, 3]
    signal = X @ np.array([1.0, -2.0, 0.5, 0.4, 0.0]) + 0.8 * rng.standard_normal(N)
    classes = loss in ("hinge", "logistic")
    return X, np.where(signal > np.median(signal), 1.0, -1.0) if classes else signal


def problem_of(loss, kind, intercept=False, storage="dense", lam=LAM):
    (X, y), (directions, prices) = data(loss), KINDS[kind]
    if storage == "sparse":
        X, directions = sp.csr_array(X), sp.csr_array(directions)
    return Problem(X, MeanRisk(loss, y), lam, FreeDirections(directions, prices), intercept)


@functools.cache
def reference(loss, kind, intercept):
    X, y = data(loss)
    return conic_free(loss, X, y, np.full(N, 1 / N), LAM, *KINDS[kind], intercept)


@every_kind
def test_value_and_conjugate_are_those_of_the_infimum(kind):
    C, b = KINDS[kind]
    one = FreeDirections(sp.csr_array(C), b)
    assert one == FreeDirections(C, b) and hash(one) == hash(FreeDirections(C, b))
    for _ in range(5):
        w, w2, x = RNG.standard_normal((3, D))
        brute = minimize(lambda s, w=w: 0.5 * np.sum((w - C.T @ s) ** 2) + b @ s, np.zeros(2), tol=1e-12).fun
        assert one.value(w) == pytest.approx(brute, abs=1e-9)
        # every v with Cv = b; others have an infinite conjugate
        v = x - np.linalg.pinv(C) @ (C @ x - b)
        assert one.conjugate(v) == pytest.approx(0.5 * v @ v)
        assert one.relaxed_conjugate(v) == pytest.approx(0.5 * v @ v)
        assert one.conjugate(x) == np.inf
        assert one.value(w) + one.conjugate(v) >= v @ w - 1e-12
        # equality at the gradient, which is a subgradient
        v = one.gradient(w)
        np.testing.assert_allclose(C @ v, b, atol=1e-12)
        assert one.value(w) + one.conjugate(v) == pytest.approx(v @ w, abs=1e-12)
        assert one.value(w2) >= one.value(w) + v @ (w2 - w) - 1e-12
        assert one.value(np.stack([w, w2])) == pytest.approx(one.value(w) + one.value(w2))
    # supremum of the conjugate by brute force
    if not np.any(b):
        v = one.gradient(w)
        best = -minimize(lambda w: one.value(w) - v @ w, np.zeros(D), tol=1e-12).fun
        assert one.conjugate(v) == pytest.approx(best, abs=1e-8)


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    ("loss", "kind", "intercept"),
    [
        *((loss, "mixed", True) for loss in LOSSES),
        *((loss, "features", False) for loss in ("hinge", "squared", "logistic")),
        ("hinge", "priced", True),
        ("absolute", "priced", False),
        ("logistic", "priced", True),
    ],
)
def test_both_algorithms_come_to_the_conic_optimum(loss, kind, intercept):
    _, _, best = reference(loss, kind, intercept)
    for exactly in (False, True):
        storage = "sparse" if exactly else "dense"
        problem = problem_of(loss, kind, intercept, storage)
        solution = solve(problem, AugmentedLagrangian(exactly=exactly), tol=2e-7, max_iter=3000)
        assert solution.converged, str(solution)
        assert solution.certificate.primal == pytest.approx(best, abs=1e-6 * abs(best))
        assert solution.certificate.dual <= best + 1e-8 * abs(best)


def test_algorithm_3_is_that_of_the_paper():
    """A direction of unit mean square beside features that it does not predict, so that nothing is mixed; the square
    beside the direction is the h-bar of App. C, which may be any that agrees with h where Cv = b."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((N, D)))[0] * np.sqrt(N)
    y, mu, eta, lam = np.sign(rng.standard_normal(N)), 0.7, 0.2, 0.1
    C, b = np.eye(D)[:1], np.array([0.2])
    problem = Problem(basis, MeanRisk("hinge", y), lam, FreeDirections(C, b))
    solver = AugmentedLagrangian(mu=mu, eta=eta, shrinking=False)
    state = solver.start(problem, None)
    s, v, alpha = np.zeros(1), np.zeros(D), np.zeros(N)
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
        for i in state.outputs[0].active_set.order:
            # the augmented dual in one variable, at its two ends and where its slope vanishes
            x, beside = basis[i], basis[i] * (np.arange(D) > 0)
            slope = beside @ v + (C @ x) @ (s + lam * N / mu * (C @ v - b))
            curve = (beside @ beside + lam * N / mu * (C @ x) @ (C @ x)) / (lam * N)
            new = y[i] * np.clip(y[i] * (alpha[i] + (y[i] - slope) / curve), 0.0, 1.0)
            v, alpha[i] = v + (new - alpha[i]) * x / (lam * N), new
        s = s + eta * lam * N / mu * (C @ v - b)
        witness = solver.propose(state)[1]
        np.testing.assert_allclose(witness.theta, alpha / N, rtol=1e-9, atol=1e-12)
        sign = np.sign(state.projection[0, 0] / basis[0, 0])
        np.testing.assert_allclose(state.outputs[0].intercept[CENTRE], sign * s, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_constant_feature_is_an_intercept(loss):
    X, y = data(loss)
    risk = MeanRisk(loss, y)
    free = FreeDirections.of_features([-1], D + 1)
    one = solve(Problem(np.hstack([X, np.ones((N, 1))]), risk, LAM, free), tol=1e-9)
    other = solve(Problem(X, risk, LAM, intercept=True), tol=1e-9)
    assert one.solver == "augmented_lagrangian"
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-9)
    np.testing.assert_allclose(one.model.weights[:-1], other.model.weights, atol=1e-3)


@pytest.mark.meetings(1)
@every_kind
@with_and_without
@pytest.mark.parametrize("repaired", [True, False], ids=["repaired", "charged"])
def test_no_bound_is_above_the_optimum(kind, intercept, repaired, monkeypatch):
    """Any theta, restored as it is meant to be, or left as it is so that all of it is charged."""
    rng = np.random.default_rng(11)
    for loss in LOSSES:
        problem, (w, _, best) = problem_of(loss, kind, intercept), reference(loss, kind, intercept)
        found = []
        known = equalities.equalities_of(problem)
        assert known.outputs[0].corners is not None
        with monkeypatch.context() as patch:
            if not repaired:
                patch.setattr(equalities, "onto_box_and_equalities", lambda point, *others: point)
            good = solve(problem, tol=1e-4).witness.theta if loss == "squared" else rng.standard_normal(N) / N
            for noise in (0.0, 1e-9, 1e-4, 1e-2, 1.0):
                theta = good + noise * rng.standard_normal(N) / N
                found.append(judge(problem, Model(w, None if intercept else 0.0), Witness(theta)).certificate.dual)
        assert max(found) <= best + 1e-8 * abs(best)
        assert np.isfinite(max(found))


def test_what_is_left_of_the_equalities_is_bounded_exactly():
    problem = problem_of("hinge", "mixed", intercept=True)
    known = equalities.equalities_of(problem)
    X, y = data("hinge")
    theta, _ = equalities.restored(problem, y * RNG.random(N) / N)
    rows = np.vstack([MIXED, np.zeros(D)])
    for j, bound in enumerate(known.residuals(theta)):
        parts = ([Fraction(rows[j, k]) * Fraction(X[i, k]) for k in range(D)] for i in range(N))
        sides = [sum(part) + (j == 2) for part in parts]
        exact = sum(Fraction(t) * side for t, side in zip(theta, sides, strict=True))
        assert abs(exact) <= Fraction(float(bound))
        assert bound <= 1e-13


def test_degenerate_directions_are_certified():
    X, y = data("hinge")
    groups = np.eye(3)[np.arange(N) % 3]
    rare = np.zeros((N, 1))
    rare[np.flatnonzero(y > 0)[:3]] = 1.0
    risk, first = MeanRisk("hinge", y), [1]
    for more, free in (
        (groups, [5, 6, 7]),  # groups that add up to the intercept
        (rare, [5]),  # a feature of one class only, whose weight may run away
        (X[:, :1], [0, 5]),  # a feature twice
        (np.zeros((N, 1)), [5]),  # a feature that never occurs
    ):
        wide = np.hstack([X, more])
        problem = Problem(wide, risk, LAM, FreeDirections.of_features(first + free, wide.shape[1]), True)
        solution = solve(problem, tol=1e-5)
        assert solution.converged, str(solution)
    # everything is free, and the risk alone is minimized; rounding is reached
    everything = FreeDirections.of_features(range(D), D)
    assert solve(Problem(X, MeanRisk("squared", y), LAM, everything, True), tol=1e-6).converged
    assert solve(problem_of("squared", "mixed", True), tol=0).status is Status.FLOOR
    # one label, so that the free weights run away and no dual point but zero is left
    alone = solve(Problem(np.ones((4, 1)), MeanRisk("hinge", np.ones(4)), LAM, FreeDirections([[1.0]])), tol=1e-6)
    assert alone.certificate.at_floor and alone.certificate.primal <= 1e-15


def test_fits_in_which_few_dual_variables_can_move():
    """Points of which fewer entries are off their bounds than there are equalities are judged as well."""
    for seed in (0, 6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 4))
        y = np.sign(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(30))
        free = FreeDirections.of_features([0, 1], 4)
        assert LinearClassifier(regularizer=free, random_state=0).fit(X, y).converged_


def test_a_price_that_no_dual_point_meets_is_not_certified():
    X, y = data("hinge")
    # the price is too large; or with the intercept of one class zero is the only dual point
    for labels, price, intercept in ((y, 1e3, False), (np.ones(N), 0.3, True)):
        problem = Problem(X, MeanRisk("hinge", labels), LAM, FreeDirections(np.eye(D)[:1], [price]), intercept)
        solution = solve(problem, max_iter=20)
        assert solution.status is Status.MAX_ITER and not solution.converged
        assert solution.certificate.dual == -np.inf
        assert solution.certificate.relative_gap == np.inf


def test_one_class_with_an_intercept_and_a_direction_that_is_no_feature():
    for loss in ("hinge", "squared_hinge"):
        problem = Problem(data(loss)[0], MeanRisk(loss, np.ones(N)), LAM, FreeDirections(MIXED), True)
        solution = solve(problem, tol=1e-6)
        assert solution.converged and solution.certificate.primal <= 1e-15


def test_warm_starts_other_lam_several_outputs_and_foreign_weights():
    problem = problem_of("logistic", "mixed", True)
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, warm_start=first)
    assert again.passes == 0.0 and again.converged
    near = Problem(problem.design, problem.risk, 0.9 * LAM, problem.regularizer, True)
    warm, cold = solve(near, tol=1e-6, warm_start=first), solve(near, tol=1e-6)
    assert warm.passes <= cold.passes
    # what the first proves for another lam holds
    assert first.path_certificate.at(0.9 * LAM).dual <= cold.certificate.primal
    assert certify(problem, first.model).relative_gap <= 1e-5
    labels = np.stack([problem.risk.labels, -problem.risk.labels[::-1]], axis=1)
    both = solve(Problem(problem.design, MeanRisk("logistic", labels), LAM, problem.regularizer, True), tol=1e-6)
    other = solve(Problem(problem.design, MeanRisk("logistic", labels[:, 1]), LAM, problem.regularizer, True), tol=1e-6)
    total = first.certificate.primal + other.certificate.primal
    assert both.converged and both.certificate.primal == pytest.approx(total, rel=3e-6)


def test_the_compiled_loop_is_the_loop(monkeypatch):
    problem = problem_of("hinge", "priced", True)
    plain = solve(problem, tol=1e-6)
    monkeypatch.setattr(room, "epoch", COMPILED)
    compiled = solve(problem, tol=1e-6)
    assert compiled.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-6)
    np.testing.assert_allclose(compiled.model.weights, plain.model.weights, rtol=1e-4)


def test_estimators_leave_free_features_alone():
    X, y = data("squared")
    free = FreeDirections.of_features([1], D)
    model = clone(LinearRegressor(regularizer=free, C=1e-6, tol=1e-8)).fit(X, y)
    # the others are regularized away, so that this is the regression on one feature
    slope, intercept = np.polyfit(X[:, 1], y, 1)
    np.testing.assert_allclose(model.coef_[1], slope, rtol=1e-3)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-2)
    assert np.max(np.abs(np.delete(model.coef_, 1))) < 1e-3
    X, y = data("hinge")
    classes = LinearClassifier(regularizer=free).fit(X, y)
    assert classes.converged_ and classes.score(X, y) > 0.8
    three = LinearClassifier(regularizer=free, fit_intercept=False).fit(X, np.arange(N) % 3)
    assert three.coef_.shape == (3, D) and three.predict(X).shape == (N,)
    assert np.min(cross_val_score(LinearClassifier(regularizer=free), X, y, cv=3)) > 0.6


def test_the_page_runs(capsys):
    page = Path(__file__).resolve().parents[2] / "docs" / "free-directions.md"
    exec("\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)), {})
    found = capsys.readouterr().out
    assert "is proved to be within" in found
    assert int(re.search(r"(\d+) weights are zero", found)[1]) > 15


def test_bad_input_is_refused():
    for arguments, message in (
        (([[1.0, 0.0], [2.0, 0.0]],), "dependent"),
        (([[0.0, 0.0]],), "zeros"),
        (([1.0, 0.0],), r"\(m, d\)"),
        (([[np.nan, 0.0]],), "NaN"),
        (("C",), "numbers"),
        (([[1.0j, 0.0]],), "numbers"),
        ((sp.csr_array([[1.0j, 0.0]]),), "numbers"),
        (([[1e200, 0.0]],), "scale"),
        (([[1e-200, 0.0]],), "scale"),
        ((sp.csr_array([[1.0, 0.0], [0.0, 1e200]]),), "scale"),
        (([[1.0, 0.0]], [1.0j]), "prices"),
        (([[1.0, 0.0]], [1.0, 2.0]), "prices"),
        (([[1.0, 0.0]], "b"), "prices"),
        (([[1.0, 0.0]], 0.0, L1()), "base"),
    ):
        with pytest.raises(FenchelError, match=message):
            FreeDirections(*arguments)
    assert FreeDirections([[1.0, 0.0]], 0.0, L2()) == FreeDirections.of_features([0], 2)
    for indices in ([2], [0, 0], [], [0.5], 3):
        with pytest.raises(FenchelError, match="indices"):
            FreeDirections.of_features(indices, 2)
    for count in ("x", 4.5, -3, 0, True):
        with pytest.raises(FenchelError, match="n_features"):
            FreeDirections.of_features([0], count)
    one = FreeDirections.of_features([0], 3)
    with pytest.raises(FenchelError, match="columns"):
        Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0, one)
    with pytest.raises(FenchelError, match="mean of losses"):
        Problem(np.eye(3), WestonWatkins([0, 1, 2]), 1.0, one)
    problem = Problem(np.eye(3), MeanRisk("hinge", [1, -1, 1]), 1.0, one)
    for name, solver in SOLVERS.items():
        assert (solver().supports(problem) is None) == (name == "augmented_lagrangian")
    assert "exact" in AugmentedLagrangian(rule="newton").supports(problem)
