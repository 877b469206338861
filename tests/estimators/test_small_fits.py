"""What makes fits to few examples short must not change what they accept, draw or prove."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.utils import check_random_state

from fenchel import (
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Model,
    Problem,
    Witness,
    certify,
    solve,
)
from fenchel.certificate.trivial import zero_objective
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.labels import _classes_and_codes, encode_labels
from fenchel.estimators.seeds import seeds_of
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk
from fenchel.solving.outputs import solve_outputs
from versions import SKLEARN


@pytest.mark.parametrize("make", [lambda: 0, lambda: 7, lambda: np.int64(3), lambda: np.random.RandomState(5)])
def test_seeds_are_those_of_scikit_learns_generator(make):
    for _ in range(2):
        expected = check_random_state(make()).randint(2**31 - 1, size=4)
        assert list(seeds_of(make(), 4)) == expected.tolist()
    generator = make()
    if isinstance(generator, np.random.RandomState):
        assert seeds_of(generator, 4) != seeds_of(generator, 4)


def test_integers_that_look_like_targets_still_warn_and_fractions_are_refused():
    if SKLEARN >= (1, 8):
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


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("low", [-100, 0, 27])
def test_many_integer_labels_are_counted_as_they_would_be_sorted(kind, low):
    y = np.random.default_rng(low + 100).choice([0, 3, 90, 100], 200) + low
    y = np.abs(y).astype(kind) if kind is np.uint8 else y.astype(kind)
    weights = (y != y[0]).astype(float)
    for given in (None, weights):
        expected = np.unique(y if given is None else y[given > 0])
        found = encode_labels(y, given, None)
        np.testing.assert_array_equal(found.classes, expected, strict=True)
        kept = slice(None) if given is None else given > 0
        np.testing.assert_array_equal(found.classes[found.codes][kept], y[kept])


@pytest.mark.parametrize("y", [[np.iinfo(np.int64).min, np.iinfo(np.int64).max], [2**62, -(2**62)]])
def test_integer_labels_that_are_far_apart_are_not_counted(y):
    assert encode_labels(np.array(y), None, None).classes.tolist() == sorted(y)


def three_classes(rows=60, seed=2):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, rows)
    return random.standard_normal((rows, 4)) + 0.7 * np.eye(3, 4)[y], np.array(["a", "b", "c"])[y]


def fitted_apart(model, *data):
    """The attributes of a fit whose classes are solved one at a time."""
    model.problem_of_outputs = lambda task: None
    found = dict(vars(model.fit(*data)))
    del model.problem_of_outputs
    return found


@pytest.mark.parametrize(
    ("make", "storage"),
    [
        (LinearSVC, np.asarray),
        (lambda: LinearSVC(fit_intercept=False, class_weight="balanced"), sp.csr_array),
        (lambda: LinearClassifier("squared_hinge", n_jobs=2, max_iter=np.inf), np.asarray),
        (lambda: LinearClassifier("logistic", multi_class="ovr", tol=1e-6), np.asfortranarray),
        (lambda: LinearClassifier("huber_hinge", multi_class="ovr", solver="newton"), np.float32),
        (lambda: LinearClassifier("squared_hinge", tol=1e-13), np.asarray),
        (lambda: LinearClassifier("hinge", multi_class="ovr"), np.asarray),
        (lambda: LinearClassifier("hinge", multi_class="ovr", fit_intercept=False, tol=1e-9), sp.csr_array),
    ],
)
def test_classes_that_are_solved_together_have_the_same_models(make, storage, monkeypatch):
    """Bit by bit: the same steps, and certificates that differ in their last bits at most.

    So do intercepts between kinks, which come from the scores of the certificates.
    """
    X, y = three_classes()
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    for data in ((storage(X), y), (storage(X), y, weights)):
        model = make()
        apart = fitted_apart(model, *data)
        # one by one they would be solved here
        monkeypatch.setattr("fenchel.estimators.base.solve", None)
        together = vars(model.fit(*data))
        monkeypatch.undo()
        for name in ("coef_", "theta_", "n_iter_", "solver_", "converged_"):
            np.testing.assert_array_equal(together[name], apart[name], err_msg=name)
        smooth = model._loss().smooth
        np.testing.assert_allclose(together["intercept_"], apart["intercept_"], rtol=0.0 if smooth else 1e-14)
        for found, expected in zip(together["certificates_"], apart["certificates_"], strict=True):
            assert found.meets(model.tol)
            assert abs(found.primal - expected.primal) <= found.primal_error
            assert found.rounding_floor == pytest.approx(expected.rounding_floor, rel=1e-9)
        proved = model.certified_predictions(storage(X))
        np.testing.assert_array_equal(proved.predictions, model.predict(storage(X)))
        assert len(model.trace_) == 3 and all(len(trace) == 1 for trace in model.trace_)


@pytest.mark.parametrize(
    "make",
    [
        LinearSVC,
        LinearSVR,
        lambda: LinearClassifier("logistic", tol=1e-8),
        lambda: LinearClassifier("hinge", tol=1e-8),
        lambda: LinearRegressor("absolute", C=0.1, fit_intercept=False),
        lambda: LinearRegressor("epsilon_insensitive", C=100.0, tol=1e-6),
    ],
)
def test_one_small_problem_has_the_same_model_as_by_solve(make, monkeypatch):
    X, labels = three_classes()
    model, y = make(), (labels == "b").astype(int)
    y = X[:, 0] + y if is_regressor(model) else y
    apart = fitted_apart(model, X, y)
    monkeypatch.setattr("fenchel.estimators.base.solve", None)
    together = vars(model.fit(X, y))
    for name in ("coef_", "intercept_", "theta_", "n_iter_", "solver_", "certificate_"):
        np.testing.assert_array_equal(together[name], apart[name], err_msg=name)


@pytest.mark.parametrize("C", [1e-3, 0.1])
def test_small_fits_are_never_worse_than_the_zero_model(C):
    """Most of the targets are zero, so that no other model has a smaller sum of absolute errors."""
    X, labels = three_classes()
    model = LinearRegressor("absolute", C=C, tol=0.1).fit(X, (labels == "b").astype(float))
    assert model.converged_
    assert model.certificate_.primal <= np.mean(labels == "b")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize(("l1_ratio", "tol"), [(0.0, 1e-3), (0.0, 1e-8), (1.0, 1e-8)])
def test_small_least_squares_are_solved_by_the_moments(l1_ratio, tol, fit_intercept, weighted, monkeypatch):
    """The model, its dual point and what they prove are those of ``solve``, which is not called."""
    X, labels = three_classes()
    y, weights = 3.0 * X[:, 0] + (labels == "b"), np.random.default_rng(0).integers(0, 4, len(X)) if weighted else None
    model = LinearRegressor("squared", C=0.1, l1_ratio=l1_ratio, tol=tol, fit_intercept=fit_intercept)
    apart = fitted_apart(clone(model).set_params(tol=1e-11), X, y, weights)
    monkeypatch.setattr("fenchel.estimators.base.solve", None)
    model.fit(X, y, weights)
    assert (model.solver_, model.converged_, model.n_iter_) == (apart["solver_"], True, 1)
    np.testing.assert_allclose(model.coef_, apart["coef_"], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, apart["intercept_"], atol=1e-3)
    assert model.certificate_.proves(tol)
    assert model.certificate_.lower <= apart["certificate_"].upper
    assert model.certificate_.upper >= apart["certificate_"].lower
    # theta_ proves the same from the scores
    lam = 1.0 / (0.1 * (len(y) if weights is None else weights.sum()))
    problem = Problem(X, MeanRisk("squared", y, weights), lam, "l1" if l1_ratio else "l2", intercept=fit_intercept)
    again = certify(problem, Model(model.coef_, model.intercept_), Witness(model.theta_))
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    if l1_ratio == 0.0:
        assert np.all(model.certified_predictions(X).upper >= model.predict(X))


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("offset", [1e2, 1e3, 1e4])
def test_least_squares_far_from_zero_prove_their_tolerance(offset, l1_ratio):
    X, _ = three_classes()
    y = X[:, 0] + np.random.default_rng(0).normal(size=len(X))
    model = LinearRegressor("squared", l1_ratio=l1_ratio, tol=1e-6).fit(X + offset, y + offset)
    assert model.converged_
    near = LinearRegressor("squared", l1_ratio=l1_ratio, tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize(("size", "label"), [(1.0, 1e160), (1e155, 1.0), (1e100, 1e140), (1e155, 1e160)])
def test_least_squares_whose_moments_overflow_are_refused_without_warnings(size, label, fit_intercept):
    X, _ = three_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FenchelError, match="scale X"):
            LinearRegressor("squared", fit_intercept=fit_intercept).fit(size * X, label * X[:, 0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_classes_of_integers_are_those_of_unique(dtype):
    random = np.random.default_rng(0)
    for values in (
        [3, 3, 3],
        [7, 5, 5, 7],
        random.integers(0, 9, 30),
        [0, 100],
        np.iinfo(dtype).max - np.arange(4, dtype=dtype),
    ):
        y = np.asarray(values).astype(dtype)
        classes, codes = np.unique(y, return_inverse=True)
        found = _classes_and_codes(y)
        assert found[0].dtype == dtype
        np.testing.assert_array_equal(found[0], classes)
        np.testing.assert_array_equal(found[1], codes)


@pytest.mark.parametrize(
    "make",
    [
        # no solver for several outputs, no proof within the passes, and what looks at one problem at a time
        lambda: LinearClassifier("hinge", multi_class="ovr", tol=1e-12),
        lambda: LinearClassifier("hinge", multi_class="ovr", max_iter=1),
        lambda: LinearSVC(max_iter=1),
        lambda: LinearClassifier("squared_hinge", tol=0.0),
        lambda: LinearClassifier("squared_hinge", time_limit=100.0),
        lambda: LinearClassifier("squared_hinge", l1_ratio=0.5),
        lambda: LinearClassifier("hinge"),
    ],
)
def test_other_fits_solve_one_class_at_a_time(make, monkeypatch):
    X, y = three_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apart = fitted_apart(make().set_params(random_state=0), X, y)
        model = make().set_params(random_state=0).fit(X, y)
    for name in ("coef_", "intercept_", "theta_", "n_iter_"):
        np.testing.assert_array_equal(vars(model)[name], apart[name], err_msg=name)
    assert model.certificate_ == apart["certificate_"]


@pytest.mark.parametrize("make", [LogisticRegression, lambda: LinearClassifier("logistic", tol=1e-8)])
def test_joint_classes_that_are_solved_at_once_are_the_same_up_to_the_proof(make, monkeypatch):
    X, y = three_classes()
    model = make()
    apart = fitted_apart(model, X, y)
    monkeypatch.setattr("fenchel.estimators.base.solve", None)
    model.fit(X, y)
    assert model.converged_ and model.solver_ == "newton_cg"
    certificate, other = model.certificate_, apart["certificate_"]
    assert certificate.upper >= other.lower and other.upper >= certificate.lower
    np.testing.assert_allclose(model.coef_, apart["coef_"], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("name", "value"), [("tol", "small"), ("tol", -1.0), ("max_iter", "many"), ("max_iter", np.nan)]
)
def test_wrong_limits_of_small_fits_are_named(name, value):
    X, y = three_classes()
    with pytest.raises(FenchelError, match=f"{name} must be"):
        LinearClassifier("squared_hinge", **{name: value}).fit(X, y)


def test_a_stop_leaves_classes_to_their_own_solves():
    X, y = three_classes()
    labels = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    problem = Problem(X, MeanRisk("squared_hinge", labels), 0.01, intercept=True)
    options = {"tol": 1e-3, "max_iter": 100, "seed": 0, "n_jobs": 1}
    assert solve_outputs(problem, "auto", **options, stop_requested=lambda: True) == [None] * 3
    assert None not in solve_outputs(problem, "auto", **options, stop_requested=lambda: False)
    # dual coordinate descent does not solve outputs together
    assert solve_outputs(problem, "dual_coordinate", **options, stop_requested=lambda: False) == [None] * 3


@pytest.mark.parametrize("regularizer", ["l1", "l2"])
def test_rows_of_a_design_that_were_changed_in_place_are_certified_as_they_are(regularizer):
    random = np.random.default_rng(11)
    X, y = random.integers(0, 5, (64, 3)).astype(float), np.repeat([0.0, 1.0], 32)
    X[:, 0] += y
    X[:, 1] = X[:, 0] + random.integers(0, 2, 64)
    design = as_design(X)
    for _ in range(2):
        found = LinearRegressor(C=0.1, regularizer=regularizer, tol=1e-6).fit(design, y)
        fresh = LinearRegressor(C=0.1, regularizer=regularizer, tol=1e-6).fit(X.copy(), y)
        assert found.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=1e-5)
        np.testing.assert_allclose(found.coef_, fresh.coef_, rtol=1e-2, atol=1e-2)
        # with the same sums over the rows, and over those with each label
        for rows in (slice(0, 32), slice(32, 64)):
            X[rows, 1] = random.permutation(X[rows, 1])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_design_whose_rows_have_changed_since_an_earlier_fit_has_other_norms(loss, storage):
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(40, 3))
    y = rows[:, 0] > rng.normal(size=40)
    X = storage(rows)
    design, own = as_design(X), {"C": 1e-3, "random_state": 0}
    LinearClassifier(loss, **own).fit(design, y)
    (X if storage is np.asarray else X.data)[:] *= 1e3
    again, fresh = (LinearClassifier(loss, **own).fit(one, y) for one in (design, X.copy()))
    assert again.certificate_ == fresh.certificate_
