"""Data files of the command line: svmlight (LIBSVM) files and tables, plain or compressed, and stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.io.encoding import Encoding
from fenchel.io.files import bare_name, check_exists
from fenchel.io.kinds import CONLL, PARQUET, is_table, kind_of
from fenchel.io.raw_columns import RawColumn
from fenchel.io.store import open_store
from fenchel.io.svmlight import are_whole, read_svmlight
from fenchel.io.table_columns import TableFile, is_number, label_column, query_column, table_file
from fenchel.io.table_values import labels_of, read_values


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
    #: how the columns of a table became features
    encoding: Encoding | None = None
    #: what the user should know
    notes: tuple[str, ...] = ()


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
    #: of the model: the columns of labels and queries, unless the user names others
    own_label: str | None = None
    own_qid: str | None = None
    #: of the model: how columns become features
    encoding: Encoding | None = None
    #: one of :data:`fenchel.io.kinds.KINDS`; None goes by the name of the file
    kind: str | None = None
    delimiter: str | None = None
    decimal_comma: bool = False
    #: what replaces missing values in training, one of :data:`fenchel.io.encoding.IMPUTATIONS`; None refuses them
    impute: str | None = None
    #: columns that are texts even where they look like numbers, and columns that are left out
    texts: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @property
    def label_asked(self) -> str | None:
        """The column of labels, by the user or else by the model."""
        return self.own_label if self.label is None else self.label

    def header_asked(self, kind: str) -> bool | None:
        """Whether a table has a header, by the user or else by the model: a row of texts looks like a header."""
        own = self.encoding
        if self.header is not None or kind == PARQUET or own is None or own.names is not None:
            return self.header
        return False if all(column.categories is not None for column in own.columns) else None


def read(path: Path, layout: Layout = Layout()) -> Table:  # noqa: B008 (a tuple that nothing changes)
    """The rows of a file."""
    if path.is_dir():
        return _read_store(path, layout)
    check_exists(path)
    kind = kind_of(path, layout.kind)
    if kind == CONLL:
        raise FenchelError(
            f"{path}: is a file of labelled sequences (.conll), and the model was trained on rows: give it rows as in "
            "its training"
        )
    try:
        return _read_table(path, kind, layout) if is_table(kind) else _read_svmlight(path, layout)
    except UnicodeDecodeError as error:
        raise FenchelError(f"{path}: is neither a svmlight file nor a table: {error}") from error


def _read_svmlight(path: Path, layout: Layout) -> Table:
    _check_no_columns(path, layout, "a svmlight file begins its rows with the label")
    # rows to predict may have no label that is known
    training = layout.features is None
    rows = read_svmlight(path, layout.zero_based, queries=layout.ranks, finite=training, distinct=True)
    X = _widened(rows.X, layout)
    return Table(X, _whole(rows.y), zero_based=rows.zero_based, qid=rows.qid)


def _read_store(path: Path, layout: Layout) -> Table:
    _check_no_columns(path, layout, "a store has its labels")
    store = open_store(path)
    if sp.issparse(store.X) and layout.zero_based not in (None, store.zero_based):
        first = int(layout.zero_based or False)
        raise FenchelError(
            f"{path}: was converted from features numbered from {1 - store.zero_based:d}, and the model was trained on "
            f"features numbered from {1 - first}: convert the data again with --{'' if first else 'no-'}zero-based"
        )
    X = _widened(store.X, layout) if sp.issparse(store.X) else store.X
    return Table(X, store.y, zero_based=store.zero_based, qid=store.qid, sample_weight=store.sample_weight)


def _check_no_columns(path: Path, layout: Layout, why: str) -> None:
    """Raise if the user names columns of a table, or the model has texts, which only tables have."""
    asked = {
        "--label": layout.label is not None,
        "--header": layout.header is not None,
        "--qid": layout.qid is not None,
        "--delimiter": layout.delimiter is not None,
        "--decimal-comma": layout.decimal_comma,
        "--impute": layout.impute is not None,
        "--text": bool(layout.texts),
        "--drop": bool(layout.drop),
    }
    given = [option for option, is_given in asked.items() if is_given]
    if given == ["--qid"]:
        raise FenchelError("--qid is for tables: a svmlight file has qid:NUMBER after the label of each row")
    if given:
        raise FenchelError(f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} for tables (.csv, .tsv): {why}")
    if layout.encoding is not None and layout.encoding.has_texts:
        raise FenchelError(f"{path}: is not a table, and the model was trained on columns with texts: give it a table")


def _widened(X: Any, layout: Layout) -> Any:
    """The rows, with the features of the model: trailing ones that no row has are not in the file."""
    if layout.features is not None and X.shape[1] < layout.features:
        X.resize((X.shape[0], layout.features))
    return X


def _read_table(path: Path, kind: str, layout: Layout) -> Table:
    table = table_file(path, kind, layout.label_asked, layout.header_asked(kind), layout.delimiter)
    _check_names(table, layout)
    own = layout.encoding
    if own is None and layout.features is not None:
        own = Encoding.of_numbers(layout.names, layout.features)
    names = None if own is None else own.names
    queries = query_column(table, layout.own_qid if layout.qid is None else layout.qid, names)
    width = None if own is None else len(own.columns)
    label = label_column(table, layout.label_asked, names, width, queries)
    if queries is not None and queries == label:
        raise FenchelError(f"--qid and --label both name column {queries} of {path}; choose two columns")
    if own is None:
        left_out = {table.number_of("drop", one) for one in layout.drop}
        places = [place for place in range(table.width) if place not in (label, queries, *left_out)]
    else:
        places = _places_of(table, own, label, queries)
    if not places:
        raise FenchelError(f"{path}: has no column besides the labels")
    columns = _raw_columns(table, places, own, layout)
    others = [place for place in (label, queries) if place is not None]
    values = read_values(table, columns, others)
    encoding = Encoding.learned(columns, values.lines, layout.impute) if own is None else own
    X, notes = encoding.encode(columns, values.lines)
    found = dict(zip(others, values.texts, strict=True))
    y = None if label is None else labels_of(table, "label", label, found[label], values.lines)
    if own is None and layout.header is None:
        _check_header(table, columns, label, found)
    qid = None if queries is None else labels_of(table, "query", queries, found[queries], values.lines)
    kept, query = (place if table.names is None or place is None else table.names[place] for place in (label, queries))
    return Table(X, y, encoding.feature_names, kept, False, qid, query, encoding=encoding, notes=tuple(notes))


def _check_names(table: TableFile, layout: Layout) -> None:
    """Raise for a header that is needed and not there, and for one that repeats a name."""
    names = layout.names if layout.encoding is None else layout.encoding.names
    if table.names is None:
        if names is not None:
            raise FenchelError(
                f"{table.path}: needs a header with the features of the model: {', '.join(names[:5])}, …"
            )
        if layout.drop:
            raise FenchelError(f"--drop names columns of a header, and {table.path} has none; add one")
        return
    repeated = sorted({name for name in table.names if table.names.count(name) > 1})
    if repeated:
        raise FenchelError(
            f"{table.path}: the header names {', '.join(repeated[:5])} more than once; rename the columns"
        )


def _check_header(
    table: TableFile, columns: Sequence[RawColumn], label: int | None, texts: dict[int, list[str]]
) -> None:
    """Raise where a first row was taken for a header, or for none, and the other rows say that it was wrong."""
    if table.text is None or label is None:
        return
    labels = [text.strip() for text in texts[label]]
    if table.names is None:
        wrong = len(labels) > 1 and not is_number(labels[0]) and all(map(is_number, labels[1:]))
        why = f"the label {labels[0]!r} of the first row is not a number, and all others are"
    else:
        names = table.names
        wrong = names[label] in labels and all(
            column.is_text and column.place.name in column.texts() for column in columns
        )
        why = f"the first row looks like a header, and other rows have its texts too, such as {names[label]!r}"
    if wrong:
        raise FenchelError(f"{table.path}: {why}: say whether the first row is a header with --header or --no-header")


def _places_of(table: TableFile, own: Encoding, label: int | None, queries: int | None) -> list[int]:
    """The columns of a table that a model was trained on."""
    if own.names is not None:
        assert table.names is not None
        missing = [name for name in own.names if name not in table.names]
        if missing:
            raise FenchelError(f"{table.path}: lacks the features {', '.join(missing[:5])} of the model")
        return [table.names.index(name) for name in own.names]
    places = [place for place in range(table.width) if place not in (label, queries)]
    if len(places) != len(own.columns):
        raise FenchelError(
            f"{table.path}: has {len(places)} columns besides labels and queries, and the model was trained on "
            f"{len(own.columns)}; give it the same columns"
        )
    return places


def _raw_columns(table: TableFile, places: Sequence[int], own: Encoding | None, layout: Layout) -> list[RawColumn]:
    """Columns to be filled, whose type a model or the user may have decided."""
    texts = {table.number_of("text", one) for one in layout.texts}
    for place in texts - set(places):
        raise FenchelError(f"--text: {table.place(place)} of {table.path} is not a feature")
    found = []
    for k, place in enumerate(places):
        is_text, because = (True, "--text names it") if place in texts else (None, None)
        if own is not None:
            is_text = own.columns[k].categories is not None
            because = f"the model was trained on {'texts' if is_text else 'numbers'} in this column"
        found.append(RawColumn(table.place(place), is_text, because, layout.decimal_comma))
    return found


def _whole(numbers: Array) -> Array:
    """As integers if they all are."""
    return numbers.astype(np.int64) if are_whole(numbers) else numbers
