"""Every picture shows the numbers that it is about, on any Axes, and says what it needs."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_multilabel_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fenchel import (
    Certificate,
    FenchelError,
    KernelClassifier,
    LinearClassifier,
    MeasureClassifier,
    MultilabelClassifier,
    OrdinalClassifier,
    Problem,
    certify,
    plotting,
    regularization_path,
    solve,
)
from fenchel.risks import MeanRisk
from fenchel.solving.solution import Estimate, Trace, TracePoint

matplotlib = pytest.importorskip("matplotlib", reason="pictures need the plot extra")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need the plot extra")

X, Y = load_iris(return_X_y=True)
TWO = LinearClassifier("logistic", tol=1e-6, random_state=0).fit(X[50:], Y[50:])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


# --- convergence


def test_estimates_of_the_solver_are_kept_between_the_proofs():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((300, 20))
    problem = Problem(data, MeanRisk("hinge", np.sign(data[:, 0])), 1e-4)
    trace = solve(problem, "dual_coordinate", tol=1e-6).trace
    assert trace.estimates
    assert len(trace.estimates) < 1000
    assert all(
        later.passes > former.passes for former, later in zip(trace.estimates, trace.estimates[1:], strict=False)
    )
    assert pickle.loads(pickle.dumps(trace)).estimates == trace.estimates
    assert trace.estimates[-1].passes <= trace[-1].passes


def test_the_trace_of_two_solves_is_cumulative():
    first = Trace([TracePoint(1.0, 0.5, 3.0, 2.0, 1.0)], [Estimate(0.5, 1.0, 9.0)])
    both = first.then(Trace([TracePoint(0.25, 0.25, 2.0, 1.5, 1.4)], [Estimate(0.1, 1.0, 3.0)]))
    assert both[1] == TracePoint(1.25, 0.75, 5.0, 1.5, 1.4)
    assert both.estimates == [Estimate(0.5, 1.0, 9.0), Estimate(1.6, 4.0, 3.0)]
    assert both[0] is first[0]


def test_proofs_are_markers_and_estimates_are_dashed():
    # with a limit, a small fit is solved step by step
    model = clone(TWO).set_params(time_limit=60.0).fit(X[50:], Y[50:])
    display = plotting.ConvergenceDisplay.from_estimator(model, against="passes")
    (line,), (dashed,) = display.lines_, display.estimates_
    assert line.get_marker() != "None"
    assert dashed.get_linestyle() == "--"
    np.testing.assert_array_equal(line.get_xdata(), [point.passes for point in model.trace_])
    floor = model.certificate_.rounding_floor / model.certificate_.scale
    assert line.get_ydata()[-1] == pytest.approx(max(model.certificate_.relative_gap, floor))
    expected = [estimate.gap / model.certificate_.scale for estimate in model.trace_.estimates]
    np.testing.assert_allclose(dashed.get_ydata(), np.maximum(expected, floor))
    assert display.figure_ is display.ax_.figure


def test_rivals_are_overlaid_with_their_names():
    other = plotting.GapCurve.point("scikit-learn", 0.5, 1e-3)
    ax = plotting.plot_convergence({"here": TWO, "<there>": other})
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["here", "<there>"]
    assert plotting.ConvergenceDisplay.from_estimator([TWO, other], labels=["a", "b"]).curves[1].label == "b"
    with pytest.raises(FenchelError, match="a name for each of the 2 models, got 1"):
        plotting.plot_convergence([TWO, TWO], labels=["a"])
    with pytest.raises(FenchelError, match="keys of a mapping"):
        plotting.plot_convergence({"a": TWO}, labels=["b"])


def test_many_problems_share_a_colour():
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((90, 4)), np.arange(90) % 10
    model = LinearClassifier("logistic", multi_class="ovr", tol=0.5, random_state=0).fit(data, labels)
    display = plotting.ConvergenceDisplay.from_estimator(model)
    assert len(display.lines_) == 10
    assert len({line.get_color() for line in display.lines_}) == 1
    assert "10 problems" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_steps_of_a_pipeline_are_passed():
    model = make_pipeline(StandardScaler(), LinearClassifier(random_state=0)).fit(X[50:], Y[50:])
    assert plotting.plot_convergence(model).get_title().startswith("Convergence of LinearClassifier")
    assert len(plotting.plot_coefficients(model).get_yticklabels()) == 4
    (curve,) = plotting.ThresholdDisplay.from_estimator(model, X[50:], Y[50:]).curves
    assert curve.value == pytest.approx(f1_score(Y[50:], model.predict(X[50:]), pos_label=2))


# --- paths


def test_one_subplot_is_divided_for_a_path():
    path = regularization_path(X[50:], Y[50:], [0.01, 1.0], loss="logistic", random_state=0)
    figure, axes = plt.subplots(1, 2)
    weights, gap = plotting.plot_path(path, ax=axes[1])
    assert weights.figure is figure
    assert (weights.get_ylabel(), gap.get_xlabel()) == ("weight", "C")
    assert axes[1].get_position().contains(*gap.get_position().min + 1e-9)
    with pytest.raises(FenchelError, match="ax must be a subplot"):
        plotting.plot_path(path, ax=figure.add_axes((0.0, 0.0, 0.1, 0.1)))


def test_a_path_of_many_points_shows_the_largest_gaps_without_markers():
    path = regularization_path(X[50:], Y[50:], np.geomspace(1e-3, 1e3, 70), loss="logistic", random_state=0)
    _, gap = plotting.plot_path(path)
    line = next(line for line in gap.get_lines() if line.get_label() == "proved for every C (its peaks)")
    assert all(line.get_marker() in (None, "None", "") for line in gap.get_lines())
    drawn = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert all(drawn[C] >= one.relative_gap for C, one in zip(path.Cs, path.certificates, strict=True) if C in drawn)


def test_the_time_of_one_certificate_is_seen_from_zero():
    ax = plotting.plot_convergence([plotting.GapCurve.point("one", seconds=2.0, gap=1e-3)])
    assert ax.get_xlim()[0] == 0.0


def test_gaps_within_rounding_do_not_stretch_the_axis():
    path = regularization_path(
        X[50:], Y[50:], [1e-6, 1e-2, 1.0], loss="logistic", l1_ratio=1.0, tol=1e-4, random_state=0
    )
    assert path.certificates[0].at_floor
    display = plotting.PathDisplay.from_path(path, feature_names=["a", "b", "$c", "d" * 50])
    low, high = display.ax_[1].get_ylim()
    assert high / low < 1e8
    names = {line.get_label() for line in display.lines_}
    assert names <= {"a", "b", r"\$c", "d" * 14 + "…" + "d" * 7}
    sizes = [np.max(np.abs(line.get_ydata())) for line in display.lines_]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size > 0 for size in sizes)
    with pytest.raises(FenchelError, match="a name for each of the 4 features, got 1 names"):
        plotting.plot_path(path, feature_names=["a"])


def test_a_third_axes_has_the_objective_in_its_band():
    path = regularization_path(X[50:], Y[50:], (0.1, 10.0), accuracy=0.05, random_state=0)
    axes = plt.subplots(3, 1)[1]
    assert plotting.plot_path(path, ax=axes) is axes
    (line,) = axes[1].get_lines()
    at = {round(C, 12): value for C, value in zip(*line.get_data(), strict=True)}
    for C, certificate in zip(path.Cs, path.certificates, strict=True):
        assert at[round(C, 12)] == pytest.approx(certificate.upper, rel=0.05)


# --- certificates


def test_bars_end_at_the_gap():
    given = {
        "good": Certificate(1.0, 0.998),
        "exact": Certificate(1.0, 1.0, 1e-15, 1e-15),
        "wrong": Certificate(1.0, 1.5),
    }
    display = plotting.CertificateDisplay.from_certificate(given, tol=0.01)
    ends = [bar.patches[0].get_x() + bar.patches[0].get_width() for bar in display.bars_]
    np.testing.assert_allclose(ends[:2], [0.002, 2e-15])
    said = " ".join(text.get_text() for text in display.ax_.texts)
    assert "gap 0.002 (0.2% of the objective)" in said
    assert "equal up to rounding" in said
    assert "inconsistent" in said
    (words,) = plotting.plot_certificate(Certificate(1.0, -0.0)).texts
    assert words.get_text() == "P = 1, D = 0: gap 1 (100% of the objective)"


def test_words_of_a_certificate_stay_within_narrow_axes():
    figure, (ax, _) = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
    plotting.plot_certificate([Certificate(123.4567, 123.4561), Certificate(1.0, 1.0, 1e-15, 1e-15)], ax=ax, tol=0.01)
    figure.canvas.draw()
    within = ax.get_window_extent()
    for words in (*ax.texts, ax.xaxis.label, *ax.get_legend().get_texts()):
        assert words.get_window_extent().x1 <= within.x1, words.get_text()


def test_an_infinite_objective_and_a_judgement_are_drawn():
    judged = certify(LogisticRegression(max_iter=1000).fit(X, Y), X, Y)
    ax = plotting.plot_certificate([judged, Certificate(np.inf, 1.0)], labels=["scikit-learn", "infeasible"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["scikit-learn", "infeasible"]
    assert "P is infinite" in ax.texts[1].get_text()
    with pytest.raises(FenchelError, match=r"certificate must be a Certificate, .* got ndarray"):
        plotting.plot_certificate(X)
    with pytest.raises(FenchelError, match="got LinearClassifier: call fit"):
        plotting.plot_certificate(LinearClassifier())


# --- thresholds


def test_the_measure_at_each_threshold_is_that_of_its_predictions():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 40), np.round(rng.standard_normal(40), 1)
    display = plotting.ThresholdDisplay.from_predictions(y, scores, threshold=0.3)
    (curve,) = display.curves
    inner = slice(1, -1)
    expected = [f1_score(y, scores > threshold) for threshold in curve.thresholds[inner]]
    np.testing.assert_allclose(curve.values[inner], expected, atol=1e-12)
    assert curve.value == pytest.approx(f1_score(y, scores > 0.3))
    assert display.line_ is display.lines_[0]


@pytest.mark.parametrize("positive", ["common", "rare"])
def test_the_dot_is_the_measure_of_the_predictions(positive):
    data, codes = make_classification(300, weights=[0.8], random_state=0)
    labels = np.array(["common", "rare"])[codes]
    model = MeasureClassifier("f1", pos_label=positive, surrogate="bound", random_state=0).fit(data[:200], labels[:200])
    (curve,) = plotting.ThresholdDisplay.from_estimator(model, data[200:], labels[200:]).curves
    assert curve.value == pytest.approx(f1_score(labels[200:], model.predict(data[200:]), pos_label=positive))
    assert curve.chosen == model.thresholds_[0]


def test_ordered_classes_and_labels_have_a_curve_each():
    model = OrdinalClassifier([2, 1, 0]).fit(X, Y)
    found = plotting.ThresholdDisplay.from_estimator(model, X, Y)
    scores = X @ model.coef_[0]
    for k, curve in enumerate(found.curves):
        wrong = (scores > model.thresholds_[k]) != np.isin(Y, model.order_[k + 1 :])
        assert curve.value == pytest.approx(np.mean(wrong))
    assert [curve.label for curve in found.curves] == ["2 | 1", "1 | 0"]
    data, labels = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    several = MultilabelClassifier(measure="f1", surrogate="bound", random_state=0).fit(data, labels)
    found = plotting.ThresholdDisplay.from_estimator(several, data, labels)
    expected = f1_score(labels, several.predict(data), average=None)
    np.testing.assert_allclose([curve.value for curve in found.curves], expected)


def test_models_without_a_threshold_are_refused():
    joint = LinearClassifier("logistic", multi_class="ovr", tol=0.1, random_state=0).fit(X, Y)
    with pytest.raises(FenchelError, match="LinearClassifier has no threshold to draw"):
        plotting.plot_thresholds(joint, X, Y)
    with pytest.raises(FenchelError, match=r"labels that the model does not know: \[0\]"):
        plotting.plot_thresholds(TWO, X, Y)
    with pytest.raises(FenchelError, match="y_true must hold two classes, got 3"):
        plotting.ThresholdDisplay.from_predictions(Y, X[:, 0])


# --- weights


def test_bars_are_the_largest_weights():
    display = plotting.CoefficientsDisplay.from_estimator(TWO, count=3, feature_names=list("abcd"))
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(TWO.coef_[0], key=abs)[1:] or sorted(widths) == sorted(sorted(TWO.coef_[0], key=abs)[1:])
    assert [TWO.coef_[0]["abcd".index(name)] for name in display.features] == widths
    assert display.outputs == ["1", "2"]


def test_features_have_the_names_that_a_pipeline_makes():
    pandas = pytest.importorskip("pandas", reason="data frames")
    frame = pandas.DataFrame(X[50:], columns=["a", "b", "c", "d"])
    scaled = make_pipeline(StandardScaler(), LinearClassifier("logistic", random_state=0)).fit(frame, Y[50:])
    assert set(plotting.CoefficientsDisplay.from_estimator(scaled).features) == {"a", "b", "c", "d"}
    texts, topics = ["the late goal", "a late penalty", "weak rates", "the bank rates"], [0, 0, 1, 1]
    words = make_pipeline(TfidfVectorizer(), LinearClassifier("logistic", random_state=0)).fit(texts, topics)
    assert set(plotting.CoefficientsDisplay.from_estimator(words, count=2).features) == {"late", "rates"}
    nameless = make_pipeline(FunctionTransformer(), LinearClassifier("logistic", random_state=0)).fit(X[50:], Y[50:])
    assert set(plotting.CoefficientsDisplay.from_estimator(nameless).features) == {"x0", "x1", "x2", "x3"}


@pytest.mark.parametrize("sparse", [False, True])
def test_several_classes_are_a_table(sparse):
    model = LinearClassifier("logistic", random_state=0, tol=0.1).fit(X, Y)
    if sparse:
        model.sparsify()
    display = plotting.CoefficientsDisplay.from_estimator(model)
    order = [int(name[1:]) for name in display.features]
    assert sorted(order) == [0, 1, 2, 3]
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    np.testing.assert_array_equal(display.image_.get_array(), coef[:, order].T)
    assert display.ax_.get_xlabel() == "class"


def test_what_has_no_weights_is_refused():
    with pytest.raises(FenchelError, match="KernelClassifier with a kernel has none"):
        plotting.plot_coefficients(KernelClassifier(random_state=0, tol=0.5).fit(X[50:], Y[50:]))
    with pytest.raises(
        FenchelError, match="needs a fitted linear estimator with coef_, got LinearClassifier: call fit"
    ):
        plotting.plot_coefficients(LinearClassifier())
    with pytest.raises(FenchelError, match="count must be an integer >= 1, got 0"):
        plotting.plot_coefficients(TWO, count=0)


# --- every picture


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plotting.plot_convergence(TWO, ax=ax),
        lambda ax: plotting.plot_certificate(TWO, ax=ax),
        lambda ax: plotting.plot_coefficients(TWO, ax=ax),
        lambda ax: plotting.plot_thresholds(TWO, X[50:], Y[50:], ax=ax),
    ],
    ids=["convergence", "certificate", "coefficients", "thresholds"],
)
def test_pictures_are_drawn_on_the_given_axes(draw):
    ax = plt.subplots()[1]
    ax.set_title("mine")
    assert draw(ax) is ax
    assert ax.get_title() == "mine"
    with pytest.raises(FenchelError, match=r"ax must be None or matplotlib Axes, .* got str"):
        draw("ax")


def test_colours_are_distinct_for_all_kinds_of_colour_vision():
    """Distances in CIELAB after the linear simulations of Viénot, Brettel and Mollon (1999)."""
    colours = [matplotlib.colors.to_rgb(name) for name in plotting.style.PALETTE]
    linear = np.array([[((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in one] for one in colours])
    red_blind = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    green_blind = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    for seen in (np.eye(3), red_blind, green_blind):
        lab = _lab(np.clip(linear @ seen.T, 0.0, 1.0))
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=2) + 1e3 * np.eye(len(lab))
        assert np.min(apart) > 8.0


def _lab(rgb):
    xyz = rgb @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.stack([116.0 * f[:, 1] - 16.0, 500.0 * (f[:, 0] - f[:, 1]), 200.0 * (f[:, 1] - f[:, 2])], axis=1)


def test_the_extra_is_named_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plot_convergence needs matplotlib: pip install 'fenchel\[plot\]'"):
        plotting.plot_convergence(TWO)


def test_a_second_curve_may_join_a_logarithmic_axis():
    figure, ax = plt.subplots()
    ax.set_xscale("log")
    X = np.random.default_rng(0).normal(size=(60, 3))
    plotting.plot_convergence(LinearClassifier(random_state=0).fit(X, X[:, 0] > 0), ax=ax)
    assert ax.get_xscale() == "log"
    plt.close(figure)
