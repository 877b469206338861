"""Pictures and progress show the certificates of a fit, and say what they need."""

import logging

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fenchel import (
    FenchelError,
    LinearClassifier,
    Problem,
    SequenceClassifier,
    plot_convergence,
    plot_path,
    plot_transitions,
    regularization_path,
    solve,
)
from fenchel.plotting import plot_features
from fenchel.risks import MeanRisk

matplotlib = pytest.importorskip("matplotlib", reason="pictures need the plot extra")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_a_line_for_each_class_falls_to_tol():
    X, y = load_iris(return_X_y=True)
    model = LinearClassifier("logistic", multi_class="ovr", tol=1e-4, random_state=0).fit(X, y)
    axes = plot_convergence(model)
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert set(lines["tol = 0.0001"]) == {1e-4}
    for name, certificate in zip("012", model.certificates_, strict=True):
        assert np.all(np.diff(lines[name]) <= 0)
        assert lines[name][-1] == pytest.approx(certificate.relative_gap, rel=1e-9)
        assert lines[name][-1] <= 1e-4
    assert axes.get_ylabel() == "certified relative gap"


def test_a_path_shows_its_weights_and_what_is_proved_between_its_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    path = regularization_path(X, X @ [1.0, -2.0, 0.5, 0.0] > 0, (0.01, 10.0), accuracy=0.05, random_state=0)
    weights, proof = plot_path(path)
    drawn = {line.get_label(): line.get_ydata() for line in weights.get_lines()}
    np.testing.assert_array_equal(np.transpose([drawn[f"x{k}"] for k in range(4)]), path.coefs)
    between, points, *_, accuracy = proof.get_lines()
    assert np.max(between.get_ydata()) <= 0.05
    resolved = [not certificate.at_floor for certificate in path.certificates]
    np.testing.assert_array_equal(points.get_xdata(), path.Cs[resolved])
    assert set(accuracy.get_ydata()) == {0.05}
    assert plot_path(path, ax=[weights, proof])[0] is weights
    with pytest.raises(FenchelError, match="ax must be two matplotlib Axes"):
        plot_path(path, ax=[weights, proof, weights, proof])
    with pytest.raises(FenchelError, match="path must be"):
        plot_path(X)


def test_a_solution_can_be_drawn_on_given_axes():
    import matplotlib.pyplot as plt

    problem = Problem(np.eye(3), MeanRisk("squared", [1.0, 2.0, 3.0]), 0.1)
    axes = plt.subplots()[1]
    assert plot_convergence(solve(problem), ax=axes, against="passes") is axes
    (line,) = [line for line in axes.get_lines() if line.get_label() == "certificates"]
    assert line.get_xdata()[-1] >= 0.0


def test_what_can_not_be_drawn_is_named():
    with pytest.raises(FenchelError, match="fitted estimator or a Solution"):
        plot_convergence(LinearClassifier())
    with pytest.raises(FenchelError, match="against='hours' is unknown"):
        plot_convergence(LinearClassifier(), against="hours")


def test_verbose_logs_each_certificate_when_not_in_a_terminal(caplog):
    X, y = load_iris(return_X_y=True)
    with caplog.at_level(logging.INFO, logger="fenchel"):
        LinearClassifier(verbose=1, random_state=0).fit(X[:100], y[:100])
    assert any("gap" in record.message for record in caplog.records)


def test_verbose_in_a_terminal_shows_a_live_line(monkeypatch, capsys):
    pytest.importorskip("rich", reason="the live line needs the plot extra")
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    X, y = load_iris(return_X_y=True)
    model = LinearClassifier(verbose=1, random_state=0).fit(X[:100], y[:100])
    assert model.converged_


@pytest.mark.parametrize("transitions", ["full", "pairs"])
def test_transitions_are_a_table_of_colours(transitions):
    import matplotlib.pyplot as plt

    X, y = [["the", "dog", "barks"], ["a", "cat"]], [["D", "N", "V"], ["D", "N"]]
    model = SequenceClassifier("logistic", transitions=transitions, tol=1e-2).fit(X, y)
    axes = plt.subplots()[1]
    assert plot_transitions(model, ax=axes) is axes
    (image,) = axes.get_images()
    shown = np.asarray(image.get_array())
    rows = [label.get_text() for label in axes.get_yticklabels()]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    if transitions == "full":
        assert (rows, columns) == (["first", "D", "N", "V"], ["D", "N", "V", "last"])
        np.testing.assert_array_equal(shown[1:, :-1], model.transitions_)
        np.testing.assert_array_equal(shown[0, :-1], model.start_)
        np.testing.assert_array_equal(shown[1:, -1], model.end_)
        assert not np.isfinite(np.ma.filled(image.get_array(), np.nan)[0, -1])
    else:
        assert rows == columns == ["D", "N", "V"]
        np.testing.assert_array_equal(shown, model.transitions_)
    assert len(axes.texts) == (15 if transitions == "full" else 9)
    with pytest.raises(FenchelError, match="plot_transitions needs a fitted SequenceClassifier"):
        plot_transitions(SequenceClassifier())


@pytest.mark.parametrize("named", [True, False])
def test_the_features_of_each_label_are_drawn(named):
    words, y = [["the", "dog", "barks"], ["a", "cat", "sleeps"]], [["D", "N", "V"], ["D", "N", "V"]]
    X = words if named else [np.eye(6)[:3], np.eye(6)[3:]]
    model = SequenceClassifier("logistic", random_state=0).fit(X, y)
    axes = plot_features(model, count=1)
    (image,) = axes.get_images()
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["D", "N", "V"]
    first = "" if named else "x"
    assert rows == [f"{first}{one.feature}" for label in "DNV" for one in model.top_features(1, label)]
    names = list(model.vectorizer_.get_feature_names_out()) if named else [f"x{k}" for k in range(6)]
    np.testing.assert_array_equal(image.get_array(), model.coef_[:, [names.index(row) for row in rows]].T)
    with pytest.raises(FenchelError, match="plot_features needs a fitted SequenceClassifier"):
        plot_features(SequenceClassifier())
