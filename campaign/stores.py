"""Mutated Parquet files, and mutated tables and svmlight files that are converted to stores in one pass.

A conversion refuses with a FenchelError and leaves nothing behind, or the store has what an independent parser reads.
Parquet files are decoded a second time by pyarrow, as whole columns, and what becomes of the values is plain Python.
"""

import contextlib
import io
import shutil
from datetime import date
from decimal import Decimal
from unittest import mock

import numpy as np

from campaign import parsers
from campaign.comparing import compare_columns, compare_labels, compare_sparse, dense, refused_or_read, written
from campaign.mutations import DefectError, mutated
from fenchel.io import convert, delimited, open_store, parquet, svmlight
from fenchel.io.readers import Layout, read

#: whole numbers from here on are not all floats
MERGED = 2**53
#: fields or numbers, and bytes, of a block: a file of a few rows has several blocks, or one
SHORT, LONG = 4, 1 << 18
#: columns that get another meaning, by number
OPTIONS = ({}, {}, {"label": 0}, {"qid": 0}, {"sample_weight": 1}, {"qid": 0, "sample_weight": 1, "queries": True})
#: values of columns that are made: of one kind each, as Parquet has them
VALUES = (
    (0, 1, 2, -7, 2**53 - 1, 2**53, -(2**63)),
    (0.5, -1.25, 1e300, 1e-310, float("nan"), float("inf"), -0.0),
    (True, False),
    ("a", "b", " a ", "", "NA", "1", "1.5", "\u00e4", "\0", "nan"),
    (Decimal("1.5"), Decimal("2")),
    (date(2020, 1, 1), date(9999, 12, 31)),
    ([1, 2], []),
    (b"\xff", b"a"),
)


def parquet_files():
    """Small Parquet files: numbers, texts, truth values, missing values; several groups of rows and compressions."""
    import pyarrow as pa

    tables = (
        ({"a": [1.5, 3.0, 5.0], "b": [2, -4, 6], "y": [0, 1, 1]}, {"compression": "none"}),
        ({"age": [31, None, 27, 40], "city": ["Rome", "Oslo", "Rome", None], "ok": ["yes", "no", "yes", "no"]}, {}),
        (
            {"q": [1, 1, 2], "w": [0.5, 2.0, 0.0], "x": [True, False, True], "y": [-1.0, 1.0, -1.0]},
            {"row_group_size": 2},
        ),
        (
            {"x": pa.array([0.1, 0.2, 0.3], pa.float32()), "t": pa.array(["u", "v", "u"]).dictionary_encode()},
            {"compression": "gzip", "use_dictionary": False},
        ),
    )
    return [_parquet(columns, **options) for columns, options in tables]


def _parquet(columns, **options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def _drawn(rng, originals):
    """A file with changed bytes, or one with other values."""
    if rng.random() < 0.6:
        return mutated(rng, originals[int(rng.integers(len(originals)))])
    rows, missing = int(min(1, rng.integers(20)) * rng.integers(1, 6)), rng.choice([0.0, 0.0, 0.2])
    columns = {}
    for place in range(int(rng.integers(1, 5))):
        values = VALUES[int(rng.choice(len(VALUES), p=(0.4, 0.26, 0.1, 0.2, *[0.01] * 4)))]
        # small numbers more often, which are weights and queries too
        chosen = [values[int(min(rng.integers(len(values)), rng.integers(len(values))))] for _ in range(rows)]
        columns[f"c{place}"] = [None if rng.random() < missing else value for value in chosen]
    return _parquet(columns, row_group_size=max(1, int(rng.integers(4))))


def _decoded(content):
    """Names and values of the columns of a Parquet file, by pyarrow; ValueError if it refuses."""
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
        return table.column_names, [column.to_pylist() for column in table.columns]
    except Exception as error:
        raise ValueError(f"pyarrow raises {type(error).__name__}: {error}") from error


def parquet_mutant(rng, folder, originals):
    """Read one mutated Parquet file and compare it."""
    content, impute = _drawn(rng, originals), (None, "median", "mean", "most-frequent")[int(rng.integers(4))]
    path = folder / "mutant.parquet"
    path.write_bytes(content)
    with _blocks(rng):
        found = refused_or_read(read, path, Layout(impute=impute))
    if found is None:
        return content, False
    try:
        header, values = _decoded(content)
        features, names = [], []
        for name, one in zip(header[:-1], values[:-1], strict=True):
            made = parsers.features([_plain(value) for value in one], impute)
            features += made.values()
            names += [name + more for more in made]
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    compare_columns(found, features, names)
    compare_labels(found.y, ["" if value is None else str(value) for value in values[-1]])
    return content, True


def _plain(value):
    """A number, a text without blanks around it, or None."""
    if isinstance(value, str):
        return value.strip() or None
    if value is None or value != value:
        return None
    if not isinstance(value, bool | int | float) or abs(value) == float("inf"):
        raise ValueError(f"{value!r} is neither a number nor a text")
    return float(value)


@contextlib.contextmanager
def _blocks(rng):
    """Blocks of a row or two, or of all rows."""
    size = SHORT if rng.random() < 0.7 else LONG
    with (
        mock.patch.object(delimited, "_FIELDS", size),
        mock.patch.object(parquet, "_NUMBERS", size),
        mock.patch.object(svmlight, "_BLOCK_BYTES", 4 * size),
    ):
        yield


def _stored(rng, path, **options):
    """The store of a file, in memory; None if the conversion refuses."""
    target = path.parent / "mutant.store"
    before = set(path.parent.iterdir())
    with _blocks(rng):
        shape = refused_or_read(convert, path, target, **options)
    try:
        if shape is None:
            if left := set(path.parent.iterdir()) - before:
                raise DefectError(f"refused, and left {sorted(one.name for one in left)}")
            return None
        found = open_store(target)
        if found.X.shape != shape:
            raise DefectError(f"the shape is {found.X.shape}, not {shape}")
        return found
    finally:
        shutil.rmtree(target, ignore_errors=True)


def stored_rows_mutant(rng, folder, originals):
    """Convert one mutated svmlight file and compare the store."""
    content = mutated(rng, originals[int(rng.integers(len(originals)))])
    found = _stored(rng, written(rng, folder, "mutant.svm", content))
    if found is None:
        return content, False
    try:
        rows = parsers.svmlight(content)
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    compare_sparse(found, rows)
    return content, True


def stored_table_mutant(rng, folder, originals):
    """Convert one mutated table of numbers and compare the store."""
    content = mutated(rng, originals[int(rng.integers(len(originals)))])
    options = OPTIONS[int(rng.integers(len(OPTIONS)))]
    found = _stored(rng, written(rng, folder, "mutant.csv", content), **options)
    if found is None:
        return content, False
    try:
        rows = parsers.table(content, parsers.delimiter(content))
        if len(rows) == found.X.shape[0] + 1:
            names = [name.strip() for name in rows.pop(0)]
            _check_header(names)
            # a name that is a number comes before the number of a column
            options = {key: names.index(str(one)) if str(one) in names else one for key, one in options.items()}
        values = [[_number(field) for field in fields] for fields in zip(*rows, strict=True)]
        labels = [row[options.get("label", -1)] for row in rows]
        _check_labels([int(text) for text in labels if text.strip().lstrip("+-").isdigit()])
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    _compare_store(found, values, options)
    return content, True


def stored_parquet_mutant(rng, folder, originals):
    """Convert one mutated Parquet file and compare the store."""
    content, options = _drawn(rng, originals), OPTIONS[int(rng.integers(len(OPTIONS)))]
    path = folder / "mutant.parquet"
    path.write_bytes(content)
    found = _stored(rng, path, **options)
    if found is None:
        return content, False
    try:
        _, values = _decoded(content)
        _check_labels([value for value in values[_label(options, len(values))] if type(value) is int])
        values = [[_number(value) for value in one] for one in values]
    except ValueError as error:
        raise DefectError(f"accepted, but {error}") from error
    _compare_store(found, values, options)
    return content, True


def _label(options, width):
    """The column of labels: the last one without another meaning."""
    if "label" in options:
        return options["label"]
    return max(set(range(width)) - {options.get("qid"), options.get("sample_weight")})


def _number(value):
    """A finite number; truth values are numbers."""
    if isinstance(value, str):
        value = parsers.number(value) if value.isascii() else None
    if not isinstance(value, bool | int | float) or not -float("inf") < value < float("inf"):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _check_header(fields):
    """Raise ValueError for a header of numbers, which is a row that was lost."""
    numbers = 0
    for field in fields:
        with contextlib.suppress(ValueError):
            parsers.number(field)
            numbers += 1
    if numbers == len(fields):
        raise ValueError(f"the row {fields} was taken for a header")


def _check_labels(whole):
    if any(abs(number) >= MERGED for number in whole):
        raise ValueError("a label is a whole number of 2^53 or more")


def _compare_store(found, values, options):
    """Compare a store with columns of numbers."""
    label = _label(options, len(values))
    others = {label, options.get("qid"), options.get("sample_weight")}
    X = np.array([column for place, column in enumerate(values) if place not in others]).T
    if found.X.shape != X.shape or not np.array_equal(dense(found.X), X.astype(found.X.dtype)):
        raise DefectError(f"X is {dense(found.X).tolist()}, not {X.tolist()}")
    for name, there, place in (
        ("labels", found.y, label),
        ("queries", found.qid, options.get("qid")),
        ("weights", found.sample_weight, options.get("sample_weight")),
    ):
        expected = None if place is None else values[place]
        if (there is None) != (expected is None) or (there is not None and list(map(float, there)) != expected):
            raise DefectError(f"{name} are {there}, not {expected}")
    queries = [] if found.qid is None else values[options["qid"]]
    if not all(query.is_integer() and abs(query) < MERGED for query in queries):
        raise DefectError(f"queries {queries} are not whole numbers that floats tell apart")
