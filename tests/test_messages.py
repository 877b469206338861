"""What users read where they take a wrong turn, and what notebooks show."""

import itertools
import logging
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fenchel import (
    Certificate,
    FenchelError,
    GapWarning,
    KernelClassifier,
    LinearClassifier,
    LinearSVC,
    MeasureClassifier,
    MultilabelClassifier,
    OnlineClassifier,
    OrdinalClassifier,
    Problem,
    certify,
    plot_convergence,
    progress,
    regularization_path,
    solve,
)
from fenchel.io import save_model
from fenchel.risks import MeanRisk


def some(n=60):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.where(X[:, 0] > 0, 1, -1)


def test_words_in_alphabetical_order_are_announced():
    X, _ = some()
    grades = np.array(["low", "medium", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    with pytest.warns(UserWarning, match="alphabetical order, 'high', 'low', 'medium': pass order="):
        OrdinalClassifier().fit(X, grades)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OrdinalClassifier(["low", "medium", "high"]).fit(X, grades)
        OrdinalClassifier().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))


def test_a_path_warns_outside_of_its_values_and_is_short():
    X, y = some()
    path = regularization_path(X, y, [0.1, 1.0], random_state=0)
    with pytest.warns(GapWarning, match="C=100 is outside of the path, whose values are 0.1 to 1"):
        path.at(100.0)
    for C in (0.1, 0.3, 1.0):
        path.at(C)
    assert repr(path).startswith("RegularizationPath(2 points, C from 0.1 to 1, 3 features, largest relative gap ")
    assert len(repr(path)) < 120


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(FenchelError, match=r"model must be a fitted estimator or a Solution, .* got ndarray"):
        plot_convergence(some()[0])
    with pytest.raises(FenchelError, match="got LinearClassifier: call fit"):
        plot_convergence(LinearClassifier())


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ({"solver": "dual_cordinate"}, "dual_coordinate"),
        ({"regularizer": "entrpy"}, "entropy"),
        ({"loss": "hinje"}, "hinge"),
    ],
    ids=["solver", "regularizer", "loss"],
)
def test_misspelt_names_have_a_suggestion(wrong, near):
    with pytest.raises(FenchelError, match=f"did you mean '{near}'"):
        LinearClassifier(**wrong).fit(*some())


def test_the_reason_for_missing_probabilities_is_in_the_error():
    with pytest.raises(AttributeError, match="MeasureClassifier: predict_proba is not available: scores are no"):
        _ = MeasureClassifier("f1").predict_proba
    with pytest.raises(AttributeError, match="LinearClassifier: predict_proba requires loss='logistic'"):
        _ = LinearClassifier("hinge").predict_proba
    with pytest.raises(AttributeError, match="form='independent'"):
        _ = MultilabelClassifier(form="joint").predict_proba
    assert hasattr(LinearClassifier("logistic"), "predict_proba")
    assert "Probabilities" in LinearClassifier.predict_proba.__doc__


def test_a_verbose_fit_ends_with_what_it_proved(caplog):
    X, y = some()
    with caplog.at_level(logging.WARNING, logger="fenchel"):
        LinearClassifier(verbose=1, random_state=0).fit(X, y)
        LinearClassifier(verbose=1, random_state=0, multi_class="ovr").fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    last = [record.getMessage() for record in caplog.records]
    assert "is proved to be within" in last[-1]
    assert "in 3 problems" in last[-1]
    assert sum("is proved to be within" in line for line in last) == 2


def test_a_verbose_fit_does_not_stand_still(caplog, monkeypatch):
    """With a clock that moves a second at each look, a line follows the last one after two to four seconds."""
    clock = itertools.count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    X, y = some()
    with caplog.at_level(logging.WARNING, logger="fenchel"):
        LinearClassifier("hinge", solver="dual_coordinate", verbose=1, tol=1e-9, C=1e3).fit(X, y)
    lines = [record.getMessage() for record in caplog.records]
    waiting = [line for line in lines if line.endswith("next certificate pending")]
    seconds = [float(re.search(r": (\d+) s", line)[1]) for line in waiting]
    assert len(waiting) >= 2
    assert seconds == sorted(seconds)
    assert any(re.search(r"gap \d\.\de[+-]\d\d so far", line) for line in waiting[1:])
    assert re.search("of the optimum|optimal to the accuracy", lines[-1]), "it ends with what it proved"


def test_lines_of_a_long_fit_become_rarer(caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.reporter("Fit", 1, 1e-3, 1) as show, caplog.at_level(logging.WARNING, logger="fenchel"):
        asked = show(0).on_each_request(lambda: False)
        for now[0] in np.arange(0.0, 3600.0, 0.5):
            assert not asked()
    times = [float(re.search(r": (\d+) s", record.getMessage())[1]) for record in caplog.records]
    assert np.all(np.diff(times[:20]) <= 3.0)
    assert len(times) < 200


def test_notebooks_show_sentences():
    X, y = some()
    problem = Problem(X, MeanRisk("hinge", y), 0.1)
    solution = solve(problem, tol=1e-6)
    for thing in (solution, solution.certificate, regularization_path(X, y, [0.1]), certify_of(X, y)):
        assert thing._repr_html_().startswith("<div style=")
        assert 100 < len(thing._repr_html_()) < 1500
    assert repr(solution).startswith("Solution(status=CONVERGED, relative_gap=")


def certify_of(X, y):
    from sklearn.linear_model import Ridge

    return certify(Ridge().fit(X, y), X, y)


def test_advice_names_only_what_can_be_set():
    X, y = some()
    with pytest.raises(FenchelError, match="lower C") as raised:
        LinearClassifier(C=1e300).fit(X, y)
    assert "e-3" not in str(raised.value), "no value of lam, which the estimator has not"
    for estimator, advice in ((LinearSVC, "raise max_iter, lower C"), (LinearClassifier, "max_iter or time_limit")):
        with pytest.warns(GapWarning, match=advice):
            estimator(max_iter=1, tol=1e-12).fit(X, y)


def test_a_wrong_conjugate_is_not_blamed_on_kernels_alone():
    assert "check_loss" in str(Certificate(1.0, 2.0, 0.0, 0.0))


def test_online_weights_are_judged_by_an_objective_that_is_named():
    X, y = some()
    judged = OnlineClassifier(random_state=0).fit(X, y).certify(X, y, C=2.0, loss="logistic")
    assert "(logistic loss with C=2)" in str(judged)


@pytest.mark.parametrize("kind", [LinearClassifier, KernelClassifier])
def test_the_witness_can_be_dropped(kind, tmp_path):
    X, y = some(400)
    model = kind().fit(X, y)
    predicted, certificate, before = model.predict(X), model.certificate_, len(pickle.dumps(model))
    assert model.drop_witness() is model
    assert before - len(pickle.dumps(model)) > 0.9 * 8 * 400
    np.testing.assert_array_equal(model.predict(X), predicted)
    assert model.certificate_ == certificate
    assert model.certified_predictions(X).predictions.shape == (400,)
    if kind is LinearClassifier:
        with pytest.raises(FenchelError, match="no theta_"):
            save_model(tmp_path / "model.npz", model)
        assert not list(tmp_path.iterdir())
    model.set_params(warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), predicted)
    assert len(model.theta_) == 400
    with pytest.raises(NotFittedError):
        kind().drop_witness()
