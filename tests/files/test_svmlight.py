"""The svmlight reader is exact, reads what an independent parser reads, block by block, and names what it refuses."""

import gzip
import lzma
import math
import struct
import tracemalloc
from codecs import BOM_UTF8

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from campaign import parsers
from campaign.files import SVMLIGHT
from campaign.mutations import mutated
from fenchel import FenchelError
from fenchel.compile.primitives.decimals import powers_of_five
from fenchel.frontends.rows import read_rows
from fenchel.io import svmlight
from fenchel.io.svmlight import read_svmlight, row_blocks

ODD_NUMBERS = [
    *("0", "-0", "+0.0", "1", "+1", "-1.", ".5", "-.5e1", "1E5", "1e+05", "00012", "0.000", "1_000.5", "12_3e1_0"),
    *("nan", "-NaN", "inf", "-Infinity", "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e309"),
    # the least normal, subnormal and half of it; Java's and PHP's endless loop
    *("2.2250738585072014e-308", "2.2250738585072011e-308", "5e-324", "2.4703282292062327e-324", "2.5e-324", "1e-400"),
    # halfway between two doubles, and beside it
    *("9007199254740993", "9007199254740992.999", "9007199254740993.00000000000000000000001", "9007199254740995"),
    *("1.00000000000000011102230246251565404", "1.000000000000000111", "0.1", "123456789012345678", "1" * 40),
    *("1e22", "1e23", "9007199254740991e22", "9007199254740993e-22", "1e10000", "0e99999999999999999999", "1e-99999"),
    *(
        "89255.0e-22",
        "104308485241983990666713401708072175773165034278682e-1",
        "3.1415926535897932384626433832795028842",
    ),
]


def bits(values):
    return [struct.pack("<d", value) if value == value else "nan" for value in values]


def written(folder, content, name="a.svm"):
    (folder / name).write_bytes(content)
    return folder / name


def numbers_of(texts, folder):
    """What the reader makes of numbers in text, as values and as labels."""
    found = read_svmlight(written(folder, "".join(f"{text} 1:{text}\n" for text in texts).encode()))
    assert bits(found.y) == bits(found.X.data)
    return found.y.tolist()


def random_numbers(rng, count):
    """Shortest texts of random doubles, decimal numbers with few and many digits, and neighbours of halfway points."""
    doubles = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    yield from (repr(value) for value in doubles.tolist())
    yield from (f"{value:.{rng.integers(1, 19)}g}" for value in rng.standard_normal(count).tolist())
    for _ in range(count):
        digits = "".join(rng.choice(list("0123456789"), rng.integers(1, 21)))
        point = int(rng.integers(len(digits) + 1))
        exponent = "" if rng.random() < 0.5 else f"e{rng.integers(-330, 310)}"
        yield f"{digits[:point]}.{digits[point:]}{exponent}"
    for value in rng.integers(2**53, 2**57, count).tolist():
        # 54 to 57 bits: ties of whole numbers
        yield str(value)
        yield f"{value}e{rng.integers(-30, 30)}"


def test_odd_numbers_are_read_as_python_reads_them(tmp_path):
    assert bits(numbers_of(ODD_NUMBERS, tmp_path)) == bits(map(float, ODD_NUMBERS))


def test_numbers_are_exact_to_the_last_bit(tmp_path, portion):
    texts = list(random_numbers(np.random.default_rng(0), portion(20_000)))
    assert bits(numbers_of(texts, tmp_path)) == bits(map(float, texts))


def test_plain_loops_are_exact_too(tmp_path, plain_loops):
    texts = [*ODD_NUMBERS, *random_numbers(np.random.default_rng(1), 30)]
    assert bits(numbers_of(texts, tmp_path)) == bits(map(float, texts))


def test_most_numbers_of_17_digits_are_decided_without_python(tmp_path, monkeypatch):
    """Those that ``float`` reads take a hundred times as long."""
    asked = []
    monkeypatch.setattr(svmlight, "float", lambda text: asked.append(text) or float(text), raising=False)
    numbers_of([repr(value) for value in np.random.default_rng(2).standard_normal(5000).tolist()], tmp_path)
    assert len(asked) <= 10


def test_the_powers_of_five_have_128_correct_bits():
    for q, (high, low) in zip(range(-342, 309), powers_of_five().tolist(), strict=True):
        value, power = (high << 64) + low, 5 ** abs(q)
        assert 2**127 <= value < 2**128
        shift = value.bit_length() - (power.bit_length() if q >= 0 else 1 - power.bit_length())
        # value / 2^shift is within one unit in the last place of 5^q, for one of two neighbouring exponents
        exact = [power << s if q >= 0 else (1 << s) // power for s in (shift, shift - 1) if s >= 0]
        exact += [power >> -s for s in (shift, shift - 1) if s < 0]
        assert any(abs(value - one) <= 1 for one in exact), q


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_of_any_size_hold_what_an_independent_parser_reads(tmp_path, monkeypatch, size):
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", size)
    rng, accepted = np.random.default_rng(size), 0
    for _ in range(150):
        content = mutated(rng, SVMLIGHT[int(rng.integers(len(SVMLIGHT)))])
        try:
            found = read_svmlight(written(tmp_path, content))
        except FenchelError:
            continue
        accepted += 1
        rows = parsers.svmlight(content)
        X = found.X
        assert bits(found.y) == bits(label for label, _ in rows)
        assert found.lines == content.count(b"\n") + (not content.endswith(b"\n"))
        for k, (_, entries) in enumerate(rows):
            own = slice(X.indptr[k], X.indptr[k + 1])
            assert (X.indices[own] + (not found.zero_based)).tolist() == list(entries)
            assert bits(X.data[own]) == bits(entries.values())
    assert accepted > 15


def test_what_scikit_learn_reads(tmp_path):
    X = sp.random_array((200, 50), density=0.2, random_state=np.random.default_rng(0), format="csr")
    y, qid = np.arange(200.0) % 7, np.arange(200) // 10
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False, query_id=qid, comment="of\ntwo lines")
    expected, labels, queries = load_svmlight_file(str(tmp_path / "a.svm"), query_id=True)
    found = read_svmlight(tmp_path / "a.svm", queries=True)
    assert (expected != found.X).nnz == 0
    assert found.X.shape == expected.shape
    assert found.X.indices.dtype == np.int32
    assert found.y.tolist() == labels.tolist()
    assert found.qid.tolist() == queries.tolist() == qid.tolist()
    content = (tmp_path / "a.svm").read_bytes()
    for name, packed in (("a.svm.gz", gzip.compress(content)), ("a.svm.xz", lzma.compress(content))):
        again = read_svmlight(written(tmp_path, packed, name))
        assert (expected != again.X).nnz == 0
        assert again.qid is None


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" # said\n", b"\t\x0b\x0c\n"])
def test_ends_of_lines_and_comments(tmp_path, end):
    text = end.join((b"1 1:2 \t 3:4", b"", b"  -1 qid:9", b"#1 1:1", b"2 2:5"))
    found = read_svmlight(written(tmp_path, text))
    assert found.y.tolist() == [1.0, -1.0, 2.0]
    assert found.X.toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 5, 0]]


def test_features_are_numbered_from_0_if_there_is_one(tmp_path):
    path = written(tmp_path, b"1 1:1\n2 0:3 1:4\n")
    assert read_svmlight(path).X.toarray().tolist() == [[0, 1], [3, 4]]
    assert read_svmlight(written(tmp_path, b"1 1:1\n"), zero_based=True).X.toarray().tolist() == [[0, 1]]
    with pytest.raises(FenchelError, match="has a feature 0"):
        read_svmlight(written(tmp_path, b"1 0:1\n"), zero_based=False)


def test_rows_without_features(tmp_path):
    found = read_svmlight(written(tmp_path, b"1\n2\n"))
    assert found.X.shape == (2, 1)
    assert found.X.nnz == 0


@pytest.mark.parametrize(
    ("content", "where", "why"),
    [
        ("1 1:2\n2 1:x 2:1\n", "line 2, column 5: 'x'", "not a number"),
        ("1 1:2\r\n\r\none 1:2\r\n", "line 3, column 1: 'one'", "as the label is not a number"),
        ("1 1:2 3\n", "line 1, column 7: '3'", "has no colon"),
        ("1 a:2\n", "line 1, column 3: 'a:2'", "no whole number"),
        ("1 1.5:2\n", "line 1, column 3: '1.5:2'", "no whole number"),
        ("1 :2\n", "line 1, column 3: ':2'", "no whole number"),
        ("1 -1:2#x\n", "line 1, column 3: '-1:2'", "negative"),
        ("1 2:1 2:1\n", "line 1, column 7: '2:1'", "ascend"),
        ("1 3:1 2:1\n", "line 1, column 7: '2:1'", "ascend"),
        ("1 2147483648:1\n", "line 1, column 3", "2^31"),
        ("1 99999999999999999999:1\n", "line 1, column 3", "2^31"),
        ("1 1:\n", "line 1, column 5: ''", "not a number"),
        ("1 1:1:1\n", "line 1, column 5: '1:1'", "not a number"),
        ("1 1:0x10\n", "line 1, column 5: '0x10'", "not a number"),
        ("1 1:1__0\n", "line 1, column 5", "not a number"),
        ("1 1:1\0\n", "line 1, column 5", "not a number"),
        ("# größe\n1 größe:1\n", "line 2, column 3: 'größe:1'", "no whole number"),
        ("1 1:1 ß2:1 3:y\n", "line 1, column 7: 'ß2:1'", "no whole number"),
        ("1 1:ß 3\n", "line 1, column 5: 'ß'", "not a number"),
        ("1 1:ßß 2:\n", "line 1, column 5", "not a number"),
        ("1 1:2 qid:1 2:1\n", "line 1, column 7: 'qid:1'", "no whole number"),
        ("1 1:" + "y" * 99 + "\n", "…'", "not a number"),
        ("1 qid:1.5 1:1\n", "line 1, column 7: '1.5'", "query"),
        ("1 qid: 1:1\n", "line 1, column 7: ''", "query"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 18])
def test_an_error_names_the_line_and_the_column(tmp_path, monkeypatch, content, where, why, size):
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", size)
    with pytest.raises(FenchelError) as caught:
        read_svmlight(written(tmp_path, content.encode()), queries=True)
    said = str(caught.value)
    assert str(tmp_path / "a.svm") in said
    assert where in said
    assert why in said


def test_a_file_that_is_unlike_its_beginning(tmp_path, monkeypatch):
    """More rows, or fewer, than its first block lets expect."""
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", 64)
    short, long, comment = b"1 1:1\n" * 2000, b"1 1:0.12345678901234 2:5.5\n" * 2000, b"# " + b"x" * 9000 + b"\n"
    for content in (short + long, long + short, comment + short, short + comment):
        found = read_svmlight(written(tmp_path, content))
        assert found.X.nnz == content.count(b":")
        assert found.X.sum() == pytest.approx(2000 * ((short in content) + (long in content) * 5.62345678901234))
        assert found.lines == content.count(b"\n")


@pytest.mark.parametrize("size", [1, 1 << 18])
def test_a_byte_order_mark_is_no_part_of_the_first_label(tmp_path, monkeypatch, size):
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", size)
    content = BOM_UTF8 + b"-1 1:1\n2 1:2\n"
    assert read_svmlight(written(tmp_path, content)).y.tolist() == [-1.0, 2.0]
    assert [row.label for row in read_rows(content.splitlines())] == [-1.0, 2.0]
    with pytest.raises(FenchelError, match="line 1, column 4: 'x'"):
        read_svmlight(written(tmp_path, BOM_UTF8 + b"-1 x\n"))
    with pytest.raises(FenchelError, match="line 2, column 1"):
        read_svmlight(written(tmp_path, b"1 1:1\n" + content))


def test_queries_that_are_not_asked_for_are_not_read(tmp_path):
    assert read_svmlight(written(tmp_path, b"1 qid:x 1:1\n2 1:2\n")).qid is None
    with pytest.raises(FenchelError, match="has qid: in 1 of 2 rows"):
        read_svmlight(written(tmp_path, b"1 qid:3 1:1\n2 1:2\n"), queries=True)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n"])
def test_a_file_without_rows(tmp_path, content):
    with pytest.raises(FenchelError, match="holds no rows"):
        read_svmlight(written(tmp_path, content))


def test_memory_is_that_of_a_block(tmp_path):
    line = b"1 " + b" ".join(b"%d:0.5" % k for k in range(1, 200)) + b"\n"
    path = written(tmp_path, line * 5000)
    size = path.stat().st_size
    assert size > 7_000_000
    next(row_blocks(path))
    tracemalloc.start()
    try:
        total = math.fsum(block.data.sum() for block in row_blocks(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 0.5 * 199 * 5000
    # 30 bytes of arrays for one of text
    assert peak < 12_000_000
