"""Time limits and Ctrl-C of fits with several problems, of cross-validation and of paths, on a clock of their own."""

import contextlib
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fenchel import LinearClassifier, LinearClassifierCV, LinearRegressorCV, regularization_path
from fenchel.designs import DenseDesign
from fenchel.errors import GapWarning
from fenchel.solvers import DualCoordinate
from fenchel.solving import outputs, run

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 4))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(90) > 0.0, 1, 0)
CLASSES = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(90), [-0.5, 0.5])
CS = [0.01, 0.1, 1.0, 10.0]


@contextlib.contextmanager
def warned(message):
    """Among the warnings of the block there is one like this."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert any(re.search(message, str(one.message)) and one.category is GapWarning for one in caught)


class Clock:
    """A second for each certificate and none for anything else."""

    def __init__(self, monkeypatch):
        self.now, judge = 0.0, run.judge

        def slow_judge(*arguments):
            self.now += 1.0
            return judge(*arguments)

        monkeypatch.setattr(run, "judge", slow_judge)
        monkeypatch.setattr("fenchel.compile.stopwatch.stopwatch.clock", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def model():
    return LinearClassifierCV(Cs=CS, cv=3, solver="dual_coordinate", random_state=0, tol=1e-6)


def seconds(clock, model, y=Y):
    begin = clock.now
    model.fit(X, y)
    return clock.now - begin


def test_a_limit_that_is_not_reached_changes_nothing(clock, model):
    free, needed = model.fit(X, Y), clock.now
    # the folds get three quarters of it, in equal shares
    limited = LinearClassifierCV(**model.get_params()).set_params(time_limit=4 * needed).fit(X, Y)
    np.testing.assert_array_equal(limited.coef_, free.coef_)
    np.testing.assert_array_equal(limited.scores_, free.scores_)
    assert np.all(np.isfinite(free.scores_))
    assert free.converged_


@pytest.mark.parametrize("limit", [0, 1, 3, 8, 14])
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["two classes", "ovr"])
def test_the_limit_of_cross_validation_is_for_all_of_it(clock, model, limit, y):
    model.set_params(time_limit=limit, multi_class="ovr")
    with warned("skipped or cut short"):
        used = seconds(clock, model, y)
    # one certificate: of each of the problems that make up the model
    assert used <= limit + len(model.certificates_)
    assert model.scores_.shape == model.gaps_.shape == (3, 4)
    assert np.any(np.isnan(model.scores_))
    np.testing.assert_array_equal(np.isnan(model.scores_), np.isnan(model.gaps_))
    assert model.C_ in CS
    assert np.isfinite(model.certificate_.gap)
    assert model.predict(X).shape == (90,)


def test_c_is_chosen_among_values_that_every_fold_completed(clock, model):
    model.set_params(time_limit=14)
    with warned(r"C was chosen among \d of 4 values"):
        model.fit(X, Y)
    folds = np.sum(np.isfinite(model.scores_), axis=0)
    tried = np.flatnonzero(folds == 3)
    assert 0 < len(tried) < 4
    means = np.mean(model.scores_[:, tried], axis=0)
    assert CS[tried[np.argmax(means)]] == model.C_


def test_without_time_for_any_fold_c_is_the_smallest(clock, model):
    model.set_params(time_limit=0)
    with warned("skipped"):
        model.fit(X, Y)
    assert CS[0] == model.C_
    assert np.all(np.isnan(model.scores_))


def test_the_regressor_too(clock):
    model = LinearRegressorCV(Cs=CS, cv=3, time_limit=4, tol=1e-9, solver="dual_coordinate")
    with warned("skipped or cut short"):
        model.fit(X, X @ np.ones(4) + rng.standard_normal(90))
    assert np.isfinite(model.certificate_.gap)


def test_problems_share_a_limit(clock):
    model = LinearClassifier(tol=1e-9, time_limit=2, solver="dual_coordinate", multi_class="ovr")
    with warned("the time limit was reached"):
        used = seconds(clock, model, CLASSES)
    assert used <= 2 + 3
    assert len(model.certificates_) == 3


def test_a_limit_is_shared_by_the_classes(clock):
    settings = {"C": 1e3, "tol": 1e-14, "time_limit": 6, "random_state": 0, "solver": "dual_coordinate"}
    # few rows have few certificates in a thousand passes
    model = LinearClassifier("logistic", multi_class="ovr", max_iter=1e5, **settings)
    with warned("the time limit was reached"):
        used = seconds(clock, model, CLASSES)
    assert 6 <= used <= 6 + 3
    assert all(trace[-1].passes >= 1 for trace in model.trace_)


@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize("Cs", [CS, (0.01, 100.0)], ids=["values", "interval"])
def test_the_limit_of_a_path(clock, Cs, limit):
    with warned("ended at C="):
        path = regularization_path(X, Y, Cs, tol=1e-9, accuracy=1e-6, time_limit=limit, solver="dual_coordinate")
    assert clock.now <= limit + 1
    assert len(path.Cs) == len(path.certificates) == len(path.coefs) >= 1
    assert all(np.isfinite(certificate.gap) for certificate in path.certificates)


@pytest.mark.parametrize("multi_class", ["ovr", "multinomial"])
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("limited", [False, True], ids=["converged", "limited"])
def test_what_follows_a_solve_is_one_product_with_the_data(monkeypatch, multi_class, y, limited):
    """Proved predictions need more: it is computed before the solve, or after a limit taken from the certificate."""
    products, solves, finished, together = [0], [], run.Run._finished, outputs._solution
    # fewer rows are copied instead, and nothing is computed before the first proved prediction
    monkeypatch.setattr("fenchel.estimators.proved._FEW_ENTRIES", 0)

    def counted(product):
        def one(*arguments):
            products[0] += 1
            return product(*arguments)

        return one

    def end(*arguments):
        solves.append(products[0])
        return finished(*arguments)

    def end_together(*arguments):
        solves.append(products[0])
        return together(*arguments)

    monkeypatch.setattr(run.Run, "_finished", end)
    monkeypatch.setattr(outputs, "_solution", end_together)
    for name in ("scores", "adjoint"):
        monkeypatch.setattr(DenseDesign, name, counted(getattr(DenseDesign, name)))
    model = LinearClassifier("logistic", multi_class=multi_class, random_state=0)
    if limited:
        # a certificate for each problem
        Clock(monkeypatch)
        problems = 3 if multi_class == "ovr" and y is CLASSES else 1
        model.set_params(tol=0.0, C=0.01, time_limit=problems)
        with warned("the time limit was reached"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    # classes of small data are solved together, before what follows each of them
    solved_before = 3 if multi_class == "ovr" and y is CLASSES else 1
    assert products[0] - solves[-1] == (0 if limited else solved_before)
    assert model.certified_predictions(X).share_proved > 0.0


def test_no_intercept_is_bracketed_for_problems_that_a_limit_came_before(monkeypatch):
    monkeypatch.setattr("fenchel.estimators.proved._MOST_PENDING", 0)
    monkeypatch.setattr("fenchel.certificate.confinement._bracketed", lambda *given: pytest.fail("bracketed"))
    model = LinearClassifier("logistic", multi_class="ovr", time_limit=0)
    with warned("the time limit was reached"):
        model.fit(X, CLASSES)
    found = model.certified_predictions(X)
    assert not np.any(found.proved)
    assert np.all(found.lower == -np.inf)
    assert np.all(found.upper == np.inf)


class Impatient(DualCoordinate):
    """A user who presses Ctrl-C in the step of this number, counted over all solves of a fit."""

    steps_left = 0

    def step(self, state, hint):
        Impatient.steps_left -= 1
        if Impatient.steps_left == 0:
            raise KeyboardInterrupt
        return super().step(state, replace(hint, passes=1.0))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["two classes", "ovr"])
@pytest.mark.parametrize("step", [1, 20, 60, 150, 300])
def test_ctrl_c_in_cross_validation_stores_the_best_so_far(model, step, y):
    Impatient.steps_left = step
    model.set_params(solver=Impatient(), multi_class="ovr")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    if not hasattr(model, "certificate_"):
        # no fold had a model yet
        assert step == 1 or len(np.unique(y)) > 2
        return
    assert model.C_ in CS
    assert np.isfinite(model.certificate_.gap)
    # the model of a fold is a better one for all examples than none
    assert all(certificate.primal < 1.0 for certificate in model.certificates_)
    assert model.predict(X).shape == (90,)


def test_ctrl_c_in_a_path_returns_the_points_so_far():
    Impatient.steps_left = 30
    with warned("ended at C="):
        path = regularization_path(X, Y, CS, tol=1e-9, solver=Impatient())
    assert 1 <= len(path.Cs) < 4
    assert np.isfinite(path.certificates[-1].gap)
