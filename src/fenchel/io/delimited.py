"""Text tables with commas, semicolons or tabs: their rows in blocks, with the lines in which an editor shows them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fenchel.errors import FenchelError
from fenchel.io.files import NoRowsError, opened
from fenchel.io.kinds import TSV

#: fields of a block of rows
_FIELDS = 1 << 19


class Rows(NamedTuple):
    """Some rows of a text table."""

    fields: list[list[str]]
    #: the line in which each row begins, from 1
    lines: list[int]
    #: whether all characters so far are in ASCII
    ascii: bool


class Delimited(NamedTuple):
    """A text table, and what separates its fields."""

    path: Path
    delimiter: str
    #: the fields of the first row
    first: list[str]

    def rows(self, header: bool) -> Iterator[Rows]:
        """All rows, block by block, without a header and without blank lines."""
        count, most = len(self.first), max(1, _FIELDS // len(self.first))
        with opened(self.path, "rt") as stream:
            text = _Lines(stream)
            # strict: a quote that is never closed is a file that was cut off
            reader = csv.reader(text, strict=True, delimiter=self.delimiter)
            fields: list[list[str]] = []
            lines: list[int] = []
            try:
                begin, skip = 1, header
                for row in reader:
                    if row:
                        if len(row) != count:
                            raise FenchelError(self._ragged(begin, len(row)))
                        if not skip:
                            fields.append(row)
                            lines.append(begin)
                        skip = False
                    begin = reader.line_num + 1
                    if len(fields) == most:
                        text.check(self.path)
                        yield Rows(fields, lines, text.ascii)
                        fields, lines = [], []
            except csv.Error as error:
                raise FenchelError(f"{self.path}: line {reader.line_num}: {error}") from error
            except UnicodeDecodeError as error:
                raise FenchelError(f"{self.path}: is not text in UTF-8: {error}") from error
            text.check(self.path)
            if fields:
                yield Rows(fields, lines, text.ascii)

    def _ragged(self, line: int, count: int) -> str:
        name = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(self.delimiter, repr(self.delimiter))
        return (
            f"{self.path}: line {line} has {count} fields, the first one {len(self.first)}; repair the row, or quote "
            f"fields that contain {name}"
        )


class _Lines:
    """The lines of a text, which remembers whether they are in ASCII and where a NUL character is."""

    def __init__(self, stream: Iterable[str]) -> None:
        self._stream, self.ascii, self.nul = stream, True, 0

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._stream, start=1):
            if self.ascii and not line.isascii():
                self.ascii = False
            if not self.nul and "\0" in line:
                # NumPy's text drops it at the end of a label
                self.nul = number
            yield line

    def check(self, path: Path) -> None:
        """Raise if there was a NUL character."""
        if self.nul:
            raise FenchelError(f"{path}: line {self.nul} has a NUL character; the file may be damaged")


def delimited(path: Path, kind: str, delimiter: str | None = None) -> Delimited:
    """A text table, with what separates its fields: as the user says, or tabs, or what its first line has."""
    with opened(path, "rt") as stream:
        try:
            line = stream.readline()
        except UnicodeDecodeError as error:
            raise FenchelError(f"{path}: is not a table in UTF-8: {error}") from error
    found = delimiter or ("\t" if kind == TSV else _delimiter_of(line))
    with opened(path, "rt") as stream:
        try:
            first = next(csv.reader(stream, strict=True, delimiter=found), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise FenchelError(f"{path}: is not a table in UTF-8: {error}") from error
    if not first:
        raise NoRowsError(path)
    return Delimited(path, found, first)


def _delimiter_of(line: str) -> str:
    """Semicolons before commas, which may be in numbers then, before tabs; quoted characters do not count."""
    bare = "".join(line.split('"')[::2])
    return next((mark for mark in (";", ",", "\t") if mark in bare), ",")
