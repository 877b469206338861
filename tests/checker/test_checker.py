"""The independent checker confirms what `fenchel train` writes, and refutes what was changed afterwards."""

import ast
import importlib.util
import io
import itertools
import json
import math
import random
import sys
import zipfile
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import shared_file
from fenchel.cli.main import main as fenchel

PROGRAM = Path(__file__).resolve().parents[2] / "checker" / "check_certificate.py"


def _program():
    spec = importlib.util.spec_from_file_location("check_certificate", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = _program()

CLASSIFICATION = ("hinge", "squared_hinge", "huber_hinge", "logistic", "exponential")
REGRESSION = ("squared", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "quantile")
FORMS = ("weston_watkins", "crammer_singer", "multinomial")


def _rows():
    random = np.random.default_rng(0)
    X = np.round(random.standard_normal((40, 5)), 3)
    X[random.random(X.shape) < 0.3] = 0.0
    return random, X


def _labels(kind):
    random, X = _rows()
    if kind == "two":
        return np.where(X[:, 0] + 0.5 * random.standard_normal(40) > 0, 1, -1)
    if kind == "three":
        return np.argmax(X[:, :3] + 0.5 * random.standard_normal((40, 3)), axis=1)
    if kind == "counts":
        return random.poisson(np.exp(0.5 * X[:, 0]))
    return np.round(X @ random.standard_normal(5) + 0.3 * random.standard_normal(40) + 2.0, 3)


def _svmlight(path, kind, first=1):
    lines = [
        " ".join([repr(label), *(f"{j + first}:{value!r}" for j, value in enumerate(row) if value)])
        for row, label in zip(_rows()[1].tolist(), _labels(kind).tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _trained(folder, kind, *options):
    data, model = _svmlight(folder / "data.svm", kind), folder / "model.npz"
    assert fenchel(["train", str(data), "-o", str(model), "--force", *options]) in (0, 3)
    return model, data


def _status(model, data, *options):
    return checker.main([str(model), str(data), *options])


def _changed(model, **changes):
    """Write the model file again with changed arrays, or with changed fields of its first certificate."""
    with np.load(model) as archive:
        arrays = {name: archive[name] for name in archive.files}
    about = json.loads(str(arrays["about"]))
    for name, change in changes.items():
        if name in arrays:
            arrays[name] = change(arrays[name])
        else:
            about["certificates"][0][name] = change
    np.savez_compressed(model, **{**arrays, "about": np.array(json.dumps(about))})


def _exact(model, data):
    """Exact objective and dual bound of the first problem, and its certificate."""
    about, arrays = checker.read_model(str(model))
    problem = checker.problems(about, arrays, checker.read_data(str(data), about, None))[0]
    objective, bound = problem.check()
    return objective[1], bound[0], about["certificates"][0]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", ["--intercept", "--no-intercept"])
@pytest.mark.parametrize("l1_ratio", ["0", "0.3", "1"])
@pytest.mark.parametrize("loss", [*CLASSIFICATION, *REGRESSION, "poisson"])
def test_one_score(tmp_path, loss, l1_ratio, intercept):
    kind = "two" if loss in CLASSIFICATION else "counts" if loss == "poisson" else "numbers"
    assert _status(*_trained(tmp_path, kind, "--loss", loss, "--l1-ratio", l1_ratio, intercept)) == 0


@pytest.mark.parametrize("intercept", ["--intercept", "--no-intercept"])
@pytest.mark.parametrize("C", ["1e-7", "1e-5", "1e-4", "1e-3"])
def test_a_lasso_without_weights_is_confirmed_at_the_dual_variables_themselves(tmp_path, C, intercept):
    """Large multiples are feasible there, among which a search finds the best one up to a few digits only."""
    options = ("--loss", "squared", "--l1-ratio", "1", "-C", C, intercept)
    assert _status(*_trained(tmp_path, "numbers", *options)) == 0


MEASURES = [("f1",), ("fbeta", "--beta", "2"), ("fbeta", "--beta", "0"), ("precision_at_k", "--k", "3")]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("options", [("--intercept",), ("--no-intercept",), ("--l1-ratio", "1"), ("--tol", "0")])
@pytest.mark.parametrize("measure", MEASURES)
def test_measures_of_the_contingency_table(tmp_path, measure, options):
    model, data = _trained(tmp_path, "two", "--measure", *measure, "--surrogate", "bound", *options)
    assert _status(model, data) == 0
    objective, bound, certificate = _exact(model, data)
    assert float(objective) == pytest.approx(certificate["primal"], abs=1e-12)
    assert float(bound) == pytest.approx(certificate["dual"], abs=1e-10)


def test_measures_of_several_classes(tmp_path):
    assert _status(*_trained(tmp_path, "three", "--measure", "f1", "--surrogate", "bound")) == 0


def test_a_changed_mixture_proves_less(tmp_path, capsys):
    model, data = _trained(tmp_path, "two", "--measure", "f1", "--surrogate", "bound", "--tol", "1e-6")
    _changed(model, decomposition_0=lambda rows: np.concatenate([rows, [[rows[:, 0].sum(), 0, 0]]]))
    assert _status(model, data) == 1
    assert "the dual variables prove a lower bound that is" in capsys.readouterr().out
    for wrong in ([[1.0, 99, 0]], [[-1.0, 0, 0]], [[1.0, 0.5, 0]], [[0.0, 0, 0]], [[1.0, 0]]):
        _changed(model, decomposition_0=lambda _, wrong=wrong: np.array(wrong))
        assert _status(model, data) == 2


def test_the_objective_of_a_measure_is_that_of_all_labellings():
    random = np.random.default_rng(0)
    for square, k in ((1, None), (4, None), (0, None), (None, 2), (None, 1)):
        signs = [1, 1, 1, -1, -1, -1, -1]
        mixture = checker.Array((1, 3), [1.0, 0.0, 0.0])
        risk = checker.ContingencyRisk(signs, mixture, square=square, k=k)
        for _ in range(20):
            scores, best = random.integers(-8, 9, 7).tolist(), 0
            for flips in itertools.product((0, 1), repeat=7):
                numerator, denominator = risk.delta(sum(flips[:3]), sum(flips[3:]))
                if denominator is not None:
                    term = sum(-sign * s for sign, s, flip in zip(signs, scores, flips, strict=True) if flip)
                    best = max(best, 7 * Fraction(numerator) / denominator + Fraction(term, 4))
            assert risk.primal([scores], 2, None) == (best, best)


@pytest.mark.parametrize("intercept", ["--intercept", "--no-intercept"])
@pytest.mark.parametrize("weights", [(), ("--class-weight", "balanced")])
@pytest.mark.parametrize("form", ["ovr", *FORMS])
def test_several_classes(tmp_path, form, weights, intercept):
    loss = "logistic" if form == "multinomial" else "hinge"
    model, data = _trained(tmp_path, "three", "--loss", loss, "--multi-class", form, *weights, intercept)
    assert _status(model, data) == 0


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_balanced_classes(tmp_path, loss):
    assert _status(*_trained(tmp_path, "two", "--loss", loss, "--class-weight", "balanced", "-C", "0.3")) == 0


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_at_the_rounding_floor(tmp_path, loss):
    assert _status(*_trained(tmp_path, "two", "--loss", loss, "--tol", "0")) == 0


def test_features_from_zero_and_tables(tmp_path):
    data, model = _svmlight(tmp_path / "zero.svm", "two", first=0), tmp_path / "model.npz"
    assert fenchel(["train", str(data), "-o", str(model)]) == 0
    assert _status(model, data) == 0
    table = tmp_path / "table.csv"
    names = np.array(["no", "yes"])[(_labels("two") > 0).astype(int)]
    lines = [",".join([*map(repr, row), name]) for row, name in zip(_rows()[1].tolist(), names, strict=True)]
    for header in ("a,b,c,d,e,kind\n", ""):
        table.write_text(header + "\n".join(lines) + "\n")
        assert fenchel(["train", str(table), "-o", str(model), "--force"]) == 0
        assert _status(model, table) == 0


@pytest.mark.parametrize("loss", ["hinge", pytest.param("logistic", marks=pytest.mark.thorough)])
def test_a9a(tmp_path, loss):
    data, model = shared_file("a9a.svm.xz"), tmp_path / "model.npz"
    assert fenchel(["train", str(data), "-o", str(model), "--loss", loss]) == 0
    assert _status(model, data) == 0


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_claims_beyond_the_errors_are_refuted(tmp_path, loss, capsys):
    model, data = _trained(tmp_path, "two", "--loss", loss)
    objective, bound, certificate = _exact(model, data)
    too_low = float(objective) - certificate["primal_error"]
    _changed(model, primal=too_low - 4.0 * math.ulp(too_low))
    assert _status(model, data) == 1
    assert "above the stated bound" in capsys.readouterr().out
    too_high = float(bound) + certificate["dual_error"]
    _changed(model, primal=certificate["primal"], dual=too_high + 4.0 * math.ulp(too_high))
    assert _status(model, data) == 1
    assert "below the stated one" in capsys.readouterr().out
    _changed(model, dual=2.0 * certificate["primal"])
    assert _status(model, data) == 1
    assert "below the stated lower bound for all models" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {"coef_": lambda coef: 1.01 * coef},
        {"intercept_": lambda b: b + 0.1 * np.arange(1, b.size + 1).reshape(b.shape)},
        {"theta_": lambda theta: 0.9 * theta},
        {"theta_": np.negative},
        {"theta_": np.zeros_like},
    ],
)
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_changed_arrays_are_refuted(tmp_path, kind, changes):
    model, data = _trained(tmp_path, kind, "--tol", "1e-6", "--loss", "squared" if kind == "numbers" else "hinge")
    _changed(model, **changes)
    assert _status(model, data) == 1


def test_changed_labels_are_refuted(tmp_path):
    model, data = _trained(tmp_path, "two")
    lines = data.read_text().splitlines()
    lines[0] = lines[0][1:] if lines[0].startswith("-") else "-" + lines[0]
    data.write_text("\n".join(lines) + "\n")
    assert _status(model, data) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"coef_": lambda coef: coef * np.nan},
        {"coef_": lambda coef: coef[:, :3]},
        {"theta_": lambda theta: theta[:-1]},
        {"theta_": lambda theta: theta.astype(np.float32)},
        {"classes_": lambda classes: classes[::-1].copy()},
        {"primal": math.inf},
        {"dual": "0.5"},
    ],
)
def test_damaged_models_cannot_be_checked(tmp_path, changes, capsys):
    model, data = _trained(tmp_path, "two")
    _changed(model, **changes)
    capsys.readouterr()
    assert _status(model, data) == 2
    said = capsys.readouterr()
    assert said.err.startswith("can't be checked: ")
    assert said.err.count("\n") == 1


def test_hostile_archives_cannot_be_checked(tmp_path, capsys):
    model, data = _trained(tmp_path, "two")
    original = model.read_bytes()

    def replaced(name, content):
        with zipfile.ZipFile(io.BytesIO(original)) as old, zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as new:
            for member in old.namelist():
                new.writestr(member, content if member == name else old.read(member))
        return _status(model, data)

    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}\n"
    start = b"\x93NUMPY\x01\x00"
    assert replaced("theta_.npy", start + len(header).to_bytes(2, "little") + header + bytes(10**6)) == 2
    pickled = io.BytesIO()
    np.save(pickled, np.array([print, None], dtype=object))
    assert replaced("theta_.npy", pickled.getvalue()) == 2
    small = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40,)}\n"
    assert replaced("theta_.npy", start + len(small).to_bytes(2, "little") + small + bytes(10**7)) == 2
    assert "another size" in capsys.readouterr().err
    assert replaced("about.npy", b"") == 2
    model.write_bytes(original[:200])
    assert _status(model, data) == 2
    assert _status(tmp_path / "absent.npz", data) == 2


def test_unsupported_models_and_other_data_cannot_be_checked(tmp_path, capsys):
    model, data = _trained(tmp_path, "two", "--measure", "roc_auc")
    assert _status(model, data) == 2
    assert _status(*_trained(tmp_path, "three", "--multi-class", "ovo")) == 2
    capsys.readouterr()
    assert _status(*_trained(tmp_path, "two", "--loss", "huber_hinge:0.3")) == 2
    assert "has parameters, which are not supported" in capsys.readouterr().err
    model, data = _trained(tmp_path, "two")
    assert _status(model, data, "--label", "y") == 2
    assert _status(model, _svmlight(tmp_path / "other.svm", "three")) == 2
    data.write_text(data.read_text() + "1 9:1.0\n")
    assert _status(model, data) == 2
    data.write_text("1 1:nan\n")
    assert _status(model, data) == 2


@pytest.mark.parametrize("bits", [128, 512])
def test_enclosures(bits):
    enclosures, generator = checker.Enclosures(bits), random.Random(bits)
    arguments = [generator.uniform(-1.0, 1.0) * 2.0 ** generator.randint(-60, 8) for _ in range(150)]
    arguments += [0.0, 5e-324, -5e-324, 1.0, -1.0, math.log(2), math.log(2) * 512, 700.0, -700.0, 1 / 256, -80.0, 1e3]
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 400, 10**6, -(10**6)
        scale = Decimal(2) ** bits
        # decimal rounds correctly; the results differ from the exact values by less than this
        error = Decimal(10) ** -390
        for x in arguments:
            low, high = enclosures.exp(*_dyadic(x))
            exact = Decimal(x).exp() * scale
            assert low <= exact * (1 + error)
            assert exact * (1 - error) <= high
            assert high - low <= 2 + (low >> bits)
        for x in [abs(x) for x in arguments if x] + [1e308, 1.0 + 2**-52, 1.0 - 2**-53, 2.0 - 2**-52, 2.0]:
            low, high = enclosures.log(*_dyadic(x))
            exact = Decimal(x).ln() * scale
            assert low - error * abs(low) <= exact <= high + error * abs(high)
            assert high - low <= 2


def _dyadic(x):
    numerator, denominator = x.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def test_only_the_standard_library_is_imported():
    imported = set()
    for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.partition(".")[0])
    assert imported <= sys.stdlib_module_names
    assert not imported & {"pickle", "marshal", "importlib", "ctypes"}
