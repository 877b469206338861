"""The kinds of data files: by their names, by what the user says, and by their first bytes if they have no name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from fenchel.errors import FenchelError
from fenchel.io.files import bare_name, suffix_of

SVMLIGHT, CSV, TSV, PARQUET, CONLL = "svmlight", "csv", "tsv", "parquet", "conll"
KINDS = (SVMLIGHT, CSV, TSV, PARQUET, CONLL)
#: the kind of each suffix; every other file is a svmlight file
_SUFFIXES = {".csv": CSV, ".tsv": TSV, ".tab": TSV, ".parquet": PARQUET, ".pq": PARQUET, ".conll": CONLL}
#: the suffix that makes a name one of a kind
_NAMED = {SVMLIGHT: ".svm", CSV: ".csv", TSV: ".tsv", PARQUET: ".parquet", CONLL: ".conll"}
#: the first bytes of compressed files, their suffix, and what unpacks their beginning
_PACKED: tuple[tuple[bytes, str, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", ".gz", lambda head: zlib.decompressobj(wbits=31).decompress(head)),
    (b"BZh", ".bz2", lambda head: bz2.BZ2Decompressor().decompress(head)),
    (b"\xfd7zXZ\x00", ".xz", lambda head: lzma.LZMADecompressor().decompress(head)),
)
#: what unpacking a whole file raises if it is damaged
_DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
#: the label and the first feature of a row of a svmlight file
_SVMLIGHT_ROW = re.compile(rb"\s*[^\s#:,;]+[ \t]+(qid:|[0-9]+:)")
#: a label alone
_NUMBER = re.compile(rb"[-+]?[0-9]*\.?[0-9]+")
#: bytes of a file that are looked at before what reads it is loaded
_HEAD = 1 << 16


def kind_of(path: Path, asked: str | None = None) -> str:
    """The kind of a file, by what the user says or else by its name."""
    return asked or _SUFFIXES.get(suffix_of(path), SVMLIGHT)


def is_table(kind: str) -> bool:
    """Whether the files of a kind have columns."""
    return kind in (CSV, TSV, PARQUET)


def check_features(path: Path, asked: str | None = None) -> None:
    """Raise if a svmlight file is no text, or has few rows of labels alone: before what reads it is loaded."""
    if path.is_dir() or kind_of(path, asked) != SVMLIGHT or bare_name(path).name != path.name:
        return
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if b"\0" in head.partition(b"\n")[0].partition(b"#")[0]:
        raise FenchelError(f"{path}: holds binary data; a svmlight file has rows LABEL NUMBER:VALUE ...")
    rows = [row for row in (line.partition(b"#")[0].split() for line in head.splitlines()) if row]
    if rows and len(head) < _HEAD and all(len(row) == 1 and _NUMBER.fullmatch(row[0]) for row in rows):
        raise no_features(str(path), len(rows))


def no_features(name: str, rows: int) -> FenchelError:
    """The error of a svmlight file that has labels alone."""
    return FenchelError(
        f"{name}: holds {rows:,} labels and no features: write NUMBER:VALUE after each label, or say what the file is "
        "with --format"
    )


def name_of(head: bytes, asked: str | None) -> str:
    """The end of a name that says what the content with this beginning is, such as ``.csv.gz``."""
    packed, text = "", head
    for magic, suffix, unpack in _PACKED:
        if head.startswith(magic):
            try:
                packed, text = suffix, unpack(head)
            except _DAMAGES as error:
                raise FenchelError(f"standard input: can't be unpacked as {suffix}: {error}") from error
    return _NAMED[asked or _looks_like(text)] + packed


def _looks_like(text: bytes) -> str:
    """The kind of a text: a svmlight file if the first row has features with a number and a colon, else a table."""
    if text.startswith(b"PAR1"):
        return PARQUET
    lines = (line for line in text.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip())
    first = next((line for line in lines if not line.startswith(b"#")), b"")
    if _SVMLIGHT_ROW.match(first):
        return SVMLIGHT
    return CSV if any(mark in first for mark in (b",", b";", b"\t")) else SVMLIGHT
