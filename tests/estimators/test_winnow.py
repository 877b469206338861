"""The large-margin Winnow and the online algorithms that large-margin methods come from."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import FenchelError, LinearClassifier, OnlineClassifier, WinnowClassifier
from fenchel.regularizers import Entropy, UnnormalizedEntropy

UPDATES = ("perceptron", "winnow", "normalized_winnow", "p_norm")
ESTIMATORS = [
    WinnowClassifier("logistic", tol=0, max_iter=20000, random_state=0),
    OnlineClassifier(random_state=0, max_iter=20),
    OnlineClassifier("normalized_winnow", learning_rate=0.1, mass=10.0, random_state=0, max_iter=50),
]


@pytest.mark.meetings(1, law="scikit_learn_checks_of_other_risks")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check, request):
    """No expected failures."""
    # the checks run loops for few passes on many types of data
    if isinstance(estimator, OnlineClassifier):
        request.getfixturevalue("rarely_compiled")
    check(estimator)


def zhang(n=300, d=60, seed=0):
    """Zhang (2002), Sec. 6.1: five features for, one against, threshold 2, binary entries."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (4 * n, d)).astype(float)
    score = X[:, :5].sum(axis=1) - X[:, 5] - 2
    keep = np.abs(score) >= 1
    X, y = X[keep][:n], np.sign(score[keep][:n])
    flipped = rng.random(n) < 0.05
    return X, np.where(flipped, -y, y)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_winnow_is_a_linear_classifier_with_an_entropy(normalized, balanced):
    X, y = zhang()
    entropy = Entropy(5.0, balanced=balanced) if normalized else UnnormalizedEntropy(0.02, balanced)
    prior, mass = (None, 5.0) if normalized else (0.02, None)
    common = {"C": 0.1, "tol": 1e-8, "random_state": 0, "max_iter": 5000}
    winnow = WinnowClassifier(normalized=normalized, balanced=balanced, prior=prior, mass=mass, **common).fit(X, y)
    plain = LinearClassifier(regularizer=entropy, **common).fit(X, y)
    assert winnow.converged_
    np.testing.assert_array_equal(winnow.coef_, plain.coef_)
    total = np.abs(winnow.coef_).sum()
    if normalized:
        assert total <= 5.0 * (1 + 1e-9)
    if not balanced:
        assert np.all(winnow.coef_ > 0)
        if normalized:
            assert total == pytest.approx(5.0, rel=1e-12)


def test_winnow_finds_the_few_features_that_matter():
    X, y = zhang(1000, 500)
    test_X, test_y = zhang(1000, 500, seed=1)
    winnow = max(
        (WinnowClassifier(C=C, tol=1e-2, random_state=0).fit(X, y) for C in (0.003, 0.01, 0.03)),
        key=lambda model: model.score(test_X, test_y),
    )
    square = max(LinearClassifier(C=C, tol=1e-2, random_state=0).fit(X, y).score(test_X, test_y) for C in (1e-3, 1e-2))
    assert winnow.score(test_X, test_y) >= square + 0.03
    assert set(np.argsort(-np.abs(winnow.coef_[0]))[:6]) == set(range(6))


def by_hand(update, X, y, rate, passes):
    """Eq. (24) with the formulas of the paper, on [x, 1] (and [x, 1, -x, -1] for Winnow)."""
    X = np.column_stack([X, np.ones(len(X))])
    d = X.shape[1]
    v = np.zeros(d)
    for _ in range(passes):
        for x, label in zip(X, y, strict=True):
            if label * (x @ weights_of(update, v)) <= 0:
                v = v + rate * label * x
    return weights_of(update, v)


def weights_of(update, v):
    if update == "perceptron":
        return v
    if update == "p_norm":
        norm = np.sum(np.abs(v) ** 3) ** (1 / 3)
        return np.sign(v) * v**2 / norm if norm > 0 else v
    both = 0.01 * np.exp(np.concatenate([v, -v]))
    if update == "normalized_winnow":
        both *= 0.02 * len(v) / both.sum()
    return both[: len(v)] - both[len(v) :]


@pytest.mark.parametrize("update", UPDATES)
def test_online_updates_are_eq_24(update, rarely_compiled):
    X, y = zhang(120, 20)
    # no ties, which rounding would decide
    X = X + 0.1 * np.random.default_rng(5).normal(size=X.shape)
    rate = 1.0 if update in ("perceptron", "p_norm") else 0.3
    model = OnlineClassifier(update, learning_rate=rate, max_iter=3, shuffle=False).fit(X, y)
    expected = by_hand(update, X, y, rate, 3)
    np.testing.assert_allclose(model.coef_[0], expected[:-1], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(model.intercept_, expected[-1:], rtol=1e-9, atol=1e-13)
    stepwise, sparse = (clone(model) for _ in range(2))
    for _ in range(3):
        for part in np.array_split(np.arange(len(y)), 4):
            stepwise.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
    np.testing.assert_allclose(stepwise.coef_, model.coef_, rtol=1e-9, atol=1e-13)
    sparse.fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-9, atol=1e-13)
    assert not hasattr(model, "certificate_")
    certificate = model.certify(X, y, C=0.1)
    assert certificate.gap >= 0
    assert certificate.recomputed


def test_one_against_the_rest_and_no_intercept():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 300)
    X = np.eye(3)[y] + 0.2 * rng.normal(size=(300, 3))
    for update in UPDATES:
        model = OnlineClassifier(update, learning_rate=0.3, random_state=0).fit(X, y)
        assert model.coef_.shape == (3, 3)
        assert model.score(X, y) > 0.85
        assert model.certify(X, y, effort=5).gap >= 0
        assert OnlineClassifier(update, fit_intercept=False, random_state=0).fit(X, y).intercept_.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OnlineClassifier("winow"), "update"),
        (lambda: OnlineClassifier(learning_rate=0.0), "learning_rate"),
        (lambda: OnlineClassifier("p_norm", p=1.0), "p must"),
        (lambda: OnlineClassifier(max_iter=0), "max_iter"),
        (lambda: OnlineClassifier("winnow", prior=-1.0), "prior"),
        (
            lambda: OnlineClassifier("winnow", prior=np.full(7, 0.1)),
            "prior has 7 entries; .* each of the 8 features, and",
        ),
        (lambda: OnlineClassifier("winnow", prior=np.full(9, 0.1), fit_intercept=False), "each of the 8 features$"),
        (lambda: OnlineClassifier("winnow", mass=1.0), "use update='normalized_winnow'"),
        (lambda: OnlineClassifier(fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: OnlineClassifier(shuffle="no"), "shuffle must be True or False"),
        (lambda: OnlineClassifier("winnow", balanced="no"), "balanced must be True or False"),
        (lambda: WinnowClassifier(mass=1.0), "use normalized=True"),
        (lambda: WinnowClassifier(normalized="no"), "normalized must be True or False"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(FenchelError, match=message):
        make().fit(*zhang(20, 8))


def test_weights_that_overflow_are_refused_and_change_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    model = OnlineClassifier("winnow", random_state=0)
    with pytest.raises(FenchelError, match=r"overflowed: scale X .* or lower learning_rate=1"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    scaled = X / np.max(X, axis=0)
    before = model.fit(scaled, y).decision_function(scaled)
    with pytest.raises(FenchelError, match="overflowed"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(scaled), before)
    other = clone(model).fit(scaled, y).partial_fit(scaled, y)
    np.testing.assert_array_equal(model.partial_fit(scaled, y).coef_, other.coef_)


def test_labels_that_a_certificate_does_not_know_are_refused():
    X, y = zhang(40, 8)
    model = OnlineClassifier(random_state=0).fit(X, y)
    for labels in (y + 1, np.where(y > 0, "yes", "no")):
        with pytest.raises(FenchelError, match="labels that are not among the classes"):
            model.certify(X, labels)
        with pytest.raises(FenchelError, match="labels that are not among the classes"):
            model.partial_fit(X, labels)
    with pytest.raises(ValueError, match="y"):
        model.certify(X, None)
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.certify(X, y[:, None]) == model.certify(X, y)


@pytest.mark.parametrize("update", ["winnow", "normalized_winnow"])
def test_the_constant_has_the_mean_prior_unless_it_has_its_own(update, rarely_compiled):
    X, y = zhang(120, 20)
    prior = np.arange(1.0, 21.0) / 100
    common = {"learning_rate": 0.3, "shuffle": False}
    short, full = (
        OnlineClassifier(update, prior=given, **common).fit(X, y) for given in (prior, np.append(prior, 0.105))
    )
    np.testing.assert_allclose(short.coef_, full.coef_, rtol=1e-12)
    np.testing.assert_allclose(short.intercept_, full.intercept_, rtol=1e-12)
    assert not np.allclose(OnlineClassifier(update, prior=np.append(prior, 1.0), **common).fit(X, y).coef_, full.coef_)
    # the same estimator for data with other features
    assert short.set_params(prior=prior[:5]).fit(X[:, :5], y).coef_.shape == (1, 5)
