"""Tables as people have them: texts, missing values, tabs, semicolons, compressed, from standard input."""

import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

from fenchel import LinearClassifier
from fenchel.cli.main import main
from fenchel.io.encoding import Encoding
from fenchel.io.model_file import load
from fenchel.io.readers import Layout, read

HEADER = ["age", "city", "income", "hired"]
ROWS = [
    *([34, "Rome", 12.5, "yes"], [28, "Oslo", 9.1, "no"], [45, "Rome", 22.0, "yes"], [51, "Bern", 18.3, "yes"]),
    *([23, "Oslo", 7.7, "no"], [39, "Bern", 11.2, "no"], [31, "Rome", 15.0, "yes"], [27, "Oslo", 8.8, "no"]),
]
CITIES = ["Bern", "Oslo", "Rome"]
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def text(delimiter=",", rows=ROWS, header=HEADER):
    return "\n".join(delimiter.join(map(str, row)) for row in [header, *rows]) + "\n"


def matrix():
    """The features, written down independently: a number, three indicators, a number."""
    return np.array([[age, *(float(city == one) for one in CITIES), income] for age, city, income, _ in ROWS])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def expected():
    return LinearClassifier(random_state=0).fit(matrix(), [row[3] for row in ROWS])


def check():
    model, direct = load(Path("m.npz")), expected()
    assert model.names == ["age", "city=Bern", "city=Oslo", "city=Rome", "income"]
    np.testing.assert_allclose(model.estimator.coef_, direct.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.estimator.certificate_.primal, direct.certificate_.primal, rtol=1e-12)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("packed", ["", *PACKERS])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", text()),
        ("p.csv", text(";")),
        ("p.csv", text("\t")),
        ("p.tsv", text("\t")),
        ("p.TAB", text("\t")),
        ("p.csv", "\ufeff" + text().replace("\n", "\r\n")),
        ("p.csv", text().replace("Rome", '"Rome"').replace("income", '"income"')),
    ],
)
def test_the_same_table_in_many_dresses(folder, name, content, packed):
    data = content.encode()
    (folder / (name + packed)).write_bytes(PACKERS[packed](data) if packed else data)
    assert main(["train", name + packed, "-o", "m.npz", "--force", "--quiet"]) == 0
    check()


def test_a_parquet_file_with_texts_and_holes(folder, capsys):
    pa = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    import pyarrow.parquet as pq

    columns = dict(zip(HEADER, zip(*ROWS, strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), "p.parquet")
    assert main(["train", "p.parquet", "-o", "m.npz"]) == 0
    check()
    holes = {name: list(values) for name, values in columns.items()}
    holes["city"][2] = None
    holes["age"][5] = None
    pq.write_table(pa.table(holes), "holes.parquet")
    capsys.readouterr()
    assert main(["predict", "m.npz", "holes.parquet"]) == 2
    assert "row 6, column 1 (age): the value is missing" in capsys.readouterr().err
    assert main(["train", "holes.parquet", "--impute", "mean", "-o", "h.npz"]) == 0
    ages = [row[0] for k, row in enumerate(ROWS) if k != 5]
    fills = [column.fill for column in load(folder / "h.npz").encoding.columns]
    assert fills == [pytest.approx(np.mean(ages)), "Oslo", pytest.approx(np.mean([row[2] for row in ROWS]))]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("packed", ["", *PACKERS])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_standard_input(folder, monkeypatch, capsysbinary, delimiter, packed):
    data = text(delimiter).encode()
    give(monkeypatch, PACKERS[packed](data) if packed else data)
    assert main(["train", "-", "-o", "m.npz", "--quiet"]) == 0
    assert b"standard input: 8 rows, 5 features of 3 columns" in capsysbinary.readouterr().out
    check()


def test_a_model_through_standard_output_and_input(folder, monkeypatch, capsysbinary):
    (folder / "p.csv").write_text(text())
    assert main(["train", "p.csv", "-o", "-"]) == 0
    said = capsysbinary.readouterr()
    assert said.out[:2] == b"PK"
    assert b"written: standard output" in said.err
    (folder / "m.npz").write_bytes(said.out)
    check()
    give(monkeypatch, said.out)
    assert main(["predict", "-", "p.csv"]) == 0
    assert capsysbinary.readouterr().out.split() == [row[3].encode() for row in ROWS]
    give(monkeypatch, said.out)
    assert main(["predict", "-", "-"]) == 2
    assert b"can't both be read from standard input" in capsysbinary.readouterr().err


def test_errors_about_standard_input_name_it(monkeypatch, capsys):
    for content, words in (
        (b"", "standard input: is empty"),
        (b"a,b,y\n1,2,0\n3,x,1\n", "standard input: line 3, column 2 (b): 'x' is not a number"),
        (b"\x1f\x8bno", "standard input: "),
    ):
        give(monkeypatch, content)
        assert main(["train", "-", "-o", "m.npz"]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
    give(monkeypatch, text().encode())
    assert main(["train", "-"]) == 2
    assert "--output: name the model file" in capsys.readouterr().err


def test_predictions_take_raw_columns_in_any_order_and_say_what_is_unknown(folder, capsys):
    (folder / "p.csv").write_text(text())
    assert main(["train", "p.csv", "-o", "m.npz"]) == 0
    (folder / "new.csv").write_text("more,income,city,age\n0,12.5,Paris,34\n0,9.1, Oslo ,28\n0,9,Bonn,3\n")
    capsys.readouterr()
    assert main(["predict", "m.npz", "new.csv", "--scores"]) == 0
    said = capsys.readouterr()
    assert "column 3 (city): 2 rows have categories that the model does not know (Bonn, Paris)" in said.err
    X = np.array([[34, 0, 0, 0, 12.5], [28, 0, 1, 0, 9.1], [3, 0, 0, 0, 9]])
    np.testing.assert_allclose(np.array(said.out.split(), dtype=float), expected().decision_function(X), rtol=1e-6)


def test_texts_without_a_header_and_numbers_that_are_texts(folder, capsys):
    rows = [[row[1], k % 3 + 1, row[2], row[3]] for k, row in enumerate(ROWS)]
    (folder / "p.csv").write_text(text(rows=rows[1:], header=rows[0]))
    table = read(folder / "p.csv", Layout(header=False, texts=("1",)))
    assert table.names == [*(f"column 1={one}" for one in CITIES), *(f"column 2={k}" for k in (1, 2, 3)), "column 3"]
    assert table.X.toarray()[0].tolist() == [0, 0, 1, 1, 0, 0, 12.5]
    assert main(["train", "p.csv", "--no-header", "--text", "1", "-o", "m.npz"]) == 0
    # without labels
    (folder / "bare.csv").write_text(text(rows=[row[:3] for row in rows[1:]], header=rows[0][:3]))
    capsys.readouterr()
    assert main(["predict", "m.npz", "bare.csv", "--no-header"]) == 0
    assert capsys.readouterr().out.split() == [row[3] for row in rows]


@pytest.mark.parametrize("gap", ["", "NA", " n/a", "?", "NaN", "null"])
def test_missing_values_are_refused_by_line_and_column(folder, capsys, gap):
    rows = [list(row) for row in ROWS]
    rows[2][1], rows[4][1] = gap, gap
    (folder / "p.csv").write_text(text(rows=rows).replace("Oslo,9.1", '"Os\nlo",9.1'))
    assert main(["train", "p.csv"]) == 2
    said = capsys.readouterr().err
    # a field with a line break is before it: the record begins in line 5
    assert said.startswith(
        "fenchel: p.csv: line 5, column 2 (city): the value is missing, and 1 more; train with --impute"
    )


@pytest.mark.parametrize(("how", "age"), [("median", 29.5), ("mean", 30.25), ("most-frequent", 28.0)])
def test_imputation_is_learned_and_kept(folder, capsys, how, age):
    ages = [None, 28, None, 31, 28, None, 34, None]
    rows = [["" if a is None else a, *row[1:]] for a, row in zip(ages, ROWS, strict=True)]
    (folder / "p.csv").write_text(text(rows=rows))
    assert main(["train", "p.csv", "--impute", how, "-o", "m.npz"]) == 0
    code = load(folder / "m.npz").encoding.columns
    assert code[0].fill == age
    # the first in order of the most frequent ones, as of numbers
    assert code[1].fill == "Oslo"
    X = matrix()
    X[:, 0] = [age if a is None else a for a in ages]
    direct = LinearClassifier(random_state=0).fit(X, [row[3] for row in ROWS])
    np.testing.assert_allclose(load(folder / "m.npz").estimator.coef_, direct.coef_, rtol=1e-6, atol=1e-6)
    (folder / "new.csv").write_text("age,city,income\n,,\n")
    capsys.readouterr()
    assert main(["predict", "m.npz", "new.csv", "--scores"]) == 0
    income = {"median": 11.85, "mean": np.mean([row[2] for row in ROWS]), "most-frequent": 7.7}[how]
    score = direct.decision_function([[age, 0, 1, 0, income]])
    np.testing.assert_allclose(float(capsys.readouterr().out), score, rtol=1e-6)


def test_a_column_is_dropped(folder):
    (folder / "p.csv").write_text(text())
    assert main(["train", "p.csv", "--drop", "city", "--drop", "income", "-o", "m.npz"]) == 0
    assert load(folder / "m.npz").names == ["age"]
    assert main(["predict", "m.npz", "p.csv"]) == 0


def test_decimal_commas(folder, capsys):
    rows = [[row[0], row[1], str(row[2]).replace(".", ","), row[3]] for row in ROWS]
    (folder / "p.csv").write_text(text(";", rows=rows))
    assert main(["train", "p.csv", "--decimal-comma", "-o", "m.npz"]) == 0
    check()
    (folder / "q.csv").write_text(text(";", rows=[ROWS[0], *rows[1:]]))
    assert main(["train", "q.csv"]) == 2
    assert "'9,1' is not a number, and the rows before have numbers: " in (said := capsys.readouterr().err)
    assert "--decimal-comma reads such numbers" in said


def test_decimal_commas_are_no_categories(folder, capsys):
    """A column of them was one of categories, or of names that are not categories."""
    (folder / "p.csv").write_text("a;ok\n" + "1,5;yes\n-2,25;no\n" * 3)
    assert main(["train", "p.csv"]) == 2
    error = "column 1 (a) has texts such as '-2,25': --decimal-comma reads them as numbers, --text as categories"
    assert error in capsys.readouterr().err
    assert main(["train", "p.csv", "--text", "a", "-o", "categories.npz"]) == 0
    assert load(folder / "categories.npz").names == ["a=-2,25", "a=1,5"]
    assert main(["train", "p.csv", "--decimal-comma", "-o", "numbers.npz"]) == 0
    assert load(folder / "numbers.npz").names == ["a"]


def test_numbers_that_are_taken_as_classes_are_noted(folder, capsys):
    (folder / "p.csv").write_text("a,y\n" + "".join(f"{k % 7},{k % 25}\n" for k in range(60)))
    note = "note: 25 different labels are taken as classes; to predict numbers, add --loss squared"
    assert main(["train", "p.csv", "-o", "m.npz"]) == 0
    assert note in capsys.readouterr().err
    assert main(["train", "p.csv", "--loss", "hinge", "-o", "asked.npz"]) == 0
    assert "note" not in capsys.readouterr().err
    (folder / "q.csv").write_text("a,y\n" + "".join(f"{k},{k % 3}.5\n" for k in range(9)))
    assert main(["train", "q.csv"]) == 2
    assert capsys.readouterr().err == (
        "fenchel: labels such as 0.5 are not classes; to predict numbers, choose a loss of regression, such as "
        "--loss squared\n"
    )


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a,b,y\n1,2,0\nx,4,1\n", [], "line 3, column 1 (a): 'x' is not a number, and the rows before have numbers"),
        ("a,b,y\nx,2,0\n1,4,1\n", [], "line 3, column 1 (a): '1' is a number, and the rows before have texts"),
        ("a,b,y\n1,2,0\n3,inf,1\n", [], "line 3, column 2 (b): 'inf' is infinite"),
        ("a,b,y\n1,2,0\n3,4,\n", [], "line 3, column 3 (y): the label is missing"),
        ("a,b,y\n,2,0\n,4,1\n", ["--impute", "mean"], "column 1 (a) has no values, only missing ones"),
        ("a,b,y\n,2,0\n,4,1\n", ["--impute", "mean", "--text", "a"], "column 1 (a) has no values, only missing ones"),
        ("a,b,y\n" + "".join(f"id{k},{k},{k % 2}\n" for k in range(99)), [], "99 different texts in 99 rows"),
        ("a,b,y\n1,2,0\n3,4,1\n", ["--drop", "z"], "--drop: p.csv has no column 'z'"),
        ("1,2,0\n3,4,1\n", ["--drop", "0"], "--drop names columns of a header"),
        ("a,b,y\n1,2,0\n3,4,1\n", ["--text", "y"], "--text: column 3 (y) of p.csv is not a feature"),
        ("a,b,y\n1,2,0\n3,4,1\n", ["--delimiter", "||"], "--delimiter must be one character"),
        ("a,b,y\n\u0661,2,0\n3,4,1\n", [], "line 3, column 1 (a): '3' is a number, and the rows before have texts"),
    ],
)
def test_what_is_refused(folder, capsys, content, options, words):
    (folder / "p.csv").write_text(content)
    assert main(["train", "p.csv", *options]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_model_of_texts_refuses_other_data(folder, capsys):
    (folder / "p.csv").write_text(text())
    assert main(["train", "p.csv", "-o", "m.npz"]) == 0
    (folder / "d.svm").write_text("1 1:1\n")
    (folder / "n.csv").write_text("age,city,income\nold,Rome,3\n")
    for data, words in (
        ("d.svm", "the model was trained on columns with texts: give it a table"),
        ("n.csv", "line 2, column 1 (age): 'old' is not a number, and the model was trained on numbers in this column"),
    ):
        assert main(["predict", "m.npz", data]) == 2
        assert words in capsys.readouterr().err


def test_a_damaged_encoding_is_refused(folder):
    good = [{"name": "a", "categories": ["x", "y"], "fill": "x"}, {"name": None, "categories": None, "fill": 1.5}]
    assert Encoding.from_json(good).width == 3
    for wrong in (
        [],
        {},
        [{"name": 3, "categories": None, "fill": None}],
        [{"name": "a", "categories": ["x", "x"], "fill": None}],
        [{"name": "a", "categories": ["x", 1], "fill": None}],
        [{"name": "a", "categories": ["x"], "fill": "z"}],
        [{"name": "a", "categories": None, "fill": float("nan")}],
        [{"name": "a", "categories": None, "fill": True}],
    ):
        with pytest.raises(ValueError, match="damaged"):
            Encoding.from_json(wrong)


@pytest.mark.parametrize("cities", [["b", "a", "", "a", "b"], ["a", "", "b", "b", "a"]])
def test_of_equally_frequent_texts_the_first_in_order_replaces_missing_ones(cities):
    # as SimpleImputer of scikit-learn does, and whatever the order of the rows
    Path("d.csv").write_text("city,y\n" + "".join(f"{city},{k}\n" for k, city in enumerate(cities)))
    table = read(Path("d.csv"), Layout(impute="most-frequent"))
    missing = cities.index("")
    np.testing.assert_array_equal(table.X.toarray()[missing], [1.0, 0.0])


def test_whole_numbers_of_a_parquet_file_are_the_same_texts_beside_missing_ones():
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"zip": [10, 20, None, 20], "y": [0, 1, 0, 1]}), "p.parquet")
    table = read(Path("p.parquet"), Layout(impute="mean", texts=("zip",)))
    assert table.names == ["zip=10", "zip=20"]
