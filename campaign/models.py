"""Mutated model files: a FenchelError, or what an independent parser reads, and predictions or a ValueError.

The independent checker says that it can't check them, refutes them, or confirms them.
"""

import contextlib
import importlib.util
import io
import warnings
import zipfile

import numpy as np

from campaign import PROJECT, parsers
from campaign.loops import use_plain_loops
from campaign.mutations import DefectError, mutated
from fenchel import FenchelError, LinearClassifier, LinearRegressor, MeasureClassifier, SequenceClassifier
from fenchel.io.encoding import ColumnCode, Encoding
from fenchel.io.model_file import ModelFile, load, save


def model_files(folder):
    """A model file of each kind."""
    use_plain_loops()
    X, y = _training_data()
    paths = []
    fitted = (
        LinearClassifier().fit(X, y),
        LinearClassifier("logistic").fit(X, np.array(["a", "b", "c"])[np.arange(20) % 3]),
        LinearRegressor().fit(X, X[:, 0]),
        MeasureClassifier("roc_auc").fit(X, y),
    )
    for place, estimator in enumerate(fitted):
        paths.append(folder / f"model{place}.npz")
        save(paths[-1], ModelFile(estimator, ["u", "v", "w"] if place else None, None, False))
    code = Encoding((ColumnCode("a", None, 0.5), ColumnCode("b", ("p", "q"))))
    paths.append(folder / "encoded.npz")
    save(paths[-1], ModelFile(fitted[0], code.feature_names, "y", False, encoding=code))
    chain = SequenceClassifier("logistic", tol=0.1).fit(X, np.array(["O", "B-NP"])[y], lengths=[15, 5])
    paths.append(folder / "chain.npz")
    save(paths[-1], ModelFile(chain, ["U:a", "U:b", "U:c"], None, False, template="U:%x[0,0]\nB\n", columns=2))
    return [path.read_bytes() for path in paths]


def _training_data():
    return np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2


def model_mutant(rng, folder, originals):
    """Load one mutated model file, compare it, and predict with it."""
    content = originals[int(rng.integers(len(originals)))]
    content = mutated(rng, content) if rng.random() < 0.3 else _mutated_members(rng, content)
    path = folder / "mutant.npz"
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load(path)
            found = model.estimator
    except FenchelError:
        return content, False
    except Exception as error:
        raise DefectError(f"load raised {type(error).__name__}: {error}") from error
    try:
        about, arrays = parsers.model(path)
    except Exception as error:
        raise DefectError(f"accepted, but {type(error).__name__}: {error}") from error
    for name in ("coef_", "theta_", "classes_", "transitions_", "start_", "end_"):
        if name in arrays and tuple(np.ravel(getattr(found, name)).tolist()) != arrays[name][1]:
            raise DefectError(f"{name} differs")
    if found.n_features_in_ != about["features"]:
        raise DefectError("the number of features differs")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            chained = {} if model.columns is None else {"lengths": [1, 1]}
            predicted = found.predict(np.zeros((2, found.n_features_in_)), **chained)
    except ValueError:
        return content, True
    except Exception as error:
        raise DefectError(f"predict raised {type(error).__name__}: {error}") from error
    if len(predicted) != 2:
        raise DefectError("the predictions have another length")
    return content, True


def load_checker():
    """The independent checker as a module."""
    spec = importlib.util.spec_from_file_location("check_certificate", PROJECT / "checker" / "check_certificate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checker_mutant(rng, folder, originals, checker):
    """Check a mutated model of two classes, or the model with mutated data: nothing may be raised."""
    X, y = _training_data()
    lines = [
        " ".join([str(label), *(f"{j}:{value!r}" for j, value in enumerate(row, 1))])
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    data, content = "\n".join(lines).encode(), originals[0]
    if rng.random() < 0.3:
        data = mutated(rng, data)
    else:
        content = _mutated_members(rng, content)
    (folder / "checked.npz").write_bytes(content)
    (folder / "checked.svm").write_bytes(data)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = checker.main([str(folder / "checked.npz"), str(folder / "checked.svm")])
    except Exception as error:
        raise DefectError(f"the checker raised {type(error).__name__}: {error}") from error
    return content, status == checker.CONFIRMED


def _mutated_members(rng, content):
    """The archive with one member mutated, so that its checksums are right."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        names = source.namelist()
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            data = source.read(name)
            if name == chosen:
                if rng.random() < 0.05:
                    continue
                data = _mutated_array(rng, data)
            target.writestr(name, data)
    return stream.getvalue()


def _mutated_array(rng, data):
    """The header, or the values, mutated; text is mutated as text."""
    begin = 10 + int.from_bytes(data[8:10], "little")
    if rng.random() < 0.3:
        return mutated(rng, data[:begin]) + data[begin:]
    shape, values = parsers.array(data)
    if not shape and isinstance(values[0], str):
        text = mutated(rng, values[0].encode()).decode("utf-8", "replace").replace("\0", " ")
        stream = io.BytesIO()
        np.save(stream, np.array(text))
        return stream.getvalue()
    return data[:begin] + mutated(rng, data[begin:])
