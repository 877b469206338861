"""Columns of tables before they are encoded: numbers with NaN where a value is missing, or texts with None.

The first value of a column that is not missing decides which of both it is; a column with numbers and texts is refused,
unless the user names it as text.  Errors name the line and the column as an editor counts them, and the column's name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError

#: fields that stand for a missing value, in small letters
MISSING = frozenset(("", "na", "n/a", "nan", "null", "?"))


class Place(NamedTuple):
    """A column of a file."""

    path: Path
    #: from 0
    number: int
    name: str | None = None
    #: what rows are counted by: the lines of a text, or the rows of a Parquet file
    unit: str = "line"

    def __str__(self) -> str:
        """As an editor counts: from 1."""
        return f"column {self.number + 1}" + ("" if self.name is None else f" ({self.name})")


def is_missing(text: str) -> bool:
    """Whether a field stands for a missing value."""
    return text.strip().lower() in MISSING


@dataclass
class RawColumn:
    """A column that grows by blocks of fields."""

    place: Place
    #: None until a value is there
    is_text: bool | None = None
    #: why a column is a number, or a text, if a model or the user says so
    because: str | None = None
    decimal_comma: bool = False
    _numbers: list[Array] = field(default_factory=list)
    _texts: list[list[str | None]] = field(default_factory=list)
    #: missing values before the first other one
    _leading: int = 0

    def extend(self, fields: Sequence[str], lines: Sequence[int], ascii_only: bool) -> None:
        """Add the fields of some rows."""
        if self.is_text is None:
            self._decide(fields)
        if self.is_text is None:
            self._leading += len(fields)
        elif self.is_text:
            self._texts.append(self._as_texts(fields, lines))
        else:
            self._numbers.append(self._as_numbers(fields, lines, ascii_only))

    def append_numbers(self, values: Array) -> None:
        """Add numbers that are not text in their file."""
        self.is_text = False
        self._numbers.append(values)

    def append_texts(self, values: list[str | None]) -> None:
        """Add texts."""
        self.is_text = True
        self._texts.append(values)

    def numbers(self) -> Array:
        """All numbers; NaN where they are missing."""
        return np.concatenate([np.full(self._leading, np.nan), *self._numbers])

    def texts(self) -> list[str | None]:
        """All texts; None where they are missing."""
        return [*[None] * self._leading, *chain.from_iterable(self._texts)]

    def _decide(self, fields: Sequence[str]) -> None:
        first = next((one for one in fields if not is_missing(one)), None)
        if first is not None:
            self.is_text = not self._is_number(first)

    def _is_number(self, text: str) -> bool:
        try:
            self._float(text)
        except ValueError:
            return False
        return text.isascii()

    def _float(self, text: str) -> float:
        return float(text.replace(",", ".") if self.decimal_comma else text)

    def _as_numbers(self, fields: Sequence[str], lines: Sequence[int], ascii_only: bool) -> Array:
        values = None
        if not self.decimal_comma and (ascii_only or all(map(str.isascii, fields))):
            try:
                values = np.fromiter(map(float, fields), np.float64, len(fields))
            except ValueError:
                values = None
        if values is None:
            values = np.array(
                [self._number(one, line) for one, line in zip(fields, lines, strict=True)], dtype=np.float64
            )
        if np.any(np.isinf(values)):
            at = int(np.flatnonzero(np.isinf(values))[0])
            raise self._error(
                lines[at], f"{fields[at].strip()!r} is infinite or too large: repair the row or remove it"
            )
        return values

    def _number(self, text: str, line: int) -> float:
        if is_missing(text):
            return math.nan
        if self._is_number(text):
            return self._float(text)
        comma = "; --decimal-comma reads such numbers" if "," in text and not self.decimal_comma else ""
        why = self.because or "the rows before have numbers"
        way_out = "repair it" if self.because else "repair it, or name the column with --text"
        raise self._error(line, f"{text.strip()!r} is not a number, and {why}: {way_out}{comma}")

    def _as_texts(self, fields: Sequence[str], lines: Sequence[int]) -> list[str | None]:
        found: list[str | None] = [None if one.lower() in MISSING else one for one in map(str.strip, fields)]
        wrong = {one for one in set(found) if one is not None and self._is_number(one)} if self.because is None else ()
        if wrong:
            line, text = next((line, one) for line, one in zip(lines, found, strict=True) if one in wrong)
            raise self._error(
                line, f"{text!r} is a number, and the rows before have texts: repair it, or name the column with --text"
            )
        return found

    def _error(self, line: int, why: str) -> FenchelError:
        return FenchelError(f"{self.place.path}: {self.place.unit} {line}, {self.place}: {why}")
