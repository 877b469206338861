r"""Reuters-21578 as the experiments of Sec. 6.2 want it: the ModApte split, binary words and topics from the raw SGML.

ModApte (the collection's README): documents with TOPICS="YES"; LEWISSPLIT="TRAIN" to learn from and "TEST" to test.
A feature is a word that occurs in the title, dateline or body of a training document, in lower case; nothing is
selected or left out.  A word is a run without spaces, so numbers count, free of the punctuation at its ends: that
gives 48,187 words (the paper has 45000), where runs of letters and digits would give 29,646.  The last feature is 1
in all documents.
"""

from __future__ import annotations

import html
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.data import shared_folder

_DOCUMENT = re.compile(r"<REUTERS(?P<head>[^>]*)>(?P<inside>.*?)</REUTERS>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_TAG = re.compile(r"</?[A-Z]+[^>]*>")
_PUNCTUATION = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum())
_SPLITS = {"TRAIN": "train", "TEST": "test"}


@dataclass(frozen=True)
class Document:
    """One document of the ModApte split."""

    #: "train" or "test"
    split: str
    topics: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True, eq=False)
class Collection:
    """Binary features with the constant one last, and for each topic which documents have it."""

    matrix: sp.csr_array
    test_matrix: sp.csr_array
    #: a column for each topic
    members: np.ndarray
    test_members: np.ndarray
    topics: tuple[str, ...]


def documents(text: str) -> Iterator[Document]:
    """The documents of the ModApte split in SGML text."""
    for found in _DOCUMENT.finditer(text):
        head, inside = dict(_ATTRIBUTE.findall(found["head"])), found["inside"]
        split = _SPLITS.get(head.get("LEWISSPLIT", ""))
        if head.get("TOPICS") != "YES" or split is None:
            continue
        topics, body = _TOPICS.search(inside), _TEXT.search(inside)
        names = frozenset() if topics is None else frozenset(_TOPIC.findall(topics[1]))
        yield Document(split, names, frozenset() if body is None else words_of(body[1]))


def words_of(marked: str) -> frozenset[str]:
    """The words of a marked-up text."""
    plain = html.unescape(_TAG.sub(" ", marked)).lower()
    return frozenset(word for word in (run.strip(_PUNCTUATION) for run in plain.split()) if word)


def assemble(parts: Iterable[Document]) -> Collection:
    """Features are the words of training documents, topics all that occur in either part."""
    kept = list(parts)
    chosen = {split: [document for document in kept if document.split == split] for split in _SPLITS.values()}
    columns = {word: j for j, word in enumerate(sorted(set().union(*(part.words for part in chosen["train"]))))}
    topics = tuple(sorted(set().union(*(part.topics for part in kept))))
    matrices, members = [], []
    for some in chosen.values():
        rows = [[*sorted(columns[word] for word in part.words if word in columns), len(columns)] for part in some]
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        indices = np.fromiter((j for row in rows for j in row), dtype=np.int32, count=int(ends[-1]))
        matrices.append(sp.csr_array((np.ones(len(indices)), indices, ends), shape=(len(rows), len(columns) + 1)))
        members.append(np.array([[topic in part.topics for topic in topics] for part in some], dtype=bool))
    return Collection(matrices[0], matrices[1], members[0], members[1], topics)


def made_up(seed: int = 0, count: int = 900) -> Collection:
    """Documents of four topics, each with words of its own among common ones, for quick runs."""
    rng, parts = np.random.default_rng(seed), []
    for i in range(count):
        topic = f"topic{rng.integers(4)}"
        words = [f"{topic}-{j}" for j in rng.integers(0, 20, 3)] + [f"common-{j}" for j in rng.integers(0, 200, 20)]
        parts.append(Document("test" if i % 3 == 2 else "train", frozenset([topic]), frozenset(words)))
    return assemble(parts)


def load(file: Path | None = None) -> Collection:
    """The whole collection, from its archive in the shared folder."""
    with tarfile.open(file or shared_folder() / "reuters21578.tar.xz") as archive:
        texts = []
        for member in sorted(archive.getmembers(), key=lambda found: found.name):
            if member.name.endswith(".sgm"):
                stream = archive.extractfile(member)
                assert stream is not None
                texts.append(stream.read().decode("latin-1"))
    return assemble(part for text in texts for part in documents(text))
