"""The commands about files: ``convert`` and ``info``."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from fenchel.cli.output import DASH, PROVED, check_folder, table_lines
from fenchel.errors import FenchelError
from fenchel.frontends.starting import load_scikit_learn
from fenchel.io.files import ARCHIVE, bare_name, check_data, check_exists
from fenchel.io.kinds import CONLL, is_table, kind_of

#: names that are shown, and of a class's count
_SHOWN = 8


def convert(options: Namespace) -> int:
    """Write a file's rows to a store; the exit status."""
    check_exists(options.data)
    output = options.output
    if output == DASH:
        raise FenchelError("--output: a store is a folder and can't be written to standard output; name it")
    if output is None:
        if options.names:
            raise FenchelError("--output: name the store: the data have no name")
        bare = bare_name(options.data)
        output = Path((bare.stem or bare.name) + ".store")
    check_folder(output)
    if options.decimal_comma:
        raise FenchelError("--decimal-comma: a store can't be written from such a table; train on the table itself")
    load_scikit_learn()
    from fenchel.cli.progress import reading
    from fenchel.cli.reading import delimiter_of, shown_name
    from fenchel.io.converting import convert as converted

    columns = {"label": options.label, "header": options.header, "qid": options.qid, "sample_weight": options.weights}
    more = {"format": options.format, "delimiter": delimiter_of(options)}
    with reading(options):
        rows, features = converted(options.data, output, options.force, options.zero_based, **columns, **more)
    print(f"{shown_name(options, options.data)}: {rows:,} rows, {features:,} features")
    print(f"written: {output}")
    return PROVED


def info(options: Namespace) -> int:
    """Say what a model file or a data file holds; the exit status."""
    path: Path = options.file
    check_data(path)
    if not path.is_dir():
        with path.open("rb") as stream:
            is_model = stream.read(len(ARCHIVE)) == ARCHIVE
        if is_model:
            print("\n".join(_of_model(path)))
            return PROVED
    load_scikit_learn()
    from fenchel.cli.reading import shown_name

    kind = "store" if path.is_dir() else kind_of(path, options.format)
    if kind == CONLL:
        lines = _of_sequences(path)
    elif is_table(kind):
        lines = _of_table(options, path, kind)
    else:
        lines = _of_rows(options, path, kind)
    print("\n".join([f"{shown_name(options, path)}: {lines[0]}", *lines[1:]]))
    return PROVED


def _of_model(path: Path) -> list[str]:
    import numpy as np

    load_scikit_learn()
    from fenchel.io.model_file import load

    model = load(path)
    estimator = model.estimator
    defaults = type(estimator)().get_params()
    changed = {k: v for k, v in estimator.get_params(deep=False).items() if v != defaults[k] and k != "random_state"}
    named = {k: v for k, v in estimator.get_params(deep=False).items() if k in ("loss", "measure", "C")}
    parameters = ", ".join(f"{name}={value!r}" for name, value in {**named, **changed}.items())
    lines = [f"model: {type(estimator).__name__}({parameters})"]
    names = "" if model.names is None else ": " + _some(model.names)
    weights = int(np.count_nonzero(estimator.coef_))
    lines.append(f"features: {estimator.n_features_in_:,}{names}")
    if model.encoding is not None and model.encoding.has_texts:
        texts = [column for column in model.encoding.columns if column.categories is not None]
        shown = [f"{column.name or 'unnamed'} ({len(column.categories or ())} categories)" for column in texts]
        lines.append(f"columns: {len(model.encoding.columns)}, of which texts: {_some(shown)}")
    fills = [] if model.encoding is None else [one for one in model.encoding.columns if one.fill is not None]
    if fills:
        lines.append("imputed: " + _some([f"{one.name or 'unnamed'}={one.fill}" for one in fills]))
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        lines.append(f"classes: {len(classes)}: {_some([str(one) for one in classes])}")
    lines.append(f"weights: {weights:,} of {np.size(estimator.coef_):,} are not zero")
    theta = estimator.theta_
    lines.append(f"witness: {np.size(theta):,} dual variables, {int(np.count_nonzero(theta)):,} not zero")
    lines.append(f"proved: {estimator.certificate_}")
    return lines


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", … ({len(names) - _SHOWN:,} more)" if len(names) > _SHOWN else "")


def _of_sequences(path: Path) -> list[str]:
    from fenchel.io.columns import read_columns

    data = read_columns(path)
    assert data.labels is not None
    return [
        f"labelled sequences: {len(data.lengths):,} sequences, {len(data.tokens):,} tokens, {data.width} columns",
        "labels: " + _counts(data.labels),
    ]


def _of_rows(options: Namespace, path: Path, kind: str) -> list[str]:
    """A svmlight file or a store."""
    import numpy as np
    import scipy.sparse as sp

    from fenchel.cli.progress import reading
    from fenchel.io.readers import Layout, read

    with reading(options):
        table = read(path, Layout(options.label, options.header, ranks=True, qid=options.qid, kind=options.format))
    rows, features = table.X.shape
    stored = table.X.nnz if sp.issparse(table.X) else rows * features
    said = [f"{kind}: {rows:,} rows, {features:,} features, {stored:,} entries ({stored / rows:.4g} a row)"]
    if sp.issparse(table.X):
        said.append(f"features are numbered from {0 if table.zero_based else 1}")
    values = table.X.data if sp.issparse(table.X) else table.X
    said.append(f"values: {np.min(values):.6g} to {np.max(values):.6g}")
    if table.qid is not None:
        said.append(f"queries: {len(np.unique(table.qid)):,}")
    return [*said, "labels: " + _of_labels(table.y)]


def _of_labels(y: Any) -> str:
    import numpy as np

    if y.dtype.kind == "f":
        return f"numbers from {np.min(y):.6g} to {np.max(y):.6g}, mean {np.mean(y):.6g}"
    return _counts(y.tolist())


def _counts(labels: list[Any]) -> str:
    counts = Counter(labels)
    if len(counts) > 50:
        return f"{len(counts):,} different ones"
    return _some([f"{label} ({count:,})" for label, count in sorted(counts.items(), key=lambda one: str(one[0]))])


def _of_table(options: Namespace, path: Path, kind: str) -> list[str]:
    """A table, column by column."""
    import numpy as np

    from fenchel.cli.progress import reading
    from fenchel.cli.reading import delimiter_of
    from fenchel.io.raw_columns import RawColumn
    from fenchel.io.table_columns import table_file
    from fenchel.io.table_values import read_values

    table = table_file(path, kind, options.label, options.header, delimiter_of(options))
    columns = [RawColumn(table.place(k), decimal_comma=options.decimal_comma) for k in range(table.width)]
    with reading(options):
        values = read_values(table, columns, [])
    rows = []
    for column in columns:
        name = column.place.name or f"{column.place.number + 1}"
        if column.is_text:
            texts = column.texts()
            there = [one for one in texts if one is not None]
            rows.append((name, "text", f"{len(texts) - len(there):,}", _counts(there)))
        else:
            numbers = column.numbers()
            known = numbers[~np.isnan(numbers)]
            about = f"{known.min():.6g} to {known.max():.6g}" if len(known) else "no values"
            different = np.unique(known)
            if 0 < 2 * len(different) <= min(2 * _SHOWN, len(known)) and np.all(different == np.floor(different)):
                about = _counts(known.astype(int).tolist())
            rows.append((name, "number", f"{len(numbers) - len(known):,}", about))
    separated = "" if table.text is None else f", separated by {table.text.delimiter!r}"
    header = "" if table.names is not None else ", no header"
    size = f"{kind} table: {len(values.lines):,} rows, {table.width} columns{separated}{header}"
    return [size, *table_lines(("column", "type", "missing", "values"), rows)]
