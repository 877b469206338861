"""Data files to stores, in one pass."""

from __future__ import annotations

from pathlib import Path

from fenchel.errors import FenchelError
from fenchel.io.files import check_exists
from fenchel.io.kinds import CONLL, is_table, kind_of
from fenchel.io.store_writer import StoreWriter
from fenchel.io.svmlight import check_rows, line_of_first_query, row_blocks
from fenchel.io.tables import Columns, table_blocks


def convert(
    source: Path | str,
    target: Path | str,
    force: bool = False,
    zero_based: bool | None = None,
    queries: bool | None = None,
    *,
    label: str | int | None = None,
    header: bool | None = None,
    qid: str | int | None = None,
    sample_weight: str | int | None = None,
    format: str | None = None,
    delimiter: str | None = None,
) -> tuple[int, int]:
    """Write the rows of a svmlight file or a table to a store, in one pass and bounded memory.

    Parameters
    ----------
    source : path
        A svmlight file or a table with commas, semicolons (.csv) or tabs (.tsv), plain or compressed (.gz, .bz2, .xz),
        or a Parquet file (.parquet), which needs pyarrow, of the extra ``parquet``.  All columns of a table must be
        numbers.
    target : path
        The folder of the store.
    force : bool, default=False
        Whether a store of this name is replaced.  Anything else of this name never is.
    zero_based : bool or None, default=None
        Whether features are numbered from 0; None looks whether there is a 0.
    queries : bool or None, default=None
        Whether ``qid`` is kept, which every row must have then; None keeps it if the first rows have one, or if a
        table's column of queries is given.
    label : str or int, default=None
        The name or the number (from 0) of a table's column of labels; None is the last one that has no other meaning.
    header : bool or None, default=None
        Whether the first row of a text table is a header; None looks.
    qid : str or int, default=None
        The name or the number of a table's column of queries.
    sample_weight : str or int, default=None
        The name or the number of a table's column of weights.
    format : {"svmlight", "csv", "tsv", "parquet"}, default=None
        What the file is; None goes by its name, and other names than those above are svmlight files.
    delimiter : str, default=None
        The character between the fields of a text table; None takes tabs for .tsv, and for others the first one of
        semicolon, comma and tab that the first line has.

    Returns
    -------
    tuple of int
        The shape (n, d) of X.

    See Also
    --------
    open_store : Open the store.
    StoreWriter : Write other data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fenchel.io import convert, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.svm").write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    ...     print(convert(Path(folder) / "a.svm", Path(folder) / "a.store"))
    ...     print(open_store(Path(folder) / "a.store").X.toarray())
    (2, 3)
    [[0.5 0.  2. ]
     [0.  1.  0. ]]
    """
    source = Path(source)
    check_exists(source)
    kind = kind_of(source, format)
    if kind == CONLL:
        raise FenchelError(f"{source}: is a file of labelled sequences (.conll), and only rows are converted")
    columns = Columns(label, qid, sample_weight)
    if is_table(kind):
        if zero_based is not None:
            raise FenchelError(f"{source}: zero_based is for svmlight files: a table has columns; omit it")
        _check_queries_asked(source, columns, queries)
        with StoreWriter(target, force) as writer:
            for rows_of in table_blocks(source, kind, columns, header, delimiter):
                writer.append(rows_of.X, rows_of.y, rows_of.sample_weight, rows_of.qid)
            return writer.shape
    if any(one is not None for one in (*columns, header, delimiter)):
        raise FenchelError(
            f"{source}: label, header, qid, sample_weight and delimiter are for tables (.csv, .tsv, .parquet)"
        )
    looked = queries is None
    if queries is None:
        queries = _first_has_query(source)
    rows = with_query = 0
    with StoreWriter(target, force, zero_based=bool(zero_based)) as writer:
        offset = 1 if zero_based is None else int(not zero_based)
        for block in row_blocks(source, queries, finite=True, distinct=True):
            if not len(block.labels):
                continue
            if block.least < offset:
                if zero_based is not None:
                    raise FenchelError(
                        f"{source}: has a feature 0, and zero_based=False (--no-zero-based) says that features are "
                        "numbered from 1; omit it"
                    )
                writer.shift_columns()
                offset = 0
            rows, with_query = rows + len(block.labels), with_query + block.with_query
            if looked and with_query and not queries:
                raise FenchelError(
                    f"{source}: line {line_of_first_query(source)} has qid:, and the rows before have none; give every "
                    "row its query, or none"
                )
            check_rows(source, rows, with_query if queries else 0)
            writer.append_block(block, offset)
        if queries and not with_query:
            raise FenchelError(f"{source}: no row has qid:, which queries=True asks for; omit it")
        return writer.shape


def _check_queries_asked(source: Path, columns: Columns, queries: bool | None) -> None:
    """Raise if queries are asked for and no column has them, or the reverse."""
    if queries and columns.qid is None:
        raise FenchelError(f"{source}: queries=True needs the column of queries of a table: give qid")
    if queries is False and columns.qid is not None:
        raise FenchelError(f"{source}: queries=False and qid={columns.qid!r} contradict each other; omit one")


def _first_has_query(source: Path) -> bool:
    """Whether the first block of a file that has rows has queries."""
    return next((block.with_query > 0 for block in row_blocks(source) if len(block.labels)), False)
