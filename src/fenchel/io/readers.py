"""Data files of the command line: svmlight (LIBSVM) files and tables with commas, plain or compressed."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.io.columns import check_no_sequences
from fenchel.io.files import bare_name, check_exists, opened
from fenchel.io.store import open_store
from fenchel.io.svmlight import LARGEST_WHOLE, are_whole, read_svmlight
from fenchel.io.table_columns import first_row, has_header, is_whole, place_of


class Table(NamedTuple):
    """Rows with their labels."""

    X: Any
    #: None if the file has none
    y: Array | None
    #: of the features, if the file has a header
    names: list[str] | None = None
    #: the column of the labels
    label: str | int | None = None
    #: whether the features of a svmlight file are numbered from 0
    zero_based: bool = False
    #: the query of each row, if they were asked for and the file has them, and a table's column of them
    qid: Array | None = None
    query_column: str | int | None = None
    #: the weight of each row, if a store has them
    sample_weight: Array | None = None


def is_table(path: Path) -> bool:
    """Whether a file has commas between its values, by its name."""
    return bare_name(path).suffix.lower() == ".csv"


def default_output(path: Path) -> Path:
    """The name of the model of a data file, in the present folder."""
    return Path(_stem(path) + ".model.npz")


def default_store(path: Path) -> Path:
    """The name of the store of a data file, in the present folder."""
    return Path(_stem(path) + ".store")


def _stem(path: Path) -> str:
    bare = bare_name(path)
    return bare.stem or bare.name


class Layout(NamedTuple):
    """How a file is to be read: by what the user says, and by what a model was trained on."""

    #: the name or the number (from 0; negative from the end) of a table's column of labels
    label: str | None = None
    #: whether a table's first row is a header; None looks
    header: bool | None = None
    #: of the model: a table is then read by the names of its features, and need not have labels
    features: int | None = None
    names: Sequence[str] | None = None
    #: of the model, for svmlight files; None looks
    zero_based: bool | None = None
    #: whether queries are read, for a ranking
    ranks: bool = False
    #: the name or the number of a table's column of queries
    qid: str | None = None


def read(path: Path, layout: Layout = Layout()) -> Table:  # noqa: B008 (a tuple that nothing changes)
    """The rows of a file."""
    if path.is_dir():
        return _read_store(path, layout)
    check_exists(path)
    check_no_sequences(path, "the model is none of sequences: give it rows as in its training")
    try:
        return _read_table(path, layout) if is_table(path) else _read_svmlight(path, layout)
    except UnicodeDecodeError as error:
        raise FenchelError(f"{path}: is neither a svmlight file nor a table (.csv): {error}") from error


def _read_svmlight(path: Path, layout: Layout) -> Table:
    _check_no_columns(layout, "a svmlight file begins its rows with the label")
    rows = read_svmlight(path, layout.zero_based, queries=layout.ranks, distinct=True)
    X = _widened(rows.X, layout)
    return Table(X, _whole(rows.y), zero_based=rows.zero_based, qid=rows.qid)


def _read_store(path: Path, layout: Layout) -> Table:
    _check_no_columns(layout, "a store has its labels")
    store = open_store(path)
    if sp.issparse(store.X) and layout.zero_based not in (None, store.zero_based):
        first = int(layout.zero_based or False)
        raise FenchelError(
            f"{path}: was converted from features numbered from {1 - store.zero_based:d}, and the model was trained on "
            f"features numbered from {1 - first}: convert the data again with --{'' if first else 'no-'}zero-based"
        )
    X = _widened(store.X, layout) if sp.issparse(store.X) else store.X
    return Table(X, store.y, zero_based=store.zero_based, qid=store.qid, sample_weight=store.sample_weight)


def _check_no_columns(layout: Layout, why: str) -> None:
    """Raise if the user names columns of a table."""
    if layout.label is not None or layout.header is not None:
        raise FenchelError(f"--label and --header are for tables (.csv): {why}")
    if layout.qid is not None:
        raise FenchelError("--qid is for tables (.csv): a svmlight file has qid:NUMBER after the label of each row")


def _widened(X: Any, layout: Layout) -> Any:
    """The rows, with the features of the model: trailing ones that no row has are not in the file."""
    if layout.features is not None and X.shape[1] < layout.features:
        X.resize((X.shape[0], layout.features))
    return X


def _read_table(path: Path, layout: Layout) -> Table:
    (first, lines), names = first_row(path), layout.names
    header = [name.strip() for name in first] if has_header(first, layout.label, layout.header) else None
    if header is None and names is not None:
        raise FenchelError(f"{path}: needs a header with the features of the model: {', '.join(names[:5])}, …")
    repeated = [] if header is None else sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise FenchelError(f"{path}: the header names {', '.join(repeated[:5])} more than once; rename the columns")
    _check_widths(path, len(first))
    queries = _query_column(path, first, header, layout)
    column = _label_column(path, first, header, layout, queries)
    if queries is not None and queries == column:
        raise FenchelError(f"--qid and --label both name column {queries} of {path}; choose two columns")
    if names is not None and header is not None:
        missing = [name for name in names if name not in header]
        if missing:
            raise FenchelError(f"{path}: lacks the features {', '.join(missing[:5])} of the model")
        columns = [header.index(name) for name in names]
    else:
        columns = [place for place in range(len(first)) if place not in (column, queries)]
    if not columns:
        raise FenchelError(f"{path}: has no column besides the labels")
    skipped = 0 if header is None else lines
    X = _load(path, columns, skipped, np.float64)
    y = None if column is None else _labels(path, "label", _load(path, [column], skipped, str)[:, 0])
    found = None if header is None else [header[place] for place in columns]
    kept, own = (place if header is None or place is None else header[place] for place in (column, queries))
    qid = None if queries is None else _labels(path, "query", _load(path, [queries], skipped, str)[:, 0])
    return Table(X, y, found, kept, qid=qid, query_column=own)


def _check_widths(path: Path, count: int) -> None:
    """Raise unless all rows have as many fields as the first one: labels are found by their place."""
    with opened(path, "rt") as stream:
        # strict: a quote that is never closed is a file that was cut off
        reader = csv.reader(stream, strict=True)
        try:
            for row in reader:
                if "\0" in "".join(row):
                    # NumPy's text drops it at the end of a label
                    raise FenchelError(f"{path}: line {reader.line_num} has a NUL character; the file may be damaged")
                if row and len(row) != count:
                    raise FenchelError(
                        f"{path}: line {reader.line_num} has {len(row)} fields, the first one {count}; repair the row, "
                        "or quote fields that contain commas"
                    )
        except csv.Error as error:
            raise FenchelError(f"{path}: line {reader.line_num}: {error}") from error


def _query_column(path: Path, first: list[str], header: list[str] | None, layout: Layout) -> int | None:
    """The place of the queries; None if they are not asked for, or a file that is read for a model has none."""
    asked, count = layout.qid, len(first)
    if asked is None:
        return None
    if header is not None and asked in header:
        return header.index(asked)
    if layout.names is not None:
        return None
    return place_of(path, "qid", asked, header, count)


def _label_column(
    path: Path, first: list[str], header: list[str] | None, layout: Layout, queries: int | None
) -> int | None:
    """The place of the labels; None if a file that is read for a model has none."""
    count, label, names = len(first), layout.label, layout.names
    if header is not None and label in header:
        return header.index(str(label))
    if label is not None and not is_whole(label):
        if names is not None:
            return None
        known = "has no header" if header is None else f"has the columns {', '.join(header[:10])}"
        raise FenchelError(f"--label: {path} has no column {label!r}; it {known}")
    number = None if label is None else int(label)
    if layout.features is not None and names is None and count - (queries is not None) == layout.features:
        return None
    if number is None and names is not None:
        return None
    if number is None:
        # the last column, or the one before it
        return count - 2 if queries == count - 1 else count - 1
    if not -count <= number < count:
        raise FenchelError(f"--label: {path} has {count} columns, from 0 to {count - 1}; got {number}")
    return number % count


def _load(path: Path, columns: list[int], skipped: int, kind: Any) -> Array:
    with opened(path, "rt") as stream, warnings.catch_warnings():
        # of blank lines, and of a file that has no rows, which is said below
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = np.loadtxt(
                stream, dtype=kind, delimiter=",", skiprows=skipped, usecols=columns, ndmin=2, quotechar='"',
                comments=None,
            )  # fmt: skip
        except UnicodeDecodeError:
            raise
        except (ValueError, OverflowError) as error:
            raise FenchelError(f"{path}: {error} Features must be numbers: encode or impute the others") from error
    if not len(found):
        raise FenchelError(f"{path}: holds no rows")
    return found


def _labels(path: Path, called: str, values: Array) -> Array:
    """Whole numbers, numbers or names, whichever they are."""
    names = np.char.strip(values)
    try:
        numbers = names.astype(np.float64)
    except ValueError:
        missing = np.isin(np.char.lower(names), ("", "nan"))
        if np.any(missing):
            row = int(np.flatnonzero(missing)[0]) + 1
            raise FenchelError(f"the label of row {row} is missing: remove such rows") from None
        return names
    for row in np.flatnonzero(np.abs(numbers) >= LARGEST_WHOLE).tolist():
        if is_whole(str(names[row])):
            raise FenchelError(
                f"{path}: the {called} {names[row]} of row {row + 1} is a whole number of 2^53 or more, which floats "
                "do not tell apart: use smaller numbers or names, or write numbers to be predicted with an exponent"
            )
    return _whole(numbers)


def _whole(numbers: Array) -> Array:
    """As integers if they all are."""
    return numbers.astype(np.int64) if are_whole(numbers) else numbers
