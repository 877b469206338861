"""How columns of a table become features: numbers as they are, texts as one indicator for each category.

An encoding is learned from the training data and kept in the model file, so that other data are encoded in the same
way.  Missing values are refused, or replaced by a value that was learned too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.io.raw_columns import RawColumn

#: what replaces missing numbers; missing texts are replaced by the most frequent category in each case
IMPUTATIONS = ("median", "mean", "most-frequent")
#: of a column of texts: more categories than this share of its rows are more likely names than categories
_NAMES_SHARE, _NAMES_LEAST = 0.5, 50
#: a number such as 1,5, which is a text unless the user says what its comma is
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
#: unknown categories that a message shows
_SHOWN = 3


class ColumnCode(NamedTuple):
    """How one column is encoded."""

    #: None if the table has no header
    name: str | None
    #: of a column of texts; None for numbers
    categories: tuple[str, ...] | None = None
    #: what replaces a missing value; None refuses it
    fill: float | str | None = None

    def called(self, number: int) -> str:
        """The name of the column in names of features."""
        return f"column {number + 1}" if self.name is None else self.name


class Encoded(NamedTuple):
    """The features of some rows."""

    X: Any
    #: what the user should know
    notes: list[str]


@dataclass(frozen=True)
class Encoding:
    """The columns of a table that are features, in their order."""

    columns: tuple[ColumnCode, ...]

    @classmethod
    def of_numbers(cls, names: Sequence[str] | None, count: int) -> Encoding:
        """The encoding of columns that are all numbers."""
        return cls(tuple(ColumnCode(None if names is None else names[place]) for place in range(count)))

    @classmethod
    def learned(cls, columns: Sequence[RawColumn], lines: Array, impute: str | None) -> Encoding:
        """The encoding of training data."""
        return cls(tuple(_learned(column, lines, impute) for column in columns))

    @property
    def names(self) -> list[str] | None:
        """The columns' names, if they have any."""
        found = [column.name for column in self.columns if column.name is not None]
        return found if len(found) == len(self.columns) else None

    @property
    def has_texts(self) -> bool:
        """Whether some column is encoded as indicators."""
        return any(column.categories is not None for column in self.columns)

    @property
    def feature_names(self) -> list[str] | None:
        """A name for each feature, ``column=category`` for indicators; None without a header or texts."""
        if self.names is None and not self.has_texts:
            return None
        found: list[str] = []
        for number, column in enumerate(self.columns):
            name = column.called(number)
            found += [name] if column.categories is None else [f"{name}={one}" for one in column.categories]
        return found

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(1 if column.categories is None else len(column.categories) for column in self.columns)

    def encode(self, columns: Sequence[RawColumn], lines: Array) -> Encoded:
        """The features of rows: dense if all columns are numbers, else in compressed sparse rows."""
        notes: list[str] = []
        if not self.has_texts:
            parts = [_filled(code, raw, lines) for code, raw in zip(self.columns, columns, strict=True)]
            return Encoded(np.column_stack(parts), notes)
        blocks: list[Any] = []
        for code, raw in zip(self.columns, columns, strict=True):
            if code.categories is None:
                blocks.append(sp.csc_matrix(_filled(code, raw, lines)[:, None]))
            else:
                blocks.append(_indicators(code, raw, lines, notes))
        return Encoded(sp.hstack(blocks, format="csr"), notes)

    def as_json(self) -> list[dict[str, Any]]:
        """As plain lists and texts, for a model file."""
        return [column._asdict() for column in self.columns]

    @classmethod
    def from_json(cls, given: Any) -> Encoding:
        """What :meth:`as_json` returned; raise ValueError for anything else."""
        if not isinstance(given, list) or not given:
            raise ValueError("the encoding of the columns is damaged")
        return cls(tuple(_code_of(one) for one in given))


def _code_of(given: Any) -> ColumnCode:
    code = ColumnCode(**given)
    named = code.name is None or isinstance(code.name, str)
    if code.categories is None:
        number = isinstance(code.fill, float | int) and not isinstance(code.fill, bool) and math.isfinite(code.fill)
        if named and (code.fill is None or number):
            return code
    elif isinstance(code.categories, list) and all(isinstance(one, str) for one in code.categories):
        categories = tuple(code.categories)
        if named and len(set(categories)) == len(categories) >= 1 and code.fill in (None, *categories):
            return code._replace(categories=categories)
    raise ValueError("the encoding of the columns is damaged")


def _learned(column: RawColumn, lines: Array, impute: str | None) -> ColumnCode:
    name = column.place.name
    if column.is_text is None:
        raise _without_values(column)
    if column.is_text:
        texts = column.texts()
        known = [one for one in texts if one is not None]
        if not known:
            raise _without_values(column)
        if len(known) < len(texts) and impute is None:
            _refuse_missing(column, lines, [one is None for one in texts])
        categories = tuple(sorted(set(known)))
        if column.because is None and all(map(_DECIMAL_COMMA.fullmatch, categories)):
            raise FenchelError(
                f"{column.place.path}: {column.place} has texts such as {categories[0]!r}: --decimal-comma reads them "
                "as numbers, --text as categories"
            )
        if len(categories) > max(_NAMES_LEAST, _NAMES_SHARE * len(texts)):
            raise FenchelError(
                f"{column.place.path}: {column.place} has {len(categories):,} different texts in {len(texts):,} rows: "
                "such names are not categories; omit the column with --drop"
            )
        counts = Counter(known)
        # the first one in order of the most frequent, whatever the order of the rows
        return ColumnCode(name, categories, None if impute is None else max(categories, key=counts.__getitem__))
    numbers = column.numbers()
    missing = np.isnan(numbers)
    if impute is None:
        if np.any(missing):
            _refuse_missing(column, lines, missing.tolist())
        return ColumnCode(name)
    if np.all(missing):
        raise _without_values(column)
    return ColumnCode(name, None, _typical(numbers[~missing], impute))


def _without_values(column: RawColumn) -> FenchelError:
    return FenchelError(f"{column.place.path}: {column.place} has no values, only missing ones: --drop it")


def _typical(numbers: Floats, impute: str) -> float:
    """What replaces missing numbers; the smallest one of the most frequent."""
    if impute == "most-frequent":
        values, counts = np.unique(numbers, return_counts=True)
        return float(values[np.argmax(counts)])
    return float(np.median(numbers) if impute == "median" else np.mean(numbers))


def _filled(code: ColumnCode, column: RawColumn, lines: Array) -> Floats:
    """The numbers of a column without missing ones."""
    numbers = column.numbers()
    missing = np.isnan(numbers)
    if np.any(missing):
        if code.fill is None:
            _refuse_missing(column, lines, missing.tolist())
        numbers[missing] = code.fill
    return numbers


def _indicators(code: ColumnCode, column: RawColumn, lines: Array, notes: list[str]) -> Any:
    """A column for each category; zeros for a category that the model does not know, which the notes say."""
    assert code.categories is not None
    texts = column.texts()
    if code.fill is None and None in texts:
        _refuse_missing(column, lines, [one is None for one in texts])
    index: dict[str | None, int] = {name: number for number, name in enumerate(code.categories)}
    index[None] = -1 if code.fill is None else index[str(code.fill)]
    places = np.array([index.get(one, -1) for one in texts], dtype=np.int64)
    known = places >= 0
    if not np.all(known):
        unknown = sorted({one for one in texts if one is not None and one not in index})
        shown = ", ".join(unknown[:_SHOWN]) + (", …" if len(unknown) > _SHOWN else "")
        count = int(np.count_nonzero(~known))
        notes.append(
            f"{column.place}: {count:,} row{'s have categories' if count != 1 else ' has a category'} that the model "
            f"does not know ({shown}): no weight of this column counts there"
        )
    rows = np.flatnonzero(known)
    shape = len(texts), len(code.categories)
    return sp.csc_matrix((np.ones(len(rows)), (rows, places[known])), shape=shape)


def _refuse_missing(column: RawColumn, lines: Array, missing: Sequence[bool]) -> NoReturn:
    first = int(lines[missing.index(True)])
    count = sum(missing)
    more = "" if count == 1 else f", and {count - 1:,} more"
    where = f"{column.place.path}: {column.place.unit} {first}, {column.place}"
    raise FenchelError(
        f"{where}: the value is missing{more}; train with --impute median, mean or most-frequent, or remove the rows"
    )
