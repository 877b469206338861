"""``certify`` proves how good another library's weights are: never too well, and within 10 times of the truth."""

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import PLAIN_CASES, Case
from fenchel import FenchelError, LinearClassifier, Model, Problem, Witness, certify, solve
from fenchel.losses import LOSSES
from fenchel.risks import F1, MeanRisk, OrdinalHinge
from slow_conic import best_objective
from slow_planes import Opaque

#: LIBLINEAR's estimators penalize their intercept, which is another problem than ours
LIBLINEAR = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
PEERS = [(loss, False) for loss in LIBLINEAR] + [
    (loss, free) for loss in ("logistic", "squared") for free in (False, True)
]


def generated(storage, n=400, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) + 0.5 > 0, 1.0, -1.0)
    return (sp.csr_matrix(X) if storage == "sparse" else X), y


def liblinear_weights(X, y, kind, C, eps):
    from liblinear.liblinearutil import train

    model = train(y, sp.csr_matrix(X), f"-s {kind} -c {C!r} -e {eps!r} -B -1 -q")
    return np.array(model.w[: X.shape[1]]) * model.label[0]


def assert_honest_and_tight(problem, weights, intercept, optimum):
    """optimum is (a value at most ``accuracy`` above the optimal objective, accuracy)."""
    certificate = certify(problem, Model(weights, intercept))
    value, accuracy = optimum
    true_gap = certificate.primal - value
    assert certificate.gap + certificate.rounding_floor >= true_gap
    assert certificate.gap <= 10 * (max(true_gap, 0.0) + accuracy + certificate.rounding_floor)
    return certificate


def solved(problem, tol):
    """The optimum of a problem too large for a slow reference, proved by its own certificate."""
    certificate = solve(problem, tol=tol, max_iter=30_000).certificate
    return certificate.primal, certificate.gap


@pytest.mark.meetings(1)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize(("loss", "kind"), [("hinge", 3), ("logistic", 7), ("logistic", 0)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_liblinear_on_generated_data(storage, loss, kind, C):
    X, y = generated(storage)
    problem = Problem(X, MeanRisk(loss, y), 1 / (C * len(y)))
    optimum = best_objective(loss, X, y, problem.lam, False)
    for eps in (0.1, 1e-3):
        assert_honest_and_tight(problem, liblinear_weights(X, y, kind, C, eps), 0.0, optimum)


@pytest.mark.meetings(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("loss", "intercept"), PEERS)
def test_scikit_learn_on_generated_data(storage, intercept, C, loss):
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    X, y = generated(storage)
    optimum = best_objective(loss, X, y, 1 / (C * len(y)), intercept)
    for tol in (1e-1, 1e-4):
        if loss == "logistic":
            peer = LogisticRegression(C=C, tol=tol, max_iter=1000, fit_intercept=intercept)
        elif loss == "squared":
            peer = Ridge(alpha=1 / C, solver="lsqr", tol=tol, fit_intercept=intercept)
        elif LOSSES[loss].task == "regression":
            peer = LinearSVR(loss=loss, epsilon=0.1, C=C, tol=tol, fit_intercept=False, random_state=0)
        else:
            peer = LinearSVC(loss=loss, C=C, tol=tol, fit_intercept=False, random_state=0)
        peer.fit(X, y)
        problem = Problem(X, MeanRisk(loss, y), 1 / (C * len(y)), intercept=intercept)
        b = float(np.ravel(peer.intercept_)[0]) if intercept else 0.0
        assert_honest_and_tight(problem, np.ravel(peer.coef_), b, optimum)


@pytest.fixture(scope="module")
def a9a(load_shared):
    return load_shared("a9a.svm.xz")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.meetings(1, only=["loss"])
@pytest.mark.parametrize(("loss", "C", "eps"), [("hinge", 0.1, 0.1), ("hinge", 1.0, 0.1), ("logistic", 1.0, 0.01)])
def test_liblinear_on_a9a(a9a, loss, C, eps):
    X, y = a9a
    problem = Problem(X, MeanRisk(loss, y), 1 / (C * len(y)))
    optimum = solved(problem, tol=1e-6)
    weights = liblinear_weights(X, y, {"hinge": 3, "logistic": 7}[loss], C, eps)
    certificate = assert_honest_and_tight(problem, weights, 0.0, optimum)
    bare = certify(problem, Model(weights, 0.0), effort=0)
    assert bare.gap >= certificate.gap
    assert bare.primal == certificate.primal


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_with_a_free_intercept_on_a9a(a9a):
    from sklearn.linear_model import LogisticRegression

    X, y = a9a
    problem = Problem(X, MeanRisk("logistic", y), 1 / len(y), intercept=True)
    peer = LogisticRegression(C=1.0, tol=1e-3, max_iter=200).fit(X, y)
    assert_honest_and_tight(problem, peer.coef_[0], float(peer.intercept_[0]), solved(problem, tol=1e-6))


@pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
def test_with_a_witness_it_is_the_solvers_own_certificate(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-6)
    for witness in (solution.witness, solution.witness.theta, list(solution.witness.theta)):
        certificate = certify(problem, solution.model, witness)
        assert certificate.gap == pytest.approx(solution.certificate.gap, abs=2 * certificate.rounding_floor)
    zero = certify(problem, solution.model, Witness(np.zeros(problem.theta_shape)))
    assert zero.dual == 0.0


@pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
def test_weights_alone_get_the_best_intercept(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-9, max_iter=3000)
    certificate = certify(problem, list(solution.model.weights))
    assert certificate.relative_gap <= 1e-6
    assert certificate.primal == pytest.approx(solution.certificate.primal, rel=1e-12)


@pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
def test_more_effort_is_never_worse(case):
    problem = case.problem()
    model = Model(np.full(6, 0.3), None)
    gaps = [certify(problem, model, effort=effort).gap for effort in (0, 1, 10, 300.0)]
    assert gaps == sorted(gaps, reverse=True)
    best = solve(problem, tol=1e-10, max_iter=3000).certificate.primal
    assert gaps[-1] >= certify(problem, model).primal - best - 1e-12


@pytest.mark.parametrize("effort", [-1, "many", np.nan, True, None])
def test_bad_effort_is_named(effort):
    with pytest.raises(FenchelError, match="effort"):
        certify(Case("hinge").problem(), np.zeros(6), effort=effort)


@pytest.mark.parametrize("weights", [np.zeros(5), np.zeros((1, 6)), np.zeros((6, 1)), 0.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_weights_of_the_wrong_shape_are_named(weights, intercept):
    with pytest.raises(FenchelError, match="shape"):
        certify(Case("hinge", intercept=intercept).problem(), weights)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(loss, value):
    with pytest.raises(FenchelError):
        certify(Case(loss, intercept=True).problem(), np.full(6, value))


@pytest.mark.parametrize("claimed", [-5.0, -1.0 - 1e-6])
@pytest.mark.parametrize("name", ["f1", "ordinal"])
def test_a_claimed_bound_that_the_scores_refute_is_refused(name, claimed):
    X, y = generated("dense", n=30, d=4)
    risk = Opaque(F1(y) if name == "f1" else OrdinalHinge((y > 0).astype(int)))
    problem = Problem(X, risk, 0.02)
    model, nothing = problem.zero_model(), np.zeros(problem.theta_shape)
    # R*(0) >= -R(0) = -1
    assert risk.value_at_zero == pytest.approx(1.0)
    with pytest.raises(FenchelError, match=r"conjugate_bound=-.* is too small.*at least -1"):
        certify(problem, model, Witness(nothing, claimed))
    assert certify(problem, model, Witness(nothing, 0.0)).dual == 0.0
    solution = solve(problem)
    honest = certify(problem, solution)
    assert honest.gap == pytest.approx(solution.certificate.gap, abs=1e-12)
    low = solution.witness.conjugate_bound - honest.gap - 1e-3
    with pytest.raises(FenchelError, match="is too small"):
        certify(problem, solution.model, Witness(solution.witness.theta, low))


def test_what_is_no_model_is_named():
    X, y = generated("dense", n=30, d=4)
    problem = Problem(X, MeanRisk("hinge", y), 0.02, intercept=True)
    estimator = LinearClassifier().fit(X, y)
    with pytest.raises(FenchelError, match=r"model must be a Model.*got LinearClassifier.*Model\(coef_\[0\]"):
        certify(problem, estimator)
    with pytest.raises(FenchelError, match="witness must be a Witness or an array of numbers, got str"):
        certify(problem, np.zeros(4), "theta")
    with pytest.raises(FenchelError, match=r"problem must be a Problem.*got tuple"):
        solve((X, y), "auto")
    with pytest.raises(FenchelError, match=r"certify takes a fitted estimator .* first argument is tuple"):
        certify((X, y), "auto")
    solution = solve(problem, tol=1e-6)
    assert certify(problem, solution) == certify(problem, solution.model, solution.witness)
