"""Features of texts: hashed words, as scikit-learn's HashingVectorizer counts them, in five bytes an entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs.computed import ComputedDesign, RowFacts
from fenchel.designs.generated_rows import ScaledRows
from fenchel.designs.rows import read_only
from fenchel.errors import FenchelError
from fenchel.features.base import Features
from fenchel.features.raw_strings import checked_strings
from fenchel.stopping import stop_point
from fenchel.validation import check_bool, check_choice, check_integer, is_integer, real_numbers

#: texts that are hashed at a time: their counts take some megabytes
_TEXTS = 1000
#: all bits of a column
_ALL = 2**64 - 1


@dataclass(frozen=True, eq=False)
class HashedTextFeatures(Features):
    """Hashed words or characters of texts, equal to scikit-learn's HashingVectorizer, with tf-idf in the same pass.

    Texts are hashed once into counts of one byte (more where a text has more than 127 of a word) and columns of four;
    norms and idf are multiplied on the way.

    Parameters
    ----------
    n_features : int, default=2**20
        The number of features.
    analyzer : {"word", "char", "char_wb"}, default="word"
        What is hashed, as in ``HashingVectorizer``; so are the parameters up to ``norm``.
    ngram_range : pair of int, default=(1, 1)
        The smallest and the largest number of words or characters of a feature.
    lowercase : bool, default=True
        Whether texts are made lower case.
    strip_accents : {"ascii", "unicode"}, default=None
        Whether accents are removed.
    stop_words : "english" or sequence of str, default=None
        Words that are left out.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        What a word is.
    binary : bool, default=False
        Whether features are 1 where their count is not zero.
    alternate_sign : bool, default=True
        Whether a hash determines a sign too.
    norm : {"l2", "l1"}, default="l2"
        The norm that rows are divided by; None for none.
    tfidf : bool, default=False
        Whether counts are multiplied by inverse document frequencies, as scikit-learn's ``TfidfTransformer`` learns
        them from the training texts.
    idf : ndarray, default=None
        The inverse document frequencies: what a fit with ``tfidf=True`` learns.

    See Also
    --------
    KmerFeatures : Substrings of byte strings.

    Examples
    --------
    >>> from fenchel import LinearClassifier
    >>> from fenchel.features import HashedTextFeatures
    >>> texts, labels = ["a good film", "good actors", "a bad film", "bad actors"], [1, 1, 0, 0]
    >>> model = LinearClassifier(features=HashedTextFeatures(n_features=2**10, tfidf=True)).fit(texts, labels)
    >>> model.predict(["good", "bad"])
    array([1, 0])
    """

    n_features: int = 2**20
    analyzer: str = "word"
    ngram_range: Sequence[int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | None = None
    stop_words: str | Sequence[str] | None = None
    token_pattern: str = r"(?u)\b\w\w+\b"
    binary: bool = False
    alternate_sign: bool = True
    norm: str | None = "l2"
    tfidf: bool = False
    idf: Array | None = None

    stored: ClassVar[bool] = True

    def design(self, X: Any) -> HashedTextDesign:
        if self.tfidf and self.idf is None:
            raise FenchelError("tfidf=True learns idf from the training texts: fit an estimator, or use learned(X)")
        return self._weighted(self._counted(X))

    def learned(self, X: Any) -> tuple[HashedTextFeatures, HashedTextDesign]:
        counts = self._counted(X)
        found = self
        if self.tfidf:
            # smoothed, as if one more text had every word
            frequencies = np.bincount(counts.indices, minlength=self.n_features)
            found = replace(self, idf=np.log((1.0 + counts.shape[0]) / (1.0 + frequencies)) + 1.0)
        return found, found._weighted(counts)

    def _weighted(self, counts: sp.csr_array) -> HashedTextDesign:
        idf = None if self.idf is None else real_numbers("idf", self.idf)
        if idf is not None and (not self.tfidf or idf.shape != (self.n_features,) or not np.all(idf >= 0.0)):
            raise FenchelError(f"idf must hold {self.n_features} numbers of at least 0, for tfidf=True; omit it")
        return HashedTextDesign(counts, idf, self.norm)

    def _counted(self, X: Any) -> sp.csr_array:
        """The signed counts of all texts in the smallest type that holds them."""
        self._check()
        # its import takes longer than many fits
        from sklearn.feature_extraction.text import HashingVectorizer

        names = ("n_features", "analyzer", "lowercase", "strip_accents", "token_pattern", "binary", "alternate_sign")
        given = {name: getattr(self, name) for name in names}
        words: Any = self.stop_words
        # of a model file it is a list, and scikit-learn takes no other sequence
        words = words if words is None or isinstance(words, str) else list(words)
        vectorizer = HashingVectorizer(norm=None, ngram_range=tuple(self.ngram_range), stop_words=words, **given)
        texts, blocks = checked_strings(X), []
        for begin in range(0, len(texts), _TEXTS):
            stop_point()
            block = vectorizer.transform(texts[begin : begin + _TEXTS])
            block.data = block.data.astype(np.min_scalar_type(-int(np.max(np.abs(block.data), initial=1))))
            blocks.append(block)
        if not blocks:
            return sp.csr_array((0, self.n_features), dtype=np.int8)
        return sp.csr_array(sp.vstack(blocks, format="csr"))

    def _check(self) -> None:
        check_integer("n_features", self.n_features, least=1, most=2**31 - 1)
        for name in ("lowercase", "binary", "alternate_sign", "tfidf"):
            check_bool(name, getattr(self, name))
        check_choice("analyzer", self.analyzer, ("word", "char", "char_wb"))
        if self.norm is not None:
            check_choice("norm", self.norm, ("l2", "l1"))
        if self.strip_accents is not None:
            check_choice("strip_accents", self.strip_accents, ("ascii", "unicode"))
        given: Any = self.ngram_range
        pair = isinstance(given, (Sequence, np.ndarray)) and len(given) == 2 and all(map(is_integer, given))
        if not pair or not 1 <= given[0] <= given[1]:
            raise FenchelError(f"ngram_range must be a pair of integers (shortest, longest) from 1 on, got {given!r}")
        self._check_words()

    def _check_words(self) -> None:
        words: Any = self.stop_words
        if isinstance(words, str):
            check_choice("stop_words", words, ("english",))
        elif words is not None and not (isinstance(words, Iterable) and all(isinstance(word, str) for word in words)):
            raise FenchelError(f"stop_words must be 'english', a list of words or None, got {words!r}")
        if not isinstance(self.token_pattern, str):
            raise FenchelError(f"token_pattern must be a regular expression as a string, got {self.token_pattern!r}")
        try:
            groups = re.compile(self.token_pattern).groups
        except (re.error, RecursionError, OverflowError) as error:
            raise FenchelError(f"token_pattern={self.token_pattern!r} is not a regular expression: {error}") from error
        if groups > 1:
            raise FenchelError(f"token_pattern must have at most one group, got {groups} in {self.token_pattern!r}")


class HashedTextDesign(ComputedDesign):
    """Counts of hashed words times idf and over norms, which ``HashedTextFeatures`` makes."""

    generates_rows: ClassVar[bool] = True

    def __init__(self, counts: sp.csr_array, idf: Floats | None, norm: str | None) -> None:
        self.shape = (int(counts.shape[0]), int(counts.shape[1]))
        self._counts, self._idf, self._norm = counts, idf, norm
        self._scale = np.ones(self.shape[0])
        if norm is not None:
            raw = self._pass()
            sums = RowFacts(raw.sums**2, raw.sums, raw.longest_column)
            self._scale = (raw if norm == "l2" else sums).inverse_norms()
            self.facts = raw.scaled(self._scale)

    def __getitem__(self, rows: Any) -> HashedTextDesign:
        """The design of some of the texts."""
        return HashedTextDesign(self._counts[np.arange(self.shape[0])[rows]], self._idf, self._norm)

    @cached_property
    def entry_counts(self) -> Array:
        return np.diff(self._counts.indptr)

    def block(self, begin: int, end: int) -> sp.csr_array:
        pointers = self._counts.indptr[begin : end + 1]
        low, high = int(pointers[0]), int(pointers[-1])
        values, columns = self._counts.data[low:high].astype(np.float64), self._counts.indices[low:high]
        if self._idf is not None:
            values *= self._idf[columns]
        values *= np.repeat(self._scale[begin:end], np.diff(pointers))
        return sp.csr_array((values, columns, pointers - low), shape=(end - begin, self.shape[1]))

    def rows(self) -> ScaledRows:  # type: ignore[override]
        indices, indptr = (part.view(f"u{part.itemsize}") for part in (self._counts.indices, self._counts.indptr))
        column_scale = np.ones(1) if self._idf is None else self._idf
        mask = np.array([0 if self._idf is None else _ALL], dtype=np.uint64)
        arrays = (self._counts.data, indices, indptr, self._scale, column_scale, mask)
        return ScaledRows(*(read_only(array) for array in arrays))
