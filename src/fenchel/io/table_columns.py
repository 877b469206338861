"""The columns of a table: whether it has a header, and which of them are labels, queries and features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fenchel.errors import FenchelError
from fenchel.io.delimited import Delimited, delimited
from fenchel.io.kinds import PARQUET
from fenchel.io.parquet import parquet_names
from fenchel.io.raw_columns import Place

#: columns that an error names
_SHOWN = 10


class TableFile(NamedTuple):
    """A table whose rows were not read yet."""

    path: Path
    #: of the columns, if there is a header
    names: list[str] | None
    #: the number of columns
    width: int
    #: None for a Parquet file
    text: Delimited | None

    def place(self, number: int) -> Place:
        """What errors call a column."""
        name = None if self.names is None else self.names[number]
        return Place(self.path, number, name, "row" if self.text is None else "line")

    def number_of(self, option: str, asked: str) -> int:
        """The number of a column that the user asks for by its name or its number."""
        names = self.names
        if names is not None and asked in names:
            if names.count(asked) > 1:
                raise FenchelError(f"--{option}: {self.path} has {names.count(asked)} columns {asked!r}; rename them")
            return names.index(asked)
        if not is_whole(asked) or not -self.width <= int(asked) < self.width:
            if names is None and is_whole(asked):
                known = f"has {self.width} columns, from 0 to {self.width - 1}"
            else:
                known = "has no header" if names is None else f"has the columns {', '.join(names[:_SHOWN])}"
            raise FenchelError(f"--{option}: {self.path} has no column {asked!r}; it {known}")
        return int(asked) % self.width


def table_file(
    path: Path, kind: str, label: str | None = None, header: bool | None = None, delimiter: str | None = None
) -> TableFile:
    """A table; without ``header`` it is looked up whether a text table has one."""
    if kind == PARQUET:
        if header is not None or delimiter is not None:
            raise FenchelError(
                f"{path}: --header and --delimiter are for text tables: a Parquet file names its columns"
            )
        names = parquet_names(path)
        return TableFile(path, names, len(names), None)
    text = delimited(path, kind, delimiter)
    named = [name.strip() for name in text.first] if has_header(text.first, label, header) else None
    return TableFile(path, named, len(text.first), text)


def has_header(first: list[str], label: str | None, header: bool | None) -> bool:
    """A header has no numbers, but perhaps as the name of the labels; names of labels are no header."""
    if header is not None:
        return header
    if label is not None and label in first and not is_number(label):
        return True
    place = int(label) if label is not None and is_whole(label) else -1
    others = [field for at, field in enumerate(first) if at != place % len(first)]
    return not any(map(is_number, others)) and not all(map(is_number, first))


def query_column(table: TableFile, asked: str | None, names: Sequence[str] | None) -> int | None:
    """The column of the queries; None if none is asked for, or a file that is read for a model has none."""
    if asked is None or (names is not None and asked not in (table.names or ())):
        return None
    return table.number_of("qid", asked)


def label_column(
    table: TableFile, label: str | None, names: Sequence[str] | None, features: int | None, queries: int | None
) -> int | None:
    """The column of the labels; None if a file that is read for a model has none.

    ``names`` are those of the model's columns, and ``features`` their number.
    """
    if table.names is not None and label in table.names:
        return table.number_of("label", str(label))
    if names is not None and (label is None or not is_whole(label)):
        return None
    if features is not None and names is None and table.width - (queries is not None) == features:
        return None
    if label is None:
        # the last column, or the one before it
        return table.width - 2 if queries == table.width - 1 else table.width - 1
    return table.number_of("label", label)


def is_whole(text: str) -> bool:
    """Whether a text is a whole number."""
    return re.fullmatch(r"[+-]?\d+", text.strip()) is not None


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
