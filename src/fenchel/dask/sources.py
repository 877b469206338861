"""Data sets as lists of lazy blocks: Dask arrays and data frames, delayed blocks, and files."""

from __future__ import annotations

import glob
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Client

from fenchel.arrays import Array
from fenchel.dask import shard as on_shard
from fenchel.dask.blocks import (
    NO_COLUMNS,
    Columns,
    block,
    holds_table,
    joined,
    names_of,
    shard_of,
    shard_of_files,
    unchanged,
    widened,
)
from fenchel.dask.cluster import DaskGroups, group_count
from fenchel.dask.design import ShardedDesign
from fenchel.errors import FenchelError

_shard_of, _shard_of_files = (dask.delayed(function, pure=False) for function in (shard_of, shard_of_files))
#: what X may be, in errors
KINDS = "a Dask array or data frame, a list of delayed blocks, or the names of files ('data/part-*.svm')"


@dataclass(frozen=True, eq=False)
class Source:
    """Blocks that workers hold or read."""

    names: Sequence[str]
    #: rows or bytes of each block, which balance the groups; ones if unknown
    sizes: Sequence[float]
    #: labels and weights that are on the driver
    y: Any = None
    weights: Any = None

    def group(self, members: Sequence[int]) -> Delayed:
        """The group of some blocks."""
        raise NotImplementedError

    def numbered_from_zero(self) -> Source:
        """The same rows with features that are numbered from 0."""
        return self


@dataclass(frozen=True, eq=False)
class Partitions(Source):
    """Blocks that Dask computes."""

    blocks: Sequence[Delayed] = ()

    def group(self, members: Sequence[int]) -> Delayed:
        return _shard_of([self.blocks[k] for k in members], [self.names[k] for k in members])


@dataclass(frozen=True, eq=False)
class Files(Source):
    """Files that workers read, under the same names."""

    columns: Columns = NO_COLUMNS
    zero_based: bool | None = None

    @classmethod
    def of(cls, names: Sequence[str], label: Any, weights: Any) -> Files:
        """Return some files; ``label`` is a table's column of labels, and ``weights`` may be one of weights."""
        tables = all(map(holds_table, names))
        if label is not None and not (tables and isinstance(label, (str, int))):
            given = repr(label) if isinstance(label, (str, int)) else type(label).__name__
            raise FenchelError(
                "y must be None for files that hold the labels (svmlight, .npz), and the name of the column of labels "
                f"if all files are tables (.csv, .tsv, .parquet), got {given}"
            )
        # workers may have another working folder
        names = [str(Path(name).absolute()) if Path(name).exists() else name for name in names]
        sizes = [float(Path(name).stat().st_size) if Path(name).exists() else 1.0 for name in names]
        own = weights if tables and isinstance(weights, str) else None
        columns = Columns(None if label is None else str(label), own)
        return cls(
            names, sizes, weights=None if own is not None else _values(weights, "sample_weight"), columns=columns
        )

    def group(self, members: Sequence[int]) -> Delayed:
        # one task without dependencies, which the scheduler gives to an idle worker
        return _shard_of_files([self.names[k] for k in members], self.columns, self.zero_based)

    def numbered_from_zero(self) -> Source:
        return replace(self, zero_based=True)


def source_of(X: Any, y: Any, sample_weight: Any) -> Source:
    """Return the blocks of a data set; raise if X is none that workers can read."""
    if isinstance(X, (str, Path)):
        names = sorted(glob.glob(str(X), recursive=True))
        if not names:
            raise FenchelError(f"X={str(X)!r}: there is no such file")
        return Files.of(names, y, sample_weight)
    if isinstance(X, (list, tuple)) and X and all(isinstance(one, (str, Path)) for one in X):
        return Files.of([str(one) for one in X], y, sample_weight)
    blocks, sizes = blocks_of(X, "X")
    columns, kept = [], {}
    for name, argument, values in (("y", "y", y), ("weights", "sample_weight", sample_weight)):
        own = _aligned(_values(values, argument), len(blocks), sizes, argument)
        columns.append([None] * len(blocks) if own is None else own)
        if own is None:
            kept[name] = values
    made = [dask.delayed(block, pure=False)(*parts) for parts in zip(blocks, *columns, strict=True)]
    known = [1.0] * len(blocks) if np.any(np.isnan(sizes)) else sizes
    names = [f"partition {k} of X" for k in range(len(made))]
    return Partitions(names, known, blocks=made, **kept)


def _values(given: Any, name: str) -> Any:
    """Return labels or weights as they are; raise if they are the name of a column and X is not a table in files."""
    if isinstance(given, str):
        raise FenchelError(
            f"{name}={given!r}: the name of a column is for tables in files (.csv, .tsv, .parquet); pass an array, a "
            f"Dask collection such as frame[{given!r}] with as many partitions as X, or .npz files with an array {name}"
        )
    return given


def blocks_of(X: Any, name: str) -> tuple[list[Delayed], list[float]]:
    """Return delayed blocks of rows, and the rows of each (NaN if unknown)."""
    if isinstance(X, da.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel()), [float(size) for size in X.chunks[0]]
    if _is_frame(X):
        return list(X.to_delayed()), [np.nan] * X.npartitions
    if isinstance(X, (list, tuple)) and X and all(isinstance(one, Delayed) for one in X):
        return list(X), [np.nan] * len(X)
    raise FenchelError(
        f"{name} must be {KINDS}, got {type(X).__name__}; for data in memory use the estimator of the same name in "
        "fenchel"
    )


def is_lazy(X: Any) -> bool:
    """Whether X is a collection of Dask, or a list of delayed blocks."""
    listed = isinstance(X, (list, tuple)) and bool(X) and all(isinstance(one, Delayed) for one in X)
    return listed or isinstance(X, da.Array) or _is_frame(X)


def width_of(X: Any) -> int | None:
    """The number of features of lazy rows; None if it is unknown before they are computed."""
    if isinstance(X, da.Array) and X.ndim == 2 and not np.isnan(X.shape[1]):
        return int(X.shape[1])
    return len(X.columns) if _is_frame(X) and X.ndim == 2 else None


def check_names(X: Any, known: Sequence[str] | None) -> None:
    """Raise if the columns of a data frame have other names than the features of a fit, or another order."""
    names = names_of(X)
    if names is not None and known is not None and names != tuple(known):
        raise FenchelError(
            f"X has the features {list(names[:5])}…, and the fit had {list(known[:5])}…: pass them in this order"
        )


def _is_frame(X: Any) -> bool:
    # if X is a data frame, its module has been imported already; importing it takes a second
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(X, (frames.DataFrame, frames.Series))


def _aligned(values: Any, count: int, sizes: Sequence[float], name: str) -> list[Delayed] | None:
    """Return the blocks of labels or weights, as many as X has; None if they are on the driver."""
    if values is None or not is_lazy(values):
        return None
    if isinstance(values, da.Array) and not np.any(np.isnan(sizes)) and not np.any(np.isnan(values.chunks[0])):
        if values.shape[0] != sum(sizes):
            raise FenchelError(f"X has {sum(sizes):.0f} rows and {name} {values.shape[0]}; they must agree")
        values = values.rechunk({0: tuple(int(size) for size in sizes)})
    found, _ = blocks_of(values, name)
    if len(found) != count:
        raise FenchelError(f"X has {count} partitions and {name} {len(found)}; they must agree")
    return found


@dataclass(frozen=True, eq=False)
class Loaded:
    """A data set on the workers, with its labels and weights on the driver."""

    design: ShardedDesign
    y: Array
    weights: Array | None
    features: Sequence[str] | None


def load(client: Client, source: Source) -> Loaded:
    """Read a data set on the workers, in fixed groups of its blocks."""
    groups = _groups(client, source)
    found = groups.map(on_shard.labels)
    numberings = frozenset().union(*(one.numbering for one in found))
    if len(numberings) > 1:
        # some files have a feature 0, so that those without one are numbered from 0 too
        return load(client, source.numbered_from_zero())
    tables = frozenset().union(*(one.names for one in found))
    _check_tables(tables)
    facts = groups.map(on_shard.facts)
    kept = [k for k, one in enumerate(facts) if one.rows]
    if not kept:
        raise FenchelError("X has no rows")
    groups = DaskGroups(client, [groups.futures[k] for k in kept], [groups.names[k] for k in kept])
    found, facts = [found[k] for k in kept], [facts[k] for k in kept]
    for name, one in zip(groups.names, facts, strict=True):
        if not np.isfinite(one.largest_entry):
            raise FenchelError(f"{name}: X holds NaN or infinity: impute them or remove their rows")
    widths = sorted({one.features for one in facts})
    if len(widths) > 1:
        if any(not own.numbering and one.features < widths[-1] for own, one in zip(found, facts, strict=True)):
            raise FenchelError(f"the partitions of X have different numbers of features: {widths}")
        groups.futures = client.map(widened, groups.futures, features=widths[-1], pure=False)
        facts = groups.map(on_shard.facts)
    if not widths[-1]:
        raise FenchelError("X has no features")
    # the groups themselves are then released: these are read again, and compared, when their worker dies
    groups.futures = client.map(unchanged, groups.futures, [one.checksums for one in facts], pure=False)
    y = joined([one.labels for one in found], groups.names, "y")
    weights = joined([one.weights for one in found], groups.names, "sample_weight")
    if weights is not None and source.weights is not None:
        raise FenchelError(
            "sample_weight is given, and the files hold weights too: omit it, or write the files without weights"
        )
    y, weights = (given if own is None else own for own, given in ((y, source.y), (weights, source.weights)))
    if y is None:
        raise FenchelError("y is missing: pass the labels, as an array or in as many partitions as X")
    return Loaded(ShardedDesign(groups, facts), np.asarray(y), weights, next(iter(tables), None))


def _check_tables(names: frozenset[tuple[str, ...]]) -> None:
    """Raise if tables or data frames have other columns, or the same in another order."""
    if len(names) > 1:
        first, second, *_ = sorted(names)
        raise FenchelError(
            f"the tables have different features, {', '.join(first[:5])}, … and {', '.join(second[:5])}, …: write or "
            "pass them with the same columns in the same order"
        )


def _groups(client: Client, source: Source) -> DaskGroups:
    """Groups of adjacent blocks of about the same size.

    The scheduler chooses their workers: tasks with even a preference for a worker are never run again if all workers
    die at once, though others take their places.
    """
    count = min(group_count(client), len(source.names))
    middle = np.cumsum(source.sizes) - 0.5 * np.asarray(source.sizes)
    total = float(np.sum(source.sizes)) or 1.0
    owner = np.minimum((count * middle / total).astype(int), count - 1)
    members = [own for own in (np.flatnonzero(owner == k).tolist() for k in range(count)) if own]
    called = [source.names[own[0]] + (f" to {source.names[own[-1]]}" if len(own) > 1 else "") for own in members]
    return DaskGroups(client, client.compute([source.group(own) for own in members]), called)
