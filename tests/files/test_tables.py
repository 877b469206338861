"""Tables become the stores of their numbers, in blocks of any size; what a store can't hold is refused."""

import gzip

import numpy as np
import pytest

from fenchel import FenchelError
from fenchel.cli.main import main
from fenchel.io import convert, delimited, open_store, parquet
from fenchel.io.readers import Layout, read

pa = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet files need pyarrow")

RNG = np.random.default_rng(2)
X = RNG.standard_normal((23, 3))
X[4] = [0.1, 1e-310, -123456789.123456789]
Y, QID, WEIGHTS = RNG.integers(0, 3, 23), np.sort(RNG.integers(0, 5, 23)), RNG.random(23)
NAMES = ["a", "query", "b", "weight", "c", "y"]
COLUMNS = [X[:, 0], QID, X[:, 1], WEIGHTS, X[:, 2], Y]


@pytest.fixture(params=[1 << 20, 12], ids=["one block", "small blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(delimited, "_FIELDS", request.param)
    monkeypatch.setattr(parquet, "_NUMBERS", request.param)


def csv_text(header=True):
    rows = [",".join(repr(value.item()) for value in row) for row in zip(*COLUMNS, strict=True)]
    return "\n".join([*([",".join(NAMES)] if header else []), *rows]) + "\n"


def check(path, dtype=np.float64):
    store = open_store(path)
    np.testing.assert_array_equal(store.X, X.astype(dtype))
    assert store.X.dtype == dtype
    np.testing.assert_array_equal(store.y, Y)
    assert store.y.dtype == np.int64
    np.testing.assert_array_equal(store.qid, QID)
    np.testing.assert_array_equal(store.sample_weight, WEIGHTS)


def test_csv_to_the_last_bit(tmp_path, blocks):
    (tmp_path / "a.csv").write_text(csv_text())
    assert convert(tmp_path / "a.csv", tmp_path / "a.store", qid="query", sample_weight="weight") == (23, 3)
    check(tmp_path / "a.store")
    with gzip.open(tmp_path / "b.csv.gz", "wt") as stream:
        stream.write("\n" + csv_text(header=False).replace("\n", "\r\n\r\n"))
    with pytest.raises(FenchelError, match="holds no rows"):
        # its first row is blank
        convert(tmp_path / "b.csv.gz", tmp_path / "b.store")
    with gzip.open(tmp_path / "b.csv.gz", "wt", newline="") as stream:
        stream.write(csv_text(header=False).replace("\n", "\r\n\r\n"))
    convert(tmp_path / "b.csv.gz", tmp_path / "b.store", label=-1, qid=1, sample_weight=3, queries=True)
    check(tmp_path / "b.store")


def test_fields_in_quotes(tmp_path, blocks):
    (tmp_path / "a.csv").write_text('"the\nfirst",y\n"1.5","2"\n2.5,"1"\n')
    convert(tmp_path / "a.csv", tmp_path / "a.store")
    assert open_store(tmp_path / "a.store").X.tolist() == [[1.5], [2.5]]
    assert open_store(tmp_path / "a.store").y.tolist() == [2, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parquet(tmp_path, blocks, dtype):
    columns = [column.astype(dtype) if name in "abc" else column for name, column in zip(NAMES, COLUMNS, strict=True)]
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), tmp_path / "a.parquet", row_group_size=7)
    convert(tmp_path / "a.parquet", tmp_path / "a.store", qid="query", sample_weight="weight", label="y")
    check(tmp_path / "a.store", dtype)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1,2\n3,x\n", {}, "line 2, column 2: 'x' is not a number, and all columns of a store"),
        ("1,2\n3,\n", {}, "line 2, column 2: the value is missing"),
        ("1,2\n3,4,5\n", {}, "line 2 has 3 fields, the first one 2"),
        ("1,nan\n", {}, "line 1, column 2: the value is missing"),
        ("inf,1\n", {}, "line 1, column 1: 'inf' is infinite"),
        ("1,9007199254740993\n", {}, r"label 9007199254740993 .* whole number of 2\^53"),
        ("1,2,0.5\n", {"qid": 2}, "query 0.5 is not a whole number"),
        ("1,2,1e17\n", {"qid": 2}, "not a whole number below"),
        ("a,b\n1,2\n", {"label": "c"}, "--label: .* has no column 'c'; it has the columns a, b"),
        ("1,2\n", {"qid": "5"}, "--qid: .* has no column '5'"),
        ("1,2\n", {"qid": 1, "label": 1}, "name one column twice"),
        ("1\n", {}, "no column besides the labels"),
        ("", {}, "holds no rows"),
        ("a,b\n", {}, "holds no rows"),
        ('1,"2\n', {}, "is not a table|never closed"),
        ('a,y\n1,2\n"3,4\n', {}, r"a\.csv: line 3: unexpected end of data"),
        ("y,a,y\n1,2,0\n", {"label": "y"}, "has 2 columns 'y'; rename them"),
        ("1,2\n", {"label": "²"}, "has no column '²'"),
        ("1,2\n", {"label": "+-1"}, r"has no column '\+-1'"),
        ('1,2\n1,"2\n', {}, "line 2: unexpected end of data"),
        ("1,2\n", {"queries": True}, "queries=True needs the column"),
        ("1,2,3\n", {"queries": False, "qid": 1}, "contradict"),
        ("1,2\n", {"zero_based": True}, "zero_based is for svmlight"),
        ("1,-2,0\n", {"sample_weight": 1}, "sample_weight holds negative numbers"),
        ("1,-2\n", {"sample_weight": 1, "label": 0}, "no column besides"),
    ],
)
def test_what_is_refused_leaves_no_store(tmp_path, text, options, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FenchelError, match=words):
        convert(tmp_path / "a.csv", tmp_path / "a.store", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_header_in_another_encoding_is_refused_by_name(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,é\n1,2\n".encode("latin-1"))
    with pytest.raises(FenchelError, match=r"a\.csv: is not a table in UTF-8"):
        convert(tmp_path / "a.csv", tmp_path / "a.store")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": ["x"], "y": [1]}, "the column a has values of type string"),
        ({"a": [None, 1.0], "y": [1, 2]}, "the column a has missing values"),
        ({"a": [1.0], "y": [2**53 + 1]}, "label 9007199254740993"),
        ({"y": [1]}, "no column besides the labels"),
    ],
)
def test_parquet_that_is_refused(tmp_path, columns, words):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FenchelError, match=words):
        convert(tmp_path / "a.parquet", tmp_path / "a.store")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no parquet")
    with pytest.raises(FenchelError, match="damaged or not a Parquet file"):
        convert(tmp_path / "a.parquet", tmp_path / "a.store")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_svmlight_without_queries_that_are_asked_for(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    with pytest.raises(FenchelError, match="no row has qid:, which queries=True asks for"):
        convert(tmp_path / "a.svm", tmp_path / "a.store", queries=True)
    with pytest.raises(FenchelError, match="are for tables"):
        convert(tmp_path / "a.svm", tmp_path / "a.store", label=0)
    assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(csv_text())
    assert main(["convert", "a.csv", "--qid", "query", "--weights", "weight", "--label", "y"]) == 0
    assert "a.csv: 23 rows, 3 features\nwritten: a.store" in capsys.readouterr().out
    check(tmp_path / "a.store")


def test_a_parquet_file_whose_columns_differ_in_length(tmp_path, monkeypatch):
    """pyarrow ends without an error where a column ends before the others at the end of a batch."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": [0, 1, 1]}), path, row_group_size=2)
    iter_batches = pq.ParquetFile.iter_batches
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda self, **how: list(iter_batches(self, **how))[:1])
    monkeypatch.setattr(parquet, "_NUMBERS", 4)
    for read_it in (lambda: convert(path, tmp_path / "a.store"), lambda: read(path)):
        with pytest.raises(FenchelError, match="is damaged: it has 2 of the 3 rows that it names"):
            read_it()
    assert not (tmp_path / "a.store").exists()


def test_a_parquet_file_whose_columns_have_no_names_in_utf_8(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"abcdefg": [1.0, 2.0], "y": [0, 1]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"abcdefg", b"abc\xffefg"))
    for read_it in (lambda: convert(path, tmp_path / "a.store"), lambda: read(path)):
        with pytest.raises(FenchelError, match="can't be read, it may be damaged"):
            read_it()


@pytest.mark.parametrize("query", [2**53, -(2**53), -(2**63)])
def test_queries_that_floats_merge(tmp_path, query):
    pq.write_table(pa.table({"q": [1, query], "x": [1.0, 2.0], "y": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(FenchelError, match="is not a whole number below 2"):
        convert(tmp_path / "a.parquet", tmp_path / "a.store", qid="q")


def test_texts_of_a_parquet_file_that_are_no_utf_8(tmp_path):
    """pyarrow raised an error of its own, which is no ValueError."""
    texts = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    pq.write_table(pa.table({"a": texts, "y": pa.array([1])}), tmp_path / "d.parquet")
    with pytest.raises(FenchelError, match="the column a has values of type string, no numbers"):
        convert(tmp_path / "d.parquet", tmp_path / "d.store")


def test_columns_of_a_parquet_file_without_values_and_labels_with_a_nul_character(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": pa.array([None, ""], pa.string()), "y": ["a", "b"]}), path)
    for impute in (None, "mean"):
        with pytest.raises(FenchelError, match=r"column 1 \(t\) has no values, only missing ones"):
            read(path, Layout(impute=impute))
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "a\0"]}), path)
    with pytest.raises(FenchelError, match=r"row 2, column 2 \(y\): the label has a NUL character"):
        read(path)
