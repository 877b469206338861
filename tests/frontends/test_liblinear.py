"""LIBLINEAR's programs: models in both directions, objectives, and lines that scripts parse."""

import ctypes
import ctypes.util
import io
import json
import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from fenchel import Status
from fenchel.frontends import scoring
from fenchel.frontends.liblinear import folds, training
from fenchel.frontends.liblinear.kinds import KINDS
from fenchel.frontends.liblinear.model import Model, load_model
from fenchel.interop import peers
from front_end_cases import examples, lines_of, three_labels, two_labels

liblinearutil = pytest.importorskip("liblinear.liblinearutil", reason="a peer of the benchmarks")

CLASSIFIERS = [0, 1, 2, 3, 4, 5, 6, 7]
REGRESSORS = [11, 12, 13]
#: LIBLINEAR's hinges are slow to converge
TIGHT = 1e-8


def data_of(kind, classes):
    X, target = examples()
    if kind >= 8:
        return X, target
    return X, two_labels(target) if classes == 2 else three_labels(target)


def objective(kind, weights, X, y, C, bias, p=0.1, costs=None, frees_bias=False):
    """LIBLINEAR's objective, from its README: weights of (features and bias, outputs), summed over its problems."""
    column = np.full((len(X), 1), bias) if bias >= 0 else np.empty((len(X), 0))
    scores = np.hstack([X, column]) @ weights
    penalized = weights[:-1] if frees_bias else weights
    penalty = np.sum(np.abs(penalized)) if kind in (5, 6) else 0.5 * np.sum(penalized**2)
    if kind in REGRESSORS:
        over = np.maximum(np.abs(y - scores[:, 0]) - p, 0.0)
        return penalty + C * np.sum(over if kind == 13 else over**2)
    labels = order_of(y)
    costs = dict.fromkeys(labels, 1.0) | (costs or {})
    places = np.array([labels.index(label) for label in y.tolist()])
    if kind == 4:
        margins = 1.0 - scores[np.arange(len(y)), places][:, None] + scores
        margins[np.arange(len(y)), places] = 0.0
        return penalty + C * np.sum(np.array([costs[label] for label in y.tolist()]) * np.max(margins, axis=1))
    total = penalty
    for k in range(scores.shape[1]):
        sign = np.where(places == k, 1.0, -1.0)
        # with two classes both have their weights
        other = np.array([costs[label] for label in y.tolist()]) if len(labels) == 2 else np.ones(len(y))
        cost = C * np.where(sign > 0, costs[labels[k]], other)
        margins = sign * scores[:, k]
        losses = {
            "logistic": np.logaddexp(0.0, -margins),
            "squared_hinge": np.maximum(0.0, 1.0 - margins) ** 2,
            "hinge": np.maximum(0.0, 1.0 - margins),
        }
        total += np.sum(cost * losses[KINDS[kind].loss])
    return total


def order_of(y):
    """The labels in the order of their first rows; 1 before -1."""
    found = list(dict.fromkeys(y.tolist()))
    return [1, -1] if found == [-1, 1] else found


def weights_in(path):
    model = load_model(str(path))
    return np.array(model.weights).reshape(model.rows, model.outputs)


def predictions_of_liblinear(path, X, y, options=""):
    """What LIBLINEAR predicts with a model file, and its scores or probabilities."""
    model = liblinearutil.load_model(str(path))
    assert model is not None
    with redirect_stdout(io.StringIO()):
        labels, _, values = liblinearutil.predict(list(y), _rows(X), model, options)
    return np.array(labels), np.array(values)


def _rows(X):
    return [{j + 1: value for j, value in enumerate(row) if value} for row in X.tolist()]


CASES = [(kind, classes) for kind in CLASSIFIERS for classes in (2, 3)] + [(kind, 2) for kind in REGRESSORS]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("bias", [-1, 0.5])
@pytest.mark.parametrize(("kind", "classes"), CASES)
def test_models_go_both_ways_and_are_no_worse(call, folder, kind, classes, bias):
    X, y = data_of(kind, classes)
    (folder / "d").write_text(lines_of(X, y))
    weighted = kind < 8 and bias > 0
    options = f"-s {kind} -c 0.7 -B {bias} -p 0.2" + (f" -w{order_of(y)[1]} 3" if weighted else "")
    assert call(f"liblinear train {options} -q d ours").status == 0
    theirs = liblinearutil.train(list(y), _rows(X), f"{options} -q")
    liblinearutil.save_model("theirs", theirs)
    # as text, line by line up to the weights
    headers = [(folder / name).read_text().split("\nw\n")[0] for name in ("ours", "theirs")]
    assert headers[0] == headers[1]
    costs = {order_of(y)[1]: 3.0} if weighted else {}
    values = [objective(kind, weights_in(name), X, y, 0.7, bias, 0.2, costs) for name in ("ours", "theirs")]
    assert values[0] <= values[1] * (1.0 + 1e-3)
    # our own objective is the one that was certified
    sidecar = json.loads((folder / "ours.certificate").read_text())
    assert sum(one["objective"] for one in sidecar["problems"]) == pytest.approx(values[0], rel=1e-9)
    assert all(one["proved"] for one in sidecar["problems"])
    assert sidecar["model_sha256"] == sha256((folder / "ours").read_bytes()).hexdigest()
    for name in ("ours", "theirs"):
        expected, _ = predictions_of_liblinear(name, X, y)
        said = call(f"liblinear predict d {name} out")
        assert np.array_equal(np.loadtxt("out"), expected)
        assert said.status == 0
        if kind < 8:
            right = int(np.sum(expected == y))
            assert said.out == f"Accuracy = {100.0 * right / len(y):g}% ({right}/{len(y)})\n"


@pytest.mark.parametrize("kind", [0, 2, 5, 6, 11])
def test_a_bias_that_is_not_regularized(call, folder, kind):
    X, y = data_of(kind, 2)
    (folder / "d").write_text(lines_of(X, y))
    assert call(f"liblinear train -s {kind} -B 1 -R -q d ours").status == 0
    theirs = liblinearutil.train(list(y), _rows(X), f"-s {kind} -B 1 -R -q -e {TIGHT}")
    liblinearutil.save_model("theirs", theirs)
    values = [objective(kind, weights_in(name), X, y, 1.0, 1.0, frees_bias=True) for name in ("ours", "theirs")]
    assert values[0] == pytest.approx(values[1], rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [0, 6, 7])
def test_probabilities(call, folder, kind, classes):
    X, y = data_of(kind, classes)
    (folder / "d").write_text(lines_of(X, y))
    call(f"liblinear train -s {kind} -q d")
    labels, values = predictions_of_liblinear("d.model", X, y, "-b 1")
    assert call("liblinear predict -b 1 d d.model out").status == 0
    first, *rows = (folder / "out").read_text().splitlines()
    assert first == " ".join(map(str, ["labels", *order_of(y)]))
    assert rows == [" ".join(f"{number:g}" for number in (a, *b)) for a, b in zip(labels, values, strict=True)]


def test_one_class(call, folder):
    X, _ = examples()
    X += 1.0
    (folder / "d").write_text(lines_of(X, np.ones(len(X))))
    said = call("liblinear train -s 21 -n 0.3 -e 1e-5 d ours")
    theirs = liblinearutil.train([1.0] * len(X), _rows(X), "-s 21 -n 0.3 -e 1e-6 -q")
    liblinearutil.save_model("theirs", theirs)
    models = [load_model(name) for name in ("ours", "theirs")]
    values = []
    for model in models:
        scores = X @ np.array(model.weights)
        loss = np.sum(np.maximum(0.0, model.rho - scores)) - 0.3 * len(X) * model.rho
        values.append(0.5 * np.sum(np.square(model.weights)) + loss)
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert f"rho = {models[0].rho:f}" in said.out
    for name in ("ours", "theirs"):
        expected, _ = predictions_of_liblinear(name, X, np.ones(len(X)))
        call(f"liblinear predict -q d {name} out")
        assert np.array_equal(np.loadtxt("out"), expected)
        assert np.mean(expected == -1) == pytest.approx(0.3, abs=0.1)


def test_large_files_are_predicted_alike(call, folder, monkeypatch):
    for classes in (2, 3):
        X, y = data_of(0, classes)
        (folder / "d").write_text(lines_of(X, y))
        call("liblinear train -s 0 -B 1 -q d")
        # a row with more features than the model
        (folder / "t").write_text(lines_of(np.hstack([X, X]), y))
        said = [call("liblinear predict -b 1 t d.model small")]
        with monkeypatch.context() as patch:
            patch.setattr(scoring, "LARGE", 0)
            said.append(call("liblinear predict -b 1 t d.model large"))
        assert said[0].out == said[1].out
        assert (folder / "small").read_bytes() == (folder / "large").read_bytes()


def test_the_calls_of_the_readme(call, folder):
    """Every example of LIBLINEAR's README, in its order of options."""
    X, target = examples(40)
    (folder / "data_file").write_text(lines_of(X, two_labels(target)))
    (folder / "two_class_data_file").write_text(lines_of(X, np.where(target > 0, 2, 3)))
    four = np.digitize(target, [-1.0, 0.0, 1.0]) + 1
    (folder / "four_class_data_file").write_text(lines_of(X, four))
    assert call("liblinear train data_file").status == 0
    assert (folder / "data_file.model").read_text().startswith("solver_type L2R_L2LOSS_SVC_DUAL\n")
    assert call("liblinear train -s 0 data_file").status == 0
    assert call("liblinear train -s 21 -n 0.1 data_file m21").status == 0
    assert re.search(
        r"^Cross Validation Accuracy = [\d.]+%$", call("liblinear train -v 5 -e 0.001 data_file").out, re.M
    )
    said = call("liblinear train -C data_file")
    assert said.err == "Solver not specified. Using -s 2\n"
    assert said.out.startswith("Doing parameter search with 5-fold cross validation.\nlog2c=")
    best = re.search(r"^Best C = (\S+)  CV accuracy = [\d.]+%$", said.out, re.M)
    assert call(f"liblinear train -c {best[1]} data_file").status == 0
    assert "Best C = " in call("liblinear train -C -s 0 -v 3 -c 0.5 -e 0.0001 data_file").out
    assert call("liblinear train -c 10 -w1 2 -w2 5 -w3 2 four_class_data_file").status == 0
    assert call("liblinear train -c 10 -w3 1 -w2 5 two_class_data_file").status == 0
    model = load_model("two_class_data_file.model")
    assert model.labels == order_of(np.where(target > 0, 2, 3))
    call("liblinear train -s 0 data_file")
    assert call("liblinear predict -b 1 data_file data_file.model output_file").status == 0
    # and one that scripts have: the model of a file in another folder lies here
    (folder / "sub").mkdir()
    (folder / "sub" / "heart_scale").write_text((folder / "data_file").read_text())
    assert call("liblinear train -s 2 -c 4 sub/heart_scale").status == 0
    assert (folder / "heart_scale.model").is_file()


def test_folds_are_those_of_liblinear(call, folder):
    X, target = examples(50)
    y = two_labels(target)
    (folder / "d").write_text(lines_of(X, y))
    libc = ctypes.CDLL(ctypes.util.find_library("c") or None)
    if sys.platform != "linux" or not hasattr(libc, "gnu_get_libc_version"):
        pytest.skip("LIBLINEAR shuffles with rand of the C library; this is another one")
    libc.srand(1)
    assert folds.c_rand(100) == [libc.rand() for _ in range(100)]
    for options in ("-s 0 -v 5", "-s 2 -v 7 -B 1"):
        libc.srand(1)
        with redirect_stdout(io.StringIO()):
            accuracy = liblinearutil.train(list(y), _rows(X), f"{options} -e {TIGHT} -q")
        assert call(f"liblinear train {options} -e {TIGHT} -q d").out == f"Cross Validation Accuracy = {accuracy:g}%\n"
    (folder / "r").write_text(lines_of(X, target))
    libc.srand(1)
    with redirect_stdout(io.StringIO()):
        error = liblinearutil.train(list(target), _rows(X), f"-s 11 -v 5 -e {TIGHT} -q")
    found = re.findall(r"= (\S+)", call(f"liblinear train -s 11 -v 5 -e {TIGHT} -q r").out)
    # its function returns the error alone
    assert float(found[0]) == pytest.approx(error, rel=1e-4)


def test_a_search_finds_the_same_cost(call, folder):
    X, target = examples(50)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    libc = ctypes.CDLL(ctypes.util.find_library("c") or None)
    libc.srand(1)
    with redirect_stdout(io.StringIO()):
        C, _, rate = liblinearutil.train(list(two_labels(target)), _rows(X), "-C -s 2 -v 3 -q")
    said = call("liblinear train -C -s 2 -v 3 d").out
    if sys.platform == "linux":
        assert said.splitlines()[-1] == f"Best C = {C:g}  CV accuracy = {100.0 * rate:g}%"
    steps = re.findall(r"^log2c= *(-?[\d.]+)\trate=[\d.]+$", said, re.M)
    assert np.all(np.diff(np.array(steps, dtype=float)) == 1.0)


@pytest.mark.thorough
def test_a_search_of_regression(call, folder):
    X, target = examples(30, 2)
    (folder / "d").write_text(lines_of(X, target))
    said = call("liblinear train -C -s 11 -v 2 -c 512 -p 0.2 d").out
    assert re.search(r"^log2c=\s+9.00\tp=\s+[\d.]+\tMean squared error=\S+$", said, re.M)
    assert re.search(r"^Best C = \S+ Best p = \S+  CV MSE = \S+$", said, re.M)
    assert "WARNING: maximum C reached." in said


def test_labels_and_classes(call, folder):
    X, target = examples(30)
    # truncated as in C, and one class alone
    (folder / "d").write_text(lines_of(X, np.where(target > 0, 1.9, -1.2)))
    assert call("liblinear train -q d").status == 0
    assert load_model("d.model").labels == [1, -1]
    (folder / "one").write_text(lines_of(X, np.full(30, 5)))
    for kind in (1, 4):
        assert call(f"liblinear train -s {kind} -q one").status == 0
        expected, _ = predictions_of_liblinear("one.model", X, np.full(30, 5))
        assert call("liblinear predict one one.model out").out == "Accuracy = 100% (30/30)\n"
        assert np.array_equal(np.loadtxt("out"), expected)
    said = call("liblinear train -q -w9 2 d")
    assert said.err == "WARNING: class label 9 specified in weight is not found\n"


def test_regression_is_measured_as_by_liblinear(call, folder):
    X, target = examples()
    (folder / "d").write_text(lines_of(X, target))
    call("liblinear train -s 11 -q d")
    said = call("liblinear predict d d.model out").out
    found = np.loadtxt("out")
    assert said.splitlines()[0] == f"Mean squared error = {np.mean((found - target) ** 2):g} (regression)"
    assert said.splitlines()[1].endswith(" (regression)")
    squared = float(re.search(r"coefficient = (\S+)", said)[1])
    assert squared == pytest.approx(np.corrcoef(found, target)[0, 1] ** 2, rel=1e-5)


def test_what_is_written(call, folder):
    X, target = examples(30)
    (folder / "d").write_text(lines_of(X, two_labels(target)))
    call("liblinear train -q d")
    # to standard output, as scripts do
    said = call("liblinear predict d d.model /dev/stdout")
    assert len(said.out.splitlines()) == 31
    assert said.out.splitlines()[-1].startswith("Accuracy = ")
    # a file that is not ours is kept
    (folder / "own.certificate").write_text("mine")
    said = call("liblinear train -q d own")
    assert said.status == 0
    assert said.err == "own.certificate is not a certificate of Fenchel, and is not replaced\n"
    assert (folder / "own.certificate").read_text() == "mine"
    before = (folder / "d.model.certificate").read_text()
    call("liblinear train -q -c 3 d")
    assert (folder / "d.model.certificate").read_text() != before


@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c(call, folder, monkeypatch, classes):
    """The best model so far is written, unless some classes have no weights yet."""
    X, y = data_of(0, classes)
    (folder / "d").write_text(lines_of(X, y))
    solved = training.fit

    def interrupted(*arguments):
        found = solved(*arguments)
        return found._replace(solution=replace(found.solution, status=Status.INTERRUPTED, converged=False))

    monkeypatch.setattr(training, "fit", interrupted)
    said = call("liblinear train -s 0 d")
    assert said.status == 130
    assert (folder / "d.model").exists() == (classes == 2)
    if classes == 2:
        assert "WARNING: reaching max number of iterations" in said.out
        assert not json.loads((folder / "d.model.certificate").read_text())["problems"][0]["proved"]
    assert call("liblinear train -s 0 -v 2 d").status == 130


def test_the_problems_are_those_that_foreign_models_are_judged_by():
    """The table of this front end and that of ``fenchel.certify`` for LIBLINEAR's own models."""
    for number, (name, _, l1_ratio) in peers.SOLVERS.items():
        assert KINDS[number].loss == name
        assert KINDS[number].l1 == bool(l1_ratio)
    assert {number for number, kind in KINDS.items() if kind.task == "classification"} == {4, *peers.SOLVERS}


@pytest.mark.parametrize("labels", [[1, -1], [1, 2, 3]])
def test_a_model_of_many_features_has_a_line_for_each(labels, tmp_path):
    k = 1 if len(labels) == 2 else len(labels)
    weights = np.random.default_rng(0).standard_normal((2501, k))
    model = Model(KINDS[2], len(labels), labels, len(weights), -1.0, weights.ravel().tolist())
    (tmp_path / "model").write_bytes(model.content())
    lines = model.content().decode().split("\nw\n")[1].split("\n")
    assert lines == [*(" ".join([*(f"{one:.17g}" for one in row), ""]) for row in weights), ""]
    assert load_model(str(tmp_path / "model")) == model
