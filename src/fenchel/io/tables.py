"""Tables in blocks of rows: files with commas (.csv), plain or compressed, and Parquet files.

Every column is a number.  Memory holds one block, whatever the size of the file.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.io.files import bare_name, opened
from fenchel.io.svmlight import LARGEST_WHOLE
from fenchel.io.table_columns import first_row, has_header, is_whole, place_of

#: characters of a table that are parsed at a time
_CHARACTERS = 1 << 22
#: numbers of a block of a Parquet file
_NUMBERS = 1 << 20
#: the suffix of Parquet files
PARQUET = ".parquet"


class Columns(NamedTuple):
    """The columns of a table that are no features, by name or number (from 0; negative from the end)."""

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


def is_parquet(path: Path) -> bool:
    """Whether a file is a Parquet file, by its name."""
    return bare_name(path).suffix.lower() == PARQUET


def table_blocks(path: Path, columns: Columns, header: bool | None = None) -> Iterator[TableBlock]:
    """The rows of a table, block by block; without ``header`` it is looked up whether a CSV file has one."""
    blocks = _parquet_blocks(path, columns) if is_parquet(path) else _csv_blocks(path, columns, header)
    for places, values in blocks:
        X = np.column_stack([values[place] for place in places.features])
        qid = None if places.qid is None else values[places.qid].astype(np.int64)
        weights = None if places.sample_weight is None else values[places.sample_weight]
        yield TableBlock(X, values[places.label], qid, weights)


def _places(path: Path, columns: Columns, names: list[str] | None, count: int) -> _Places:
    """The places of all columns; the labels are the last one that is neither a query nor a weight."""
    options = {"qid": columns.qid, "sample_weight": columns.sample_weight, "label": columns.label}
    asked = {option: str(column) for option, column in options.items() if column is not None}
    found = {option: place_of(path, option, column, names, count) for option, column in asked.items()}
    if "label" not in found:
        left = [place for place in range(count) if place not in found.values()]
        if not left:
            raise FenchelError(f"{path}: has no column of labels")
        found["label"] = left[-1]
    if len(set(found.values())) < len(found):
        raise FenchelError(f"{path}: {' and '.join(found)} name one column twice; choose different columns")
    features = [place for place in range(count) if place not in found.values()]
    if not features:
        raise FenchelError(f"{path}: has no column besides the labels")
    return _Places(features, found["label"], found.get("qid"), found.get("sample_weight"))


def _csv_blocks(path: Path, columns: Columns, header: bool | None) -> Iterator[tuple[_Places, list[Array]]]:
    first, lines = first_row(path)
    label = None if columns.label is None else str(columns.label)
    names = [name.strip() for name in first] if has_header(first, label, header) else None
    places = _places(path, columns, names, len(first))
    with opened(path, "rt") as stream:
        try:
            line = 1
            for text in _whole_rows(path, stream):
                block = text if line > 1 or names is None else text[lines:]
                if any(map(str.strip, block)):
                    yield places, _numbers(path, block, len(first), places, line + len(text) - len(block))
                line += len(text)
        except UnicodeDecodeError as error:
            raise FenchelError(f"{path}: is no text in UTF-8: {error}") from error


def _whole_rows(path: Path, stream: IO[str]) -> Iterator[list[str]]:
    """Lines of about a block, which end where no field in quotes is open."""
    while True:
        text = stream.readlines(_CHARACTERS)
        if not text:
            return
        quotes = sum(one.count('"') for one in text)
        while quotes % 2:
            following = stream.readline()
            if not following:
                raise FenchelError(f"{path}: a quote is never closed: the file may be cut off")
            text.append(following)
            quotes += following.count('"')
        yield text


def _numbers(path: Path, text: list[str], count: int, places: _Places, line: int) -> list[Array]:
    """The columns of some lines."""
    with warnings.catch_warnings():
        # of blank lines
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = np.loadtxt(text, dtype=np.float64, delimiter=",", quotechar='"', comments=None, ndmin=2)
        except (ValueError, OverflowError) as error:
            raise FenchelError(
                f"{path}: in the rows from line {line} on: {error} All columns must be numbers: encode or impute them"
            ) from error
    if found.shape[1] != count:
        raise FenchelError(f"{path}: the row in line {line} has {found.shape[1]} fields, the first one {count}")
    if np.any(np.abs(found[:, places.label]) >= LARGEST_WHOLE):
        rows = csv.reader(chain.from_iterable(one.splitlines(keepends=True) for one in text))
        _check_distinct(path, (row[places.label] for row in rows if row), line)
    if places.qid is not None:
        _check_queries(path, found[:, places.qid])
    return list(found.T)


def _check_distinct(path: Path, labels: Iterator[str], line: int) -> None:
    """Raise for a label that is written as a whole number and that floats merge with others."""
    for label in labels:
        if is_whole(label) and abs(int(label)) >= LARGEST_WHOLE:
            raise FenchelError(
                f"{path}: the label {label.strip()} in the rows from line {line} on is a whole number of 2^53 or more, "
                "which floats do not tell apart: use smaller numbers, or write numbers to be predicted with an exponent"
            )


def _check_queries(path: Path, queries: Array) -> None:
    """Raise for queries that are no whole numbers, or that floats merge."""
    wrong = (np.abs(queries) >= LARGEST_WHOLE) | (queries != np.floor(queries))
    if np.any(wrong):
        raise FenchelError(f"{path}: the query {queries[wrong][0]:g} is no whole number below 2^53; number the queries")


def _parquet_blocks(path: Path, columns: Columns) -> Iterator[tuple[_Places, list[Array]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FenchelError(f"{path}: Parquet files need pyarrow: pip install 'fenchel[parquet]'") from error
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            places = _places(path, columns, names, len(names))
            for batch in file.iter_batches(batch_size=max(1, _NUMBERS // len(names))):
                found = [_column(path, name, batch.column(place)) for place, name in enumerate(names)]
                if batch.num_rows:
                    _check_whole_columns(path, places, found)
                    yield places, [_as_float(one) for one in found]
    except (pa.ArrowException, OSError) as error:
        raise FenchelError(f"{path}: can't be read, it may be damaged or no Parquet file: {error}") from error


def _column(path: Path, name: str, values: Any) -> Array:
    """A column of a Parquet file as it is stored."""
    if values.null_count:
        raise FenchelError(f"{path}: the column {name} has missing values: impute them or remove their rows")
    found = np.asarray(values.to_numpy(zero_copy_only=False))
    if found.dtype.kind not in "biuf":
        raise FenchelError(f"{path}: the column {name} has values of type {values.type}, no numbers: encode or omit it")
    return found


def _check_whole_columns(path: Path, places: _Places, columns: list[Array]) -> None:
    label = columns[places.label]
    if label.dtype.kind in "iu":
        wrong = (label >= LARGEST_WHOLE) | (label <= -LARGEST_WHOLE)
        if np.any(wrong):
            _check_distinct(path, iter([str(label[wrong][0])]), 1)
    if places.qid is not None:
        _check_queries(path, columns[places.qid])


def _as_float(values: Array) -> Array:
    """In float32 if it is stored so, else in float64."""
    return values if values.dtype == np.float32 else values.astype(np.float64)
