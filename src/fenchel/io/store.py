"""Stores: rows, labels, weights and queries in a folder of arrays, to be read through memory maps.

A store is a folder with ``header.json`` and one file of raw numbers for each array: ``labels``, and where the rows have
them ``weights`` and ``queries``; ``values`` of a dense X, or ``data``, ``indices`` and ``indptr`` of compressed sparse
rows.  The header has the type, the length and the CRC-32 of every file, and a CRC-32 of itself.  A store is written
under another name and renamed when it is complete, so that half a store never has its name.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.designs.mapped import MappedArray
from fenchel.errors import FenchelError
from fenchel.io.files import HEADER, check_data
from fenchel.validation import is_number

#: of the layout of the folder; a store of another one is refused
FORMAT = 1
SPARSE, DENSE = ("data", "indices", "indptr"), ("values",)
#: by what a file is read for its checksum
_CHUNK = 1 << 22
#: types that arrays of a store may have
_TYPES = {"<f8", "<f4", "<i4", "<i8"}
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*")


@dataclass(frozen=True, eq=False)
class Store:
    """Data in a store: X, labels, weights and queries, mapped into memory.

    :func:`open_store` opens one, and :func:`convert` and :class:`StoreWriter` write one.  X is a SciPy sparse array or
    a NumPy array over mapped files: estimators, :class:`fenchel.Problem` and :func:`fenchel.certify` take it like any
    other X, without a copy.

    Parameters
    ----------
    X : csr_array or memmap of shape (n, d)
        The rows.
    y : ndarray of shape (n,)
        The labels; whole numbers if they all are.
    sample_weight : ndarray of shape (n,) or None
        The weights of the rows.
    qid : ndarray of shape (n,) or None
        The queries of the rows, for rankings.
    zero_based : bool
        Whether the features were numbered from 0 in a svmlight file.

    See Also
    --------
    open_store : Open a store.
    StoreWriter : Write a store block by block.
    convert : Write a store from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fenchel import LinearClassifier
    >>> from fenchel.io import StoreWriter, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "small.store") as writer:
    ...         writer.append(np.eye(2), [1, -1])
    ...         writer.append(-np.eye(2), [-1, 1])
    ...     store = open_store(Path(folder) / "small.store")
    ...     print(store.X.shape, store.y, LinearClassifier(tol=1e-6).fit(store.X, store.y).converged_)
    (4, 2) [ 1 -1 -1  1] True
    """

    X: Any
    y: Array
    sample_weight: Array | None = None
    qid: Array | None = None
    zero_based: bool = False


def open_store(path: Path | str, memory_limit: float | str | None = None, verify: bool = True) -> Store:
    """Open a store that :func:`convert`, :class:`StoreWriter` or ``fenchel convert`` wrote.

    Parameters
    ----------
    path : path
        The folder of the store.
    memory_limit : float, str or None, default=None
        The bytes that a copy of X may take, as a number or as in ``"500MB"`` or ``"2GB"``.  Methods that need a larger
        one are refused; the others go by row blocks of at most an eighth of it.  None allows any copy.
    verify : bool, default=True
        Whether all files are read and compared with their checksums.  Without it damaged numbers are not found.

    Returns
    -------
    Store
        The data; labels, weights and queries are read into memory, X is not.

    See Also
    --------
    Store : What is returned.
    convert : Write a store from a file.

    Examples
    --------
    >>> from fenchel.io import open_store
    >>> open_store("no.store")
    Traceback (most recent call last):
        ...
    fenchel.errors.FenchelError: no.store: there is no such store
    """
    path, limit = Path(path), _bytes_of(memory_limit)
    header = read_header(path)
    arrays = {name: _mapped(path, name, about, limit) for name, about in header["arrays"].items()}
    if verify:
        for name, about in header["arrays"].items():
            if checksum(path / f"{name}.bin") != about["crc32"]:
                raise FenchelError(f"{path}: {name}.bin is damaged: its checksum differs; convert the data again")
    shape = tuple(header["shape"])
    X = arrays["values"] if "values" in arrays else sp.csr_array(tuple(arrays[name] for name in SPARSE), shape=shape)
    rest = {name: np.array(arrays[name]) for name in ("labels", "weights", "queries") if name in arrays}
    labels = rest["labels"]
    y = labels.astype(np.int64) if header["whole_labels"] else labels
    return Store(X, y, rest.get("weights"), rest.get("queries"), bool(header["zero_based"]))


def is_store(path: Path) -> bool:
    """Whether this is a folder with the header of a store."""
    return (path / HEADER).is_file()


def is_whole_store(path: Path) -> bool:
    """Whether this is a folder with a sound header, the files that it names, and nothing else."""
    try:
        named = {HEADER, *(f"{name}.bin" for name in read_header(path)["arrays"])}
    except FenchelError:
        return False
    return {file.name for file in path.iterdir()} == named


def read_header(path: Path) -> dict[str, Any]:
    """The header of a store, whose files are there and have their lengths."""
    if not path.is_dir():
        raise FenchelError(f"{path}: there is no such store")
    check_data(path)
    try:
        header = json.loads((path / HEADER).read_bytes())
        if not isinstance(header, dict):
            raise ValueError("it is not a table of names")
        crc = header.pop("crc32")
    except (ValueError, KeyError, RecursionError, OSError) as error:
        raise FenchelError(f"{path}: {HEADER} is damaged: {error}") from error
    if crc != zlib.crc32(canonical(header)):
        raise FenchelError(f"{path}: {HEADER} is damaged: its checksum differs")
    if header.get("format") != FORMAT:
        raise FenchelError(f"{path}: has format {header.get('format')}, and this version reads format {FORMAT}")
    for name, about in header["arrays"].items():
        file = path / f"{name}.bin"
        size = file.stat().st_size if file.is_file() else None
        if size != about["bytes"] or about["dtype"] not in _TYPES:
            found = "is missing" if size is None else f"has {size:,} bytes instead of {about['bytes']:,}"
            raise FenchelError(f"{path}: {name}.bin {found}; convert the data again")
    return header


def canonical(header: dict[str, Any]) -> bytes:
    """The bytes whose checksum a header has."""
    return json.dumps(header, sort_keys=True).encode()


def checksum(file: Path) -> int:
    """The CRC-32 of a file."""
    crc = 0
    with file.open("rb") as stream:
        while part := stream.read(_CHUNK):
            crc = zlib.crc32(part, crc)
    return crc


def _mapped(path: Path, name: str, about: dict[str, Any], limit: float) -> Array:
    shape, kind = tuple(about["shape"]), np.dtype(about["dtype"])
    if not math.prod(shape):
        # an empty file can't be mapped
        return np.empty(shape, dtype=kind)
    found: MappedArray = MappedArray(path / f"{name}.bin", dtype=kind, mode="r", shape=shape)
    found.memory_limit = limit
    return found


def _bytes_of(memory_limit: float | str | None) -> float:
    """A number of bytes; infinite for None."""
    if memory_limit is None:
        return math.inf
    found = _SIZE.fullmatch(memory_limit) if isinstance(memory_limit, str) else None
    if found is not None and found[2].upper() in _UNITS and found[1].count(".") <= 1 and found[1] != ".":
        memory_limit = float(found[1]) * _UNITS[found[2].upper()]
    if not is_number(memory_limit) or not float(memory_limit) > 0.0:
        raise FenchelError(
            f"memory_limit must be a positive number of bytes, such as '2GB', or None, got {memory_limit!r}"
        )
    return float(memory_limit)
