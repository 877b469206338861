"""CoNLL-2000 chunking as labelled sequences, from the shared data.

Features of a token of CoNLL-2000 are the usual window of words and part-of-speech tags, as in the tutorials of CRF++
and CRFsuite: five words, two pairs of words, five tags, four pairs and three triples of tags, each an indicator.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fenchel.io.template import indicators

ROOT = Path(__file__).resolve().parents[1]
#: offsets of the words, and of the tags, that are joined to one feature
_WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
_TAGS = ((-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))


class Corpus(NamedTuple):
    """Sequences: the features of all tokens, the lengths, and the labels of each sequence."""

    X: Any
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    labels: list[list[str]]
    #: the names of the features of each token
    names: list[list[list[str]]]


def folder() -> Path:
    """The folder with the shared data."""
    return Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))


def conll2000(sentences: int | None = None) -> tuple[Corpus, Corpus]:
    """The training and the test sentences; features that only the test has are ignored."""
    with zipfile.ZipFile(folder() / "conll2000.zip") as archive:
        texts = [archive.read(f"conll2000/{part}.txt").decode() for part in ("train", "test")]
    parts = [[_columns(block) for block in text.split("\n\n") if block.strip()][:sentences] for text in texts]
    index: dict[str, int] = {}
    return _corpus(parts[0], index, grow=True), _corpus(parts[1], index, grow=False)


def _columns(block: str) -> list[list[str]]:
    return [line.split() for line in block.strip().split("\n")]


def _corpus(sentences: list[list[list[str]]], index: dict[str, int], *, grow: bool) -> Corpus:
    names = [list(_features([row[0] for row in one], [row[1] for row in one])) for one in sentences]
    X = indicators((token for one in names for token in one), index, grow=grow)
    return Corpus(X, np.array([len(one) for one in names]), [[row[2] for row in one] for one in sentences], names)


def _features(words: list[str], tags: list[str]) -> Iterator[list[str]]:
    for t in range(len(words)):
        found = []
        for kind, values, windows in (("w", words, _WORDS), ("p", tags, _TAGS)):
            for window in windows:
                if t + window[0] >= 0 and t + window[-1] < len(words):
                    joined = "|".join(values[t + offset] for offset in window)
                    found.append(f"{kind}{window}={joined}")
        yield found
