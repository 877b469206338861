"""The commands that take a model and data: ``predict``, ``evaluate``, ``certify`` and ``report``."""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.output import DASH, NOT_PROVED, PROVED, check_output, say, table_lines, write
from fenchel.errors import FenchelError
from fenchel.frontends.starting import load_scikit_learn
from fenchel.io.files import check_data, check_model

if TYPE_CHECKING:
    from fenchel.io.model_file import ModelFile
    from fenchel.io.readers import Table


def predict(options: Namespace) -> int:
    """Predict the labels of a file's rows; the exit status."""
    check_output(options.output, options.force)
    model = _model_and_data(options)
    import numpy as np

    from fenchel.cli import sequences
    from fenchel.cli.reading import table_for

    if model.columns is not None:
        return sequences.predict(options, model)
    estimator, table = model.estimator, table_for(options, model)
    X = _known_features(estimator, table.X)
    if options.probabilities and not hasattr(estimator, "predict_proba"):
        raise FenchelError("--probabilities needs a model that was trained with --loss logistic")
    if options.probabilities:
        shown = estimator.predict_proba(X)
    elif options.scores and hasattr(estimator, "classes_"):
        shown = estimator.decision_function(X)
    else:
        shown = estimator.predict(X)
    lines = [" ".join(map(str, np.atleast_1d(row).tolist())) for row in shown]
    if options.proved:
        found = estimator.certified_predictions(X)
        say(str(found))
        more = np.column_stack([found.lower, found.upper]).astype(str) if found.kind == "score" else None
        words = [("proved",) if proved else ("open",) for proved in found.proved] if more is None else more.tolist()
        lines = [" ".join((line, *row)) for line, row in zip(lines, words, strict=True)]
    write(lines, options.output)
    if table.y is not None:
        say(_in_a_line(model, X, table))
    return PROVED


def evaluate(options: Namespace) -> int:
    """Print the scores of a model on a file with labels; the exit status."""
    model = _model_and_data(options)
    from fenchel.cli import sequences
    from fenchel.cli.reading import table_for
    from fenchel.cli.scores import scores_of

    if model.columns is not None:
        rows, found = sequences.evaluate(options, model)
    else:
        table = _labelled(options, table_for(options, model))
        X = _known_features(model.estimator, table.X)
        rows, found = X.shape[0], scores_of(model.estimator, X, table.y, table.qid)
    if options.json:
        print(json.dumps({"rows": rows, **found}, ensure_ascii=False))
    else:
        print("\n".join(table_lines(("score", f"{rows:,} rows"), [(k, f"{v:.6g}") for k, v in found.items()])))
    return PROVED


def certify(options: Namespace) -> int:
    """Prove again how close a model is to the optimum; the exit status."""
    if options.tol is not None and not options.tol >= 0.0:
        raise FenchelError(f"--tol must be a number >= 0, got {options.tol:g}")
    if options.data is None and options.rigorous:
        raise FenchelError("--rigorous computes a new certificate, from the training data: name their file")
    model = _model_and_data(options)
    from fenchel.cli import sequences
    from fenchel.cli.fits import prove_again
    from fenchel.cli.reading import data_of, table_for

    estimator = model.estimator
    if options.data is None:
        stored = estimator.certificate_
        print(f"when it was trained: {stored}")
        proved = estimator.converged_ if options.tol is None else stored.meets(options.tol)
        return PROVED if proved and not stored.contradictory else NOT_PROVED
    if model.columns is not None:
        certificate = sequences.prove_again(options, model)
    else:
        table = table_for(options, model)
        if table.y is None:
            raise FenchelError(f"{options.data}: has no labels, and a certificate needs those the model was trained on")
        data = data_of(options, table, ranks=model.ranks)
        certificate = prove_again(estimator, data.X, data.y, data.more, rigorous=options.rigorous)
    print(certificate)
    return PROVED if certificate.meets(estimator.tol if options.tol is None else options.tol) else NOT_PROVED


def report(options: Namespace) -> int:
    """Write a page about a model; the exit status."""
    output: Path = options.output or Path(options.model.stem.removesuffix(".model") + ".report.html")
    if options.output is None and str(options.model) in options.names:
        raise FenchelError("--output: name the page, or - for standard output: the model has no name")
    check_output(output, options.force)
    model = _model_and_data(options)
    from fenchel.cli.reading import data_of, table_for

    if model.columns is not None:
        raise FenchelError("report is for models of rows; a model of sequences is described by `fenchel evaluate`")
    table = _labelled(options, table_for(options, model))
    data = data_of(options, table, ranks=model.ranks)
    more: dict[str, Any] = {**data.more, "baseline": options.baseline, "feature_names": model.names}
    if options.test is not None:
        other = _labelled(options, table_for(options, model, options.test))
        more |= {"X_test": _known_features(model.estimator, other.X), "y_test": other.y}
        more |= {} if other.sample_weight is None else {"sample_weight_test": other.sample_weight}
        if model.ranks:
            more["qid_test"] = other.qid
    write_page("report", (model.estimator, _known_features(model.estimator, data.X), data.y), more, output)
    if output != DASH:
        print(f"written: {output}")
    return PROVED if model.estimator.converged_ else NOT_PROVED


def write_page(name: str, what: tuple[Any, ...], more: dict[str, Any], output: Path) -> None:
    """Write what a function of :mod:`fenchel.reporting` makes, to standard output if that is asked for."""
    try:
        page = getattr(import_module("fenchel.reporting"), name)
    except ImportError as error:
        raise FenchelError(f"reports need matplotlib: pip install 'fenchel[plot]' ({error})") from error
    if output != DASH:
        page(*what, output, **more)
        return
    with tempfile.TemporaryDirectory(prefix="fenchel-") as folder:
        sys.stdout.write(page(*what, Path(folder) / "report.html", **more).read_text(encoding="utf-8"))


def _model_and_data(options: Namespace) -> ModelFile:
    """The model, after a look at whether both files can be what they are given as, which takes no time."""
    check_model(options.model)
    if options.data is not None:
        check_data(options.data)
    load_scikit_learn()
    from fenchel.io.model_file import load

    return load(options.model)


def _labelled(options: Namespace, table: Table) -> Table:
    if table.y is None:
        raise FenchelError(f"{options.data}: has no labels to compare with; name their column with --label")
    return table


def _known_features(estimator: Any, X: Any) -> Any:
    """The features that the model has weights for."""
    features = estimator.n_features_in_
    if X.shape[1] > features:
        say(f"features beyond the model's {features:,} are omitted: it has no weights for them")
        return X[:, :features]
    return X


def _in_a_line(model: ModelFile, X: Any, table: Table) -> str:
    """What was predicted against the labels of the file."""
    import numpy as np

    from fenchel.cli.scores import scores_of

    assert table.y is not None
    found = scores_of(model.estimator, X, table.y, table.qid)
    rows = f"{len(table.y):,} rows"
    if model.ranks:
        queries = 1 if table.qid is None else len(np.unique(table.qid))
        return f"{rows} in {queries:,} queries: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items())
    if "accuracy" in found:
        more = [f"; {name} {value:.4f}" for name, value in found.items() if name.startswith(("F1", "ROC"))]
        return f"{rows}: {100 * found['accuracy']:.2f}% right" + "".join(more)
    return f"{rows}: R² {found['R²']:.4f}, mean absolute error {found['mean absolute error']:.4g}"
