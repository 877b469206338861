"""Tables in blocks of rows, for stores: text tables, plain or compressed, and Parquet files.

Every column is a number.  Memory holds one block, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.io.parquet import as_numbers, parquet_blocks
from fenchel.io.raw_columns import RawColumn
from fenchel.io.svmlight import LARGEST_WHOLE
from fenchel.io.table_columns import TableFile, is_whole, table_file

#: why a column is no text
_STORED = "all columns of a store must be numbers"


class Columns(NamedTuple):
    """The columns of a table that are not features, by name or number (from 0; negative from the end)."""

    #: None is the last column that has no other meaning
    label: str | int | None = None
    qid: str | int | None = None
    sample_weight: str | int | None = None


class TableBlock(NamedTuple):
    """Some rows of a table."""

    X: Array
    y: Array
    qid: Array | None
    sample_weight: Array | None


class _Places(NamedTuple):
    """The columns of a table, by number."""

    features: list[int]
    label: int
    qid: int | None
    sample_weight: int | None


def table_blocks(
    path: Path, kind: str, columns: Columns, header: bool | None = None, delimiter: str | None = None
) -> Iterator[TableBlock]:
    """The rows of a table, block by block; without ``header`` it is looked up whether a text table has one."""
    label = None if columns.label is None else str(columns.label)
    table = table_file(path, kind, label, header, delimiter)
    places = _places(table, columns)
    for values in _parquet_blocks(table, places) if table.text is None else _text_blocks(table, places):
        X = np.column_stack([values[place] for place in places.features])
        qid = None if places.qid is None else values[places.qid].astype(np.int64)
        weights = None if places.sample_weight is None else values[places.sample_weight]
        yield TableBlock(X, values[places.label], qid, weights)


def _places(table: TableFile, columns: Columns) -> _Places:
    """The places of all columns; the labels are the last one that is neither a query nor a weight."""
    options = {"qid": columns.qid, "sample_weight": columns.sample_weight, "label": columns.label}
    asked = {option: str(column) for option, column in options.items() if column is not None}
    found = {option: table.number_of(option, column) for option, column in asked.items()}
    if "label" not in found:
        left = [place for place in range(table.width) if place not in found.values()]
        if not left:
            raise FenchelError(f"{table.path}: has no column of labels")
        found["label"] = left[-1]
    if len(set(found.values())) < len(found):
        raise FenchelError(f"{table.path}: {' and '.join(found)} name one column twice; choose different columns")
    features = [place for place in range(table.width) if place not in found.values()]
    if not features:
        raise FenchelError(f"{table.path}: has no column besides the labels")
    return _Places(features, found["label"], found.get("qid"), found.get("sample_weight"))


def _text_blocks(table: TableFile, places: _Places) -> Iterator[list[Array]]:
    assert table.text is not None
    for block in table.text.rows(header=table.names is not None):
        fields = list(zip(*block.fields, strict=True))
        found = []
        for number in range(table.width):
            column = RawColumn(table.place(number), is_text=False, because=_STORED)
            column.extend(fields[number], block.lines, block.ascii)
            found.append(column.numbers())
            _check_no_missing(column, found[-1], block.lines)
        if np.any(np.abs(found[places.label]) >= LARGEST_WHOLE):
            for label, line in zip(fields[places.label], block.lines, strict=True):
                _check_distinct(table, label, line)
        if places.qid is not None:
            _check_queries(table, found[places.qid])
        yield found


def _check_no_missing(column: RawColumn, numbers: Array, lines: list[int]) -> None:
    missing = np.flatnonzero(np.isnan(numbers))
    if len(missing):
        raise FenchelError(
            f"{column.place.path}: line {lines[missing[0]]}, {column.place}: the value is missing, and {_STORED}: "
            "impute it or remove the row"
        )


def _check_distinct(table: TableFile, label: str, line: int) -> None:
    """Raise for a label that is written as a whole number and that floats merge with others."""
    if is_whole(label) and abs(int(label)) >= LARGEST_WHOLE:
        raise FenchelError(
            f"{table.path}: {table.place(0).unit} {line}: the label {label.strip()} is a whole number of 2^53 or more, "
            "which floats do not tell apart: use smaller numbers, or write numbers to be predicted with an exponent"
        )


def _check_queries(table: TableFile, queries: Array) -> None:
    """Raise for queries that are not whole numbers, or that floats merge."""
    # the least whole number of 64 bits has no absolute value
    wrong = (queries >= LARGEST_WHOLE) | (queries <= -LARGEST_WHOLE) | (queries != np.floor(queries))
    if np.any(wrong):
        raise FenchelError(
            f"{table.path}: the query {queries[wrong][0]:g} is not a whole number below 2^53; number the queries"
        )


def _parquet_blocks(table: TableFile, places: _Places) -> Iterator[list[Array]]:
    assert table.names is not None
    rows = 0
    for block in parquet_blocks(table.path):
        found = []
        for name, values in zip(table.names, block, strict=True):
            if values.null_count:
                raise FenchelError(
                    f"{table.path}: the column {name} has missing values: impute them or remove their rows"
                )
            found.append(as_numbers(table.path, name, values))
        label = found[places.label]
        if label.dtype.kind in "iu":
            wrong = np.flatnonzero((label >= LARGEST_WHOLE) | (label <= -LARGEST_WHOLE))
            if len(wrong):
                _check_distinct(table, str(label[wrong[0]]), rows + int(wrong[0]) + 1)
        if places.qid is not None:
            _check_queries(table, found[places.qid])
        rows += len(label)
        yield [_as_float(one) for one in found]


def _as_float(values: Array) -> Array:
    """In float32 if it is stored so, else in float64."""
    return values if values.dtype == np.float32 else values.astype(np.float64)
