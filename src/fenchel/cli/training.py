"""The commands that write model files: ``train`` and ``cv``."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from fenchel.cli.objective import estimator_of, is_ranking, is_regression, label_of, settle
from fenchel.cli.output import check_checkpoint, check_output, save_model, say, table_lines, tell
from fenchel.errors import FenchelError
from fenchel.frontends.starting import load_scikit_learn
from fenchel.io.files import bare_name, check_data
from fenchel.io.kinds import check_features
from fenchel.loading import no_collection

#: more classes of numbers than this, with fewer rows each than the second number, are more likely numbers to predict
_MANY_CLASSES, _ROWS_OF_A_CLASS = 20, 10


def train(options: Namespace) -> int:
    """Fit a model to a file; the exit status."""
    from fenchel.cli import sequences

    output = model_output(options)
    check_checkpoint(options.checkpoint, resume=options.resume)
    if sequences.asked_for(options):
        return sequences.train(options, output)
    by_default = options.loss is None and options.measure is None
    settle(options)
    check_data(options.data)
    check_features(options.data, options.format)
    load_scikit_learn()
    with no_collection():
        from fenchel.cli.fits import fit, report
        from fenchel.cli.reading import data_of, training_table

    estimator, ranks = estimator_of(options), is_ranking(options)
    table = training_table(options, ranks=ranks)
    data = data_of(options, table, ranks=ranks)
    if options.positive is not None:
        estimator.set_params(pos_label=label_of(options.positive, table.y))
    if not ranks and not is_regression(options):
        _check_classes(table.y, by_default=by_default)
    interrupted = fit(estimator, data.X, data.y, **data.more)
    save_model(_model_file(estimator, table), output)
    tell(_size(options, table, estimator), output)
    return report(estimator, output, interrupted=interrupted)


def cv(options: Namespace) -> int:
    """Choose C by cross-validation, fit all rows and write the model; the exit status."""
    output = model_output(options)
    settle(options)
    if is_ranking(options):
        raise FenchelError(
            "cv is for losses and measures; rankings have no folds of queries here: compare C by `train`"
        )
    check_data(options.data)
    check_features(options.data, options.format)
    load_scikit_learn()
    from fenchel.cli.fits import report
    from fenchel.cli.reading import data_of, training_table
    from fenchel.cli.selecting import chosen_by_folds

    table = training_table(options)
    data = data_of(options, table)
    found = chosen_by_folds(options, data)
    save_model(_model_file(found.estimator, table), output)
    tell(_size(options, table, found.estimator), output)
    tell("\n".join(table_lines(found.header, found.rows)), output)
    best = f"C={found.C:g} has the best mean {found.score}"
    if found.interrupted:
        best = f"interrupted: C={found.C:g} is the best of what was compared, if anything was"
    tell(f"{best}; the model is fitted to all rows with it", output)
    return report(found.estimator, output, interrupted=found.interrupted)


def model_output(options: Namespace) -> Path:
    """Where the model is written, which must be possible before the work begins."""
    output: Path | None = options.output
    if output is None:
        if options.names:
            raise FenchelError("--output: name the model file, or - for standard output: the data have no name")
        bare = bare_name(options.data)
        output = Path((bare.stem or bare.name) + ".model.npz")
    check_output(output, options.force)
    return output


def _check_classes(labels: Any, *, by_default: bool) -> None:
    """Raise for labels that are fractions; say so where other labels look like numbers to predict."""
    import numpy as np

    if labels.dtype.kind not in "if":
        return
    classes = np.unique(labels)
    fractions = classes[classes != np.floor(classes)]
    if len(fractions):
        raise FenchelError(
            f"labels such as {fractions[0]:g} are not classes; to predict numbers, choose a loss of regression, such "
            "as --loss squared"
        )
    if by_default and len(classes) > max(_MANY_CLASSES, len(labels) / _ROWS_OF_A_CLASS):
        say(f"note: {len(classes):,} different labels are taken as classes; to predict numbers, add --loss squared")


def _model_file(estimator: Any, table: Any) -> Any:
    from fenchel.io.model_file import ModelFile

    layout = table.names, table.label, table.zero_based, table.query_column
    return ModelFile(estimator, *layout, encoding=table.encoding)


def _size(options: Namespace, table: Any, estimator: Any) -> str:
    from fenchel.cli.reading import shown_name

    rows, features = table.X.shape
    classes = getattr(estimator, "classes_", None)
    known = "" if classes is None or is_regression(options) else f", {len(classes):,} classes"
    columns = ""
    if table.encoding is not None and table.encoding.has_texts:
        columns = f" of {len(table.encoding.columns):,} columns"
    return f"{shown_name(options, options.data)}: {rows:,} rows, {features:,} features{columns}{known}"
