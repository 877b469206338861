"""Data files of the command line: svmlight (LIBSVM) files and tables with commas, plain or compressed."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError

#: what a compressed file is opened with, by its suffix
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Table(NamedTuple):
    """Rows with their labels."""

    X: Any
    #: None if the file has none
    y: NDArray | None
    #: of the features, if the file has a header
    names: list[str] | None = None
    #: the column of the labels
    label: str | int | None = None


def is_table(path: Path) -> bool:
    """Whether a file has commas between its values, by its name."""
    return (path.with_suffix("") if path.suffix in _OPENERS else path).suffix.lower() == ".csv"


def read(
    path: Path, label: str | None = None, features: int | None = None, names: Sequence[str] | None = None
) -> Table:
    """The rows of a file.

    ``label`` is the name or the number (from 0; negative from the end) of a table's column of labels.  ``features`` and
    ``names`` are those of a model: a table is then read by them, and need not have labels.
    """
    if not path.is_file():
        raise FenchelError(f"{path}: there is no such file")
    try:
        return _read_table(path, label, features, names) if is_table(path) else _read_svmlight(path, label, features)
    except UnicodeDecodeError as error:
        raise FenchelError(f"{path}: is neither a svmlight file nor a table (.csv): {error}") from error


def _open(path: Path, mode: str) -> IO[Any]:
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    return _OPENERS.get(path.suffix, open)(path, mode, **text)


def _read_svmlight(path: Path, label: str | None, features: int | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    if label is not None:
        raise FenchelError("--label is for tables (.csv): a svmlight file begins its rows with the label")
    try:
        with _open(path, "rb") as stream:
            X, y = load_svmlight_file(stream)
    except (ValueError, OSError, EOFError) as error:
        raise FenchelError(f"{path}: can't be read as a svmlight file: {error}") from error
    if not len(y):
        raise FenchelError(f"{path}: holds no rows")
    if features is not None and X.shape[1] < features:
        # trailing features that no row has are not in the file
        X.resize((X.shape[0], features))
    return Table(X, _whole(y))


def _read_table(path: Path, label: str | None, features: int | None, names: Sequence[str] | None) -> Table:
    first = _first_row(path)
    header = None if all(map(_is_number, first)) else [name.strip() for name in first]
    if header is None and names is not None:
        raise FenchelError(f"{path}: needs a header with the features of the model: {', '.join(names[:5])}, …")
    column = _label_column(path, label, first, header, features, names)
    if names is not None and header is not None:
        missing = [name for name in names if name not in header]
        if missing:
            raise FenchelError(f"{path}: lacks the features {', '.join(missing[:5])} of the model")
        columns = [header.index(name) for name in names]
    else:
        columns = [place for place in range(len(first)) if place != column]
    if not columns:
        raise FenchelError(f"{path}: has no column besides the labels")
    X = _load(path, columns, header, np.float64)
    y = None if column is None else _labels(_load(path, [column], header, str)[:, 0])
    found = None if header is None else [header[place] for place in columns]
    kept = column if header is None or column is None else header[column]
    return Table(X, y, found, kept)


def _first_row(path: Path) -> list[str]:
    try:
        with _open(path, "rt") as stream:
            first = next(csv.reader(stream), [])
    except (OSError, EOFError) as error:
        raise FenchelError(f"{path}: can't be read: {error}") from error
    if not first:
        raise FenchelError(f"{path}: holds no rows")
    return first


def _label_column(
    path: Path,
    label: str | None,
    first: list[str],
    header: list[str] | None,
    features: int | None,
    names: Sequence[str] | None,
) -> int | None:
    """The place of the labels; None if a file that is read for a model has none."""
    count = len(first)
    if header is not None and label in header:
        return header.index(str(label))
    try:
        number = None if label is None else int(label)
    except ValueError:
        if names is not None:
            return None
        known = "has no header" if header is None else f"has the columns {', '.join(header[:10])}"
        raise FenchelError(f"--label: {path} has no column {label!r}; it {known}") from None
    if features is not None and names is None and count == features:
        return None
    if number is None:
        return None if names is not None else count - 1
    if not -count <= number < count:
        raise FenchelError(f"--label: {path} has {count} columns, from 0 to {count - 1}; got {number}")
    return number % count


def _load(path: Path, columns: list[int], header: list[str] | None, kind: Any) -> NDArray:
    skipped = 0 if header is None else 1
    with _open(path, "rt") as stream:
        try:
            found = np.loadtxt(
                stream, dtype=kind, delimiter=",", skiprows=skipped, usecols=columns, ndmin=2, quotechar='"',
                comments=None,
            )  # fmt: skip
        except ValueError as error:
            raise FenchelError(f"{path}: {error} Features must be numbers: encode or impute the others") from error
    if not len(found):
        raise FenchelError(f"{path}: holds no rows")
    return found


def _labels(values: NDArray) -> NDArray:
    """Whole numbers, numbers or names, whichever they are."""
    try:
        numbers = values.astype(np.float64)
    except ValueError:
        return np.char.strip(values)
    return _whole(numbers)


def _whole(numbers: NDArray) -> NDArray:
    """As integers if they all are."""
    exact = np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.floor(numbers))
    return numbers.astype(np.int64) if exact else numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
