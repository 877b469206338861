"""The first row and the columns of a table."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from fenchel.errors import FenchelError
from fenchel.io.files import opened


def first_row(path: Path) -> tuple[list[str], int]:
    """The fields of the first row, and the number of its lines: a field in quotes may have several."""
    with opened(path, "rt") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            first = next(reader, [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise FenchelError(f"{path}: is no table in UTF-8: {error}") from error
    if not first:
        raise FenchelError(f"{path}: holds no rows")
    return first, reader.line_num


def has_header(first: list[str], label: str | None, header: bool | None) -> bool:
    """A header has no numbers, but perhaps as the name of the labels; names of labels are no header."""
    if header is not None:
        return header
    if label is not None and label in first and not is_number(label):
        return True
    place = int(label) if label is not None and is_whole(label) else -1
    others = [field for at, field in enumerate(first) if at != place % len(first)]
    return not any(map(is_number, others)) and not all(map(is_number, first))


def place_of(path: Path, option: str, asked: str, header: list[str] | None, count: int) -> int:
    """The place of a column that is asked for by its name or its number."""
    if header is not None and asked in header:
        if header.count(asked) > 1:
            raise FenchelError(f"--{option}: {path} has {header.count(asked)} columns {asked!r}; rename them")
        return header.index(asked)
    if not is_whole(asked) or not -count <= int(asked) < count:
        known = "has no header" if header is None else f"has the columns {', '.join(header[:10])}"
        raise FenchelError(f"--{option}: {path} has no column {asked!r}; it {known}")
    return int(asked) % count


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
