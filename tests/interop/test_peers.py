"""Models of skglm, celer, ReHLine and LIBLINEAR: judged by their own objectives, as those of scikit-learn are."""

import ctypes

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fenchel import FenchelError, certify


def two_classes(n=80):
    X, y = make_classification(n, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
    return X, np.where(y == 1, 1, -1)


def targets_of(n=80):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    return X, X @ np.arange(5.0) + 2.0 + rng.standard_t(2, n)


def assert_judged(model, X, y, gap=1e-5):
    """A tight fit is proved; half of its weights are not."""
    judged = certify(model.fit(X, y), X, y, effort=3000)
    assert judged.relative_gap <= gap, str(judged)
    model.coef_ = 0.5 * np.asarray(model.coef_)
    assert certify(model, X, y, effort=3000).relative_gap > 1e-2
    return judged


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*is faster on contiguous arrays")
def test_skglm():
    skglm = pytest.importorskip("skglm", reason="a peer of the benchmarks")
    options = {"tol": 1e-10, "max_iter": 1000}
    assert_judged(skglm.Lasso(alpha=0.2, **options), *targets_of())
    assert_judged(skglm.ElasticNet(alpha=0.2, l1_ratio=0.3, **options), *targets_of())
    assert_judged(skglm.SparseLogisticRegression(alpha=0.02, **options), *two_classes())
    judged = assert_judged(skglm.LinearSVC(C=0.3, fit_intercept=False, **options), *two_classes())
    assert "no intercept" in judged.objective


@pytest.mark.thorough
def test_celer():
    celer = pytest.importorskip("celer", reason="a peer of the benchmarks")
    options = {"tol": 1e-10, "max_iter": 1000}
    assert_judged(celer.Lasso(alpha=0.2, **options), *targets_of())
    assert_judged(celer.ElasticNet(alpha=0.2, l1_ratio=0.3, **options), *targets_of())
    assert_judged(celer.LogisticRegression(C=0.3, **options), *two_classes())
    X, y = targets_of()
    with pytest.raises(FenchelError, match="weights of features"):
        certify(celer.Lasso(alpha=0.2, weights=np.arange(1.0, 6.0)).fit(X, y), X, y)


REHLINE = [
    ("classifier", {"name": "svm"}),
    ("classifier", {"name": "squared SVM"}),
    ("regressor", {"name": "QR", "qt": 0.8}),
    ("regressor", {"name": "SVR", "epsilon": 0.2}),
    ("regressor", {"name": "MAE"}),
    ("regressor", {"name": "huber", "tau": 0.7}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "loss"), REHLINE, ids=[loss["name"] for _, loss in REHLINE])
def test_rehline(kind, loss):
    rehline = pytest.importorskip("rehline", reason="a peer of the benchmarks")
    options = {"loss": loss, "C": 0.3, "tol": 1e-10, "max_iter": 1_000_000}
    if kind == "classifier":
        assert_judged(rehline.plq_Ridge_Classifier(**options), *two_classes())
    else:
        assert_judged(rehline.plq_Ridge_Regressor(**options), *targets_of())
    X, y = two_classes() if kind == "classifier" else targets_of()
    assert_judged(rehline.plqERM_Ridge(**options), X, y)


@pytest.mark.parametrize("bias", [-1, 2.0])
@pytest.mark.parametrize("solver", [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13])
@pytest.mark.meetings(1)
def test_liblinear(solver, bias):
    liblinearutil = pytest.importorskip("liblinear.liblinearutil", reason="a peer of the benchmarks")
    X, y = targets_of() if solver >= 11 else two_classes()
    options = f"-s {solver} -c 0.3 -e 1e-9 -B {bias} -q -p 0.2"
    weighted, weights = (f"{options} -w1 3", np.where(y == 1, 3.0, 1.0)) if solver < 8 else (options, None)
    # it shuffles with rand() of the C library, which all code of the process shares; at -s 3 some states end far from
    # the optimum
    ctypes.CDLL(None).srand(1)
    model = liblinearutil.train(list(y), X.tolist(), weighted)
    judged = certify(model, X, y, sample_weight=weights, effort=3000)
    # its hinge and its absolute loss end after a thousand passes
    gap = 1e-3 if solver in (3, 13) else 1e-5
    assert judged.relative_gap <= gap, str(judged)
    assert f"-s {solver}" in judged.objective
    if solver < 8:
        three = np.digitize(X[:, 0], [-0.5, 0.5])
        model = liblinearutil.train(list(three), X.tolist(), options)
        judged = certify(model, X, three, effort=3000)
        assert judged.relative_gap <= gap, str(judged)
        assert len(judged.certificates) == (1 if solver == 4 else 3)
    with pytest.raises(FenchelError, match="features"):
        certify(model, X[:, :3], y)


def test_a_bias_of_liblinear_that_is_not_regularized():
    liblinearutil = pytest.importorskip("liblinear.liblinearutil", reason="a peer of the benchmarks")
    X, y = two_classes()
    model = liblinearutil.train(list(y), X.tolist(), "-s 0 -c 0.3 -e 1e-9 -B 1 -R -q")
    judged = certify(model, X, y, effort=3000)
    assert judged.objective.endswith("intercept not regularized")
    assert judged.relative_gap < 1e-6


def test_models_and_labels_of_liblinear_that_are_refused():
    liblinearutil = pytest.importorskip("liblinear.liblinearutil", reason="a peer of the benchmarks")
    X, y = two_classes()
    with pytest.raises(FenchelError, match="-s 21 has no counterpart"):
        certify(liblinearutil.train(list(y), X.tolist(), "-s 21 -q"), X, y)
    with pytest.raises(FenchelError, match="not in the model of LIBLINEAR"):
        certify(liblinearutil.train(list(y), X.tolist(), "-s 0 -q"), X, y + 5)


@pytest.mark.parametrize("solver", [0, 4])
def test_class_weights_of_liblinear_are_not_read_from_memory_that_it_freed(solver):
    liblinearutil = pytest.importorskip("liblinear.liblinearutil", reason="a peer of the benchmarks")
    X, y = two_classes()
    with pytest.raises(FenchelError, match="pass them as sample_weight"):
        certify(liblinearutil.train(list(y), X.tolist(), f"-s {solver} -q -w1 3"), X, y)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    model = liblinearutil.train(list(three), X.tolist(), f"-s {solver} -q -w1 3 -e 1e-9")
    weights = np.where(three == 1, 3.0, 1.0)
    if solver == 4:
        assert certify(model, X, three, sample_weight=weights, effort=3000).relative_gap < 1e-5
    else:
        with pytest.raises(FenchelError, match="write each as a Problem"):
            certify(model, X, three, sample_weight=weights)


@pytest.mark.thorough
def test_other_penalties_and_pairs_of_classes_are_refused():
    celer = pytest.importorskip("celer", reason="a peer of the benchmarks")
    rehline = pytest.importorskip("rehline", reason="a peer of the benchmarks")
    X, y = targets_of()
    with pytest.raises(FenchelError, match="GroupLasso is not known here"):
        certify(celer.GroupLasso(groups=1, alpha=0.1, fit_intercept=False).fit(X, y), X, y)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    pairs = rehline.plq_Ridge_Classifier(loss={"name": "svm"}, multi_class="ovo", max_iter=100_000)
    with pytest.raises(FenchelError, match="each pair of classes"):
        certify(pairs.fit(X, three), X, three)
