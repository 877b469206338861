"""The values of a table: columns of features, and the texts of labels and queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.io.files import NoRowsError
from fenchel.io.parquet import as_numbers, as_texts, number_texts, parquet_blocks
from fenchel.io.raw_columns import MISSING, RawColumn, is_missing
from fenchel.io.svmlight import LARGEST_WHOLE, are_whole
from fenchel.io.table_columns import TableFile, is_whole


class TableValues(NamedTuple):
    """Some columns of a table."""

    #: of labels and queries
    texts: list[list[str]]
    #: the line of each row as an editor counts, or the number of a row of a Parquet file, from 1
    lines: Array


def read_values(table: TableFile, features: Sequence[RawColumn], others: Sequence[int]) -> TableValues:
    """Read the columns of features into ``features``, and return the texts of the others."""
    found = _read_text(table, features, others) if table.text is not None else _read_parquet(table, features, others)
    if not len(found.lines):
        raise NoRowsError(table.path)
    return found


def _read_text(table: TableFile, features: Sequence[RawColumn], others: Sequence[int]) -> TableValues:
    assert table.text is not None
    texts: list[list[str]] = [[] for _ in others]
    lines: list[int] = []
    for block in table.text.rows(header=table.names is not None):
        columns = list(zip(*block.fields, strict=True))
        for column in features:
            column.extend(columns[column.place.number], block.lines, block.ascii)
        for found, number in zip(texts, others, strict=True):
            found += columns[number]
        lines += block.lines
    return TableValues(texts, np.array(lines, dtype=np.int64))


def _read_parquet(table: TableFile, features: Sequence[RawColumn], others: Sequence[int]) -> TableValues:
    texts: list[list[str]] = [[] for _ in others]
    rows = 0
    for block in parquet_blocks(table.path):
        for column in features:
            _add_parquet(table, column, block[column.place.number], rows)
        for found, number in zip(texts, others, strict=True):
            found += ["" if value is None else str(value) for value in block[number].to_pylist()]
        rows += len(block[0])
    return TableValues(texts, np.arange(1, rows + 1))


def _add_parquet(table: TableFile, column: RawColumn, values: object, rows: int) -> None:
    """Add values of a Parquet file to a column; its type decides, unless a model or the user does."""
    given = as_texts(values)
    if given is not None:
        if column.is_text is False and column.because is not None:
            raise FenchelError(f"{table.path}: {column.place} has texts, and {column.because}")
        column.append_texts(given)
    elif column.is_text and column.because is not None:
        as_numbers(table.path, str(column.place.name), values)
        # whole numbers stay so beside missing ones
        column.append_texts(number_texts(values))
    else:
        numbers = as_numbers(table.path, str(column.place.name), values).astype(np.float64)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise FenchelError(
                f"{table.path}: row {rows + int(infinite[0]) + 1}, {column.place}: the value is infinite"
            )
        column.append_numbers(numbers)


def labels_of(table: TableFile, called: str, number: int, texts: list[str], lines: Array) -> Array:
    """Whole numbers, numbers or names, whichever the labels or queries are."""
    place = table.place(number)
    names = [text.strip() for text in texts]
    try:
        numbers = np.fromiter(map(float, names), np.float64, len(names))
        missing = np.isnan(numbers)
    except ValueError:
        numbers, missing = None, np.array([is_missing(name) for name in set(names)])
        if np.any(missing):
            missing = np.array([name.lower() in MISSING for name in names])
    if np.any(missing):
        line = int(lines[np.flatnonzero(missing)[0]])
        raise FenchelError(
            f"{table.path}: {place.unit} {line}, {place}: the {called} is missing; remove such rows, or name another "
            f"column with --{'qid' if called == 'query' else called}"
        )
    if numbers is None:
        for name, line in zip(names, lines.tolist(), strict=True):
            if "\0" in name:
                # NumPy's text drops it at the end
                raise FenchelError(f"{table.path}: {place.unit} {line}, {place}: the {called} has a NUL character")
        return np.array(names)
    for row in np.flatnonzero(np.abs(numbers) >= LARGEST_WHOLE).tolist():
        if is_whole(names[row]):
            raise FenchelError(
                f"{table.path}: the {called} {names[row]} of {place.unit} {lines[row]} is a whole number of 2^53 or "
                "more, which floats do not tell apart: use smaller numbers or names, or write numbers to be predicted "
                "with an exponent"
            )
    return numbers.astype(np.int64) if are_whole(numbers) else numbers
