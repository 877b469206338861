"""The command ``fenchel``: train a linear model on a file, predict with it, and prove again how good it is."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fenchel.cli.options import parser
from fenchel.cli.output import INTERRUPTED, NOT_PROVED, PROVED, REFUSED, check_checkpoint, check_output, say, write
from fenchel.errors import FenchelError
from fenchel.frontends.main import COMMANDS as FRONT_ENDS
from fenchel.frontends.main import main as front_end

__all__ = ["INTERRUPTED", "NOT_PROVED", "PROVED", "REFUSED", "main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in FRONT_ENDS:
        return front_end(given)
    options = parser().parse_args(arguments)
    commands: dict[str, Callable[[Namespace], int]] = {
        "train": _train,
        "predict": _predict,
        "certify": _certify,
        "convert": _convert,
    }
    try:
        return commands[options.command](options)
    except (FenchelError, ValueError, OSError, MemoryError) as error:
        say(f"fenchel: {str(error) or type(error).__name__}")
        return REFUSED
    except KeyboardInterrupt:
        say("interrupted: nothing was written")
        return INTERRUPTED


def _train(options: Namespace) -> int:
    from fenchel.cli import sequences
    from fenchel.cli.fits import fit, report
    from fenchel.io.model_file import ModelFile, save
    from fenchel.io.readers import Layout, default_output, read

    output = options.output or default_output(options.data)
    check_output(output, options.force)
    check_checkpoint(options.checkpoint, resume=options.resume)
    if sequences.asked_for(options):
        return sequences.train(options, output)
    estimator = _estimator(options)
    ranks = _is_ranking(options)
    table = read(options.data, Layout(options.label, options.header, ranks=ranks, qid=options.qid))
    assert table.y is not None
    queries = _queries(table, options.data) if ranks else {}
    if options.positive is not None:
        estimator.set_params(pos_label=_label_of(options.positive, table.y))
    interrupted = fit(estimator, table.X, table.y, **queries, **_weights(table))
    save(output, ModelFile(estimator, table.names, table.label, table.zero_based, table.query_column))
    rows, features = table.X.shape
    print(f"{options.data.name}: {rows:,} rows, {features:,} features{_classes(estimator)}")
    return report(estimator, output, interrupted=interrupted)


def _convert(options: Namespace) -> int:
    from fenchel.io.converting import convert
    from fenchel.io.readers import default_store

    output = options.output or default_store(options.data)
    columns = {"label": options.label, "header": options.header, "qid": options.qid, "sample_weight": options.weights}
    rows, features = convert(options.data, output, options.force, options.zero_based, **columns)
    print(f"{options.data.name}: {rows:,} rows, {features:,} features")
    print(f"written: {output}")
    return PROVED


def _predict(options: Namespace) -> int:
    import numpy as np

    from fenchel.cli import sequences
    from fenchel.io.model_file import load
    from fenchel.io.readers import read

    if options.output is not None:
        check_output(options.output, options.force)
    model = load(options.model)
    if model.columns is not None:
        return sequences.predict(options, model)
    estimator, features = model.estimator, model.estimator.n_features_in_
    table = read(options.data, model.layout(options.label, options.header, options.qid))
    X = table.X
    if X.shape[1] > features:
        say(f"features beyond the model's {features:,} are omitted: it has no weights for them")
        X = X[:, :features]
    if options.probabilities and not hasattr(estimator, "predict_proba"):
        raise FenchelError("--probabilities needs a model that was trained with --loss logistic")
    predicted = estimator.predict(X)
    if options.probabilities:
        shown = estimator.predict_proba(X)
    elif options.scores and hasattr(estimator, "classes_"):
        shown = estimator.decision_function(X)
    else:
        shown = predicted
    lines = [" ".join(map(str, np.atleast_1d(row).tolist())) for row in shown]
    if options.proved:
        found = estimator.certified_predictions(X)
        say(str(found))
        more = np.column_stack([found.lower, found.upper]).astype(str) if found.kind == "score" else None
        words = [("proved",) if proved else ("open",) for proved in found.proved] if more is None else more.tolist()
        lines = [" ".join((line, *row)) for line, row in zip(lines, words, strict=True)]
    write(lines, options.output)
    if table.y is not None:
        say(_how_ranked(estimator, table, predicted) if model.ranks else _how_good(estimator, X, table.y, predicted))
    return PROVED


def _certify(options: Namespace) -> int:
    from fenchel.cli import sequences
    from fenchel.cli.fits import prove_again
    from fenchel.io.model_file import load
    from fenchel.io.readers import read

    model = load(options.model)
    estimator = model.estimator
    if options.tol is not None and not options.tol >= 0.0:
        raise FenchelError(f"--tol must be a number >= 0, got {options.tol:g}")
    if options.data is None:
        if options.rigorous:
            raise FenchelError("--rigorous computes a new certificate, from the training data: name their file")
        print(f"when it was trained: {estimator.certificate_}")
        return PROVED if estimator.converged_ else NOT_PROVED
    if model.columns is not None:
        certificate = sequences.prove_again(options, model)
    else:
        table = read(options.data, model.layout(options.label, options.header, options.qid))
        if table.y is None:
            raise FenchelError(f"{options.data}: has no labels, and a certificate needs those the model was trained on")
        rows = {**(_queries(table, options.data) if model.ranks else {}), **_weights(table)}
        certificate = prove_again(estimator, table.X, table.y, rows, rigorous=options.rigorous)
    print(certificate)
    return PROVED if certificate.meets(estimator.tol if options.tol is None else options.tol) else NOT_PROVED


def _estimator(options: Namespace) -> Any:
    """The estimator that the options ask for."""
    from fenchel.cli.fits import configured
    from fenchel.estimators import LinearClassifier, LinearRanker, LinearRegressor, MeasureClassifier
    from fenchel.losses import as_loss

    if options.positive is not None and options.measure is None:
        raise FenchelError("--positive is for --measure: a loss treats both labels alike")
    if options.measure is not None:
        if options.loss is not None:
            raise FenchelError("--loss and --measure both choose the objective; set only one")
        kind: Any = MeasureClassifier
    elif _is_ranking(options):
        kind = LinearRanker
    else:
        options.loss = options.loss or "hinge"
        kind = LinearRegressor if as_loss(options.loss).task == "regression" else LinearClassifier
    return configured(kind, options)


def _is_ranking(options: Namespace) -> bool:
    """Whether the loss is one of rankings."""
    from fenchel.risks import RANKINGS

    found = options.loss in RANKINGS
    if options.qid is not None and not found:
        raise FenchelError(f"--qid is for rankings: choose --loss {', '.join(RANKINGS)}")
    return found


def _weights(table: Any) -> dict[str, Any]:
    """The weights of the rows, if a store has them."""
    return {} if table.sample_weight is None else {"sample_weight": table.sample_weight}


def _queries(table: Any, data: Path) -> dict[str, Any]:
    """The argument of ``fit`` that only rankings have; raise if the file has no queries."""
    if table.qid is None:
        raise FenchelError(f"{data}: has no queries; write qid:NUMBER after each label, or name a table's --qid COLUMN")
    return {"qid": table.qid}


def _label_of(text: str, y: Any) -> Any:
    """The label that is written like this."""
    import numpy as np

    labels = np.unique(y).tolist()
    found = [label for label in labels if str(label) == text]
    if not found:
        raise FenchelError(f"--positive must be one of the labels {', '.join(map(str, labels[:10]))}; got {text}")
    return found[0]


def _how_good(estimator: Any, X: Any, y: Any, predicted: Any) -> str:
    """What was predicted against the labels of the file."""
    import numpy as np
    from sklearn import metrics

    if not hasattr(estimator, "classes_"):
        error = float(np.mean(np.abs(y - predicted)))
        return f"{len(y):,} rows: R² {metrics.r2_score(y, predicted):.4f}, mean absolute error {error:.4g}"
    said = f"{len(y):,} rows: {100 * np.mean(y == predicted):.2f}% right"
    classes = estimator.classes_
    if len(classes) == 2 and len(np.unique(y)) == 2 and np.isin(y, classes).all():
        positive = getattr(estimator, "pos_label_", classes[1])
        f1 = metrics.f1_score(y, predicted, pos_label=positive)
        area = metrics.roc_auc_score(y == classes[1], estimator.decision_function(X))
        said += f"; F1 of {positive!s} {f1:.4f}; ROC area {area:.4f}"
    return said


def _how_ranked(estimator: Any, table: Any, predicted: Any) -> str:
    """How the ranking agrees with the labels of the file."""
    import numpy as np

    from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score

    given = (table.y, predicted, table.qid)
    queries = 1 if table.qid is None else len(np.unique(table.qid))
    said = f"{len(table.y):,} rows in {queries:,} queries: "
    if np.min(table.y) >= 0:
        said += f"NDCG@10 {ndcg_score(*given, gain=estimator.gain):.4f}, "
    return said + f"MAP {mean_average_precision(*given):.4f}, MRR {mean_reciprocal_rank(*given):.4f}"


def _classes(estimator: Any) -> str:
    classes = getattr(estimator, "classes_", None)
    return "" if classes is None else f", {len(classes):,} classes"
