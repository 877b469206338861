"""Svmlight (LIBSVM) files in blocks of rows, exact to the last bit, with bounded memory."""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.decimals import powers_of_five, powers_of_ten
from fenchel.compile.primitives.digits import WORD
from fenchel.errors import FenchelError
from fenchel.io import loop_svmlight as loop
from fenchel.io.files import NoRowsError, opened
from fenchel.io.growing import Growing

#: bytes that are read at a time (256 kB, so that what is parsed stays in the cache); a longer line is read whole
_BLOCK_BYTES = 1 << 18
#: room that is reserved for rows, in units of what the first block lets expect
_MARGIN = 1.05
#: characters of a field that an error shows
_SHOWN = 40
_FIELD = re.compile(rb"[^#\s]*")
#: a label that is written as a whole number
_WHOLE = re.compile(rb"[+-]?[0-9_]+")
#: float64 holds all whole numbers below this one, and not all above
LARGEST_WHOLE = 2**53
_WRONG = {
    loop.NO_COLON: "has no colon; features are NUMBER:VALUE",
    loop.NO_FEATURE: "begins with no whole number; features are NUMBER:VALUE",
    loop.NEGATIVE_FEATURE: "has a negative feature number",
    loop.LARGE_FEATURE: "has a feature number of 2^31 or more; number the features from 1",
    loop.NOT_ASCENDING: "does not follow the feature before it: feature numbers must ascend within a row",
    loop.NO_QUERY: "is not a whole number below 10^17, which a query must be",
}


#: why a label is refused that is written as a whole number of 2^53 or more
_MERGED = (
    "as a label is a whole number of 2^53 or more, which floats do not tell apart: number the classes from 0, or write "
    "numbers to be predicted with a point or an exponent"
)
#: the beginning of a row that has a query
_QUERY = re.compile(rb"\s*[^#\s]+\s+qid:")


class RowBlock(NamedTuple):
    """Some rows of a file, in compressed sparse rows."""

    labels: Floats
    #: where each row ends in ``indices`` and ``data``
    ends: NDArray[np.int64]
    #: numbered as in the file
    indices: NDArray[np.int32]
    data: Floats
    #: of the rows that have one, if they were asked for
    queries: NDArray[np.int64]
    #: the rows that have one, asked for or not
    with_query: int
    #: the smallest feature number, if there is any
    least: int
    #: lines of the file, with those that are no rows, and their bytes
    lines: int
    size: int


def row_blocks(
    path: Path, queries: bool = False, *, finite: bool = False, distinct: bool = False
) -> Iterator[RowBlock]:
    """The rows of a svmlight file, plain or compressed, block by block.

    The arrays of a block are used again for the next one, and a block of comments has no rows.  NaN and infinity are
    refused if all numbers must be ``finite``, and labels that are written as whole numbers of 2^53 or more if labels
    must stay ``distinct``.
    """
    line, workspace = 1, _Workspace()
    with opened(path, "rb") as stream:
        for text in _whole_lines(stream):
            if line == 1 and text[: len(BOM_UTF8)].tobytes() == BOM_UTF8:
                text = text[len(BOM_UTF8) :]
            block, wrong = workspace.parse(text, queries)
            if wrong is None and distinct:
                wrong = _merged_label(text, block)
            if wrong is None and finite:
                wrong = _infinite(text, block)
            if wrong is not None:
                where = _where(text.tobytes(), line, *wrong)
                raise FenchelError(f"{path}: can't be read as a svmlight file: {where}")
            line += block.lines
            yield block


class SvmlightFile(NamedTuple):
    """What a svmlight file holds."""

    X: sp.csr_matrix
    y: Floats
    #: whether features are numbered from 0
    zero_based: bool
    #: the query of each row; None if they were not asked for, or the file has none
    qid: NDArray[np.int64] | None
    #: with those that are no rows
    lines: int


def read_svmlight(
    path: Path, zero_based: bool | None = None, queries: bool = False, *, finite: bool = False, distinct: bool = False
) -> SvmlightFile:
    """All rows of a svmlight file; features are numbered from 1, unless there is a 0 or ``zero_based`` says so."""
    labels, data, qid = Growing(np.float64), Growing(np.float64), Growing(np.int64)
    indices, indptr = Growing(np.int32), Growing(np.int64)
    least, with_query, lines = 1, 0, 0
    indptr.extend(np.zeros(1, dtype=np.int64))
    for block in row_blocks(path, queries, finite=finite, distinct=distinct):
        if not lines:
            # as if all of the file were like its beginning; a compressed file has more blocks than its size says
            more = _MARGIN * path.stat().st_size / block.size
            for growing, count in ((indptr, 1 + len(block.ends)), (labels, len(block.ends)), (data, len(block.data))):
                growing.reserve(int(more * count))
            indices.reserve(int(more * len(block.data)))
        indptr.extend(block.ends + data.size)
        labels.extend(block.labels)
        data.extend(block.data)
        indices.extend(block.indices)
        qid.extend(block.queries)
        least, with_query, lines = min(least, block.least), with_query + block.with_query, lines + block.lines
    y = labels.array()
    check_rows(path, len(y), with_query if queries else 0)
    zero_based = numbering(path, least, zero_based)
    columns = indices.array()
    features = max(1, int(columns.max(initial=-1)) + zero_based)
    columns -= not zero_based
    X = sp.csr_matrix((data.array(), columns, indptr.array()), shape=(len(y), features))
    return SvmlightFile(X, y, zero_based, qid.array() if queries and with_query else None, lines)


def are_whole(numbers: Array) -> bool:
    """Whether all numbers are integers that floats and 64 bits hold exactly."""
    return bool(np.all(np.abs(numbers) < LARGEST_WHOLE) and np.all(numbers == np.floor(numbers)))


def check_rows(path: Path, rows: int, with_query: int) -> None:
    """Raise for a file without rows, and for one in which some rows have a query and others none."""
    if not rows:
        raise NoRowsError(path)
    if with_query not in (0, rows):
        raise FenchelError(f"{path}: has qid: in {with_query} of {rows} rows; give every row its query")


def numbering(path: Path, least: int, zero_based: bool | None) -> bool:
    """Whether features are numbered from 0: if there is a 0, unless a model says how its data were numbered."""
    if zero_based is None:
        return least == 0
    if least == 0 and not zero_based:
        raise FenchelError(f"{path}: has a feature 0, but the model was trained on features numbered from 1")
    return zero_based


def _whole_lines(stream: IO[bytes]) -> Iterator[NDArray[np.uint8]]:
    """Blocks of whole lines, each with its end; the memory of a block, which ``WORD`` bytes follow, is used again."""
    memory, filled = bytearray(_BLOCK_BYTES * 5 // 4 + 1 + WORD), 0
    while True:
        if filled + _BLOCK_BYTES + 1 + WORD > len(memory):
            memory = memory[:filled] + bytearray(filled + _BLOCK_BYTES * 5 // 4 + 1 + WORD)
        view = memoryview(memory)
        count = stream.readinto(view[filled : filled + _BLOCK_BYTES])  # type: ignore[attr-defined]
        if not count:
            break
        end = memory.rfind(b"\n", filled, filled + count) + 1
        filled += count
        if end:
            yield _read_only(memory, end)
            rest = filled - end
            view[:rest], filled = bytes(view[end:filled]), rest
    if filled:
        memory[filled : filled + 1] = b"\n"
        yield _read_only(memory, filled + 1)


def _read_only(memory: bytearray, size: int) -> NDArray[np.uint8]:
    found = np.frombuffer(memory, dtype=np.uint8, count=size)
    found.setflags(write=False)
    return found


class _Workspace:
    """The arrays that a block is parsed into."""

    def __init__(self) -> None:
        self._size = 0

    def parse(self, text: NDArray[np.uint8], wanted: bool) -> tuple[RowBlock, tuple[int, int, str] | None]:
        """The rows of whole lines, and what is wrong with them: the first and the last place, and why."""
        self._reserve(len(text))
        fives, tens = powers_of_five(), powers_of_ten()
        arrays = (self._labels, self._ends, self._queries, self._indices, self._data, self._hard)
        lines, rows, asked, hards, least, code, place = loop.parse_rows(text, wanted, fives, tens, *arrays)
        nothing = self._block(0, 0, 0, least, lines, len(text))
        for begin, end, entry in self._hard[:hards].tolist():
            try:
                value = float(text[begin:end].tobytes())
            except ValueError:
                what = "the label" if entry < 0 else "the value"
                return nothing, (begin, end, f"as {what} is not a number")
            if entry < 0:
                self._labels[-1 - entry] = value
            else:
                self._data[entry] = value
        if code != loop.NOTHING_WRONG:
            return nothing, (place, _field_end(text.tobytes(), place), _WRONG[code])
        return self._block(rows, asked, asked if wanted else 0, least, lines, len(text)), None

    def _block(self, rows: int, asked: int, read: int, *counts: int) -> RowBlock:
        entries = int(self._ends[rows - 1]) if rows else 0
        found = self._labels[:rows], self._ends[:rows], self._indices[:entries], self._data[:entries]
        return RowBlock(*found, self._queries[:read], asked, *counts)

    def _reserve(self, size: int) -> None:
        if size > self._size:
            # lines that were begun in the block before
            size = max(size, _BLOCK_BYTES) * 5 // 4
            numbers = size // loop.BYTES_PER_NUMBER + 1
            self._labels, self._data = np.empty(numbers), np.empty(numbers)
            self._ends, self._queries = np.empty(numbers, dtype=np.int64), np.empty(numbers, dtype=np.int64)
            self._indices = np.empty(numbers, dtype=np.int32)
            self._hard = np.empty((numbers, 3), dtype=np.int64)
            self._size = size


def _fields(text: bytes) -> Iterator[list[tuple[int, int]]]:
    """The places of the fields of each row of whole lines; only errors are looked for in this way."""
    begin = 0
    for line in text.split(b"\n"):
        comment = line.find(b"#")
        row = line if comment < 0 else line[:comment]
        found = [(begin + field.start(), begin + field.end()) for field in re.finditer(rb"\S+", row)]
        if found:
            yield found
        begin += len(line) + 1


def _merged_label(text: NDArray[np.uint8], block: RowBlock) -> tuple[int, int, str] | None:
    """The first label that is written as a whole number and may be another one as a float."""
    large = np.abs(block.labels) >= LARGEST_WHOLE
    if not np.any(large):
        return None
    content = text.tobytes()
    for suspect, ((begin, end), *_) in zip(large.tolist(), _fields(content), strict=True):
        if suspect and _WHOLE.fullmatch(content, begin, end):
            return begin, end, _MERGED
    return None


def _infinite(text: NDArray[np.uint8], block: RowBlock) -> tuple[int, int, str] | None:
    """The first number that is NaN or infinite."""
    if np.all(np.isfinite(block.labels)) and np.all(np.isfinite(block.data)):
        return None
    content = text.tobytes()
    for row in _fields(content):
        for begin, end in row:
            field = content[begin:end]
            if not field.startswith(b"qid:") and not math.isfinite(float(field[field.find(b":") + 1 :])):
                return begin, end, "is NaN or infinite: impute such values or remove their rows"
    raise AssertionError("a number that is not finite is in no field")


def line_of_first_query(path: Path) -> int:
    """The line, from 1, of the first row that has a query."""
    with opened(path, "rb") as stream:
        return next(number for number, line in enumerate(stream, start=1) if _QUERY.match(line))


def _field_end(text: bytes, place: int) -> int:
    found = _FIELD.match(text, place)
    assert found is not None
    return found.end()


def _where(text: bytes, line: int, begin: int, end: int, why: str) -> str:
    """The place of a field as an editor counts, from line 1 and column 1, and what is wrong with it."""
    line += text.count(b"\n", 0, begin)
    start = text.rfind(b"\n", 0, begin) + 1
    column = len(text[start:begin].decode("utf-8", "replace")) + 1
    field = text[begin:end].decode("utf-8", "replace")
    shown = field if len(field) <= _SHOWN else field[:_SHOWN] + "…"
    return f"line {line}, column {column}: {shown!r} {why}"
