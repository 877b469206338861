"""Writing stores in one pass, from blocks of rows."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp

import fenchel
from fenchel.arrays import Array
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.io.files import HEADER
from fenchel.io.store import DENSE, FORMAT, SPARSE, canonical, checksum
from fenchel.io.store_target import check_target, put_in_place, remove_abandoned, working_folder
from fenchel.io.svmlight import LARGEST_WHOLE, RowBlock, are_whole
from fenchel.replacing import naming

#: of what a store holds beside numbers; indices have 32 bits until the number of entries is known, and pointers 64
_TYPES = {"indices": np.int32, "indptr": np.int64, "queries": np.int64}
#: numbers that are converted at a time
_CHUNK = 1 << 20
#: SciPy gives row pointers and columns one type; more entries need 64 bits
_MOST_SHORT = np.iinfo(np.int32).max


class StoreWriter:
    """Write a store block by block, in bounded memory.

    A context manager: the store has its name when the ``with`` block ends, and nothing is left of it if that raises.
    Until then it is a hidden folder beside it, ``.NAME.<16 hexadecimal digits>.part``, of each writer its own.  A
    process that is killed leaves that folder; the next writer of the same name removes it if nothing was written to it
    for a day.

    Parameters
    ----------
    path : path
        The folder of the store.
    force : bool, default=False
        Whether a store of this name is replaced.  Anything else of this name never is.
    zero_based : bool, default=False
        Whether the features are numbered from 0 in the svmlight file of these rows, for models of such files.

    See Also
    --------
    open_store : Open what was written.
    convert : Write a store from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from fenchel.io import StoreWriter, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "small.store") as writer:
    ...         for label in range(3):
    ...             writer.append(sp.eye_array(2, format="csr"), [label, label], sample_weight=[1.0, 2.0])
    ...     open_store(Path(folder) / "small.store").sample_weight
    array([1., 2., 1., 2., 1., 2.])
    """

    def __init__(self, path: Path | str, force: bool = False, zero_based: bool = False) -> None:
        # a link stays, and the store that it leads to is replaced
        self._path, self._force, self._zero_based = Path(path).resolve(), force, zero_based
        self._given = Path(path)
        check_target(self._given, force)
        self._folder = working_folder(self._path)
        self._entered = self._open = False
        self._files: dict[str, IO[bytes]] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        self._rows = self._entries = self._features = 0
        self._columns: int | None = None
        self._whole_labels = True

    def __enter__(self) -> Self:
        if self._entered:
            raise FenchelError("a StoreWriter writes one store: make another one for another `with` block")
        remove_abandoned(self._path)
        self._folder.mkdir()
        self._entered = self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        try:
            with naming(self._given, self._folder):
                for file in self._files.values():
                    file.close()
                if kind is None:
                    self._complete()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def append(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> None:
        """Append rows with their labels, and with weights and queries if all blocks have them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows: all blocks dense, or all sparse.  float32 stays float32; other numbers become float64.
        y : array-like of shape (n,)
            The labels, which must be numbers.
        sample_weight : array-like of shape (n,), default=None
            The weights of the rows.
        qid : array-like of shape (n,), default=None
            The queries of the rows, whole numbers.
        """
        if not self._open:
            raise FenchelError(
                "append belongs into the `with` block: with StoreWriter(path) as writer: writer.append(X, y)"
            )
        X = X if sp.issparse(X) else np.asanyarray(X)
        if X.dtype.kind not in "biuf":
            raise FenchelError(f"X must hold real numbers, got {X.dtype}; encode or impute the others")
        # checks indices, masks and the number of dimensions
        as_design(X)
        if not X.shape[1]:
            raise FenchelError("X has no columns")
        kind = np.float32 if X.dtype == np.float32 else np.float64
        if self._columns is not None and X.shape[1] != self._columns:
            raise FenchelError(f"X has {X.shape[1]} columns, and the rows before {self._columns}")
        if sp.issparse(X):
            X = sp.csr_array(X, copy=True)
            X.sum_duplicates()
            arrays = {"data": X.data.astype(kind), "indices": X.indices, "indptr": X.indptr[1:]}
        else:
            arrays = {"values": np.asarray(X).astype(kind)}
        if not all(np.all(np.isfinite(arrays[name])) for name in ("data", "values") if name in arrays):
            raise FenchelError("X holds NaN or infinity: impute them or remove their rows")
        others = {"labels": y, "weights": sample_weight, "queries": qid}
        self._write(X.shape[0], {**arrays, **{name: one for name, one in others.items() if one is not None}})
        self._columns = self._features = X.shape[1]

    def append_block(self, block: RowBlock, offset: int) -> None:
        """Append rows of a svmlight file whose features have this number less in the store."""
        # a block's first row begins at 0
        arrays = {"data": block.data, "indices": block.indices - offset, "indptr": block.ends, "labels": block.labels}
        if len(block.queries):
            arrays["queries"] = block.queries
        self._features = max(self._features, int(block.indices.max(initial=-1)) + 1 - offset)
        self._write(len(block.labels), arrays)

    def shift_columns(self) -> None:
        """Add one to all columns so far, which were taken to be numbered from 1: there is a feature 0."""
        if self._entries:
            self._files["indices"].flush()
            columns: Array = np.memmap(self._folder / "indices.bin", dtype="<i4", mode="r+", shape=(self._entries,))
            for begin in range(0, self._entries, _CHUNK):
                columns[begin : begin + _CHUNK] += 1
            self._features += 1
        self._zero_based = True

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, d) of the rows so far."""
        return self._rows, max(1, self._features)

    def _write(self, rows: int, arrays: dict[str, Any]) -> None:
        """Append to the files; the first block decides which there are."""
        # nothing is written unless all arrays are right
        ready = {}
        for name, values in arrays.items():
            found = np.asarray(values)
            if name not in (*SPARSE, *DENSE):
                found = _checked_column(name, found, rows)
            if name == "indptr":
                found = found.astype(np.int64) + self._entries
            kind = np.dtype(_TYPES.get(name, found.dtype)).newbyteorder("<")
            if self._types.get(name, kind) != kind:
                raise FenchelError(f"X has {found.dtype} numbers, and the rows before {self._types[name]}")
            ready[name] = np.ascontiguousarray(found, dtype=kind)
        if self._files and set(ready) != set(self._files):
            differ = ", ".join(sorted(set(ready) ^ set(self._files)))
            raise FenchelError(f"all blocks must have the same arrays; some have {differ} and others not")
        with naming(self._given, self._folder):
            for name, found in ready.items():
                if name not in self._files:
                    self._files[name], self._types[name] = (self._folder / f"{name}.bin").open("wb"), found.dtype
                    if name == "indptr":
                        self._files[name].write(np.zeros(1, dtype=found.dtype).data)
                self._files[name].write(found.data)
        self._whole_labels &= are_whole(ready["labels"])
        self._entries += len(ready.get("data", ()))
        self._rows += rows

    def _complete(self) -> None:
        """Write the header, and give the store its name."""
        if not self._rows:
            raise FenchelError(f"{self._path}: holds no rows")
        shape = self.shape
        if "indptr" in self._files:
            short = self._entries <= _MOST_SHORT
            changed, new = ("indptr", np.dtype("<i4")) if short else ("indices", np.dtype("<i8"))
            _recast(self._folder / f"{changed}.bin", self._types[changed], new)
            self._types[changed] = new
        shapes: dict[str, tuple[int, ...]] = {"values": shape, "indptr": (self._rows + 1,)}
        shapes |= dict.fromkeys(("data", "indices"), (self._entries,))
        about = {}
        for name, kind in self._types.items():
            file = self._folder / f"{name}.bin"
            _sync(file)
            size = file.stat().st_size
            about[name] = {
                "dtype": kind.str,
                "shape": shapes.get(name, (self._rows,)),
                "bytes": size,
                "crc32": checksum(file),
            }
        header = {
            "format": FORMAT,
            "version": fenchel.__version__,
            "shape": shape,
            "arrays": about,
            "zero_based": self._zero_based,
            "whole_labels": self._whole_labels,
        }
        text = json.dumps({**header, "crc32": zlib.crc32(canonical(header))}, indent=1)
        (self._folder / HEADER).write_text(text, encoding="utf-8")
        _sync(self._folder / HEADER)
        put_in_place(self._folder, self._path, self._force)


def _checked_column(name: str, values: Array, rows: int) -> Array:
    """Numbers, one for each row."""
    called = {"labels": "y", "weights": "sample_weight", "queries": "qid"}[name]
    if values.shape != (rows,):
        raise FenchelError(f"{called} must have shape ({rows},) like the rows of X, got {values.shape}")
    if values.dtype.kind not in "biuf":
        raise FenchelError(f"{called} must hold numbers, got {values.dtype}; encode names as whole numbers")
    if name == "queries":
        if values.dtype.kind == "f":
            raise FenchelError("qid must hold whole numbers")
        if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
            raise FenchelError(f"qid must be below 2^63, got {values.max()}")
        return values
    if not np.all(np.isfinite(values)):
        raise FenchelError(f"{called} holds NaN or infinity")
    if name == "weights" and np.any(values < 0):
        raise FenchelError(f"{called} holds negative numbers: use 0 to omit an example")
    if (
        name == "labels"
        and values.dtype.kind in "iu"
        and len(large := values[(values >= LARGEST_WHOLE) | (values <= -LARGEST_WHOLE)])
    ):
        raise FenchelError(
            f"{called} holds {large[0]}: a store holds float64, in which whole numbers of 2^53 or more are not all "
            "distinct; number the classes from 0, or pass floats"
        )
    return values.astype(np.float64)


def _recast(file: Path, kind: np.dtype[Any], other: np.dtype[Any]) -> None:
    """Give the numbers of a file another type, in blocks."""
    part = file.with_suffix(".recast")
    with file.open("rb") as source, part.open("wb") as target:
        while chunk := source.read(_CHUNK * kind.itemsize):
            target.write(np.frombuffer(chunk, dtype=kind).astype(other).data)
    part.replace(file)


def _sync(file: Path) -> None:
    """Have the file on the disk before the store has its name."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
