r"""Templates of features of tokens: which fields of which neighbours make an indicator.

The syntax is that of the unigram templates of CRF++ (T. Kudo, "CRF++: yet another CRF toolkit", 2005), with prefixes
and suffixes added.  Each line is a feature; text outside of macros is copied, so that a line begins with a name of its
own, and parts joined in one line are a conjunction:

==================  =========================================================================
``U00:%x[-1,0]``    the field in column 0 (from 0) of the token before
``U01:%p[0,0,3]``   the first three characters of that of the token itself; words that are
                    shorter have no such feature
``U02:%s[0,0,3]``   the last three characters
``U03:%x[0,0]/%x[1,1]``  the word with column 1 of the next token
``U04:bias``        a feature of every token
``B``               pairs of neighbouring labels
``# ...``           a comment
==================  =========================================================================

Tokens before the first and after the last one of a sequence are ``_B-1``, ``_B-2``, ... and ``_B+1``, ..., as in
CRF++.  A feature is 1 where its text occurs and 0 elsewhere, and has a weight for each label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import FenchelError

_MACRO = re.compile(r"%([a-z])\[([^\]]*)\]")
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}")
#: the numbers of a macro
_ARITY = {"x": 2, "p": 3, "s": 3}
#: neighbours of words, and of other columns, whose fields are features; joined ones are conjunctions
_WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
_TAGS = ((-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
_OTHERS = ((-1,), (0,), (1,))
#: the longest prefix and suffix of a word
_AFFIX = 3


def default_template(fields: int) -> str:
    """The template for tokens with this number of fields: a word, its part-of-speech tag, and any others."""
    lines = ["# words: the token, two before and two after it, and pairs"]
    windows = [(0, window) for window in _WORDS]
    affixes = [f"%{kind}[0,0,{size}]" for kind in "ps" for size in range(1, _AFFIX + 1)]
    texts = ["/".join(f"%x[{offset},{column}]" for offset in window) for column, window in windows] + affixes
    lines += [f"U{place:02}:{text}" for place, text in enumerate(texts)]
    place = len(texts)
    for column in range(1, fields):
        lines.append(f"# column {column}")
        for window in _TAGS if column == 1 else _OTHERS:
            lines.append(f"U{place:02}:" + "/".join(f"%x[{offset},{column}]" for offset in window))
            place += 1
    return "\n".join([*lines, "B"]) + "\n"


class _Macro(NamedTuple):
    """The field of a neighbour, or its beginning or end."""

    kind: str
    offset: int
    column: int
    size: int = 0

    def texts(self, sequence: Sequence[Sequence[str]]) -> list[str | None]:
        """Its text at each token; None where the word is too short."""
        length, found = len(sequence), list[str | None]()
        for place in range(self.offset, self.offset + length):
            if 0 <= place < length:
                word = sequence[place][self.column]
                short = self.kind != "x" and len(word) < self.size
                found.append(None if short else word[self.part()])
            else:
                found.append(f"_B{place}" if place < 0 else f"_B+{place - length + 1}")
        return found

    def part(self) -> slice:
        """The characters of the field."""
        return {"x": slice(None), "p": slice(self.size), "s": slice(-self.size, None)}[self.kind]


class _Line(NamedTuple):
    """A feature: its text with ``%s`` for each macro."""

    form: str
    macros: tuple[_Macro, ...]

    def names(self, texts: list[list[str | None]], length: int) -> list[str | None]:
        """The name of the feature at each token; None where there is none."""
        if not self.macros:
            return [self.form] * length
        return [None if None in own else self.form % own for own in zip(*texts, strict=True)]


@dataclass
class Template:
    """The features of tokens, as a template says.

    ``text`` is the template, and ``fields`` the number of fields of a token without its label.
    """

    text: str
    fields: int
    lines: list[_Line] = field(init=False, repr=False)
    #: whether there is a line B
    pairs: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.lines = []
        for number, line in enumerate(self.text.split("\n"), start=1):
            given = line.strip()
            if not given or given.startswith("#"):
                continue
            if given == "B":
                self.pairs = True
            elif given.startswith("U"):
                self.lines.append(self._parsed(given, number))
            else:
                reason = "features of pairs of labels are not supported: only 'B' alone" if given[0] == "B" else ""
                raise FenchelError(f"line {number} of the template: {reason or 'must begin with U, or be B or # ...'}")
        if not self.lines:
            raise FenchelError("the template has no line that begins with U, which is a feature")

    def _parsed(self, line: str, number: int) -> _Line:
        form = _MACRO.sub("", line)
        if "%" in form:
            raise FenchelError(
                f"line {number} of the template: {line!r} has a % that begins no macro %x[ROW,COLUMN], "
                "%p[ROW,COLUMN,SIZE] or %s[ROW,COLUMN,SIZE]"
            )
        macros = tuple(self._macro(match, number) for match in _MACRO.finditer(line))
        return _Line(_MACRO.sub("%s", line), macros)

    def _macro(self, match: re.Match[str], number: int) -> _Macro:
        kind, texts = match[1], [one.strip() for one in match[2].split(",")]
        if len(texts) != _ARITY.get(kind) or not all(map(_NUMBER.fullmatch, texts)):
            raise FenchelError(
                f"line {number} of the template: {match[0]} is none of %x[ROW,COLUMN], %p[ROW,COLUMN,SIZE] and "
                "%s[ROW,COLUMN,SIZE], all whole numbers"
            )
        found = _Macro(kind, *map(int, texts))
        if not 0 <= found.column < self.fields:
            raise FenchelError(
                f"line {number} of the template: {match[0]} names column {found.column}, but tokens have the columns "
                f"0 to {self.fields - 1} before the label"
            )
        if kind != "x" and found.size < 1:
            raise FenchelError(f"line {number} of the template: the size in {match[0]} must be at least 1")
        return found

    def features(self, tokens: Sequence[Sequence[str]], lengths: Iterable[int]) -> Iterator[list[str]]:
        """The names of the features of each token, each once."""
        begin = 0
        for length in lengths:
            sequence = tokens[begin : begin + length]
            begin += length
            # a macro has the same texts in all lines
            texts = {macro: macro.texts(sequence) for line in self.lines for macro in line.macros}
            named = [line.names([texts[macro] for macro in line.macros], length) for line in self.lines]
            for names in zip(*named, strict=True):
                yield list(dict.fromkeys(name for name in names if name is not None))


def indicators(features: Iterable[list[str]], index: dict[str, int], *, grow: bool) -> sp.csr_matrix:
    """The indicators of the features of each token; ``grow`` adds new ones to the index, else they are ignored."""
    indices: list[int] = []
    indptr = [0]
    for names in features:
        if grow:
            indices += [index.setdefault(name, len(index)) for name in names]
        else:
            indices += [index[name] for name in names if name in index]
        indptr.append(len(indices))
    wide = np.int64 if len(indices) > np.iinfo(np.int32).max else np.int32
    parts = np.ones(len(indices)), np.array(indices, dtype=wide), np.array(indptr, dtype=wide)
    found = sp.csr_matrix(parts, shape=(len(indptr) - 1, len(index)))
    found.sort_indices()
    return found
