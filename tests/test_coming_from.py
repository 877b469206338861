"""The tables of the pages "Coming from ...": each formula, by fits of both libraries or of the documented objective."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import kernel_ridge, linear_model, svm
from sklearn.preprocessing import StandardScaler

from fenchel import KernelClassifier, KernelRegressor, LinearClassifier, LinearRegressor, MeasureClassifier
from fenchel.losses import EpsilonInsensitive, Huber, Quantile, SquaredEpsilonInsensitive

DOCS = Path(__file__).resolve().parents[1] / "docs"
TIGHT = {"tol": 1e-12, "max_iter": 100_000}
N = 60


def table(page, start):
    """The rows of the table of a page whose header begins so, as lists of cells."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"\n| {start}")[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in text.split("\n")[2:]]


@pytest.fixture(scope="module")
def data():
    """Features, targets, counts and labels +-1, with classes that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    y = X @ [1.0, -0.5, 0.3, 0.0] + 0.5 * rng.standard_normal(N) + 0.7
    return X, y, rng.poisson(np.exp(0.3 * y)), np.where(y + 0.5 * rng.standard_normal(N) > 0.7, 1, -1)


def same(theirs, ours, X, atol=1e-4):
    np.testing.assert_allclose(theirs(X), ours(X), atol=atol)


#: the row of the table, and (their fit, our fit) of X, y, counts and labels; n is the number of rows
SKLEARN = {
    "Ridge": lambda X, y, k, z: (
        linear_model.Ridge(alpha=0.7).fit(X, y),
        LinearRegressor(C=1 / 0.7, tol=1e-12).fit(X, y),
    ),
    "Lasso": lambda X, y, k, z: (
        linear_model.Lasso(alpha=0.05, **TIGHT).fit(X, y),
        LinearRegressor(C=1 / (0.05 * N), l1_ratio=1, tol=1e-12).fit(X, y),
    ),
    "ElasticNet": lambda X, y, k, z: (
        linear_model.ElasticNet(alpha=0.05, l1_ratio=0.3, **TIGHT).fit(X, y),
        LinearRegressor(C=1 / (0.05 * N), l1_ratio=0.3, tol=1e-12).fit(X, y),
    ),
    "QuantileRegressor": lambda X, y, k, z: (
        linear_model.QuantileRegressor(quantile=0.8, alpha=0.02).fit(X, y),
        LinearRegressor(Quantile(0.8), C=1 / (0.02 * N), l1_ratio=1, tol=1e-9).fit(X, y),
    ),
    "PoissonRegressor": lambda X, y, k, z: (
        linear_model.PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=1000).fit(X, k),
        LinearRegressor("poisson", C=1 / (0.1 * N), tol=1e-12).fit(X, k),
    ),
    "HuberRegressor": lambda X, y, k, z: _huber(X, y),
    "SGDClassifier": lambda X, y, k, z: (
        linear_model.SGDClassifier("log_loss", alpha=0.1, average=True, **SGD).fit(X, z),
        LinearClassifier("logistic", C=1 / (0.1 * N), tol=1e-12).fit(X, z),
    ),
    "SGDRegressor": lambda X, y, k, z: (
        linear_model.SGDRegressor("squared_error", alpha=0.1, average=True, **SGD).fit(X, y),
        LinearRegressor(C=1 / (0.1 * N), tol=1e-12).fit(X, y),
    ),
    "LinearSVC": lambda X, y, k, z: (
        svm.LinearSVC(C=0.5, fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000).fit(X, z),
        LinearClassifier("squared_hinge", C=0.5, fit_intercept=False, tol=1e-12).fit(X, z),
    ),
    "LinearSVR": lambda X, y, k, z: (
        svm.LinearSVR(C=0.5, epsilon=0.1, fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y),
        LinearRegressor(EpsilonInsensitive(0.1), C=0.5, fit_intercept=False, tol=1e-10).fit(X, y),
    ),
    "LogisticRegression": lambda X, y, k, z: (
        linear_model.LogisticRegression(C=0.5, tol=1e-10).fit(X, z),
        LinearClassifier("logistic", C=0.5, tol=1e-12).fit(X, z),
    ),
    "SVC": lambda X, y, k, z: (
        svm.SVC(C=0.5, gamma=0.3, tol=1e-8).fit(X, z),
        KernelClassifier(C=0.5, gamma=0.3, fit_intercept=True, tol=1e-10).fit(X, z),
    ),
    "SVR": lambda X, y, k, z: (
        svm.SVR(C=0.5, gamma=0.3, epsilon=0.1, tol=1e-8).fit(X, y),
        KernelRegressor(EpsilonInsensitive(0.1), C=0.5, gamma=0.3, tol=1e-10).fit(X, y),
    ),
    "KernelRidge": lambda X, y, k, z: (
        kernel_ridge.KernelRidge(alpha=0.7, kernel="rbf", gamma=0.3).fit(X, y),
        KernelRegressor(C=1 / 0.7, gamma=0.3, fit_intercept=False, tol=1e-10).fit(X, y),
    ),
}
#: stochastic gradients, averaged: close to the optimum after many epochs
SGD = {"max_iter": 3000, "tol": None, "random_state": 0, "learning_rate": "invscaling", "eta0": 0.1, "power_t": 0.25}
#: how far scikit-learn's answer may be from the optimum
ROUGH = {"SGDClassifier": 2e-2, "SGDRegressor": 2e-2, "SVC": 1e-3, "SVR": 1e-3, "HuberRegressor": 1e-3}


def _huber(X, y):
    theirs = linear_model.HuberRegressor(epsilon=1.35, alpha=0.5, tol=1e-10, max_iter=1000).fit(X, y)
    loss, C = Huber(1.35 * theirs.scale_), 1 / (0.5 * theirs.scale_)
    return theirs, LinearRegressor(loss, C=C, tol=1e-12).fit(X, y)


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name, data):
    theirs, ours = SKLEARN[name](*data)
    scores = (
        model.decision_function if hasattr(model, "decision_function") else model.predict for model in (theirs, ours)
    )
    same(*scores, data[0], atol=ROUGH.get(name, 1e-4))


def test_n_is_the_sum_of_the_weights(data):
    X, y = data[:2]
    weights = np.random.default_rng(2).uniform(0.5, 2.0, N)
    theirs = linear_model.Lasso(alpha=0.05, **TIGHT).fit(X, y, sample_weight=weights)
    ours = LinearRegressor(C=1 / (0.05 * weights.sum()), l1_ratio=1, tol=1e-12).fit(X, y, sample_weight=weights)
    same(theirs.predict, ours.predict, X)


def test_every_class_of_the_table_is_compared():
    rows = table("coming-from-scikit-learn.md", "scikit-learn | Fenchel | C |")
    assert [re.match(r"`(\w+)\(", row[0])[1] for row in rows] == list(SKLEARN)


#: the row of the table, and our estimator for -c 0.5 -p 0.2
LIBLINEAR = {
    (0, 7): LinearClassifier("logistic", C=0.5, fit_intercept=False, tol=1e-12),
    (1, 2): LinearClassifier("squared_hinge", C=0.5, fit_intercept=False, tol=1e-12),
    (3,): LinearClassifier("hinge", C=0.5, fit_intercept=False, tol=1e-10),
    (4,): LinearClassifier(
        "hinge", multi_class="crammer_singer", C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000
    ),
    (5,): LinearClassifier("squared_hinge", l1_ratio=1, C=0.5, fit_intercept=False, tol=1e-12),
    (6,): LinearClassifier("logistic", l1_ratio=1, C=0.5, fit_intercept=False, tol=1e-12),
    (11, 12): LinearRegressor(SquaredEpsilonInsensitive(0.2), C=0.5, fit_intercept=False, tol=1e-12),
    (13,): LinearRegressor(EpsilonInsensitive(0.2), C=0.5, fit_intercept=False, tol=1e-10),
}


@pytest.mark.parametrize("kind, number", [(kind, number) for kind in LIBLINEAR for number in kind])
def test_liblinear(kind, number, data):
    util = pytest.importorskip("liblinear.liblinearutil", reason="LIBLINEAR is not installed")
    X, y, counts, labels = data
    target = y if number > 10 else np.minimum(counts, 2) if number == 4 else labels
    model = util.train(util.problem(target, X), util.parameter(f"-s {number} -c 0.5 -p 0.2 -e 1e-9 -q"))
    ours = LIBLINEAR[kind].fit(X, target)
    if number > 10:
        theirs = X @ np.array(model.get_decfun()[0])
        np.testing.assert_allclose(theirs, ours.predict(X), atol=1e-3)
    elif number == 4:
        order = np.argsort(model.get_labels())
        theirs = np.column_stack([X @ np.array(model.get_decfun(label_idx=k)[0]) for k in order])
        # both are determined up to a constant for each row
        centred = [s - s.mean(axis=1, keepdims=True) for s in (theirs, ours.decision_function(X))]
        np.testing.assert_allclose(*centred, atol=1e-3)
    else:
        theirs = X @ np.array(model.get_decfun()[0]) * model.get_labels()[0]
        np.testing.assert_allclose(theirs, ours.decision_function(X), atol=1e-3)


def test_an_intercept_of_liblinear_that_is_not_regularized(data):
    util = pytest.importorskip("liblinear.liblinearutil", reason="LIBLINEAR is not installed")
    X, _, _, labels = data
    model = util.train(util.problem(labels, X), util.parameter("-s 0 -c 0.5 -B 1 -R -e 1e-9 -q"))
    ours = LinearClassifier("logistic", C=0.5, tol=1e-12).fit(X, labels)
    weights, intercept = model.get_decfun()
    theirs = (X @ np.array(weights) + intercept) * model.get_labels()[0]
    np.testing.assert_allclose(theirs, ours.decision_function(X), atol=1e-3)


def test_every_number_of_liblinear_is_compared():
    rows = table("coming-from-liblinear.md", "`-s` | LIBLINEAR's name | Fenchel |")
    rows = [row for row in rows if not row[2].startswith("no estimator")]
    assert [tuple(map(int, row[0].split(", "))) for row in rows] == list(LIBLINEAR)


def _svm_perf(X, y, c, loss):
    """The least value of SVM-perf's objective, |w|²/2 + c ξ over all labellings, with losses in percent."""
    if loss == "pairs":
        # a labelling says of each pair whether it is swapped
        differences = (X[y > 0][:, None] - X[y < 0]).reshape(-1, X.shape[1])
        swapped = np.array(list(itertools.product([0.0, 1.0], repeat=len(differences)))) / len(differences)
        deltas, planes = swapped.sum(axis=1), -100 * swapped @ differences
    else:
        labellings = np.array(list(itertools.product([-1.0, 1.0], repeat=len(y))))
        deltas = np.array([loss(z, y) for z in labellings])
        # SVM-perf scales the labels of its joint feature map to 50/n
        planes = 50 / len(y) * (labellings - y) @ X
    planes, deltas = planes[np.isfinite(deltas)], deltas[np.isfinite(deltas)]
    w, value = np.zeros(X.shape[1]), np.inf
    chosen = [int(np.argmax(deltas))]
    # cutting planes: the most violated labelling joins the quadratic program until none is violated
    for _ in range(200):
        constraint = {"type": "ineq", "fun": lambda v: v[-1] - 100 * deltas[chosen] - planes[chosen] @ v[:-1]}
        start = np.append(w, np.max(100 * deltas[chosen] + planes[chosen] @ w))
        program = minimize(
            lambda v: v[:-1] @ v[:-1] / 2 + c * v[-1],
            start,
            constraints=constraint,
            method="SLSQP",
            options={"ftol": 1e-13},
        )
        w, value = program.x[:-1], program.fun
        violated = 100 * deltas + planes @ w
        if violated.max() <= program.x[-1] + 1e-7:
            return value
        chosen.append(int(np.argmax(violated)))
    raise AssertionError("the cutting planes did not converge")


def _f1(z, y):
    tp = np.sum((z > 0) & (y > 0))
    return 1 - 2 * tp / (np.sum(z > 0) + np.sum(y > 0))


def _error_rate(z, y):
    return np.mean(z != y)


def _break_even(z, y):
    return np.mean(z[y > 0] < 0) if np.sum(z > 0) == np.sum(y > 0) else np.inf


def _any_error(z, y):
    return float(np.any(z != y))


@pytest.mark.parametrize(
    "measure, loss",
    [
        (lambda fn, fp: float(fn + fp > 0), _any_error),
        ("f1", _f1),
        ("accuracy", _error_rate),
        ("prbep", _break_even),
        ("roc_auc", "pairs"),
    ],
    ids=["0", "1", "2", "3", "10"],
)
def test_svm_perf(measure, loss):
    """C = 100 c / n: both objectives have the same least value, after a factor that both know."""
    rng = np.random.default_rng(3)
    y = np.array([1.0] * 3 + [-1.0] * 5)
    X = rng.standard_normal((8, 2)) + y[:, None]
    c = 0.02
    given = {"surrogate": "bound", "fit_intercept": False, "tol": 1e-8, "threshold": "train"}
    model = MeasureClassifier(measure, C=100 * c / 8, **given).fit(X, y)
    # P = λ|w|²/2 + R with λ = 1/(C n), and |w|²/2 + c 100 R is 100 c P
    assert 100 * c * model.certificate_.upper == pytest.approx(_svm_perf(X, y, c, loss), rel=1e-5)


def _glmnet(X, y, weights, lam, alpha, nll):
    """Minimize glmnet's objective with weights of both signs split, for the lasso."""
    d = X.shape[1]
    weights = weights / weights.sum()

    def objective(v):
        beta = v[:d] - v[d : 2 * d]
        penalty = (1 - alpha) / 2 * beta @ beta + alpha * np.sum(v[: 2 * d])
        return weights @ nll(X @ beta + v[-1], y) + lam * penalty

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 10**6}
    found = minimize(objective, np.zeros(2 * d + 1), bounds=bounds, method="L-BFGS-B", options=options)
    return found.x[:d] - found.x[d : 2 * d], found.x[-1]


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_glmnet(family, data):
    X, y, counts, labels = data
    Z = StandardScaler().fit_transform(X)  # standardize = TRUE
    lam, alpha = 0.05, 0.8
    nll, target, ours = {
        "gaussian": (lambda s, y: (s - y) ** 2 / 2, y, LinearRegressor("squared")),
        "binomial": (lambda s, y: np.logaddexp(0, -y * s), labels, LinearClassifier("logistic")),
        "poisson": (lambda s, y: np.exp(s) - y * s, counts, LinearRegressor("poisson")),
    }[family]
    ours.set_params(C=1 / (lam * N), l1_ratio=alpha, tol=1e-12).fit(Z, target)
    coef, intercept = _glmnet(Z, target, np.ones(N), lam, alpha, nll)
    np.testing.assert_allclose(np.ravel(ours.coef_), coef, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, intercept, atol=1e-3)


def test_weights_of_glmnet_are_scaled_to_the_number_of_rows(data):
    X, y, _, _ = data
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    scaled = weights * N / weights.sum()
    ours = LinearRegressor(C=1 / (0.05 * N), l1_ratio=0.8, tol=1e-12).fit(X, y, sample_weight=scaled)
    coef, _ = _glmnet(X, y, weights, 0.05, 0.8, lambda s, y: (s - y) ** 2 / 2)
    np.testing.assert_allclose(ours.coef_, coef, atol=1e-3)
