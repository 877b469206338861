"""Parquet files in blocks of rows: numbers, truth values and texts; pyarrow, of the extra ``parquet``, reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError

#: numbers of a block
_NUMBERS = 1 << 20


def parquet_names(path: Path) -> list[str]:
    """The names of the columns."""
    with _readable(path) as file:
        return list(file.schema_arrow.names)


def parquet_blocks(path: Path) -> Iterator[list[Any]]:
    """The columns of some rows at a time, as pyarrow has them."""
    with _readable(path) as file:
        rows, all_rows = 0, file.metadata.num_rows
        for batch in file.iter_batches(batch_size=max(1, _NUMBERS // len(file.schema_arrow.names))):
            rows += batch.num_rows
            if batch.num_rows:
                yield list(batch.columns)
    if rows != all_rows:
        # pyarrow ends without an error where a column ends before the others at the end of a batch
        raise FenchelError(f"{path}: is damaged: it has {rows} of the {all_rows} rows that it names")


def as_texts(values: Any) -> list[str | None] | None:
    """A column of texts, with None where one is missing; None if it is another column."""
    import pyarrow as pa

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return [None if text is None or not text.strip() else text.strip() for text in values.to_pylist()]


def as_numbers(path: Path, name: str, values: Any) -> Array:
    """A column of numbers or truth values as it is stored; floats with NaN if some are missing."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    try:
        found = np.asarray(values.to_numpy(zero_copy_only=False))
    except pa.ArrowException:
        # of texts that are no UTF-8
        found = None
    if found is None or found.dtype.kind not in "biuf":
        raise FenchelError(f"{path}: the column {name} has values of type {kind}, no numbers: encode or omit it")
    return found


def number_texts(values: Any) -> list[str | None]:
    """A column of numbers or truth values (1 and 0) as texts, with None where one is missing."""
    found = values.to_pylist()
    return [None if one is None or one != one else str(int(one) if isinstance(one, bool) else one) for one in found]


@contextmanager
def _readable(path: Path) -> Iterator[Any]:
    """The file; damage that reading it finds is an error that names the file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FenchelError(f"{path}: Parquet files need pyarrow: pip install 'fenchel[parquet]'") from error
    try:
        with pq.ParquetFile(path) as file:
            yield file
    # names of columns are decoded when they are used
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FenchelError(f"{path}: can't be read, it may be damaged or not a Parquet file: {error}") from error
