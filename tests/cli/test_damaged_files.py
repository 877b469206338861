"""Files that are damaged, cut off, ragged or of the wrong kind are refused in one line, and nothing is replaced."""

import bz2
import gzip
import lzma
import os
import zipfile

import numpy as np
import pytest

from fenchel.cli.main import main
from fenchel.io.readers import read

TABLE = "a,b,y\n" + "\n".join(f"{k % 7},{k % 3},{k % 2}" for k in range(200)) + "\n"
SVMLIGHT = "\n".join(f"{k % 2} 1:{k % 7 + 1} 2:{k % 3 + 1}" for k in range(200)) + "\n"
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def refused(capsys, *arguments):
    """What the command says; it must be one line and end with status 2."""
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fenchel: ")
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(("name", "text"), [("a.csv", TABLE), ("a.svm", SVMLIGHT)])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign"])
def test_damaged_compressed_files(tmp_path, capsys, suffix, name, text, damage):
    packed = bytearray(PACKERS[suffix](text.encode()))
    if damage == "truncated":
        packed = packed[: len(packed) // 2]
    elif damage == "flipped":
        packed[len(packed) // 2] ^= 0xFF
    else:
        packed = bytearray(text.encode())
    file = tmp_path / (name + suffix)
    file.write_bytes(packed)
    assert str(file) in refused(capsys, "train", file, "-o", tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,b,y\n1,2,0\n3,4,5,1\n6,7,1\n", "line 3"),
        ("a,b,y\n1,2,0\n3,1\n6,7,1\n", "line 3"),
        ("a,y\n1,2,0\n3,4,1\n", "line 2"),
        ("1,2,0\n\n3,4,1,\n", "line 3"),
    ],
)
def test_ragged_tables(tmp_path, capsys, text, where):
    file = tmp_path / "ragged.csv"
    file.write_text(text)
    said = refused(capsys, "train", file, "-o", tmp_path / "model.npz")
    assert where in said and "fields" in said


def test_a_quote_that_is_never_closed_is_a_file_that_was_cut_off(tmp_path, capsys):
    table = tmp_path / "a.csv"
    table.write_text('a,b,y\n1,2,"p"\n3,4,"q')
    assert "unexpected end of data" in refused(capsys, "train", table)


def test_a_label_with_a_nul_character(tmp_path, capsys):
    """NumPy's text would drop it, and 0 and 0\\0 would be one class."""
    table = tmp_path / "a.csv"
    table.write_bytes(b"1,2,0\n3,4,0\0\n5,6,1\n")
    assert "line 2 has a NUL character" in refused(capsys, "train", table)


def test_spaces_around_labels_do_not_make_numbers_text(tmp_path):
    """\x1c is a space for Python but not for NumPy."""
    table = tmp_path / "a.csv"
    table.write_bytes(b"1,2,0\n3,4,\x1c1\n5,6, 1\n")
    assert read(table).y.tolist() == [0, 1, 1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_with_a_line_break_in_quotes_is_one_row(tmp_path, end):
    """The rest of it was read as the first example."""
    table = tmp_path / "a.csv"
    table.write_bytes(f'"a{end}1,2,", b,y{end}1,2,0{end}3,4,1{end}'.encode())
    found = read(table)
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.y.tolist() == [0, 1]


def test_quoted_commas_are_one_field(tmp_path):
    file = tmp_path / "quoted.csv"
    file.write_text('a,"b, really",y\n' + "\n".join(f"{k % 5},{k % 3},{k % 2}" for k in range(40)))
    assert main(["train", str(file), "-o", str(tmp_path / "model.npz")]) in (0, 3)


@pytest.mark.parametrize("index", [2**31 - 1 + 2, 2**31, 2**32 + 1, 2**63, 2**70])
def test_a_feature_number_beyond_32_bits(tmp_path, capsys, index):
    file = tmp_path / "large.svm"
    file.write_text(f"1 1:1 {index}:1\n-1 2:1\n")
    assert "large.svm" in refused(capsys, "train", file, "-o", tmp_path / "model.npz")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "a.csv").write_text(TABLE)
    assert main(["train", str(folder / "a.csv"), "-o", str(folder / "model.npz")]) in (0, 3)
    return folder / "model.npz"


def test_a_model_file_with_any_byte_changed_is_read_or_refused(tmp_path, capsys, model, portion):
    rng = np.random.default_rng(0)
    whole = model.read_bytes()
    for _ in range(portion(300)):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            changed[place] ^= 1 << int(rng.integers(8))
        if rng.random() < 0.2:
            changed = changed[: int(rng.integers(len(changed)))]
        file = tmp_path / "changed.npz"
        file.write_bytes(changed)
        assert main(["certify", str(file)]) in (0, 2, 3)
        capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", np.array([["a", "b"]])),
        ("coef_", np.array([1.0, 2.0])),
        ("coef_", np.array([[np.nan, 1.0]])),
        ("coef_", np.array([[1.0, 2.0]], dtype=complex)),
        ("intercept_", np.array([1.0, 2.0])),
        ("theta_", np.zeros((0,))),
        ("theta_", np.array(["x"])),
        ("classes_", np.array([1.0])),
        ("classes_", np.zeros((2, 2))),
        ("about", np.array("[]")),
        ("about", np.array("{")),
        ("about", np.array('{"format": 2, "kind": "LinearClassifier"}')),
        ("about", np.array("[" * 100_000)),
    ],
)
def test_model_files_with_arrays_of_the_wrong_kind(tmp_path, capsys, model, name, value):
    with np.load(model) as archive:
        arrays = {key: archive[key] for key in archive.files}
    np.savez(tmp_path / "wrong.npz", **{**arrays, name: value})
    assert "wrong.npz" in refused(capsys, "certify", tmp_path / "wrong.npz")


@pytest.mark.parametrize("damage", [(b"(", b"(("), (b"(", b")"), (b"{", b"\n "), (b":", b" ")])
def test_a_model_file_whose_array_has_half_a_header(tmp_path, capsys, model, damage):
    """NumPy parses the header: an open bracket raises TokenError, others SyntaxError, which are no ValueErrors."""
    damaged = tmp_path / "damaged.npz"
    with zipfile.ZipFile(model) as source, zipfile.ZipFile(damaged, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(*damage, 1) if name == "coef_.npy" else data)
    refused(capsys, "certify", damaged)


def test_a_model_file_with_an_array_that_no_model_has(tmp_path, capsys, model):
    """The name of an array that a model may lack, changed by one character, is no reason to go without it."""
    with np.load(model) as archive:
        np.savez(tmp_path / "more.npz", **dict(archive), thesholds_=np.zeros(1))
    assert "'thesholds_'" in refused(capsys, "certify", tmp_path / "more.npz")


def test_a_model_file_whose_classes_are_no_characters(tmp_path, capsys, model):
    damaged = tmp_path / "damaged.npz"
    with np.load(model) as archive:
        arrays = dict(archive)
    arrays["classes_"] = np.array([0x110000, 65], dtype=np.uint32).view("U1")
    np.savez(damaged, **arrays)
    assert "the classes are not text" in refused(capsys, "certify", damaged)


def test_a_model_file_with_a_pickle_runs_nothing(tmp_path, capsys, model):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    with np.load(model) as archive:
        arrays = {key: archive[key] for key in archive.files}
    np.savez(tmp_path / "bomb.npz", **{**arrays, "theta_": np.array([Bomb()], dtype=object)}, allow_pickle=True)
    refused(capsys, "certify", tmp_path / "bomb.npz")
    assert not (tmp_path / "ran").exists()


def test_a_zip_bomb_is_refused(tmp_path, capsys, model):
    file = tmp_path / "bomb.npz"
    with zipfile.ZipFile(model) as source, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            if name != "theta_.npy":
                target.writestr(name, source.read(name))
        with target.open("theta_.npy", "w", force_zip64=True) as stream:
            np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (2**33,)})
            block = bytes(1 << 20)
            for _ in range(64):
                stream.write(block)
    refused(capsys, "certify", file)


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_only_a_regular_file_is_replaced(tmp_path, capsys, force):
    data = tmp_path / "a.csv"
    data.write_text(TABLE)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "pipe", tmp_path / "folder", "/dev/null"):
        assert "regular file" in refused(capsys, "train", data, "-o", target, *force)
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_to_itself_is_no_output(tmp_path, capsys):
    data, link = tmp_path / "a.svm", tmp_path / "link.npz"
    data.write_text(SVMLIGHT)
    link.symlink_to(link)
    assert "can't be followed to a file" in refused(capsys, "train", data, "-o", link)


def test_a_link_stays_and_its_file_is_replaced(tmp_path, model):
    data, target, link = tmp_path / "a.csv", tmp_path / "target.npz", tmp_path / "link.npz"
    data.write_text(TABLE)
    target.write_text("old")
    link.symlink_to(target)
    assert main(["train", str(data), "-o", str(link), "--force"]) in (0, 3)
    assert link.is_symlink()
    assert target.read_bytes()[:2] == b"PK"
