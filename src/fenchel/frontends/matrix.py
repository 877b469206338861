"""Data files as sparse matrices, for training and for predictions on large files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.frontends.rows import Row, data_stream, read_rows
from fenchel.io.svmlight import read_svmlight

#: bytes that are read at a time to count comments
_CHUNK = 1 << 20


class Data(NamedTuple):
    """The rows of a file; features are numbered from 0."""

    X: sp.csr_matrix
    y: Floats

    @property
    def features(self) -> int:
        """The largest feature number, 0 without features."""
        return int(self.X.indices.max(initial=-1)) + 1


def read_data(path: str, *, svm_light: bool = False) -> Data:
    """All rows of a file.

    Parameters
    ----------
    path : str
        The file; devices and pipes are copied first, because some files are read twice.
    svm_light : bool, default=False
        The dialect, see ``rows.read_rows``.

    Returns
    -------
    Data
        The rows; ``rows.WrongLineError`` says which line can't be read.
    """
    with _regular(Path(path)) as file:
        try:
            found = read_svmlight(file, zero_based=False, queries=not svm_light)
        except FenchelError:
            found = None
        if found is not None and found.qid is None:
            lines = found.lines - (_comments(file) if svm_light and found.lines > len(found.y) else 0)
            if len(found.y) == lines:
                return Data(found.X, found.y)
        # the compiled reader skips blank lines and comments, reads queries, and knows no other field of SVM-light
        with data_stream(file) as stream:
            return _assembled(list(read_rows(stream, svm_light=svm_light)))


def _assembled(rows: list[Row]) -> Data:
    indptr = np.array([0, *accumulate(len(row.features) for row in rows)], dtype=np.int64)
    indices = np.array([feature - 1 for row in rows for feature in row.features], dtype=np.int32)
    values = np.array([value for row in rows for value in row.values], dtype=np.float64)
    shape = (len(rows), max(1, int(indices.max(initial=0)) + 1))
    return Data(sp.csr_matrix((values, indices, indptr), shape=shape), np.array([row.label for row in rows]))


@contextmanager
def _regular(path: Path) -> Iterator[Path]:
    """The file itself, or a copy of what a pipe or a device holds."""
    if path.is_file() or not path.exists() or path.is_dir():
        yield path
        return
    with tempfile.NamedTemporaryFile() as copy:
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        copy.flush()
        yield Path(copy.name)


def _comments(path: Path) -> int:
    """The number of lines that begin with #."""
    count, last = 0, b"\n"
    with data_stream(path) as stream:
        while chunk := stream.read(_CHUNK):
            count += chunk.count(b"\n#") + (chunk.startswith(b"#") and last.endswith(b"\n"))
            last = chunk
    return count
