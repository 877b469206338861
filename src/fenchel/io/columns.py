"""Files of labelled sequences as in the shared tasks of CoNLL: a token in each line, blank lines between sequences.

The fields of a token are separated by spaces or tabs, and the last one is its label.  Lines end with LF or CRLF; blanks
at the end of a line, blank lines at the beginning and at the end, and several blank lines in a row change nothing.  No
character begins a comment: "#" is a token of CoNLL-2000.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from fenchel.errors import FenchelError
from fenchel.io.files import check_exists, opened

#: no other space of Unicode separates fields: words may contain them
_BLANKS = re.compile(r"[ \t]+")


class ColumnFile(NamedTuple):
    """The tokens of a file."""

    #: the fields of each token without its label
    tokens: list[list[str]]
    #: None if the file, which is read for a model, has no labels
    labels: list[str] | None
    #: of the sequences
    lengths: list[int]
    #: the line of each token, from 1
    lines: list[int]
    #: the number of columns with that of the labels
    width: int


def read_columns(path: Path, width: int | None = None) -> ColumnFile:
    """The tokens of a file; for a model of ``width`` columns, the last one of which, the labels, may be missing."""
    check_exists(path)
    try:
        with opened(path, "rt") as stream:
            text = stream.read()
    except UnicodeDecodeError as error:
        raise FenchelError(f"{path}: is not text in UTF-8: {error}") from error
    rows: list[list[str]] = []
    lengths: list[int] = []
    lines: list[int] = []
    follows = False
    for number, line in enumerate(text.split("\n"), start=1):
        fields = _fields(path, number, line)
        if fields:
            rows.append(fields)
            lines.append(number)
            if follows:
                lengths[-1] += 1
            else:
                lengths.append(1)
        follows = bool(fields)
    if not rows:
        raise FenchelError(f"{path}: holds no tokens")
    _check_widths(path, rows, lines, width)
    if width is not None and len(rows[0]) == width - 1:
        return ColumnFile(rows, None, lengths, lines, width)
    labels = [fields.pop() for fields in rows]
    return ColumnFile(rows, labels, lengths, lines, len(rows[0]) + 1)


def _fields(path: Path, number: int, line: str) -> list[str]:
    line = line.removesuffix("\r")
    for character, name in (("\0", "a NUL character"), ("\r", "a carriage return within it")):
        if character in line:
            raise FenchelError(f"{path}: line {number} has {name}; the file may be damaged")
    return [field for field in _BLANKS.split(line) if field]


def _check_widths(path: Path, rows: list[list[str]], lines: list[int], width: int | None) -> None:
    """Raise unless all tokens have as many columns as the first one, and as many as the model needs."""
    count = len(rows[0])
    for fields, number in zip(rows, lines, strict=True):
        if len(fields) != count:
            raise FenchelError(
                f"{path}: line {number} has {len(fields)} columns, line {lines[0]} has {count}; write as many fields "
                "for every token, and none with spaces in it"
            )
    if width is None and count == 1:
        raise FenchelError(
            f"{path}: line {lines[0]} has 1 column; write a token and its label, the last column, in each line"
        )
    if width is not None and count not in (width - 1, width):
        raise FenchelError(
            f"{path}: has {count} columns, but the model was trained on {width} with the labels; give it {width}, or "
            f"{width - 1} without labels"
        )
