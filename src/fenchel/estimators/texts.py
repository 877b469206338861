"""Data that hold texts where rows of numbers are needed, named before scikit-learn converts them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.errors import FenchelError

#: how pandas and polars write types of numbers, such as Int64, boolean, Sparse[float64, 0] and double[pyarrow]
_NUMBERS = re.compile(r"(sparse\[)?(u?int|float|double|decimal|bool)", re.IGNORECASE)
#: columns that a message names
_NAMED_COLUMNS = 5


def check_no_texts(X: Any, estimator: str) -> None:
    """Raise for texts, and for columns of a data frame that hold texts or dates; say how they become numbers."""
    if isinstance(X, (str, Path)):
        raise FenchelError(
            f"X must be a matrix, got the string {str(X)[:40]!r}. Read a file first, as with pandas.read_csv, or run "
            "`fenchel train FILE` in a shell"
        )
    if type(X) is dict:
        raise FenchelError("X must be a matrix, got a dict. Make a data frame of it, as with pandas.DataFrame(X)")
    if type(X).__name__ == "LazyFrame":
        raise FenchelError("X must be a matrix, got a LazyFrame. Pass X.collect()")
    if not isinstance(X, np.ndarray) and hasattr(X, "columns") and hasattr(X, "dtypes"):
        check_columns(X)
    elif isinstance(X, (list, tuple, np.ndarray)) or type(X).__name__ == "Series":
        _check_rows(X, estimator)


def check_columns(frame: Any) -> None:
    """Raise for columns of a data frame that hold texts or dates."""
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    found = [name for name, kind in kinds if not _NUMBERS.match(str(kind)) and _holds_words(frame[name])]
    if found:
        more = ", ..." if len(found) > _NAMED_COLUMNS else ""
        names = ", ".join(map(repr, found[:_NAMED_COLUMNS])) + more
        raise FenchelError(
            f"X must hold numbers, but these columns hold texts or dates: {names}. Encode them first, as with "
            f"make_column_transformer((OneHotEncoder(), [{names}]), remainder='passthrough') in a pipeline"
        )


def _holds_words(column: Any) -> bool:
    values = np.asarray(column)
    return values.dtype.kind in "USmM" or (values.dtype.kind == "O" and any(_is_word(one) for one in values.flat))


def _is_word(value: Any) -> bool:
    """Whether this is a string that is not a number, which scikit-learn would convert."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _check_rows(X: Any, estimator: str) -> None:
    first = next(iter(X), None) if np.ndim(X[:1] if isinstance(X, (list, tuple)) else X) else None
    if isinstance(first, str):
        raise FenchelError(
            f"X must have rows of numbers, but holds strings such as {str(first)[:40]!r}. Put a vectorizer before "
            f"{estimator}, as in make_pipeline(TfidfVectorizer(), {estimator}()), or pass "
            "features=HashedTextFeatures() where an estimator has that parameter"
        )
    if isinstance(first, Mapping):
        raise FenchelError(
            f"X must have rows of numbers, but holds dicts. Put a vectorizer before {estimator}, as in "
            f"make_pipeline(DictVectorizer(), {estimator}())"
        )
    if isinstance(X, np.ndarray):
        check_strings(X)


def check_strings(X: Any) -> None:
    """Raise for an array whose type is that of strings."""
    if X.dtype.kind in "US" and X.size:
        raise FenchelError(
            f"X must hold numbers, but holds strings such as {str(X.flat[0])[:40]!r}. Convert numbers with "
            "X.astype(float), and encode categories, as with OneHotEncoder() in a pipeline"
        )
