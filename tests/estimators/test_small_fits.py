"""What makes fits to few examples short must not change what they accept, draw or prove."""

import warnings

import numpy as np
import pytest
from sklearn.utils import check_random_state

from fenchel import LinearClassifier, LinearRegressor, LinearSVC, Problem, Witness, certify, solve
from fenchel.certificate.rounding import zero_objective
from fenchel.errors import FenchelError
from fenchel.estimators.labels import encode_labels
from fenchel.estimators.seeds import seeds_of
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk


@pytest.mark.parametrize("make", [lambda: 0, lambda: 7, lambda: np.int64(3), lambda: np.random.RandomState(5)])
def test_seeds_are_those_of_scikit_learns_generator(make):
    for _ in range(2):
        expected = check_random_state(make()).randint(2**31 - 1, size=4)
        assert list(seeds_of(make(), 4)) == expected.tolist()
    generator = make()
    if isinstance(generator, np.random.RandomState):
        assert seeds_of(generator, 4) != seeds_of(generator, 4)


def test_integers_that_look_like_targets_still_warn_and_fractions_are_refused():
    with pytest.warns(UserWarning, match="greater than 50%"):
        encode_labels(np.arange(30), None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(encode_labels(np.arange(30) % 3, None, None).classes) == [0, 1, 2]
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_labels(np.array([0.5, 1.5, 2.5]), None, None)


@pytest.mark.parametrize("make", [LinearSVC, LinearClassifier, LinearRegressor])
def test_arrays_are_validated_as_scikit_learn_does(make):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    model = make().fit(X, y)
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    missing = X.copy()
    missing[3, 1] = np.nan
    for wrong, words in ((missing, "NaN"), (X[:, 0], "2D array"), (X[:, :0], "0 feature"), (X + 1j, "[Cc]omplex")):
        with pytest.raises(ValueError, match=words):
            make().fit(wrong, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        make().fit(X, None)
    with pytest.raises(ValueError, match="inconsistent"):
        make().fit(X, y[:-1])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "squared", "huber"])
def test_a_model_is_trivial_only_if_the_zero_model_is_as_good(name, intercept):
    """Whether the search for the best constant is skipped or not: strong regularization makes zero weights optimal."""
    loss = LOSSES[name]()
    random = np.random.default_rng(1)
    y = np.where(random.random(30) < 0.4, 1.0, -1.0) if loss.task == "classification" else random.standard_normal(30)
    for X, trivial in ((random.standard_normal((30, 2)), False), (np.zeros((30, 2)), True)):
        problem = Problem(X, MeanRisk(loss, y), 0.1, intercept=intercept)
        solution = solve(problem, tol=0.0)
        certificate = solution.certificate
        assert certificate.trivial is trivial
        as_good = zero_objective(problem) <= certificate.primal + certificate.rounding_floor
        assert as_good is trivial


def test_zero_objective_is_that_of_the_best_constant():
    random = np.random.default_rng(2)
    y = random.standard_normal(15)
    problem = Problem(random.standard_normal((15, 2)), MeanRisk("squared", y), 1.0, intercept=True)
    expected = 0.5 * float(np.mean((y - y.mean()) ** 2))
    assert zero_objective(problem) == pytest.approx(expected, rel=1e-14)
    assert certify(problem, np.zeros(2), Witness(np.zeros(15))).primal == pytest.approx(expected, rel=1e-14)
    with pytest.raises(FenchelError):
        certify(problem, np.zeros(3))
