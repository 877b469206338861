"""Rows of a svmlight file from its bytes, in one pass.

``<label> [qid:<whole>] <feature>:<value> ... [# comment]``, with any ASCII white space between fields, and ascending
features.  Numbers that ``compile.primitives.decimals`` leaves to ``float`` (NaN, infinity, digits with underscores,
more than 18 digits) are listed in ``hard`` with the place that their value belongs to; so is any other text.
"""

from __future__ import annotations

from typing import Any

from fenchel.compile.loop import helper, inlined_helper, uncounted_loop
from fenchel.compile.primitives.decimals import decimal, short_decimal
from fenchel.compile.primitives.digits import WORD, digits

#: why a file can't be read; the loop ends at the first of them
NOTHING_WRONG, NO_COLON, NO_FEATURE, NEGATIVE_FEATURE, LARGE_FEATURE, NOT_ASCENDING, NO_QUERY = range(7)
#: a file has at most one number in this many bytes: each has a separator
BYTES_PER_NUMBER = 2
#: features are numbered with 32 bits
_LARGEST_FEATURE = (1 << 31) - 1
#: digits of a query number beyond this are refused
_LARGEST_QUERY = 10**17 - 1
_NEWLINE, _SPACE, _HASH, _COLON, _UNDERSCORE, _PLUS, _MINUS, _ZERO, _NINE = (ord(c) for c in "\n #:_+-09")
_TAB, _RETURN = ord("\t"), ord("\r")
_Q, _I, _D = (ord(c) for c in "qid")
_NOT_WHOLE, _TOO_LARGE = -1, -2


@uncounted_loop
def parse_rows(
    text: Any, wanted: bool, fives: Any, tens: Any, labels: Any, ends: Any, queries: Any, indices: Any, data: Any,
    hard: Any,
) -> tuple[int, int, int, int, int, int, int]:  # fmt: skip
    """Fill the arrays with the rows of a text of whole lines.

    Return the numbers of lines, rows, queries and hard numbers, the least feature, and what is wrong at which place.
    ``ends`` has the end of each row in ``indices`` and ``data``; features are as written; queries are read if
    ``wanted``.  ``WORD`` bytes of memory must follow the text.
    """
    place, lines, rows, entries, asked, hards, least = 0, 0, 0, 0, 0, 0, _LARGEST_FEATURE
    while place < len(text):
        while _is_space(text[place]):
            place += 1
        if text[place] != _NEWLINE and text[place] != _HASH:
            begin = place
            value, place, decided = _number(text, begin, fives, tens)
            if not decided:
                hard[hards, 0], hard[hards, 1], hard[hards, 2] = begin, place, -1 - rows
                hards += 1
            labels[rows] = value
            while _is_space(text[place]):
                place += 1
            if text[place] == _Q and text[place + 1] == _I and text[place + 2] == _D and text[place + 3] == _COLON:
                begin, place = place, _field_end(text, place)
                if wanted:
                    number, stop, negative = _whole(text, begin + 4, _LARGEST_QUERY)
                    if number < 0 or stop != place:
                        return lines, rows, asked, hards, least, NO_QUERY, begin + 4
                    queries[asked] = -number if negative else number
                asked += 1
            last = -1
            while True:
                while _is_space(text[place]):
                    place += 1
                if text[place] == _NEWLINE or text[place] == _HASH:
                    break
                begin = place
                feature, place, wrong = _feature(text, begin)
                if wrong != NOTHING_WRONG:
                    return lines, rows, asked, hards, least, wrong, begin
                if feature <= last:
                    return lines, rows, asked, hards, least, NOT_ASCENDING, begin
                least = min(least, feature)
                last, begin = feature, place + 1
                value, place, decided = _number(text, begin, fives, tens)
                if not decided:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2] = begin, place, entries
                    hards += 1
                indices[entries], data[entries] = feature, value
                entries += 1
            ends[rows] = entries
            rows += 1
        while text[place] != _NEWLINE:
            place += 1
        place += 1
        lines += 1
    return lines, rows, asked, hards, least, NOTHING_WRONG, 0


@inlined_helper
def _number(text: Any, begin: int, fives: Any, tens: Any) -> tuple[float, int, bool]:
    """The number of a field, the place after the field, and whether it was decided here."""
    value, place, decided = short_decimal(text, begin, tens)
    if decided and _ends_field(text[place]):
        return value, place, True
    value, place, decided = decimal(text, begin, fives, tens)
    if decided and _ends_field(text[place]):
        return value, place, True
    return value, _field_end(text, begin), False


@inlined_helper
def _feature(text: Any, begin: int) -> tuple[Any, int, int]:
    """The number of a feature, the place of its colon, and what is wrong."""
    feature, count = digits(text, begin)
    if 0 < count < WORD and text[begin + count] == _COLON:
        return feature, begin + count, NOTHING_WRONG
    feature, place, negative = _whole(text, begin, _LARGEST_FEATURE)
    if feature == _TOO_LARGE:
        return feature, place, LARGE_FEATURE
    if text[place] != _COLON or feature < 0:
        return feature, place, _why_no_feature(text, begin)
    return feature, place, (NEGATIVE_FEATURE if negative and feature > 0 else NOTHING_WRONG)


@helper
def _is_blank(byte: Any) -> bool:
    """White space, as ``bytes.split`` knows it."""
    return byte == _SPACE or _TAB <= byte <= _RETURN


@helper
def _is_space(byte: Any) -> bool:
    """White space within a line."""
    return _is_blank(byte) and byte != _NEWLINE


@helper
def _ends_field(byte: Any) -> bool:
    return _is_blank(byte) or byte == _HASH


@helper
def _field_end(text: Any, place: int) -> int:
    """Where a field ends."""
    while not _ends_field(text[place]):
        place += 1
    return place


@helper
def _whole(text: Any, place: int, largest: int) -> tuple[int, int, bool]:
    """The absolute value of a whole number as ``int`` reads it, with underscores between digits; the place after it."""
    negative = text[place] == _MINUS
    if negative or text[place] == _PLUS:
        place += 1
    number, digits = 0, 0
    while True:
        if text[place] == _UNDERSCORE and digits > 0 and _ZERO <= text[place + 1] <= _NINE:
            place += 1
        if not _ZERO <= text[place] <= _NINE:
            break
        number = number * 10 + (int(text[place]) - _ZERO)
        if number > largest:
            return _TOO_LARGE, place, negative
        place += 1
        digits += 1
    return (number if digits > 0 else _NOT_WHOLE), place, negative


@helper
def _why_no_feature(text: Any, begin: int) -> int:
    """Whether a field that is not a feature lacks a colon, or the number before it."""
    for place in range(begin, _field_end(text, begin)):
        if text[place] == _COLON:
            return NO_FEATURE
    return NO_COLON
