"""Kernel classifiers: the linear model in the kernel's features, whatever the kernel, with a certificate."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import slow_conic
import slow_multiclass as slow
from catalog import joint_risk
from fenchel import (
    FenchelError,
    GapWarning,
    KernelClassifier,
    LinearClassifier,
    Model,
    Problem,
    Witness,
    certify,
    solve,
)
from fenchel.certificate import judge
from fenchel.kernels import GramDesign, GramNorm
from fenchel.regularizers import L2
from fenchel.solvers import BlockCoordinate

FORMS = ["weston_watkins", "crammer_singer"]
every_form = pytest.mark.parametrize("multi_class", FORMS)
#: with a precomputed matrix
NOT_A_KERNEL = {
    "check_positive_only_tag_during_fit": "subtracts the mean from a Gram matrix, which makes it indefinite",
    "check_estimators_dtypes": "rounds a Gram matrix to integers, which makes it indefinite",
    "check_class_weight_classifiers": "its kernel is zero at new examples, where only an intercept could decide",
}
TIGHT = {"tol": 1e-10, "max_iter": 1e5, "random_state": 0}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks_of_kernels")
@parametrize_with_checks(
    [
        KernelClassifier(tol=1e-10, random_state=0),
        KernelClassifier(kernel="poly", coef0=1.0, multi_class="crammer_singer", tol=1e-10, random_state=0),
        KernelClassifier(kernel="precomputed", tol=1e-10, random_state=0),
    ],
    expected_failed_checks=lambda estimator: NOT_A_KERNEL if estimator.kernel == "precomputed" else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def some_classes(k=3, n=60):
    return make_classification(n, 6, n_informative=4, n_classes=k, flip_y=0.1, random_state=0)


def features_of(gram):
    """Explicit features whose products are the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def gram_problem(gram, risk, lam):
    design = GramDesign(gram)
    return Problem(design, risk, lam, GramNorm(design))


@pytest.mark.meetings(1)
@every_form
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_linear_kernel_is_the_linear_classifier(multi_class, k, storage):
    X, y = some_classes(k, 80)
    weight = np.random.default_rng(0).integers(0, 4, 80).astype(float)
    settings = {"C": 0.3, "multi_class": multi_class, "class_weight": {0: 2.0}, **TIGHT}
    kernel = KernelClassifier(kernel="linear", **settings).fit(storage(X), y, sample_weight=weight)
    linear = LinearClassifier(fit_intercept=False, **settings).fit(X, y, sample_weight=weight)
    assert kernel.converged_
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
    scores = kernel.decision_function(storage(X))
    assert scores.shape == ((80,) if k == 2 else (80, k))
    # two classes go to another solver of another dual: as far as the two gaps let them be apart
    apart = 1e-6 if k > 2 else 1e-3
    np.testing.assert_allclose(scores, linear.decision_function(X), atol=apart)
    weights = kernel.dual_coef_ @ X[kernel.support_]
    np.testing.assert_allclose(weights, linear.coef_, atol=apart)
    assert np.all(weight[kernel.support_] > 0)


@every_form
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_conic_solvers_answer_in_explicit_features(multi_class, kernel):
    X, y = some_classes(n=40)
    gram = rbf_kernel(X, gamma=0.2) if kernel == "rbf" else polynomial_kernel(X, gamma=0.2, degree=2, coef0=1.0)
    weight = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    model = KernelClassifier(kernel=kernel, gamma=0.2, degree=2, coef0=1.0, C=0.7, multi_class=multi_class, **TIGHT)
    model.fit(X, y, sample_weight=weight)
    lam = 1 / (0.7 * weight.sum())
    features = features_of(gram)
    W, _, best = slow.optimum(multi_class, features, y, 3, weight / weight.sum(), lam, False)
    assert model.converged_
    assert model.certificate_.primal == pytest.approx(best, rel=1e-7)
    assert model.certificate_.dual <= best * (1 + 1e-8)
    np.testing.assert_allclose(model.decision_function(X), features @ W.T, atol=1e-3)


def test_two_classes_are_the_support_vector_machine_without_intercept():
    X, y = some_classes(2, 40)
    gram = rbf_kernel(X, gamma=0.3)
    features = features_of(gram)
    w, _, best = slow_conic.conic_optimum("hinge", features, 2.0 * y - 1, np.full(40, 1 / 40), 1 / 40, False)
    for multi_class in FORMS:
        model = KernelClassifier(gamma=0.3, multi_class=multi_class, **TIGHT).fit(X, np.array(["no", "yes"])[y])
        assert model.certificate_.primal == pytest.approx(best, rel=1e-7)
        assert model.dual_coef_.shape == (1, len(model.support_))
        np.testing.assert_allclose(model.decision_function(X), features @ w, atol=1e-3)
        np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


@every_form
def test_certificates_are_the_formulas(multi_class):
    """P = lam/2 tr(A^T K A) + R(K A) and D = -tr(theta^T K theta)/(2 lam) - R*(-theta), for anybody's A and theta."""
    rng = np.random.default_rng(2)
    X, y = some_classes(n=30)
    gram, lam = rbf_kernel(X, gamma=0.3), 0.05
    risk = joint_risk(multi_class, y, 3)
    problem = gram_problem(gram, risk, lam)
    best = solve(problem, tol=1e-10, max_iter=20_000)
    exact = np.asarray(gram, dtype=np.longdouble)
    for round in range(100):
        noise = 10.0 ** rng.uniform(-6, 1)
        A = best.model.weights + noise * rng.standard_normal((3, 30))
        theta = best.witness.theta + noise / 30 * rng.standard_normal((30, 3))
        found = judge(problem, Model(A, np.zeros(3)), Witness(theta))
        certificate, theta = found.certificate, found.witness.theta.astype(np.longdouble)
        scores = exact @ A.T.astype(np.longdouble)
        primal = lam / 2 * np.sum(A.T * scores) + slow.value(multi_class, scores, y, np.full(30, 1 / 30))
        dual = -np.sum(theta * (exact @ theta)) / (2 * lam) + np.sum(theta[np.arange(30), y])
        assert abs(certificate.primal - float(primal)) <= certificate.rounding_floor, round
        assert certificate.dual == pytest.approx(max(0.0, float(dual)), abs=certificate.rounding_floor)
        assert certificate.dual <= best.certificate.primal * (1 + 1e-9)
        assert certificate.primal >= best.certificate.dual * (1 - 1e-9)
    assert certify(problem, best.model.weights).relative_gap <= 1e-6


@pytest.mark.meetings(1)
@pytest.mark.parametrize("inner", ["root", "walrus", "greedy"])
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_every_inner_solver_and_single_precision(inner, shrinking, single, rarely_compiled, full_products):
    X, y = some_classes(n=30 if full_products else 18)
    problem = gram_problem(rbf_kernel(X), joint_risk("weston_watkins", y, 3), 0.01)
    # loops in plain Python go less far
    tight, tol = (1e-8, 1e-5 if single else 1e-7) if full_products else (1e-5, 1e-4)
    best = solve(problem, tol=tight, max_iter=1e5).certificate.primal
    solver = BlockCoordinate(inner=inner, shrinking=shrinking, single=single)
    most = 1e4 if single else 1e5
    solution = solve(problem, solver, tol=tol, max_iter=most)
    assert solution.converged
    assert solution.certificate.dual <= best * (1 + 1e-7)
    assert single or solution.certificate.primal == pytest.approx(best, rel=10 * tol)


@every_form
def test_a_precomputed_kernel_is_the_named_one(multi_class):
    X, y = some_classes()
    rows, _ = some_classes(n=25)
    settings = {"multi_class": multi_class, "C": 2.0, **TIGHT}
    named = KernelClassifier(gamma=0.1, **settings).fit(X, y)
    given = KernelClassifier(kernel="precomputed", **settings).fit(rbf_kernel(X, gamma=0.1), y)
    called = KernelClassifier(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1), **settings).fit(X, y)
    expected = named.decision_function(rows)
    np.testing.assert_allclose(given.decision_function(rbf_kernel(rows, X, gamma=0.1)), expected, atol=1e-10)
    np.testing.assert_allclose(called.decision_function(rows), expected, atol=1e-10)
    assert given.support_vectors_ is None
    assert given.n_features_in_ == 60
    assert named.n_features_in_ == 6
    sparse = KernelClassifier(kernel="precomputed", **settings).fit(sp.csr_array(rbf_kernel(X, gamma=0.1)), y)
    np.testing.assert_allclose(sparse.dual_coef_, given.dual_coef_, atol=1e-12)


def test_gamma_is_scikit_learns():
    X, y = some_classes()
    for rows in (X, sp.csr_array(X)):
        assert KernelClassifier().fit(rows, y).gamma_ == pytest.approx(1 / (6 * X.var()))
        assert KernelClassifier(gamma="auto").fit(rows, y).gamma_ == pytest.approx(1 / 6)
        assert KernelClassifier(gamma=0.7).fit(rows, y).gamma_ == 0.7


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_an_rbf_kernel_does_not_see_where_the_origin_is(storage):
    Z = np.random.default_rng(0).standard_normal((40, 2))
    y = (Z[:, 0] * Z[:, 1] > 0).astype(int)
    # steps of 2^-20 and offsets of whole numbers: differences are the same
    Z = np.round(Z * 2**20) / 2**20
    near, far = (KernelClassifier(C=100, tol=1e-6, random_state=0).fit(storage(X), y) for X in (Z, Z + 2.0**25))
    assert far.gamma_ == pytest.approx(near.gamma_, rel=1e-9)
    assert far.converged_
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2e-6)
    assert far.certificate_.dual == pytest.approx(near.certificate_.dual, rel=2e-6)
    np.testing.assert_allclose(far.decision_function(storage(Z + 2.0**25)), near.decision_function(Z), atol=1e-2)


def test_weights_leave_out_and_repeat_and_rows_may_be_the_same():
    X, y = some_classes()
    weight = np.random.default_rng(3).integers(0, 4, 60)
    weighted = KernelClassifier(gamma=0.2, **TIGHT).fit(X, y, sample_weight=weight)
    repeated = KernelClassifier(gamma=0.2, **TIGHT).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
    assert np.all(weighted.theta_[weight == 0] == 0)
    given = KernelClassifier(kernel="precomputed", **TIGHT).fit(rbf_kernel(X, gamma=0.2), y, sample_weight=weight)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(X, gamma=0.2)), weighted.decision_function(X), atol=1e-9
    )
    balanced = KernelClassifier(class_weight="balanced", **TIGHT).fit(X, y)
    by_hand = KernelClassifier(**TIGHT).fit(X, y, sample_weight=(60 / (3 * np.bincount(y)))[y])
    np.testing.assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), atol=1e-5)


def test_rows_whose_features_are_zero():
    X, y = some_classes()
    X[::3] = 0.0
    for multi_class in FORMS:
        kernel = KernelClassifier(kernel="linear", multi_class=multi_class, **TIGHT).fit(X, y)
        linear = LinearClassifier(multi_class=multi_class, fit_intercept=False, **TIGHT).fit(X, y)
        assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)


def test_warm_starts_clones_and_pickles():
    X, y = load_iris(return_X_y=True)
    model = KernelClassifier(C=10.0, tol=1e-6, warm_start=True, random_state=0).fit(X, y)
    first = model.decision_function(X)
    model.fit(X, y)
    assert model.trace_[-1].passes == 0
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-9)
    model.set_params(C=20.0).fit(X, y)
    assert model.certificate_.primal == pytest.approx(clone(model).fit(X, y).certificate_.primal, rel=1e-5)
    model.fit(X[20:], y[20:]).fit(X, y == 1).fit(X[:, :2], y == 1).fit(X, y)
    assert model.converged_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_cross_validation_and_accuracy():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(KernelClassifier(random_state=0), {"C": [0.1, 10.0]}, cv=3).fit(X, y)
    given = GridSearchCV(KernelClassifier(kernel="precomputed", random_state=0), {"C": [0.1, 10.0]}, cv=3)
    given.fit(rbf_kernel(X, gamma=1 / (4 * X.var())), y)
    assert search.best_score_ > 0.93
    assert given.best_score_ > 0.93


@pytest.mark.parametrize("k", [2, 3])
def test_the_logistic_loss_has_the_probabilities_of_the_linear_classifier(k):
    X, y = some_classes(k)
    kernel = KernelClassifier("logistic", kernel="linear", **TIGHT).fit(X, y)
    linear = LinearClassifier("logistic", multi_class="ovr", fit_intercept=False, **TIGHT).fit(X, y)
    assert kernel.multi_class_ == "ovr"
    np.testing.assert_allclose(kernel.predict_proba(X), linear.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(np.exp(kernel.predict_log_proba(X)), kernel.predict_proba(X), atol=1e-12)
    assert KernelClassifier().fit(X, y).multi_class_ == "weston_watkins"
    assert not hasattr(KernelClassifier(), "predict_proba")


def test_an_unfinished_fit_warns_with_its_bound():
    X, y = some_classes()
    with pytest.warns(GapWarning, match="KernelClassifier stopped because max_iter.*relative gap of .* within"):
        KernelClassifier(C=100.0, tol=1e-12, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"kernel": "sigmoid"}, "kernel must be one of 'linear', 'poly', 'rbf', 'precomputed' or a function"),
        ({"multi_class": "ovo"}, "multi_class=.* is unknown.*choose one of 'ovr', 'weston_watkins', 'crammer_singer'"),
        ({"loss": "squared"}, "loss='squared' is for regression"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a positive number"),
        ({"gamma": "big"}, "gamma must be"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 must be a finite number >= 0"),
        ({"kernel": "poly", "degree": 2.5}, "degree must be an integer >= 1"),
        ({"C": 0.0}, "C must be a positive"),
        ({"memory_limit": -1}, "memory_limit must be"),
        ({"kernel": lambda A, B: -rbf_kernel(A, B)}, "negative entries on its diagonal"),
        ({"kernel": lambda A, B: A @ B[:5].T}, "kernel must return a matrix of shape"),
        ({"kernel": lambda A, B: np.tri(len(A))}, "not symmetric"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"kernel": lambda A, B: 1.0 - np.eye(len(A))}, "not positive semi-definite"),
        ({"kernel": "precomputed"}, "square"),
        ({"solver": "newton"}, "solver='newton' does not support this problem"),
    ],
)
def test_parameters_that_are_refused(settings, match):
    with pytest.raises(FenchelError, match=match):
        KernelClassifier(**settings).fit(*some_classes())


def test_a_precomputed_kernel_must_be_positive_semi_definite():
    X, y = some_classes()
    gram = rbf_kernel(X)
    low = np.linalg.eigvalsh(gram)[0]
    with pytest.raises(FenchelError, match=r"not positive semi-definite.*clip the negative eigenvalues"):
        KernelClassifier(kernel="precomputed").fit(gram - (low + 1e-4) * np.eye(60), y)
    # what rounding to float32 does is repaired, so that the proof holds
    thin = X @ X.T
    rounded = thin.astype(np.float32).astype(np.float64)
    assert np.linalg.eigvalsh(rounded)[0] < -1e-9 * np.max(thin)
    repaired = GramDesign(rounded).definite()
    np.testing.assert_allclose(repaired.scores(np.eye(60)), rounded, atol=1e-5 * np.max(thin))
    assert np.linalg.eigvalsh(repaired.scores(np.eye(60)))[0] >= 0.0
    model = KernelClassifier(kernel="precomputed", **TIGHT).fit(rounded, y)
    exact = KernelClassifier(kernel="linear", **TIGHT).fit(X, y)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-3)
    design = GramDesign(thin)
    assert design.definite() is design
    # rank one, and rank deficient through rows that repeat: rounding is no reason to refuse
    KernelClassifier(kernel="precomputed").fit(np.outer(X[:, 0], X[:, 0]), y)
    twice = np.repeat(X, 2, axis=0)
    KernelClassifier(kernel="precomputed").fit(rbf_kernel(twice), np.repeat(y, 2))


def test_a_gram_matrix_needs_its_norm():
    X, y = some_classes()
    design, other = GramDesign(rbf_kernel(X)), GramDesign(rbf_kernel(X))
    risk = joint_risk("weston_watkins", y, 3)
    for matrix, norm in ((design, L2()), (design, GramNorm(other)), (rbf_kernel(X), GramNorm(other))):
        with pytest.raises(FenchelError, match="requires regularizer=GramNorm"):
            Problem(matrix, risk, 0.1, norm)


@pytest.mark.parametrize("name", ["weston_watkins", "crammer_singer", "multinomial"])
def test_joint_intercepts_with_a_gram_matrix_are_those_of_the_features(name):
    X, y = some_classes()
    design, risk = GramDesign(X @ X.T), joint_risk(name, y, 3)
    linear = solve(Problem(X, risk, 0.05, intercept=True), tol=1e-7, max_iter=1e4)
    kernel = solve(Problem(design, risk, 0.05, GramNorm(design), intercept=True), tol=1e-7, max_iter=1e4)
    assert linear.converged and kernel.converged
    assert kernel.certificate.primal == pytest.approx(linear.certificate.primal, rel=3e-7)
    np.testing.assert_allclose(kernel.model.weights @ X, linear.model.weights, atol=2e-3)


@every_form
@pytest.mark.parametrize("memory_limit", [4096, 0.01])
def test_joint_intercepts_are_found_where_steps_of_single_classes_end_early(multi_class, memory_limit):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((90, 5))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [-0.5, 0.3, 1.0])
    settings = {"multi_class": multi_class, "C": 10.0, "tol": 1e-5, "random_state": 0}
    model = KernelClassifier(gamma=0.2, memory_limit=memory_limit, fit_intercept=True, **settings).fit(X, y)
    # the same problem in the features of the kernel
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.2))
    linear = LinearClassifier(fit_intercept=True, **settings).fit(vectors * np.sqrt(np.maximum(values, 0.0)), y)
    assert model.converged_ and linear.converged_
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-5)
    assert np.sum(model.intercept_) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("multi_class", ["ovr", "weston_watkins"])
def test_a_fit_without_intercept_keeps_none_of_the_last_fit(multi_class):
    X, y = some_classes(2 if multi_class == "ovr" else 3, 30)
    settings = {"multi_class": multi_class, "random_state": 0}
    model = KernelClassifier(fit_intercept=True, **settings).fit(X, y)
    assert np.any(model.intercept_)
    model.set_params(fit_intercept=False).fit(X, y)
    fresh = KernelClassifier(**settings).fit(X, y)
    assert "intercept_" not in vars(model)
    assert np.array_equal(model.decision_function(X), fresh.decision_function(X))
