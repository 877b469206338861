"""A report is one well-formed HTML file that needs no network, escapes every name and shows the right numbers."""

import base64
import os
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import FenchelError, LinearClassifier, certify, reporting

pytest.importorskip("matplotlib", reason="reports need the plot extra")

SECTIONS = ["data", "model", "certificate", "convergence", "weights", "scores", "thresholds", "proved"]
VOID = {"meta", "img", "br", "hr"}
EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects what the page refers to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.anchors, self.links, self.images, self.tags = [], [], [], [], set()
        self.words = {}
        self.feed(text)
        assert self.open == [], "tags that are not closed"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), "no handlers"
        if tag == "section":
            self.anchors.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        if tag == "img":
            assert given["alt"]
            self.images.append(given["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.anchors and "section" in self.open:
            self.words[self.anchors[-1]] = self.words.get(self.anchors[-1], "") + data + " "


def checked(path, sections=SECTIONS):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not page.tags & {"script", "link", "iframe", "object", "base"}
    assert page.anchors == list(sections)
    assert page.links == [f"#{anchor}" for anchor in sections]
    assert not re.search(r"https?://|url\(|@import", re.sub(r'src="data:[^"]*"', "", text))
    for source in page.images:
        kind, _, data = source.partition(";base64,")
        assert kind == "data:image/svg+xml"
        drawn = ElementTree.fromstring(base64.b64decode(data))
        assert not [one for one in drawn.iter() if one.tag.endswith("script")]
    assert all(page.words[anchor].strip() for anchor in sections)
    return page


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.rename(columns={"worst texture": EVIL})
    labels = np.array([EVIL, "benign & <b>"])[y]
    return X[::2], labels[::2], X[1::2], labels[1::2]


def test_a_report_of_a_pipeline_shows_its_numbers(cancer, tmp_path):
    X, y, X_test, y_test = cancer
    model = make_pipeline(StandardScaler(), LinearClassifier("logistic", random_state=0)).fit(X, y)
    path = tmp_path / "report.html"
    done = reporting.report(model, X, y, path, X_test=X_test, y_test=y_test, baseline=True, title=f"Report {EVIL}")
    assert done == path
    page = checked(path, [*SECTIONS, "baseline"])
    assert len(page.images) >= 8
    assert EVIL not in path.read_text(encoding="utf-8")
    words = page.words
    assert EVIL in words["data"]
    assert f"rows {len(y):,} " in words["data"]
    assert str(model[-1].certificate_) in words["certificate"]
    accuracy = np.mean(model.predict(X_test) == y_test)
    assert f"{accuracy:.4g}" in words["scores"]
    proved = model[-1].certified_predictions(model[:-1].transform(X_test))
    assert f"{int(np.sum(proved.proved)):,} ({proved.share_proved:.2%})" in words["proved"]
    baseline = LogisticRegression(max_iter=1000, random_state=0)
    Z = model[:-1].transform(X)
    judged = certify(baseline.fit(Z, y), Z, y)
    assert f"{judged.certificate.primal:.7g}" in words["baseline"]
    assert judged.objective in words["baseline"]
    assert os.listdir(tmp_path) == ["report.html"]


def families():
    iris, kind = load_iris(return_X_y=True)
    rows, target = (part[:120] for part in load_diabetes(return_X_y=True))
    rng = np.random.default_rng(0)
    ranked, qid = rng.standard_normal((60, 3)), np.repeat(np.arange(6), 10)
    several = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
    tokens, labels = [["the", "dog", "barks"], ["a", "cat"]], [["D", "N", "V"], ["D", "N"]]
    seed = {"random_state": 0}
    yield "several classes", fenchel.LinearClassifier(**seed), iris, kind, {}
    yield "ovo", fenchel.LinearClassifier(multi_class="ovo", **seed), iris, kind, {}
    yield "classifier cv", fenchel.LinearClassifierCV(Cs=2, **seed), iris, kind, {}
    yield "regression", fenchel.LinearRegressor("huber", **seed), rows, target, {}
    yield "lasso", fenchel.LinearRegressor(l1_ratio=1.0, **seed), rows, target, {}
    yield "regressor cv", fenchel.LinearRegressorCV(Cs=2, **seed), rows, target, {}
    yield "measure", fenchel.MeasureClassifier("f1", **seed), iris, kind, {}
    yield "ordinal", fenchel.OrdinalClassifier([2, 0, 1]), iris, kind, {}
    yield "kernel", fenchel.KernelClassifier(**seed), iris, kind, {}
    yield "kernel regression", fenchel.KernelRegressor(**seed), rows, target, {}
    yield "ranker", fenchel.LinearRanker(**seed), ranked, np.digitize(ranked[:, 0], [0, 1]), {"qid": qid}
    yield "multilabel", fenchel.MultilabelClassifier(**seed), *several, {}
    yield "sequences", fenchel.SequenceClassifier("logistic", **seed), tokens, labels, {}
    yield "LinearSVC", fenchel.LinearSVC(), iris, kind, {}
    yield "LinearSVR", fenchel.LinearSVR(), rows, target, {}
    yield "LogisticRegression", fenchel.LogisticRegression(), iris, kind, {}
    yield "online", fenchel.OnlineClassifier(**seed), iris, kind, {}
    yield "winnow", fenchel.WinnowClassifier(**seed), iris, kind, {}
    yield "scikit-learn", Ridge(), rows, target, {}


QUICK = {"sequences", "online"}
CASES = [
    pytest.param(*case[1:], id=case[0], marks=[] if case[0] in QUICK else pytest.mark.thorough) for case in families()
]


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "X", "y", "more"), CASES)
def test_every_family_has_all_sections(model, X, y, more, tmp_path):
    path = tmp_path / "report.html"
    held = {"X_test": X, "y_test": y, **({"qid_test": more["qid"]} if more else {})}
    reporting.report(model.fit(X, y, **more), X, y, path, baseline=True, **held, **more)
    words = checked(path, [*SECTIONS, "baseline"]).words
    name = type(model).__name__
    assert name in words["model"]
    if "certificate_" not in vars(model) and name != "Ridge":
        assert "OnlineClassifier has no certificate" in words["certificate"]
    if name == "SequenceClassifier":
        assert "SequenceClassifier has no threshold to draw" in words["thresholds"]
        assert "scikit-learn has no counterpart of SequenceClassifier" in words["baseline"]


@pytest.fixture(scope="module")
def small():
    X, y = load_iris(return_X_y=True)
    return LinearClassifier("logistic", multi_class="ovr", random_state=0).fit(X, y), X, y


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": LinearClassifier()}, "LinearClassifier that is not fitted: call fit"),
        ({"model": "svm"}, "model must be a fitted estimator, got str"),
        ({"model": StandardScaler()}, "not fitted"),
        ({"y": np.zeros(7)}, "X has 150 rows and y has 7"),
        ({"y": None}, "y must hold the targets of X"),
        ({"X": np.zeros((150, 3))}, "X has 3 features, and the model was fitted to 4"),
        ({"X": 3}, "X must be an array"),
        ({"X_test": np.zeros((2, 4))}, "y_test must be given together with X_test"),
        ({"X_test": np.zeros((2, 4)), "y_test": np.zeros(3)}, "X_test has 2 rows and y_test has 3"),
        ({"feature_names": ["a"]}, "a name for each of the 4 features"),
        ({"baseline": "ridge"}, "baseline must be True, False or an estimator"),
        ({"path": 7}, "path must be the name of the HTML file"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(wrong, said, small, tmp_path):
    model, X, y = small
    given = {"model": model, "X": X, "y": y, "path": tmp_path / "report.html", **wrong}
    with pytest.raises(FenchelError, match=re.escape(said)):
        reporting.report(**given)
    assert os.listdir(tmp_path) == []


def without_pictures(monkeypatch):
    """Reports with empty sections, for laws about their files."""
    for name in ("convergence", "weights", "scores", "thresholds", "proved"):
        monkeypatch.setattr(f"fenchel.reporting.one_model.{name}_section", lambda subject: "")


def test_only_regular_files_are_replaced(small, tmp_path, monkeypatch):
    folder, fifo, kept = tmp_path / "folder", tmp_path / "fifo", tmp_path / "kept.html"
    folder.mkdir()
    os.mkfifo(fifo)
    for path, said in (
        (folder, "is a folder"),
        (fifo, "is not a regular file"),
        (tmp_path / "no" / "x", "does not exist"),
    ):
        with pytest.raises(FenchelError, match=said):
            reporting.report(*small, path)
    kept.write_text("former")
    without_pictures(monkeypatch)
    monkeypatch.setattr("fenchel.reporting.one_model.page", lambda *parts: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        reporting.report(*small, kept)
    assert kept.read_text() == "former"
    assert sorted(os.listdir(tmp_path)) == ["fifo", "folder", "kept.html"]


def test_a_link_is_followed(small, tmp_path, monkeypatch):
    without_pictures(monkeypatch)
    monkeypatch.setattr("fenchel.reporting.one_model.page", lambda *parts: "page")
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("former")
    link.symlink_to(real)
    reporting.report(*small, str(link))
    assert link.is_symlink()
    assert real.read_text() == "page"


def test_the_extra_is_named_without_matplotlib(small, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'fenchel\[plot\]'"):
        reporting.report(*small, tmp_path / "report.html")


def test_a_comparison_has_each_model_once(tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    models = {
        "<newton>": LinearClassifier("logistic", solver="newton", random_state=0),
        "scikit-learn": LogisticRegression(),
        "Bayes": GaussianNB(),
    }
    path = tmp_path / "compare.html"
    assert reporting.compare(models, X[::2], y[::2], path, X_test=X[1::2], y_test=y[1::2]) == path
    page = checked(path, ["comparison", "time", "certificates", "data"])
    table = page.words["comparison"]
    for model, name in ((clone(models["scikit-learn"]), "scikit-learn"), (clone(models["Bayes"]), "Bayes")):
        fitted = model.fit(X[::2], y[::2])
        assert name in table
        assert f"{fitted.score(X[1::2], y[1::2]):.4g}" in table
    judged = certify(LogisticRegression().fit(X[::2], y[::2]), X[::2], y[::2])
    assert f"{judged.certificate.primal:.7g}" in table
    assert "not judged: GaussianNB is not known here" in table
    assert not any("coef_" in vars(model) for model in models.values())
    assert len(page.images) == 2


def test_models_that_can_not_be_compared_are_named(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "compare.html"
    with pytest.raises(FenchelError, match="models must all predict the same"):
        reporting.compare([Ridge(), GaussianNB()], X[50:], y[50:], path)
    for wrong in (Ridge(), [], ["ridge"]):
        with pytest.raises(FenchelError, match="models must be"):
            reporting.compare(wrong, X, y, path)
    assert not path.exists()
