"""What users read where they take a wrong turn, and what notebooks show."""

import logging
import warnings

import numpy as np
import pytest

from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    MultilabelClassifier,
    OrdinalClassifier,
    Problem,
    certify,
    plot_convergence,
    regularization_path,
    solve,
)
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
