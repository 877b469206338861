"""Blocks of rows as workers read them, from partitions or files, and the group that several of them make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.archive_damage import DAMAGES
from fenchel.arrays import Array
from fenchel.dask.shard import Shard
from fenchel.designs import as_design
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError
from fenchel.estimators.texts import check_columns, check_strings
from fenchel.io.files import NoRowsError, bare_name
from fenchel.io.kinds import PARQUET, is_table, kind_of

#: the suffix of NumPy archives
_NPZ = ".npz"
#: what the command line says, and what it is here
_SAID_HERE = {
    "--label:": "y:",
    "train with --impute median, mean or most-frequent, or remove the rows": "impute it, or remove its row",
}


class PartitionError(FenchelError):
    """An error that names its partition or file."""


class Block(NamedTuple):
    """Rows, with their labels and weights where the source has them."""

    X: Any
    y: Any = None
    weights: Any = None
    #: whether the features of a svmlight file are numbered from 0
    zero_based: bool | None = None
    #: of the features of a table or a data frame
    names: tuple[str, ...] | None = None


def block(X: Any, y: Any = None, weights: Any = None) -> Block:
    """Return the block of a partition: an array, a sparse matrix or a data frame, and its labels and weights."""
    labels, own = (None if part is None else np.asarray(part) for part in (y, weights))
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        check_columns(X)
    return Block(matrix_of(X), labels, own, names=names_of(X))


def matrix_of(X: Any) -> Any:
    """Return the rows of a partition as an array or a sparse matrix; missing values of pandas are NaN."""
    # a mask is kept: it is refused with the name of the partition
    if sp.issparse(X) or isinstance(X, np.ma.MaskedArray):
        return X
    rows = np.asarray(X)
    return X.to_numpy(dtype=np.float64, na_value=np.nan) if rows.dtype == object and hasattr(X, "iloc") else rows


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, if they are strings; names of other types are none."""
    columns = tuple(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(name, str) for name in columns) else None


class Columns(NamedTuple):
    """The columns of tables that are not features, by name."""

    label: str | None = None
    weight: str | None = None


NO_COLUMNS = Columns()


def holds_table(name: str) -> bool:
    """Whether a file has columns: .csv, .tsv or .parquet."""
    return is_table(kind_of(Path(name)))


def file_block(path: str, columns: Columns, zero_based: bool | None) -> Block:
    """Read a file."""
    if kind_of(Path(path)) == PARQUET:
        return _parquet(path, columns)
    if bare_name(Path(path)).suffix.lower() == _NPZ:
        return _archive(path)
    # imported here: it loads the compiler
    from fenchel.io.readers import Layout, read

    try:
        table = read(Path(path), Layout(label=columns.label, zero_based=zero_based))
    except NoRowsError:
        # one partition of several may be empty
        return Block(np.zeros((0, 1)), np.zeros(0))
    except FenchelError as error:
        text = str(error)
        for option, here in _SAID_HERE.items():
            text = text.replace(option, here, 1)
        raise FenchelError(text) from error
    names = None if table.names is None else tuple(table.names)
    # trailing features that no row has are missing in svmlight files alone
    by_number = sp.issparse(table.X) and not holds_table(path)
    found = Block(table.X, table.y, table.sample_weight, table.zero_based if by_number else None, names)
    return found if columns.weight is None else _with_weights(found, columns.weight, path)


def _parquet(path: str, columns: Columns) -> Block:
    import pyarrow.parquet as pq

    frame = pq.read_table(path).to_pandas()
    if columns.label not in frame.columns:
        raise FenchelError(f"{path}: has no column {columns.label!r}; pass the name of the column of labels as y")
    features = frame.drop(columns=columns.label)
    check_columns(features)
    found = Block(matrix_of(features), frame[columns.label].to_numpy(), names=tuple(map(str, features.columns)))
    return found if columns.weight is None else _with_weights(found, columns.weight, path)


def _with_weights(found: Block, weight: str, path: str) -> Block:
    """Return the rows of a table without its column of weights, which become those of the rows."""
    names = found.names or ()
    if weight not in names:
        raise FenchelError(
            f"{path}: has no column of numbers {weight!r}; pass the name of the column of weights as sample_weight, or "
            "an array"
        )
    place = names.index(weight)
    kept = np.delete(np.arange(len(names)), place)
    column = found.X[:, [place]]
    weights = np.ravel(column.toarray() if sp.issparse(column) else column)
    return found._replace(X=found.X[:, kept], weights=weights, names=tuple(names[k] for k in kept))


def _archive(path: str) -> Block:
    """An archive with the arrays X and y, or with those of ``scipy.sparse.save_npz`` and y."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive}
    except FileNotFoundError:
        raise
    except DAMAGES as error:
        raise FenchelError(f"{path}: can't be read, it may be damaged or not a NumPy archive: {error}") from error
    if "y" not in held:
        raise FenchelError(f"{path}: holds no array y of labels; write one with np.savez(file, X=X, y=y)")
    if "X" in held:
        return Block(held["X"], held["y"], held.get("sample_weight"))
    missing = {"data", "indices", "indptr", "shape"} - set(held)
    if missing:
        raise FenchelError(f"{path}: holds neither X nor {min(missing)!r} of a sparse matrix in compressed rows")
    if held["shape"].shape != (2,):
        raise FenchelError(f"{path}: its array shape must hold the numbers of rows and of features")
    X = sp.csr_array((held["data"], held["indices"], held["indptr"]), shape=tuple(held["shape"].tolist()))
    return Block(X, held["y"], held.get("sample_weight"))


def shard_of(blocks: Sequence[Block], names: Sequence[str]) -> Shard:
    """Return the group of some blocks, one below the other; blocks without rows are left out."""
    for one, name in zip(blocks, names, strict=True):
        _check(one, name)
    kept = [one for one in blocks if one.X.shape[0]] or list(blocks[:1])
    widths = {one.X.shape[1] for one in kept}
    numbering = frozenset(one.zero_based for one in kept if one.zero_based is not None)
    if len(widths) > 1:
        if any(one.zero_based is None and one.X.shape[1] < max(widths) for one in kept):
            raise FenchelError(f"the blocks have different numbers of features: {sorted(widths)}")
        kept = [one._replace(X=_wider(one.X, max(widths))) for one in kept]
    X = kept[0].X if len(kept) == 1 else _stacked([one.X for one in kept])
    design = as_design(X)
    columns = frozenset(one.names for one in kept if one.names is not None)
    checksums = tuple(as_design(one.X).checksum() for one in kept if one.X.shape[0])
    called = [name for one, name in zip(blocks, names, strict=True) if one.X.shape[0]] or names[:1]
    given = joined([one.y for one in kept], called, "y"), joined([one.weights for one in kept], called, "sample_weight")
    return Shard(design, *given, numbering, columns, checksums)


def shard_of_files(names: Sequence[str], columns: Columns, zero_based: bool | None) -> Shard:
    """Return the group of some files."""
    return shard_of([_named_block(name, columns, zero_based) for name in names], names)


def _named_block(name: str, columns: Columns, zero_based: bool | None) -> Block:
    """Read a file; errors name it, whichever others its group has."""
    try:
        return file_block(name, columns, zero_based)
    except FenchelError as error:
        said = str(error)
        raise PartitionError(said if said.startswith(f"{name}:") else f"{name}: {said}") from error
    except Exception as error:
        raise PartitionError(f"{name} can't be loaded or used: {type(error).__name__}: {error}") from error


def widened(shard: Shard, features: int) -> Shard:
    """Return a group with more features, which none of its rows has."""
    X = _wider(shard.design.sparse(), features)
    return Shard(as_design(X), shard.labels, shard.weights, shard.numbering, shard.names, shard.checksums)


def unchanged(shard: Shard, checksums: tuple[int, ...]) -> Shard:
    """Return a group whose rows are those of the first time that it was read; raise if they are others."""
    if shard.checksums != checksums:
        raise FenchelError("X has changed since the fit began, and a worker that held it died: fit again")
    return shard


def _check(one: Block, name: str) -> None:
    if one.X.ndim != 2:
        raise PartitionError(f"{name}: X must have two dimensions, got {one.X.ndim}")
    try:
        check_strings(one.X)
        check_storage(one.X)
    except FenchelError as error:
        raise PartitionError(f"{name}: {error}") from error
    for what, values in (("y", one.y), ("sample_weight", one.weights)):
        if values is not None and not values.ndim:
            raise PartitionError(f"{name}: {what} must be an array with an entry for each row, got a single value")
        if values is not None and len(values) != one.X.shape[0]:
            raise PartitionError(f"{name}: X has {one.X.shape[0]} rows and {what} {len(values)}; they must agree")


def _wider(X: Any, features: int) -> sp.csr_array:
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], features))


def _stacked(parts: Sequence[Any]) -> Any:
    """Some blocks, one below the other: sparse if one of them is, as different groups may be too."""
    if any(map(sp.issparse, parts)):
        return sp.vstack([sp.csr_array(one) for one in parts], format="csr")
    return np.concatenate(parts)


def joined(parts: Sequence[Array | None], names: Sequence[str], what: str) -> Array | None:
    """Return labels or weights, one part below the other; None if no part has them.

    Raise if some parts have none, which would give the others to wrong rows, or if some are text and others numbers,
    which NumPy would make text.
    """
    known = [one for one in parts if one is not None]
    if not known:
        return None
    for one, name in zip(parts, names, strict=True):
        if one is None:
            raise PartitionError(f"{name}: has no {what}, and other partitions have it; pass it with all or with none")
    texts = [_is_text(one) for one in known]
    if any(texts) and not all(texts):
        text, number = names[texts.index(True)], names[texts.index(False)]
        raise PartitionError(f"{what} holds text in {text} and numbers in {number}: convert it to one type")
    return np.concatenate(known)


def _is_text(values: Array) -> bool:
    return values.dtype.kind in "UST" or (values.dtype.kind == "O" and isinstance(next(iter(values.flat), None), str))
