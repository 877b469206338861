"""Wrong turns of people who have read the pages alone: each message names what was wrong and what to do."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse  # noqa: F401 (the page names it)
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC, NuSVC  # noqa: F401 (the page names them)

import fenchel
from fenchel import (
    FenchelError,
    KernelClassifier,
    LinearClassifier,
    LinearClassifierCV,
    LinearRanker,  # noqa: F401 (the page names it)
    LinearRegressor,
    MeasureClassifier,
    OnlineClassifier,
    SequenceClassifier,
    certify,
    plot_convergence,  # noqa: F401 (the page names it)
)
from fenchel.cli.main import main
from fenchel.io import load_model, save_model
from fenchel.losses import Logistic, Quantile, check_loss
from fenchel.reporting import report  # noqa: F401 (the page names it)

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "newcomer.md").read_text(encoding="utf-8")
X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize(
    ("estimator", "near"),
    [
        (LinearClassifier("log_loss"), "logistic"),
        (LinearClassifier("Hinge"), "hinge"),
        (LinearRegressor("squared_error"), "squared"),
        (LinearRegressor("pinball"), "quantile"),
        (MeasureClassifier("F1"), "f1"),
        (MeasureClassifier("auc"), "roc_auc"),
        (KernelClassifier(kernel="gaussian"), "rbf"),
    ],
    ids=["log_loss", "Hinge", "squared_error", "pinball", "F1", "auc", "gaussian"],
)
def test_names_of_other_libraries_lead_to_ours(estimator, near):
    with pytest.raises(FenchelError, match=rf"\(did you mean '{near}'\?\)"):
        estimator.fit(X, Y)


def test_misspelt_names_of_the_package_have_a_suggestion():
    with pytest.raises(AttributeError, match=r"no attribute 'LinearClasifier'; did you mean 'LinearClassifier'\?"):
        _ = fenchel.LinearClasifier


@pytest.mark.parametrize(
    ("wrong", "near"), [({"los": "hinge"}, "loss"), ({"alpha": 1.0}, "C"), ({"los__power": 2}, "loss")]
)
def test_misspelt_parameters_have_a_suggestion_and_change_nothing(wrong, near):
    model = LinearClassifier().fit(X, Y)
    with pytest.raises(FenchelError, match=rf"Invalid parameter .* \(did you mean '{near}'\?\). Valid parameters are"):
        model.set_params(tol=0.5, **wrong)
    assert model.tol == 1e-3
    assert model.certificate_.relative_gap <= 1e-3


def test_the_parameter_of_a_loss_by_name_can_be_searched():
    search = GridSearchCV(LinearRegressor("quantile"), {"loss__quantile": [0.1, 0.5]}, cv=2).fit(X, X[:, 0])
    assert search.best_estimator_.loss == Quantile(0.5)
    with pytest.raises(FenchelError, match=r"Invalid parameter 'level' for loss Quantile.*\['quantile'\]"):
        LinearRegressor("quantile").set_params(loss__level=0.5)


FRAME = {"city": ["Oslo", "Rome"] * 20, "age": list(range(40)), "town": ["a", "b"] * 20}


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_texts_are_named(library, categories):
    frames = pytest.importorskip(library, reason="data frames")
    frame = frames.DataFrame(FRAME)
    if categories and library == "pandas":
        frame = frame.astype({"city": "category", "town": "category"})
    elif categories:
        frame = frame.with_columns(frames.col("city", "town").cast(frames.Categorical))
    for model in (LinearClassifier(), OnlineClassifier(), KernelClassifier()):
        with pytest.raises(FenchelError, match=r"hold texts or dates: 'city', 'town'\. Encode them .*OneHotEncoder"):
            model.fit(frame, Y)
    numbers = frame[["age"]]
    with pytest.raises(FenchelError, match="'city', 'town'"):
        LinearClassifier().fit(numbers, Y).predict(frame)


def test_columns_of_numbers_of_any_type_are_taken():
    pandas = pytest.importorskip("pandas", reason="data frames")
    frame = pandas.DataFrame({"a": pandas.array(range(40), dtype="Int64"), "b": [True, False] * 20})
    frame["category"] = pandas.Categorical([1, 2] * 20)
    frame["written"] = np.array(["1", "2.5"] * 20, dtype=object)
    expected = LinearClassifier().fit(frame.astype(float), Y).coef_
    np.testing.assert_array_equal(LinearClassifier().fit(frame, Y).coef_, expected)


def test_dates_are_named():
    pandas = pytest.importorskip("pandas", reason="data frames")
    frame = pandas.DataFrame({"when": pandas.date_range("2020-01-01", periods=40), "age": range(40)})
    with pytest.raises(FenchelError, match="texts or dates: 'when'"):
        LinearClassifier().fit(frame, Y)


@pytest.mark.parametrize("kind", [list, np.array, "Series"])
def test_texts_need_a_vectorizer(kind):
    texts = ["a text", "another"] * 20
    X = pytest.importorskip("pandas", reason="data frames").Series(texts) if kind == "Series" else kind(texts)
    with pytest.raises(FenchelError, match=r"strings such as 'a text'\. Put a vectorizer before LinearClassifier"):
        LinearClassifier().fit(X, Y)


def test_arrays_of_strings_are_to_be_converted():
    with pytest.raises(FenchelError, match=r"strings such as '1'\. Convert numbers with X.astype\(float\)"):
        LinearClassifier().fit(np.array([["1", "2"], ["3", "x"]] * 20), Y)


def test_certify_says_what_comes_first():
    model = LinearSVC().fit(X, Y)
    with pytest.raises(FenchelError, match=r"certify\(estimator, X, y\).*its first argument is ndarray$"):
        certify(X, Y, model)
    with pytest.raises(FenchelError, match=r"its first argument is the class LinearSVC$"):
        certify(LinearSVC, X, Y)
    with pytest.raises(NotFittedError):
        certify(LinearClassifier(), X, Y)
    with pytest.raises(FenchelError, match="has certificate_ already: print it"):
        certify(LinearClassifier().fit(X, Y), X, Y)


def test_a_class_is_not_an_instance():
    with pytest.raises(FenchelError, match="got the class Logistic: pass an instance"):
        check_loss(Logistic)
    with pytest.raises(FenchelError, match="or a Loss object, got the class Logistic"):
        LinearClassifier(Logistic).fit(X, Y)


def test_model_files_say_what_they_cannot_hold(tmp_path):
    path, model = tmp_path / "model.npz", LinearClassifier().fit(X, Y)
    with pytest.raises(FenchelError, match=r"the path comes first: save_model\(path, estimator\)"):
        save_model(model, str(path))
    with pytest.raises(FenchelError, match=r"can't hold a Pipeline; save its last step, pipeline\[-1\], or pickle"):
        save_model(path, make_pipeline(StandardScaler(), model).fit(X, Y))
    assert not path.exists()
    path.write_bytes(b"a pickle")
    with pytest.raises(FenchelError, match="nor one of save_model: it is not an archive of arrays"):
        load_model(path)


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["trian", "a.svm"], "train"),
        (["train", "a.svm", "--tolerance", "1"], "--tol"),
        (["convert", "a.svm", "--weigths", "w"], "--weights"),
    ],
)
def test_misspelt_commands_and_options_have_a_suggestion(arguments, near, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert f"(did you mean {near!r}?); see `fenchel" in capsys.readouterr().err


def test_every_argument_of_a_constructor_is_checked_but_not_those_of_classes_that_take_any():
    with pytest.raises(TypeError, match=r"LinearClassifierCV\(\) has no parameter 'C'"):
        LinearClassifierCV(C=1.0)

    class Mine(LinearClassifier):
        def __init__(self, extra=1, **others):
            super().__init__(**others)
            self.extra = extra

    assert Mine(extra=2, C=3.0).C == 3.0


def test_what_an_estimator_lacks_has_a_reason_and_is_absent():
    for estimator in (SequenceClassifier(), OnlineClassifier(), fenchel.LinearSVC()):
        assert not hasattr(estimator, "predict_proba")
        assert type(pickle.loads(pickle.dumps(estimator))) is type(estimator)
    with pytest.raises(AttributeError, match="'OnlineClassifier' object has no attribute 'proba'"):
        _ = OnlineClassifier().proba


def test_lazy_frames_are_collected_first():
    polars = pytest.importorskip("polars", reason="data frames")
    with pytest.raises(FenchelError, match=r"got a LazyFrame\. Pass X\.collect\(\)"):
        LinearClassifier().fit(polars.DataFrame({"a": [1.0, 2.0]}).lazy(), [0, 1])


def _wrong_usages():
    """(code, message) of the rows of the two tables of wrong usages of the page."""
    return re.findall(r"^\| `(.+?)` \| (.+) \|$", PAGE.partition("## Wrong usages")[2], re.MULTILINE)


def _fits(shown, said):
    """Whether a message is the one that the page shows, where … is any text."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in shown.split("…"))
    return re.fullmatch(pattern.replace(r"\ .*", " ?.*"), " ".join(said.split())) is not None


@pytest.mark.parametrize(("code", "shown"), [row for row in _wrong_usages() if not row[0].startswith("fenchel ")])
def test_wrong_usages_get_the_messages_of_the_page(code, shown):
    pandas = pytest.importorskip("pandas", reason="data frames")
    given, labels = load_breast_cancer(return_X_y=True)
    given, labels = scale(given)[:100, :3], labels[:100]
    frame = pandas.DataFrame({"city": ["Oslo", "Rome"] * 50, "age": range(100)})
    missing = np.where(given == given[0, 0], np.nan, given)
    with pytest.raises(Exception, match=r".") as raised:
        eval(code, {**globals(), "X": given, "y": labels, "frame": frame, "missing": missing})
    kind, _, message = shown.partition(": ")
    assert raised.type.__name__ == kind
    # the words of scikit-learn change with its version
    if kind not in ("ValueError", "NotFittedError"):
        assert _fits(message, str(raised.value)), str(raised.value)


@pytest.mark.parametrize(("line", "shown"), [row for row in _wrong_usages() if row[0].startswith("fenchel ")])
def test_wrong_commands_get_the_messages_of_the_page(line, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("age,city,label\n31,Oslo,yes\n42,Rome,no\n,Rome,yes\n", encoding="utf-8")
    (tmp_path / "data.svm").write_text("1 1:0.5\n-1 1:2\n", encoding="utf-8")
    try:
        status = main(line.split()[1:])
    except SystemExit as done:
        status = done.code
    assert status == 2
    assert _fits(shown, capsys.readouterr().err)
    assert {one.name for one in tmp_path.iterdir()} == {"data.csv", "data.svm"}


def test_the_page_has_enough_of_them():
    lines = [code.startswith("fenchel ") for code, _ in _wrong_usages()]
    assert lines.count(False) >= 20
    assert lines.count(True) >= 6
