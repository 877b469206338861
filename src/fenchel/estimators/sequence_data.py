"""Sequences as users give them: lists of arrays or of tokens with named features, or a flat matrix with lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError
from fenchel.estimators.adjacent import joined_rows
from fenchel.progress import warn
from fenchel.validation import check_number, has_missing, mixes_words, real_numbers

if TYPE_CHECKING:
    from sklearn.feature_extraction import DictVectorizer

_FORMS = (
    "X must be a list with an array or a sparse matrix of shape (tokens, features) for each sequence, a list of lists "
    "of tokens (dicts or strings of features), or a matrix of all tokens with lengths="
)
_ONE_MATRIX = (
    "with lengths= X must be one matrix of all tokens, of shape (tokens, features); omit lengths for a list of "
    "sequences"
)


class Tokens(NamedTuple):
    """The features of all tokens, one sequence after the other, and the lengths of the sequences."""

    X: Any
    lengths: NDArray[np.int64]
    #: of features with names; None if the features are numbers
    vectorizer: DictVectorizer | None = None


def tokens_of(X: Any, lengths: Any, known: DictVectorizer | None, features: int | None = None) -> Tokens:
    """The tokens of any form of X.  ``known`` and ``features`` are those of a fitted estimator, to which X must fit."""
    if lengths is not None:
        found = _flat(X, _checked_lengths(lengths), known, features is None)
    else:
        found = _listed(X, known, features is None)
    _check_numbers(found.X)
    if features is not None and found.X.shape[1] != features:
        raise FenchelError(f"X has {found.X.shape[1]} features, but this model was fitted with {features}")
    if sum(found.lengths) != found.X.shape[0]:
        raise FenchelError(f"lengths add up to {sum(found.lengths)} tokens but X has {found.X.shape[0]} rows")
    return found


def _checked_lengths(lengths: Any) -> NDArray[np.int64]:
    found = np.asarray(lengths)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu" or np.any(found < 1):
        raise FenchelError("lengths must be a list of the number of tokens of each sequence, integers of at least 1")
    return found.astype(np.int64)


def _flat(X: Any, lengths: NDArray[np.int64], known: DictVectorizer | None, fitting: bool) -> Tokens:
    if isinstance(X, Sequence) and len(X) and _is_named(X[0]):
        return _vectorized([_bag(token, k) for k, token in enumerate(X)], lengths, known, fitting)
    _warn_of_names(known)
    check_storage(X)
    try:
        # other sparse formats have no array of all values
        matrix = np.asarray(X) if not sp.issparse(X) else X if X.format in ("csr", "csc") else X.tocsr()
    except ValueError as error:
        raise FenchelError(f"{_ONE_MATRIX}; got rows of different shapes") from error
    if matrix.ndim != 2:
        raise FenchelError(f"{_ONE_MATRIX}; got shape {matrix.shape}")
    return Tokens(matrix, lengths, known)


def _listed(X: Any, known: DictVectorizer | None, fitting: bool) -> Tokens:
    if (
        sp.issparse(X)
        or hasattr(X, "columns")
        or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biufc")
    ):
        raise FenchelError(
            f"X is one matrix of shape {X.shape}: pass lengths=, the number of tokens of each sequence, or a list with "
            "one matrix for each sequence"
        )
    if isinstance(X, (str, Mapping)) or not hasattr(X, "__len__"):
        raise FenchelError(f"{_FORMS}; got {type(X).__name__}")
    if not len(X):
        raise FenchelError("X holds no sequences; pass at least one")
    parts = list(X)
    for q, part in enumerate(parts):
        if isinstance(part, (str, Mapping)) or not (sp.issparse(part) or hasattr(part, "__len__")):
            raise FenchelError(f"sequence {q} of X is a {type(part).__name__}, not a list of tokens. {_FORMS}")
        if not (part.shape[0] if sp.issparse(part) else len(part)):
            raise FenchelError(f"sequence {q} of X is empty; remove it, and its labels")
    # of an array or a data frame in two dimensions tokens are rows of numbers
    if getattr(parts[0], "ndim", 1) == 1 and _is_named(parts[0][0]):
        lengths = np.array([len(part) for part in parts])
        bags = [_bag(token, q) for q, part in enumerate(parts) for token in part]
        return _vectorized(bags, lengths, known, fitting)
    return _stacked(parts, known)


def _stacked(parts: list[Any], known: DictVectorizer | None) -> Tokens:
    """Arrays or sparse matrices below one another: a copy, unless they are adjacent parts of one."""
    _warn_of_names(known)
    for q, part in enumerate(parts):
        check_storage(part, f"sequence {q} of X")
        if not sp.issparse(part):
            try:
                parts[q] = np.asarray(part)
            except ValueError as error:
                raise FenchelError(f"sequence {q} of X has tokens of different numbers of features: {error}") from error
        shape = parts[q].shape
        if len(shape) != 2 or shape[1] != parts[0].shape[1]:
            wanted = f"(tokens, {parts[0].shape[1]})" if len(parts[0].shape) == 2 else "(tokens, features)"
            raise FenchelError(f"sequence {q} of X must have the shape {wanted}, got {shape}. {_FORMS}")
    lengths = np.array([part.shape[0] for part in parts])
    return Tokens(joined_rows(parts), lengths, known)


def _warn_of_names(known: DictVectorizer | None) -> None:
    """Warn in scikit-learn's words that columns are taken for the features of the fit, in their order."""
    if known is not None:
        warn("X does not have valid feature names, but SequenceClassifier was fitted with feature names", UserWarning)


def _is_named(token: Any) -> bool:
    """Whether a token has features with names: a dict, a string, or a list of strings."""
    if isinstance(token, (str, Mapping)):
        return True
    return isinstance(token, (list, tuple, set, frozenset)) and all(isinstance(one, str) for one in token)


def _bag(token: Any, q: int) -> Mapping[str, Any]:
    if isinstance(token, Mapping):
        return token
    if isinstance(token, str):
        return {token: 1.0}
    if not _is_named(token):
        raise FenchelError(f"sequence {q} of X mixes tokens with named features and others: {token!r}")
    return dict.fromkeys(token, 1.0)


def _vectorized(bags: list[Any], lengths: Any, known: DictVectorizer | None, fitting: bool) -> Tokens:
    if known is None and not fitting:
        raise FenchelError("X has named features, but this model was fitted to arrays; pass arrays")
    # here, since it imports half of scikit-learn
    from sklearn.feature_extraction import DictVectorizer

    names = known or DictVectorizer()
    try:
        return Tokens(names.fit_transform(bags) if fitting else names.transform(bags), lengths, names)
    except (TypeError, ValueError, OverflowError) as error:
        raise FenchelError(
            f"X: a dict of features must have strings as keys, and numbers, strings or lists of strings as values: "
            f"{error}"
        ) from error


def _check_numbers(X: Any) -> None:
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind not in "biuf":
        raise FenchelError(f"X must hold real numbers, got values of type {values.dtype}. {_FORMS}")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise FenchelError("X contains NaN or infinity; impute or remove them")


def edge_columns(wanted: Any, tokens: Tokens) -> list[int]:
    """The columns of the edge features: none, all, or those of a list of columns or names."""
    count = int(tokens.X.shape[1])
    if wanted is None:
        return []
    if isinstance(wanted, str) and wanted == "all":
        return list(range(count))
    allowed = "edge_features must be None, 'all' or a list of columns or names of X"
    if isinstance(wanted, str) or not isinstance(wanted, (Sequence, np.ndarray)):
        raise FenchelError(f"{allowed}, got {wanted!r}")
    known = {} if tokens.vectorizer is None else tokens.vectorizer.vocabulary_
    found = []
    for one in wanted:
        column = known.get(one, -1) if isinstance(one, str) else one
        whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if not whole or not 0 <= column < count:
            raise FenchelError(f"{allowed}, got {one!r} in it")
        found.append(int(column))
    if len(set(found)) < len(found):
        raise FenchelError("edge_features has a feature twice; name each once")
    return found


def edges_of(tokens: Tokens, columns: list[int]) -> Any:
    """The edge features of all tokens, as a sparse matrix; None if there are none."""
    return sp.csr_array(tokens.X[:, columns]) if columns else None


def labels_of(y: Any, lengths: NDArray[np.int64], *, flat: bool) -> Array:
    """The labels of all tokens as one array."""
    if flat:
        parts = [y]
        counts = [int(np.sum(lengths))]
    else:
        if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != len(lengths):
            got = len(y) if hasattr(y, "__len__") else type(y).__name__
            raise FenchelError(f"y must be a list with the labels of each of the {len(lengths)} sequences, got {got}")
        parts, counts = list(y), lengths.tolist()
    found = []
    for q, (part, count) in enumerate(zip(parts, counts, strict=True)):
        where = "y" if flat else f"sequence {q} of y"
        if isinstance(part, str) or not hasattr(part, "__len__"):
            raise FenchelError(f"{where} must be a list of labels, got {part!r}")
        if len(part) != count:
            raise FenchelError(f"{where} has {len(part)} labels, but there are {count} tokens in X")
        labels = np.asarray(part)
        if labels.ndim != 1 or labels.dtype.kind not in "biufUSO":
            raise FenchelError(f"{where} must be a list of labels, one for each token, got shape {labels.shape}")
        if has_missing(labels) or (labels.dtype.kind == "f" and not np.all(np.isfinite(labels))):
            raise FenchelError(f"{where} contains NaN, infinity or None; every token needs a label")
        if mixes_words(part, labels):
            raise FenchelError(f"{where} mixes labels that are numbers and words; use one kind")
        found.append(labels)
    if {labels.dtype.kind in "USO" for labels in found} == {True, False}:
        raise FenchelError("y mixes labels that are numbers and words; use one kind")
    return np.concatenate(found)


def classes_of(labels: Array) -> tuple[Array, Array]:
    """The sorted labels, and the number of each token's label."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise FenchelError(f"y mixes labels of different types, which have no order: {error}; use one type") from error


def weights_of(sample_weight: Any, count: int) -> Floats:
    """The weights of the sequences, ones without any."""
    if sample_weight is None:
        return np.ones(count)
    found = real_numbers("sample_weight", sample_weight)
    if found.ndim == 0:
        check_number("sample_weight", float(found), above=0.0)
        return np.full(count, float(found))
    if found.shape != (count,) or not np.all(np.isfinite(found)) or np.any(found < 0) or not np.any(found > 0):
        raise FenchelError(
            f"sample_weight must hold a finite weight >= 0 for each of the {count} sequences, not all zero"
        )
    return found


def split_by(values: Array, lengths: NDArray[np.int64]) -> list[Array]:
    """The values of each sequence."""
    return np.split(values, np.cumsum(lengths)[:-1])
