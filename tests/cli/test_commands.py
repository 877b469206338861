"""Commands beside train, predict and certify, parameters of losses, and errors that users met."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file, make_classification, make_regression

import fenchel.losses
from commands import refused
from fenchel import LinearClassifier, LinearClassifierCV, LinearRegressor, MeasureClassifier, regularization_path
from fenchel.cli import names
from fenchel.cli.main import main
from fenchel.estimators.multiclass import FORMS
from fenchel.io import encoding, kinds, model_file
from fenchel.io.model_file import load
from fenchel.losses import NAMED, Huber, Quantile
from fenchel.regularizers import REGULARIZERS
from fenchel.risks import MEASURES, RANKINGS
from fenchel.solvers import SOLVERS

X, Y = make_classification(90, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
NUMBERS, TARGETS = make_regression(60, 4, noise=5.0, random_state=0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # rounded, so that the text holds all digits
    dump_svmlight_file(np.round(X, 6), Y, "d.svm", zero_based=False)
    dump_svmlight_file(np.round(NUMBERS, 6), np.round(TARGETS, 6), "r.svm", zero_based=False)
    return tmp_path


# --- names and parameters


def test_the_names_in_the_help_are_those_of_the_registries():
    losses = {
        task: {name for name, loss in NAMED.items() if loss.task == task} for task in ("classification", "regression")
    }
    assert losses == {"classification": set(names.CLASSIFICATION), "regression": set(names.REGRESSION)}
    for name, parameters in {**names.CLASSIFICATION, **names.REGRESSION}.items():
        assert tuple(vars(NAMED[name]())) == parameters
    assert set(RANKINGS) == set(names.RANKING)
    assert set(MEASURES) == set(names.MEASURES)
    assert set(REGULARIZERS) == set(names.REGULARIZERS)
    assert ("auto", *SOLVERS) == names.SOLVERS
    assert ("auto", *FORMS) == names.MULTICLASS
    assert (encoding.IMPUTATIONS, kinds.KINDS) == (names.IMPUTATIONS, names.FORMATS)


@pytest.mark.parametrize(("given", "loss"), [("quantile:0.9", Quantile(0.9)), ("huber:2", Huber(2.0))])
def test_a_loss_with_a_parameter_goes_through_a_file(folder, capsys, given, loss):
    assert main(["train", "r.svm", "--loss", given, "-o", "m.npz"]) == 0
    direct = LinearRegressor(loss, random_state=0).fit(np.round(NUMBERS, 6), np.round(TARGETS, 6))
    model = load(folder / "m.npz").estimator
    assert model.loss == loss
    np.testing.assert_allclose(model.coef_, direct.coef_, rtol=1e-6, atol=1e-9)
    capsys.readouterr()
    assert main(["certify", "m.npz", "r.svm"]) == 0
    assert capsys.readouterr().out.strip() == str(model.certificate_)


@pytest.mark.parametrize(("given", "parameters"), [("fbeta:2", {"beta": 2.0}), ("precision_at_k:10", {"k": 10})])
def test_a_measure_with_a_parameter(folder, given, parameters):
    assert main(["train", "d.svm", "--measure", given, "--surrogate", "bound", "-o", "m.npz", "--tol", "0.01"]) == 0
    direct = MeasureClassifier(given.partition(":")[0], surrogate="bound", tol=0.01, random_state=0, **parameters)
    direct.fit(np.round(X, 6), Y)
    model = load(folder / "m.npz").estimator
    assert {name: model.get_params()[name] for name in parameters} == parameters
    np.testing.assert_allclose(model.certificate_.primal, direct.certificate_.primal, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--loss", "quantil:0.9"], "loss='quantil' is unknown (did you mean 'quantile'?)"),
        (["--loss", "quantile:x"], "'x' in 'quantile:x' is not a number"),
        (["--loss", "quantile:0.1,2"], "quantile has the parameter quantile, got 'quantile:0.1,2'"),
        (["--loss", "logistic:2"], "logistic has no parameter"),
        (["--loss", "quantile:2"], "quantile"),
        (["--measure", "fbeta:2", "--beta", "3"], "--beta and fbeta:2 both set beta"),
        (["--measure", "precision_at_k:1.5"], "k must be a whole number"),
        (["--solver", "newtn"], "--solver: 'newtn' is unknown (did you mean 'newton'?)"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--impute", "zero"], "invalid choice: 'zero'"),
    ],
)
def test_options_that_are_wrong(capsys, arguments, words):
    assert words in refused(capsys, "train", "d.svm", "-o", "m.npz", *arguments)
    assert not Path("m.npz").exists()


# --- what users met


def test_a_model_of_a_table_predicts_a_svmlight_file(folder, capsys):
    """It answered that --label and --header are for tables, when neither was given."""
    table = "\n".join(
        ",".join(map(repr, [*row, label])) for row, label in zip(np.round(X, 6).tolist(), Y.tolist(), strict=True)
    )
    (folder / "d.csv").write_text(table + "\n")
    assert main(["train", "d.csv", "-o", "m.npz", "--label", "-1"]) == 0
    capsys.readouterr()
    assert main(["predict", "m.npz", "d.svm"]) == 0
    assert capsys.readouterr().out.split() == list(map(str, load(folder / "m.npz").estimator.predict(np.round(X, 6))))
    assert "--label is for tables" in refused(capsys, "predict", "m.npz", "d.svm", "--label", "0")


def test_lines_and_columns_are_counted_as_an_editor_does(folder, capsys):
    """It was "row 0, column 2"."""
    (folder / "a.csv").write_text("a,b,y\n1,2,0\n3,4x,1\n")
    assert "a.csv: line 3, column 2 (b): '4x' is not a number" in refused(capsys, "train", "a.csv")


def test_tabs_and_names(folder, capsys):
    """It was: could not convert string to float: b'age'."""
    (folder / "a.tsv").write_text("age\tcity\tok\n" + "1\tRome\tyes\n2\tOslo\tno\n" * 3)
    assert main(["train", "a.tsv"]) == 0
    assert load(folder / "a.model.npz").names == ["age", "city=Oslo", "city=Rome"]


def test_folders_are_no_files(folder, capsys):
    """They gave: there is no such file."""
    (folder / "sub").mkdir()
    assert "sub: is a folder, and a file is needed here" in refused(capsys, "predict", "sub", "d.svm")
    said = refused(capsys, "train", "sub", "-o", "m.npz")
    assert "sub: is a folder and no store, since it has no header.json; name a file, or a store" in said
    assert "sub: is a folder" in refused(capsys, "convert", "sub", "-o", "s.store")


def test_a_data_file_is_no_model(folder, capsys):
    """It recommended allow_pickle."""
    (folder / "a.csv").write_text("a,b,y\n1,2,0\n")
    said = refused(capsys, "predict", "a.csv", "d.svm")
    assert "a.csv: is not a model" in said
    assert "pickle" not in said
    np.savez("objects.npz", about=np.array([{}], dtype=object), allow_pickle=True)
    said = refused(capsys, "info", "objects.npz")
    assert "it holds Python objects, which are never loaded" in said


def test_bare_labels_are_no_data(folder, capsys):
    """They trained happily."""
    (folder / "a.svm").write_text("1\n-1\n1\n")
    assert "a.svm: holds 3 labels and no features" in refused(capsys, "train", "a.svm")
    (folder / "a.csv").write_text("y\n1\n0\n")
    assert "no column besides the labels" in refused(capsys, "train", "a.csv")


def test_a_pipe_is_read_once(folder, capsys):
    os.mkfifo("pipe")
    writer = subprocess.Popen(["cp", "d.svm", "pipe"])
    assert main(["train", "pipe", "-o", "m.npz"]) == 0
    assert writer.wait() == 0
    assert "pipe: 90 rows" in capsys.readouterr().out


# --- the other commands


def test_evaluate(folder, capsys):
    assert main(["train", "d.svm", "--loss", "logistic", "-o", "m.npz"]) == 0
    model = load(folder / "m.npz").estimator
    capsys.readouterr()
    assert main(["evaluate", "m.npz", "d.svm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = np.round(X, 6)
    assert found["rows"] == 90
    assert found["accuracy"] == pytest.approx(model.score(rows, Y))
    assert found["F1 of 1"] == pytest.approx(metrics.f1_score(Y, model.predict(rows)))
    assert found["ROC area"] == pytest.approx(metrics.roc_auc_score(Y, model.decision_function(rows)))
    assert found["log loss"] == pytest.approx(metrics.log_loss(Y, model.predict_proba(rows)))
    assert main(["train", "r.svm", "--loss", "quantile:0.9", "-o", "q.npz"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "q.npz", "r.svm", "--json"]) == 0
    found, predicted = (
        json.loads(capsys.readouterr().out),
        load(folder / "q.npz").estimator.predict(np.round(NUMBERS, 6)),
    )
    assert found["pinball loss"] == pytest.approx(metrics.mean_pinball_loss(np.round(TARGETS, 6), predicted, alpha=0.9))
    (folder / "bare.csv").write_text("1,2,3,4\n")
    assert "has no labels to compare with" in refused(capsys, "evaluate", "q.npz", "bare.csv")


def test_path(folder, capsys):
    assert main(["path", "d.svm", "--loss", "logistic", "--Cs", "0.1,1", "--test", "d.svm", "-o", "p.csv"]) == 0
    header, *rows = [line.split(",") for line in (folder / "p.csv").read_text().splitlines()]
    assert header == ["C", "objective", "proved_gap", "non_zeros", "held_out_accuracy"]
    direct = regularization_path(np.round(X, 6), Y, [0.1, 1.0], loss="logistic", random_state=0)
    for k, row in enumerate(rows):
        assert float(row[1]) == pytest.approx(direct.certificates[k].primal, rel=1e-5)
        assert float(row[2]) <= 1e-3
        right = (np.round(X, 6) @ np.ravel(direct.coefs[k]) + direct.intercepts[k] > 0) == Y
        assert float(row[4]) == pytest.approx(np.mean(right), abs=1e-4)
    capsys.readouterr()
    assert "p.csv exists" in refused(capsys, "path", "d.svm", "--Cs", "1", "-o", "p.csv")
    assert "an interval is LOW:HIGH" in refused(capsys, "path", "d.svm", "--Cs", "1:2:3")
    assert "--test-share must be" in refused(capsys, "path", "d.svm", "--Cs", "1", "--test-share", "2")
    assert main(["path", "d.svm", "--Cs", "1", "--tol", "1e-9", "--max-iter", "1"]) == 3


def test_cv(folder, capsys):
    assert main(["cv", "d.svm", "--Cs", "1,0.01,0.1", "--folds", "3", "-o", "m.npz"]) == 0
    said = capsys.readouterr().out
    direct = LinearClassifierCV(Cs=[0.01, 0.1, 1.0], cv=3, random_state=0).fit(np.round(X, 6), Y)
    for C, own in zip(direct.Cs_, direct.scores_.T, strict=True):
        assert any(
            line.split()[:3] == [f"{C:g}", f"{own.mean():.4f}", f"{own.std():.4f}"] for line in said.splitlines()
        )
    model = load(folder / "m.npz").estimator
    assert (type(model), model.C) == (LinearClassifier, direct.C_)
    np.testing.assert_allclose(model.coef_, direct.coef_, rtol=1e-6)
    assert main(["certify", "m.npz", "d.svm"]) == 0
    assert "--folds must be at least 2" in (capsys.readouterr(), refused(capsys, "cv", "d.svm", "--folds", "1"))[1]


def test_cv_of_a_measure(folder, capsys):
    options = ["--measure", "f1", "--surrogate", "bound", "--tol", "0.05"]
    assert main(["cv", "d.svm", *options, "--Cs", "0.1,1", "--folds", "2", "-o", "m.npz"]) == 0
    assert "mean f1" in capsys.readouterr().out
    assert load(folder / "m.npz").estimator.C in (0.1, 1.0)
    assert "has no score on folds" in refused(capsys, "cv", "d.svm", "--measure", "prbep", "-o", "n.npz")


def test_compare(folder, capsys):
    assert main(["compare", "d.svm", "--losses", "squared_hinge,huber_hinge:0.2", "--baseline", "-o", "-"]) == 0
    header, *rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert header == ["loss", "solver", "C", "seconds", "proved_gap", "held_out_accuracy"]
    assert [(row[0], row[1].split(" ")[0]) for row in rows] == [
        *(("squared_hinge", "auto"), ("squared_hinge", "scikit-learn"), ("huber_hinge:0.2", "auto"))
    ]
    assert all(float(row[4]) <= 1e-2 for row in rows)
    assert "no common score" in refused(capsys, "compare", "d.svm", "--losses", "hinge,squared")
    assert "'nothing' is unknown" in refused(capsys, "compare", "d.svm", "--solvers", "nothing")
    assert main(["compare", "r.svm", "--losses", "squared,absolute", "--baseline", "--test-share", "0"]) == 0


def test_info_of_a_table_with_holes(folder, capsys):
    (folder / "a.csv").write_text("age;city;n\n1.5;Rome;0\n;Oslo;1\n3;;1\n2;Rome;0\n")
    assert main(["info", "a.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a.csv: csv table: 4 rows, 3 columns, separated by ';'"
    assert lines[2].split() == ["age", "number", "1", "1.5", "to", "3"]
    assert lines[3].split() == ["city", "text", "1", "Oslo", "(1),", "Rome", "(2)"]
    assert lines[4].split() == ["n", "number", "0", "0", "(2),", "1", "(2)"]


def test_report_needs_its_module(folder, capsys, monkeypatch):
    assert main(["train", "d.svm", "-o", "m.npz"]) == 0
    monkeypatch.setitem(sys.modules, "fenchel.reporting", None)
    capsys.readouterr()
    assert "reports need matplotlib" in refused(capsys, "report", "m.npz", "d.svm")


def test_report(folder, capsys):
    pytest.importorskip("matplotlib", reason="reports need the plot extra")
    pytest.importorskip("fenchel.reporting", reason="reports are not there yet")
    assert main(["train", "d.svm", "-o", "m.npz"]) == 0
    assert main(["report", "m.npz", "d.svm", "--test", "d.svm"]) == 0
    assert "is proved to be within" in (folder / "m.report.html").read_text()
    assert "m.report.html exists" in (capsys.readouterr(), refused(capsys, "report", "m.npz", "d.svm"))[1]


# --- streams


def test_progress_outside_of_a_terminal_is_asked_for(folder, capsys):
    assert main(["train", "d.svm", "-o", "m.npz"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["train", "d.svm", "-o", "n.npz", "--verbose"]) == 0
    assert "reading d.svm: 100% of" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["d.svm.gz", "d.svm"])
def test_a_bar_in_a_terminal_is_removed_at_the_end(folder, monkeypatch, name):
    import gzip

    from fenchel.cli import progress

    (folder / "d.svm.gz").write_bytes(gzip.compress((folder / "d.svm").read_bytes()))
    monkeypatch.setattr(progress, "_LEAST_BYTES", 1)
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["info", name]) == 0
    assert "reading d.svm" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_predictions_are_written_as_a_whole(folder, capsys):
    assert main(["train", "d.svm", "-o", "m.npz"]) == 0
    (folder / "p.txt").write_text("old")
    assert main(["predict", "m.npz", "d.svm", "-o", "p.txt", "--force"]) == 0
    assert (folder / "p.txt").read_text().split() == [str(one) for one in load(folder / "m.npz").estimator.predict(X)]
    os.mkfifo("fifo")
    capsys.readouterr()
    assert "is not a regular file" in refused(capsys, "predict", "m.npz", "d.svm", "-o", "fifo", "--force")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["train", "--help"],
        ["train", "no.svm"],
        ["predict", "no.npz", "no.svm"],
        ["trian"],
        ["train", "sub"],
        ["predict", "a.csv", "a.csv"],
        ["train", "labels.svm"],
    ],
)
def test_a_quick_answer_imports_nothing(folder, arguments):
    (folder / "sub").mkdir()
    (folder / "a.csv").write_text("x,y\n1,0\n2,1\n")
    (folder / "labels.svm").write_text("# labels alone\n1\n-1\n")
    code = f"""
import sys
from fenchel.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
print("imported:", sorted({{"numpy", "scipy", "sklearn", "numba"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported: []"


def test_scikit_learn_is_loaded_without_what_no_command_uses():
    code = """
import sys
from fenchel.frontends.starting import load_scikit_learn
load_scikit_learn()
print(sorted({"asyncio.events", "numpy.ma.core", "pandas", "psutil", "scipy.optimize"} & set(sys.modules)))
import numpy
print(numpy.unique([2, 1, 2]), numpy.ma.is_masked(numpy.ones(1)), "numpy.ma.core" in sys.modules)
import numba
numba.njit
import asyncio.events
print(asyncio.run(asyncio.sleep(0, "done")), asyncio.events.__name__, "numba.core.ir" in sys.modules)
import scipy.stats
print(round(float(scipy.stats.norm.cdf(0.0)), 3), "scipy.optimize" in sys.modules)
import sklearn.utils.fixes
print(sklearn.utils.fixes._mode([1, 1, 2]).mode)
import numpy as np
print(np.ma.array([1, 2], mask=[True, False]).sum(), np.ma.MaskedArray.__module__)
from scipy._lib._docscrape import NumpyDocString
from scipy.special import logsumexp
print(len(NumpyDocString("A.\\n\\nNotes\\n-----\\nB.")["Notes"]), logsumexp.__doc__.lstrip()[:11])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    asked = ["[1 2] False False", "done asyncio.events True", "0.5 True", "[1]", "2 numpy.ma", "1 Compute the"]
    assert done.stdout.split("\n")[:7] == ["[]", *asked]


def test_every_loss_with_parameters_has_one_that_the_help_shows():
    assert fenchel.losses.NAMED["quantile"](0.9) == Quantile(0.9)
    assert names.chosen("loss", "epsilon_insensitive:0.2,2", names.LOSSES) == ("epsilon_insensitive", (0.2, 2.0))


def test_arrays_that_hardly_shrink_are_stored_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "_LARGE", 1 << 10)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 2)), rng.integers(0, 2, 500)
    for loss, kind in (("logistic", zipfile.ZIP_STORED), ("hinge", zipfile.ZIP_DEFLATED)):
        model = fenchel.LinearClassifier(loss=loss).fit(X, y)
        model_file.save(tmp_path / "m.npz", model_file.ModelFile(model, None, None, zero_based=False))
        with zipfile.ZipFile(tmp_path / "m.npz") as archive:
            kinds = {one.filename: one.compress_type for one in archive.infolist()}
        assert kinds["theta_.npy"] == kind
        assert kinds["about.npy"] == kinds["coef_.npy"] == zipfile.ZIP_DEFLATED
        np.testing.assert_array_equal(load(tmp_path / "m.npz").estimator.theta_, model.theta_)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("train", "0 if the tolerance is proved, 3 if it is not (the model is written all the same)"),
        ("certify", "0 if the tolerance is proved, 3 if it is not (the gap is printed all the same)"),
        ("predict", "0 if done, 2 for bad input"),
    ],
)
def test_help_states_the_exit_status_of_the_command(command, status, capsys):
    """That of train stood under every command."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert status in " ".join(capsys.readouterr().out.split())


def test_proved_gaps_are_not_negative(folder, capsys):
    """Rounding left -1.5e-16 in the table of an optimal model."""
    (folder / "a.csv").write_text("a,y\n" + "".join(f"{k},{3 * k + k % 2}\n" for k in range(20)))
    assert main(["path", "a.csv", "--loss", "squared", "--Cs", "0.1,1,10,100", "-o", "-"]) == 0
    gaps = [float(line.split(",")[2]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert len(gaps) == 4 and min(gaps) >= 0.0
