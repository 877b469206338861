"""Weights in reports: an integer weight is the same as repeating the row, and zero is the same as no row."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import fenchel
from fenchel import FenchelError, LinearClassifier, certify

reporting = pytest.importorskip("fenchel.reporting", reason="reports need the plot extra")
from fenchel.reporting.baseline import counterpart, fitted_entry  # noqa: E402
from fenchel.reporting.scores import scores, scores_section  # noqa: E402
from fenchel.reporting.subject import Rows, kind_of, subject_of  # noqa: E402

RNG = np.random.default_rng(0)
IRIS, KIND = load_iris(return_X_y=True)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)[:120, :3]
BENIGN = BENIGN[:120]
DIABETES, PROGRESS = (part[:80] for part in load_diabetes(return_X_y=True))
SEVERAL, LABELS = make_multilabel_classification(60, 5, n_classes=3, random_state=0)


def families():
    yield "two classes", LinearClassifier("logistic"), CANCER, BENIGN
    yield "several classes", LinearClassifier(C=0.01), IRIS, KIND
    yield "ordered", fenchel.OrdinalClassifier([2, 0, 1]), IRIS, KIND
    yield "labels", fenchel.MultilabelClassifier(), SEVERAL, LABELS
    yield "numbers", fenchel.LinearRegressor(C=0.1), DIABETES, PROGRESS


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.parametrize(("model", "X", "y"), [pytest.param(*case[1:], id=case[0]) for case in families()])
def test_scores_with_weights_are_those_of_repeated_rows(model, X, y):
    model.fit(X, y)
    weight = RNG.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    order = vars(model).get("order_")
    found = scores(kind_of(model), model, Rows(X, y, order=order, weight=weight.astype(float)))
    expected = scores(kind_of(model), model, Rows(X[rows], y[rows], order=order))
    assert [one.name for one in found] == [one.name for one in expected]
    np.testing.assert_allclose([one.value for one in found], [one.value for one in expected], rtol=1e-12)
    alike = scores(kind_of(model), model, Rows(X, y, order=order))
    assert [one.value for one in alike] != pytest.approx([one.value for one in found])


def test_scores_of_queries_and_sequences_have_weights_too():
    X, qid = RNG.standard_normal((40, 3)), np.repeat(np.arange(8), 5)
    y = RNG.integers(0, 3, 40)
    weight = np.repeat([0, 1, 2, 1, 3, 1, 1, 2], 5)
    ranker = fenchel.LinearRanker().fit(X, y, qid=qid)
    rows = np.concatenate([np.flatnonzero(qid == one) for one in range(8) for _ in range(weight[5 * one])])
    again = np.repeat(np.arange(len(rows) // 5), 5)
    found = scores(kind_of(ranker), ranker, Rows(X, y, qid, weight=weight.astype(float)))
    expected = scores(kind_of(ranker), ranker, Rows(X[rows], y[rows], again))
    np.testing.assert_allclose([one.value for one in found], [one.value for one in expected], rtol=1e-12)
    tokens, labels = [["the", "dog"], ["dog", "the", "dog"]], [["D", "N"], ["N", "D", "D"]]
    chain = fenchel.SequenceClassifier(C=0.01).fit(tokens, labels)
    found = scores(kind_of(chain), chain, Rows(tokens, labels, weight=np.array([3.0, 1.0])))
    expected = scores(kind_of(chain), chain, Rows([tokens[0]] * 3 + [tokens[1]], [labels[0]] * 3 + [labels[1]]))
    np.testing.assert_allclose([one.value for one in found], [one.value for one in expected], rtol=1e-12)


def test_a_class_without_weight_does_not_count():
    model = LinearClassifier("logistic").fit(CANCER, BENIGN)
    found = scores(kind_of(model), model, Rows(CANCER, BENIGN, weight=(BENIGN == 1).astype(float)))
    assert [one.name for one in found] == ["accuracy", "F1 of 1"]
    several = LinearClassifier().fit(IRIS, KIND)
    found = scores(kind_of(several), several, Rows(IRIS, KIND, weight=(KIND > 0).astype(float)))
    assert found[0].value == pytest.approx(found[1].value), "two classes of the same size"


def test_a_baseline_has_the_weights():
    weight = np.where(BENIGN == 1, 3.0, 1.0)
    model = LinearClassifier("logistic", tol=1e-8).fit(CANCER, BENIGN, sample_weight=weight)
    train = Rows(CANCER, BENIGN, weight=weight)
    entry = fitted_entry(counterpart(model, train.total_weight).set_params(tol=1e-8), train, None)
    assert entry.certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    lasso = fenchel.LinearRegressor(C=0.02, l1_ratio=1.0, tol=1e-8)
    weight = RNG.uniform(0.5, 2.0, len(PROGRESS))
    lasso.fit(DIABETES, PROGRESS, sample_weight=weight)
    train = Rows(DIABETES, PROGRESS, weight=weight)
    entry = fitted_entry(counterpart(lasso, train.total_weight), train, None)
    assert entry.certificate.primal == pytest.approx(lasso.certificate_.primal, rel=1e-3)


def test_a_model_that_takes_no_weights_says_so():
    entry = fitted_entry(KNeighborsClassifier(), Rows(CANCER, BENIGN, weight=np.ones(len(BENIGN))), None)
    assert "fit of KNeighborsClassifier takes no sample_weight" in entry.remark


def test_the_section_of_scores_says_what_is_weighted():
    X, y, weight = CANCER, BENIGN, np.where(BENIGN == 1, 5.0, 1.0)
    model = LinearClassifier("logistic").fit(X, y, sample_weight=weight)
    section = scores_section(subject_of(model, Rows(X, y, weight=weight), Rows(X, y)))
    assert "weighted by sample_weight (training); held out rows count alike." in section.content
    shown = re.findall(r"<td>accuracy</td><td>([\d.]+)</td><td>([\d.]+)</td>", section.content)
    assert shown == [(f"{model.score(X, y, weight):.4g}", f"{model.score(X, y):.4g}")]


@pytest.mark.thorough
def test_reports_show_weighted_scores(tmp_path):
    X, X_test, y, y_test = CANCER[::2], CANCER[1::2], BENIGN[::2], BENIGN[1::2]
    weight, weight_test = (np.where(one == 1, 5.0, 1.0) for one in (y, y_test))
    model = LinearClassifier("logistic").fit(X, y, sample_weight=weight)
    held = {"X_test": X_test, "y_test": y_test, "sample_weight": weight}
    both = {**held, "sample_weight_test": list(weight_test)}
    alone = reporting.report(model, X, y, tmp_path / "alone.html", **held).read_text(encoding="utf-8")
    assert "weighted by sample_weight (training); held out rows count alike." in alone
    text = reporting.report(model, X, y, tmp_path / "both.html", **both).read_text(encoding="utf-8")
    assert "weighted by sample_weight (training and held out)." in text
    shown = re.findall(r"<td>accuracy</td><td>([\d.]+)</td><td>([\d.]+)</td>", text)[0]
    assert shown == (f"{model.score(X, y, weight):.4g}", f"{model.score(X_test, y_test, weight_test):.4g}")
    peers = {"theirs": LogisticRegression(tol=1e-8), "Bayes": GaussianNB()}
    compared = reporting.compare(peers, X, y, tmp_path / "compare.html", **both).read_text(encoding="utf-8")
    judged = certify(LogisticRegression(tol=1e-8).fit(X, y, weight), X, y, sample_weight=weight)
    assert f"{judged.certificate.primal:.7g}" in compared


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sample_weight": np.ones(3)}, r"sample_weight must have a weight for each of the 120 rows, got shape (3,)"),
        ({"sample_weight": -np.ones(120)}, "sample_weight must hold finite numbers >= 0"),
        ({"sample_weight": np.zeros(120)}, "not all of them zero"),
        ({"sample_weight_test": np.ones(120)}, "must be given together with X_test and y_test"),
    ],
)
def test_wrong_weights_are_named(wrong, said, tmp_path):
    model = LinearClassifier("logistic").fit(CANCER, BENIGN)
    with pytest.raises(FenchelError, match=re.escape(said)):
        reporting.report(model, CANCER, BENIGN, tmp_path / "report.html", **wrong)
    with pytest.raises(FenchelError, match=re.escape(said)):
        reporting.compare([model], CANCER, BENIGN, tmp_path / "compare.html", **wrong)
