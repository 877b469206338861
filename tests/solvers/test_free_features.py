"""Free features with other bases than ridge, and free directions with constraints: Zhang (2002), App. C and D."""

from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import exact_regularizers as exact
from exact_losses import DIGITS, digits
from fenchel import FenchelError, LinearRegressor, Model, Problem, Status, Witness, certify, solve
from fenchel.certificate import equalities, judge
from fenchel.losses import Interpolation
from fenchel.regularizers import (
    L1,
    L2,
    ElasticNet,
    Entropy,
    FreeDirections,
    QNorm,
    QuadraticForm,
    UnnormalizedEntropy,
)
from fenchel.risks import MeanRisk
from fenchel.solvers import AugmentedLagrangian, Hint
from fenchel.solvers.dual_coordinate.loop import CENTRE
from slow_conic import conic_free, conic_solution, conic_with, entropy_cone, norm_cone
from slow_reference import primal

#: the data are so small that compiling takes longer
pytestmark = pytest.mark.usefixtures("plain_loops")

N, D, LAM = 20, 5, 0.05
FREE, REST = [1, 3], [0, 2, 4]
_ROOT = np.random.default_rng(8).standard_normal((D, D))
MATRIX = _ROOT @ _ROOT.T + np.eye(D)
BASES = {
    "elastic_net": ElasticNet(0.4),
    "diagonal": QuadraticForm(np.linspace(0.5, 3.0, D)),
    "matrix": QuadraticForm(MATRIX),
    "entropy": UnnormalizedEntropy(np.linspace(0.1, 0.5, D)),
    "balanced_entropy": UnnormalizedEntropy(0.1, balanced=True),
    "fixed_mass": Entropy(3.0, balanced=True),
    "q_norm": QNorm(1.5),
    "power": QNorm(1.5, power=3.0),
}
every_base = pytest.mark.parametrize("name", BASES)
PRICED = ("elastic_net", "diagonal", "matrix", "entropy", "balanced_entropy")


def data(loss, n=N, d=D):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) + 0.5
    X[:, 3] = 4.0 + 2.0 * X[:, 3]
    signal = X @ rng.standard_normal(d) + (0.0 if d > n else 0.8) * rng.standard_normal(n)
    margins = loss in ("hinge", "logistic", "hard_margin", "negative_log")
    return X, np.where(signal > np.median(signal), 1.0, -1.0) if margins else signal


def conic(name, loss, X, y, intercept):
    """(w, b) of the conic solver with the features REST first: only they are regularized."""
    c, base = np.full(len(y), 1 / len(y)), BASES[name]
    order = [*REST, *FREE]
    if name == "elastic_net":
        return conic_solution(loss, X, y, c, LAM, intercept, 0.4, FREE)
    if name in ("diagonal", "matrix"):
        K = np.diag(np.linspace(0.5, 3.0, D)) if name == "diagonal" else MATRIX
        # the infimum over the free weights is the Schur complement
        between = K[np.ix_(FREE, REST)]
        L = np.linalg.cholesky(K[np.ix_(REST, REST)] - between.T @ np.linalg.solve(K[np.ix_(FREE, FREE)], between))
        turned = np.hstack([X[:, REST] @ np.linalg.inv(L).T, X[:, FREE]])
        z, b = conic_solution(loss, turned, y, c, LAM, intercept, 0.0, (3, 4))
        w = np.concatenate([np.linalg.solve(L.T, z[:3]), z[3:]])
    else:
        wide, regularized = X[:, order], 3
        if name == "fixed_mass":
            # the free features have priors, and a share of the mass: their columns occur once more, without a cost
            cone, wide, regularized = entropy_cone(base.priors(D), 3.0, True), np.hstack([wide, X[:, FREE]]), D
        elif name in ("q_norm", "power"):
            cone = norm_cone(1.5, base.power)
        else:
            cone = entropy_cone(base.priors(D)[REST], None, base.balanced)
        w, b = conic_with(loss, wide, y, c, LAM, intercept, lambda d, before: cone(regularized, before))
        w = np.append(w[:3], w[3:D] + w[D:] if len(w) > D else w[3:])
    found = np.zeros(D)
    found[order] = w
    return found, b


def best_objective(name, loss, X, y, intercept):
    """The conic solution and its P, by the base alone, and the regularizer."""
    w, b = conic(name, loss, X, y, intercept)
    risk = float(primal(loss, X, y, np.full(len(y), 1 / len(y)), 0.0, w, b))
    return w, LAM * infimum(name, w, np.zeros(2)) + risk, FreeDirections.of_features(FREE, D, BASES[name])


def infimum(name, w, slopes):
    """Omega(w) by minimizing over the weights of free features, from several starts."""
    base = BASES[name]

    def value(u):
        full = np.array(w)
        full[FREE] = u
        found = base.value(full) if name != "entropy" or np.all(u >= 0) else np.inf
        return found + slopes @ (np.asarray(w)[FREE] - u)

    options = {"xatol": 1e-12, "fatol": 1e-15, "maxiter": 4000}
    return min(minimize(value, np.full(2, start), method="Nelder-Mead", options=options).fun for start in (0.05, 0.4))


@every_base
def test_value_and_conjugate_are_those_of_the_infimum(name):
    rng, base = np.random.default_rng(1), BASES[name]
    for slopes in (np.zeros(2), np.array([0.4, -0.3])) if name in PRICED else (np.zeros(2),):
        # entries of C other than one: b = a beta
        C = np.zeros((2, D))
        C[[0, 1], FREE] = 2.0, -0.5
        one = FreeDirections(C, slopes * [2.0, -0.5], base)
        assert one == FreeDirections(sp.csr_array(C), slopes * [2.0, -0.5], base)
        assert one != FreeDirections(C, slopes * [2.0, -0.5]) and one.base is base
        for _ in range(3):
            w = 0.4 * np.abs(rng.standard_normal(D)) if name == "entropy" else 0.4 * rng.standard_normal(D)
            w[FREE] = rng.standard_normal(2)
            assert one.value(w) == pytest.approx(infimum(name, w, slopes), abs=1e-9)
            v = one.gradient(w)
            np.testing.assert_allclose(v[FREE], slopes, atol=1e-12)
            assert one.conjugate(v) == pytest.approx(one.relaxed_conjugate(v), rel=1e-12, abs=1e-15)
            assert one.value(w) + one.conjugate(v) == pytest.approx(v @ w, abs=1e-9)
            other = np.abs(rng.standard_normal(D)) if name == "entropy" else 0.4 * rng.standard_normal(D)
            assert one.value(other) + one.conjugate(v) >= v @ other - 1e-12
            assert one.conjugate(v + 0.1) == np.inf
            both = np.stack([w, other])
            assert one.value(both) == pytest.approx(one.value(w) + one.value(other))


@pytest.mark.meetings(1)
@every_base
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_both_algorithms_come_to_the_conic_optimum(name, loss, intercept):
    X, y = data(loss)
    _, best, regularizer = best_objective(name, loss, X, y, intercept)
    for exactly in (False, True):
        problem = Problem(sp.csr_array(X) if exactly else X, MeanRisk(loss, y), LAM, regularizer, intercept)
        solution = solve(problem, AugmentedLagrangian(exactly=exactly), tol=1e-4, max_iter=3000)
        assert solution.converged, str(solution)
        assert solution.certificate.primal == pytest.approx(best, rel=2e-4)
        assert solution.certificate.dual <= best + 1e-7 * abs(best)
        rigorous = certify(problem, solution.model, solution.witness, rigorous=True)
        assert rigorous.dual <= best + 1e-7 * abs(best)
        assert rigorous.gap <= 1.1e-4 * abs(best)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", ["hard_margin", "interpolation", "negative_log"])
@pytest.mark.parametrize("kind", ["features", "mixed", "priced", "elastic_net", "diagonal"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_constraints_come_to_the_conic_optimum(loss, kind, intercept):
    X, y = data(loss, 12, 20)
    c, rng = np.full(12, 1 / 12), np.random.default_rng(5)
    C = rng.standard_normal((2, 20)) if kind == "mixed" else np.eye(20)[FREE]
    prices = np.array([0.02, -0.01]) if kind == "priced" else np.zeros(2)
    weights = np.linspace(1.0, 3.0, 20)
    base = {"elastic_net": ElasticNet(0.5), "diagonal": QuadraticForm(weights)}.get(kind, L2())
    regularizer = FreeDirections(C, prices, base)
    risk = MeanRisk(Interpolation(1e-9) if loss == "interpolation" else loss, y)
    problem = Problem(X, risk, LAM, regularizer, intercept)
    if (loss, kind) == ("interpolation", "elastic_net"):
        with pytest.raises(FenchelError, match="as the base of free directions"):
            solve(problem)
        return
    if kind == "elastic_net":
        w, b = conic_solution(loss, X, y, c, LAM, intercept, 0.5, FREE)
    elif kind == "diagonal":
        w, b = conic_solution(loss, X / np.sqrt(weights), y, c, LAM, intercept, 0.0, FREE)
        w = w / np.sqrt(weights)
    else:
        w, b, _ = conic_free(loss, X, y, c, LAM, C, prices, intercept)
    best = LAM * regularizer.value(w)
    if loss == "negative_log":
        best -= float(np.mean(np.log(y * (X @ w + (b if intercept else 0.0)))))
    for exactly in (False, True):
        solution = solve(problem, AugmentedLagrangian(exactly=exactly), tol=1e-4, max_iter=5000)
        assert solution.converged, str(solution)
        assert solution.certificate.primal == pytest.approx(best, abs=2e-4 * abs(best))
        assert solution.certificate.dual <= best + 1e-6 * abs(best)


def test_algorithm_3_is_that_of_the_paper_with_entropies():
    """One direction of unit mean square: the steps of the printed algorithm, each by bisection.

    The h-bar of App. C may be any that agrees with h where Cv = b: here it does not depend on the free component.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    X[:, 0] /= np.sqrt(np.mean(X[:, 0] ** 2))
    y, mu, eta, lam, n = np.sign(rng.standard_normal(12)), 0.7, 0.2, 0.1, 12
    base = UnnormalizedEntropy(0.3, balanced=True)
    # sparse rows are not centred
    problem = Problem(sp.csr_array(X), MeanRisk("squared", y), lam, FreeDirections.of_features([0], 3, base))
    solver = AugmentedLagrangian(mu=mu, eta=eta, shrinking=False, rule="exact", shuffle=False)
    state = solver.start(problem, None)
    s, v, alpha = 0.0, np.zeros(3), np.zeros(n)
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
        for i in range(n):
            low, high = alpha[i] - 50.0, alpha[i] + 50.0
            for _ in range(200):
                a = 0.5 * (low + high)
                at = v + (a - alpha[i]) * X[i] / (lam * n)
                # k'(-a) + x . grad h(v) with the multiplier and the quadratic term
                slope = a - y[i] + X[i, 1:] @ (0.6 * np.sinh(at[1:])) + X[i, 0] * (s + lam * n / mu * at[0])
                low, high = (a, high) if slope < 0 else (low, a)
            v, alpha[i] = v + (a - alpha[i]) * X[i] / (lam * n), a
        s += eta * lam * n / mu * v[0]
        np.testing.assert_allclose(solver.propose(state)[1].theta, alpha / n, rtol=1e-8, atol=1e-10)
        sign = np.sign(state.projection[0, 0] / X[0, 0])
        np.testing.assert_allclose(state.outputs[0].intercept[CENTRE], sign * s, rtol=1e-8, atol=1e-10)


@pytest.mark.meetings(1)
@every_base
@pytest.mark.parametrize("repaired", [True, False], ids=["repaired", "charged"])
def test_no_bound_is_above_the_optimum(name, repaired, monkeypatch):
    """Any theta, restored as it is meant to be, or left as it is so that all of it is charged."""
    rng = np.random.default_rng(11)
    for loss in ("hinge", "squared"):
        X, y = data(loss)
        w, best, regularizer = best_objective(name, loss, X, y, True)
        problem, found = Problem(X, MeanRisk(loss, y), LAM, regularizer, True), []
        assert equalities.equalities_of(problem).outputs[0].corners is not None
        good = solve(problem, tol=1e-4).witness.theta
        with monkeypatch.context() as patch:
            if not repaired:
                patch.setattr(equalities, "onto_box_and_equalities", lambda point, *others: point)
            for noise in (0.0, 1e-9, 1e-4, 1e-2, 1.0):
                theta = good + noise * rng.standard_normal(N) / N
                found.append(judge(problem, Model(w, None), Witness(theta)).certificate.dual)
        assert max(found) <= best + 1e-7 * abs(best)
        assert np.isfinite(max(found))


def test_a_bound_is_not_better_than_the_dual_of_its_theta():
    """A mixture with corners may have a larger dual, of which only the roundings of theta are bounded."""
    X, y = data("hinge")
    problem = Problem(X, MeanRisk("hinge", y), LAM, FreeDirections.of_features(FREE, D), True)
    corners, value = equalities.equalities_of(problem).outputs[0].corners, -1e3
    assert corners.lowest(problem, 1.0)[0] > value
    for residual in (1e-15, 1e-3, 1.0):
        assert 0.0 < equalities.free_charge(problem, np.array([residual]), value) < 1e-3


def test_charges_are_finite_where_the_conjugate_of_corners_overflows():
    """Weak regularization: v of the corners is in the thousands, and its exponential infinite."""
    X, y = data("hinge")
    base = UnnormalizedEntropy(0.1, balanced=True)
    problem = Problem(100.0 * X, MeanRisk("hinge", y), 1e-3, FreeDirections.of_features(FREE, D, base), True)
    corners = equalities.equalities_of(problem).outputs[0].corners
    with np.errstate(over="ignore"):
        assert corners.lowest(problem, 1.0)[0] == -np.inf
        # the residual of a theta in floats
        assert 0.0 < equalities.free_charge(problem, np.array([1e-17]), 1e-3) < 1e-9
    assert solve(problem, tol=1e-4, max_iter=100).certificate.dual > 0.0


def test_a_free_feature_far_from_zero_does_not_slow_the_fit():
    """A year, say, beside features of unit size; with the intercept it is a trend."""
    X, y = data("squared")
    near, far = X.copy(), X.copy()
    far[:, 1] += 2000.0
    free = FreeDirections.of_features([1], D, ElasticNet(0.5))
    found = [solve(Problem(A, MeanRisk("squared", y), LAM, free, True), tol=1e-4) for A in (near, far)]
    assert all(one.converged for one in found)
    assert found[1].certificate.primal == pytest.approx(found[0].certificate.primal, rel=2e-4)
    assert found[1].passes <= 2.0 * found[0].passes


def test_infeasible_constraints_are_proved_infeasible():
    """Equal rows with different labels, whatever is free."""
    X = np.random.default_rng(4).standard_normal((6, 3))
    X[1] = X[0]
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    for loss in ("hard_margin", Interpolation(1e-9)):
        for free in ([0], [0, 2]):
            for intercept in (False, True):
                problem = Problem(X, MeanRisk(loss, y), 0.1, FreeDirections.of_features(free, 3), intercept)
                solution = solve(problem, max_iter=200)
                assert solution.status is Status.INFEASIBLE, (loss, free, intercept, str(solution))


def test_directions_are_free_features_of_more_columns():
    """What the refusal of general directions advises is the same problem."""
    X, y = data("logistic")
    C = np.random.default_rng(2).standard_normal((2, D))
    risk = MeanRisk("logistic", y)
    one = solve(Problem(X, risk, LAM, FreeDirections(C), True), tol=1e-8)
    wide = np.hstack([X, X @ C.T])
    other = solve(Problem(wide, risk, LAM, FreeDirections.of_features([D, D + 1], D + 2), True), tol=1e-8)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-7)
    with pytest.raises(FenchelError, match="append"):
        FreeDirections(C, base=ElasticNet(0.5))
    net = Problem(wide, risk, LAM, FreeDirections.of_features([D, D + 1], D + 2, ElasticNet(0.5)), True)
    assert solve(net, tol=1e-6).converged


def test_a_constant_free_feature_is_an_intercept_with_the_elastic_net():
    X, y = data("logistic")
    risk = MeanRisk("logistic", y)
    free = FreeDirections.of_features([-1], D + 1, ElasticNet(0.3))
    one = solve(Problem(np.hstack([X, np.ones((N, 1))]), risk, LAM, free), tol=1e-8)
    other = solve(Problem(X, risk, LAM, ElasticNet(0.3), intercept=True), tol=1e-8)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-8)
    np.testing.assert_allclose(one.model.weights[:-1], other.model.weights, atol=1e-3)


def test_warm_starts_and_estimators():
    X, y = data("squared")
    free = FreeDirections.of_features([1], D, ElasticNet(0.5))
    model = LinearRegressor(regularizer=free, C=1e-6, tol=1e-7).fit(X, y)
    slope, intercept = np.polyfit(X[:, 1], y, 1)
    # the others are regularized away, exactly: soft thresholds
    np.testing.assert_allclose([model.coef_[1], model.intercept_], [slope, intercept], rtol=1e-3, atol=1e-3)
    assert np.all(np.delete(model.coef_, 1) == 0.0)
    problem = Problem(X, MeanRisk("squared", y), LAM, free, True)
    first = solve(problem, tol=1e-5)
    assert solve(problem, tol=1e-5, warm_start=first).passes == 0.0
    near = Problem(problem.design, problem.risk, 0.9 * LAM, free, True)
    warm, cold = solve(near, tol=1e-5, warm_start=first), solve(near, tol=1e-5)
    assert warm.converged and warm.passes <= cold.passes
    assert first.path_certificate.at(0.9 * LAM).dual <= cold.certificate.primal


@pytest.mark.parametrize("name", PRICED)
def test_prices_are_met(name):
    """What the free weights cost: their components of the dual vector are the prices, and the certificate proves it."""
    X, y = data("squared")
    one = FreeDirections(np.eye(D)[FREE], [0.3, -0.2], BASES[name])
    solution = solve(Problem(X, MeanRisk("squared", y), LAM, one), tol=1e-4)
    assert solution.converged, str(solution)
    np.testing.assert_allclose(X[:, FREE].T @ solution.witness.theta / LAM, [0.3, -0.2], atol=1e-9)


@pytest.mark.parametrize("name", [*PRICED, "q_norm", "fixed_mass"])
def test_roundings_are_bounded(name):
    """Omega at any u_F is an upper bound, here in 60 digits, and the free weights may be of any size."""
    rng, base = np.random.default_rng(5), BASES[name]
    one = FreeDirections.of_features(FREE, D, base)
    for size in (1e-6, 1.0, 30.0):
        w = size * 0.05 * rng.standard_normal(D)
        w = np.abs(w) if name == "entropy" else w
        w[FREE] = 1e6 * rng.standard_normal(2)
        value, u = one.value(w), one.free_features.complete(w)
        v = size * rng.standard_normal(D)
        conjugate, fixed = one.relaxed_conjugate(v), one.free_features.fixed(v)
        with digits(DIGITS):
            if not np.isfinite(value):
                continue
            rows = exact.normalized(base, exact.decimals(u)) if name == "fixed_mass" else exact.decimals(u)
            assert abs(exact.value(base, rows) - Decimal(value)) <= Decimal(one.value_error(w, value))
            true = exact.conjugate(base, exact.decimals(fixed))
            assert true - Decimal(conjugate) <= Decimal(one.conjugate_error(v, conjugate, 0.0, 0.0))


def test_bad_bases_are_refused():
    for base, message in (
        (L1(), "does not support free features, got 'l1'"),
        (Entropy(3.0), "does not support free features, got 'entropy'"),
        ("l2", "must be a Regularizer"),
        (None, "must be a Regularizer"),
    ):
        with pytest.raises(FenchelError, match=message):
            FreeDirections(np.eye(3)[:1], 0.0, base)
    for base in (QNorm(1.5), Entropy(3.0, balanced=True)):
        with pytest.raises(FenchelError, match="prices must be zero"):
            FreeDirections(np.eye(3)[:1], 0.1, base)
    free = FreeDirections.of_features([0], 3, QNorm())
    problem = Problem(np.eye(3), MeanRisk("hard_margin", [1.0, -1.0, 1.0]), 1.0, free)
    assert "as the base of free directions" in AugmentedLagrangian().supports(problem)
