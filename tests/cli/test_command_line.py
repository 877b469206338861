"""The command ``fenchel``: train, predict, certify, on files as people have them."""

import lzma
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris, make_classification

from fenchel import LinearClassifier, LinearRegressor, MeasureClassifier, Status
from fenchel.cli.main import INTERRUPTED, NOT_PROVED, PROVED, REFUSED, main
from fenchel.io.model_file import load, save
from fenchel.io.readers import read
from fenchel.losses import NAMED
from fenchel.regularizers import REGULARIZERS
from fenchel.risks import MEASURES, MULTICLASS
from fenchel.solvers.choose import SOLVERS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_classes():
    return make_classification(80, 6, n_informative=4, random_state=0)


def _svmlight(path: Path, X, y) -> Path:
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def _table(path: Path, X, labels, header: bool = True, label: str = "kind") -> Path:
    lines = [",".join([*(f"x{j}" for j in range(X.shape[1])), label])] if header else []
    lines += [
        ",".join([*map(repr, map(float, row)), *([] if name is None else [str(name)])])
        for row, name in zip(X, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_model_goes_through_a_file_unchanged(folder, two_classes, capsys):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    assert main(["train", str(data), "-C", "0.5", "--tol", "1e-6"]) == PROVED
    said = capsys.readouterr()
    assert "80 rows, 6 features, 2 classes" in said.out
    assert "is proved to be within" in said.out
    ours = load(folder / "train.model.npz").estimator
    rows, labels = read(data).X, y
    direct = LinearClassifier(C=0.5, tol=1e-6, random_state=0).fit(rows, labels)
    assert np.array_equal(ours.coef_, direct.coef_)
    assert np.array_equal(ours.predict(rows), direct.predict(rows))
    assert ours.certificate_ == direct.certificate_
    # the proof again, from the data
    assert main(["certify", "train.model.npz", str(data)]) == PROVED
    assert capsys.readouterr().out.strip() == str(direct.certificate_)
    assert main(["certify", "train.model.npz", str(data), "--tol", "1e-15"]) == NOT_PROVED


@pytest.mark.parametrize(
    "arguments", [[], ["--multi-class", "ovr"], ["--loss", "logistic", "--class-weight", "balanced"]]
)
def test_tables_with_names(folder, capsys, arguments):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    data = _table(folder / "iris.csv", X, names)
    assert main(["train", str(data), "--tol", "1e-2", "-o", "m.npz", *arguments]) == PROVED
    model = load(folder / "m.npz")
    assert (model.names, model.label) == (["x0", "x1", "x2", "x3"], "kind")
    capsys.readouterr()
    assert main(["predict", "m.npz", str(data)]) == PROVED
    said = capsys.readouterr()
    assert said.out.split() == model.estimator.predict(X).tolist()
    assert "150 rows" in said.err
    assert "% right" in said.err
    # columns are found by name, and labels are not needed
    other = folder / "other.csv"
    other.write_text("x3,x1,x0,x2\n" + "\n".join(",".join(map(str, row)) for row in X[:, [3, 1, 0, 2]]) + "\n")
    assert main(["predict", "m.npz", str(other), "-o", "p.txt"]) == PROVED
    assert (folder / "p.txt").read_text().split() == model.estimator.predict(X).tolist()
    assert capsys.readouterr().err == ""
    assert main(["certify", "m.npz", str(data)]) == PROVED
    assert capsys.readouterr().out.strip() == str(model.estimator.certificate_)


def test_tables_without_a_header(folder, two_classes, capsys):
    X, y = two_classes
    data = _table(folder / "d.csv", X, y, header=False)
    assert main(["train", str(data), "--label", "-1"]) == PROVED
    bare = _table(folder / "bare.csv", X, [None] * len(y), header=False)
    capsys.readouterr()
    assert main(["predict", "d.model.npz", str(bare), "--scores"]) == PROVED
    scores = np.array(capsys.readouterr().out.split(), dtype=float)
    assert np.array_equal(scores, load(folder / "d.model.npz").estimator.decision_function(X))


def test_no_row_is_taken_for_a_header(folder, capsys):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    data = _table(folder / "iris.csv", X, names, header=False)
    assert main(["train", str(data), "--tol", "1e-2"]) == PROVED
    assert "150 rows" in capsys.readouterr().out
    # names of columns that are numbers must be called a header
    odd = folder / "odd.csv"
    odd.write_text("2020,2021,y\n" + "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X[:, :2], y, strict=True)) + "\n")
    assert main(["train", str(odd), "--header", "--tol", "1e-2"]) == PROVED
    assert load(folder / "odd.model.npz").names == ["2020", "2021"]


def test_features_are_numbered_as_in_training(folder, capsys):
    (folder / "zero.svm").write_text("1 0:1 2:3\n-1 0:-1 1:2\n" * 4)
    assert main(["train", "zero.svm"]) == PROVED
    # no feature 0 here, and still the same features
    (folder / "test.svm").write_text("1 1:-1 2:3\n-1 1:2\n")
    capsys.readouterr()
    assert main(["predict", "zero.model.npz", "test.svm", "--scores"]) == PROVED
    scores = np.array(capsys.readouterr().out.split(), dtype=float)
    model = load(folder / "zero.model.npz").estimator
    expected = model.decision_function(np.array([[0.0, -1.0, 3.0], [0.0, 2.0, 0.0]]))
    np.testing.assert_allclose(scores, expected, rtol=1e-14)
    (folder / "one.svm").write_text("1 1:1 3:3\n-1 1:-1 2:2\n" * 4)
    assert main(["train", "one.svm"]) == PROVED
    assert main(["predict", "one.model.npz", "zero.svm"]) == REFUSED
    assert "has a feature 0" in capsys.readouterr().err


def test_marks_of_other_programs(folder, capsys):
    rows = "a,b,y\n" + "1,0,no\n\n0,1,yes\n" * 3
    (folder / "excel.csv").write_bytes(b"\xef\xbb\xbf" + rows.encode())
    assert main(["train", "excel.csv", "--label", "y"]) == PROVED
    assert "6 rows, 2 features" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["about", "coef_", "theta_"])
def test_a_damaged_model_is_refused(folder, two_classes, capsys, name):
    data = _svmlight(folder / "train.svm", *two_classes)
    assert main(["train", str(data)]) == PROVED
    with np.load(folder / "train.model.npz") as archive:
        arrays = dict(archive)
    arrays[name] = np.array("[]") if name == "about" else np.zeros((1, 0))[0]
    np.savez(folder / "damaged.npz", **arrays)
    assert main(["certify", "damaged.npz", str(data)]) == REFUSED
    assert "damaged" in capsys.readouterr().err


def test_regression(folder, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=50)
    data = _svmlight(folder / "r.svm", X, y)
    assert main(["train", str(data), "--loss", "absolute", "--no-intercept"]) == PROVED
    table = read(data)
    direct = LinearRegressor("absolute", fit_intercept=False, random_state=0).fit(table.X, table.y)
    assert np.array_equal(load(folder / "r.model.npz").estimator.coef_, direct.coef_)
    assert main(["predict", "r.model.npz", str(data)]) == PROVED
    assert "R² 0.99" in capsys.readouterr().err
    assert main(["certify", "r.model.npz", str(data)]) == PROVED


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    ("measure", "surrogate"), [("roc_auc", "auto"), ("f1", "auto"), ("f1", "bound"), ("f1", "plug_in")]
)
def test_measures(folder, two_classes, capsys, measure, surrogate):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    options = ["--measure", measure, "--surrogate", surrogate, "--tol", "1e-2"]
    assert main(["train", str(data), *options]) == PROVED
    direct = MeasureClassifier(measure, surrogate=surrogate, tol=1e-2, random_state=0).fit(read(data).X, y)
    assert np.array_equal(load(folder / "train.model.npz").estimator.predict(X), direct.predict(X))
    capsys.readouterr()
    # F1 has no conjugate in closed form: the file holds the decomposition that bounds it
    assert main(["certify", "train.model.npz", str(data)]) == PROVED
    assert capsys.readouterr().out.strip() == str(direct.certificate_)
    assert "on trust" not in str(direct.certificate_)
    assert main(["predict", "train.model.npz", str(data)]) == PROVED
    assert "ROC area" in capsys.readouterr().err


def test_a_file_without_a_decomposition_is_certified_by_a_search(folder, two_classes, capsys):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    assert main(["train", str(data), "--measure", "f1", "--surrogate", "bound", "--tol", "1e-2"]) == PROVED
    with np.load("train.model.npz") as archive:
        arrays = {name: archive[name] for name in archive.files if name != "decomposition_0"}
        assert len(arrays) < len(archive.files)
    np.savez("train.model.npz", **arrays)
    assert main(["certify", "train.model.npz", str(data), "--tol", "0.02"]) == PROVED
    assert "on trust" not in capsys.readouterr().out


def test_the_positive_label_goes_through_a_file(folder, two_classes, capsys):
    X, y = two_classes
    words = np.where(y == 1, "well", "sick")
    data = _table(folder / "d.csv", X, words)
    assert main(["train", str(data), "--measure", "f1", "--positive", "sick", "--tol", "1e-2"]) == PROVED
    direct = MeasureClassifier("f1", pos_label="sick", tol=1e-2, random_state=0).fit(X, words)
    ours = load(folder / "d.model.npz").estimator
    assert ours.pos_label_ == "sick"
    np.testing.assert_array_equal(ours.predict(X), direct.predict(X))
    capsys.readouterr()
    assert main(["certify", "d.model.npz", str(data), "--tol", "0.02"]) == PROVED
    assert main(["predict", "d.model.npz", str(data)]) == PROVED
    assert "F1 of sick" in capsys.readouterr().err


def test_compressed_files_and_fewer_or_more_features(folder, two_classes, capsys):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    packed = folder / "train.svm.xz"
    packed.write_bytes(lzma.compress(data.read_bytes()))
    assert main(["train", str(packed), "--loss", "logistic"]) == PROVED
    estimator = load(folder / "train.model.npz").estimator
    wide = _svmlight(folder / "wide.svm", np.hstack([X, np.ones((80, 2))]), y)
    capsys.readouterr()
    assert main(["predict", "train.model.npz", str(wide), "--probabilities"]) == PROVED
    said = capsys.readouterr()
    assert "are omitted" in said.err
    assert np.allclose(np.array(said.out.split(), dtype=float).reshape(-1, 2), estimator.predict_proba(X))
    narrow = _svmlight(folder / "narrow.svm", X[:, :4], y)
    assert main(["predict", "train.model.npz", str(narrow)]) == PROVED


def test_what_is_not_proved_is_written_and_said(folder, two_classes, capsys):
    data = _svmlight(folder / "train.svm", *two_classes)
    assert main(["train", str(data), "--time-limit", "0", "--tol", "1e-9"]) == NOT_PROVED
    assert "warning: LinearClassifier stopped because" in capsys.readouterr().err
    assert not load(folder / "train.model.npz").estimator.converged_
    assert main(["certify", "train.model.npz"]) == NOT_PROVED


def test_an_interrupt_writes_the_best_model(folder, two_classes, monkeypatch, capsys):
    data = _svmlight(folder / "train.svm", *two_classes)
    solved = LinearClassifier.solve_all

    def interrupted(self, *arguments, **options):
        return [replace(solution, status=Status.INTERRUPTED) for solution in solved(self, *arguments, **options)]

    monkeypatch.setattr(LinearClassifier, "solve_all", interrupted)
    assert main(["train", str(data)]) == INTERRUPTED == 128 + signal.SIGINT
    assert load(folder / "train.model.npz").estimator.certificate_.primal > 0


def test_the_help_names_everything(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = set(capsys.readouterr().out.replace(",", " ").replace(";", " ").replace(":", " ").split())
    assert {*NAMED, *MEASURES, *REGULARIZERS, *SOLVERS, *MULTICLASS} <= said


def test_a_parser_imports_no_estimator():
    code = "import sys; from fenchel.cli.options import parser; parser().parse_args(['train', '']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "sklearn", "numba", "fenchel.estimators"} & set(loaded)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "nothing.svm"], "nothing.svm: there is no such file"),
        (["train", "train.svm", "-o", "kept.npz"], "kept.npz exists"),
        (["train", "train.svm", "-o", "no/where.npz"], "there is no folder"),
        (["train", "train.svm", "--loss", "hing"], "loss='hing' is unknown (did you mean 'hinge'?)"),
        (["train", "train.svm", "--loss", "hinge", "--measure", "f1"], "set only one"),
        (["train", "train.svm", "--measure", "g1"], "measure='g1' is unknown; choose one of prbep"),
        (["train", "train.svm", "--measure", "f1", "--class-weight", "balanced"], "class_weight does not apply to"),
        (["train", "train.svm", "--measure", "f1", "--positive", "7"], "--positive must be one of the labels 0, 1"),
        (["train", "train.svm", "--positive", "1"], "--positive is for --measure"),
        (["train", "train.svm", "-C", "-1"], "C must be a positive finite number"),
        (["train", "train.svm", "--label", "1"], "for tables"),
        (["train", "twice.csv"], "names a more than once"),
        (["train", "missing.csv"], "line 3, column 3 (y): the label is missing"),
        (["predict", "model.npz", "train.svm", "-o", "no/where.txt"], "there is no folder"),
        (["certify", "model.npz", "train.svm", "--tol", "-1"], "--tol must be"),
        (["train", "broken.svm"], "can't be read as a svmlight file"),
        (["train", "empty.svm"], "holds no rows"),
        (["train", "mixed.csv"], "line 3, column 2 (b): 'blue' is not a number, and the rows before have numbers"),
        (["train", "text.csv", "--label", "colour"], "has no column 'colour'"),
        (["train", "train.csv", "--label", "9"], "has no column '9'; it has the columns x0, x1"),
        (["train", "one.svm"], "at least two classes"),
        (["predict", "kept.npz", "train.svm"], "is not a model that `fenchel train` wrote"),
        (["predict", "model.npz", "train.svm", "--probabilities"], "--loss logistic"),
        (["predict", "model.npz", "train.svm", "-o", "kept.npz"], "kept.npz exists"),
        (["certify", "model.npz", "short.svm"], "trained on 80 rows and these are 79"),
        (["certify", "model.npz", "three.svm"], "is not among the classes of the model: 0, 1"),
    ],
)
def test_bad_input_is_refused_and_nothing_lost(folder, two_classes, capsys, arguments, words):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    _table(folder / "train.csv", X, y)
    _svmlight(folder / "short.svm", X[:-1], y[:-1])
    _svmlight(folder / "three.svm", X, np.where(np.arange(80) == 0, 7, y))
    _svmlight(folder / "one.svm", X, np.ones(80))
    (folder / "broken.svm").write_text("1 1:a\n")
    (folder / "empty.svm").write_text("")
    (folder / "text.csv").write_text("a,b,c\n1,red,0\n2,blue,1\n")
    (folder / "mixed.csv").write_text("a,b,c\n1,7,0\n2,blue,1\n")
    (folder / "twice.csv").write_text("a,a,y\n1,2,0\n2,1,1\n")
    (folder / "missing.csv").write_text("a,b,y\n1,2,no\n2,1,\n3,1,yes\n")
    (folder / "kept.npz").write_text("mine")
    assert main(["train", str(data), "-o", "model.npz"]) == PROVED
    before = {path.name for path in folder.iterdir()}
    capsys.readouterr()
    assert main(arguments) == REFUSED
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""
    assert (folder / "kept.npz").read_text() == "mine"
    assert {path.name for path in folder.iterdir()} == before


def test_a_model_of_another_format_is_refused_by_name(folder, two_classes, capsys):
    data = _svmlight(folder / "train.svm", *two_classes)
    assert main(["train", str(data)]) == PROVED
    path = folder / "train.model.npz"
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    arrays["about"] = np.array(str(arrays["about"]).replace('"format": 2', '"format": 1'))
    np.savez(path, **arrays)
    capsys.readouterr()
    assert main(["predict", str(path), str(data)]) == REFUSED
    assert "has format 1 of fenchel" in capsys.readouterr().err


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_predict_says_which_predictions_are_proved(folder, two_classes, capsys, loss):
    data = _svmlight(folder / "d.svm", *two_classes)
    assert main(["train", str(data), "--loss", loss, "--tol", "1e-8", "-o", "m.npz", "--quiet"]) == PROVED
    capsys.readouterr()
    assert main(["predict", "m.npz", str(data), "--proved"]) == PROVED
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    model = load(Path("m.npz")).estimator
    found = model.certified_predictions(read(data, load(Path("m.npz")).layout(None, None)).X)
    if loss == "squared":
        assert all(float(low) <= float(score) <= float(high) for score, low, high in lines)
    else:
        assert [word for _, word in lines] == ["proved" if one else "open" for one in found.proved]
        assert "predictions are proved" in printed.err
    assert found.share_proved > 0.9


def test_predict_says_why_nothing_is_proved(folder, two_classes, capsys):
    data = _svmlight(folder / "d.svm", *two_classes)
    main(["train", str(data), "--l1-ratio", "1", "-o", "m.npz", "--quiet"])
    assert main(["predict", "m.npz", str(data), "--proved"]) == REFUSED
    assert "not strongly convex" in capsys.readouterr().err


def test_certify_rigorously(folder, two_classes, capsys):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    assert main(["train", str(data), "--tol", "1e-6"]) == PROVED
    capsys.readouterr()
    assert main(["certify", "train.model.npz", str(data), "--rigorous"]) == PROVED
    said = capsys.readouterr().out
    assert "is proved to be within" in said
    assert "(rigorous)" in said
    assert main(["certify", "train.model.npz", str(data), "--rigorous", "--tol", "1e-15"]) == NOT_PROVED
    assert main(["certify", "train.model.npz", "--rigorous"]) == REFUSED
    assert "training data" in capsys.readouterr().err


def test_certify_without_data_judges_the_stored_certificate(folder, two_classes):
    """It went by ``converged_`` alone: not by --tol, and not by bounds that contradict each other."""
    data = _svmlight(folder / "train.svm", *two_classes)
    assert main(["train", str(data), "--tol", "1e-6", "-o", "m.npz"]) == PROVED
    assert main(["certify", "m.npz"]) == PROVED
    assert main(["certify", "m.npz", "--tol", "1e-15"]) == NOT_PROVED
    file = load(Path("m.npz"))
    file.estimator.certificates_ = [replace(file.estimator.certificate_, consistent=False)]
    save(Path("m.npz"), file)
    assert main(["certify", "m.npz"]) == NOT_PROVED


def test_certify_rigorously_refuses_measures_without_a_closed_form(folder, two_classes, capsys):
    X, y = two_classes
    data = _svmlight(folder / "train.svm", X, y)
    main(["train", str(data), "--measure", "f1", "--surrogate", "bound"])
    assert main(["certify", "train.model.npz", str(data), "--rigorous"]) == REFUSED
    assert "rigorous=True has no enclosures of the risk 'f1'" in capsys.readouterr().err


RANKED = "\n".join(
    f"{grade} qid:{query} 1:{0.3 * grade + 0.1 * query + 0.05 * row} 2:{(7 * row + query) % 5 / 5}"
    for query in range(6)
    for row, grade in enumerate([2, 0, 1, 0, 1])
)


@pytest.mark.parametrize("loss", ["pairwise_hinge", "pairwise_squared_hinge", "pairwise_logistic", "ndcg"])
def test_rankings_of_a_file_with_queries(loss, tmp_path, capsys):
    data, model = tmp_path / "ranked.svm", tmp_path / "ranked.npz"
    data.write_text(RANKED + "\n")
    assert main(["train", str(data), "--loss", loss, "-o", str(model), "--tol", "1e-5", "--quiet"]) == 0
    trained = capsys.readouterr().out
    assert main(["certify", str(model), str(data)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] in trained
    assert main(["predict", str(model), str(data)]) == 0
    shown = capsys.readouterr()
    assert "30 rows in 6 queries: NDCG@10 " in shown.err
    scores = np.array(shown.out.split(), dtype=float)
    assert len(scores) == 30
    # a table with the same rows, and its queries in a column
    rows = [line.replace("qid:", "").replace("1:", "").replace("2:", "").split() for line in RANKED.splitlines()]
    table = tmp_path / "ranked.csv"
    lines = ["query,a,b,grade", *(f"q{query},{a},{b},{grade}" for grade, query, a, b in rows)]
    table.write_text("\n".join(lines) + "\n")
    other = tmp_path / "table.npz"
    options = ["--loss", loss, "--qid", "query", "-o", str(other), "--tol", "1e-5", "--quiet"]
    assert main(["train", str(table), *options]) == 0
    assert main(["certify", str(other), str(table)]) == 0
    capsys.readouterr()
    assert main(["predict", str(other), str(table)]) == 0
    np.testing.assert_allclose(np.array(capsys.readouterr().out.split(), dtype=float), scores, atol=1e-2)


def test_tables_without_a_header_have_queries_by_number(tmp_path, capsys):
    table, model = tmp_path / "ranked.csv", tmp_path / "ranked.npz"
    grades = list(enumerate((1, 0, 2)))
    rows = [(query, 0.5 * grade + 0.1 * row, 3 * row % 4, grade) for query in range(4) for row, grade in grades]
    table.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    assert main(["train", str(table), "--loss", "pairwise_hinge", "--qid", "0", "-o", str(model), "--quiet"]) == 0
    assert "2 features" in capsys.readouterr().out
    assert main(["certify", str(model), str(table)]) == 0
    # without labels
    table.write_text("\n".join(",".join(map(str, row[:3])) for row in rows) + "\n")
    capsys.readouterr()
    assert main(["predict", str(model), str(table)]) == 0
    assert len(capsys.readouterr().out.split()) == 12


def test_wrong_queries_are_named(tmp_path, capsys):
    data, table = tmp_path / "d.svm", tmp_path / "d.csv"
    data.write_text("1 1:2\n0 1:3\n")
    table.write_text("a,q,y\n1,1,0\n2,1,1\n")
    ranking = ["--loss", "pairwise_hinge"]
    for arguments, message in (
        ([str(data), *ranking], "has no queries"),
        ([str(table), *ranking], "has no queries"),
        ([str(table), *ranking, "--qid", "z"], "--qid: "),
        ([str(table), *ranking, "--qid", "7"], "--qid: "),
        ([str(data), *ranking, "--qid", "q"], "--qid is for tables"),
        ([str(table), "--qid", "q"], "--qid is for rankings"),
        ([str(table), *ranking, "--qid", "q", "--label", "q"], "both name column 1"),
    ):
        assert main(["train", *arguments, "-o", str(tmp_path / "m.npz")]) == 2
        assert message in capsys.readouterr().err
    data.write_text("1 qid:1 1:2\n0 1:3\n")
    assert main(["train", str(data), *ranking, "-o", str(tmp_path / "m.npz")]) == 2
    assert "qid: in 1 of 2 rows" in capsys.readouterr().err
