"""Standard streams that are closed, first rows that may be headers, and two outputs of one name."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from fenchel.cli.main import main
from fenchel.frontends.main import main as front_end

TEXTS = "".join(f"{a},{b},{'yes' if a == 'red' else 'no'}\n" for a in ("blue", "red", "green") for b in "sml")
NUMBERS = "0,1,target\n" + "".join(f"{k},{k % 3},{int(k > 4)}\n" for k in range(10))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.csv").write_text(TEXTS)
    Path("numbers.csv").write_text(NUMBERS)


def said(capsys, *arguments):
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_model_of_texts_without_a_header_predicts_the_first_row_too(capsys):
    assert main(["train", "texts.csv", "--no-header", "-o", "m.npz"]) == 0
    Path("other.csv").write_text("red,s\nblue,m\n")
    capsys.readouterr()
    assert main(["predict", "m.npz", "other.csv"]) == 0
    assert capsys.readouterr().out.split() == ["yes", "no"]


def test_a_first_row_of_texts_that_other_rows_have_too_is_no_header(capsys):
    assert "--no-header" in said(capsys, "train", "texts.csv", "-o", "m.npz")
    assert not Path("m.npz").exists()
    Path("named.csv").write_text("colour,size,bought\n" + TEXTS)
    assert main(["train", "named.csv", "-o", "m.npz"]) == 0
    assert "9 rows" in capsys.readouterr().out


def test_names_that_are_numbers_are_no_row_with_a_class_of_its_own(capsys):
    assert "'target' of the first row is not a number" in said(capsys, "train", "numbers.csv", "-o", "m.npz")
    assert main(["train", "numbers.csv", "--header", "-o", "m.npz"]) == 0
    assert "10 rows, 2 features, 2 classes" in capsys.readouterr().out


def test_the_table_and_the_page_of_compare_are_two_files(capsys):
    assert "choose two files" in said(capsys, "compare", "numbers.csv", "-o", "x", "--report", "./x")
    assert not Path("x").exists()


@pytest.mark.parametrize(
    "line",
    [
        "train numbers.csv --header -o numbers.csv --force",
        "predict m.npz numbers.csv -o ./numbers.csv --force",
        "predict m.npz numbers.csv -o m.npz --force",
        "path numbers.csv --header --Cs 1 -o numbers.csv --force",
        "compare numbers.csv --header --report numbers.csv --force",
    ],
)
def test_no_file_that_is_read_is_replaced(capsys, line):
    assert main(["train", "numbers.csv", "--header", "-o", "m.npz"]) == 0
    model = Path("m.npz").read_bytes()
    assert "is read as well; name another file" in said(capsys, *line.split())
    assert (Path("numbers.csv").read_text(), Path("m.npz").read_bytes()) == (NUMBERS, model)


@contextmanager
def closed(name):
    with mock.patch.object(sys, name, None):
        yield
        opened = getattr(sys, name)
    if opened is not None:
        opened.close()


def test_a_closed_standard_output_is_refused_before_the_work(capsys):
    with closed("stdout"):
        assert main(["train", "numbers.csv", "--header", "-o", "m.npz"]) == 2
    assert "the standard output is closed" in capsys.readouterr().err
    assert not Path("m.npz").exists()


def test_a_closed_standard_input_is_no_file(capsys):
    with mock.patch.object(sys, "stdin", None):
        assert "the standard input is closed: name a file" in said(capsys, "train", "-", "-o", "m.npz")


@pytest.mark.parametrize(
    ("text", "place"), [("1 1:1\n-1 1:2 2:nan\n", "line 2, column 8: '2:nan'"), ("1e999 1:1\n", "line 1")]
)
def test_a_number_that_is_not_finite_is_named_with_its_line(capsys, text, place):
    Path("a.svm").write_text(text)
    error = said(capsys, "train", "a.svm", "-o", "m.npz")
    assert f"a.svm: can't be read as a svmlight file: {place}" in error
    assert "NaN or infinite" in error


def test_messages_do_not_go_to_the_output_if_the_error_stream_is_closed(capsys):
    assert main(["train", "numbers.csv", "--header", "-o", "m.npz"]) == 0
    capsys.readouterr()
    # with labels in the file, a line about them follows the predictions on the error stream
    with closed("stderr"):
        assert main(["predict", "m.npz", "numbers.csv"]) == 0
    assert capsys.readouterr().out.split() == [str(int(k > 4)) for k in range(10)]


def test_front_ends_write_no_message_into_their_output(capsys):
    with closed("stderr"):
        assert front_end(["liblinear", "nothing"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.thorough
def test_closed_streams_in_a_shell():
    command = f"{sys.executable} -m fenchel train numbers.csv --header -o m.npz"
    assert subprocess.run(f"{command} >&- 2>&-", shell=True).returncode == 2
    assert not Path("m.npz").exists()
    assert subprocess.run(f"{command} >/dev/null 2>&-", shell=True).returncode == 0
